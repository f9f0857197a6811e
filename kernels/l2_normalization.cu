// Lines divided by their Euclidean norms, which are computed in float32, of float64 in itself.
//
// Entry points: l2_normalization_DTYPE(data, out, along, eps, req). Threads along y, a power of two,
// share a line. Arrays have no gaps.
#include "fold.cuh"
#include "real.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void
normalize(const T *data, T *out, const Along &along, float64 eps, int req) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    const int64 total = req == Null ? 0 : along.outer * along.inner;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 line = first + threadIdx.x, outer = line / along.inner;
        const int64 base = (outer * along.count - outer) * along.inner + line;
        const int64 count = line < total ? along.count : 0;
        C sum = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            const C x = convert<C>(data[base + i * along.inner]);
            sum = plus(sum, times(x, x));
        }
        sum = together(sum, part, [](C a, C b) { return plus(a, b); });
        const C norm = square_root(plus(sum, (C)eps));
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            const int64 at = base + i * along.inner;
            put(out[at], over(convert<C>(data[at]), norm), opaque(req == Add));
        }
        __syncthreads();
    }
}

} // namespace fm

#define FM_NORMALIZE_ENTRY(T, ...) \
    extern "C" __global__ void l2_normalization_##T( \
        const T *data, T *out, const __grid_constant__ fm::Along along, float64 eps, int req) { \
        fm::normalize(data, out, along, eps, req); \
    }
FM_FLOATS(FM_NORMALIZE_ENTRY, )

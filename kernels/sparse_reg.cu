// The running means of the channels of IdentityAttachKLSparseReg.
//
// Entry point: sparse_reg_DTYPE(data, old, next, along, momentum, train, req), whose threads along y, a power of
// two, share a channel; sums are float64. Arrays have no gaps.
#include "fold.cuh"
#include "number.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void
means(const T *data, const T *old, T *next, const Along &along, float64 momentum, int train, int req) {
    typedef Compute<T> C;
    FM_SHARED(float64, part, MOST_THREADS);
    const int64 size = along.outer * along.inner;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < (req == Null ? 0 : along.count);
         first += gridDim.x * (int64)blockDim.x) {
        const int64 channel = first + threadIdx.x;
        const int64 mine = train && channel < along.count ? size : 0;
        float64 sum = 0.0;
#pragma unroll 1
        for (int64 e = threadIdx.y; e < mine; e += blockDim.y) {
            const int64 outer = e / along.inner;
            const int64 at = (outer * along.count + channel) * along.inner + e - outer * along.inner;
            sum += (float64)convert<C>(data[at]);
        }
        sum = together(sum, part, [](float64 a, float64 b) { return a + b; });
        if (threadIdx.y == 0 && channel < along.count) {
            const float64 before = (float64)convert<C>(old[channel]);
            const float64 mean = over(sum, (float64)(size < 1 ? 1 : size));
            const float64 moved = plus(times(momentum, before), times(minus(1.0, momentum), mean));
            put(next[channel], (C)(train ? moved : before), opaque(req == Add));
        }
    }
}

} // namespace fm

#define FM_SPARSE_REG_ENTRY(T, ...) \
    extern "C" __global__ void sparse_reg_##T( \
        const T *data, const T *old, T *next, const __grid_constant__ fm::Along along, \
        float64 momentum, int train, int req) { \
        fm::means(data, old, next, along, momentum, train, req); \
    }
FM_FLOATS(FM_SPARSE_REG_ENTRY, )

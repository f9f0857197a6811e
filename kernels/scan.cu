// Running sums along an axis, from the front or from the back.
//
// Entry points: scan_lines_DTYPE(data, out, along, back, req), a thread for each line, and
// scan_row_DTYPE, a block for each. Halves are added up in float32, integers in int64. Arrays have no
// gaps.
#include "fold.cuh"
#include "grid.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void
scan_lines(const T *data, T *out, const Along &along, int back, int req) {
    each(req == Null ? 0 : along.outer * along.inner, [&](int64 line) {
        const Split place = split(line, along.inner);
        const int64 base = place.row * along.count * along.inner + place.at;
        Wide<T> sum = 0;
#pragma unroll 1
        for (int64 i = 0; i < along.count; ++i) {
            const int64 at = base + (back ? along.count - 1 - i : i) * along.inner;
            sum = plus(sum, convert<Wide<T>>(data[at]));
            put(out[at], sum, opaque(req == Add));
        }
    });
}

template <class T>
__device__ __forceinline__ void
scan_row(const T *data, T *out, const Along &along, int back, int req) {
    typedef Wide<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    const int me = threadIdx.x;
    const int64 lines = req == Null ? 0 : along.outer * along.inner;
#pragma unroll 1
    for (int64 line = blockIdx.x; line < lines; line += gridDim.x) {
        const Split place = split(line, along.inner);
        const int64 base = place.row * along.count * along.inner + place.at;
        C before = 0;
#pragma unroll 1
        for (int64 first = 0; first < along.count; first += blockDim.x) {
            const int64 i = first + me;
            const int64 at = base + (back ? along.count - 1 - i : i) * along.inner;
            part[me] = i < along.count ? convert<C>(data[at]) : (C)0;
            __syncthreads();
#pragma unroll 1
            for (int distance = 1; distance < (int)blockDim.x; distance *= 2) {
                const C left = me < distance ? (C)0 : part[me - distance];
                __syncthreads();
                part[me] = plus(left, part[me]);
                __syncthreads();
            }
            if (i < along.count) {
                put(out[at], plus(before, part[me]), opaque(req == Add));
            }
            before = plus(before, part[blockDim.x - 1]);
            __syncthreads();
        }
    }
}

} // namespace fm

#define FM_SCAN_ENTRIES(T, ...) \
    extern "C" __global__ void scan_lines_##T( \
        const T *data, T *out, const __grid_constant__ fm::Along along, int back, int req) { \
        fm::scan_lines(data, out, along, back, req); \
    } \
    extern "C" __global__ void scan_row_##T( \
        const T *data, T *out, const __grid_constant__ fm::Along along, int back, int req) { \
        fm::scan_row(data, out, along, back, req); \
    }
FM_NUMBERS(FM_SCAN_ENTRIES, )

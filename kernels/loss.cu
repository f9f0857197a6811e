// The gradient of MakeLoss, a constant.
//
// Entry points: loss_count_DTYPE(data, size, threshold, counts) counts elements above a threshold, each
// block its own, with threads along y; loss_backward_DTYPE(out, size, scale, divisor, counts, parts, req)
// divides by what the blocks counted, or by the divisor where `counts` is null.
#include "count.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void fill(T *out, int64 size, Compute<T> value, int req) {
    const int64 end = req == Null ? 0 : size;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < end;
         i += gridDim.x * (int64)blockDim.x) {
        put(out[i], value, opaque(req == Add));
    }
}

} // namespace fm

#define FM_LOSS_ENTRIES(T, ...) \
    extern "C" __global__ void loss_count_##T( \
        const T *data, int64 size, float64 threshold, int64 *counts) { \
        typedef fm::Compute<T> C; \
        fm::count(data, size, counts, [&](T x) { return fm::convert<C>(x) > (C)threshold; }); \
    } \
    extern "C" __global__ void loss_backward_##T( \
        T *out, int64 size, float64 scale, float64 divisor, const int64 *counts, int64 parts, \
        int req) { \
        const float64 value = scale / fm::divisor(counts, parts, divisor); \
        fm::fill(out, size, (fm::Compute<T>)value, req); \
    }
FM_FLOATS(FM_LOSS_ENTRIES, )

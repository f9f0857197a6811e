// Gradients of losses of regression: the difference of output and label, or its sign.
//
// Entry point: regression_backward_DTYPE(out, label, grad, size, scale, absolute, req). Where there is no
// difference, the sign is -1. Arrays have no gaps.
#include "map.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void regression(
    const T *out, const T *label, T *grad, int64 size, float64 scale, int absolute, int req) {
    typedef Compute<T> C;
    const C factor = (C)scale;
    const int64 end = req == Null ? 0 : size;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < end;
         i += gridDim.x * (int64)blockDim.x) {
        const C apart = minus(convert<C>(out[i]), convert<C>(label[i]));
        const C slope = apart > (C)0 ? (C)1 : apart <= (C)0 ? (C)-1 : apart;
        put(grad[i], times(factor, absolute ? slope : apart), opaque(req == Add));
    }
}

} // namespace fm

#define FM_REGRESSION_ENTRY(T, ...) \
    extern "C" __global__ void regression_backward_##T( \
        const T *out, const T *label, T *grad, int64 size, float64 scale, int absolute, int req) { \
        fm::regression(out, label, grad, size, scale, absolute, req); \
    }
FM_FLOATS(FM_REGRESSION_ENTRY, )

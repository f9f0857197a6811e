// Activations of one element, and their slopes.
#pragma once
#include "real.cuh"
#include "special.cuh"

namespace fm {

template <class R> __device__ __forceinline__ R softrelu(R x) {
    return x > (R)20 ? x : logarithm_1p(exponential(x));
}
// Of NaN the slope is NaN, too.
template <class R> __device__ __forceinline__ R relu_slope(R y) {
    return y > (R)0 ? (R)1 : y <= (R)0 ? (R)0 : y;
}
template <class R> __device__ __forceinline__ R normal_below(R x) {
    return (R)0.5 * ((R)1 + error_function(x * (R)0.70710678118654752440));
}
template <class R> __device__ __forceinline__ R gelu_slope(R x) {
    const R density = exponential((R)-0.5 * x * x) * (R)0.3989422804014326779;
    return normal_below(x) + x * density;
}
template <class R> __device__ __forceinline__ R leaky(R x, R slope) { return x > (R)0 ? x : x * slope; }

} // namespace fm

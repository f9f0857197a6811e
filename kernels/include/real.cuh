// Functions of real numbers, in float32 and float64. Those of float64 are called, not inlined:
// seven element types share them, and each copy is large.
#pragma once
#include "number.cuh"

#define FM_REAL_FUNCTION(NAME, F32, F64) \
    namespace fm { \
    __device__ __forceinline__ float32 NAME(float32 x) { return F32; } \
    __device__ __noinline__ float64 NAME(float64 x) { return F64; } \
    }

FM_REAL_FUNCTION(exponential, expf(x), ::exp(x))
FM_REAL_FUNCTION(logarithm, logf(x), ::log(x))
FM_REAL_FUNCTION(logarithm_1p, log1pf(x), ::log1p(x))
FM_REAL_FUNCTION(exponential_m1, expm1f(x), ::expm1(x))
FM_REAL_FUNCTION(square_root, __fsqrt_rn(x), __dsqrt_rn(x))
FM_REAL_FUNCTION(reciprocal, __frcp_rn(x), __drcp_rn(x))
FM_REAL_FUNCTION(hyperbolic_tangent, tanhf(x), ::tanh(x))
FM_REAL_FUNCTION(sine, sinf(x), ::sin(x))
FM_REAL_FUNCTION(cosine, cosf(x), ::cos(x))
FM_REAL_FUNCTION(error_function, erff(x), ::erf(x))

namespace fm {

__device__ __noinline__ float32 power(float32 a, float32 b) { return powf(a, b); }
__device__ __noinline__ float64 power(float64 a, float64 b) { return ::pow(a, b); }

template <class R> __device__ __forceinline__ R sigmoid(R x) {
    return reciprocal(plus(exponential(-x), (R)1));
}

template <class R> __device__ __forceinline__ R softsign(R x) {
    return over(x, plus((R)1, magnitude(x)));
}

// Roundings; integers are round already.
template <class T> __device__ __forceinline__ T round_down(T x) { return x; }
template <class T> __device__ __forceinline__ T round_up(T x) { return x; }
template <class T> __device__ __forceinline__ T round_to_zero(T x) { return x; }
template <class T> __device__ __forceinline__ T round_away(T x) { return x; }
__device__ __forceinline__ float32 round_down(float32 x) { return floorf(x); }
__device__ __forceinline__ float64 round_down(float64 x) { return floor(x); }
__device__ __forceinline__ float32 round_up(float32 x) { return ceilf(x); }
__device__ __forceinline__ float64 round_up(float64 x) { return ceil(x); }
__device__ __forceinline__ float32 round_to_zero(float32 x) { return truncf(x); }
__device__ __forceinline__ float64 round_to_zero(float64 x) { return trunc(x); }
__device__ __forceinline__ float32 round_away(float32 x) { return roundf(x); }
__device__ __forceinline__ float64 round_away(float64 x) { return round(x); }

/// MXNet's rounding to the nearest: halves go down.
template <class T> __device__ __forceinline__ T round_half_down(T x) {
    const T below = round_down(x), above = round_up(x);
    return minus(x, below) <= minus(above, x) ? below : above;
}

} // namespace fm

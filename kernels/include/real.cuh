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
FM_REAL_FUNCTION(logarithm_2, log2f(x), ::log2(x))
FM_REAL_FUNCTION(logarithm_10, log10f(x), ::log10(x))
FM_REAL_FUNCTION(cube_root, cbrtf(x), ::cbrt(x))
FM_REAL_FUNCTION(tangent, tanf(x), ::tan(x))
FM_REAL_FUNCTION(arc_sine, asinf(x), ::asin(x))
FM_REAL_FUNCTION(arc_cosine, acosf(x), ::acos(x))
FM_REAL_FUNCTION(arc_tangent, atanf(x), ::atan(x))
FM_REAL_FUNCTION(hyperbolic_sine, sinhf(x), ::sinh(x))
FM_REAL_FUNCTION(hyperbolic_cosine, coshf(x), ::cosh(x))
FM_REAL_FUNCTION(area_sine, asinhf(x), ::asinh(x))
FM_REAL_FUNCTION(area_cosine, acoshf(x), ::acosh(x))
FM_REAL_FUNCTION(area_tangent, atanhf(x), ::atanh(x))
FM_REAL_FUNCTION(gamma, tgammaf(x), ::tgamma(x))
FM_REAL_FUNCTION(log_gamma, lgammaf(x), ::lgamma(x))

namespace fm {

__device__ __noinline__ float32 power(float32 a, float32 b) { return powf(a, b); }
__device__ __noinline__ float64 power(float64 a, float64 b) { return ::pow(a, b); }
__device__ __forceinline__ float32 hypotenuse(float32 a, float32 b) { return hypotf(a, b); }
__device__ __noinline__ float64 hypotenuse(float64 a, float64 b) { return ::hypot(a, b); }

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

// The inverse of the error function, the gamma function's derivatives and smooth steps, in float64
// where cancellation asks for it; the series and their sources are those of the Rust kernels.
#pragma once
#include "real.cuh"

namespace fm {

constexpr float64 PI = 3.141592653589793;

template <class R> __device__ __forceinline__ R sigmoid(R x) {
    const R e = exponential(-magnitude(x));
    return over(x < 0 ? e : (R)1, plus((R)1, e));
}

template <class R> __device__ __forceinline__ R log_sigmoid(R x) {
    return -plus(logarithm_1p(exponential(-magnitude(x))), x < 0 ? -x : (R)0);
}

// From 40 on the hyperbolic tangent is 1.
template <class R> __device__ __forceinline__ R mish(R x) {
    const float64 e = exponential((float64)(x > 40 ? (R)40 : x)), n = e * (e + 2);
    return x < -1e30 ? (R)-0.0 : (R)(x * (n / (n + 2)));
}

template <class R> __device__ __forceinline__ R smooth_l1(R x, R square) {
    const R t = magnitude(x), inner = times(times(times((R)0.5, x), x), square);
    return t > over((R)1, square) ? minus(t, over((R)0.5, square)) : inner;
}

// An integer tensor takes the whole part of the scalar.
template <class T, class C> __device__ __forceinline__ C whole_for(C x) { return round_to_zero(x); }
template <> __device__ __forceinline__ float32 whole_for<float16>(float32 x) { return x; }
template <> __device__ __forceinline__ float32 whole_for<bfloat16>(float32 x) { return x; }
template <> __device__ __forceinline__ float32 whole_for<float32>(float32 x) { return x; }
template <> __device__ __forceinline__ float64 whole_for<float64>(float64 x) { return x; }

/// `a` times the logarithm of `x`, which is 0 for zeros.
__device__ __forceinline__ float64 weighted_log(float64 a, float64 x) {
    return a == 0.0 && x == 0.0 ? 0.0 : a * logarithm(x);
}

// Winitzki's estimate, made exact by steps of Halley's method.
__device__ __noinline__ float64 inverse_error_function(float64 x) {
    const float64 t = fabs(x);
    if (!(t < 1) || t == 0) return t == 0 ? x : over(x, t == 1 ? 0.0 : nan(""));
    const float64 l = ::log1p(-t * t), m = 2 / (PI * 0.147) + l / 2;
    float64 y = t < 1e-8 ? t * sqrt(PI) / 2 : sqrt(sqrt(m * m - l / 0.147) - m);
    for (int i = 0; i < 3; ++i) {
        const float64 error = t < 0.5 ? ::erf(y) - t : (1 - t) - ::erfc(y);
        const float64 step = error * (sqrt(PI) / 2) * ::exp(y * y);
        y -= step / (1 + y * step);
    }
    return x < 0 ? -y : y;
}

// Abramowitz and Stegun, 6.3; infinite at the poles.
__device__ __noinline__ float64 digamma(float64 x) {
    float64 y = 0;
    if (x <= 0) {
        if (x == floor(x)) return x < -1.7e308 ? nan("") : 1 / (float64)0;
        y = -PI / ::tan(PI * (x - round(x)));
        x = 1 - x;
    }
    float64 below = 0;
    for (; x < 10; x += 1) below += 1 / x;
    const float64 z = 1 / (x * x);
    const float64 series[7] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
    float64 sum = 0;
    for (int i = 6; i >= 0; --i) sum = sum * z + series[i];
    return ::log(x) - 0.5 / x - z * sum - below + y;
}

// Abramowitz and Stegun, 6.4.
__device__ __noinline__ float64 trigamma(float64 x) {
    float64 y = 0, sign = 1;
    if (x <= 0) {
        if (x == floor(x)) return x < -1.7e308 ? nan("") : 1 / (float64)0;
        const float64 sine = ::sin(PI * (x - round(x)));
        y = PI * PI / (sine * sine);
        sign = -1;
        x = 1 - x;
    }
    float64 below = 0;
    for (; x < 10; x += 1) below += 1 / (x * x);
    if (x > 1.7e308) return 0;
    const float64 z = 1 / (x * x);
    const float64 bernoulli[7] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30,
                                  5.0 / 66, -691.0 / 2730, 7.0 / 6};
    float64 sum = 0;
    for (int i = 6; i >= 0; --i) sum = sum * z + bernoulli[i];
    return y + sign * (1 / x + 0.5 * z + z / x * sum + below);
}

__device__ __forceinline__ float32 inverse_error_function(float32 x) {
    return (float32)inverse_error_function((float64)x);
}
__device__ __forceinline__ float32 digamma(float32 x) { return (float32)digamma((float64)x); }
__device__ __forceinline__ float32 trigamma(float32 x) { return (float32)trigamma((float64)x); }

} // namespace fm

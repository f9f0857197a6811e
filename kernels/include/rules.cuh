// The rules of optimizers that several sources step by: rates, gradient, and weight and states, which
// they change.
#pragma once
#include "update.cuh"

namespace fm {

// lr, wd, rescale_grad, clip_gradient
struct Sgd {
    template <class R> static __device__ __forceinline__ void step(R (&r)[4], R g, R (&x)[1]) {
        x[0] = ((R)1 - r[0] * r[1]) * x[0] - r[0] * clipped(r[2] * g, r[3]);
    }
};

// lr, wd, rescale_grad, clip_gradient, momentum
struct Momentum {
    template <class R> static __device__ __forceinline__ void step(R (&r)[5], R g, R (&x)[2]) {
        x[1] = r[4] * x[1] - r[0] * r[1] * x[0] - r[0] * clipped(r[2] * g, r[3]);
        x[0] += x[1];
    }
};

/// `decay` of the old value and the rest of the new one.
template <class R> __device__ __forceinline__ R blend(R decay, R old, R fresh) {
    return decay * old + ((R)1 - decay) * fresh;
}

// lr, wd, rescale_grad, clip_gradient, beta1, beta2, epsilon
struct Adam {
    template <class R> static __device__ __forceinline__ void step(R (&r)[7], R g, R (&x)[3]) {
        g = clipped(r[2] * g + r[1] * x[0], r[3]);
        x[1] = blend(r[4], x[1], g);
        x[2] = blend(r[5], x[2], g * g);
        x[0] -= r[0] * x[1] / (square_root(x[2]) + r[6]);
    }
};

// lr, wd, rescale_grad, clip_gradient, lamda1, beta; states z, n
struct Ftrl {
    template <class R> static __device__ __forceinline__ void step(R (&r)[6], R g, R (&x)[3]) {
        g = clipped(r[2] * g, r[3]);
        const R sum = x[2] + g * g, root = square_root(sum);
        x[1] = x[1] + g - (root - square_root(x[2])) * x[0] / r[0];
        x[2] = sum;
        const R far = (r[4] * sign(x[1]) - x[1]) / ((r[5] + root) / r[0] + r[1]);
        // NaN goes the way of what is far.
        x[0] = magnitude(x[1]) <= r[4] ? (R)0 : far;
    }
};

// lr, rescale_grad, clip_gradient, epsilon
struct AdaGrad {
    template <class R> static __device__ __forceinline__ void step(R (&r)[4], R g, R (&x)[2]) {
        g = clipped(r[1] * g, r[2]);
        x[1] += g * g;
        x[0] -= r[0] * g / square_root(x[1] + r[3]);
    }
};

/// What is divided by in order to correct a mean for its start from 0: 1 - decay^t.
__device__ __forceinline__ float64 correction(float64 decay, float64 t) { return 1.0 - power(decay, t); }

// lr, wd, eta, clip_gradient, beta1, beta2, epsilon, rescale_grad
struct AdamW {
    template <class R> static __device__ __forceinline__ void step(R (&r)[8], R g, R (&x)[3]) {
        g = clipped(r[7] * g, r[3]);
        x[1] = blend(r[4], x[1], g);
        x[2] = blend(r[5], x[2], g * g);
        x[0] -= r[2] * (r[0] * x[1] / (square_root(x[2]) + r[6]) + r[1] * x[0]);
    }
};

// wd, and what means and variances are divided by; rescale_grad, clip_gradient, beta1, beta2, epsilon
struct Direction {
    /// From t and bias_correction in place of the divisors.
    static __device__ __forceinline__ void prepare(float64 (&r)[8]) {
        const float64 t = r[1];
        const bool corrects = r[2] != 0.0;
        r[1] = corrects ? correction(r[5], t) : 1.0;
        r[2] = corrects ? correction(r[6], t) : 1.0;
    }
    template <class R> static __device__ __forceinline__ void step(R (&r)[8], R g, R (&x)[3]) {
        g = clipped(r[3] * g, r[4]);
        x[1] = blend(r[5], x[1], g);
        x[2] = blend(r[6], x[2], g * g);
        x[0] = (x[1] / r[1]) / (square_root(x[2] / r[2]) + r[7]) + r[0] * x[0];
    }
};

/// A step of a given rate in a given direction.
struct Descent {
    template <class R> static __device__ __forceinline__ void step(R (&r)[1], R g, R (&x)[1]) {
        x[0] -= r[0] * g;
    }
};

/// The factor of a rate for the norms of weight and direction: their quotient, with the weight's norm
/// within bounds that are not negative; 1 where one of them is 0.
__device__ __forceinline__ float64
length(float64 weight, float64 direction, float64 lower, float64 upper) {
    weight = lower >= 0.0 ? fmax(weight, lower) : weight;
    weight = upper >= 0.0 ? fmin(weight, upper) : weight;
    return weight == 0.0 || direction == 0.0 ? 1.0 : weight / direction;
}

} // namespace fm

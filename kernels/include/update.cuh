// Steps of optimizers: a rule makes new values of a weight and its states, element by element.
#pragma once
#include "convert.cuh"
#include "map.cuh"
#include "real.cuh"

namespace fm {

/// What a step reads and writes; no array has gaps. States are changed where they are.
template <class T, class S, int STATES> struct Step {
    T *out;
    const T *weight;
    const T *grad;
    S *states[STATES == 0 ? 1 : STATES];
    int64 count;
};

/// Numbers that a rule takes, in its order.
template <int N> struct Rates {
    float64 at[N];
};

/// A negative bound clips nothing: it lies above its opposite.
template <class R> __device__ __forceinline__ R clipped(R x, R bound) {
    return bound < (R)0 ? x : x > bound ? bound : x < -bound ? -bound : x;
}

/// Makes a step. Where MASTER, the last state is a copy of the weight, from which the new one comes.
/// RULE takes rates, gradient, and weight and states, which it changes.
template <bool MASTER, class RULE, class R, class T, class S, int STATES, int N>
__device__ __forceinline__ void
update(const Step<T, S, STATES> &step, const Rates<N> &rates, int req) {
    constexpr int OWN = STATES - (MASTER ? 1 : 0);
    R rate[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        rate[k] = (R)rates.at[k];
    }
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int64 i = first; i < step.count; i += gridDim.x * (int64)blockDim.x) {
        R value[OWN + 1];
        value[0] = MASTER ? convert<R>(step.states[OWN][i]) : convert<R>(step.weight[i]);
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            value[k + 1] = convert<R>(step.states[k][i]);
        }
        RULE::step(rate, convert<R>(step.grad[i]), value);
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            step.states[k][i] = convert<S>(value[k + 1]);
        }
        if (MASTER) {
            step.states[OWN][i] = convert<S>(value[0]);
        }
        if (req != Null) {
            put(step.out[i], value[0], opaque(req == Add));
        }
    }
}

} // namespace fm

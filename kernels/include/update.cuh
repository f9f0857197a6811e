// Steps of optimizers: a rule makes new values of a weight and its states, element by element.
#pragma once
#include "convert.cuh"
#include "map.cuh"
#include "real.cuh"
#include "shared.cuh"

namespace fm {

/// What a step reads and writes; no array has gaps. States are changed where they are.
template <class T, class S, int STATES, class W = T> struct Step {
    W *out;
    const W *weight;
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

/// Makes a step of elements `first` to `end` that are `apart`. Where MASTER, the last state is a copy of
/// the weight, from which the new one comes. RULE takes rates, gradient, and weight and states, which it
/// changes.
template <bool MASTER, class RULE, class R, class T, class S, int STATES, class W, int N>
__device__ __forceinline__ void
update(const Step<T, S, STATES, W> &step, R (&rate)[N], int64 first, int64 end, int64 apart, int req) {
    constexpr int OWN = STATES - (MASTER ? 1 : 0);
#pragma unroll 1
    for (int64 i = first; i < end; i += apart) {
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

/// Makes a step of all elements.
template <bool MASTER, class RULE, class R, class T, class S, int STATES, class W, int N>
__device__ __forceinline__ void
update(const Step<T, S, STATES, W> &step, const Rates<N> &rates, int req) {
    R rate[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        rate[k] = (R)rates.at[k];
    }
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    update<MASTER, RULE>(step, rate, first, step.count, gridDim.x * (int64)blockDim.x, req);
}

/// Rates as RULE wants them, which one thread of a block computes for all.
template <class RULE, int N> __device__ __forceinline__ Rates<N> prepared(const Rates<N> &given) {
    typedef Rates<N> All;
    FM_SHARED(All, rates, 1);
    if (threadIdx.x == 0) {
        All own = given;
        RULE::prepare(own.at);
        rates[0] = own;
    }
    __syncthreads();
    return rates[0];
}

} // namespace fm

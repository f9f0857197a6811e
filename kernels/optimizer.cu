// Steps of gradient descent.
//
// Entry points: optimizer_NAME_DTYPE(step, rates, req), and optimizer_mp_NAME_DTYPE with float32 states
// of which the last is a copy of the weight. Rates come in the order of the rule's names.
#include "rules.cuh"

namespace fm {

// lr, wd, rescale_grad, clip_gradient, momentum
struct Nag {
    template <class R> static __device__ __forceinline__ void step(R (&r)[5], R g, R (&x)[2]) {
        const R step = r[0] * clipped(r[2] * g, r[3]), kept = r[4] * x[1], decay = r[0] * r[1];
        const R fresh = x[0] + r[4] * (kept - decay * x[0] - step) - (decay * x[0] + step);
        x[0] = fresh;
        x[1] = kept - decay * fresh - step;
    }
};

// lr, wd
struct SignSgd {
    template <class R> static __device__ __forceinline__ void step(R (&r)[2], R g, R (&x)[1]) {
        x[0] = ((R)1 - r[0] * r[1]) * x[0] - r[0] * sign(g);
    }
};

// lr, wd, rescale_grad, clip_gradient, momentum, wd_lh
struct Signum {
    template <class R> static __device__ __forceinline__ void step(R (&r)[6], R g, R (&x)[2]) {
        const R rest = (R)1 - r[4];
        x[1] = r[4] * x[1] - rest * r[1] * x[0] - rest * clipped(r[2] * g, r[3]);
        x[0] = ((R)1 - r[0] * r[5]) * x[0] + r[0] * sign(x[1]);
    }
};

} // namespace fm

#define FM_STEP_ENTRY(T, NAME, RULE, STATES, N) \
    extern "C" __global__ void optimizer_##NAME##_##T( \
        const __grid_constant__ fm::Step<T, T, STATES> step, \
        const __grid_constant__ fm::Rates<N> rates, int req) { \
        fm::update<false, fm::RULE, fm::Compute<T>>(step, rates, req); \
    }
// States of float32, from which weights of float64 are computed, too.
#define FM_MASTER_ENTRY(T, NAME, RULE, STATES, N) \
    extern "C" __global__ void optimizer_mp_##NAME##_##T( \
        const __grid_constant__ fm::Step<T, float32, STATES> step, \
        const __grid_constant__ fm::Rates<N> rates, int req) { \
        fm::update<true, fm::RULE, float32>(step, rates, req); \
    }

FM_FLOATS(FM_STEP_ENTRY, sgd_update, Sgd, 0, 4)
FM_FLOATS(FM_STEP_ENTRY, sgd_mom_update, Momentum, 1, 5)
FM_FLOATS(FM_STEP_ENTRY, nag_mom_update, Nag, 1, 5)
FM_FLOATS(FM_STEP_ENTRY, signsgd_update, SignSgd, 0, 2)
FM_FLOATS(FM_STEP_ENTRY, signum_update, Signum, 1, 6)
FM_FLOATS(FM_MASTER_ENTRY, sgd_update, Sgd, 1, 4)
FM_FLOATS(FM_MASTER_ENTRY, sgd_mom_update, Momentum, 2, 5)
FM_FLOATS(FM_MASTER_ENTRY, nag_mom_update, Nag, 2, 5)

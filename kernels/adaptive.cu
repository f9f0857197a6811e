// Steps of optimizers with a rate for each element; those of AdamW are in multi_adaptive.cu.
//
// Entry points: adaptive_NAME_DTYPE(step, rates, req). Rates come in the order of the rule's names.
// adaptive_group_adagrad_update_DTYPE(weight, grad, history, out, rows, width, rates, req) has a state for
// each row; blocks have rows, whose elements threads along y, a power of two, share.
#include "group.cuh"
#include "rules.cuh"

namespace fm {

// lr, wd, rescale_grad, clip_grad, beta1, beta2, epsilon, t twice; states d, v, z
struct Ftml {
    static __device__ __forceinline__ void prepare(float64 (&r)[9]) {
        r[7] = correction(r[4], r[7]);
        r[8] = correction(r[5], r[8]);
    }
    template <class R> static __device__ __forceinline__ void step(R (&r)[9], R g, R (&x)[4]) {
        g = clipped(r[2] * g + r[1] * x[0], r[3]);
        x[2] = blend(r[5], x[2], g * g);
        const R fresh = r[7] / r[0] * (square_root(x[2] / r[8]) + r[6]);
        x[3] = blend(r[4], x[3], g) - (fresh - r[4] * x[1]) * x[0];
        x[1] = fresh;
        x[0] = -x[3] / fresh;
    }
};

// lr, wd, rescale_grad, clip_gradient, gamma1, epsilon, clip_weights
struct RmsProp {
    template <class R> static __device__ __forceinline__ void step(R (&r)[7], R g, R (&x)[2]) {
        g = clipped(r[2] * g + r[1] * x[0], r[3]);
        x[1] = blend(r[4], x[1], g * g);
        x[0] = clipped(x[0] - r[0] * g / square_root(x[1] + r[5]), r[6]);
    }
};

// lr, wd, rescale_grad, clip_gradient, gamma1, epsilon, clip_weights, gamma2; states n, g, delta
struct RmsPropAlex {
    template <class R> static __device__ __forceinline__ void step(R (&r)[8], R g, R (&x)[4]) {
        g = clipped(r[2] * g + r[1] * x[0], r[3]);
        x[1] = blend(r[4], x[1], g * g);
        x[2] = blend(r[4], x[2], g);
        x[3] = r[7] * x[3] - r[0] * g / square_root(x[1] - x[2] * x[2] + r[5]);
        x[0] = clipped(x[0] + x[3], r[6]);
    }
};

/// The step of `AdaGrad` with the mean of the squares of a row.
template <class T>
__device__ __forceinline__ void group_adagrad(
    const T *weight, const T *grad, T *history, T *out, int64 rows, int64 width,
    const Rates<4> &rates, int req) {
#pragma unroll 1
    for (int64 row = blockIdx.x; row < rows; row += gridDim.x) {
        group_adagrad_row(weight, grad + row * width, history, out, row, width, rates, req);
    }
}

} // namespace fm

#define FM_STEP_ENTRY(T, NAME, RULE, STATES, N) \
    extern "C" __global__ void adaptive_##NAME##_##T( \
        const __grid_constant__ fm::Step<T, T, STATES> step, \
        const __grid_constant__ fm::Rates<N> rates, int req) { \
        fm::update<false, fm::RULE, fm::Compute<T>>(step, rates, req); \
    }
#define FM_FTML_ENTRY(T, ...) \
    extern "C" __global__ void adaptive_ftml_update_##T( \
        const __grid_constant__ fm::Step<T, T, 3> step, \
        const __grid_constant__ fm::Rates<9> rates, int req) { \
        fm::update<false, fm::Ftml, fm::Compute<T>>(step, fm::prepared<fm::Ftml>(rates), req); \
    }

FM_FLOATS(FM_STEP_ENTRY, adam_update, Adam, 2, 7)
FM_FLOATS(FM_FTML_ENTRY, )
FM_FLOATS(FM_STEP_ENTRY, ftrl_update, Ftrl, 2, 6)
FM_FLOATS(FM_STEP_ENTRY, sparse_adagrad_update, AdaGrad, 1, 4)
FM_FLOATS(FM_STEP_ENTRY, rmsprop_update, RmsProp, 1, 7)
FM_FLOATS(FM_STEP_ENTRY, rmspropalex_update, RmsPropAlex, 3, 8)

#define FM_GROUP_ENTRY(T, ...) \
    extern "C" __global__ void adaptive_group_adagrad_update_##T( \
        const T *weight, const T *grad, T *history, T *out, int64 rows, int64 width, \
        const __grid_constant__ fm::Rates<4> rates, int req) { \
        fm::group_adagrad(weight, grad, history, out, rows, width, rates, req); \
    }
FM_REALS(FM_GROUP_ENTRY, )

// The steps of LAMB, and the rates of LARS, which depend on the norms of weight and gradient.
//
// Entry points: lamb_phase1_DTYPE(step, rates, req) for the direction, with rates in the order of its rule;
// lamb_phase2_DTYPE(step, norms of weight and direction, lr, lower, upper, req), whose gradient is the
// direction; lamb_rates_DTYPE(lrs, weights, grads, decays, out, count, eta, eps, rescale, req) for LARS.
// lamb_mp_phase1_DTYPE reads weights of float32, and lamb_mp_phase2_DTYPE changes a copy of the weight,
// both with all but the weight or the gradient in float32.
#include "rules.cuh"

namespace fm {

template <bool MASTER, class R, class STEP, class T>
__device__ __forceinline__ void descend(
    const STEP &step, const T *weight_norm, const T *norm, float64 lr, float64 lower,
    float64 upper, int req) {
    const float64 norms[2] = {convert<float64>(*weight_norm), convert<float64>(*norm)};
    const Rates<1> rates = {{lr * length(norms[0], norms[1], lower, upper)}};
    update<MASTER, Descent, R>(step, rates, req);
}

/// Squared norms become rates.
template <class T>
__device__ __forceinline__ void lars(
    const T *lrs, const T *weights, const T *grads, const T *decays, T *out, int64 count,
    float64 eta, float64 eps, float64 rescale, int req) {
    typedef Compute<T> R;
    const int64 end = req == Null ? 0 : count;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < end;
         i += gridDim.x * (int64)blockDim.x) {
        const R lr = convert<R>(lrs[i]), decay = convert<R>(decays[i]);
        const R w = square_root(convert<R>(weights[i])), g = square_root(convert<R>(grads[i]));
        const R scaled = lr * ((R)eta * w / (g * (R)rescale + decay * w + (R)eps));
        put(out[i], w > (R)0 && g > (R)0 ? scaled : lr, opaque(req == Add));
    }
}

} // namespace fm

#define FM_PHASE_ENTRIES(T, ...) \
    extern "C" __global__ void lamb_phase1_##T( \
        const __grid_constant__ fm::Step<T, T, 2> step, \
        const __grid_constant__ fm::Rates<8> rates, int req) { \
        const fm::Rates<8> ready = fm::prepared<fm::Direction>(rates); \
        fm::update<false, fm::Direction, fm::Compute<T>>(step, ready, req); \
    } \
    extern "C" __global__ void lamb_mp_phase1_##T( \
        const __grid_constant__ fm::Step<T, float32, 2, float32> step, \
        const __grid_constant__ fm::Rates<8> rates, int req) { \
        const fm::Rates<8> ready = fm::prepared<fm::Direction>(rates); \
        fm::update<false, fm::Direction, float32>(step, ready, req); \
    } \
    extern "C" __global__ void lamb_phase2_##T( \
        const __grid_constant__ fm::Step<T, T, 0> step, const T *weight, const T *direction, \
        float64 lr, float64 lower, float64 upper, int req) { \
        fm::descend<false, fm::Compute<T>>(step, weight, direction, lr, lower, upper, req); \
    } \
    extern "C" __global__ void lamb_mp_phase2_##T( \
        const __grid_constant__ fm::Step<float32, float32, 1, T> step, const float32 *weight, \
        const float32 *direction, float64 lr, float64 lower, float64 upper, int req) { \
        fm::descend<true, float32>(step, weight, direction, lr, lower, upper, req); \
    } \
    extern "C" __global__ void lamb_rates_##T( \
        const T *lrs, const T *weights, const T *grads, const T *decays, T *out, int64 count, \
        float64 eta, float64 eps, float64 rescale, int req) { \
        fm::lars(lrs, weights, grads, decays, out, count, eta, eps, rescale, req); \
    }
FM_FLOATS(FM_PHASE_ENTRIES, )

// Elements divided by a power of the squares of their neighbours in other channels, and the gradient.
//
// Entry points: lrn_forward_DTYPE(data, out, norm, req) and lrn_backward_DTYPE(grad, data, out, norm, req),
// a thread for each element. Halves are computed in float32. Arrays have no gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"

namespace fm {

/// `count` of the axis is that of channels, of which `reach` on either side count; `alpha` is the factor of
/// the sum of squares.
struct Norm {
    Along along;
    int64 reach;
    float64 alpha, beta, knorm;
};

/// Calls `each(place)` for the channels that count for one, around its element.
template <class F>
__device__ __forceinline__ void near(const Norm &norm, int64 channel, int64 place, F each) {
    const int64 count = norm.along.count;
    const int64 first = channel < norm.reach ? 0 : channel - norm.reach;
    const int64 end = channel + norm.reach + 1 < count ? channel + norm.reach + 1 : count;
#pragma unroll 1
    for (int64 c = first; c < end; ++c) {
        each(c, place + (c - channel) * norm.along.inner);
    }
}

template <class C, class T>
__device__ __forceinline__ C norm_of(const T *data, const Norm &norm, int64 channel, int64 place) {
    C sum = 0;
    near(norm, channel, place, [&](int64, int64 at) {
        const C x = convert<C>(data[at]);
        sum = plus(sum, times(x, x));
    });
    return plus((C)norm.knorm, times((C)norm.alpha, sum));
}

__device__ __forceinline__ int64 channel_of(const Norm &norm, int64 i) {
    return split(split(i, norm.along.inner).row, norm.along.count).at;
}

template <class T>
__device__ __forceinline__ void forward(const T *data, T *out, const Norm &norm, int req) {
    typedef Compute<T> C;
    const Along &along = norm.along;
    each(req == Null ? 0 : along.outer * along.count * along.inner, [&](int64 i) {
        const C whole = norm_of<C>(data, norm, channel_of(norm, i), i);
        put(out[i], times(convert<C>(data[i]), power(whole, (C)-norm.beta)), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void
backward(const T *grad, const T *data, T *out, const Norm &norm, int req) {
    typedef Compute<T> C;
    const Along &along = norm.along;
    const C factor = (C)(2.0 * norm.alpha * norm.beta);
    each(req == Null ? 0 : along.outer * along.count * along.inner, [&](int64 i) {
        C own = 0, sum = 0;
        const int64 channel = channel_of(norm, i);
        near(norm, channel, i, [&](int64 c, int64 at) {
            const C whole = norm_of<C>(data, norm, c, at);
            const C scale = power(whole, (C)-norm.beta), g = convert<C>(grad[at]);
            own = c == channel ? times(g, scale) : own;
            sum = plus(sum, over(times(times(g, convert<C>(data[at])), scale), whole));
        });
        const C back = times(times(factor, convert<C>(data[i])), sum);
        put(out[i], minus(own, back), opaque(req == Add));
    });
}

} // namespace fm

#define FM_LRN_ENTRIES(T, ...) \
    extern "C" __global__ void lrn_forward_##T( \
        const T *data, T *out, const __grid_constant__ fm::Norm norm, int req) { \
        fm::forward(data, out, norm, req); \
    } \
    extern "C" __global__ void lrn_backward_##T( \
        const T *grad, const T *data, T *out, const __grid_constant__ fm::Norm norm, int req) { \
        fm::backward(grad, data, out, norm, req); \
    }
FM_FLOATS(FM_LRN_ENTRIES, )

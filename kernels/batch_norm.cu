// BatchNorm and its gradient. Sums are float64; the mean comes first, then the squared distances from
// it. Threads along y, a power of two, share a channel, threads along x have channels of their own.
//
// Entry points: batch_norm_forward_DTYPE(channels, data, out, norm, reqs) and
// batch_norm_backward_DTYPE(channels, grad, data, result, norm, reqs), whose `channels` are the arrays
// with an element for each channel, of halves float32; batch_norm_again_DTYPE(statistics, data, out, along,
// fix_gamma, req), the output once more, with a thread for each element. Arrays have no gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"

namespace fm {

struct Norm {
    /// `count` is that of channels.
    Along along;
    /// Whether the statistics are those of the batch.
    int64 batch;
    int64 fix_gamma;
    int64 kind;
    float64 eps, momentum;
};

/// What is different about relatives: what is negative becomes 0; the third output is the variance.
enum Kind { Plain = 0, Relu = 1, Variance = 2 };

/// What to do with each output.
struct Reqs {
    int64 of[5];
};

/// Inputs, then outputs.
template <class T> struct Forward {
    const T *gamma, *beta, *moving_mean, *moving_var;
    T *mean, *inverse;
};
/// The last four are null in a pass that leaves the moving statistics alone.
template <class T> struct Backward {
    const T *gamma, *mean, *inverse;
    T *gamma_grad, *beta_grad;
    const T *moving_mean, *moving_var;
    T *new_mean, *new_var;
};

/// Inputs of what gives the output once more.
template <class T> struct Statistics {
    const T *gamma, *beta, *mean, *inverse;
};

template <class C>
__device__ __forceinline__ C normed(C x, C mean, C scale, C beta) {
    return (x - mean) * scale + beta;
}

/// Calls `each(element)` for this thread's share of a channel.
template <class F>
__device__ __forceinline__ void over_channel(const Along &along, int64 channel, F each) {
    const int64 all = channel < along.count ? along.outer * along.inner : 0;
#pragma unroll 1
    for (int64 e = threadIdx.y; e < all; e += blockDim.y) {
        const int64 outer = e / along.inner;
        each((outer * along.count + channel) * along.inner + e - outer * along.inner);
    }
}

__device__ __forceinline__ float64 sum_of(float64 mine, float64 (&part)[MOST_THREADS]) {
    return together(mine, part, [](float64 a, float64 b) { return a + b; });
}

/// Stores a value of a channel, by one of the threads that have it.
template <class T>
__device__ __forceinline__ void give(T *out, int64 channel, T value, int64 req) {
    if (req != Null && threadIdx.y == 0) {
        put(out[channel], value, req == Add);
    }
}

template <class T>
__device__ __forceinline__ void forward(
    const Forward<Compute<T>> &by, const T *data, T *out, const Norm &norm, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(float64, part, MOST_THREADS);
    const Along &along = norm.along;
    const float64 count = (float64)(along.outer * along.inner);
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < along.count;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 channel = first + threadIdx.x, known = channel < along.count ? channel : 0;
        C mean = by.moving_mean[known];
        float64 var = by.moving_var[known];
        if (norm.batch) {
            float64 sum = 0, squares = 0;
            over_channel(along, channel, [&](int64 at) { sum += (float64)convert<C>(data[at]); });
            const float64 exact = over(sum_of(sum, part), count < 1 ? 1.0 : count);
            mean = (C)exact;
            // Distances are from a mean with more digits: these count where it is far from 0.
            const C rest = (C)(exact - (float64)mean);
            over_channel(along, channel, [&](int64 at) {
                const float64 distance = (float64)((convert<C>(data[at]) - mean) - rest);
                squares += distance * distance;
            });
            var = over(sum_of(squares, part), count < 1 ? 1.0 : count);
        }
        const C inverse = (C)over(1.0, square_root(var + norm.eps));
        const C scale = norm.fix_gamma ? inverse : by.gamma[known] * inverse;
        const C beta = by.beta[known];
        if (channel < along.count) {
            give(by.mean, channel, mean, reqs.of[1]);
            give(by.inverse, channel, norm.kind == Variance ? (C)var : inverse, reqs.of[2]);
        }
        if (reqs.of[0] != Null) {
            over_channel(along, channel, [&](int64 at) {
                C y = normed(convert<C>(data[at]), mean, scale, beta);
                y = norm.kind == Relu && y < 0 ? (C)0 : y;
                put(out[at], y, opaque(reqs.of[0] == Add));
            });
        }
        __syncthreads();
    }
}

/// Brings a moving statistic closer to that of the batch, by the thread that has its channel.
template <class C>
__device__ __forceinline__ void move(
    const C *from, C *to, int64 channel, float64 of_batch, const Norm &norm, int64 req) {
    if (norm.batch && req != Null && threadIdx.y == 0) {
        const float64 old = (float64)from[channel] * norm.momentum;
        put(to[channel], (C)(old + of_batch * (1.0 - norm.momentum)), req == Add);
    }
}

template <class T>
__device__ __forceinline__ void backward(
    const Backward<Compute<T>> &by, const T *grad, const T *data, T *result, const Norm &norm,
    const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(float64, part, MOST_THREADS);
    const Along &along = norm.along;
    const float64 count = (float64)(along.outer * along.inner);
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < along.count;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 channel = first + threadIdx.x, known = channel < along.count ? channel : 0;
        const C mean = by.mean[known];
        const float64 inverse = by.inverse[known];
        float64 sum = 0, products = 0;
        over_channel(along, channel, [&](int64 at) {
            const C g = convert<C>(grad[at]);
            sum += (float64)g;
            products += (float64)(g * (convert<C>(data[at]) - mean));
        });
        sum = sum_of(sum, part);
        products = sum_of(products, part);
        const float64 scale = inverse * (norm.fix_gamma ? 1.0 : (float64)by.gamma[known]);
        if (channel < along.count) {
            give(by.gamma_grad, channel, (C)(norm.fix_gamma ? 0.0 : products * inverse), reqs.of[1]);
            give(by.beta_grad, channel, (C)sum, reqs.of[2]);
            // Rounding may take a variance of 0 below it.
            const float64 var = over(1.0, inverse * inverse) - norm.eps;
            move(by.moving_mean, by.new_mean, channel, (float64)mean, norm, reqs.of[3]);
            move(by.moving_var, by.new_var, channel, var < 0 ? 0.0 : var, norm, reqs.of[4]);
        }
        const float64 share = norm.batch && count > 0 ? over(1.0, count) : 0.0;
        const C factor = (C)scale, slope = (C)(-scale * inverse * inverse * products * share);
        const C offset = (C)(-scale * sum * share);
        if (reqs.of[0] != Null) {
            over_channel(along, channel, [&](int64 at) {
                const C x = convert<C>(data[at]) - mean;
                const C value = factor * convert<C>(grad[at]) + slope * x + offset;
                put(result[at], value, opaque(reqs.of[0] == Add));
            });
        }
        __syncthreads();
    }
}

template <class T>
__device__ __forceinline__ void again(
    const Statistics<Compute<T>> &by, const T *data, T *out, const Along &along, int fix_gamma,
    int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : along.outer * along.count * along.inner, [&](int64 i) {
        const int64 c = split(split(i, along.inner).row, along.count).at;
        const C scale = fix_gamma ? by.inverse[c] : by.gamma[c] * by.inverse[c];
        const C y = normed(convert<C>(data[i]), by.mean[c], scale, by.beta[c]);
        put(out[i], y, opaque(req == Add));
    });
}

} // namespace fm

#define FM_BATCH_NORM_ENTRIES(T, ...) \
    extern "C" __global__ void batch_norm_forward_##T( \
        const __grid_constant__ fm::Forward<fm::Compute<T>> channels, const T *data, T *out, \
        const __grid_constant__ fm::Norm norm, const __grid_constant__ fm::Reqs reqs) { \
        fm::forward(channels, data, out, norm, reqs); \
    } \
    extern "C" __global__ void batch_norm_backward_##T( \
        const __grid_constant__ fm::Backward<fm::Compute<T>> channels, const T *grad, const T *data, \
        T *result, \
        const __grid_constant__ fm::Norm norm, const __grid_constant__ fm::Reqs reqs) { \
        fm::backward(channels, grad, data, result, norm, reqs); \
    } \
    extern "C" __global__ void batch_norm_again_##T( \
        const __grid_constant__ fm::Statistics<fm::Compute<T>> statistics, const T *data, T *out, \
        const __grid_constant__ fm::Along along, int fix_gamma, int req) { \
        fm::again(statistics, data, out, along, fix_gamma, req); \
    }
FM_FLOATS(FM_BATCH_NORM_ENTRIES, )

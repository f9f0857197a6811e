// BatchNorm and its gradient. Sums are float64; the mean comes first, then the squared distances from
// it. Threads along y, a power of two, share a channel, threads along x have channels of their own.
// Where a channel has runs of elements in memory, blocks at (channel, part) share it, in two launches.
//
// Entry points: batch_norm_forward_DTYPE(channels, data, out, norm, reqs) and
// batch_norm_backward_DTYPE(channels, grad, data, result, norm, reqs), whose `channels` are the arrays
// with an element for each channel, of halves float32; batch_norm_again_DTYPE(statistics, data, out, along,
// fix_gamma, req), the output once more, with a thread for each element. Of parts:
// batch_norm_moments_DTYPE(data, partial, along), which prediction does without, and
// batch_norm_apply_DTYPE(channels, data, out, partial, norm, reqs); batch_norm_sums_DTYPE(grad, data, mean,
// partial, along) and batch_norm_back_DTYPE(channels, grad, data, result, partial, norm, reqs). Arrays
// have no gaps.
#include "grid.cuh"
#include "norm.cuh"
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

/// What becomes of a channel: `(x - mean) * scale + beta`.
template <class C> struct Affine {
    C mean, scale, beta;
};
/// What becomes of a gradient g: `factor * g + slope * (x - mean) + offset`.
template <class C> struct Slope {
    C mean, factor, slope, offset;
};

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
template <class T> __device__ __forceinline__ void give(T *out, int64 channel, T value, int64 req) {
    if (req != Null) {
        put(out[channel], value, req == Add);
    }
}

/// Stores the statistics of a channel, where this thread is to, and gives what they make of it.
template <class C>
__device__ __forceinline__ Affine<C> settle(
    const Forward<C> &by, int64 channel, bool stores, C mean, float64 var, const Norm &norm,
    const Reqs &reqs) {
    const C inverse = (C)over(1.0, square_root(var + norm.eps));
    if (stores) {
        give(by.mean, channel, mean, reqs.of[1]);
        give(by.inverse, channel, norm.kind == Variance ? (C)var : inverse, reqs.of[2]);
    }
    return {mean, norm.fix_gamma ? inverse : by.gamma[channel] * inverse, by.beta[channel]};
}

template <class C>
__device__ __forceinline__ C applied(C x, const Affine<C> &affine, const Norm &norm) {
    const C y = normed(x, affine.mean, affine.scale, affine.beta);
    return norm.kind == Relu && y < 0 ? (C)0 : y;
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
        const bool stores = channel < along.count && threadIdx.y == 0;
        const Affine<C> affine = settle(by, known, stores, mean, var, norm, reqs);
        if (reqs.of[0] != Null) {
            over_channel(along, channel, [&](int64 at) {
                const C y = applied(convert<C>(data[at]), affine, norm);
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
    if (norm.batch && req != Null) {
        const float64 old = (float64)from[channel] * norm.momentum;
        put(to[channel], (C)(old + of_batch * (1.0 - norm.momentum)), req == Add);
    }
}

/// Stores the gradients of gamma and beta and the moving statistics, where this thread is to, and gives
/// what makes the gradient of the data.
template <class C>
__device__ __forceinline__ Slope<C> settle(
    const Backward<C> &by, int64 channel, bool stores, float64 sum, float64 products, const Norm &norm,
    const Reqs &reqs) {
    const C mean = by.mean[channel];
    const float64 inverse = by.inverse[channel];
    const float64 count = (float64)(norm.along.outer * norm.along.inner);
    const float64 scale = inverse * (norm.fix_gamma ? 1.0 : (float64)by.gamma[channel]);
    if (stores) {
        give(by.gamma_grad, channel, (C)(norm.fix_gamma ? 0.0 : products * inverse), reqs.of[1]);
        give(by.beta_grad, channel, (C)sum, reqs.of[2]);
        // Rounding may take a variance of 0 below it.
        const float64 var = over(1.0, inverse * inverse) - norm.eps;
        move(by.moving_mean, by.new_mean, channel, (float64)mean, norm, reqs.of[3]);
        move(by.moving_var, by.new_var, channel, var < 0 ? 0.0 : var, norm, reqs.of[4]);
    }
    const float64 share = norm.batch && count > 0 ? over(1.0, count) : 0.0;
    const C slope = (C)(-scale * inverse * inverse * products * share);
    return {mean, (C)scale, slope, (C)(-scale * sum * share)};
}

template <class C> __device__ __forceinline__ C sloped(C g, C x, const Slope<C> &line) {
    return line.factor * g + line.slope * (x - line.mean) + line.offset;
}

template <class T>
__device__ __forceinline__ void backward(
    const Backward<Compute<T>> &by, const T *grad, const T *data, T *result, const Norm &norm,
    const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(float64, part, MOST_THREADS);
    const Along &along = norm.along;
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < along.count;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 channel = first + threadIdx.x, known = channel < along.count ? channel : 0;
        const C mean = by.mean[known];
        float64 sum = 0, products = 0;
        over_channel(along, channel, [&](int64 at) {
            const C g = convert<C>(grad[at]);
            sum += (float64)g;
            products += (float64)(g * (convert<C>(data[at]) - mean));
        });
        sum = sum_of(sum, part);
        products = sum_of(products, part);
        const bool stores = channel < along.count && threadIdx.y == 0;
        const Slope<C> line = settle(by, known, stores, sum, products, norm, reqs);
        if (reqs.of[0] != Null) {
            over_channel(along, channel, [&](int64 at) {
                const C value = sloped(convert<C>(grad[at]), convert<C>(data[at]), line);
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

/// Where a block of a second launch works: backwards, as the cache still has what the first read last.
struct Spot {
    unsigned channel, part;

    __device__ __forceinline__ Spot()
        : channel(gridDim.x - 1 - blockIdx.x), part(gridDim.y - 1 - blockIdx.y) {}
    __device__ __forceinline__ bool stores() const { return part == 0 && threadIdx.x == 0; }
};

template <int LANES, class T, class C>
__device__ __forceinline__ void apply_part(
    const T *data, T *out, const Spot &spot, const Affine<C> &affine, const Norm &norm, int64 req) {
    const T *const in[1] = {data};
    along_way<LANES>(
        Way(norm.along, LANES, spot.channel, spot.part, gridDim.y), in,
        [&](const Batch<T, LANES, 1> &batch) {
            store(out, batch, opaque(req == Add), [&](const C(&x)[1], unsigned) {
                return applied(x[0], affine, norm);
            });
        });
}

/// The output of a part of a channel, by what `parts` blocks found, if these are the statistics.
template <class T>
__device__ __forceinline__ void apply(
    const Forward<Compute<T>> &by, const T *data, T *out, const Moments *partial, unsigned parts,
    const Norm &norm, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(Affine<C>, shared, 1);
    const Along &along = norm.along;
    const Spot spot;
    if (threadIdx.x < 32) {
        C mean = by.moving_mean[spot.channel];
        float64 var = by.moving_var[spot.channel];
        if (norm.batch) {
            const Moments all = joined(partial, spot.channel, gridDim.x, parts);
            const float64 count = (float64)(along.outer * along.inner);
            mean = (C)all.mean(count);
            var = all.variance(count);
        }
        if (threadIdx.x == 0) {
            shared[0] = settle(by, spot.channel, spot.stores(), mean, var, norm, reqs);
        }
    }
    __syncthreads();
    const Affine<C> affine = shared[0];
    if (reqs.of[0] == Null) {
        return;
    }
    FM_BY_LANES(T, along.inner, bits_of(data) | bits_of(out),
        apply_part<LANES>(data, out, spot, affine, norm, reqs.of[0]))
}

/// Sums of a part of a channel: of the gradient, and of its products with distances from the mean.
struct Sums {
    float64 plain, products;
};

template <int LANES, class T, class C>
__device__ __forceinline__ void
sum_part(float64 (&all)[2], const T *grad, const T *data, C mean, const Along &along) {
    const T *const in[2] = {grad, data};
    along_way<LANES>(
        Way(along, LANES, blockIdx.x, blockIdx.y, gridDim.y), in,
        [&](const Batch<T, LANES, 2> &batch) {
            C sum = 0, products = 0;
#pragma unroll
            for (unsigned u = 0; u < ahead<LANES>; ++u) {
#pragma unroll
                for (int i = 0; i < LANES; ++i) {
                    const C g = batch.element(0, u, i, (C)0);
                    sum += g;
                    products += g * (batch.element(1, u, i, mean) - mean);
                }
            }
            all[0] += (float64)sum;
            all[1] += (float64)products;
        });
}

template <class T>
__device__ __forceinline__ void sums(
    const T *grad, const T *data, const Compute<T> *means, Sums *partial, const Along &along) {
    typedef Compute<T> C;
    FM_SHARED(float64, room, 2 * WARPS);
    const C mean = means[blockIdx.x];
    float64 all[2] = {0.0, 0.0};
    FM_BY_LANES(T, along.inner, bits_of(grad) | bits_of(data),
        sum_part<LANES>(all, grad, data, mean, along))
    block_sums(all, room);
    if (threadIdx.x == 0) {
        partial[blockIdx.y * (int64)gridDim.x + blockIdx.x] = {all[0], all[1]};
    }
}

template <int LANES, class T, class C>
__device__ __forceinline__ void back_part(
    const T *grad, const T *data, T *result, const Spot &spot, const Slope<C> &line,
    const Along &along, int64 req) {
    const T *const in[2] = {grad, data};
    along_way<LANES>(
        Way(along, LANES, spot.channel, spot.part, gridDim.y), in,
        [&](const Batch<T, LANES, 2> &batch) {
            store(result, batch, opaque(req == Add), [&](const C(&x)[2], unsigned) {
                return sloped(x[0], x[1], line);
            });
        });
}

template <class T>
__device__ __forceinline__ void back(
    const Backward<Compute<T>> &by, const T *grad, const T *data, T *result, const Sums *partial,
    unsigned parts, const Norm &norm, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(Slope<C>, shared, 1);
    const Along &along = norm.along;
    const Spot spot;
    if (threadIdx.x < 32) {
        float64 all[2];
        gathered(all, partial + spot.channel, parts, gridDim.x, [](float64(&to)[2], const Sums &more) {
            to[0] += more.plain;
            to[1] += more.products;
        });
        if (threadIdx.x == 0) {
            shared[0] = settle(by, spot.channel, spot.stores(), all[0], all[1], norm, reqs);
        }
    }
    __syncthreads();
    const Slope<C> line = shared[0];
    if (reqs.of[0] == Null) {
        return;
    }
    FM_BY_LANES(T, along.inner, bits_of(grad) | bits_of(data) | bits_of(result),
        back_part<LANES>(grad, data, result, spot, line, along, reqs.of[0]))
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
    } \
    extern "C" __global__ void batch_norm_moments_##T( \
        const T *data, fm::Moments *partial, const __grid_constant__ fm::Along along) { \
        fm::moments(data, partial, along); \
    } \
    extern "C" __global__ void batch_norm_apply_##T( \
        const __grid_constant__ fm::Forward<fm::Compute<T>> channels, const T *data, T *out, \
        const fm::Moments *partial, int parts, const __grid_constant__ fm::Norm norm, \
        const __grid_constant__ fm::Reqs reqs) { \
        fm::apply(channels, data, out, partial, parts, norm, reqs); \
    } \
    extern "C" __global__ void batch_norm_sums_##T( \
        const T *grad, const T *data, const fm::Compute<T> *mean, fm::Sums *partial, \
        const __grid_constant__ fm::Along along) { \
        fm::sums(grad, data, mean, partial, along); \
    } \
    extern "C" __global__ void batch_norm_back_##T( \
        const __grid_constant__ fm::Backward<fm::Compute<T>> channels, const T *grad, const T *data, \
        T *result, const fm::Sums *partial, int parts, const __grid_constant__ fm::Norm norm, \
        const __grid_constant__ fm::Reqs reqs) { \
        fm::back(channels, grad, data, result, partial, parts, norm, reqs); \
    }
FM_FLOATS(FM_BATCH_NORM_ENTRIES, )

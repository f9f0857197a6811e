// LayerNorm, InstanceNorm and GroupNorm, and their gradients: rows of the data to mean 0 and deviation 1,
// then scaled and shifted by gamma and beta, which differ along a row or from row to row. Halves are
// computed in float32. Threads along y, a power of two, share a row, or a gradient of gamma and beta.
//
// Entry points: layer_norm_forward_DTYPE(data, gamma, beta, out, means, roots, rows, eps, reqs) and
// layer_norm_backward_DTYPE(grad, data, gamma, means, roots, out, rows, req) for that of the data;
// layer_norm_scales_DTYPE(grad, data, means, roots, gammas, betas, partial, rows, reqs) for the others,
// where several blocks along y share a gradient `partial` gets what they found, and
// layer_norm_DTYPE_finish(partial, gammas, betas, parts, scales, reqs) comes after. Arrays have no gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"

namespace fm {

/// Rows along `along.count`, and how many gammas there are: one for each element of a row, or for row r
/// number r % scales.
struct Rows {
    Along along;
    int64 scales, lengthwise;

    __device__ __forceinline__ int64 count() const { return along.outer * along.inner; }
    __device__ __forceinline__ int64 start(int64 row) const {
        const Split at = split(row, along.inner);
        return at.row * along.count * along.inner + at.at;
    }
    __device__ __forceinline__ int64 scale_of(int64 row, int64 i) const {
        return lengthwise ? i : row % scales;
    }
};

struct Reqs {
    int64 of[3];
};

template <class C> __device__ __forceinline__ C sum_of(C mine, C (&part)[MOST_THREADS]) {
    return together(mine, part, [](C a, C b) { return plus(a, b); });
}

/// Calls `each(row, start, count)` for the rows of a block; `count` is 0 where there is no further one.
template <class F> __device__ __forceinline__ void rows_of(const Rows &rows, F each) {
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < rows.count();
         first += gridDim.x * (int64)blockDim.x) {
        const int64 row = first + threadIdx.x, known = row < rows.count() ? row : 0;
        each(known, rows.start(known), row < rows.count() ? rows.along.count : 0);
        __syncthreads();
    }
}

template <class T>
__device__ __forceinline__ void forward(
    const T *data, const T *gamma, const T *beta, T *out, T *means, T *roots, const Rows &rows,
    float64 eps, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    rows_of(rows, [&](int64 row, int64 start, int64 count) {
        const int64 step = rows.along.inner;
        const C length = (C)(rows.along.count < 1 ? 1 : rows.along.count);
        C sum = 0, squares = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            sum = plus(sum, convert<C>(data[start + i * step]));
        }
        const C mean = over(sum_of(sum, part), length);
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            const C apart = minus(convert<C>(data[start + i * step]), mean);
            squares = plus(squares, times(apart, apart));
        }
        const C root = square_root(plus(over(sum_of(squares, part), length), (C)eps));
        const C scale = reciprocal(root);
        if (threadIdx.y == 0 && count > 0) {
            if (reqs.of[1] != Null) {
                put(means[row], mean, reqs.of[1] == Add);
            }
            if (reqs.of[2] != Null) {
                put(roots[row], root, reqs.of[2] == Add);
            }
        }
#pragma unroll 1
        for (int64 i = threadIdx.y; i < (reqs.of[0] == Null ? 0 : count); i += blockDim.y) {
            const int64 at = start + i * step, s = rows.scale_of(row, i);
            const C x = times(minus(convert<C>(data[at]), mean), scale);
            const C y = plus(times(x, convert<C>(gamma[s])), convert<C>(beta[s]));
            put(out[at], y, opaque(reqs.of[0] == Add));
        }
    });
}

template <class T>
__device__ __forceinline__ void backward(
    const T *grad, const T *data, const T *gamma, const T *means, const T *roots, T *out,
    const Rows &rows, int req) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    if (req == Null) {
        return;
    }
    rows_of(rows, [&](int64 row, int64 start, int64 count) {
        const int64 step = rows.along.inner;
        const C length = (C)(rows.along.count < 1 ? 1 : rows.along.count);
        const C mean = convert<C>(means[row]), scale = reciprocal(convert<C>(roots[row]));
        C plain = 0, weighted = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            const int64 at = start + i * step;
            const C g = times(convert<C>(grad[at]), convert<C>(gamma[rows.scale_of(row, i)]));
            plain = plus(plain, g);
            weighted = plus(weighted, times(g, times(minus(convert<C>(data[at]), mean), scale)));
        }
        plain = over(sum_of(plain, part), length);
        weighted = over(sum_of(weighted, part), length);
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            const int64 at = start + i * step;
            const C g = times(convert<C>(grad[at]), convert<C>(gamma[rows.scale_of(row, i)]));
            const C x = times(minus(convert<C>(data[at]), mean), scale);
            const C y = times(scale, minus(minus(g, plain), times(x, weighted)));
            put(out[at], y, opaque(req == Add));
        }
    });
}

/// The gradients of a gamma and its beta.
template <class C> struct Pair {
    C gamma, beta;
};

template <class T, class C>
__device__ __forceinline__ void
give(T *gammas, T *betas, int64 scale, const Pair<C> &found, const Reqs &reqs) {
    if (reqs.of[1] != Null) {
        put(gammas[scale], found.gamma, reqs.of[1] == Add);
    }
    if (reqs.of[2] != Null) {
        put(betas[scale], found.beta, reqs.of[2] == Add);
    }
}

template <class T>
__device__ __forceinline__ void scales(
    const T *grad, const T *data, const T *means, const T *roots, T *gammas, T *betas,
    Pair<Compute<T>> *partial, const Rows &rows, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    const int64 length = rows.along.count;
    const int64 each = rows.lengthwise ? rows.count() : rows.count() / rows.scales * length;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < rows.scales;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 scale = first + threadIdx.x, count = scale < rows.scales ? each : 0;
        Pair<C> sum = {0, 0};
#pragma unroll 1
        for (int64 e = blockIdx.y * (int64)blockDim.y + threadIdx.y; e < count;
             e += gridDim.y * (int64)blockDim.y) {
            const Split at = rows.lengthwise ? Split{e, scale} : split(e, length);
            const int64 row = rows.lengthwise ? e : at.row * rows.scales + scale;
            const int64 place = rows.start(row) + at.at * rows.along.inner;
            const C g = convert<C>(grad[place]), root = convert<C>(roots[row]);
            const C apart = minus(convert<C>(data[place]), convert<C>(means[row]));
            sum.gamma = plus(sum.gamma, times(g, over(apart, root)));
            sum.beta = plus(sum.beta, g);
        }
        sum = {sum_of(sum.gamma, part), sum_of(sum.beta, part)};
        if (threadIdx.y == 0 && scale < rows.scales) {
            if (gridDim.y > 1) {
                partial[blockIdx.y * rows.scales + scale] = sum;
            } else {
                give(gammas, betas, scale, sum, reqs);
            }
        }
    }
}

} // namespace fm

#define FM_LAYER_NORM_ENTRIES(T, ...) \
    extern "C" __global__ void layer_norm_forward_##T( \
        const T *data, const T *gamma, const T *beta, T *out, T *means, T *roots, \
        const __grid_constant__ fm::Rows rows, float64 eps, \
        const __grid_constant__ fm::Reqs reqs) { \
        fm::forward(data, gamma, beta, out, means, roots, rows, eps, reqs); \
    } \
    extern "C" __global__ void layer_norm_backward_##T( \
        const T *grad, const T *data, const T *gamma, const T *means, const T *roots, T *out, \
        const __grid_constant__ fm::Rows rows, int req) { \
        fm::backward(grad, data, gamma, means, roots, out, rows, req); \
    } \
    extern "C" __global__ void layer_norm_scales_##T( \
        const T *grad, const T *data, const T *means, const T *roots, T *gammas, T *betas, \
        fm::Pair<fm::Compute<T>> *partial, const __grid_constant__ fm::Rows rows, \
        const __grid_constant__ fm::Reqs reqs) { \
        fm::scales(grad, data, means, roots, gammas, betas, partial, rows, reqs); \
    } \
    extern "C" __global__ void layer_norm_##T##_finish( \
        const fm::Pair<fm::Compute<T>> *partial, T *gammas, T *betas, int64 parts, int64 scales, \
        const __grid_constant__ fm::Reqs reqs) { \
        fm::each(scales, [&](int64 scale) { \
            fm::Pair<fm::Compute<T>> sum = {0, 0}; \
            for (int64 part = 0; part < parts; ++part) { \
                const fm::Pair<fm::Compute<T>> more = partial[part * scales + scale]; \
                sum = {fm::plus(sum.gamma, more.gamma), fm::plus(sum.beta, more.beta)}; \
            } \
            fm::give(gammas, betas, scale, sum, reqs); \
        }); \
    }
FM_FLOATS(FM_LAYER_NORM_ENTRIES, )

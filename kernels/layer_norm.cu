// LayerNorm, InstanceNorm and GroupNorm, and their gradients: rows of the data to mean 0 and deviation 1,
// then scaled and shifted by gamma and beta, which differ along a row or from row to row. Halves are
// computed in float32. Threads along y, a power of two, share a row, or a gradient of gamma and beta.
// Rows without gaps, with a gamma for each element, have kernels of their own, by their length.
//
// Entry points: layer_norm_forward_DTYPE(data, gamma, beta, out, means, roots, rows, eps, reqs) and
// layer_norm_backward_DTYPE(grad, data, gamma, means, roots, out, rows, req) for that of the data;
// layer_norm_scales_DTYPE(grad, data, means, roots, gammas, betas, partial, rows, reqs) for the others,
// where several blocks along y share a gradient `partial` gets what they found, and
// layer_norm_DTYPE_finish(partial, gammas, betas, parts, scales, reqs) comes after. Of short rows:
// layer_norm_narrow_K_DTYPE(arrays, count, length, eps, reqs), and layer_norm_narrow_back_K_DTYPE(arrays,
// partial, count, length, req), whose blocks make a part of `partial` each, with up to K packs in a lane.
// Of long ones: layer_norm_moments_DTYPE(data,
// partial, along) and layer_norm_tiles_DTYPE(arrays, partial, parts, count, length, per, eps, reqs), with
// `per` rows to a block; layer_norm_sums_DTYPE(arrays, columns, sums, count, length, per),
// layer_norm_join_DTYPE(sums, parts, count) and layer_norm_slopes_DTYPE(arrays, sums, count, length, per,
// req). Arrays have no gaps.
#include "grid.cuh"
#include "row_tiles.cuh"

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
        // Distances from an element have all digits where these are far from 0.
        const C from = anchor(convert<C>(data[start]));
        C sum = 0, left = 0, squares = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            sum = plus(sum, minus(convert<C>(data[start + i * step]), from));
        }
        const C mean = plus(from, over(sum_of(sum, part), length));
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            const C apart = minus(convert<C>(data[start + i * step]), mean);
            left = plus(left, apart);
            squares = plus(squares, times(apart, apart));
        }
        const Spread<C> spread(sum_of(left, part), sum_of(squares, part), length, (C)eps);
        const C scale = reciprocal(spread.root);
        if (threadIdx.y == 0 && count > 0) {
            if (reqs.of[1] != Null) {
                put(means[row], plus(mean, spread.rest), reqs.of[1] == Add);
            }
            if (reqs.of[2] != Null) {
                put(roots[row], spread.root, reqs.of[2] == Add);
            }
        }
#pragma unroll 1
        for (int64 i = threadIdx.y; i < (reqs.of[0] == Null ? 0 : count); i += blockDim.y) {
            const int64 at = start + i * step, s = rows.scale_of(row, i);
            const C x = times(minus(minus(convert<C>(data[at]), mean), spread.rest), scale);
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

template <class T>
__device__ __forceinline__ void finish(
    const Pair<Compute<T>> *partial, T *gammas, T *betas, int64 parts, int64 scales, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    join(partial, parts, scales, part,
         [&](int64 scale, const Pair<C> &sum) { give(gammas, betas, scale, sum, reqs); });
}

/// Leaves the sums of all parts in the first one.
template <class C>
__device__ __forceinline__ void join_sums(Pair<C> *sums, int64 parts, int64 count) {
    FM_SHARED(C, part, MOST_THREADS);
    join(sums, parts, count, part, [&](int64 row, const Pair<C> &sum) { sums[row] = sum; });
}

template <int K, class T>
__device__ __forceinline__ void
narrow(const Normed<T> &by, unsigned count, unsigned length, float64 eps, const Reqs &reqs) {
    if (length % row_lanes<T> == 0) {
        narrow_forward<row_lanes<T>, K>(by, count, length, eps, reqs);
    } else {
        narrow_forward<1, K>(by, count, length, eps, reqs);
    }
}

template <int K, class T>
__device__ __forceinline__ void narrow_back(
    const Slopes<T> &by, Pair<Compute<T>> *partial, unsigned count, unsigned length, int req) {
    FM_SHARED(Pair<Compute<T>>, room, MOST_NARROW);
    if constexpr (K * row_lanes<T> <= MOST_COLUMNS) {
        if (length % row_lanes<T> == 0) {
            narrow_backward<row_lanes<T>, K>(by, partial, room, count, length, req);
            return;
        }
    }
    narrow_backward<1, K>(by, partial, room, count, length, req);
}

template <class T>
__device__ __forceinline__ void row_sums(
    const Slopes<T> &by, Pair<Compute<T>> *columns, Pair<Compute<T>> *sums, unsigned count,
    unsigned length, unsigned per) {
    FM_SHARED(Compute<T>, room, 4 * ROWS_AHEAD * WARPS);
    FM_SHARED(Pair<Compute<T>>, lines, MOST_ROWS);
    lines_of(by, lines, count, per);
    __syncthreads();
    if (length % row_lanes<T> == 0) {
        sum_tile<row_lanes<T>>(by, columns, sums, lines, room, count, length, per);
    } else {
        sum_tile<1>(by, columns, sums, lines, room, count, length, per);
    }
}

template <class T>
__device__ __forceinline__ void row_slopes(
    const Slopes<T> &by, const Pair<Compute<T>> *sums, unsigned count, unsigned length, unsigned per,
    int req) {
    typedef Compute<T> C;
    FM_SHARED(Pair<C>, lines, MOST_ROWS);
    FM_SHARED(Pair<C>, means, MOST_ROWS);
    if (req == Null) {
        return;
    }
    lines_of(by, lines, count, per);
    const unsigned begin = blockIdx.y * per;
    for (unsigned r = threadIdx.x; r < per && begin + r < count; r += blockDim.x) {
        const Pair<C> sum = sums[begin + r];
        means[r] = {over(sum.gamma, (C)length), over(sum.beta, (C)length)};
    }
    __syncthreads();
    if (length % row_lanes<T> == 0) {
        slope_tile<row_lanes<T>>(by, lines, means, count, length, per, req);
    } else {
        slope_tile<1>(by, lines, means, count, length, per, req);
    }
}

} // namespace fm

// One for each number of packs: the largest would take registers from all.
#define FM_NARROW_ENTRY(T, K) \
    extern "C" __global__ void layer_norm_narrow_##K##_##T( \
        const __grid_constant__ fm::Normed<T> arrays, int count, int length, float64 eps, \
        const __grid_constant__ fm::Reqs reqs) { \
        fm::narrow<K>(arrays, count, length, eps, reqs); \
    }
#define FM_NARROW_BACK_ENTRY(T, K) \
    extern "C" __global__ void layer_norm_narrow_back_##K##_##T( \
        const __grid_constant__ fm::Slopes<T> arrays, fm::Pair<fm::Compute<T>> *partial, int count, \
        int length, int req) { \
        fm::narrow_back<K>(arrays, partial, count, length, req); \
    }
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
        fm::finish(partial, gammas, betas, parts, scales, reqs); \
    } \
    FM_NARROW_ENTRY(T, 2) \
    FM_NARROW_ENTRY(T, 4) \
    FM_NARROW_ENTRY(T, 8) \
    FM_NARROW_BACK_ENTRY(T, 2) \
    FM_NARROW_BACK_ENTRY(T, 4) \
    extern "C" __global__ void layer_norm_moments_##T( \
        const T *data, fm::Moments *partial, const __grid_constant__ fm::Along along) { \
        fm::moments(data, partial, along); \
    } \
    extern "C" __global__ void layer_norm_tiles_##T( \
        const __grid_constant__ fm::Normed<T> arrays, const fm::Moments *partial, int parts, int count, \
        int length, int per, float64 eps, const __grid_constant__ fm::Reqs reqs) { \
        fm::forward_rows(arrays, partial, parts, count, length, per, eps, reqs); \
    } \
    extern "C" __global__ void layer_norm_sums_##T( \
        const __grid_constant__ fm::Slopes<T> arrays, fm::Pair<fm::Compute<T>> *columns, \
        fm::Pair<fm::Compute<T>> *sums, int count, int length, int per) { \
        fm::row_sums(arrays, columns, sums, count, length, per); \
    } \
    extern "C" __global__ void layer_norm_join_##T( \
        fm::Pair<fm::Compute<T>> *sums, int64 parts, int64 count) { \
        fm::join_sums(sums, parts, count); \
    } \
    extern "C" __global__ void layer_norm_slopes_##T( \
        const __grid_constant__ fm::Slopes<T> arrays, const fm::Pair<fm::Compute<T>> *sums, int count, \
        int length, int per, int req) { \
        fm::row_slopes(arrays, sums, count, length, per, req); \
    }
FM_FLOATS(FM_LAYER_NORM_ENTRIES, )

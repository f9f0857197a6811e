// Eigenvectors of symmetric matrices: reflections to three diagonals, then the QL method with implicit shifts, by
// the operations of the CPU. The numbers of the diagonals are doubles.
//
// Entry points, in this order: linalg_eigen_reduce_DTYPE(from, a, v, taus, sums, diagonals, scales, n, count), a
// block for each matrix, whose threads lie along y, reads the lower triangles, and makes reflectors as rows of
// `v`; linalg_eigen_turn_DTYPE(u, diagonals, work, rotations, n, count, refusal), a block for some columns of a
// matrix along x, and for matrices along y, turns the rows of the product of the reflectors, and refuses values
// that it does not find; linalg_eigen_write_DTYPE(u, work, scales, vectors, values, n, count, vectors_req,
// values_req), a warp for each row. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"
#include "reflector.cuh"
#include "refusal.cuh"

namespace fm {

template <class T> __device__ __forceinline__ T of_warp(T sum) {
#pragma unroll 1
    for (int far = warpSize / 2; far > 0; far /= 2) {
        sum = plus(sum, __shfl_xor_sync(0xffffffffu, sum, far));
    }
    return sum;
}

/// Copies a whole symmetric matrix, over a power of two, so that squares neither overflow nor vanish. The scale
/// is NaN where not all is finite.
template <class T>
__device__ __forceinline__ float64
scaled(const T *from, T *a, int64 n, float64 (&part)[MOST_THREADS]) {
    float64 most = 0.0, wrong = 0.0;
#pragma unroll 1
    for (int64 i = threadIdx.y; i < n * n; i += blockDim.y) {
        const Split at = split(i, n);
        const float64 x = at.at > at.row ? 0.0 : magnitude((float64)from[i]);
        most = x > most ? x : most;
        wrong = x - x == 0.0 ? wrong : 1.0;
    }
    const auto most_of = [](float64 x, float64 y) { return y > x ? y : x; };
    most = together(most, part, most_of);
    wrong = together(wrong, part, most_of);
    const int exponent = most > 0.0 ? clip(ilogb(most), -120, 1000) : 0;
    const float64 scale = scalbn(1.0, exponent);
#pragma unroll 1
    for (int64 i = threadIdx.y; i < n * n; i += blockDim.y) {
        const Split at = split(i, n);
        const int64 place = at.at > at.row ? at.at * n + at.row : i;
        a[i] = wrong > 0.0 ? (T)0 : (T)over((float64)from[place], scale);
    }
    __syncthreads();
    return wrong > 0.0 ? over(0.0, 0.0) : scale;
}

/// What the last reflector changes in a row, from `first` on: v and w of the row, and of all.
template <class T> struct Change {
    const T *v, *w;

    __device__ __forceinline__ T made(T x, int64 row, int64 column) const {
        return v == nullptr ? x : minus(x, plus(times(v[row], w[column]), times(w[row], v[column])));
    }
};

/// Reflects until three diagonals are left. What a reflector changes is subtracted from a row when the next one
/// meets it, so that the matrix is gone through once for each.
template <class T>
__device__ __forceinline__ void three_diagonals(
    T *a, T *v, T *taus, T *w, T *dots, float64 *d, float64 *e, int64 n, float64 (&part)[MOST_THREADS]) {
    const int lane = threadIdx.y % warpSize, warp = threadIdx.y / warpSize;
    Change<T> change = {nullptr, w};
#pragma unroll 1
    for (int64 k = 0; k < n; ++k) {
        T *const row = a + k * n, *const next = v + k * n;
#pragma unroll 1
        for (int64 j = k + threadIdx.y; j < n; j += blockDim.y) {
            row[j] = change.made(row[j], k, j);
        }
        __syncthreads();
        if (n - k <= 2) {
            if (threadIdx.y == 0) {
                d[k] = row[k];
                e[k] = n - k == 2 ? (float64)row[k + 1] : 0.0;
            }
            continue;
        }
        T tau;
        const T to = reflector(row, next, k + 1, n, part, tau);
        if (threadIdx.y == 0) {
            d[k] = row[k];
            e[k] = to;
            taus[k] = tau;
        }
        __syncthreads();
        // A warp for each row below.
#pragma unroll 1
        for (int64 i = k + 1 + warp; i < n; i += blockDim.y / warpSize) {
            T sum = 0;
#pragma unroll 1
            for (int64 j = k + 1 + lane; j < n; j += warpSize) {
                const T x = change.made(a[i * n + j], i, j);
                a[i * n + j] = x;
                sum = plus(sum, times(x, next[j]));
            }
            sum = of_warp(sum);
            if (lane == 0) {
                dots[i] = sum;
            }
        }
        __syncthreads();
        float64 sum = 0.0;
#pragma unroll 1
        for (int64 i = k + 1 + threadIdx.y; i < n; i += blockDim.y) {
            sum = plus(sum, times((float64)next[i], (float64)dots[i]));
        }
        sum = together(sum, part, [](float64 x, float64 y) { return plus(x, y); });
        const T share = (T)times(times(0.5, times((float64)tau, (float64)tau)), sum);
#pragma unroll 1
        for (int64 i = threadIdx.y; i < n; i += blockDim.y) {
            w[i] = i <= k ? (T)0 : minus(times(tau, dots[i]), times(share, next[i]));
        }
        change.v = next;
        __syncthreads();
    }
}

/// `sums` has room for two rows of each matrix; of each the main diagonal comes first, and the one beside it then.
template <class T>
__device__ __forceinline__ void reduce(
    const T *from, T *a, T *v, T *taus, T *sums, float64 *diagonals, float64 *scales, int64 n,
    int64 count) {
    FM_SHARED(float64, part, MOST_THREADS);
#pragma unroll 1
    for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
        const int64 first = matrix * n * n;
        T *const w = sums + 2 * matrix * n;
        float64 *const d = diagonals + 2 * matrix * n;
        const float64 scale = scaled(from + first, a + first, n, part);
        if (threadIdx.y == 0) {
            scales[matrix] = scale;
        }
        three_diagonals(a + first, v + first, taus + matrix * n, w, w + n, d, d + n, n, part);
        __syncthreads();
    }
}

/// Rotations of neighbouring rows, `first` and the one behind it, by cosine and sine.
template <class T> struct Rotation {
    T cosine, sine;
    int64 first;
};

/// Steps for an eigenvalue; two or three are usual. Squares of which the reciprocal is finite, by far.
[[maybe_unused]] constexpr int STEPS = 64;
[[maybe_unused]] constexpr float64 LEAST = 1e-280;

/// One step on the part of two diagonals from `l` to `m`; returns how many rotations it takes.
template <class T>
__device__ __forceinline__ int64
sweep(float64 *d, float64 *e, int64 l, int64 m, Rotation<T> *rotations) {
    float64 g = over(minus(d[l + 1], d[l]), times(2.0, e[l]));
    const float64 root = square_root(plus(times(g, g), 1.0));
    g = plus(minus(d[m], d[l]), over(e[l], plus(g, g < 0.0 ? -root : root)));
    float64 s = 1.0, c = 1.0, p = 0.0;
#pragma unroll 1
    for (int64 i = m - 1; i >= l; --i) {
        const float64 f = times(s, e[i]), b = times(c, e[i]), square = plus(times(f, f), times(g, g));
        const float64 r = square_root(square);
        e[i + 1] = r;
        if (square >= LEAST) {
            const float64 inverse = over(1.0, square);
            s = times(times(f, inverse), r);
            c = times(times(g, inverse), r);
        } else if (r > 0.0) {
            s = over(f, r);
            c = over(g, r);
        } else {
            d[i + 1] = minus(d[i + 1], p);
            e[m] = 0.0;
            return m - 1 - i;
        }
        g = minus(d[i + 1], p);
        const float64 t = plus(times(minus(d[i], g), s), times(times(2.0, c), b));
        p = times(s, t);
        d[i + 1] = plus(g, p);
        g = minus(times(c, t), b);
        rotations[m - 1 - i] = {(T)c, (T)s, i};
    }
    d[l] = minus(d[l], p);
    e[l] = g;
    e[m] = 0.0;
    return m - l;
}

/// The first value that is not found yet, and the steps that it took.
struct Search {
    int64 first;
    int steps;
};

/// Goes on until there are `n` rotations or more, or no more; returns how many, and -1 for a value that is not
/// found.
template <class T>
__device__ __forceinline__ int64
go_on(Search &search, float64 *d, float64 *e, int64 n, Rotation<T> *rotations) {
    const float64 small = sizeof(T) == 4 ? 1e-8 : 1e-16;
    int64 found = 0;
#pragma unroll 1
    while (search.first < n && found < n) {
        const int64 l = search.first;
        int64 m = l;
        while (m < n - 1
               && !(magnitude(e[m]) <= times(small, plus(magnitude(d[m]), magnitude(d[m + 1]))))) {
            ++m;
        }
        if (m == l) {
            search = {l + 1, 0};
            continue;
        }
        if (search.steps == STEPS) {
            return -1;
        }
        ++search.steps;
        found += sweep(d, e, l, m, rotations + found);
    }
    return found;
}

/// Turns the rows of one column; the upper one of a rotation is often the lower one of the next.
template <class T>
__device__ __forceinline__ void
turn_column(T *u, int64 n, const Rotation<T> *rotations, int64 count) {
    int64 held = -1;
    T x = 0;
#pragma unroll 1
    for (int64 k = 0; k < count; ++k) {
        const Rotation<T> own = rotations[k];
        if (held != own.first + 1) {
            if (held >= 0) {
                u[held * n] = x;
            }
            x = u[(own.first + 1) * n];
        }
        const T a = u[own.first * n];
        u[(own.first + 1) * n] = plus(times(own.sine, a), times(own.cosine, x));
        x = minus(times(own.cosine, a), times(own.sine, x));
        held = own.first;
    }
    if (held >= 0) {
        u[held * n] = x;
    }
}

/// Threads that find rotations, of which one does, and those that have columns.
[[maybe_unused]] constexpr int FINDING = 32, COLUMNS = 128;

/// Blocks of one matrix find the same rotations, each in memory of its own, and turn their columns; the next
/// rotations are found meanwhile.
template <class T>
__device__ __forceinline__ void
turn(T *u, const float64 *diagonals, float64 *work, Rotation<T> *rotations, int64 n, int64 count,
     Refusal *refusal) {
    FM_SHARED(int64, found, 2);
    const int me = threadIdx.x;
    const int64 column = blockIdx.x * (int64)COLUMNS + me - FINDING;
    Rotation<T> *const kept = rotations + 4 * n * (blockIdx.y * (int64)gridDim.x + blockIdx.x);
    Search search;
#pragma unroll 1
    for (int64 matrix = blockIdx.y; matrix < count; matrix += gridDim.y) {
        float64 *const d = work + 2 * n * (matrix * gridDim.x + blockIdx.x);
        Rotation<T> *const made[2] = {kept, kept + 2 * n};
#pragma unroll 1
        for (int64 i = me; i < 2 * n; i += blockDim.x) {
            d[i] = diagonals[2 * n * matrix + i];
        }
        search = {0, 0};
        if (me == 0) {
            found[0] = 0;
        }
        __syncthreads();
        int now = 0;
        do {
            if (me == 0) {
                found[1 - now] = go_on(search, d, d + n, n, made[1 - now]);
            } else if (me >= FINDING && column < n) {
                turn_column(u + matrix * n * n + column, n, made[now], found[now]);
            }
            __syncthreads();
            now = 1 - now;
        } while (found[now] > 0);
        if (me == 0 && found[now] < 0) {
            refuse(refusal, 1, matrix);
        }
        __syncthreads();
    }
}

/// An element, and where it is.
template <class T> struct Top {
    T x;
    int64 at;
};

/// Rows in the order of their values; the largest component of a vector, of equal ones the first, is positive.
template <class T>
__device__ __forceinline__ void write(
    const T *u, const float64 *work, const float64 *scales, T *vectors, T *values, int64 n, int64 blocks,
    int64 count, int vectors_req, int values_req) {
    const int lane = threadIdx.x % warpSize;
    const int64 step = gridDim.x * (int64)(blockDim.x / warpSize);
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)(blockDim.x / warpSize) + threadIdx.x / warpSize; i < count * n;
         i += step) {
        const Split at = split(i, n);
        const float64 *const d = work + 2 * n * blocks * at.row, value = d[at.at];
        const T *const row = u + i * n;
        int before = 0;
        Top<T> top = {(T)0, n};
#pragma unroll 1
        for (int64 j = lane; j < n; j += warpSize) {
            before += d[j] < value || (d[j] == value && j < at.at);
            top = magnitude(row[j]) > magnitude(top.x) ? Top<T>{row[j], j} : top;
        }
#pragma unroll 1
        for (int far = warpSize / 2; far > 0; far /= 2) {
            before += __shfl_xor_sync(0xffffffffu, before, far);
            const T x = __shfl_xor_sync(0xffffffffu, top.x, far);
            const int64 place = __shfl_xor_sync(0xffffffffu, top.at, far);
            const T old = magnitude(top.x), size = magnitude(x);
            top = size > old || (size == old && place < top.at) ? Top<T>{x, place} : top;
        }
        const float64 scale = scales[at.row];
        const T sign = scale == scale ? (top.x < (T)0 ? (T)-1 : (T)1) : (T)scale;
        const int64 to = at.row * n + before;
#pragma unroll 1
        for (int64 j = lane; j < (vectors_req == Null ? 0 : n); j += warpSize) {
            put(vectors[to * n + j], times(row[j], sign), opaque(vectors_req == Add));
        }
        if (lane == 0 && values_req != Null) {
            put(values[to], (T)times(value, scale), opaque(values_req == Add));
        }
    }
}

} // namespace fm

#define FM_EIGEN_ENTRIES(T, ...) \
    extern "C" __global__ void linalg_eigen_reduce_##T( \
        const T *from, T *a, T *v, T *taus, T *sums, float64 *diagonals, float64 *scales, int64 n, \
        int64 count) { \
        fm::reduce(from, a, v, taus, sums, diagonals, scales, n, count); \
    } \
    extern "C" __global__ void linalg_eigen_turn_##T( \
        T *u, const float64 *diagonals, float64 *work, fm::Rotation<T> *rotations, int64 n, \
        int64 count, fm::Refusal *refusal) { \
        fm::turn(u, diagonals, work, rotations, n, count, refusal); \
    } \
    extern "C" __global__ void linalg_eigen_write_##T( \
        const T *u, const float64 *work, const float64 *scales, T *vectors, T *values, int64 n, \
        int64 blocks, int64 count, int vectors_req, int values_req) { \
        fm::write(u, work, scales, vectors, values, n, blocks, count, vectors_req, values_req); \
    }
FM_REALS(FM_EIGEN_ENTRIES, )

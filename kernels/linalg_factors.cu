// Factors of matrices, some columns or rows at a time; products do the rest.
//
// Entry points: linalg_factors_definite_DTYPE(a, panel, refusal), the upper factor of some rows and columns, a
// block for each matrix, which refuses a row whose pivot is not positive; linalg_factors_diagonal_DTYPE(a,
// panel, refusal), which refuses a zero of a diagonal, a thread for each; linalg_factors_panel_DTYPE(a, swaps,
// singular, panel, refusal), triangles of some columns, a block for each matrix, which is refused where it is
// singular, unless `refusal` is null; linalg_factors_swap_DTYPE(a, swaps, panel), the rows of the other
// columns; linalg_factors_permutation_DTYPE(swaps, rows, out, panel), the matrices that exchange the rows, with
// room for their places; linalg_factors_determinant_DTYPE(a, swaps, sign, log, value, panel, sign_req, log_req,
// value_req), a thread for each matrix; linalg_factors_reflect_DTYPE(a, v, taus, panel), reflectors of some
// rows, a block for each matrix; linalg_factors_block_DTYPE(dots, taus, t, panel), a thread for each row of the
// factor of such reflectors. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"
#include "reflector.cuh"
#include "refusal.cuh"

namespace fm {

/// Of matrices of `rows` by `columns`, `width` columns or rows from `first` on.
struct Panel {
    int64 batch, rows, columns, first, width;
};

/// Sides of the parts of definite matrices at most.
[[maybe_unused]] constexpr int SIDE = 32;

/// In shared memory; only the upper triangle is read and written. NaN goes on, as on the CPU.
template <class T> __device__ __forceinline__ void definite(T *a, const Panel &p, Refusal *refusal) {
    FM_SHARED(T, tile, SIDE * (SIDE + 1));
    const int w = (int)p.width, me = threadIdx.y;
    const auto at = [&](int row, int column) -> T & { return tile[row * (SIDE + 1) + column]; };
#pragma unroll 1
    for (int64 matrix = blockIdx.x; matrix < p.batch; matrix += gridDim.x) {
        T *const own = a + (matrix * p.rows + p.first) * p.rows + p.first;
#pragma unroll 1
        for (int i = me; i < w * w; i += blockDim.y) {
            at(i / w, i % w) = own[i / w * p.rows + i % w];
        }
#pragma unroll 1
        for (int k = 0; k < w; ++k) {
            __syncthreads();
            const T pivot = at(k, k), root = square_root(pivot);
            if (me == 0 && pivot <= (T)0) {
                refuse(refusal, 1, p.first + k);
            }
            __syncthreads();
#pragma unroll 1
            for (int i = k + me; i < w; i += blockDim.y) {
                at(k, i) = i == k ? root : over(at(k, i), root);
            }
            __syncthreads();
            const int rest = w - k - 1;
#pragma unroll 1
            for (int i = me; i < rest * rest; i += blockDim.y) {
                const int row = k + 1 + i / rest, column = k + 1 + i % rest;
                if (row <= column) {
                    at(row, column) = minus(at(row, column), times(at(k, row), at(k, column)));
                }
            }
        }
        __syncthreads();
#pragma unroll 1
        for (int i = me; i < w * w; i += blockDim.y) {
            if (i / w <= i % w) {
                own[i / w * p.rows + i % w] = at(i / w, i % w);
            }
        }
        __syncthreads();
    }
}

template <class T>
__device__ __forceinline__ void diagonal(const T *a, const Panel &p, Refusal *refusal) {
    each(p.batch * p.rows, [&](int64 i) {
        const int64 k = split(i, p.rows).at;
        if (a[i * p.rows + k] == (T)0) {
            refuse(refusal, 1, k);
        }
    });
}

/// A candidate for a pivot.
template <class T> struct Pivot {
    T size;
    int64 row;
};

/// The row of a column's largest element, from `first` on; of equal ones the first, and NaN if it is that.
template <class T>
__device__ __forceinline__ int64
pivot_of(const T *column, int64 step, int64 first, int64 rows, Pivot<T> (&part)[MOST_THREADS]) {
    const T head = column[first * step];
    Pivot<T> best = {(T)-1, rows};
#pragma unroll 1
    for (int64 row = first + threadIdx.y; row < rows; row += blockDim.y) {
        const T size = magnitude(column[row * step]);
        best = size > best.size ? Pivot<T>{size, row} : best;
    }
    best = together(best, part, [](const Pivot<T> &a, const Pivot<T> &b) {
        return b.size > a.size || (b.size == a.size && b.row < a.row) ? b : a;
    });
    return head == head ? best.row : first;
}

template <class T>
__device__ __forceinline__ void
panel_of(T *a, int32 *swaps, int32 *singular, const Panel &p, Refusal *refusal) {
    FM_SHARED(Pivot<T>, part, MOST_THREADS);
    const int64 n = p.rows, end = p.first + p.width;
    const int me = threadIdx.y;
#pragma unroll 1
    for (int64 matrix = blockIdx.x; matrix < p.batch; matrix += gridDim.x) {
        T *const own = a + matrix * n * n;
        bool zero = false;
#pragma unroll 1
        for (int64 k = p.first; k < end; ++k) {
            const int64 best = pivot_of(own + k, n, k, n, part);
#pragma unroll 1
            for (int64 c = p.first + me; c < end && best != k; c += blockDim.y) {
                const T x = own[k * n + c];
                own[k * n + c] = own[best * n + c];
                own[best * n + c] = x;
            }
            if (me == 0) {
                swaps[matrix * n + k] = (int32)best;
            }
            __syncthreads();
            const T pivot = own[k * n + k];
            if (pivot == (T)0) {
                zero = true;
                continue;
            }
#pragma unroll 1
            for (int64 row = k + 1 + me; row < n; row += blockDim.y) {
                own[row * n + k] = over(own[row * n + k], pivot);
            }
            __syncthreads();
            const int64 rest = end - k - 1;
#pragma unroll 1
            for (int64 i = me; i < (n - k - 1) * rest; i += blockDim.y) {
                const Split at = split(i, rest);
                const int64 row = k + 1 + at.row, c = k + 1 + at.at;
                const T x = times(own[row * n + k], own[k * n + c]);
                own[row * n + c] = minus(own[row * n + c], x);
            }
            __syncthreads();
        }
        if (me == 0) {
            singular[matrix] = zero || (p.first > 0 && singular[matrix] != 0);
            if (zero && refusal != nullptr) {
                refuse(refusal, 1, matrix);
            }
        }
    }
}

template <class T>
__device__ __forceinline__ void swap_rows(T *a, const int32 *swaps, const Panel &p) {
    const int64 n = p.rows, others = n - p.width;
    each(p.batch * others, [&](int64 i) {
        const Split at = split(i, others);
        T *const own = a + at.row * n * n + (at.at < p.first ? at.at : at.at + p.width);
#pragma unroll 1
        for (int64 k = p.first; k < p.first + p.width; ++k) {
            const int64 other = swaps[at.row * n + k];
            const T x = own[k * n];
            own[k * n] = own[other * n];
            own[other * n] = x;
        }
    });
}

template <class T>
__device__ __forceinline__ void
permutation(const int32 *swaps, int32 *rows, T *out, const Panel &p) {
    const int64 n = p.rows;
    const int me = threadIdx.x;
#pragma unroll 1
    for (int64 matrix = blockIdx.x; matrix < p.batch; matrix += gridDim.x) {
        int32 *const own = rows + matrix * n;
#pragma unroll 1
        for (int64 i = me; i < n; i += blockDim.x) {
            own[i] = (int32)i;
        }
        __syncthreads();
        if (me == 0) {
#pragma unroll 1
            for (int64 i = 0; i < n; ++i) {
                const int32 other = swaps[matrix * n + i], row = own[i];
                own[i] = own[other];
                own[other] = row;
            }
        }
        __syncthreads();
#pragma unroll 1
        for (int64 i = me; i < n * n; i += blockDim.x) {
            const Split at = split(i, n);
            out[matrix * n * n + i] = own[at.row] == at.at ? (T)1 : (T)0;
        }
    }
}

template <class T>
__device__ __forceinline__ void determinant(
    const T *a, const int32 *swaps, T *signs, T *logs, T *values, const Panel &p, int sign_req,
    int log_req, int value_req) {
    const int64 n = p.rows;
    each(p.batch, [&](int64 i) {
        float64 turned = 1.0, sign = 1.0, log = 0.0, value = 1.0;
#pragma unroll 1
        for (int64 k = 0; k < n; ++k) {
            const float64 x = (float64)a[(i * n + k) * n + k];
            turned = swaps[i * n + k] != k ? -turned : turned;
            value = times(value, x);
            log = plus(log, log_req == Null ? 0.0 : logarithm(magnitude(x)));
            sign = times(sign, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0);
        }
        if (sign_req != Null) {
            put(signs[i], (T)times(turned, sign), opaque(sign_req == Add));
        }
        if (log_req != Null) {
            put(logs[i], (T)log, opaque(log_req == Add));
        }
        if (value_req != Null) {
            put(values[i], (T)times(value, turned), opaque(value_req == Add));
        }
    });
}

template <class T>
__device__ __forceinline__ void reflect(T *a, T *v, T *taus, const Panel &p) {
    FM_SHARED(float64, part, MOST_THREADS);
    const int64 n = p.columns, end = p.first + p.width;
    const int lane = threadIdx.y % warpSize, warp = threadIdx.y / warpSize;
#pragma unroll 1
    for (int64 matrix = blockIdx.x; matrix < p.batch; matrix += gridDim.x) {
        T *const own = a + matrix * p.rows * n, *const all = v + matrix * p.rows * n;
#pragma unroll 1
        for (int64 i = p.first; i < end; ++i) {
            T tau;
            T *const vector = all + i * n;
            const T to = reflector(own + i * n, vector, i, n, part, tau);
            __syncthreads();
            if (threadIdx.y == 0) {
                own[i * n + i] = to;
                taus[matrix * p.rows + i] = tau;
            }
            // A warp for each row below.
#pragma unroll 1
            for (int64 row = i + 1 + warp; row < end; row += blockDim.y / warpSize) {
                T *const x = own + row * n;
                T sum = 0;
#pragma unroll 1
                for (int64 c = i + lane; c < n; c += warpSize) {
                    sum = plus(sum, times(x[c], vector[c]));
                }
#pragma unroll 1
                for (int far = warpSize / 2; far > 0; far /= 2) {
                    sum = plus(sum, __shfl_xor_sync(0xffffffffu, sum, far));
                }
                sum = times(sum, tau);
#pragma unroll 1
                for (int64 c = i + lane; c < n; c += warpSize) {
                    x[c] = minus(x[c], times(sum, vector[c]));
                }
            }
            __syncthreads();
        }
    }
}

/// The triangle T of `width` reflectors, whose product is I - V^T T V; `dots` are V V^T.
template <class T>
__device__ __forceinline__ void block_of(const T *dots, const T *taus, T *t, const Panel &p) {
    const int64 b = p.width;
    each(p.batch * b, [&](int64 index) {
        const Split at = split(index, b);
        const T *const products = dots + at.row * b * b, *const own = taus + at.row * p.rows + p.first;
        T *const row = t + at.row * b * b + at.at * b;
#pragma unroll 1
        for (int64 j = 0; j < b; ++j) {
            T sum = 0;
#pragma unroll 1
            for (int64 k = at.at; k < j; ++k) {
                sum = plus(sum, times(row[k], products[k * b + j]));
            }
            row[j] = j < at.at ? (T)0 : j == at.at ? own[j] : times(-own[j], sum);
        }
    });
}

} // namespace fm

#define FM_FACTOR_ENTRIES(T, ...) \
    extern "C" __global__ void linalg_factors_definite_##T( \
        T *a, const __grid_constant__ fm::Panel panel, fm::Refusal *refusal) { \
        fm::definite(a, panel, refusal); \
    } \
    extern "C" __global__ void linalg_factors_diagonal_##T( \
        const T *a, const __grid_constant__ fm::Panel panel, fm::Refusal *refusal) { \
        fm::diagonal(a, panel, refusal); \
    } \
    extern "C" __global__ void linalg_factors_panel_##T( \
        T *a, int32 *swaps, int32 *singular, const __grid_constant__ fm::Panel panel, \
        fm::Refusal *refusal) { \
        fm::panel_of(a, swaps, singular, panel, refusal); \
    } \
    extern "C" __global__ void linalg_factors_swap_##T( \
        T *a, const int32 *swaps, const __grid_constant__ fm::Panel panel) { \
        fm::swap_rows(a, swaps, panel); \
    } \
    extern "C" __global__ void linalg_factors_permutation_##T( \
        const int32 *swaps, int32 *rows, T *out, const __grid_constant__ fm::Panel panel) { \
        fm::permutation(swaps, rows, out, panel); \
    } \
    extern "C" __global__ void linalg_factors_determinant_##T( \
        const T *a, const int32 *swaps, T *sign, T *log, T *value, \
        const __grid_constant__ fm::Panel panel, int sign_req, int log_req, int value_req) { \
        fm::determinant(a, swaps, sign, log, value, panel, sign_req, log_req, value_req); \
    } \
    extern "C" __global__ void linalg_factors_reflect_##T( \
        T *a, T *v, T *taus, const __grid_constant__ fm::Panel panel) { \
        fm::reflect(a, v, taus, panel); \
    } \
    extern "C" __global__ void linalg_factors_block_##T( \
        const T *dots, const T *taus, T *t, const __grid_constant__ fm::Panel panel) { \
        fm::block_of(dots, taus, t, panel); \
    }
FM_REALS(FM_FACTOR_ENTRIES, )

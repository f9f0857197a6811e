// Conversions, sums and products of csr matrices.
//
// Entry points: csr_sample_DTYPE(pattern, matrix, down, right, out, req), elements of a matrix, or of one
// that is broadcast, where some are stored; csr_clear_DTYPE(out, size, falls, rows, req), then
// csr_growing_int64(pattern, falls), which tells rows whose columns do not grow, then csr_to_dense_DTYPE(
// pattern, data, falls, out, req); csr_row_sums_DTYPE(pattern, data, out, req) and csr_dot_DTYPE(pattern,
// data, rhs, out, width, req), whose blocks have outputs along x, and threads along y, a power of two,
// share those. Arrays have no gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "pattern.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void sample(
    const Pattern &pattern, const T *matrix, int64 down, int64 right, T *out, int req) {
    pattern.check();
    each(req == Null ? 0 : pattern.room, [&](int64 element) {
        const int64 row = pattern.row_of(element);
        const int64 column = row < 0 ? -1 : pattern.column(element);
        const T value = column < 0 ? convert<T>((int64)0) : matrix[row * down + column * right];
        put(out[element], value, opaque(req == Add));
    });
}

/// Whether no later element of the row is in the same column, which would take its place.
__device__ __forceinline__ bool
counts(const Pattern &pattern, const int32 *falls, int64 row, int64 element, int64 column) {
    const int64 end = falls[row] == 0 ? 0 : pattern.row(row).end;
    bool is_last = true;
#pragma unroll 1
    for (int64 later = element + 1; later < end && is_last; ++later) {
        is_last = pattern.indices[later] != column;
    }
    return is_last;
}

template <class T>
__device__ __forceinline__ void
to_dense(const Pattern &pattern, const T *data, const int32 *falls, T *out, int req) {
    each(req == Null ? 0 : pattern.room, [&](int64 element) {
        const int64 row = pattern.row_of(element);
        const int64 column = row < 0 ? -1 : pattern.column(element);
        if (column >= 0 && counts(pattern, falls, row, element, column)) {
            put(out[row * pattern.columns + column], data[element], opaque(req == Add));
        }
    });
}

/// Sums of `term(element, column of the output)` over the elements of each row, for `width` columns.
template <class T, class F>
__device__ __forceinline__ void
sums(const Pattern &pattern, T *out, int64 width, int req, F term) {
    FM_SHARED(T, part, MOST_THREADS);
    const int64 outputs = req == Null ? 0 : pattern.rows * width;
#pragma unroll 1
    for (int64 start = blockIdx.x * (int64)blockDim.x; start < outputs;
         start += gridDim.x * (int64)blockDim.x) {
        const int64 output = start + threadIdx.x;
        T total = 0;
        if (output < outputs) {
            const Split place = split(output, width);
            const Range range = pattern.row(place.row);
#pragma unroll 4
            for (int64 i = range.first + threadIdx.y; i < range.end; i += blockDim.y) {
                total = plus(total, term(i, place.at));
            }
        }
        if (blockDim.y > 1) {
            total = together(total, part, [](T a, T b) { return plus(a, b); });
        }
        if (threadIdx.y == 0 && output < outputs) {
            put(out[output], total, opaque(req == Add));
        }
    }
}

template <class T>
__device__ __forceinline__ void
dot(const Pattern &pattern, const T *data, const T *rhs, T *out, int64 width, int req) {
    sums(pattern, out, width, req, [&](int64 element, int64 at) {
        const int64 column = pattern.column(element);
        return column < 0 ? (T)0 : times(data[element], rhs[column * width + at]);
    });
}

} // namespace fm

#define FM_GROWING_ENTRY \
    extern "C" __global__ void csr_growing_int64( \
        const __grid_constant__ fm::Pattern pattern, int32 *falls) { \
        pattern.check(); \
        fm::each(pattern.room, [&](int64 element) { \
            const int64 row = pattern.row_of(element); \
            const int64 column = row < 0 ? -1 : pattern.column(element); \
            if (row >= 0 && element + 1 < pattern.row(row).end \
                && column >= pattern.indices[element + 1]) { \
                atomicMax(&falls[row], 1); \
            } \
        }); \
    }
FM_IF_int64(FM_GROWING_ENTRY)

#define FM_CSR_ENTRIES(T, ...) \
    extern "C" __global__ void csr_sample_##T( \
        const __grid_constant__ fm::Pattern pattern, const T *matrix, int64 down, int64 right, \
        T *out, int req) { \
        fm::sample(pattern, matrix, down, right, out, req); \
    } \
    extern "C" __global__ void csr_clear_##T( \
        T *out, int64 size, int32 *falls, int64 rows, int req) { \
        fm::each(rows, [&](int64 row) { falls[row] = 0; }); \
        fm::each(req == fm::Null || req == fm::Add ? 0 : size, [&](int64 i) { \
            out[i] = fm::convert<T>((int64)0); \
        }); \
    } \
    extern "C" __global__ void csr_to_dense_##T( \
        const __grid_constant__ fm::Pattern pattern, const T *data, const int32 *falls, T *out, \
        int req) { \
        fm::to_dense(pattern, data, falls, out, req); \
    }
FM_ALL(FM_CSR_ENTRIES, )

#define FM_SUMS_ENTRY(T, ...) \
    extern "C" __global__ void csr_row_sums_##T( \
        const __grid_constant__ fm::Pattern pattern, const T *data, T *out, int req) { \
        fm::sums(pattern, out, 1, req, [&](int64 element, int64) { \
            pattern.column(element); \
            return data[element]; \
        }); \
    }
FM_REALS(FM_SUMS_ENTRY, )
FM_IF_int64(FM_SUMS_ENTRY(int64, ))

#define FM_DOT_ENTRY(T, ...) \
    extern "C" __global__ void csr_dot_##T( \
        const __grid_constant__ fm::Pattern pattern, const T *data, const T *rhs, T *out, \
        int64 width, int req) { \
        fm::dot(pattern, data, rhs, out, width, req); \
    }
FM_REALS(FM_DOT_ENTRY, )

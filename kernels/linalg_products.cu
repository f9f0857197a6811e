// What products of matrices do not do of products with triangles and systems of equations with them: the
// copies before and after, and equations of small triangles.
//
// Entry points: linalg_products_move_DTYPE(from, to, singular, move, req), a thread for each element;
// linalg_products_solve_DTYPE(a, x, equations), a thread for each column, blocks along y for each matrix.
#include "grid.cuh"
#include "map.cuh"
#include "shared.cuh"

namespace fm {

enum Kept { All = 0, Lower = 1, Upper = 2, None = 3 };

/// Matrices that go elsewhere, times a number; zeros of their other parts, and where `singular` says so.
/// Where nothing is kept they become those of the identity. Steps are distances in memory.
struct Move {
    int64 batch, rows, columns;
    int64 from_first, from_batch, from_row, from_column;
    int64 to_first, to_batch, to_row, to_column;
    int64 kept;
    float64 scale;
};

template <class T>
__device__ __forceinline__ void
move(const T *from, T *to, const int32 *singular, const Move &m, int req) {
    each(req == Null ? 0 : m.batch * m.rows * m.columns, [&](int64 i) {
        const Split line = split(i, m.columns), matrix = split(line.row, m.rows);
        const int64 row = matrix.at, column = line.at, below = row - column;
        const bool outside = (m.kept == Lower && below < 0) || (m.kept == Upper && below > 0);
        const bool zero = outside || (singular != nullptr && singular[matrix.row] != 0);
        const int64 in_from = row * m.from_row + column * m.from_column;
        const int64 in_to = row * m.to_row + column * m.to_column;
        const int64 at = m.from_first + matrix.row * m.from_batch + in_from;
        const T one = below == 0 ? (T)1 : (T)0;
        const T x = m.kept == None ? one : zero ? (T)0 : times(from[at], (T)m.scale);
        put(to[m.to_first + matrix.row * m.to_batch + in_to], x, opaque(req == Add));
    });
}

/// `n` equations with triangles, whose rows of `columns` unknowns take the place of the right side.
struct Equations {
    /// Sides of triangles at most, and columns that a block solves for.
    static constexpr int SIDE = 32, COLUMNS = 64;
    int64 batch, n, columns;
    int64 a_first, a_batch, a_row, a_column;
    int64 x_first, x_batch, x_row;
    int64 lower, unit;
};

template <class T>
__device__ __forceinline__ void solve(const T *a, T *x, const Equations &e) {
    constexpr int SIDE = Equations::SIDE, COLUMNS = Equations::COLUMNS;
    FM_SHARED(T, triangle, SIDE * (SIDE + 1));
    FM_SHARED(T, known, (SIDE * COLUMNS));
    const int n = (int)e.n, me = threadIdx.x;
    const int64 column = blockIdx.x * (int64)COLUMNS + me;
#pragma unroll 1
    for (int64 matrix = blockIdx.y; matrix < e.batch; matrix += gridDim.y) {
        const T *const from = a + e.a_first + matrix * e.a_batch;
        T *const own = x + e.x_first + matrix * e.x_batch + column;
        __syncthreads();
#pragma unroll 1
        for (int i = me; i < n * n; i += COLUMNS) {
            const int row = i / n, k = i % n;
            triangle[row * (SIDE + 1) + k] = from[row * e.a_row + k * e.a_column];
        }
        __syncthreads();
#pragma unroll 1
        for (int step = 0; step < n && column < e.columns; ++step) {
            const int i = e.lower ? step : n - 1 - step;
            const T *const row = triangle + i * (SIDE + 1);
            T sum = own[i * e.x_row];
#pragma unroll 4
            for (int k = e.lower ? 0 : i + 1; k < (e.lower ? i : n); ++k) {
                sum = minus(sum, times(row[k], known[k * COLUMNS + me]));
            }
            sum = e.unit ? sum : over(sum, row[i]);
            known[i * COLUMNS + me] = sum;
            own[i * e.x_row] = sum;
        }
    }
}

} // namespace fm

#define FM_PRODUCTS_ENTRIES(T, ...) \
    extern "C" __global__ void linalg_products_move_##T( \
        const T *from, T *to, const int32 *singular, const __grid_constant__ fm::Move move, int req) { \
        fm::move(from, to, singular, move, req); \
    } \
    extern "C" __global__ void __launch_bounds__(fm::Equations::COLUMNS) linalg_products_solve_##T( \
        const T *a, T *x, const __grid_constant__ fm::Equations equations) { \
        fm::solve(a, x, equations); \
    }
FM_REALS(FM_PRODUCTS_ENTRIES, )

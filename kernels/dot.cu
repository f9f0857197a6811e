// Products of matrices, and of batches of them, with a number for each column added.
//
// Entry points, SIZE being large, medium or small, the tile (the large one is not for float64), and of
// float32 tf32_large or tf32_medium, which round factors to tf32, where there are tensor cores for that:
// dot_SIZE_DTYPE(a, b, bias, out, partial, product, req), whose blocks have a tile along x, a part of the
// depth along y, and products of a batch along z; where there are several parts, `partial` gets their
// sums, of shape (parts, batch, m, n), and dot_DTYPE_finish(partial, bias, out, parts, count, n, req)
// comes after; then the output has no gaps. `bias` may be null. Halves are summed in float32, by tensor
// cores where there are some.
#include "tensor.cuh"

namespace fm {

/// An (m, depth) matrix and a (depth, n) one for each of a batch, and what sums are multiplied by. Steps
/// are distances in memory; neighbours of a row of the output have none.
struct Product {
    int64 batch, m, n, depth;
    int64 a_first, a_batch, a_row, a_depth;
    int64 b_first, b_batch, b_column, b_depth;
    int64 out_first, out_batch, out_row;
    float64 scale;
};

template <class TILE, class T>
__device__ __forceinline__ void
dot(const T *a, const T *b, const T *bias, T *out, Compute<T> *partial, const Product &p, int req) {
    typedef Compute<T> C;
    const int64 down = (p.m + TILE::rows - 1) / TILE::rows;
    const int64 i = blockIdx.x % down * TILE::rows, j = blockIdx.x / down * TILE::columns;
    const Depth depth = depth_of(p.depth, piece_depth<TILE, T>);
    const int64 end = req == Null ? 0 : p.batch, size = p.m * p.n;
#pragma unroll 1
    for (int64 z = blockIdx.z; z < end; z += gridDim.z) {
        const Matrix<T> left(a + p.a_first + z * p.a_batch, p.a_row, p.a_depth);
        const Matrix<T> right(b + p.b_first + z * p.b_batch, p.b_column, p.b_depth);
        const auto store = [&](int64 row, int64 column, C sum) {
            sum *= (C)p.scale;
            if (gridDim.y > 1) {
                partial[(blockIdx.y * p.batch + z) * size + row * p.n + column] = sum;
            } else {
                const int64 at = p.out_first + z * p.out_batch + row * p.out_row + column;
                put(out[at], biased(sum, bias, column), req == Add);
            }
        };
        products_of<TILE, T>(left, right, i, j, p.m, p.n, depth, store);
    }
}

} // namespace fm

#define FM_DOT_ENTRY(T, SIZE, TILE) \
    extern "C" __global__ void __launch_bounds__(fm::TILE::threads, fm::TILE::blocks) \
    dot_##SIZE##_##T( \
        const T *a, const T *b, const T *bias, T *out, fm::Compute<T> *partial, \
        const __grid_constant__ fm::Product product, int req) { \
        fm::dot<fm::TILE>(a, b, bias, out, partial, product, req); \
    }
#define FM_FINISH_ENTRY(T, ...) \
    extern "C" __global__ void dot_##T##_finish( \
        const fm::Compute<T> *partial, const T *bias, T *out, int64 parts, int64 count, int64 n, \
        int req) { \
        fm::join(partial, parts, req == fm::Null ? 0 : count, [&](int64 i, fm::Compute<T> sum) { \
            fm::put(out[i], fm::biased(sum, bias, i % n), req == fm::Add); \
        }); \
    }
FM_IF_float32(FM_DOT_ENTRY(float32, large, Large))
FM_IF_float16(FM_DOT_ENTRY(float16, large, Large))
FM_IF_bfloat16(FM_DOT_ENTRY(bfloat16, large, Large))
FM_IF_float32(FM_IF_tf32(FM_DOT_ENTRY(float32, tf32_large, Tf32<fm::Large>)))
FM_IF_float32(FM_IF_tf32(FM_DOT_ENTRY(float32, tf32_medium, Tf32<fm::Medium>)))
FM_FLOATS(FM_DOT_ENTRY, medium, Medium)
FM_FLOATS(FM_DOT_ENTRY, small, Small)
FM_FLOATS(FM_FINISH_ENTRY, )

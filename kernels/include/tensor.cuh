// Products of matrices of halves by tensor cores, which multiply 16 by 16 and 16 by 8 elements for a warp.
// On the host the lanes of a warp do that one instruction together, so that the rest is the same there.
#pragma once
#include "gemm.cuh"

namespace fm {

// Older processors have none for both types.
#if defined(FM_HOST) || __CUDA_ARCH__ >= 800
constexpr bool tensor_cores = true;
#else
constexpr bool tensor_cores = false;
#endif

/// Whether products of tiles of these elements go to tensor cores.
template <class TILE, class T>
constexpr bool on_tensor_cores = tensor_cores && sizeof(T) == 2 && TILE::threads == 256;

/// Depth of a piece of an operand, and the step of its rows in shared memory: eight of them lie in
/// banks apart from each other.
constexpr int HALVES = 32, HALVES_STEP = HALVES + 8;

/// The operands of a lane: a pair of neighbours in depth in each register. Of lane 4 g + t, `left` has
/// rows g and g + 8 at depths 2 t and 2 t + 8 (the row changes first), `right` column g at these depths,
/// and `sums` rows g and g + 8 (these change last) of columns 2 t and 2 t + 1.
#ifdef FM_HOST

template <class T> inline float32 pair_product(unsigned a, unsigned b) {
    const T p[2] = {{(unsigned short)a}, {(unsigned short)(a >> 16)}};
    const T q[2] = {{(unsigned short)b}, {(unsigned short)(b >> 16)}};
    return widen(p[0]) * widen(q[0]) + widen(p[1]) * widen(q[1]);
}

template <class T>
inline void
multiply_add(float32 (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    const int lane = threadIdx.x % warpSize, group = lane / 4, place = lane % 4;
    for (int t = 0; t < 4; ++t) {
        unsigned a[4], b[2][2];
        for (int k = 0; k < 4; ++k) {
            a[k] = __shfl_sync(0xffffffffu, left[k], 4 * group + t);
        }
        for (int c = 0; c < 2; ++c) {
            for (int k = 0; k < 2; ++k) {
                b[c][k] = __shfl_sync(0xffffffffu, right[k], 4 * (2 * place + c) + t);
            }
        }
        for (int e = 0; e < 4; ++e) {
            sums[e] += pair_product<T>(a[e / 2], b[e % 2][0]);
            sums[e] += pair_product<T>(a[e / 2 + 2], b[e % 2][1]);
        }
    }
}

#else

#define FM_MULTIPLY_ADD(TYPE) \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]))

template <class T> constexpr bool is_brain = false;
template <> constexpr bool is_brain<bfloat16> = true;

template <class T>
__device__ __forceinline__ void
multiply_add(float32 (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    if constexpr (is_brain<T>) {
        FM_MULTIPLY_ADD("bf16");
    } else {
        FM_MULTIPLY_ADD("f16");
    }
}

#endif

/// A piece of a matrix, LENGTH rows by HALVES, on its way to shared memory in packs of eight halves.
template <int LENGTH, class T> struct HalfPiece {
    typedef Pack<T, 8> Eight;
    static constexpr int packs = LENGTH * HALVES / 8 / 256, size = LENGTH * HALVES_STEP / 8;
    Eight value[packs];
    bool aligned;

    __device__ __forceinline__ HalfPiece(const Matrix<T> &from) {
        const int64 step = from.along_depth ? from.row_step : from.depth_step;
        const bool one = from.along_depth || from.row_step == 1;
        aligned = one && step % 8 == 0 && (unsigned long long)from.data % sizeof(Eight) == 0;
    }
    static __device__ __forceinline__ int row_of(const Matrix<T> &from, int pack) {
        const int i = threadIdx.x + 256 * pack;
        return from.along_depth ? i / (HALVES / 8) : i % (LENGTH / 8) * 8;
    }
    static __device__ __forceinline__ int depth_of(const Matrix<T> &from, int pack) {
        const int i = threadIdx.x + 256 * pack;
        return from.along_depth ? i % (HALVES / 8) * 8 : i / (LENGTH / 8);
    }

    __device__ __forceinline__ void
    load(const Matrix<T> &from, int64 row, int64 rows, int64 depth, int64 end) {
#pragma unroll
        for (int p = 0; p < packs; ++p) {
            const int64 i = row + row_of(from, p), k = depth + depth_of(from, p);
            const T *const at = from.data + i * from.row_step + k * from.depth_step;
            const int64 step = from.along_depth ? 1 : from.row_step;
            const int64 left = from.along_depth ? end - k : rows - i;
            const bool inside = i < rows && k < end;
            if (aligned && inside && left >= 8) {
                value[p] = *(const Eight *)at;
                continue;
            }
#pragma unroll
            for (int e = 0; e < 8; ++e) {
                value[p].at[e] = inside && e < left ? at[e * step] : T{0};
            }
        }
    }
    __device__ __forceinline__ void store(const Matrix<T> &from, Eight *shared) const {
        T *const to = (T *)shared;
#pragma unroll
        for (int p = 0; p < packs; ++p) {
            const int row = row_of(from, p), k = depth_of(from, p);
            if (from.along_depth) {
                shared[(row * HALVES_STEP + k) / 8] = value[p];
                continue;
            }
#pragma unroll
            for (int e = 0; e < 8; ++e) {
                to[(row + e) * HALVES_STEP + k] = value[p].at[e];
            }
        }
    }
};

/// Two neighbours in depth of a row.
template <class T>
__device__ __forceinline__ unsigned pair_at(const Pack<T, 8> *shared, int row, int depth) {
    return ((const unsigned *)shared)[(row * HALVES_STEP + depth) / 2];
}

/// A warp's part of a tile, of which 2 by 4 warps have one each.
template <class TILE> struct Part {
    static constexpr int rows = TILE::rows / 2, columns = TILE::columns / 4;
    static constexpr int down = rows / 16, across = columns / 8;
};

/// Adds the products of one piece of each operand.
template <class TILE, class T>
__device__ __forceinline__ void multiply_piece(
    const Pack<T, 8> *left, const Pack<T, 8> *right,
    float32 (&sums)[Part<TILE>::down][Part<TILE>::across][4]) {
    typedef Part<TILE> Own;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    const int row = warp % 2 * Own::rows + group, column = warp / 2 * Own::columns + group;
#pragma unroll
    for (int k = 0; k < HALVES; k += 16) {
        unsigned a[Own::down][4], b[Own::across][2];
#pragma unroll
        for (int m = 0; m < Own::down; ++m) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                a[m][e] = pair_at(left, row + 16 * m + e % 2 * 8, k + 2 * t + e / 2 * 8);
            }
        }
#pragma unroll
        for (int n = 0; n < Own::across; ++n) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                b[n][e] = pair_at(right, column + 8 * n, k + 2 * t + e * 8);
            }
        }
#pragma unroll
        for (int m = 0; m < Own::down; ++m) {
#pragma unroll
            for (int n = 0; n < Own::across; ++n) {
                multiply_add<T>(sums[m][n], a[m], b[n]);
            }
        }
    }
}

/// Calls `each(row, column, sum)` for the elements of a thread's part of the tile at (`i`, `j`).
template <class TILE, class T, class F>
__device__ __forceinline__ void multiply_halves(
    const Matrix<T> &a, const Matrix<T> &b, int64 i, int64 j, int64 m, int64 n,
    const Depth &depth, F each) {
    typedef HalfPiece<TILE::rows, T> Left;
    typedef HalfPiece<TILE::columns, T> Right;
    typedef Pack<T, 8> Eight;
    typedef Part<TILE> Own;
    FM_SHARED(Eight, lefts, 2 * Left::size);
    FM_SHARED(Eight, rights, 2 * Right::size);
    float32 sums[Own::down][Own::across][4] = {};
    Left left(a);
    Right right(b);
    left.load(a, i, m, depth.first, depth.end);
    right.load(b, j, n, depth.first, depth.end);
    __syncthreads(); // the tile before has been read
    left.store(a, lefts);
    right.store(b, rights);
    __syncthreads();
    int now = 0;
#pragma unroll 1
    for (int64 k = depth.first; k < depth.end; k += HALVES) {
        const bool more = k + HALVES < depth.end;
        if (more) {
            left.load(a, i, m, k + HALVES, depth.end);
            right.load(b, j, n, k + HALVES, depth.end);
        }
        multiply_piece<TILE, T>(lefts + now * Left::size, rights + now * Right::size, sums);
        now ^= 1;
        if (more) {
            left.store(a, lefts + now * Left::size);
            right.store(b, rights + now * Right::size);
            __syncthreads();
        }
    }
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    i += warp % 2 * Own::rows + lane / 4;
    j += warp / 2 * Own::columns + lane % 4 * 2;
#pragma unroll
    for (int e = 0; e < 4 * Own::down * Own::across; ++e) {
        const int down = e / 4 / Own::across, across = e / 4 % Own::across;
        const int64 row = i + 16 * down + e % 4 / 2 * 8, column = j + 8 * across + e % 2;
        if (row < m && column < n) {
            each(row, column, sums[down][across][e % 4]);
        }
    }
}

} // namespace fm

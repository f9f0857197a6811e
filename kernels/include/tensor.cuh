// Products of matrices by tensor cores, which multiply 16 by 16 halves, or 16 by 8 numbers of float32 that
// are rounded to tf32, and 8 columns for a warp, and sum in float32. On the host the lanes of a warp do
// that one instruction together, so that the rest is the same there.
#pragma once
#include "gemm.cuh"

namespace fm {

// Older processors have none for all of these types.
#if defined(FM_HOST) || __CUDA_ARCH__ >= 800
#define FM_TENSOR_CORES 1
#else
#define FM_TENSOR_CORES 0
#endif

// Entry points that round float32 are made where a dispatcher asks for them by FM_TF32: they take long.
#if defined(FM_HOST) || (FM_TENSOR_CORES && defined(FM_TF32))
#define FM_IF_tf32(...) __VA_ARGS__
#else
#define FM_IF_tf32(...)
#endif

/// A tile whose float32 is rounded to tf32; only where there are tensor cores.
template <class TILE> struct Tf32 : TILE {
    static constexpr bool tf32 = true;
};

/// Whether products of tiles of these elements go to tensor cores.
template <class TILE, class T>
constexpr bool on_tensor_cores
    = FM_TENSOR_CORES && TILE::threads == 256 && (TILE::tf32 ? sizeof(T) == 4 : sizeof(T) == 2);

/// Rows of a piece of an operand have 16 words of depth, and lie 20 apart in shared memory, so that eight
/// of them are in banks apart from each other. A word has two halves, or one float32.
constexpr int WORDS = 16, WORDS_STEP = WORDS + 4;
template <class T> constexpr int in_word = 4 / (int)sizeof(T);
template <class T> constexpr int in_pack = 16 / (int)sizeof(T);
template <class T> using Sixteen = Pack<T, in_pack<T>>;

/// How deep a piece of an operand is.
template <class TILE, class T>
constexpr int piece_depth = on_tensor_cores<TILE, T> ? WORDS * in_word<T> : TILE::depth;

/// An element as tensor cores take it: float32 with the ten bits of tf32, ties away from zero.
template <class T> __device__ __forceinline__ T factor_of(T x) { return x; }
__device__ __forceinline__ float32 factor_of(float32 x) {
#ifdef FM_HOST
    return x != x ? x : __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu);
#else
#if FM_TENSOR_CORES
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return __uint_as_float(bits);
#else
    return x;
#endif
#endif
}

/// The operands of a lane, a word of depth in each register. Of lane 4 g + t, `left` has rows g and g + 8
/// at words t and t + 4 (the row changes first), `right` column g at these words, and `sums` rows g and
/// g + 8 (these change last) of columns 2 t and 2 t + 1.
#ifdef FM_HOST

template <class T> inline float32 word_product(unsigned a, unsigned b) {
    if constexpr (sizeof(T) == 4) {
        return __uint_as_float(a) * __uint_as_float(b);
    } else {
        const T p[2] = {{(unsigned short)a}, {(unsigned short)(a >> 16)}};
        const T q[2] = {{(unsigned short)b}, {(unsigned short)(b >> 16)}};
        return widen(p[0]) * widen(q[0]) + widen(p[1]) * widen(q[1]);
    }
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
            sums[e] += word_product<T>(a[e / 2], b[e % 2][0]);
            sums[e] += word_product<T>(a[e / 2 + 2], b[e % 2][1]);
        }
    }
}

#else

#define FM_MULTIPLY_ADD(TYPE, DEPTH) \
    asm("mma.sync.aligned.m16n8k" DEPTH ".row.col.f32." TYPE "." TYPE ".f32 " \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]) \
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]))

template <class T> constexpr bool is_brain = false;
template <> constexpr bool is_brain<bfloat16> = true;

template <class T>
__device__ __forceinline__ void
multiply_add(float32 (&sums)[4], const unsigned (&left)[4], const unsigned (&right)[2]) {
    if constexpr (sizeof(T) == 4) {
        FM_MULTIPLY_ADD("tf32", "8");
    } else if constexpr (is_brain<T>) {
        FM_MULTIPLY_ADD("bf16", "16");
    } else {
        FM_MULTIPLY_ADD("f16", "16");
    }
}

#endif

/// A piece of a matrix, LENGTH rows by WORDS, on its way to shared memory in packs of 16 bytes.
template <int LENGTH, class T, class SOURCE> struct TensorPiece;
template <int LENGTH, class T> struct TensorPiece<LENGTH, T, Matrix<T>> {
    static constexpr int V = in_pack<T>, K = WORDS * in_word<T>, step = WORDS_STEP * in_word<T>;
    static constexpr int packs = LENGTH * K / V / 256;
    Sixteen<T> value[packs];
    bool aligned;

    __device__ __forceinline__ TensorPiece(const Matrix<T> &from) {
        const int64 rows = from.along_depth ? from.row_step : from.depth_step;
        const bool one = from.along_depth || from.row_step == 1;
        aligned = one && rows % V == 0 && (unsigned long long)from.data % sizeof(Sixteen<T>) == 0;
    }
    static __device__ __forceinline__ int row_of(const Matrix<T> &from, int pack) {
        const int i = threadIdx.x + 256 * pack;
        return from.along_depth ? i / (K / V) : i % (LENGTH / V) * V;
    }
    static __device__ __forceinline__ int depth_of(const Matrix<T> &from, int pack) {
        const int i = threadIdx.x + 256 * pack;
        return from.along_depth ? i % (K / V) * V : i / (LENGTH / V);
    }

    __device__ __forceinline__ void
    load(const Matrix<T> &from, int64 row, int64 rows, int64 depth, int64 end) {
#pragma unroll
        for (int p = 0; p < packs; ++p) {
            const int64 i = row + row_of(from, p), k = depth + depth_of(from, p);
            const T *const at = from.data + i * from.row_step + k * from.depth_step;
            const int64 next = from.along_depth ? 1 : from.row_step;
            const int64 left = from.along_depth ? end - k : rows - i;
            const bool inside = i < rows && k < end;
            if (aligned && inside && left >= V) {
                value[p] = *(const Sixteen<T> *)at;
                continue;
            }
#pragma unroll
            for (int e = 0; e < V; ++e) {
                value[p].at[e] = inside && e < left ? at[e * next] : T{0};
            }
        }
    }
    __device__ __forceinline__ void store(const Matrix<T> &from, Sixteen<T> *shared) {
        T *const to = (T *)shared;
#pragma unroll
        for (int p = 0; p < packs; ++p) {
            const int row = row_of(from, p), k = depth_of(from, p);
#pragma unroll
            for (int e = 0; e < V; ++e) {
                value[p].at[e] = factor_of(value[p].at[e]);
            }
            if (from.along_depth) {
                shared[(row * step + k) / V] = value[p];
                continue;
            }
#pragma unroll
            for (int e = 0; e < V; ++e) {
                to[(row + e) * step + k] = value[p].at[e];
            }
        }
    }
};

/// The same of another source, element by element. All elements of a thread are of one depth where
/// threads follow it, and else of one row.
template <int LENGTH, class T, class SOURCE> struct TensorPiece {
    static constexpr int K = WORDS * in_word<T>, step = WORDS_STEP * in_word<T>;
    static constexpr int loads = LENGTH * K / 256;
    static constexpr bool deep = SOURCE::along_depth;
    static_assert(256 % LENGTH == 0 && 256 % K == 0, "threads share a piece evenly");
    T value[loads];

    __device__ __forceinline__ TensorPiece(const SOURCE &) {}
    static __device__ __forceinline__ int row_of(int load) {
        return deep ? threadIdx.x / K + load * (256 / K) : threadIdx.x % LENGTH;
    }
    static __device__ __forceinline__ int depth_of(int load) {
        return deep ? threadIdx.x % K : threadIdx.x / LENGTH + load * (256 / LENGTH);
    }

    __device__ __forceinline__ void
    load(const SOURCE &from, int64 row, int64 rows, int64 depth, int64 end) {
#pragma unroll
        for (int l = 0; l < loads; ++l) {
            const int64 i = row + row_of(l), k = depth + depth_of(l);
            value[l] = i < rows && k < end ? from.at(from.row(i), k) : T{0};
        }
    }
    __device__ __forceinline__ void store(const SOURCE &, Sixteen<T> *shared) const {
        T *const to = (T *)shared;
#pragma unroll
        for (int l = 0; l < loads; ++l) {
            to[row_of(l) * step + depth_of(l)] = factor_of(value[l]);
        }
    }
};

/// A word of a row.
template <class T> __device__ __forceinline__ unsigned word_at(const Sixteen<T> *shared, int at) {
    return ((const unsigned *)shared)[at];
}

/// A warp's part of a tile, of which 2 by 4 warps have one each.
template <class TILE> struct Part {
    static constexpr int rows = TILE::rows / 2, columns = TILE::columns / 4;
    static constexpr int down = rows / 16, across = columns / 8;
};

/// Adds the products of one piece of each operand.
template <class TILE, class T>
__device__ __forceinline__ void multiply_piece(
    const Sixteen<T> *left, const Sixteen<T> *right,
    float32 (&sums)[Part<TILE>::down][Part<TILE>::across][4]) {
    typedef Part<TILE> Own;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    const int row = warp % 2 * Own::rows + group, column = warp / 2 * Own::columns + group;
#pragma unroll
    for (int k = 0; k < WORDS; k += 8) {
        unsigned a[Own::down][4], b[Own::across][2];
#pragma unroll
        for (int m = 0; m < Own::down; ++m) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                const int at = row + 16 * m + e % 2 * 8;
                a[m][e] = word_at<T>(left, at * WORDS_STEP + k + t + e / 2 * 4);
            }
        }
#pragma unroll
        for (int n = 0; n < Own::across; ++n) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                b[n][e] = word_at<T>(right, (column + 8 * n) * WORDS_STEP + k + t + e * 4);
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
template <class TILE, class T, class A, class B, class F>
__device__ __forceinline__ void multiply_on_tensor_cores(
    const A &a, const B &b, int64 i, int64 j, int64 m, int64 n, const Depth &depth, F each) {
    constexpr int K = WORDS * in_word<T>, ROW = WORDS_STEP / 4;
    typedef Part<TILE> Own;
    FM_SHARED(Sixteen<T>, lefts, 2 * TILE::rows * ROW);
    FM_SHARED(Sixteen<T>, rights, 2 * TILE::columns * ROW);
    float32 sums[Own::down][Own::across][4] = {};
    TensorPiece<TILE::rows, T, A> left(a);
    TensorPiece<TILE::columns, T, B> right(b);
    int now = 0;
    __syncthreads(); // the tile before has been read
    // The first turn only loads, so that what loads stands in the code once.
#pragma unroll 1
    for (int64 k = depth.first - K; k < depth.end; k += K) {
        const bool more = k + K < depth.end;
        if (more) {
            left.load(a, i, m, k + K, depth.end);
            right.load(b, j, n, k + K, depth.end);
        }
        if (k >= depth.first) {
            multiply_piece<TILE, T>(
                lefts + now * TILE::rows * ROW, rights + now * TILE::columns * ROW, sums);
        }
        now ^= 1;
        if (more) {
            left.store(a, lefts + now * TILE::rows * ROW);
            right.store(b, rights + now * TILE::columns * ROW);
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

/// The same, by tensor cores where the tile goes to them.
template <class TILE, class T, class A, class B, class F>
__device__ __forceinline__ void products_of(
    const A &a, const B &b, int64 i, int64 j, int64 m, int64 n, const Depth &depth, F each) {
    if constexpr (on_tensor_cores<TILE, T>) {
        multiply_on_tensor_cores<TILE, T>(a, b, i, j, m, n, depth, each);
    } else {
        Compute<T> sums[TILE::own_rows][TILE::own_columns];
        multiply<TILE>(a, b, i, j, m, n, depth, sums);
        elements_of<TILE>(sums, i, j, m, n, each);
    }
}

} // namespace fm

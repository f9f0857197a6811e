// Products of matrices, tile by tile: a block goes along the depth of its tile with a piece of either
// operand in shared memory, and each of its threads keeps a part of the tile in registers. Operands are
// read by sources, which say where an element comes from, so that a matrix need not exist (a
// convolution's does not).
#pragma once
#include "convert.cuh"
#include "map.cuh"
#include "shared.cuh"

namespace fm {

/// A tile of M rows and N columns, in pieces of a depth of K; a thread has TM by TN elements of it.
/// A processor has registers for BLOCKS blocks at once.
template <int M, int N, int K, int TM, int TN, int BLOCKS> struct Tile {
    static constexpr int rows = M, columns = N, depth = K, own_rows = TM, own_columns = TN;
    static constexpr int threads = (M / TM) * (N / TN), blocks = BLOCKS;
    static constexpr bool tf32 = false;
};
typedef Tile<128, 128, 8, 8, 8, 1> Large;
typedef Tile<64, 64, 16, 4, 4, 2> Medium;
typedef Tile<32, 32, 8, 4, 4, 8> Small;

/// A range of the depth.
struct Depth {
    int64 first, end;
};

/// The part of the depth that blocks of this y have.
__device__ __forceinline__ Depth depth_of(int64 depth, int piece) {
    const int64 pieces = (depth + piece - 1) / piece;
    const int64 each = (pieces + gridDim.y - 1) / gridDim.y * piece;
    const int64 first = blockIdx.y * each, end = first + each;
    return {first < depth ? first : depth, end < depth ? end : depth};
}

/// A piece of an operand, LENGTH rows (or columns) by the tile's depth, on its way from a source to
/// shared memory through registers. A source has `along_depth`, whether neighbours in memory are
/// neighbours in depth, which threads follow; `row` for what it wants to know of a row that there is,
/// and `at` for the element of a row at a depth that there is; halves are multiplied as float32.
template <class TILE, int LENGTH, class C, class SOURCE> struct Piece {
    // Steps in shared memory that keep packs aligned, and banks apart where threads follow the depth.
    static constexpr int V = 16 / (int)sizeof(C), step = LENGTH + V, K = TILE::depth;
    static constexpr int loads = LENGTH * K / TILE::threads;
    typedef Pack<C, V> Lane;
    static constexpr int size = K * step / V;
    static_assert(loads * TILE::threads == LENGTH * K, "threads share a piece evenly");

    typename SOURCE::Row row[loads];
    bool inside[loads];
    C value[loads];

    static __device__ __forceinline__ int row_of(const SOURCE &source, int load) {
        const int i = threadIdx.x + load * TILE::threads;
        return source.along_depth ? i / K : i % LENGTH;
    }
    static __device__ __forceinline__ int depth_of(const SOURCE &source, int load) {
        const int i = threadIdx.x + load * TILE::threads;
        return source.along_depth ? i % K : i / LENGTH;
    }

    __device__ __forceinline__ Piece(const SOURCE &source, int64 first, int64 rows) {
#pragma unroll
        for (int l = 0; l < loads; ++l) {
            const int64 i = first + row_of(source, l);
            inside[l] = i < rows;
            row[l] = source.row(inside[l] ? i : first);
        }
    }
    __device__ __forceinline__ void load(const SOURCE &source, int64 first, int64 end) {
#pragma unroll
        for (int l = 0; l < loads; ++l) {
            const int64 k = first + depth_of(source, l);
            value[l] = inside[l] && k < end ? convert<C>(source.at(row[l], k)) : (C)0;
        }
    }
    __device__ __forceinline__ void store(const SOURCE &source, Lane *shared) const {
        C *const to = (C *)shared;
#pragma unroll
        for (int l = 0; l < loads; ++l) {
            to[depth_of(source, l) * step + row_of(source, l)] = value[l];
        }
    }
};

/// Where the element `i` of a thread's `OWN` lies among the LENGTH of a tile: packs of neighbours, and
/// those of all threads side by side, so that a warp reads shared memory without conflicts.
template <int LENGTH, int OWN, int V> __device__ __forceinline__ int place_of(int thread, int i) {
    return i / V * (LENGTH / OWN * V) + thread * V + i % V;
}

/// Sums of products over a range of the depth, for a thread's part of the tile at (`i`, `j`).
template <class TILE, class C, class A, class B>
__device__ __forceinline__ void multiply(
    const A &a, const B &b, int64 i, int64 j, int64 m, int64 n, const Depth &depth,
    C (&sums)[TILE::own_rows][TILE::own_columns]) {
    typedef Piece<TILE, TILE::rows, C, A> Left;
    typedef Piece<TILE, TILE::columns, C, B> Right;
    constexpr int V = Left::V, TM = TILE::own_rows, TN = TILE::own_columns, K = TILE::depth;
    typedef typename Left::Lane Lane;
    FM_SHARED(Lane, lefts, 2 * Left::size);
    FM_SHARED(Lane, rights, 2 * Right::size);
    const int across = TILE::columns / TN;
    const int x = threadIdx.x % across, y = threadIdx.x / across;
#pragma unroll
    for (int r = 0; r < TM; ++r) {
#pragma unroll
        for (int c = 0; c < TN; ++c) {
            sums[r][c] = 0;
        }
    }
    Left left(a, i, m);
    Right right(b, j, n);
    left.load(a, depth.first, depth.end);
    right.load(b, depth.first, depth.end);
    __syncthreads(); // the tile before has been read
    left.store(a, lefts);
    right.store(b, rights);
    __syncthreads();
    int now = 0;
#pragma unroll 1
    for (int64 k = depth.first; k < depth.end; k += K) {
        const bool more = k + K < depth.end;
        if (more) {
            left.load(a, k + K, depth.end);
            right.load(b, k + K, depth.end);
        }
        const Lane *const l = lefts + now * Left::size, *const r = rights + now * Right::size;
#pragma unroll 4
        for (int d = 0; d < K; ++d) {
            Lane p[TM / V], q[TN / V];
#pragma unroll
            for (int g = 0; g < TM / V; ++g) {
                p[g] = l[(d * Left::step + place_of<TILE::rows, TM, V>(y, g * V)) / V];
            }
#pragma unroll
            for (int g = 0; g < TN / V; ++g) {
                q[g] = r[(d * Right::step + place_of<TILE::columns, TN, V>(x, g * V)) / V];
            }
#pragma unroll
            for (int s = 0; s < TM; ++s) {
#pragma unroll
                for (int t = 0; t < TN; ++t) {
                    sums[s][t] += p[s / V].at[s % V] * q[t / V].at[t % V];
                }
            }
        }
        now ^= 1;
        if (more) {
            left.store(a, lefts + now * Left::size);
            right.store(b, rights + now * Right::size);
            __syncthreads();
        }
    }
}

/// Calls `each(row, column, sum)` for the elements of a thread's part of a tile that there are.
template <class TILE, class C, class F>
__device__ __forceinline__ void elements_of(
    const C (&sums)[TILE::own_rows][TILE::own_columns], int64 i, int64 j, int64 m, int64 n, F each) {
    constexpr int V = 16 / (int)sizeof(C), TM = TILE::own_rows, TN = TILE::own_columns;
    const int across = TILE::columns / TN;
    const int x = threadIdx.x % across, y = threadIdx.x / across;
#pragma unroll
    for (int c = 0; c < TN; ++c) {
        const int64 column = j + place_of<TILE::columns, TN, V>(x, c);
#pragma unroll
        for (int r = 0; r < TM; ++r) {
            const int64 row = i + place_of<TILE::rows, TM, V>(y, r);
            if (row < m && column < n) {
                each(row, column, sums[r][c]);
            }
        }
    }
}

/// A sum with the number of its column or channel added, if there are such.
template <class T> __device__ __forceinline__ Compute<T> biased(Compute<T> x, const T *bias, int64 j) {
    return bias == nullptr ? x : x + convert<Compute<T>>(bias[j]);
}

/// Joins the sums over parts of the depth, element by element, and hands them on.
template <class C, class F>
__device__ __forceinline__ void join(const C *partial, int64 parts, int64 count, F each) {
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * (int64)blockDim.x) {
        C total = partial[i];
#pragma unroll 1
        for (int64 part = 1; part < parts; ++part) {
            total += partial[part * count + i];
        }
        each(i, total);
    }
}

/// A matrix in memory.
template <class T> struct Matrix {
    typedef int64 Row;
    const T *data;
    int64 row_step, depth_step;
    bool along_depth;

    __device__ __forceinline__ Matrix(const T *data, int64 row_step, int64 depth_step)
        : data(data), row_step(row_step), depth_step(depth_step), along_depth(depth_step == 1) {}
    __device__ __forceinline__ Row row(int64 i) const { return i * row_step; }
    __device__ __forceinline__ T at(Row row, int64 k) const { return data[row + k * depth_step]; }
};

} // namespace fm

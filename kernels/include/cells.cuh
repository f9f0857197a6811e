// Products of states with weights, of which a thread gets all gates of one unit in one row, so that it can
// go on with that unit's cell.
#pragma once
#include "gemm.cuh"

namespace fm {

/// A block has so many rows and units.
constexpr int CELL_ROWS = 32, CELL_UNITS = 8, CELL_THREADS = CELL_ROWS * CELL_UNITS;

/// Weights of several gates, in steps from one to the next.
template <class R> struct GateWeights {
    const R *data;
    int64 gate, unit, depth;
};

/// Which row and unit the thread has, in a grid along x.
struct Cell {
    int64 row, unit;
};

__device__ __forceinline__ Cell first_cell(int64 units) {
    const int64 across = (units + CELL_UNITS - 1) / CELL_UNITS;
    return {blockIdx.x / across * CELL_ROWS, blockIdx.x % across * CELL_UNITS};
}

__device__ __forceinline__ Cell own_cell(int64 units) {
    const Cell first = first_cell(units);
    return {first.row + threadIdx.x / CELL_UNITS, first.unit + threadIdx.x % CELL_UNITS};
}

/// Pieces of both operands in shared memory, on their way there through registers. Neighbours in depth lie
/// side by side, in packs of 16 bytes that are read without conflicts.
template <class R, int G> struct CellPiece {
    static constexpr int V = 16 / (int)sizeof(R), K = G == 1 ? 128 : 32, step = K + V;
    static constexpr int lines = G * CELL_UNITS;
    static constexpr int left_loads = CELL_ROWS * K / CELL_THREADS;
    static constexpr int right_loads = lines * K / CELL_THREADS;
    typedef Pack<R, V> Lane;
    R left[left_loads], right[right_loads];

    /// Which line of the weights' piece, and which depth, a load has: threads follow what lies side by side.
    static __device__ __forceinline__ int line_of(const GateWeights<R> &weights, int load) {
        const int i = threadIdx.x + load * CELL_THREADS;
        return weights.depth == 1 ? i / K : i % lines;
    }
    static __device__ __forceinline__ int depth_of(const GateWeights<R> &weights, int load) {
        const int i = threadIdx.x + load * CELL_THREADS;
        return weights.depth == 1 ? i % K : i / lines;
    }

    __device__ __forceinline__ void
    load(const R *states, const GateWeights<R> &weights, const Cell &first, int64 rows, int64 units,
         int64 depth, int64 k) {
#pragma unroll
        for (int l = 0; l < left_loads; ++l) {
            const int i = threadIdx.x + l * CELL_THREADS;
            const int64 row = first.row + i / K, at = k + i % K;
            left[l] = row < rows && at < depth ? states[row * depth + at] : (R)0;
        }
#pragma unroll
        for (int l = 0; l < right_loads; ++l) {
            const int line = line_of(weights, l);
            const int64 unit = first.unit + line % CELL_UNITS, at = k + depth_of(weights, l);
            const int64 gate = line / CELL_UNITS * weights.gate;
            const int64 from = gate + unit * weights.unit + at * weights.depth;
            right[l] = unit < units && at < depth ? weights.data[from] : (R)0;
        }
    }
    __device__ __forceinline__ void
    store(const GateWeights<R> &weights, Lane *lefts, Lane *rights) const {
#pragma unroll
        for (int l = 0; l < left_loads; ++l) {
            const int i = threadIdx.x + l * CELL_THREADS;
            ((R *)lefts)[i / K * step + i % K] = left[l];
        }
#pragma unroll
        for (int l = 0; l < right_loads; ++l) {
            ((R *)rights)[line_of(weights, l) * step + depth_of(weights, l)] = right[l];
        }
    }
};

/// For the thread's row and unit the product of `states`, rows of `depth` numbers, with each gate's weights.
template <class R, int G>
__device__ __forceinline__ void gate_products(
    const R *states, const GateWeights<R> &weights, int64 rows, int64 units, int64 depth, R (&sums)[G]) {
    typedef CellPiece<R, G> Piece;
    typedef typename Piece::Lane Lane;
    constexpr int V = Piece::V, K = Piece::K, step = Piece::step / V;
    FM_SHARED(Lane, lefts, CELL_ROWS * step);
    FM_SHARED(Lane, rights, Piece::lines * step);
    const Cell first = first_cell(units);
    const int row = threadIdx.x / CELL_UNITS, unit = threadIdx.x % CELL_UNITS;
#pragma unroll
    for (int g = 0; g < G; ++g) {
        sums[g] = 0;
    }
    Piece piece;
    piece.load(states, weights, first, rows, units, depth, 0);
#pragma unroll 1
    for (int64 k = 0; k < depth; k += K) {
        __syncthreads(); // the piece before has been read
        piece.store(weights, lefts, rights);
        __syncthreads();
        if (k + K < depth) {
            piece.load(states, weights, first, rows, units, depth, k + K);
        }
#pragma unroll 4
        for (int p = 0; p < K / V; ++p) {
            const Lane x = lefts[row * step + p];
#pragma unroll
            for (int g = 0; g < G; ++g) {
                const Lane w = rights[(g * CELL_UNITS + unit) * step + p];
#pragma unroll
                for (int e = 0; e < V; ++e) {
                    sums[g] += x.at[e] * w.at[e];
                }
            }
        }
    }
}

} // namespace fm

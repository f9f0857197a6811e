// Reductions: one output from many elements, which the threads of a block share, and blocks, too,
// where there are few outputs. Any grid and any block computes the same, but for the order of sums.
#pragma once
#include "map.cuh"
#include "shared.cuh"

namespace fm {

/// Threads of a block at most.
constexpr int MOST_THREADS = 1024;

/// Where the axis lies: an array of (outer, count, inner).
struct Along {
    int64 outer;
    int64 count;
    int64 inner;
};

/// The result of all threads of a column along y, a power of two, in each of them. `part` is free
/// again when all have returned.
template <class C, class Join>
__device__ __forceinline__ C together(C value, C (&part)[MOST_THREADS], Join join) {
    const int me = threadIdx.y * blockDim.x + threadIdx.x;
    part[me] = value;
#pragma unroll 1
    for (int half = (int)blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.y < half) {
            part[me] = join(part[me], part[me + half * blockDim.x]);
        }
    }
    __syncthreads();
    const C result = part[threadIdx.x];
    __syncthreads();
    return result;
}

/// Which elements become which output. The caller merges neighbouring axes where it can.
struct FoldWalk {
    int64 outputs;
    /// Elements of each output.
    int64 count;
    int64 kept_rank;
    int64 reduced_rank;
    /// Extents of the axes that are kept, and of those that are reduced.
    int64 kept[MAX_RANK];
    int64 reduced[MAX_RANK];
    /// Elements from one to the next along them, in the data and in the output.
    int64 kept_strides[MAX_RANK];
    int64 out_strides[MAX_RANK];
    int64 reduced_strides[MAX_RANK];
};

/// The offset of a position along some axes.
__device__ __forceinline__ int64
offset_of(int64 position, int64 rank, const int64 *shape, const int64 *strides) {
    int64 offset = 0;
    if (position <= 0xffffffffll) {
        unsigned rest = (unsigned)position;
#pragma unroll 1
        for (int axis = (int)rank - 1; axis >= 0; --axis) {
            const unsigned extent = (unsigned)shape[axis], outer = rest / extent;
            offset += (int64)(rest - outer * extent) * strides[axis];
            rest = outer;
        }
        return offset;
    }
#pragma unroll 1
    for (int axis = (int)rank - 1; axis >= 0; --axis) {
        const int64 outer = position / shape[axis];
        offset += (position - outer * shape[axis]) * strides[axis];
        position = outer;
    }
    return offset;
}

/// Sets `out` to the fold of each output's elements; where several blocks share an output, `partial`
/// gets what they found, of shape (gridDim.y, outputs), for `finish`. Threads along x have outputs of
/// their own, threads along y, a power of two, share those: neighbours in memory belong to
/// neighbouring threads if the caller chooses so. F has `start`, `lift` for an element, `join` for
/// two results, `last` for the final one.
template <class D, class S, class C, class F>
__device__ __forceinline__ void
fold(const S *data, D *out, C *partial, const FoldWalk &walk, int req, F f) {
    FM_SHARED(C, part, MOST_THREADS);
    const int me = threadIdx.y * blockDim.x + threadIdx.x;
    const int64 step = gridDim.y * (int64)blockDim.y;
    const int64 outputs = req == Null ? 0 : walk.outputs;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < outputs;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 output = first + threadIdx.x;
        C total = f.start();
        if (output < outputs) {
            const S *const from
                = data + offset_of(output, walk.kept_rank, walk.kept, walk.kept_strides);
#pragma unroll 1
            for (int64 i = blockIdx.y * (int64)blockDim.y + threadIdx.y; i < walk.count; i += step) {
                const int64 at = offset_of(i, walk.reduced_rank, walk.reduced, walk.reduced_strides);
                total = f.join(total, f.lift(convert<C>(from[at])));
            }
        }
        part[me] = total;
#pragma unroll 1
        for (int half = (int)blockDim.y / 2; half > 0; half /= 2) {
            __syncthreads();
            if ((int)threadIdx.y < half) {
                part[me] = f.join(part[me], part[me + half * blockDim.x]);
            }
        }
        if (threadIdx.y == 0 && output < outputs) {
            if (gridDim.y > 1) {
                partial[blockIdx.y * outputs + output] = part[me];
            } else {
                const int64 at = offset_of(output, walk.kept_rank, walk.kept, walk.out_strides);
                put(out[at], f.last(part[me]), req == Add);
            }
        }
        __syncthreads(); // before the next outputs take the shared memory
    }
}

/// Joins what `parts` blocks found for each output.
template <class D, class C, class F>
__device__ __forceinline__ void
finish(const C *partial, D *out, int64 parts, const FoldWalk &walk, int req, F f) {
    const int64 outputs = req == Null ? 0 : walk.outputs;
#pragma unroll 1
    for (int64 output = blockIdx.x * (int64)blockDim.x + threadIdx.x; output < outputs;
         output += gridDim.x * (int64)blockDim.x) {
        C total = partial[output];
#pragma unroll 1
        for (int64 part = 1; part < parts; ++part) {
            total = f.join(total, partial[part * outputs + output]);
        }
        const int64 at = offset_of(output, walk.kept_rank, walk.kept, walk.out_strides);
        put(out[at], f.last(total), req == Add);
    }
}

} // namespace fm

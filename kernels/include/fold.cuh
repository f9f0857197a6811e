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

/// The threads of a block that share a line of neighbours: as many as lie along y, a power of two, one
/// after another, so that those of a warp read neighbours in memory.
struct Team {
    int number, lane, size;

    __device__ __forceinline__ Team() {
        const int me = threadIdx.y * blockDim.x + threadIdx.x;
        size = blockDim.y;
        number = me / size;
        lane = me % size;
    }

    /// The result of all threads of a team, in each of them; all threads of the block call this.
    template <class C, class Join>
    __device__ __forceinline__ C together(C value, C (&part)[MOST_THREADS], Join join) const {
        const int me = threadIdx.y * blockDim.x + threadIdx.x, width = size < 32 ? size : 32;
        if (blockDim.x * size % 32 == 0) { // whole warps, for which shuffles are faster
#pragma unroll 1
            for (int far = width / 2; far > 0; far /= 2) {
                value = join(value, __shfl_xor_sync(0xffffffffu, value, far));
            }
        } else {
            const unsigned team = width < 32 ? (1u << width) - 1 : 0xffffffffu;
            const unsigned mask = team << (me % 32 / width * width);
#pragma unroll 1
            for (int far = width / 2; far > 0; far /= 2) {
                value = join(value, __shfl_xor_sync(mask, value, far));
            }
        }
        if (size <= 32) {
            return value;
        }
        __syncthreads(); // all have read what was there before
        if (lane % 32 == 0) {
            part[me / 32] = value;
        }
        __syncthreads();
        value = part[number * (size / 32)];
#pragma unroll 1
        for (int warp = 1; warp < size / 32; ++warp) {
            value = join(value, part[number * (size / 32) + warp]);
        }
        return value;
    }
};

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

/// The offset of a position along some axes, of 2^32 at most.
__device__ __forceinline__ int64
offset_near(unsigned position, int64 rank, const int64 *shape, const int64 *strides) {
    int64 offset = 0;
#pragma unroll 1
    for (int axis = (int)rank - 1; axis > 0; --axis) {
        const unsigned extent = (unsigned)shape[axis], outer = position / extent;
        offset += (int64)(position - outer * extent) * strides[axis];
        position = outer;
    }
    return rank > 0 ? offset + position * strides[0] : 0;
}

/// The offset of any position.
__device__ __forceinline__ int64
offset_of(int64 position, int64 rank, const int64 *shape, const int64 *strides) {
    if (position <= 0xffffffffll) {
        return offset_near((unsigned)position, rank, shape, strides);
    }
    int64 offset = 0;
#pragma unroll 1
    for (int axis = (int)rank - 1; axis >= 0; --axis) {
        const int64 outer = position / shape[axis];
        offset += (position - outer * shape[axis]) * strides[axis];
        position = outer;
    }
    return offset;
}

/// The offset of an output; those of packs are not too many for the shorter way.
template <int LANES>
__device__ __forceinline__ int64
offset_of_output(int64 output, const FoldWalk &walk, const int64 *strides) {
    if constexpr (LANES > 1) {
        return offset_near((unsigned)output, walk.kept_rank, walk.kept, strides);
    } else {
        return offset_of(output, walk.kept_rank, walk.kept, strides);
    }
}

/// Threads of a block of a fold at most, and blocks of so many that a processor has room for.
constexpr int FOLD_THREADS = 256, FOLD_BLOCKS = 4;

/// Elements that a fold loads as one: 16 bytes, or eight elements where these are single bytes.
template <class S> constexpr int fold_lanes = sizeof(S) > 1 ? lanes<S, S> : 8;

/// Loads that a thread of a fold has under way at once.
template <int LANES> constexpr int fold_loads = LANES > 1 ? 4 : 8;

/// Packs of an output whose places are computed in 32 bits, at most.
constexpr int64 MOST_FOLDED = 0x7fffffff;

/// Where the elements of an output lie along two axes at most, in packs.
struct FoldSteps {
    /// The extent of the inner axis, and 2^32 divided by it, or a little less.
    unsigned inner, inverse;
    int64 far, near;

    __device__ __forceinline__ FoldSteps(const FoldWalk &walk, int lanes, bool lines) {
        const int last = (int)walk.reduced_rank - 1;
        const int64 extent = last < 0 ? 1 : walk.reduced[last] / (lines ? lanes : 1);
        inner = extent < 1 ? 1 : (unsigned)extent;
        inverse = 0xffffffffu / inner;
        near = last < 0 ? 0 : lines ? 1 : walk.reduced_strides[last] / lanes;
        far = last < 1 ? 0 : walk.reduced_strides[0] / lanes;
    }

    __device__ __forceinline__ int64 operator[](unsigned i) const {
        unsigned outer = (unsigned)((Word)i * inverse >> 32); // or one more
        unsigned rest = i - outer * inner;
        if (rest >= inner) {
            rest -= inner;
            ++outer;
        }
        return outer * far + rest * near;
    }
};

/// Whether all packs of a fold are aligned: neighbours are elements of one output in `lines`, of
/// neighbouring outputs otherwise.
template <int LANES, class S>
__device__ __forceinline__ bool fold_packs(const S *data, const FoldWalk &walk, bool lines) {
    const int kept = (int)walk.kept_rank - 1, reduced = (int)walk.reduced_rank - 1;
    const int64 run = lines ? walk.reduced[reduced] : kept < 0 ? 1 : walk.kept[kept];
    bool fine = LANES > 1 && (Word)data % sizeof(Pack<S, LANES>) == 0 && run % LANES == 0
        && (lines || (kept >= 0 && walk.kept_strides[kept] == 1));
#pragma unroll 1
    for (int axis = lines ? kept : kept - 1; axis >= 0; --axis) {
        fine = fine && walk.kept_strides[axis] % LANES == 0;
    }
#pragma unroll 1
    for (int axis = lines ? reduced - 1 : reduced; axis >= 0; --axis) {
        fine = fine && walk.reduced_strides[axis] % LANES == 0;
    }
    return fine;
}

/// Folds every `step`-th of `count` packs from the one at `i` on, each lane into its own result.
template <int LANES, class S, class C, class F>
__device__ __forceinline__ void fold_into(
    C (&total)[LANES], const Pack<S, LANES> *from, unsigned i, unsigned step, unsigned count,
    const FoldSteps &steps, F f) {
    constexpr int LOADS = fold_loads<LANES>;
#pragma unroll 1
    for (; i < count; i += LOADS * step) {
        Pack<S, LANES> x[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const unsigned at = i + k * step;
            x[k] = from[steps[at < count ? at : i]]; // so that no load waits for a comparison
        }
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            if (i + k * step < count) {
#pragma unroll
                for (int j = 0; j < LANES; ++j) {
                    total[j] = f.join(total[j], f.lift(convert<C>(x[k].at[j])));
                }
            }
        }
    }
}

/// Folds every `step`-th element of an output from the one at `i` on, along any axes.
template <class S, class C, class F>
__device__ __forceinline__ void
fold_far(C &total, const S *from, int64 i, int64 step, const FoldWalk &walk, F f) {
#pragma unroll 1
    for (; i < walk.count; i += step) {
        const int64 at = offset_of(i, walk.reduced_rank, walk.reduced, walk.reduced_strides);
        total = f.join(total, f.lift(convert<C>(from[at])));
    }
}

/// Stores what a block found for an output: to its place, or, of several blocks, for `finish`.
template <class D, class C, class F>
__device__ __forceinline__ void put_found(
    C found, D *to, C *partial, const FoldWalk &walk, int64 output, int req, F f) {
    if (gridDim.y > 1) {
        partial[blockIdx.y * walk.outputs + output] = found;
    } else {
        put(*to, f.last(found), req == Add);
    }
}

/// `fold` where the elements of an output are neighbours, along runs of whole packs.
template <int LANES, class D, class S, class C, class F>
__device__ __forceinline__ void fold_lines(
    const S *data, D *out, C *partial, C (&part)[MOST_THREADS], const FoldWalk &walk, int req, F f) {
    const FoldSteps steps(walk, LANES, true);
    const Team team;
    const unsigned i = blockIdx.y * blockDim.y + team.lane, step = gridDim.y * blockDim.y;
    const int64 outputs = req == Null ? 0 : walk.outputs;
    const auto join = [&](C a, C b) { return f.join(a, b); };
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < outputs;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 output = first + team.number;
        C total[LANES];
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            total[j] = f.start();
        }
        if (output < outputs) {
            const int64 at
                = offset_near((unsigned)output, walk.kept_rank, walk.kept, walk.kept_strides);
            const Pack<S, LANES> *const from = (const Pack<S, LANES> *)(data + at);
            fold_into(total, from, i, step, (unsigned)(walk.count / LANES), steps, f);
        }
#pragma unroll
        for (int j = 1; j < LANES; ++j) {
            total[0] = f.join(total[0], total[j]);
        }
        const C found = team.together(total[0], part, join);
        if (team.lane == 0 && output < outputs) {
            D *const to
                = out + offset_near((unsigned)output, walk.kept_rank, walk.kept, walk.out_strides);
            put_found(found, to, partial, walk, output, req, f);
        }
    }
}

/// `fold` where neighbours belong to neighbouring outputs, or nothing is known: of those, one element
/// at a time.
template <int LANES, class D, class S, class C, class F>
__device__ __forceinline__ void fold_columns(
    const S *data, D *out, C *partial, C (&part)[MOST_THREADS], const FoldWalk &walk, int req, F f) {
    const FoldSteps steps(walk, LANES, false);
    const bool near = walk.reduced_rank <= 2 && walk.count <= MOST_FOLDED;
    const int64 i = blockIdx.y * (int64)blockDim.y + threadIdx.y;
    const int64 step = gridDim.y * (int64)blockDim.y;
    const int64 outputs = req == Null ? 0 : walk.outputs;
    const auto join = [&](C a, C b) { return f.join(a, b); };
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < outputs / LANES;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 output = (first + threadIdx.x) * LANES;
        C total[LANES];
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            total[j] = f.start();
        }
        if (output < outputs) {
            const S *const from
                = data + offset_of_output<LANES>(output, walk, walk.kept_strides);
            if (LANES > 1 || near) {
                fold_into(
                    total, (const Pack<S, LANES> *)from, (unsigned)i, (unsigned)step,
                    (unsigned)walk.count, steps, f);
            } else {
                fold_far(total[0], from, i, step, walk, f);
            }
        }
        D *const to
            = out + (output < outputs ? offset_of_output<LANES>(output, walk, walk.out_strides) : 0);
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            const C found = blockDim.y > 1 ? together(total[j], part, join) : total[j];
            if (threadIdx.y == 0 && output < outputs) {
                // Packs lie along the last axis that is kept.
                const int64 next = j > 0 ? walk.out_strides[walk.kept_rank - 1] : 0;
                put_found(found, to + j * next, partial, walk, output + j, req, f);
            }
        }
    }
}

/// Sets `out` to the fold of each output's elements; where several blocks share an output, `partial`
/// gets what they found, of shape (gridDim.y, outputs), for `finish`. As many threads as lie along y, a
/// power of two, share an output, and as many outputs, or packs of them, as threads lie along x are a
/// block's at a time. F has `start`, `lift` for an element, `join` for two results, `last` for the
/// final one.
template <class D, class S, class C, class F>
__device__ __forceinline__ void
fold(const S *data, D *out, C *partial, const FoldWalk &walk, int req, F f) {
    FM_SHARED(C, part, MOST_THREADS);
    constexpr int LANES = fold_lanes<S>;
    const int last = (int)walk.reduced_rank - 1;
    const bool near = last < 2 && walk.outputs <= 0xffffffffll;
    const bool lines = near && last >= 0 && walk.reduced_strides[last] == 1;
    const bool packs = near && walk.count / (lines ? LANES : 1) <= MOST_FOLDED
        && fold_packs<LANES>(data, walk, lines);
    if (lines && packs) {
        fold_lines<LANES>(data, out, partial, part, walk, req, f);
    } else if (lines && walk.count <= MOST_FOLDED) {
        fold_lines<1>(data, out, partial, part, walk, req, f);
    } else if (packs) {
        fold_columns<LANES>(data, out, partial, part, walk, req, f);
    } else {
        fold_columns<1>(data, out, partial, part, walk, req, f);
    }
}

/// Joins what `parts` blocks found for each output; threads along y, a power of two, share those.
template <class D, class C, class F>
__device__ __forceinline__ void
finish(const C *partial, D *out, int64 parts, const FoldWalk &walk, int req, F f) {
    FM_SHARED(C, part, MOST_THREADS);
    const int64 outputs = req == Null ? 0 : walk.outputs;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < outputs;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 output = first + threadIdx.x;
        C total = f.start();
        if (output < outputs) {
#pragma unroll 4
            for (int64 i = threadIdx.y; i < parts; i += blockDim.y) {
                total = f.join(total, partial[i * outputs + output]);
            }
        }
        if (blockDim.y > 1) {
            total = together(total, part, [&](C a, C b) { return f.join(a, b); });
        }
        if (threadIdx.y == 0 && output < outputs) {
            const int64 at = offset_of(output, walk.kept_rank, walk.kept, walk.out_strides);
            put(out[at], f.last(total), req == Add);
        }
    }
}

} // namespace fm

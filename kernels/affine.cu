// Elements moved by a rule that is affine in their indices: slices, joins, repetitions, turned axes.
//
// Entry points: affine_copy_DTYPE(data, out, walk, req), affine_tiles_DTYPE(data, out, walk, req) by
// blocks of 32 threads along x, and affine_clear_DTYPE(out, count, req), which writes zeros unless
// results are added.
#include "grid.cuh"
#include "map.cuh"
#include "shared.cuh"

namespace fm {

/// Where elements are, and where they go.
struct AffineWalk {
    int64 total, rank;
    /// The elements that go first.
    int64 from_start, to_start;
    /// Whether packs of 16 bytes move as one, where both arrays are aligned.
    int64 packed;
    int64 shape[MAX_RANK];
    /// Elements from one to the next along each axis; 0 where elements of the data repeat.
    int64 from[MAX_RANK], to[MAX_RANK];
};

/// The offsets of an element: in the data and in the output.
struct Ends {
    int64 from, to;
};

/// Those of pack `i` of `width` elements, along the axes before `rank`.
__device__ __forceinline__ Ends ends_of(const AffineWalk &walk, int64 i, int rank, int width) {
    Ends ends = {walk.from_start, walk.to_start};
#pragma unroll 1
    for (int axis = rank - 1; axis >= 0; --axis) {
        const int64 lanes = axis + 1 == (int)walk.rank ? width : 1;
        const Split rest = split(i, walk.shape[axis] / lanes);
        ends.from += rest.at * lanes * walk.from[axis];
        ends.to += rest.at * lanes * walk.to[axis];
        i = rest.row;
    }
    return ends;
}

template <int LANES, class T>
__device__ __forceinline__ void copy_packs(const T *data, T *out, const AffineWalk &walk, bool add) {
    each(walk.total / LANES, [&](int64 i) {
        const Ends ends = ends_of(walk, i, (int)walk.rank, LANES);
        const Pack<T, LANES> x = *(const Pack<T, LANES> *)(data + ends.from);
        Pack<T, LANES> y = {};
        if (add) {
            y = *(const Pack<T, LANES> *)(out + ends.to);
        }
#pragma unroll
        for (int lane = 0; lane < LANES; ++lane) {
            put(y.at[lane], x.at[lane], add);
        }
        *(Pack<T, LANES> *)(out + ends.to) = y;
    });
}

template <class T>
__device__ __forceinline__ void copy(const T *data, T *out, const AffineWalk &walk, int req) {
    constexpr int LANES = lanes<T, T>;
    if (req == Null) {
        return;
    }
    if (walk.packed && ((Word)data | (Word)out) % sizeof(Pack<T, LANES>) == 0) {
        copy_packs<LANES>(data, out, walk, opaque(req == Add));
    } else {
        copy_packs<1>(data, out, walk, opaque(req == Add));
    }
}

/// The same where the last axis is without gaps in the output, and the one before it in the data:
/// squares of 32 elements go through shared memory, so that both are read and written in rows.
template <class T>
__device__ __forceinline__ void tiles(const T *data, T *out, const AffineWalk &walk, int req) {
    constexpr int SIDE = 32;
    FM_SHARED(T, tile, SIDE * (SIDE + 1));
    const int last = (int)walk.rank - 1;
    const int64 height = walk.shape[last - 1], width = walk.shape[last];
    const int64 across = (width + SIDE - 1) / SIDE, down = (height + SIDE - 1) / SIDE;
    const int64 count = req == Null ? 0 : walk.total / (height * width) * across * down;
#pragma unroll 1
    for (int64 number = blockIdx.x; number < count; number += gridDim.x) {
        const Split place = split(number, across), outer = split(place.row, down);
        const Ends ends = ends_of(walk, outer.row, last - 1, 1);
        const int64 row = outer.at * SIDE, column = place.at * SIDE;
#pragma unroll 1
        for (int k = threadIdx.y; k < SIDE; k += blockDim.y) {
            const int64 r = row + threadIdx.x, c = column + k;
            if (r < height && c < width) {
                tile[k * (SIDE + 1) + threadIdx.x] = data[ends.from + r + c * walk.from[last]];
            }
        }
        __syncthreads();
#pragma unroll 1
        for (int k = threadIdx.y; k < SIDE; k += blockDim.y) {
            const int64 r = row + k, c = column + threadIdx.x;
            if (r < height && c < width) {
                T &to = out[ends.to + r * walk.to[last - 1] + c];
                put(to, tile[threadIdx.x * (SIDE + 1) + k], opaque(req == Add));
            }
        }
        __syncthreads();
    }
}

} // namespace fm

#define FM_AFFINE_ENTRIES(T, ...) \
    extern "C" __global__ void affine_copy_##T( \
        const T *data, T *out, const __grid_constant__ fm::AffineWalk walk, int req) { \
        fm::copy(data, out, walk, req); \
    } \
    extern "C" __global__ void affine_tiles_##T( \
        const T *data, T *out, const __grid_constant__ fm::AffineWalk walk, int req) { \
        fm::tiles(data, out, walk, req); \
    } \
    extern "C" __global__ void affine_clear_##T(T *out, int64 count, int req) { \
        fm::each(req == fm::Null || req == fm::Add ? 0 : count, [=](int64 i) { out[i] = T(); }); \
    }
FM_ALL(FM_AFFINE_ENTRIES, )

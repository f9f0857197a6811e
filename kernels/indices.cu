// Indices as places, and positions grouped by the places that they lead to.
//
// Entry points: indices_places_DTYPE(indices, places, axes, refusal), -1 where an index has no place, which is
// refused by the number of its axis, from 1 on, unless `refusal` is null; and for int64 places below `n`, in
// this order, indices_clear_int64(starts, n), indices_count_int64(places, starts, slots, count),
// indices_starts_int64(starts, n) by one block, indices_spread_int64(places, slots, starts, members, count),
// indices_order_int64(places, starts, members, ordered, count). Members come in the order of atomic additions,
// and are ordered after that.
#include "convert.cuh"
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"
#include "refusal.cuh"

namespace fm {

/// What an index outside of the axis stands for, as on the CPU.
enum Outside { Clip = 0, Wrap = 1, Nothing = 2, FromEnd = 3 };

/// `depth` rows of `count` indices, and the axes that they are for.
struct IndexAxes {
    int64 count, depth, outside;
    int64 extents[MAX_RANK];
};

__device__ __forceinline__ int64 place_of(int64 index, int64 extent, int64 outside) {
    int64 place = index;
    if (extent == 0) {
        return -1;
    }
    if (outside == Clip) {
        place = index < 0 ? 0 : index < extent ? index : extent - 1;
    } else if (outside == Wrap) {
        place = index % extent;
        place += place < 0 ? extent : 0;
    } else if (outside == FromEnd && index < 0) {
        place = index + extent;
    }
    return place < 0 || place >= extent ? -1 : place;
}

template <class T>
__device__ __forceinline__ void
places(const T *indices, int64 *places, const IndexAxes &axes, Refusal *refusal) {
    each(axes.count, [&](int64 j) {
        int64 place = 0;
#pragma unroll 1
        for (int axis = 0; axis < (int)axes.depth && place >= 0; ++axis) {
            const int64 index = convert<int64>(indices[axis * axes.count + j]);
            const int64 along = place_of(index, axes.extents[axis], axes.outside);
            place = along < 0 ? -1 : place * axes.extents[axis] + along;
            if (along < 0 && refusal != nullptr) {
                refuse(refusal, axis + 1, index);
            }
        }
        places[j] = place;
    });
}

/// From how often each place is met to where its members begin; there is one more number than places.
__device__ __forceinline__ void starts(int32 *counts, int64 n) {
    FM_SHARED(int32, part, MOST_THREADS);
    const int64 share = (n + blockDim.x) / blockDim.x, first = threadIdx.x * share;
    const int64 end = first + share < n + 1 ? first + share : n + 1;
    int32 sum = 0;
#pragma unroll 1
    for (int64 i = first; i < end; ++i) {
        sum += i < n ? counts[i] : 0;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll 1
    for (int distance = 1; distance < (int)blockDim.x; distance *= 2) {
        const int32 before = (int)threadIdx.x < distance ? 0 : part[threadIdx.x - distance];
        __syncthreads();
        part[threadIdx.x] += before;
        __syncthreads();
    }
    int32 start = part[threadIdx.x] - sum;
#pragma unroll 1
    for (int64 i = first; i < end; ++i) {
        const int32 count = i < n ? counts[i] : 0;
        counts[i] = start;
        start += count;
    }
}

} // namespace fm

#define FM_PLACES_ENTRY(T, ...) \
    extern "C" __global__ void indices_places_##T( \
        const T *indices, int64 *places, const __grid_constant__ fm::IndexAxes axes, \
        fm::Refusal *refusal) { \
        fm::places(indices, places, axes, refusal); \
    }
FM_ALL(FM_PLACES_ENTRY, )

#define FM_GROUP_ENTRIES \
    extern "C" __global__ void indices_clear_int64(int32 *starts, int64 n) { \
        fm::each(n + 1, [=](int64 i) { starts[i] = 0; }); \
    } \
    extern "C" __global__ void indices_count_int64( \
        const int64 *places, int32 *starts, int32 *slots, int64 count) { \
        fm::each(count, [=](int64 j) { \
            slots[j] = places[j] < 0 ? 0 : atomicAdd(&starts[places[j]], 1); \
        }); \
    } \
    extern "C" __global__ void indices_starts_int64(int32 *starts, int64 n) { \
        fm::starts(starts, n); \
    } \
    extern "C" __global__ void indices_spread_int64( \
        const int64 *places, const int32 *slots, const int32 *starts, int32 *members, int64 count) { \
        fm::each(count, [=](int64 j) { \
            if (places[j] >= 0) { \
                members[starts[places[j]] + slots[j]] = (int32)j; \
            } \
        }); \
    } \
    extern "C" __global__ void indices_order_int64( \
        const int64 *places, const int32 *starts, const int32 *members, int32 *ordered, \
        int64 count) { \
        fm::each(count, [=](int64 j) { \
            if (places[j] >= 0) { \
                const int32 first = starts[places[j]], end = starts[places[j] + 1]; \
                int32 rank = 0; \
                for (int32 i = first; i < end; ++i) { \
                    rank += members[i] < (int32)j; \
                } \
                ordered[first + rank] = (int32)j; \
            } \
        }); \
    }
FM_IF_int64(FM_GROUP_ENTRIES)

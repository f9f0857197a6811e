// Indices of several axes as one number, and back.
//
// Entry points: ravel_flat_DTYPE(indices, numbers, axes, req) and ravel_indices_DTYPE(numbers, indices, axes,
// req), a thread for each number. Arrays have no gaps.
#include "convert.cuh"
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// So many numbers, and the extents of the axes; that of the first one does not matter.
struct Extents {
    int64 count, depth;
    int64 at[MAX_RANK];
};

template <class T>
__device__ __forceinline__ void flat(const T *indices, T *numbers, const Extents &axes, int req) {
    each(req == Null ? 0 : axes.count, [&](int64 j) {
        int64 number = 0;
#pragma unroll 1
        for (int axis = 0; axis < (int)axes.depth; ++axis) {
            const int64 index = convert<int64>(indices[axis * axes.count + j]);
            number = plus(times(number, axes.at[axis]), index);
        }
        put(numbers[j], convert<T>(number), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void indices(const T *numbers, T *indices, const Extents &axes, int req) {
    each(req == Null ? 0 : axes.count, [&](int64 j) {
        int64 left = convert<int64>(numbers[j]);
#pragma unroll 1
        for (int axis = (int)axes.depth - 1; axis >= 0; --axis) {
            // Those below zero take the long division, whose rest has their sign.
            const Split place = split(left, axis == 0 ? 1 : axes.at[axis]);
            const int64 index = axis == 0 ? left : place.at;
            left = place.row;
            put(indices[axis * axes.count + j], convert<T>(index), opaque(req == Add));
        }
    });
}

} // namespace fm

#define FM_RAVEL_ENTRIES(T, ...) \
    extern "C" __global__ void ravel_flat_##T( \
        const T *indices, T *numbers, const __grid_constant__ fm::Extents axes, int req) { \
        fm::flat(indices, numbers, axes, req); \
    } \
    extern "C" __global__ void ravel_indices_##T( \
        const T *numbers, T *indices, const __grid_constant__ fm::Extents axes, int req) { \
        fm::indices(numbers, indices, axes, req); \
    }
FM_NUMBERS(FM_RAVEL_ENTRIES, )

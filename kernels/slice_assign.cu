// A tensor with other values in ranges of indices.
//
// Entry points: slice_assign_DTYPE(data, values, out, ranges, scalar, req); `values` may be null, and the
// number is used then. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// Of each axis: `count` indices from `first` on, `step` apart.
struct Ranges {
    int64 total, rank;
    int64 shape[MAX_RANK], first[MAX_RANK], step[MAX_RANK], count[MAX_RANK];
};

/// The number of an element among those in the ranges; -1 for others.
__device__ __forceinline__ int64 within(const Ranges &ranges, int64 i) {
    int64 number = 0, pace = 1;
#pragma unroll 1
    for (int axis = (int)ranges.rank - 1; axis >= 0; --axis) {
        const Split rest = split(i, ranges.shape[axis]);
        const bool down = ranges.step[axis] < 0;
        const int64 distance = down ? ranges.first[axis] - rest.at : rest.at - ranges.first[axis];
        if (distance < 0) {
            return -1;
        }
        const Split turn = split(distance, down ? -ranges.step[axis] : ranges.step[axis]);
        if (turn.at != 0 || turn.row >= ranges.count[axis]) {
            return -1;
        }
        number += turn.row * pace;
        pace *= ranges.count[axis];
        i = rest.row;
    }
    return number;
}

} // namespace fm

#define FM_ASSIGN_ENTRY(T, ...) \
    extern "C" __global__ void slice_assign_##T( \
        const T *data, const T *values, T *out, const __grid_constant__ fm::Ranges ranges, \
        float64 scalar, int req) { \
        const T number = fm::convert<T>(scalar); \
        fm::each(req == fm::Null ? 0 : ranges.total, [&](int64 i) { \
            const int64 place = fm::within(ranges, i); \
            const T x = place < 0 ? data[i] : values == nullptr ? number : values[place]; \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_ALL(FM_ASSIGN_ENTRY, )

// Rows in which the element at a place differs from the others.
//
// Entry points: one_hot_DTYPE(places, out, count, depth, on, off, req).
#include "grid.cuh"
#include "map.cuh"

#define FM_ONE_HOT_ENTRY(T, ...) \
    extern "C" __global__ void one_hot_##T( \
        const int64 *places, T *out, int64 count, int64 depth, float64 on, float64 off, int req) { \
        const T yes = fm::convert<T>(on), no = fm::convert<T>(off); \
        fm::each(req == fm::Null ? 0 : count * depth, [=](int64 i) { \
            const fm::Split in_row = fm::split(i, depth); \
            const T value = places[in_row.row] == in_row.at ? yes : no; \
            fm::put(out[i], value, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_ALL(FM_ONE_HOT_ENTRY, )

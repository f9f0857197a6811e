// Tensors from nothing: constants and ranges. Numbers are float64 until they are stored.
//
// Entry points: init_full_DTYPE(out, count, value, req), init_arange_DTYPE(out, count, start, step,
// repeat, req), init_eye_DTYPE(out, count, columns, k, req), init_numbers_int64(out, count, numbers,
// req), init_indices_int64(out, count, axes, req).
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// Numbers that are known before the launch.
struct Numbers {
    int64 at[MAX_RANK];
};

/// The axes of which every element gets its indices: elements from one index to the next, extents.
struct IndexAxes {
    int64 count;
    int64 strides[MAX_RANK], extents[MAX_RANK];
};

} // namespace fm

#define FM_INIT_ENTRIES(T, ...) \
    extern "C" __global__ void init_full_##T(T *out, int64 count, float64 value, int req) { \
        const T x = fm::convert<T>(value); \
        fm::each(req == fm::Null ? 0 : count, [=](int64 i) { \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    } \
    extern "C" __global__ void init_arange_##T( \
        T *out, int64 count, float64 start, float64 step, int64 repeat, int req) { \
        fm::each(req == fm::Null ? 0 : count, [=](int64 i) { \
            const float64 turn = (float64)fm::split(i, repeat).row; \
            const T x = fm::convert<T>(fm::plus(start, fm::times(turn, step))); \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    } \
    extern "C" __global__ void init_eye_##T( \
        T *out, int64 count, int64 columns, int64 k, int req) { \
        fm::each(req == fm::Null ? 0 : count, [=](int64 i) { \
            const fm::Split place = fm::split(i, columns); \
            const T x = fm::convert<T>((float64)(place.at - place.row == k)); \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_ALL(FM_INIT_ENTRIES, )

#define FM_KNOWN_ENTRIES \
    extern "C" __global__ void init_numbers_int64( \
        int64 *out, int64 count, const __grid_constant__ fm::Numbers numbers, int req) { \
        fm::each(req == fm::Null ? 0 : count, [&](int64 i) { \
            fm::put(out[i], numbers.at[i], fm::opaque(req == fm::Add)); \
        }); \
    } \
    extern "C" __global__ void init_indices_int64( \
        int64 *out, int64 count, const __grid_constant__ fm::IndexAxes axes, int req) { \
        fm::each(req == fm::Null ? 0 : count, [&](int64 i) { \
            const fm::Split place = fm::split(i, axes.count); \
            const int64 along = fm::split(place.row, axes.strides[place.at]).row; \
            const int64 index = fm::split(along, axes.extents[place.at]).at; \
            fm::put(out[i], index, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_IF_int64(FM_KNOWN_ENTRIES)

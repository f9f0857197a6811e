// Padding, and the sums of what came from each element.
//
// Entry points: pad_forward_DTYPE(data, out, pad, value, req) and pad_backward_DTYPE(grad, out, pad,
// req). Halves are added up in float32. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

enum PadMode { Constant = 0, Edge = 1, Reflect = 2 };

/// Extents of the data and of the padded array, and elements of padding before each axis.
struct PadAxes {
    int64 rank, mode, data_total, padded_total;
    int64 data[MAX_RANK], padded[MAX_RANK], before[MAX_RANK];
};

/// The element of the data that one of the padded array is; -1 in a constant border.
__device__ __forceinline__ int64 source_of(const PadAxes &pad, int64 i) {
    int64 source = 0, step = 1;
#pragma unroll 1
    for (int axis = (int)pad.rank - 1; axis >= 0; --axis) {
        const Split rest = split(i, pad.padded[axis]);
        const int64 n = pad.data[axis];
        int64 at = rest.at - pad.before[axis];
        if (at < 0 || at >= n) {
            if (pad.mode == Constant) {
                return -1;
            }
            const bool is_low = at < 0;
            at = pad.mode == Edge ? (is_low ? 0 : n - 1) : is_low ? -at : 2 * (n - 1) - at;
        }
        source += at * step;
        step *= n;
        i = rest.row;
    }
    return source;
}

/// Where an element came to along an axis: `count` places, the first ones `low`, `middle`, `high`.
struct Places {
    int64 count, at[3];
};

__device__ __forceinline__ Places places_of(const PadAxes &pad, int axis, int64 at) {
    const int64 before = pad.before[axis], n = pad.data[axis], end = pad.padded[axis];
    const int64 middle = before + at;
    Places places = {1, {middle, 0, 0}};
    if (pad.mode == Edge) {
        const int64 first = at == 0 ? 0 : middle, last = at == n - 1 ? end - 1 : middle;
        places = {last - first + 1, {first, 0, 0}};
    } else if (pad.mode == Reflect) {
        const int64 low = before - at, high = before + 2 * (n - 1) - at;
        places.count = 0;
        if (at > 0 && low >= 0) {
            places.at[places.count++] = low;
        }
        places.at[places.count++] = middle;
        if (at < n - 1 && high < end) {
            places.at[places.count++] = high;
        }
    }
    return places;
}

template <class T>
__device__ __forceinline__ void
forward(const T *data, T *out, const PadAxes &pad, float64 value, int req) {
    const T border = convert<T>(value);
    each(req == Null ? 0 : pad.padded_total, [&](int64 i) {
        const int64 source = source_of(pad, i);
        put(out[i], source < 0 ? border : data[source], opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void backward(const T *grad, T *out, const PadAxes &pad, int req) {
    each(req == Null ? 0 : pad.data_total, [&](int64 i) {
        Places places[MAX_RANK];
        int64 rest = i, count = 1;
        for (int axis = (int)pad.rank - 1; axis >= 0; --axis) {
            const Split position = split(rest, pad.data[axis]);
            places[axis] = places_of(pad, axis, position.at);
            count *= places[axis].count;
            rest = position.row;
        }
        Compute<T> sum = 0;
#pragma unroll 1
        for (int64 which = 0; which < count; ++which) {
            int64 number = which, from = 0, step = 1;
            for (int axis = (int)pad.rank - 1; axis >= 0; --axis) {
                const Split turn = split(number, places[axis].count);
                const int64 *const at = places[axis].at;
                from += step * (pad.mode == Reflect ? at[turn.at] : at[0] + turn.at);
                step *= pad.padded[axis];
                number = turn.row;
            }
            sum = plus(sum, convert<Compute<T>>(grad[from]));
        }
        put(out[i], convert<T>(sum), opaque(req == Add));
    });
}

} // namespace fm

#define FM_PAD_ENTRIES(T, ...) \
    extern "C" __global__ void pad_forward_##T( \
        const T *data, T *out, const __grid_constant__ fm::PadAxes pad, float64 value, int req) { \
        fm::forward(data, out, pad, value, req); \
    } \
    extern "C" __global__ void pad_backward_##T( \
        const T *grad, T *out, const __grid_constant__ fm::PadAxes pad, int req) { \
        fm::backward(grad, out, pad, req); \
    }
FM_FLOATS(FM_PAD_ENTRIES, )

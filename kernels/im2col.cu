// The windows of images as columns of a matrix, and the way back, which adds up what windows share, in the
// order of the elements of a window. Arrays have no gaps; halves are computed in float32.
//
// Entry points: im2col_forward_DTYPE(data, out, windows, req) and im2col_backward_DTYPE(columns, out, windows,
// req), a thread for each element of the output.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

struct WindowAxis {
    int64 input, windows, kernel, stride, dilate, pad;
};

/// So many planes, of images with channels, of three axes.
struct Windows {
    int64 planes;
    WindowAxis axes[3];
};

/// A position taken apart from its last axis on: three extents, the rest stays in `position`.
struct Place {
    int64 at[3];
};

template <class F> __device__ __forceinline__ Place place_of(int64 &position, F extent) {
    Place place;
#pragma unroll
    for (int k = 2; k >= 0; --k) {
        const Split along = split(position, extent(k));
        place.at[k] = along.at;
        position = along.row;
    }
    return place;
}

template <class T>
__device__ __forceinline__ void forward(const T *data, T *out, const Windows &windows, int req) {
    typedef Compute<T> C;
    const WindowAxis(&axes)[3] = windows.axes;
    const int64 taps = axes[0].kernel * axes[1].kernel * axes[2].kernel;
    const int64 places = axes[0].windows * axes[1].windows * axes[2].windows;
    each(req == Null ? 0 : windows.planes * taps * places, [&](int64 i) {
        int64 rest = i, from = 0;
        const Place window = place_of(rest, [&](int k) { return axes[k].windows; });
        const Place tap = place_of(rest, [&](int k) { return axes[k].kernel; });
        bool inside = true;
        from = rest;
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const WindowAxis &axis = axes[k];
            const int64 at = window.at[k] * axis.stride + tap.at[k] * axis.dilate - axis.pad;
            inside = inside && at >= 0 && at < axis.input;
            from = from * axis.input + at;
        }
        put(out[i], inside ? convert<C>(data[from]) : (C)0, opaque(req == Add));
    });
}

/// The window whose element `tap` is at a place of an axis; -1 if there is none.
__device__ __forceinline__ int64 window_at(const WindowAxis &axis, int64 place, int64 tap) {
    const int64 start = place + axis.pad - tap * axis.dilate;
    if (start < 0 || start % axis.stride != 0) {
        return -1;
    }
    const int64 window = start / axis.stride;
    return window < axis.windows ? window : -1;
}

template <class T>
__device__ __forceinline__ void backward(const T *columns, T *out, const Windows &windows, int req) {
    typedef Compute<T> C;
    const WindowAxis(&axes)[3] = windows.axes;
    const int64 total = windows.planes * axes[0].input * axes[1].input * axes[2].input;
    each(req == Null ? 0 : total, [&](int64 i) {
        int64 plane = i;
        const Place place = place_of(plane, [&](int k) { return axes[k].input; });
        C sum = 0;
#pragma unroll 1
        for (int64 z = 0; z < axes[0].kernel; ++z) {
            const int64 deep = window_at(axes[0], place.at[0], z);
#pragma unroll 1
            for (int64 y = 0; y < (deep < 0 ? 0 : axes[1].kernel); ++y) {
                const int64 down = window_at(axes[1], place.at[1], y);
                const int64 line = (plane * axes[0].kernel + z) * axes[1].kernel + y;
#pragma unroll 1
                for (int64 x = 0; x < (down < 0 ? 0 : axes[2].kernel); ++x) {
                    const int64 along = window_at(axes[2], place.at[2], x);
                    const int64 row = (line * axes[2].kernel + x) * axes[0].windows + deep;
                    const int64 at = (row * axes[1].windows + down) * axes[2].windows + along;
                    sum = along < 0 ? sum : plus(sum, convert<C>(columns[at]));
                }
            }
        }
        put(out[i], sum, opaque(req == Add));
    });
}

} // namespace fm

#define FM_WINDOWS_ENTRY(T, NAME) \
    extern "C" __global__ void im2col_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Windows windows, int req) { \
        fm::NAME(data, out, windows, req); \
    }
FM_FLOATS(FM_WINDOWS_ENTRY, forward)
FM_FLOATS(FM_WINDOWS_ENTRY, backward)

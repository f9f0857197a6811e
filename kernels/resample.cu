// Images of another size, whose samples are weighted sums of neighbours: repetition, means of windows that
// cover an image evenly, straight lines between samples; and the ways back.
//
// Entry points: resample_forward_DTYPE(data, out, images, req), a thread for each sample, and
// resample_backward_DTYPE(grad, out, images, req), a thread for each element of the data. No gaps.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

enum Kind { Repeated = 0, Means = 1, Linear = 2, Corners = 3 };

/// What a sample of a line is made of: neighbours from `first` on, and the weights of the first and of the
/// others.
struct Taps {
    int64 first, count;
    float64 start, rest;

    __device__ __forceinline__ float64 weight(int64 place) const { return place == first ? start : rest; }
};

/// A line of `to` samples of `from`.
struct Line {
    int64 from, to;

    __device__ __forceinline__ Taps taps(int64 i, int64 kind) const {
        if (kind == Repeated) {
            return {i / (to / from), 1, 1.0, 1.0};
        }
        if (kind == Means) {
            const int64 first = i * from / to, end = ((i + 1) * from + to - 1) / to;
            const float64 share = over(1.0, (float64)(end - first));
            return {first, end - first, share, share};
        }
        if (from == to) {
            return {i, 1, 1.0, 1.0};
        }
        const float64 last = (float64)(to - 1), step = to < 2 ? 0.0
            : kind == Corners ? over((float64)(from - 1), last) : over((float64)from, (float64)to);
        const float64 centre = minus(times(step, plus((float64)i, 0.5)), 0.5);
        const float64 place = kind == Corners ? times(step, (float64)i) : centre < 0.0 ? 0.0 : centre;
        const int64 whole = (int64)place, first = whole < from - 1 ? whole : from - 1;
        const float64 part = minus(place, (float64)first);
        const bool between = first + 1 < from && part > 0.0;
        return between ? Taps{first, 2, minus(1.0, part), part} : Taps{first, 1, 1.0, 1.0};
    }

    /// The first sample whose neighbours end behind a place.
    __device__ __forceinline__ int64 first_at(int64 place, int64 kind) const {
        int64 low = 0, high = to;
#pragma unroll 1
        while (low < high) {
            const int64 middle = (low + high) / 2;
            const Taps found = taps(middle, kind);
            if (found.first + found.count > place) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return low;
    }
};

struct Images {
    int64 planes, kind;
    Line down, along;
};

template <class T>
__device__ __forceinline__ void forward(const T *data, T *out, const Images &images, int req) {
    typedef Compute<T> C;
    const Line &down = images.down, &along = images.along;
    each(req == Null ? 0 : images.planes * down.to * along.to, [&](int64 i) {
        const Split line = split(i, along.to), plane = split(line.row, down.to);
        const Taps rows = down.taps(plane.at, images.kind), columns = along.taps(line.at, images.kind);
        const T *const from = data + plane.row * down.from * along.from;
        C total = 0;
#pragma unroll 1
        for (int64 c = columns.first; c < columns.first + columns.count; ++c) {
            C sum = 0;
#pragma unroll 1
            for (int64 r = rows.first; r < rows.first + rows.count; ++r) {
                sum = plus(sum, times(convert<C>(from[r * along.from + c]), (C)rows.weight(r)));
            }
            total = plus(total, times(sum, (C)columns.weight(c)));
        }
        put(out[i], total, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void backward(const T *grad, T *out, const Images &images, int req) {
    typedef Compute<T> C;
    const Line &down = images.down, &along = images.along;
    each(req == Null ? 0 : images.planes * down.from * along.from, [&](int64 i) {
        const Split line = split(i, along.from), plane = split(line.row, down.from);
        const T *const from = grad + plane.row * down.to * along.to;
        const int64 first = along.first_at(line.at, images.kind);
        C total = 0;
#pragma unroll 1
        for (int64 y = down.first_at(plane.at, images.kind); y < down.to; ++y) {
            const Taps rows = down.taps(y, images.kind);
            if (rows.first > plane.at) {
                break;
            }
            C sum = 0;
#pragma unroll 1
            for (int64 x = first; x < along.to; ++x) {
                const Taps columns = along.taps(x, images.kind);
                if (columns.first > line.at) {
                    break;
                }
                const C g = convert<C>(from[y * along.to + x]);
                sum = plus(sum, times(g, (C)columns.weight(line.at)));
            }
            total = plus(total, times(sum, (C)rows.weight(plane.at)));
        }
        put(out[i], total, opaque(req == Add));
    });
}

} // namespace fm

#define FM_RESAMPLE_ENTRY(T, NAME) \
    extern "C" __global__ void resample_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Images images, int req) { \
        fm::NAME(data, out, images, req); \
    }
#define FM_RESAMPLE_ENTRIES(T, ...) FM_RESAMPLE_ENTRY(T, forward) FM_RESAMPLE_ENTRY(T, backward)
FM_FLOATS(FM_RESAMPLE_ENTRIES, )

// Means over the bins of regions of images: at points between pixels, or over whole pixels. The weight of a
// pixel in a bin is a product of what its row and its column say, so that a region is two tables of weights.
// Arrays have no gaps; halves are computed in float32.
//
// Entry points: regions_tables_DTYPE(rois, tables, regions, refusal), a thread for either axis of a region,
// which refuses one of no image (1) and one that has no extent and must have it (2), by its number;
// regions_forward_DTYPE(data, tables, out, regions, req), a thread for each bin of a channel, and
// regions_backward_DTYPE(grad, tables, out, regions, req), one for a pixel of several channels, which adds up
// what regions give in their order.
#include "bilinear.cuh"
#include "grid.cuh"
#include "map.cuh"
#include "region.cuh"

namespace fm {

enum Kind { Points = 0, Aligned = 1, Pixels = 2 };

/// `extents`, `bins` and the groups that these fall into are rows and columns; `tops` channels come out of
/// each region; a bin has so many `samples` each way, or by its extent where that is 0.
struct Regions {
    int64 images, channels, extents[2], regions, tops, bins[2], groups[2], kind, samples;
    float64 scale;

    __device__ __forceinline__ int64 pixels() const { return extents[0] * extents[1]; }
};

/// Pixels of an axis.
struct Span {
    int32 first, end;

    __device__ __forceinline__ bool has(int64 at) const { return at >= first && at < end; }
};

/// For each region its image, -1 for none; for each bin of either axis the pixels that it touches, and at
/// last all that are; and the weights of all pixels along that axis.
template <class C> struct Tables {
    int64 *images;
    Span *spans;
    C *weights;

    __device__ __forceinline__ Span *axis(const Regions &regions, int64 region, int way) const {
        const int64 size = regions.bins[0] + regions.bins[1] + 2;
        return spans + region * size + (way == 0 ? 0 : regions.bins[0] + 1);
    }

    __device__ __forceinline__ C *bin(const Regions &regions, int64 region, int way, int64 i) const {
        const int64 down = regions.bins[0] * regions.extents[0];
        const int64 size = down + regions.bins[1] * regions.extents[1];
        return weights + region * size + (way == 0 ? 0 : down) + i * regions.extents[way];
    }
};

/// Where a region begins and how long it is.
template <class C> struct Extent {
    C start, size;
};

template <class C, class T>
__device__ __forceinline__ Extent<C> extent_of(const T *roi, const Regions &regions, int way) {
    const C low = convert<C>(roi[2 - way]), high = convert<C>(roi[4 - way]), scale = (C)regions.scale;
    if (regions.kind == Pixels) {
        // Regions end with their last pixel.
        const C start = times(round_away(low), scale);
        const C size = minus(times(plus(round_away(high), (C)1), scale), start);
        return {start, size > (C)0.1 ? size : (C)0.1};
    }
    const C shift = (C)(regions.kind == Aligned ? 0.5 : 0.0), start = minus(times(low, scale), shift);
    const C size = minus(minus(times(high, scale), shift), start);
    return {start, regions.kind == Aligned || size > (C)1 ? size : (C)1};
}

/// Which of `count` points, from half a `step` after `base` on, may lie within a pixel of the axis.
__device__ __forceinline__ Span nearby(float64 base, float64 step, int64 n, int64 count) {
    if (!(magnitude(base) < 1e300 && magnitude(step) < 1e300)) {
        return {0, 0};
    }
    const int64 most = count < 0x7fffffff ? count : 0x7fffffff;
    if (step == 0.0) {
        return {0, (int32)most};
    }
    const int64 low = whole_of(minus(over(minus(-1.0, base), step), 2.0));
    const int64 high = whole_of(plus(over(minus((float64)n, base), step), 2.0));
    return {(int32)clip(low, (int64)0, most), (int32)clip(high, (int64)0, most)};
}

/// The weights of the points of bin `i`. As these come in order, what they touch grows at its end.
template <class C>
__device__ __forceinline__ Span
points(C *row, const Extent<C> &extent, int64 bins, int64 i, int64 n, int64 samples) {
    const C bin = over(extent.size, (C)bins), base = plus(extent.start, times((C)i, bin));
    const int64 count = samples > 0 ? samples : whole_of(round_up(bin));
    const C total = (C)(count < 1 ? 1 : count);
    const Span near
        = nearby((float64)base, over((float64)bin, (float64)(count < 1 ? 1 : count)), n, count);
    Span touched = {0, 0};
#pragma unroll 1
    for (int64 k = near.first; k < near.end; ++k) {
        const C inside = over(times((C)((float64)k + 0.5), bin), total);
        const Line<C> line = line_at<Rim::Pixel>(plus(base, inside), n);
        for (int side = 0; line.some && side < 2; ++side) {
            const int32 at = (int32)line.at[side];
            if (touched.first == touched.end) {
                touched = {at, at};
            }
            for (; touched.end <= at; ++touched.end) {
                row[touched.end] = 0;
            }
            row[at] = plus(row[at], line.weight[side]);
        }
    }
#pragma unroll 1
    for (int32 at = touched.first; at < touched.end; ++at) {
        row[at] = over(row[at], total);
    }
    return touched;
}

/// The weights of the pixels that bin `i` touches.
template <class C>
__device__ __forceinline__ Span whole(C *row, const Extent<C> &extent, int64 bins, int64 i, int64 n) {
    const C bin = over(extent.size, (C)bins);
    const int64 low = whole_of(round_down(plus(times((C)i, bin), extent.start)));
    const int64 high = whole_of(round_up(plus(times((C)(i + 1), bin), extent.start)));
    const int32 first = (int32)clip(low, (int64)0, n), last = (int32)clip(high, (int64)0, n);
    const Span touched = {first, last < first ? first : last};
#pragma unroll 1
    for (int32 at = touched.first; at < touched.end; ++at) {
        row[at] = over((C)1, (C)(touched.end - touched.first));
    }
    return touched;
}

template <class T>
__device__ __forceinline__ void
tables(const T *rois, const Tables<Compute<T>> &tables, const Regions &regions, Refusal *refusal) {
    typedef Compute<T> C;
    each(2 * regions.regions, [&](int64 thread) {
        const int64 region = thread / 2;
        const int way = (int)(thread % 2);
        const T *const roi = rois + 5 * region;
        const Extent<C> own = extent_of<C>(roi, regions, way);
        if (way == 0) {
            const C number = convert<C>(roi[0]);
            tables.images[region] = image_of(number, regions.images, region, refusal);
        }
        if (regions.kind == Aligned && own.size <= (C)0) {
            refuse(refusal, 2, region);
        }
        Span all = {0, 0}, *const spans = tables.axis(regions, region, way);
        const int64 n = regions.extents[way], bins = regions.bins[way];
#pragma unroll 1
        for (int64 i = 0; i < bins; ++i) {
            C *const row = tables.bin(regions, region, way, i);
            const Span found = regions.kind == Pixels
                ? whole(row, own, bins, i, n)
                : points(row, own, bins, i, n, regions.samples);
            spans[i] = found;
            if (found.first < found.end) {
                const bool none = all.first == all.end;
                all.first = none || found.first < all.first ? found.first : all.first;
                all.end = none || found.end > all.end ? found.end : all.end;
            }
        }
        spans[bins] = all;
    });
}

template <class T>
__device__ __forceinline__ void forward(
    const T *data, const Tables<Compute<T>> &tables, T *out, const Regions &regions, int req) {
    typedef Compute<T> C;
    const int64 wide = regions.extents[1], parts = regions.groups[0] * regions.groups[1];
    const int64 total = regions.regions * regions.tops * regions.bins[0] * regions.bins[1];
    each(req == Null ? 0 : total, [&](int64 i) {
        const Split line = split(i, regions.bins[1]), plane = split(line.row, regions.bins[0]);
        const Split top = split(plane.row, regions.tops);
        const int64 region = top.row, image = tables.images[region];
        const int64 group = plane.at * regions.groups[0] / regions.bins[0] * regions.groups[1]
            + line.at * regions.groups[1] / regions.bins[1];
        const int64 channel = image * regions.channels + top.at * parts + group;
        const T *const from = data + (image < 0 ? 0 : channel * regions.pixels());
        const Span rows = tables.axis(regions, region, 0)[plane.at];
        const Span columns = tables.axis(regions, region, 1)[line.at];
        const C *const down = tables.bin(regions, region, 0, plane.at);
        const C *const along = tables.bin(regions, region, 1, line.at);
        C sum = 0;
#pragma unroll 1
        for (int64 x = columns.first; x < (image < 0 ? 0 : columns.end); ++x) {
            C column = 0;
#pragma unroll 1
            for (int64 y = rows.first; y < (along[x] == (C)0 ? 0 : rows.end); ++y) {
                // What is not counted may be no number.
                if (down[y] != (C)0) {
                    column = plus(column, times(down[y], convert<C>(from[y * wide + x])));
                }
            }
            sum = plus(sum, times(along[x], column));
        }
        put(out[i], sum, opaque(req == Add));
    });
}

/// Channels of a thread, which finds the weights of its pixel once for all of them.
constexpr int CHANNELS = 4;

/// The bins of a group along an axis.
__device__ __forceinline__ Span bins_of(const Regions &regions, int way, int64 group) {
    const int64 bins = regions.bins[way], groups = regions.groups[way];
    const int64 first = group * bins + groups - 1, end = first + bins;
    return {(int32)(first / groups), (int32)(end / groups)};
}

/// Adds what a region gives to a pixel of some channels.
template <class T>
__device__ __forceinline__ void add_region(
    const T *grad, const Tables<Compute<T>> &tables, const Regions &regions, int64 region, int64 top,
    int64 group, int64 y, int64 x, Compute<T> (&sums)[CHANNELS]) {
    typedef Compute<T> C;
    const int64 size = regions.bins[0] * regions.bins[1];
    const Span *const down = tables.axis(regions, region, 0);
    const Span *const along = tables.axis(regions, region, 1);
    const Span rows = bins_of(regions, 0, group / regions.groups[1]);
    const Span columns = bins_of(regions, 1, group % regions.groups[1]);
    const T *const from = grad + (region * regions.tops + top) * size;
#pragma unroll 1
    for (int64 i = rows.first; i < rows.end; ++i) {
        C row[CHANNELS] = {};
#pragma unroll 1
        for (int64 j = columns.first; j < (down[i].has(y) ? columns.end : 0); ++j) {
            const C weight = along[j].has(x) ? tables.bin(regions, region, 1, j)[x] : (C)0;
#pragma unroll
            for (int k = 0; k < CHANNELS; ++k) {
                if (along[j].has(x) && top + k < regions.tops) {
                    const C g = convert<C>(from[k * size + i * regions.bins[1] + j]);
                    row[k] = plus(row[k], times(weight, g));
                }
            }
        }
        const C weight = down[i].has(y) ? tables.bin(regions, region, 0, i)[y] : (C)0;
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k) {
            sums[k] = plus(sums[k], times(weight, row[k]));
        }
    }
}

template <class T>
__device__ __forceinline__ void backward(
    const T *grad, const Tables<Compute<T>> &tables, T *out, const Regions &regions, int req) {
    typedef Compute<T> C;
    const int64 parts = regions.groups[0] * regions.groups[1], size = regions.pixels();
    // Channels beyond those of the bins get nothing.
    const int64 tops = (regions.channels + parts - 1) / parts, chunks = (tops + CHANNELS - 1) / CHANNELS;
    each(req == Null ? 0 : regions.images * chunks * parts * size, [&](int64 thread) {
        const Split at = split(thread, size), pixel = split(at.at, regions.extents[1]);
        const Split group = split(at.row, parts), chunk = split(group.row, chunks);
        const int64 top = chunk.at * CHANNELS;
        C sums[CHANNELS] = {};
#pragma unroll 1
        for (int64 r = 0; r < regions.regions; ++r) {
            const bool touched = tables.images[r] == chunk.row
                && tables.axis(regions, r, 0)[regions.bins[0]].has(pixel.row)
                && tables.axis(regions, r, 1)[regions.bins[1]].has(pixel.at);
            if (touched) {
                add_region(grad, tables, regions, r, top, group.at, pixel.row, pixel.at, sums);
            }
        }
#pragma unroll
        for (int k = 0; k < CHANNELS; ++k) {
            const int64 channel = (top + k) * parts + group.at;
            if (channel < regions.channels) {
                T *const plane = out + (chunk.row * regions.channels + channel) * size;
                put(plane[at.at], sums[k], opaque(req == Add));
            }
        }
    });
}

} // namespace fm

#define FM_REGIONS_ENTRIES(T, ...) \
    extern "C" __global__ void regions_tables_##T( \
        const T *rois, const __grid_constant__ fm::Tables<fm::Compute<T>> tables, \
        const __grid_constant__ fm::Regions regions, fm::Refusal *refusal) { \
        fm::tables(rois, tables, regions, refusal); \
    } \
    extern "C" __global__ void regions_forward_##T( \
        const T *data, const __grid_constant__ fm::Tables<fm::Compute<T>> tables, T *out, \
        const __grid_constant__ fm::Regions regions, int req) { \
        fm::forward(data, tables, out, regions, req); \
    } \
    extern "C" __global__ void regions_backward_##T( \
        const T *grad, const __grid_constant__ fm::Tables<fm::Compute<T>> tables, T *out, \
        const __grid_constant__ fm::Regions regions, int req) { \
        fm::backward(grad, tables, out, regions, req); \
    }
FM_FLOATS(FM_REGIONS_ENTRIES, )

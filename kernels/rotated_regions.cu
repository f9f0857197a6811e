// Means of points in the bins of regions that are turned. Arrays have no gaps; halves are computed in
// float32.
//
// Entry points: rotated_regions_find_DTYPE(rois, regions, turned, refusal) says where regions are, and refuses
// one of no image (1) and one of too many points (2), by its number; rotated_regions_forward_DTYPE(data,
// regions, out, turned, req) has a thread for each bin of a channel.
#include "bilinear.cuh"
#include "grid.cuh"
#include "map.cuh"
#include "region.cuh"

namespace fm {

/// `extents` and `bins` are rows and columns; a bin has so many `samples` each way, or as many as it has
/// pixels where that is 0, but at most `most`.
struct Turned {
    int64 images, channels, extents[2], regions, bins[2], samples, most;
    float64 scale;
};

/// A region before it is turned, rows first; `image` is -1 where there is none.
struct Region {
    int64 image, points[2];
    float64 center[2], size[2], sine, cosine;
};

template <class T>
__device__ __forceinline__ void
find(const T *rois, Region *regions, const Turned &turned, Refusal *refusal) {
    typedef Compute<T> C;
    each(turned.regions, [&](int64 i) {
        const T *const roi = rois + 6 * i;
        Region found;
        found.image = image_of(convert<C>(roi[0]), turned.images, i, refusal);
        const float64 turn = times(convert<float64>(roi[5]), 0.017453292519943295);
        found.sine = (C)sine(turn);
        found.cosine = (C)cosine(turn);
#pragma unroll
        for (int way = 0; way < 2; ++way) {
            const C size = times(convert<C>(roi[4 - way]), (C)turned.scale);
            const C own = size > (C)1 ? size : (C)1;
            found.size[way] = own;
            found.center[way] = times(convert<C>(roi[2 - way]), (C)turned.scale);
            const int64 fit = whole_of(round_up(over(own, (C)turned.bins[way])));
            found.points[way] = turned.samples > 0 ? turned.samples : fit;
            if (found.points[way] > turned.most) {
                refuse(refusal, 2, i);
                found.image = -1;
            }
        }
        regions[i] = found;
    });
}

/// How far point `i` of a bin is from the middle of the region along an axis.
template <class C>
__device__ __forceinline__ C
distance(const Region &region, const Turned &turned, int way, int64 bin, int64 i) {
    const C size = (C)region.size[way], extent = over(size, (C)turned.bins[way]);
    const C inside = over(times((C)((float64)i + 0.5), extent), (C)region.points[way]);
    return minus(plus(times((C)bin, extent), inside), times(size, (C)0.5));
}

template <class T>
__device__ __forceinline__ void
forward(const T *data, const Region *regions, T *out, const Turned &turned, int req) {
    typedef Compute<T> C;
    const int64 rows = turned.extents[0], columns = turned.extents[1];
    const int64 total = turned.regions * turned.channels * turned.bins[0] * turned.bins[1];
    each(req == Null ? 0 : total, [&](int64 i) {
        const Split line = split(i, turned.bins[1]), plane = split(line.row, turned.bins[0]);
        const Split channel = split(plane.row, turned.channels);
        const Region region = regions[channel.row];
        const int64 image = region.image < 0 ? 0 : region.image;
        const T *const from = data + (image * turned.channels + channel.at) * rows * columns;
        const C sine = (C)region.sine, cosine = (C)region.cosine;
        C sum = 0;
#pragma unroll 1
        for (int64 j = 0; j < (region.image < 0 ? 0 : region.points[0]); ++j) {
            const C y = distance<C>(region, turned, 0, plane.at, j);
#pragma unroll 1
            for (int64 k = 0; k < region.points[1]; ++k) {
                const C x = distance<C>(region, turned, 1, line.at, k);
                const C down = minus(times(y, cosine), times(x, sine));
                const C along = plus(times(x, cosine), times(y, sine));
                const Point<C> point = point_at<Rim::Pixel>(
                    plus(down, (C)region.center[0]), plus(along, (C)region.center[1]), rows, columns);
                sum = plus(sum, read(from, point.at, point.weight));
            }
        }
        const int64 count = region.points[0] * region.points[1];
        put(out[i], over(sum, (C)(count < 1 ? 1 : count)), opaque(req == Add));
    });
}

} // namespace fm

#define FM_TURNED_ENTRIES(T, ...) \
    extern "C" __global__ void rotated_regions_find_##T( \
        const T *rois, fm::Region *regions, const __grid_constant__ fm::Turned turned, \
        fm::Refusal *refusal) { \
        fm::find(rois, regions, turned, refusal); \
    } \
    extern "C" __global__ void rotated_regions_forward_##T( \
        const T *data, const fm::Region *regions, T *out, const __grid_constant__ fm::Turned turned, \
        int req) { \
        fm::forward(data, regions, out, turned, req); \
    }
FM_FLOATS(FM_TURNED_ENTRIES, )

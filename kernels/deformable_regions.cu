// Means of points in the bins of regions, each bin with channels of its own and moved by what is learned for
// its part of the region; and the gradients. Arrays have no gaps; halves are computed in float32.
//
// Entry points: deformable_regions_find_DTYPE(rois, regions, pool, refusal) says where regions are, and refuses
// one of no image by its number; deformable_regions_forward_DTYPE(data, regions, trans, out, pool, req) has a
// thread for each bin of a channel. deformable_regions_taps_DTYPE(regions, trans, places, weights, counts,
// pool, req) finds the pixels of the points of each bin, -1 for none, and how many points count.
// deformable_regions_pixels_DTYPE(grad, groups, weights, counts, out, pool, req), a thread for each pixel, adds
// up what comes to it; of deformable_regions_moves_DTYPE(grad, data, regions, trans, counts, out, pool, req)
// threads along y share the gradient of a move. `trans` may be null.
#include "bilinear.cuh"
#include "fold.cuh"
#include "grid.cuh"
#include "groups.cuh"
#include "region.cuh"

namespace fm {

/// `extents` are rows and columns; along either axis there are so many bins, groups of them, parts of a
/// region, and samples of a bin. Moves are for `moved` regions and for classes of channels.
struct Pool {
    int64 images, channels, extents[2], regions, tops, bins, groups, parts, samples, classes, moved;
    float64 scale, factor;

    __device__ __forceinline__ int64 pixels() const { return extents[0] * extents[1]; }
    __device__ __forceinline__ int64 class_of(int64 top) const { return top / (tops / classes); }
};

/// A region in pixels, rows first; `image` is -1 where there is none.
struct Region {
    int64 image;
    float64 start[2], size[2];
};

template <class T>
__device__ __forceinline__ void
find(const T *rois, Region *regions, const Pool &pool, Refusal *refusal) {
    typedef Compute<T> C;
    each(pool.regions, [&](int64 i) {
        const T *const roi = rois + 5 * i;
        const C scale = (C)pool.scale;
        Region found;
        found.image = image_of(convert<C>(roi[0]), pool.images, i, refusal);
#pragma unroll
        for (int way = 0; way < 2; ++way) {
            const C low = round_away(convert<C>(roi[2 - way]));
            const C high = round_away(convert<C>(roi[4 - way]));
            const C start = minus(times(low, scale), (C)0.5);
            const C size = minus(minus(times(plus(high, (C)1), scale), (C)0.5), start);
            found.start[way] = start;
            found.size[way] = size > (C)0.1 ? size : (C)0.1;
        }
        regions[i] = found;
    });
}

/// A bin of a class of a region.
struct Bin {
    int64 region, type, place[2];

    __device__ __forceinline__ int64 number(const Pool &pool) const {
        return ((region * pool.classes + type) * pool.bins + place[0]) * pool.bins + place[1];
    }

    /// The place of the bin in a channel of the output.
    __device__ __forceinline__ int64 at(const Pool &pool, int64 top) const {
        return ((region * pool.tops + top) * pool.bins + place[0]) * pool.bins + place[1];
    }

    /// Its group of channels.
    __device__ __forceinline__ int64 group(const Pool &pool) const {
        return place[0] * pool.groups / pool.bins * pool.groups + place[1] * pool.groups / pool.bins;
    }
};

/// The bin of a number, of `types` classes or channels.
__device__ __forceinline__ Bin bin_of(const Pool &pool, int64 types, int64 number) {
    const Split line = split(number, pool.bins), plane = split(line.row, pool.bins);
    const Split type = split(plane.row, types);
    return {type.row, type.at, {plane.at, line.at}};
}

/// Calls `one(number, point)` for the points of a bin that are in the image.
template <class T, class F>
__device__ __forceinline__ void
points(const Region &region, const T *trans, const Pool &pool, const Bin &bin, F one) {
    typedef Compute<T> C;
    C start[2], step[2];
#pragma unroll
    for (int way = 0; way < 2; ++way) {
        const C size = (C)region.size[way], extent = over(size, (C)pool.bins);
        start[way] = plus(times((C)bin.place[way], extent), (C)region.start[way]);
        if (trans != nullptr) {
            const int64 row = 2 * (bin.region * pool.classes + bin.type) + 1 - way;
            const int64 down = bin.place[0] * pool.parts / pool.bins;
            const int64 along = bin.place[1] * pool.parts / pool.bins;
            const C move = convert<C>(trans[(row * pool.parts + down) * pool.parts + along]);
            start[way] = plus(start[way], times(times(move, (C)pool.factor), size));
        }
        step[way] = over(extent, (C)pool.samples);
    }
    const C low = (C)-0.5, bottom = (C)((float64)pool.extents[0] - 0.5);
    const C right = (C)((float64)pool.extents[1] - 0.5);
#pragma unroll 1
    for (int64 i = 0; i < (region.image < 0 ? 0 : pool.samples); ++i) {
        const C y = plus(start[0], times((C)i, step[0]));
#pragma unroll 1
        for (int64 j = 0; j < (y >= low && y <= bottom ? pool.samples : 0); ++j) {
            const C x = plus(start[1], times((C)j, step[1]));
            if (x >= low && x <= right && pool.pixels() > 0) {
                one(i * pool.samples + j, point_at<Rim::Half>(y, x, pool.extents[0], pool.extents[1]));
            }
        }
    }
}

/// The plane that a bin of a channel of the output reads.
template <class T>
__device__ __forceinline__ const T *
plane_of(const T *data, const Pool &pool, int64 image, int64 top, const Bin &bin) {
    const int64 channel = top * pool.groups * pool.groups + bin.group(pool);
    return data + (image < 0 ? 0 : (image * pool.channels + channel) * pool.pixels());
}

template <class T>
__device__ __forceinline__ void forward(
    const T *data, const Region *regions, const T *trans, T *out, const Pool &pool, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : pool.regions * pool.tops * pool.bins * pool.bins, [&](int64 i) {
        Bin bin = bin_of(pool, pool.tops, i);
        const int64 top = bin.type;
        bin.type = pool.class_of(top);
        const Region region = regions[bin.region];
        const T *const plane = plane_of(data, pool, region.image, top, bin);
        // The mean of no points is a negative zero, as on the CPU.
        C sum = region.image < 0 ? (C)0 : (C)-0.0;
        int64 count = 0;
        points(region, trans, pool, bin, [&](int64, const Point<C> &point) {
            sum = plus(sum, read(plane, point.at, point.weight));
            ++count;
        });
        put(out[i], over(sum, (C)(count < 1 ? 1 : count)), opaque(req == Add));
    });
}

/// Without a request no pixel is found.
template <class T>
__device__ __forceinline__ void
taps(const Region *regions, const T *trans, int64 *places, Compute<T> *weights, Compute<T> *counts,
    const Pool &pool, int req) {
    typedef Compute<T> C;
    const int64 samples = pool.samples * pool.samples;
    each(pool.regions * pool.classes * pool.bins * pool.bins, [&](int64 i) {
        const Bin bin = bin_of(pool, pool.classes, i);
        const Region region = regions[bin.region];
        const int64 plane
            = (region.image * pool.classes + bin.type) * pool.groups * pool.groups + bin.group(pool);
#pragma unroll 1
        for (int64 tap = 4 * i * samples; tap < 4 * (i + 1) * samples; ++tap) {
            places[tap] = -1;
        }
        int64 count = 0;
        points(region, trans, pool, bin, [&](int64 number, const Point<C> &point) {
            const int64 first = 4 * (i * samples + number);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                if (req != Null && point.weight[k] != (C)0) {
                    places[first + k] = plane * pool.pixels() + point.at[k];
                }
                weights[first + k] = point.weight[k];
            }
            ++count;
        });
        counts[i] = (C)(count < 1 ? 1 : count);
    });
}

template <class T>
__device__ __forceinline__ void pixels(
    const T *grad, const Groups &groups, const Compute<T> *weights, const Compute<T> *counts, T *out,
    const Pool &pool, int req) {
    typedef Compute<T> C;
    const int64 each_top = pool.groups * pool.groups, taps = 4 * pool.samples * pool.samples;
    each(req == Null ? 0 : pool.images * pool.channels * pool.pixels(), [&](int64 i) {
        const Split at = split(i, pool.pixels()), channel = split(at.row, pool.channels);
        const Split top = split(channel.at, each_top);
        C sum = 0;
        if (top.row < pool.tops) {
            const int64 plane
                = (channel.row * pool.classes + pool.class_of(top.row)) * each_top + top.at;
            sum = sum_at<C>(groups, plane * pool.pixels() + at.at, [&](int64 tap) {
                const int64 number = tap / taps;
                const Bin bin = bin_of(pool, pool.classes, number);
                const C share = over(convert<C>(grad[bin.at(pool, top.row)]), counts[number]);
                return times(weights[tap], share);
            });
        }
        put(out[i], sum, opaque(req == Add));
    });
}

/// What a bin gives to its move, by one channel of the output.
template <class T>
__device__ __forceinline__ void add_slopes(
    const T *plane, Compute<T> share, const Region &region, const T *trans, const Pool &pool,
    const Bin &bin, Compute<T> (&sums)[2]) {
    typedef Compute<T> C;
    points(region, trans, pool, bin, [&](int64, const Point<C> &point) {
#pragma unroll
        for (int way = 0; way < 2; ++way) {
            const C slope = read(plane, point.at, point.by[way]);
            sums[way] = plus(sums[way], times(share, slope));
        }
    });
}

template <class T>
__device__ __forceinline__ void moves(
    const T *grad, const T *data, const Region *regions, const T *trans, const Compute<T> *counts,
    T *out, const Pool &pool, int req) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    const int64 total = req == Null ? 0 : pool.moved * pool.classes * pool.parts * pool.parts;
    const int64 members = pool.tops / pool.classes;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 move = first + threadIdx.x;
        const Split line = split(move, pool.parts), place = split(line.row, pool.parts);
        const Split type = split(place.row, pool.classes);
        const bool some = move < total && type.row < pool.regions;
        const Region region = some ? regions[type.row] : Region{};
        // The bins of the part.
        const int64 top = (place.at * pool.bins + pool.parts - 1) / pool.parts;
        const int64 left = (line.at * pool.bins + pool.parts - 1) / pool.parts;
        const int64 high = ((place.at + 1) * pool.bins + pool.parts - 1) / pool.parts - top;
        const int64 wide = ((line.at + 1) * pool.bins + pool.parts - 1) / pool.parts - left;
        C sums[2] = {0, 0};
#pragma unroll 1
        for (int64 i = threadIdx.y; i < (some && region.image >= 0 ? high * wide * members : 0);
             i += blockDim.y) {
            const int64 own = i / members, channel = type.at * members + i % members;
            const Bin bin = {type.row, type.at, {top + own / wide, left + own % wide}};
            const C g = convert<C>(grad[bin.at(pool, channel)]);
            const T *const plane = plane_of(data, pool, region.image, channel, bin);
            add_slopes(plane, over(g, counts[bin.number(pool)]), region, trans, pool, bin, sums);
        }
#pragma unroll
        for (int way = 0; way < 2; ++way) {
            const C sum = together(sums[way], part, [](C a, C b) { return plus(a, b); });
            if (threadIdx.y == 0 && move < total) {
                const int64 row = 2 * place.row + 1 - way, at = place.at * pool.parts + line.at;
                const C moved = times(times(sum, (C)pool.factor), (C)region.size[way]);
                put(out[row * pool.parts * pool.parts + at], moved, opaque(req == Add));
            }
        }
    }
}

} // namespace fm

#define FM_DEFORMED_ENTRIES(T, ...) \
    extern "C" __global__ void deformable_regions_find_##T( \
        const T *rois, fm::Region *regions, const __grid_constant__ fm::Pool pool, \
        fm::Refusal *refusal) { \
        fm::find(rois, regions, pool, refusal); \
    } \
    extern "C" __global__ void deformable_regions_forward_##T( \
        const T *data, const fm::Region *regions, const T *trans, T *out, \
        const __grid_constant__ fm::Pool pool, int req) { \
        fm::forward(data, regions, trans, out, pool, req); \
    } \
    extern "C" __global__ void deformable_regions_taps_##T( \
        const fm::Region *regions, const T *trans, int64 *places, fm::Compute<T> *weights, \
        fm::Compute<T> *counts, const __grid_constant__ fm::Pool pool, int req) { \
        fm::taps(regions, trans, places, weights, counts, pool, req); \
    } \
    extern "C" __global__ void deformable_regions_pixels_##T( \
        const T *grad, const __grid_constant__ fm::Groups groups, const fm::Compute<T> *weights, \
        const fm::Compute<T> *counts, T *out, const __grid_constant__ fm::Pool pool, int req) { \
        fm::pixels(grad, groups, weights, counts, out, pool, req); \
    } \
    extern "C" __global__ void deformable_regions_moves_##T( \
        const T *grad, const T *data, const fm::Region *regions, const T *trans, \
        const fm::Compute<T> *counts, T *out, const __grid_constant__ fm::Pool pool, int req) { \
        fm::moves(grad, data, regions, trans, counts, out, pool, req); \
    }
FM_FLOATS(FM_DEFORMED_ENTRIES, )

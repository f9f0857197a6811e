// The maxima over the bins of regions of images, where in its plane each stands, and the gradient. NaN loses
// every comparison, as on the CPU. Arrays have no gaps; halves are computed in float32.
//
// Entry points: roi_pooling_regions_DTYPE(rois, regions, pool, refusal) says where bins are, and refuses images
// that there are not; roi_pooling_forward_DTYPE(data, regions, out, places, pool, req, place_req) has a thread
// for each bin, and roi_pooling_backward_DTYPE(grad, places, regions, out, pool, req) one for each element of
// the data.
#include "grid.cuh"
#include "least.cuh"
#include "map.cuh"
#include "region.cuh"

namespace fm {

/// `extents` and `bins` are rows and columns.
struct Pool {
    int64 images, channels, extents[2], regions, bins[2];
    float64 scale;
};

/// A region of an image, -1 for none, by the first row and column and the extents of a bin.
struct Region {
    int64 image, start[2];
    float64 bin[2];
};

template <class T>
__device__ __forceinline__ void
find(const T *rois, Region *regions, const Pool &pool, Refusal *refusal) {
    typedef Compute<T> C;
    each(pool.regions, [&](int64 i) {
        const T *const roi = rois + 5 * i;
        Region found;
        const C number = convert<C>(roi[0]), known = number == number ? number : (C)-1;
        found.image = image_of(known, pool.images, whole_of(known), refusal);
#pragma unroll
        for (int way = 0; way < 2; ++way) {
            const C low = convert<C>(roi[2 - way]), high = convert<C>(roi[4 - way]);
            const int64 start = whole_of(round_away(times(low, (C)pool.scale)));
            const int64 end = whole_of(round_away(times(high, (C)pool.scale)));
            // end - start + 1, which may be too large a number.
            const int64 length = cut_sum(cut_sum(end, ~start), 2);
            found.start[way] = start;
            found.bin[way] = over((C)(length < 1 ? 1 : length), (C)pool.bins[way]);
        }
        regions[i] = found;
    });
}

/// The elements of bin `i` along an axis.
struct Range {
    int64 first, end;
};

template <class C>
__device__ __forceinline__ Range range_of(const Region &region, const Pool &pool, int way, int64 i) {
    const C bin = (C)region.bin[way];
    const int64 n = pool.extents[way], start = region.start[way];
    const int64 first = cut_sum(whole_of(round_down(times((C)i, bin))), start);
    const int64 end = cut_sum(whole_of(round_up(times((C)(i + 1), bin))), start);
    return {clip(first, (int64)0, n), clip(end, (int64)0, n)};
}

template <class T>
__device__ __forceinline__ void forward(
    const T *data, const Region *regions, T *out, int64 *places, const Pool &pool, int req,
    int place_req) {
    typedef Compute<T> C;
    const int64 total = pool.regions * pool.channels * pool.bins[0] * pool.bins[1];
    each(req == Null && place_req == Null ? 0 : total, [&](int64 i) {
        const Split line = split(i, pool.bins[1]), plane = split(line.row, pool.bins[0]);
        const Split channel = split(plane.row, pool.channels);
        const Region region = regions[channel.row];
        const Range rows = range_of<C>(region, pool, 0, plane.at);
        const Range columns = range_of<C>(region, pool, 1, line.at);
        const bool empty = region.image < 0 || rows.first >= rows.end || columns.first >= columns.end;
        C most = empty ? (C)0 : least<T>();
        int64 at = -1;
        const int64 wide = pool.extents[1], first = region.image * pool.channels + channel.at;
        const T *const from = data + (empty ? 0 : first * pool.extents[0] * wide);
#pragma unroll 1
        for (int64 y = rows.first; y < (empty ? 0 : rows.end); ++y) {
#pragma unroll 1
            for (int64 x = columns.first; x < columns.end; ++x) {
                const C value = convert<C>(from[y * wide + x]);
                at = value > most ? y * wide + x : at;
                most = value > most ? value : most;
            }
        }
        if (req != Null) {
            put(out[i], most, opaque(req == Add));
        }
        if (place_req != Null) {
            put(places[i], at, opaque(place_req == Add));
        }
    });
}

/// The bins that may have an element, one more on either side for what rounding does.
template <class C>
__device__ __forceinline__ Range bins_of(const Region &region, const Pool &pool, int way, int64 at) {
    const C bin = (C)region.bin[way], offset = (C)at - (C)region.start[way];
    const int64 first = whole_of(round_down(over(offset, bin)));
    const int64 end = whole_of(round_up(over(plus(offset, (C)1), bin)));
    return {clip(cut_sum(first, -1), (int64)0, pool.bins[way]),
        clip(cut_sum(end, 1), (int64)0, pool.bins[way])};
}

template <class T>
__device__ __forceinline__ void backward(
    const T *grad, const int64 *places, const Region *regions, T *out, const Pool &pool, int req) {
    typedef Compute<T> C;
    const int64 wide = pool.extents[1], size = pool.extents[0] * wide;
    each(req == Null ? 0 : pool.images * pool.channels * size, [&](int64 i) {
        const Split at = split(i, size), place = split(at.at, wide);
        const Split channel = split(at.row, pool.channels);
        C sum = 0;
#pragma unroll 1
        for (int64 r = 0; r < pool.regions; ++r) {
            if (regions[r].image != channel.row) {
                continue;
            }
            const Range rows = bins_of<C>(regions[r], pool, 0, place.row);
            const Range columns = bins_of<C>(regions[r], pool, 1, place.at);
#pragma unroll 1
            for (int64 y = rows.first; y < rows.end; ++y) {
                const int64 line
                    = ((r * pool.channels + channel.at) * pool.bins[0] + y) * pool.bins[1];
#pragma unroll 1
                for (int64 x = columns.first; x < columns.end; ++x) {
                    if (places[line + x] == at.at) {
                        sum = plus(sum, convert<C>(grad[line + x]));
                    }
                }
            }
        }
        put(out[i], sum, opaque(req == Add));
    });
}

} // namespace fm

#define FM_ROI_ENTRIES(T, ...) \
    extern "C" __global__ void roi_pooling_regions_##T( \
        const T *rois, fm::Region *regions, const __grid_constant__ fm::Pool pool, \
        fm::Refusal *refusal) { \
        fm::find(rois, regions, pool, refusal); \
    } \
    extern "C" __global__ void roi_pooling_forward_##T( \
        const T *data, const fm::Region *regions, T *out, int64 *places, \
        const __grid_constant__ fm::Pool pool, int req, int place_req) { \
        fm::forward(data, regions, out, places, pool, req, place_req); \
    } \
    extern "C" __global__ void roi_pooling_backward_##T( \
        const T *grad, const int64 *places, const fm::Region *regions, T *out, \
        const __grid_constant__ fm::Pool pool, int req) { \
        fm::backward(grad, places, regions, out, pool, req); \
    }
FM_FLOATS(FM_ROI_ENTRIES, )

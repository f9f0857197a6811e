// Regions in which there may be an object, from scores and offsets of anchors at each place of a map, in
// single precision.
//
// Entry points: proposal_boxes_float32(scores, offsets, infos, corners, found, marks, map), a thread for each
// anchor of some kinds; proposal_places_float32(corners, order, places, labels, fates, map), a thread for
// each box that is compared, with what box_nms_suppress_float32 takes; and
// proposal_write_float32(places, found, order, kept, regions, scores, map, req, scores_req), a thread for
// each region. No gaps.
#include "boxes.cuh"
#include "grid.cuh"
#include "map.cuh"

namespace fm {

constexpr int KINDS = 32;

/// Of each image the best `taking` boxes are compared; `after` regions are wanted. `all` kinds of anchors, of
/// which the first launch takes `kinds` from `first` on; ratio and scale of each. Offsets are differences of
/// corners where `corners` is 1.
struct Map {
    int64 images, rows, columns, all, taking, after, corners, first, kinds;
    float32 stride, least, shapes[KINDS][2];
};

/// The anchor of a kind at the first place.
__device__ __forceinline__ Box<float32> anchor_of(const Map &m, int64 kind) {
    const float32 ratio = m.shapes[kind][0], scale = m.shapes[kind][1];
    const float32 middle = times(0.5f, minus(m.stride, 1.0f));
    const float32 area = round_down(over(times(m.stride, m.stride), ratio));
    const float32 width = times(round_down(plus(square_root(area), 0.5f)), scale);
    const float32 tall = times(over(width, scale), ratio);
    const float32 height = times(round_down(plus(tall, 0.5f)), scale);
    const float32 w = times(0.5f, minus(width, 1.0f)), h = times(0.5f, minus(height, 1.0f));
    return {{minus(middle, w), minus(middle, h), plus(middle, w), plus(middle, h)}};
}

/// Moves the ends of an anchor along an axis; extents count both ends.
__device__ __forceinline__ void
move(Box<float32> &x, int k, float32 first, float32 second, bool corners) {
    if (corners) {
        x.at[k] = plus(x.at[k], first);
        x.at[k + 2] = plus(x.at[k + 2], second);
        return;
    }
    const float32 extent = plus(minus(x.at[k + 2], x.at[k]), 1.0f);
    const float32 own = plus(x.at[k], times(0.5f, minus(extent, 1.0f)));
    const float32 middle = plus(times(first, extent), own);
    const float32 half = times(0.5f, minus(times(exponential(second), extent), 1.0f));
    x.at[k] = minus(middle, half);
    x.at[k + 2] = plus(middle, half);
}

/// Whether a place of the map is in the image along an axis.
__device__ __forceinline__ bool inside(int64 place, float32 extent, float32 stride) {
    return place < saturate<int64>((float64)over(extent, stride));
}

__device__ __forceinline__ void boxes(
    const float32 *scores, const float32 *offsets, const float32 *infos, float32 *corners,
    float32 *found, float32 *marks, const Map &m) {
    const int64 cells = m.rows * m.columns;
    each(m.images * m.kinds * cells, [&](int64 i) {
        const Split at = split(i, cells), kind = split(at.row, m.kinds), cell = split(at.at, m.columns);
        const int64 image = kind.row, own = m.first + kind.at;
        const float32 *const info = infos + 3 * image;
        const float32 *const moves = offsets + 4 * (image * m.all + own) * cells + at.at;
        float32 score = scores[((2 * image + 1) * m.all + own) * cells + at.at];
        if (!inside(cell.row, info[0], m.stride) || !inside(cell.at, info[1], m.stride)) {
            score = -1.0f;
        }
        Box<float32> box = anchor_of(m, kind.at);
        const float32 least = times(m.least, info[2]), more = over(least, 2.0f);
        bool small = false;
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const float32 shift = times((float32)(k ? cell.row : cell.at), m.stride);
            const float32 last = minus(info[1 - k], 1.0f);
            box.at[k] = plus(box.at[k], shift);
            box.at[k + 2] = plus(box.at[k + 2], shift);
            move(box, k, moves[k * cells], moves[(k + 2) * cells], m.corners);
            box.at[k] = fmaxf(fminf(box.at[k], last), 0.0f);
            box.at[k + 2] = fmaxf(fminf(box.at[k + 2], last), 0.0f);
            small = small || plus(minus(box.at[k + 2], box.at[k]), 1.0f) < least;
        }
        const int64 place = (image * cells + at.at) * m.all + own;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float32 x = box.at[k];
            corners[4 * place + k] = !small ? x : k < 2 ? minus(x, more) : plus(x, more);
        }
        found[place] = small ? -1.0f : score;
        marks[place] = mark_of(found[place]);
    });
}

__device__ __forceinline__ void places(
    const float32 *corners, const int64 *order, float32 *out, int64 *labels, uint8 *fates, const Map &m) {
    each(m.images * m.taking, [&](int64 i) {
        const Split at = split(i, m.taking);
        const int64 from = at.row * m.rows * m.columns * m.all + order[i];
        const Compared<float32> all = {out + 5 * at.row * m.taking, m.taking};
        all.set(at.at, place_of(box_at<float32>(corners + 4 * from), false, 1.0f));
        labels[i] = 0;
        fates[i] = Stays;
    });
}

/// Where there are too few regions, they come again.
__device__ __forceinline__ void write(
    float32 *places, const float32 *found, const int64 *order, const int64 *kept, float32 *regions,
    float32 *scores, const Map &m, int req, int scores_req) {
    each(m.images * m.after, [&](int64 i) {
        const Split at = split(i, m.after);
        const int64 *const stay = kept + at.row * (m.taking + 1);
        const int64 k = stay[at.at % stay[m.taking]];
        if (req != Null) {
            const Compared<float32> all = {places + 5 * at.row * m.taking, m.taking};
            const Place<float32> place = all.get(k);
            put(regions[5 * i], (float32)at.row, opaque(req == Add));
#pragma unroll
            for (int n = 0; n < 4; ++n) {
                put(regions[5 * i + 1 + n], place.at[n], opaque(req == Add));
            }
        }
        if (scores_req != Null) {
            const int64 from = at.row * m.rows * m.columns * m.all + order[at.row * m.taking + k];
            put(scores[i], found[from], opaque(scores_req == Add));
        }
    });
}

} // namespace fm

#define FM_PROPOSAL_ENTRIES \
    extern "C" __global__ void proposal_boxes_float32( \
        const float32 *scores, const float32 *offsets, const float32 *infos, float32 *corners, \
        float32 *found, float32 *marks, const __grid_constant__ fm::Map map) { \
        fm::boxes(scores, offsets, infos, corners, found, marks, map); \
    } \
    extern "C" __global__ void proposal_places_float32( \
        const float32 *corners, const int64 *order, float32 *places, int64 *labels, uint8 *fates, \
        const __grid_constant__ fm::Map map) { \
        fm::places(corners, order, places, labels, fates, map); \
    } \
    extern "C" __global__ void proposal_write_float32( \
        float32 *places, const float32 *found, const int64 *order, const int64 *kept, \
        float32 *regions, float32 *scores, const __grid_constant__ fm::Map map, int req, \
        int scores_req) { \
        fm::write(places, found, order, kept, regions, scores, map, req, scores_req); \
    }
FM_IF_float32(FM_PROPOSAL_ENTRIES)

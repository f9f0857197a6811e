// Anchors over an image, and the boxes that a detector finds from them, in single precision.
//
// Entry points: multibox_prior_float32(out, prior, req), a thread for each anchor of some kinds;
// multibox_scores_float32(scores, marks, found, classes, detection), a thread for each anchor;
// multibox_rows_float32(offsets, anchors, marks, classes, order, rest, rows, places, labels, fates,
// detection), a thread for each row, with what box_nms_suppress_float32 takes; and
// multibox_write_float32(rows, fates, out, detection, req), a thread for each number. No gaps.
#include "boxes.cuh"
#include "grid.cuh"
#include "map.cuh"

namespace fm {

constexpr int KINDS = 32;

/// Anchors around each place of an image, of which `kinds` are made here, from `first` on; size and ratio of
/// each. Steps and offsets are down and to the right.
struct Prior {
    int64 rows, columns, all, first, kinds, clip;
    float32 steps[2], offsets[2], shapes[KINDS][2];
};

__device__ __forceinline__ void prior(float32 *out, const Prior &p, int req) {
    each(req == Null ? 0 : p.rows * p.columns * p.kinds, [&](int64 i) {
        const Split kind = split(i, p.kinds), place = split(kind.row, p.columns);
        const float32 size = p.shapes[kind.at][0], root = square_root(p.shapes[kind.at][1]);
        const float32 y = times(plus((float32)place.row, p.offsets[0]), p.steps[0]);
        const float32 x = times(plus((float32)place.at, p.offsets[1]), p.steps[1]);
        const float32 scaled = over(times(size, (float32)p.rows), (float32)p.columns);
        const float32 w = over(times(scaled, root), 2.0f), h = over(over(size, root), 2.0f);
        const float32 box[4] = {minus(x, w), minus(y, h), plus(x, w), plus(y, h)};
        float32 *const to = out + 4 * (kind.row * p.all + p.first + kind.at);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            put(to[k], p.clip ? clip(box[k], 0.0f, 1.0f) : box[k], opaque(req == Add));
        }
    });
}

/// Of each image the best `taking` are compared, in order; what was found and is behind them has no class.
/// Without comparison, `order` has all that were found as they come.
struct Detection {
    int64 images, classes, anchors, clip, compares, taking;
    float32 threshold, variances[4];
};

__device__ __forceinline__ void
best_class(const float32 *scores, float32 *marks, float32 *found, int32 *classes, const Detection &d) {
    each(d.images * d.anchors, [&](int64 i) {
        const Split at = split(i, d.anchors);
        const float32 *const own = scores + at.row * d.classes * d.anchors + at.at;
        float32 best = -1.0f;
        int32 label = 0;
#pragma unroll 1
        for (int64 k = 1; k < d.classes; ++k) {
            const float32 score = own[k * d.anchors];
            label = score > best ? (int32)k : label;
            best = score > best ? score : best;
        }
        const bool counts = label > 0 && best >= d.threshold;
        marks[i] = counts ? best : mark_of(over(0.0f, 0.0f));
        found[i] = counts ? 1.0f : 0.0f;
        classes[i] = label;
    });
}

/// Row `k` of an image: the anchor that it is made of.
__device__ __forceinline__ void detected(
    const float32 *offsets, const float32 *anchors, const float32 *marks, const int32 *classes,
    const int64 *order, const int64 *rest, float32 *rows, float32 *places, int64 *labels, uint8 *fates,
    const Detection &d) {
    each(d.images * d.anchors, [&](int64 i) {
        const Split at = split(i, d.anchors);
        const bool compared = at.at < d.taking;
        const int64 first = at.row * d.anchors;
        const int64 anchor = compared ? order[at.row * d.taking + at.at] : rest[i];
        const float32 score = marks[first + anchor], none = mark_of(over(0.0f, 0.0f));
        Box<float32> box = box_at<float32>(offsets + 4 * (first + anchor));
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            box.at[k] = times(box.at[k], d.variances[k]);
        }
        box = decoded(box, center_of(box_at<float32>(anchors + 4 * anchor)), -none);
        const int64 label = classes[first + anchor] - 1;
        const float32 named = d.compares && !compared ? -1.0f : (float32)label;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            box.at[k] = d.clip ? clip(box.at[k], 0.0f, 1.0f) : box.at[k];
            rows[6 * i + 2 + k] = score == none ? -1.0f : box.at[k];
        }
        rows[6 * i] = score == none ? -1.0f : named;
        rows[6 * i + 1] = score == none ? -1.0f : score;
        if (d.compares && compared) {
            const Compared<float32> all = {places + 5 * at.row * d.taking, d.taking};
            all.set(at.at, place_of(box, false));
            labels[at.row * d.taking + at.at] = label;
            fates[at.row * d.taking + at.at] = score == none ? Behind : Stays;
        }
    });
}

__device__ __forceinline__ void
write(const float32 *rows, const uint8 *fates, float32 *out, const Detection &d, int req) {
    each(req == Null ? 0 : d.images * d.anchors * 6, [&](int64 i) {
        const Split number = split(i, 6), at = split(number.row, d.anchors);
        const bool gone = d.compares && number.at == 0 && at.at < d.taking
            && fates[at.row * d.taking + at.at] == Gone;
        put(out[i], gone ? -1.0f : rows[i], opaque(req == Add));
    });
}

} // namespace fm

#define FM_MULTIBOX_ENTRIES \
    extern "C" __global__ void multibox_prior_float32( \
        float32 *out, const __grid_constant__ fm::Prior prior, int req) { \
        fm::prior(out, prior, req); \
    } \
    extern "C" __global__ void multibox_scores_float32( \
        const float32 *scores, float32 *marks, float32 *found, int32 *classes, \
        const __grid_constant__ fm::Detection detection) { \
        fm::best_class(scores, marks, found, classes, detection); \
    } \
    extern "C" __global__ void multibox_rows_float32( \
        const float32 *offsets, const float32 *anchors, const float32 *marks, const int32 *classes, \
        const int64 *order, const int64 *rest, float32 *rows, float32 *places, int64 *labels, \
        uint8 *fates, const __grid_constant__ fm::Detection detection) { \
        fm::detected( \
            offsets, anchors, marks, classes, order, rest, rows, places, labels, fates, detection); \
    } \
    extern "C" __global__ void multibox_write_float32( \
        const float32 *rows, const uint8 *fates, float32 *out, \
        const __grid_constant__ fm::Detection detection, int req) { \
        fm::write(rows, fates, out, detection, req); \
    }
FM_IF_float32(FM_MULTIBOX_ENTRIES)

// What a detector is to learn: for each anchor a class, and offsets to the box that it is to become. Each label
// has an anchor of its own, others follow by their overlaps, and of the rest those are negative that look least
// like background. In single precision, without gaps.
//
// Entry points, in this order: multibox_target_best_float32(anchors, labels, best, counts, targets, refusal), a
// thread for each anchor of an image, also counts labels; multibox_target_nearest_float32(anchors, labels, counts,
// nearest, targets), a block for each label; multibox_target_pair_float32(anchors, labels, counts, best, nearest,
// roles, wanted, targets, refusal), a block for each image; multibox_target_marks_float32(scores, best, roles,
// marks, targets), what is sorted, a thread for each anchor of an image, as for the others:
// multibox_target_mine_float32(order, wanted, roles, targets), multibox_target_write_float32(anchors, labels,
// roles, offsets, mask, classes, targets, offsets_req, mask_req, classes_req). Threads of blocks lie along y.
#include "boxes.cuh"
#include "fold.cuh"
#include "grid.cuh"
#include "refusal.cuh"

namespace fm {

/// `ratio` negative anchors are wanted for each positive one, or all where it is not positive; their overlaps
/// are below `limit`.
struct Targets {
    int64 images, anchors, labels, width, classes;
    float32 overlap, ignored, ratio, limit, variances[4];

    __device__ __forceinline__ Place<float32> label(const float32 *labels, int64 image, int64 i) const {
        return place_of(box_at<float32>(labels + (image * this->labels + i) * width + 1), false);
    }
};

/// Overlaps up to this are none.
constexpr float32 LEAST = 1e-6f;

/// What an anchor is that has no label.
enum Role { Ignored = -1, Negative = -2 };

/// The codes of what is refused.
enum Wrong { NoEnd = 1, TooMany = 2 };

/// The number of the anchor or of the label that overlaps something most.
struct Match {
    float32 overlap;
    int32 number;
};

__device__ __forceinline__ void best_label(
    const float32 *anchors, const float32 *labels, Match *best, int32 *counts, const Targets &t,
    Refusal *refusal) {
    each(t.images * t.anchors, [&](int64 thread) {
        const Split at = split(thread, t.anchors);
        const Place<float32> own = place_of(box_at<float32>(anchors + 4 * at.at), false);
        const float32 *row = labels + at.row * t.labels * t.width;
        Match found = {-1.0f, 0};
        int32 count = 0;
#pragma unroll 1
        for (; count < t.labels && row[0] != -1.0f; ++count, row += t.width) {
            const float32 shared = overlap(own, t.label(labels, at.row, count));
            found = shared > found.overlap ? Match{shared, count} : found;
        }
        best[thread] = found;
        if (at.at == 0) {
            counts[at.row] = count;
            // The end has no coordinates.
            bool ends = true;
            for (int k = 1; count < t.labels && k < 5; ++k) {
                ends = ends && row[k] == -1.0f;
            }
            if (!ends) {
                refuse(refusal, NoEnd, at.row);
            }
        }
    });
}

/// The free anchor that overlaps a place most, of equal ones the first; found by all threads of a block.
template <class F>
__device__ __forceinline__ Match nearest_of(
    const float32 *anchors, const Place<float32> &place, const Targets &t, Match (&part)[MOST_THREADS],
    F is_free) {
    Match best = {LEAST, (int32)t.anchors};
#pragma unroll 1
    for (int64 i = threadIdx.y; i < t.anchors; i += blockDim.y) {
        const float32 shared = overlap(place_of(box_at<float32>(anchors + 4 * i), false), place);
        best = shared > best.overlap && is_free(i) ? Match{shared, (int32)i} : best;
    }
    return together(best, part, [](const Match &a, const Match &b) {
        return b.overlap > a.overlap || (b.overlap == a.overlap && b.number < a.number) ? b : a;
    });
}

__device__ __forceinline__ void nearest_anchor(
    const float32 *anchors, const float32 *labels, const int32 *counts, Match *nearest, const Targets &t) {
    FM_SHARED(Match, part, MOST_THREADS);
#pragma unroll 1
    for (int64 i = blockIdx.x; i < t.images * t.labels; i += gridDim.x) {
        const Split at = split(i, t.labels);
        if (at.at < counts[at.row]) {
            const Place<float32> place = t.label(labels, at.row, at.at);
            const Match found = nearest_of(anchors, place, t, part, [](int64) { return true; });
            if (threadIdx.y == 0) {
                nearest[i] = found;
            }
        }
    }
}

/// A label with its nearest anchor.
struct Pair {
    Match match;
    int32 label;
};

/// Of labels that wait the one with the largest overlap; of equal ones that with the first anchor.
__device__ __forceinline__ Pair
first_of(const Match *nearest, int32 count, Pair (&part)[MOST_THREADS]) {
    const auto better = [](const Pair &a, const Pair &b) {
        const bool same = b.match.overlap == a.match.overlap, one = b.match.number == a.match.number;
        const bool before = one ? b.label < a.label : b.match.number < a.match.number;
        return b.match.overlap > a.match.overlap || (same && before) ? b : a;
    };
    Pair best = {{LEAST, 0x7fffffff}, -1};
#pragma unroll 1
    for (int32 k = threadIdx.y; k < count; k += blockDim.y) {
        best = nearest[k].overlap > LEAST ? better(best, Pair{nearest[k], k}) : best;
    }
    return together(best, part, better);
}

/// Gives each label an anchor of its own, the largest overlaps first. A label that has one waits no more: its
/// overlap becomes none.
__device__ __forceinline__ void give_anchors(
    const float32 *anchors, const float32 *labels, int32 count, Match *nearest, int32 *roles,
    int64 image, const Targets &t, Pair (&pairs)[MOST_THREADS], Match (&part)[MOST_THREADS]) {
    const auto is_free = [&](int64 i) { return roles[i] < 0; };
#pragma unroll 1
    for (int32 made = 0; made < count; ++made) {
        const Pair first = first_of(nearest, count, pairs);
        if (first.label < 0) {
            break;
        }
        if (threadIdx.y == 0) {
            roles[first.match.number] = first.label;
            nearest[first.label].overlap = 0.0f;
        }
        __syncthreads();
#pragma unroll 1
        for (int32 k = 0; k < count; ++k) {
            if (nearest[k].overlap > LEAST && nearest[k].number == first.match.number) {
                const Match found = nearest_of(anchors, t.label(labels, image, k), t, part, is_free);
                if (threadIdx.y == 0) {
                    nearest[k] = found;
                }
            }
        }
        __syncthreads();
    }
}

/// How many negative anchors are wanted.
__device__ __forceinline__ int64 wanted_of(int64 positives, const Targets &t) {
    const float32 most = times((float32)positives, t.ratio);
    const int64 rest = t.anchors - positives;
    return most < 9e18f && (int64)most < rest ? (int64)most : rest;
}

/// Positive anchors, and those that may be negative.
struct Numbers {
    int32 positive, far;
};

__device__ __forceinline__ void pair_up(
    const float32 *anchors, const float32 *labels, const int32 *counts, const Match *best, Match *nearest,
    int32 *roles, int64 *wanted, const Targets &t, Refusal *refusal) {
    FM_SHARED(Pair, pairs, MOST_THREADS);
    FM_SHARED(Match, part, MOST_THREADS);
    FM_SHARED(Numbers, numbers, MOST_THREADS);
#pragma unroll 1
    for (int64 image = blockIdx.x; image < t.images; image += gridDim.x) {
        int32 *const own = roles + image * t.anchors;
        const Match *const overlaps = best + image * t.anchors;
        const int32 count = counts[image];
#pragma unroll 1
        for (int64 i = threadIdx.y; i < t.anchors; i += blockDim.y) {
            own[i] = Ignored;
        }
        __syncthreads();
        give_anchors(anchors, labels, count, nearest + image * t.labels, own, image, t, pairs, part);
        __syncthreads();
        Numbers some = {0, 0};
#pragma unroll 1
        for (int64 i = threadIdx.y; i < (count > 0 ? t.anchors : 0); i += blockDim.y) {
            const float32 shared = overlaps[i].overlap;
            int32 role = own[i];
            role = role < 0 && t.overlap > 0.0f && shared > t.overlap ? overlaps[i].number : role;
            some.positive += role >= 0;
            some.far += role < 0 && shared < t.limit;
            own[i] = role < 0 && t.ratio <= 0.0f ? (int32)Negative : role;
        }
        some = together(some, numbers, [](const Numbers &a, const Numbers &b) {
            return Numbers{a.positive + b.positive, a.far + b.far};
        });
        const int64 found = t.ratio <= 0.0f || count == 0 ? 0 : wanted_of(some.positive, t);
        if (threadIdx.y == 0) {
            wanted[image] = found;
            if (found > some.far) {
                refuse(refusal, TooMany, found);
            }
        }
    }
}

/// The probability of the background at an anchor, from the scores of all classes.
__device__ __forceinline__ float32 background(const float32 *scores, const Targets &t) {
    float32 most = -3.402823466e38f;
#pragma unroll 1
    for (int64 k = 0; k < t.classes; ++k) {
        const float32 x = scores[k * t.anchors];
        most = x > most ? x : most;
    }
    float32 first = 0.0f, sum = 0.0f;
#pragma unroll 1
    for (int64 k = 0; k < t.classes; ++k) {
        const float32 power = exponential(minus(scores[k * t.anchors], most));
        first = k == 0 ? power : first;
        sum = plus(sum, power);
    }
    return over(first, sum);
}

/// What is no number comes after the others, and what cannot be negative after that.
__device__ __forceinline__ void
marks(const float32 *scores, const Match *best, const int32 *roles, float32 *marks, const Targets &t) {
    each(t.images * t.anchors, [&](int64 i) {
        const Split at = split(i, t.anchors);
        float32 mark = -3.0f;
        if (roles[i] == Ignored && best[i].overlap < t.limit) {
            mark = -background(scores + at.row * t.classes * t.anchors + at.at, t);
            mark = mark == mark ? mark : -2.0f;
        }
        marks[i] = mark;
    });
}

__device__ __forceinline__ void
mine(const int64 *order, const int64 *wanted, int32 *roles, const Targets &t) {
    each(t.images * t.anchors, [&](int64 i) {
        const Split at = split(i, t.anchors);
        if (at.at < wanted[at.row]) {
            roles[at.row * t.anchors + order[i]] = Negative;
        }
    });
}

__device__ __forceinline__ void write(
    const float32 *anchors, const float32 *labels, const int32 *roles, float32 *offsets, float32 *mask,
    float32 *classes, const Targets &t, int offsets_req, int mask_req, int classes_req) {
    each(t.images * t.anchors, [&](int64 i) {
        const Split at = split(i, t.anchors);
        const int32 role = roles[i];
        const float32 *const label = labels + (at.row * t.labels + (role < 0 ? 0 : role)) * t.width;
        Box<float32> moved = {};
        if (role >= 0 && offsets_req != Null) {
            const Box<float32> from = center_of(box_at<float32>(anchors + 4 * at.at));
            moved = encoded(center_of(box_at<float32>(label + 1)), from);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (offsets_req != Null) {
                put(offsets[4 * i + k], over(moved.at[k], role < 0 ? 1.0f : t.variances[k]),
                    opaque(offsets_req == Add));
            }
            if (mask_req != Null) {
                put(mask[4 * i + k], role < 0 ? 0.0f : 1.0f, opaque(mask_req == Add));
            }
        }
        if (classes_req != Null) {
            const float32 none = role == Ignored ? t.ignored : 0.0f;
            put(classes[i], role < 0 ? none : plus(label[0], 1.0f), opaque(classes_req == Add));
        }
    });
}

} // namespace fm

#define FM_TARGET_ENTRIES \
    extern "C" __global__ void multibox_target_best_float32( \
        const float32 *anchors, const float32 *labels, fm::Match *best, int32 *counts, \
        const __grid_constant__ fm::Targets targets, fm::Refusal *refusal) { \
        fm::best_label(anchors, labels, best, counts, targets, refusal); \
    } \
    extern "C" __global__ void multibox_target_nearest_float32( \
        const float32 *anchors, const float32 *labels, const int32 *counts, fm::Match *nearest, \
        const __grid_constant__ fm::Targets targets) { \
        fm::nearest_anchor(anchors, labels, counts, nearest, targets); \
    } \
    extern "C" __global__ void multibox_target_pair_float32( \
        const float32 *anchors, const float32 *labels, const int32 *counts, const fm::Match *best, \
        fm::Match *nearest, int32 *roles, int64 *wanted, \
        const __grid_constant__ fm::Targets targets, fm::Refusal *refusal) { \
        fm::pair_up(anchors, labels, counts, best, nearest, roles, wanted, targets, refusal); \
    } \
    extern "C" __global__ void multibox_target_marks_float32( \
        const float32 *scores, const fm::Match *best, const int32 *roles, float32 *marks, \
        const __grid_constant__ fm::Targets targets) { \
        fm::marks(scores, best, roles, marks, targets); \
    } \
    extern "C" __global__ void multibox_target_mine_float32( \
        const int64 *order, const int64 *wanted, int32 *roles, \
        const __grid_constant__ fm::Targets targets) { \
        fm::mine(order, wanted, roles, targets); \
    } \
    extern "C" __global__ void multibox_target_write_float32( \
        const float32 *anchors, const float32 *labels, const int32 *roles, float32 *offsets, \
        float32 *mask, float32 *classes, const __grid_constant__ fm::Targets targets, int offsets_req, \
        int mask_req, int classes_req) { \
        fm::write( \
            anchors, labels, roles, offsets, mask, classes, targets, offsets_req, mask_req, \
            classes_req); \
    }
FM_IF_float32(FM_TARGET_ENTRIES)

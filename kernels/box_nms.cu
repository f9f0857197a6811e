// Non-maximum suppression: of boxes that overlap, the one with the highest score stays.
//
// Entry points: box_nms_marks_DTYPE(data, marks, rows), what is sorted, the best first, and
// box_nms_places_DTYPE(data, marks, order, places, classes, fates, rows), the boxes in that order, a thread
// for each; box_nms_suppress_DTYPE of float32 and float64 (places, classes, fates, kept, rule), a block for
// each image; box_nms_write_DTYPE(data, order, kept, out, record, rows, req, record_req), a thread for each
// number. The way back is box_nms_clear_int32(slots, count), box_nms_find_int32(record, slots, boxes, count)
// and box_nms_back_DTYPE(grad, slots, out, boxes, width, count, req). No gaps.
#include "boxes.cuh"
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// Images of `boxes` rows of `width` numbers; which are coordinates, score and class (-1 for none), and how
/// many rows take part, all of them unchanged where `suppresses` is 0.
struct Rows {
    int64 images, boxes, width, coords, score, label, taking, suppresses, centered, to_centered;
    float64 valid, background;
};

template <class T>
__device__ __forceinline__ void marks(const T *data, Compute<T> *out, const Rows &rows) {
    typedef Compute<T> C;
    each(rows.images * rows.boxes, [&](int64 i) {
        const T *const row = data + i * rows.width;
        const C score = convert<C>(row[rows.score]);
        const bool behind = rows.label >= 0 && convert<float64>(row[rows.label]) == rows.background;
        out[i] = score > (C)rows.valid && !behind ? score : mark_of(over((C)0, (C)0));
    });
}

template <class T>
__device__ __forceinline__ void places(
    const T *data, const Compute<T> *marks, const int64 *order, Compute<T> *out, int64 *classes,
    uint8 *fates, const Rows &rows) {
    typedef Compute<T> C;
    each(rows.images * rows.taking, [&](int64 i) {
        const Split at = split(i, rows.taking);
        const int64 from = at.row * rows.boxes + order[i];
        const T *const row = data + from * rows.width;
        const Compared<C> compared = {out + at.row * 5 * rows.taking, rows.taking};
        compared.set(at.at, place_of(box_at<C>(row + rows.coords), rows.centered));
        classes[i] = rows.label < 0 ? 0 : saturate<int64>(convert<float64>(row[rows.label]));
        // Nothing that counts has the lowest mark.
        fates[i] = marks[from] == mark_of(over((C)0, (C)0)) ? Behind : Stays;
    });
}

/// Boxes that overlap by more than `most` exclude each other; after `enough` no more are wanted.
struct Rule {
    int64 images, count, enough, by_class;
    float64 most, pixel;
};

/// Boxes come in the order of their scores. `kept` gets `count` + 1 numbers for each image: the boxes that
/// stay, and at the end how many they are.
template <class C>
__device__ __forceinline__ void suppress(
    C *places, const int64 *classes, uint8 *fates, int64 *kept, const Rule &rule) {
#pragma unroll 1
    for (int64 image = blockIdx.x; image < rule.images; image += gridDim.x) {
        const Compared<C> boxes = {places + image * 5 * rule.count, rule.count};
        const int64 *const own = classes + image * rule.count;
        uint8 *const fate = fates + image * rule.count;
        int64 *const stay = kept + image * (rule.count + 1), found = 0;
#pragma unroll 1
        for (int64 i = 0; i < rule.count && found < rule.enough && fate[i] != Behind; ++i) {
            if (fate[i] == Gone) {
                continue;
            }
            if (threadIdx.x == 0) {
                stay[found] = i;
            }
            ++found;
            const Place<C> one = boxes.get(i);
#pragma unroll 1
            for (int64 j = i + 1 + threadIdx.x; j < rule.count; j += blockDim.x) {
                if (fate[j] == Stays && (!rule.by_class || own[j] == own[i])
                    && overlap(one, boxes.get(j), (C)rule.pixel) > (C)rule.most) {
                    fate[j] = Gone;
                }
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            stay[rule.count] = found;
        }
    }
}

/// A number of a box in the form that is wanted. MXNet leaves those alone that begin with a negative number.
template <class C>
__device__ __forceinline__ C converted(const Box<C> &x, int64 k, const Rows &rows) {
    if (rows.centered == rows.to_centered || x.at[0] < (C)0) {
        return x.at[k];
    }
    if (rows.centered) {
        return corners_of(x).at[k];
    }
    const C start = x.at[k % 2], end = x.at[k % 2 + 2];
    return k < 2 ? over(plus(start, end), (C)2) : minus(end, start);
}

template <class T>
__device__ __forceinline__ void
write(const T *data, const int64 *order, const int64 *kept, T *out, int64 *record, const Rows &rows,
      int req, int record_req) {
    typedef Compute<T> C;
    const int64 all = rows.images * rows.boxes;
    const auto source = [&](int64 i) -> int64 {
        const Split at = split(i, rows.boxes);
        if (!rows.suppresses) {
            return at.at;
        }
        const int64 *const stay = kept + at.row * (rows.taking + 1);
        return at.at < stay[rows.taking] ? order[at.row * rows.taking + stay[at.at]] : -1;
    };
    each(req == Null ? 0 : all * rows.width, [&](int64 i) {
        const Split number = split(i, rows.width);
        const int64 from = source(number.row), k = number.at - rows.coords;
        C x = (C)-1;
        if (from >= 0) {
            const T *const row = data + (number.row / rows.boxes * rows.boxes + from) * rows.width;
            const bool converts = rows.suppresses && k >= 0 && k < 4;
            x = converts ? converted(box_at<C>(row + rows.coords), k, rows) : convert<C>(row[number.at]);
        }
        put(out[i], convert<T>(x), opaque(req == Add));
    });
    each(record_req == Null ? 0 : all, [&](int64 i) {
        put(record[i], source(i), opaque(record_req == Add));
    });
}

/// Finds for each box the last row that came from it.
__device__ __forceinline__ void find(const int64 *record, int32 *slots, int64 boxes, int64 count) {
    each(count, [&](int64 i) {
        const Split at = split(i, boxes);
        const int64 place = record[i];
        if (place >= 0 && place < boxes) {
            atomicMax(slots + at.row * boxes + place, (int32)at.at);
        }
    });
}

template <class T>
__device__ __forceinline__ void
back(const T *grad, const int32 *slots, T *out, int64 boxes, int64 width, int64 count, int req) {
    each(req == Null ? 0 : count * width, [&](int64 i) {
        const Split at = split(i, width);
        const int64 slot = slots[at.row];
        const T none = convert<T>((int64)0);
        const int64 row = at.row / boxes * boxes + slot;
        put(out[i], slot < 0 ? none : grad[row * width + at.at], opaque(req == Add));
    });
}

} // namespace fm

#define FM_NMS_ENTRIES(T, ...) \
    extern "C" __global__ void box_nms_marks_##T( \
        const T *data, fm::Compute<T> *marks, const __grid_constant__ fm::Rows rows) { \
        fm::marks(data, marks, rows); \
    } \
    extern "C" __global__ void box_nms_places_##T( \
        const T *data, const fm::Compute<T> *marks, const int64 *order, fm::Compute<T> *places, \
        int64 *classes, uint8 *fates, const __grid_constant__ fm::Rows rows) { \
        fm::places(data, marks, order, places, classes, fates, rows); \
    } \
    extern "C" __global__ void box_nms_write_##T( \
        const T *data, const int64 *order, const int64 *kept, T *out, int64 *record, \
        const __grid_constant__ fm::Rows rows, int req, int record_req) { \
        fm::write(data, order, kept, out, record, rows, req, record_req); \
    } \
    extern "C" __global__ void box_nms_back_##T( \
        const T *grad, const int32 *slots, T *out, int64 boxes, int64 width, int64 count, int req) { \
        fm::back(grad, slots, out, boxes, width, count, req); \
    }
FM_FLOATS(FM_NMS_ENTRIES, )

#define FM_SUPPRESS_ENTRY(T, ...) \
    extern "C" __global__ void box_nms_suppress_##T( \
        T *places, const int64 *classes, uint8 *fates, int64 *kept, \
        const __grid_constant__ fm::Rule rule) { \
        fm::suppress(places, classes, fates, kept, rule); \
    }
FM_REALS(FM_SUPPRESS_ENTRY, )

#define FM_SLOT_ENTRIES \
    extern "C" __global__ void box_nms_clear_int32(int32 *slots, int64 count) { \
        fm::each(count, [&](int64 i) { slots[i] = -1; }); \
    } \
    extern "C" __global__ void box_nms_find_int32( \
        const int64 *record, int32 *slots, int64 boxes, int64 count) { \
        fm::find(record, slots, boxes, count); \
    }
FM_IF_int32(FM_SLOT_ENTRIES)

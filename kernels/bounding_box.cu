// Overlaps of boxes, the offsets that move anchors to boxes, these boxes, and pairs of rows and columns.
//
// Entry points: bounding_box_iou_DTYPE(lhs, rhs, out, pairs, req), a thread for each overlap;
// bounding_box_decode_DTYPE(data, anchors, out, decode, req), a thread for each box;
// bounding_box_encode_DTYPE(samples, given, out, mask, encode, out_req, mask_req, refusal), a thread for each
// anchor, which refuses a match that is no box; bounding_box_marks_DTYPE(data, marks, count, ascending), what
// is sorted, the best first; bounding_box_match_DTYPE(data, order, partners, rows, columns, matching, rows_req,
// columns_req), a block for each matrix, with temporary memory for the partner of each row and column. No gaps.
#include "boxes.cuh"
#include "grid.cuh"
#include "map.cuh"
#include "refusal.cuh"
#include "shared.cuh"

namespace fm {

struct Pairs {
    int64 left, right, centered;
};

template <class T>
__device__ __forceinline__ void iou(const T *lhs, const T *rhs, T *out, const Pairs &pairs, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : pairs.left * pairs.right, [&](int64 i) {
        const Split at = split(i, pairs.right);
        const Place<C> a = place_of(box_at<C>(rhs + 4 * at.at), pairs.centered);
        const Place<C> b = place_of(box_at<C>(lhs + 4 * at.row), pairs.centered);
        put(out[i], convert<T>(overlap(a, b)), opaque(req == Add));
    });
}

/// `most` is the largest exponent.
struct Decode {
    int64 boxes, anchors, centered;
    float64 stds[4], most;
};

template <class T>
__device__ __forceinline__ void
decode(const T *data, const T *anchors, T *out, const Decode &d, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : d.boxes, [&](int64 i) {
        const Box<C> given = box_at<C>(anchors + 4 * split(i, d.anchors).at);
        Box<C> offsets = box_at<C>(data + 4 * i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            offsets.at[k] = times(offsets.at[k], (C)d.stds[k]);
        }
        const Box<C> found = decoded(offsets, d.centered ? given : center_of(given), (C)d.most);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            put(out[4 * i + k], convert<T>(found.at[k]), opaque(req == Add));
        }
    });
}

/// Anchors and boxes of an image.
struct Encode {
    int64 images, anchors, boxes;
};

/// For each anchor the number of its box, and the numbers to which offsets are scaled.
template <class T> struct Matched {
    const T *matches, *anchors, *boxes, *means, *stds;
};

/// The box that an anchor is to become; 0, and a refusal, where there is none.
template <class C>
__device__ __forceinline__ int64 match_of(C match, int64 boxes, Refusal *refusal) {
    if (match > (C)-1 && match < (C)boxes) {
        return (int64)match;
    }
    refuse(refusal, 1, convert<int64>(match));
    return 0;
}

template <class T>
__device__ __forceinline__ void encode(
    const T *samples, const Matched<T> &given, T *out, T *mask, const Encode &e, int out_req,
    int mask_req, Refusal *refusal) {
    typedef Compute<T> C;
    each(e.images * e.anchors, [&](int64 i) {
        const bool chosen = convert<C>(samples[i]) > (C)0.5;
        Box<C> offsets = {};
        if (chosen) {
            const int64 match = match_of(convert<C>(given.matches[i]), e.boxes, refusal);
            const T *const box = given.boxes + 4 * (split(i, e.anchors).row * e.boxes + match);
            const Box<C> from = center_of(box_at<C>(given.anchors + 4 * i));
            // There may be no box at all.
            offsets = e.boxes > 0 ? encoded(center_of(box_at<C>(box)), from) : offsets;
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const C moved = minus(offsets.at[k], convert<C>(given.means[k]));
            const C scaled = chosen ? over(moved, convert<C>(given.stds[k])) : (C)0;
            if (out_req != Null) {
                put(out[4 * i + k], convert<T>(scaled), opaque(out_req == Add));
            }
            if (mask_req != Null) {
                put(mask[4 * i + k], convert<T>(chosen ? (C)1 : (C)0), opaque(mask_req == Add));
            }
        }
    });
}

template <class T>
__device__ __forceinline__ void marks(const T *data, Compute<T> *out, int64 count, int ascending) {
    each(count, [&](int64 i) {
        const Compute<T> x = convert<Compute<T>>(data[i]);
        out[i] = mark_of(ascending ? -x : x);
    });
}

/// Matrices of scores, and after how many pairs no more are made.
struct Matching {
    int64 matrices, rows, columns, ascending, most;
    float64 threshold;
};

/// Makes the pairs of a matrix, the best first. Threads look at neighbours in that order, and the first one
/// whose row and column are free counts.
template <class T>
__device__ __forceinline__ void
pair_up(const T *data, const int64 *order, int32 *rows, int32 *columns, const Matching &m) {
    typedef Compute<T> C;
    FM_SHARED(int32, first, 1);
    const int64 pairs = m.rows * m.columns;
    const int32 me = threadIdx.x, none = blockDim.x;
    int64 start = 0, made = 0;
#pragma unroll 1
    while (start < pairs) {
        if (me == 0) {
            first[0] = none;
        }
        __syncthreads();
        if (start + me < pairs) {
            const Split at = split(order[start + me], m.columns);
            if (rows[at.row] < 0 && columns[at.at] < 0) {
                atomicMin(&first[0], me);
            }
        }
        __syncthreads();
        const int32 found = first[0];
        __syncthreads();
        start += found;
        if (found == none) {
            continue;
        }
        const Split at = split(order[start], m.columns);
        const C score = convert<C>(data[order[start]]), threshold = (C)m.threshold;
        if (!(m.ascending ? score < threshold : score > threshold) || made == m.most) {
            break;
        }
        if (me == 0) {
            rows[at.row] = (int32)at.at;
            columns[at.at] = (int32)at.row;
        }
        ++made;
        ++start;
    }
    __syncthreads();
}

template <class T>
__device__ __forceinline__ void match(
    const T *data, const int64 *order, int32 *partners, T *rows, T *columns, const Matching &m,
    int rows_req, int columns_req) {
    const int64 all = m.rows + m.columns, pairs = m.rows * m.columns;
#pragma unroll 1
    for (int64 matrix = blockIdx.x; matrix < m.matrices; matrix += gridDim.x) {
        int32 *const own = partners + matrix * all;
#pragma unroll 1
        for (int64 i = threadIdx.x; i < all; i += blockDim.x) {
            own[i] = -1;
        }
        pair_up(data + matrix * pairs, order + matrix * pairs, own, own + m.rows, m);
#pragma unroll 1
        for (int64 i = threadIdx.x; i < all; i += blockDim.x) {
            const T partner = convert<T>((int64)own[i]);
            if (i < m.rows && rows_req != Null) {
                put(rows[matrix * m.rows + i], partner, opaque(rows_req == Add));
            } else if (i >= m.rows && columns_req != Null) {
                put(columns[matrix * m.columns + i - m.rows], partner, opaque(columns_req == Add));
            }
        }
    }
}

} // namespace fm

#define FM_BOX_ENTRIES(T, ...) \
    extern "C" __global__ void bounding_box_iou_##T( \
        const T *lhs, const T *rhs, T *out, const __grid_constant__ fm::Pairs pairs, int req) { \
        fm::iou(lhs, rhs, out, pairs, req); \
    } \
    extern "C" __global__ void bounding_box_decode_##T( \
        const T *data, const T *anchors, T *out, const __grid_constant__ fm::Decode decode, int req) { \
        fm::decode(data, anchors, out, decode, req); \
    } \
    extern "C" __global__ void bounding_box_encode_##T( \
        const T *samples, const __grid_constant__ fm::Matched<T> given, T *out, T *mask, \
        const __grid_constant__ fm::Encode encode, int out_req, int mask_req, fm::Refusal *refusal) { \
        fm::encode(samples, given, out, mask, encode, out_req, mask_req, refusal); \
    } \
    extern "C" __global__ void bounding_box_marks_##T( \
        const T *data, fm::Compute<T> *marks, int64 count, int ascending) { \
        fm::marks(data, marks, count, ascending); \
    } \
    extern "C" __global__ void bounding_box_match_##T( \
        const T *data, const int64 *order, int32 *partners, T *rows, T *columns, \
        const __grid_constant__ fm::Matching matching, int rows_req, int columns_req) { \
        fm::match(data, order, partners, rows, columns, matching, rows_req, columns_req); \
    }
FM_FLOATS(FM_BOX_ENTRIES, )

// A box as its corners or as its center, overlaps, and offsets of one box from another, in the order of
// operations of the CPU.
#pragma once
#include "convert.cuh"
#include "real.cuh"

namespace fm {

/// Left, top, right, bottom.
template <class C> struct Place {
    C at[4], area;
};

template <class C> struct Box {
    C at[4];
};

/// The four numbers from `from` on.
template <class C, class T> __device__ __forceinline__ Box<C> box_at(const T *from) {
    return {{convert<C>(from[0]), convert<C>(from[1]), convert<C>(from[2]), convert<C>(from[3])}};
}

/// The corners of a box that is given by its center, width and height.
template <class C> __device__ __forceinline__ Box<C> corners_of(const Box<C> &x) {
    const C w = over(x.at[2], (C)2), h = over(x.at[3], (C)2);
    return {{minus(x.at[0], w), minus(x.at[1], h), plus(x.at[0], w), plus(x.at[1], h)}};
}

/// Center, width and height of a box that is given by its corners.
template <class C> __device__ __forceinline__ Box<C> center_of(const Box<C> &x) {
    const C w = minus(x.at[2], x.at[0]), h = minus(x.at[3], x.at[1]);
    return {{plus(x.at[0], times(w, (C)0.5)), plus(x.at[1], times(h, (C)0.5)), w, h}};
}

template <class C>
__device__ __forceinline__ Place<C> place_of(const Box<C> &x, bool centered, C pixel = 0) {
    const Box<C> c = centered ? corners_of(x) : x;
    const C w = centered ? x.at[2] : plus(minus(x.at[2], x.at[0]), pixel);
    const C h = centered ? x.at[3] : plus(minus(x.at[3], x.at[1]), pixel);
    return {{c.at[0], c.at[1], c.at[2], c.at[3]}, times(w, h)};
}

/// How far two boxes overlap along an axis.
template <class C>
__device__ __forceinline__ C side(const Place<C> &a, const Place<C> &b, int k, C pixel) {
    const C end = b.at[k + 2] < a.at[k + 2] ? b.at[k + 2] : a.at[k + 2];
    const C start = b.at[k] > a.at[k] ? b.at[k] : a.at[k];
    const C length = plus(minus(end, start), pixel);
    return (C)0 > length ? (C)0 : length;
}

/// Intersection over union; 0 where there is no union. Extents count `pixel` more than the difference of
/// the corners.
template <class C>
__device__ __forceinline__ C overlap(const Place<C> &a, const Place<C> &b, C pixel = 0) {
    const C shared = times(side(a, b, 0, pixel), side(a, b, 1, pixel));
    const C all = minus(plus(a.area, b.area), shared);
    return all <= (C)0 ? (C)0 : over(shared, all);
}

template <class C> __device__ __forceinline__ C grown(C offset, C extent, C most) {
    return times(times(exponential(offset > most ? most : offset), extent), (C)0.5);
}

/// Where offsets move a box, given by its center: the center by parts of the extents, these by an
/// exponential, at most by `most`.
template <class C>
__device__ __forceinline__ Box<C> decoded(const Box<C> &offsets, const Box<C> &anchor, C most) {
    const C x = plus(times(offsets.at[0], anchor.at[2]), anchor.at[0]);
    const C y = plus(times(offsets.at[1], anchor.at[3]), anchor.at[1]);
    const C w = grown(offsets.at[2], anchor.at[2], most);
    const C h = grown(offsets.at[3], anchor.at[3], most);
    return {{minus(x, w), minus(y, h), plus(x, w), plus(y, h)}};
}

/// The offsets from one box to another, both given by their centers.
template <class C>
__device__ __forceinline__ Box<C> encoded(const Box<C> &to, const Box<C> &from) {
    return {{over(minus(to.at[0], from.at[0]), from.at[2]), over(minus(to.at[1], from.at[1]), from.at[3]),
             logarithm(over(to.at[2], from.at[2])), logarithm(over(to.at[3], from.at[3]))}};
}

/// A score as it is sorted: NaN is the lowest.
template <class C> __device__ __forceinline__ C mark_of(C score) {
    return score == score ? score : -over((C)1, (C)0);
}

/// Boxes of an image that are compared, `stride` in a row: coordinates and areas each by themselves.
template <class C> struct Compared {
    C *at;
    int64 stride;

    __device__ __forceinline__ Place<C> get(int64 i) const {
        return {{at[i], at[stride + i], at[2 * stride + i], at[3 * stride + i]}, at[4 * stride + i]};
    }
    __device__ __forceinline__ void set(int64 i, const Place<C> &place) const {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            at[k * stride + i] = place.at[k];
        }
        at[4 * stride + i] = place.area;
    }
};

/// What becomes of a box that is compared; from the first `Behind` on there are none.
enum Fate { Stays = 0, Gone = 1, Behind = 2 };

} // namespace fm

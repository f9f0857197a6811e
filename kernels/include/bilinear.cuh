// Points between the pixels of a plane: which pixels are around, how much each counts, and how that changes
// as the point moves, as on the CPU.
#pragma once
#include "convert.cuh"
#include "real.cuh"

namespace fm {

/// What lies beyond the first and the last pixel: zeros, or the pixels at the rim again as far as a pixel on
/// either side, half a pixel, or nothing before the first pixel and less than a pixel behind the last one.
enum class Rim { Zeros, Pixel, Half, Inside };

/// The two pixels around a coordinate, their weights, and what these change by as the coordinate grows.
/// `some` is false where all of them lie beyond the rim.
template <class R> struct Line {
    bool some;
    int64 at[2];
    R weight[2], slope[2];
};

template <class R> __device__ __forceinline__ Line<R> line_among_zeros(R x, int64 n) {
    const bool none = x != x;
    if (n == 0 || !((x > (R)-1 && x < (R)n) || none)) {
        return {};
    }
    const R below = none ? (R)0 : round_down(x), rest = minus(x, below);
    const int64 first = (int64)below;
    const bool left = first >= 0, right = first + 1 < n;
    return {true, {left ? first : 0, right ? first + 1 : n - 1},
        {left ? minus((R)1, rest) : (R)0, right ? rest : (R)0},
        {left ? (R)-1 : (R)0, right ? (R)1 : (R)0}};
}

/// `x` is not beyond the rim.
template <class R> __device__ __forceinline__ Line<R> line_clamped(R x, int64 n) {
    const int64 last = n - 1;
    if (x <= (R)0 || x >= (R)last) {
        const int64 at = x <= (R)0 ? 0 : last;
        // From the first pixel on the value changes.
        const int64 next = x == (R)0 && last > 0 ? 1 : at;
        const R slope = next == at ? (R)0 : (R)1;
        return {true, {at, next}, {(R)1, (R)0}, {opposite(slope), slope}};
    }
    const R below = round_down(x), rest = minus(x, below);
    const int64 at = (int64)below;
    return {true, {at, at + 1}, {minus((R)1, rest), rest}, {(R)-1, (R)1}};
}

/// The pixels around `x` of `n`.
template <Rim RIM, class R> __device__ __forceinline__ Line<R> line_at(R x, int64 n) {
    if (RIM == Rim::Zeros) {
        return line_among_zeros(x, n);
    }
    const R from = (R)(RIM == Rim::Pixel ? -1.0 : RIM == Rim::Half ? -0.5 : 0.0);
    const R end = (R)((float64)n + (RIM == Rim::Half ? -0.5 : 0.0));
    const bool within = x >= from && (RIM == Rim::Inside ? x < end : x <= end);
    return within && n > 0 ? line_clamped(x, n) : Line<R>{};
}

/// The four pixels around a point, by their places in the plane; `by` says how the weights change with
/// either coordinate. All weights are zero where nothing is read.
template <class R> struct Point {
    int64 at[4];
    R weight[4], by[2][4];
};

template <class R>
__device__ __forceinline__ void products(const R (&a)[2], const R (&b)[2], R (&out)[4]) {
    out[0] = times(a[0], b[0]);
    out[1] = times(a[0], b[1]);
    out[2] = times(a[1], b[0]);
    out[3] = times(a[1], b[1]);
}

/// The point at `(y, x)` of a plane of so many rows and columns.
template <Rim RIM, class R>
__device__ __forceinline__ Point<R> point_at(R y, R x, int64 rows, int64 columns) {
    const Line<R> down = line_at<RIM>(y, rows), along = line_at<RIM>(x, columns);
    Point<R> point = {};
    if (down.some && along.some) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            point.at[k] = down.at[k / 2] * columns + along.at[k % 2];
        }
        products(down.weight, along.weight, point.weight);
        products(down.slope, along.weight, point.by[0]);
        products(down.weight, along.slope, point.by[1]);
    }
    return point;
}

/// The sum of pixels by their weights. Pixels without weight are not looked at, so that what is no number
/// there stays out of it.
template <class T, class R>
__device__ __forceinline__ R read(const T *plane, const int64 (&at)[4], const R (&weight)[4]) {
    R part[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        part[k] = weight[k] == (R)0 ? (R)0 : times(weight[k], convert<R>(plane[at[k]]));
    }
    return plus(plus(part[0], part[1]), plus(part[2], part[3]));
}

} // namespace fm

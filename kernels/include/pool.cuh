// Windows of one to three spatial axes: where they lie, and what becomes of what they cover.
#pragma once
#include "convert.cuh"
#include "least.cuh"
#include "map.cuh"
#include "real.cuh"

namespace fm {

struct PoolAxis {
    int64 input, output, kernel, stride, pad;
};

/// Arrays of (outer, spatial axes, inner): channels are outer, or inner where they come last.
struct Pool {
    int64 outer, inner;
    PoolAxis axes[3];
    /// Whether an average counts padding.
    int64 with_pad;
};

/// A part of an axis.
struct Range {
    int64 first, end;
};

/// What window `o` covers of the input.
__device__ __forceinline__ Range window(const PoolAxis &axis, int64 o) {
    const int64 first = o * axis.stride - axis.pad, end = first + axis.kernel;
    return {first < 0 ? 0 : first, end > axis.input ? axis.input : end};
}

/// The windows that cover an element.
__device__ __forceinline__ Range windows_of(const PoolAxis &axis, int64 at) {
    const int64 last = (at + axis.pad) / axis.stride, before = at + axis.pad - axis.kernel;
    const int64 first = before < 0 ? 0 : before / axis.stride + 1;
    return {first, last < axis.output ? last + 1 : axis.output};
}

__device__ __forceinline__ int64 divisor(const PoolAxis &axis, int64 o, bool with_pad) {
    int64 count;
    if (with_pad) {
        const int64 all = axis.input + 2 * axis.pad, end = o * axis.stride + axis.kernel;
        count = (end < all ? end : all) - o * axis.stride;
    } else {
        const Range in = window(axis, o);
        count = in.end - in.first;
    }
    return count < 0 ? 0 : count;
}

enum class Kind { Max, Avg, Sum, Squares, Cubes };

template <Kind KIND, class R>
__device__ __forceinline__ R share(const Pool &pool, int64 d, int64 h, int64 w) {
    if (KIND != Kind::Avg) {
        return (R)1;
    }
    const bool pad = pool.with_pad != 0;
    const int64 count = divisor(pool.axes[0], d, pad) * divisor(pool.axes[1], h, pad)
        * divisor(pool.axes[2], w, pad);
    return over((R)1, (R)(count < 1 ? 1 : count));
}

/// What the result of a window begins with.
template <Kind KIND, class T> __device__ __forceinline__ Compute<T> start_of() {
    if constexpr (KIND == Kind::Max) {
        return least<T>();
    } else {
        return 0;
    }
}

/// What is there and one element more; NaN loses every comparison.
template <Kind KIND, class R> __device__ __forceinline__ R with(R y, R x) {
    if (KIND == Kind::Max) {
        return x > y ? x : y;
    }
    return y + (KIND == Kind::Squares ? x * x : KIND == Kind::Cubes ? x * x * x : x);
}

/// What two threads found in one window.
template <Kind KIND, class R> __device__ __forceinline__ R joined(R a, R b) {
    return KIND == Kind::Max ? (b > a ? b : a) : a + b;
}

/// The result of a window whose elements gave `y`.
template <Kind KIND, class R> __device__ __forceinline__ R last_of(R y) {
    return KIND == Kind::Squares ? square_root(y) : KIND == Kind::Cubes ? cube_root(y) : y;
}

} // namespace fm

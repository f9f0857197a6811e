// Whole numbers of eight bits, or 32, that stand for real ones of a range, in the roundings of the CPU. Of
// a range, the larger magnitude counts.
#pragma once
#include "map.cuh"
#include "real.cuh"

namespace fm {

/// What stands for the larger magnitude of a range, and the largest number.
template <class T> struct Level {
    static constexpr float32 levels = 2147483648.0f, most = 2147483648.0f, least = -2147483648.0f;
};
template <> struct Level<int8> {
    static constexpr float32 levels = 127.5f, most = 127.0f, least = -128.0f;
};
template <> struct Level<uint8> {
    static constexpr float32 levels = 255.5f, most = 255.0f, least = 0.0f;
};

/// A number cut towards zero, within the bounds of T; 0 for NaN.
template <class T> __device__ __forceinline__ T cut(float32 x) {
    if constexpr (sizeof(T) == 1) {
        return x == x ? (T)(int32)clip(x, Level<T>::least, Level<T>::most) : (T)0;
    } else {
        const bool fits = x < Level<T>::most && x >= Level<T>::least;
        return fits ? (T)x : x > 0.0f ? (T)2147483647 : x < 0.0f ? (T)-2147483648ll : (T)0;
    }
}

/// The nearest number, of two the even one; 0 for NaN.
template <class T> __device__ __forceinline__ T nearest(float32 x) {
    if constexpr (sizeof(T) == 1) {
        // Floats of the size of 3 * 2^22 are whole numbers: a sum is rounded to one, in its last bits.
        const float32 inside = x == x ? clip(x, Level<T>::least, Level<T>::most) : 0.0f;
        return (T)(__float_as_uint(plus(inside, 12582912.0f)) & 0xffu);
    } else {
        return cut<T>(rintf(x));
    }
}

/// The real number that is one of a byte, which has a sign or none.
__device__ __forceinline__ float32 real_of(uint8 x, bool is_unsigned) {
    return is_unsigned ? (float32)x : (float32)(int8)x;
}
__device__ __forceinline__ float32 levels_of(bool is_unsigned) {
    return is_unsigned ? Level<uint8>::levels : Level<int8>::levels;
}

struct Range {
    float32 low, high;

    __device__ __forceinline__ float32 most() const { return fmaxf(magnitude(low), magnitude(high)); }
};
__device__ __forceinline__ Range even(float32 most) { return {-most, most}; }

/// A range in memory, or one that is known.
struct Ends {
    const float32 *low, *high;
    Range known;

    __device__ __forceinline__ Range get() const { return low == nullptr ? known : Range{*low, *high}; }
};

/// Where a range goes.
struct Shown {
    float32 *low, *high;
    int low_req, high_req;

    /// One thread of the grid writes it.
    __device__ __forceinline__ void put(const Range &range) const {
        const unsigned me = threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y + blockIdx.z;
        if (me == 0 && low_req != Null) {
            fm::put(*low, range.low, low_req == Add);
        }
        if (me == 0 && high_req != Null) {
            fm::put(*high, range.high, high_req == Add);
        }
    }
};

} // namespace fm

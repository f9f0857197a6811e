// Regions of images, as detectors list them: each begins with the number of its image.
#pragma once
#include "convert.cuh"
#include "real.cuh"
#include "refusal.cuh"

namespace fm {

/// The image that a number stands for: fractions are cut. -1 where it is negative; other numbers are refused
/// by what is `told` (1).
template <class R>
__device__ __forceinline__ int64 image_of(R number, int64 images, int64 told, Refusal *refusal) {
    const R whole = round_to_zero(number);
    if (whole >= (R)0 && whole < (R)images) {
        return (int64)whole;
    }
    if (!(whole < (R)0)) {
        refuse(refusal, 1, told);
    }
    return -1;
}

/// A whole number, cut to those of 64 bits; 0 for none.
template <class R> __device__ __forceinline__ int64 whole_of(R x) {
    if (!(x > (R)-9223372036854775808.0)) {
        return x == x ? (int64)0x8000000000000000ull : 0;
    }
    return x < (R)9223372036854775808.0 ? (int64)x : 0x7fffffffffffffffll;
}

/// A sum, cut to numbers of 64 bits.
__device__ __forceinline__ int64 cut_sum(int64 a, int64 b) {
    const int64 sum = plus(a, b);
    const bool fits = (a < 0) != (b < 0) || (sum < 0) == (a < 0);
    return fits ? sum : a < 0 ? (int64)0x8000000000000000ull : 0x7fffffffffffffffll;
}

} // namespace fm

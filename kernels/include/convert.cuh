// Conversions between element types, with the results of the CPU kernels: a real number is
// truncated towards zero to an integer; NaN and what does not fit give the least integer of 32 (64
// for int64) bits, of which byte types keep the lowest byte; everything but zero is true.
#pragma once
#include "half.cuh"

namespace fm {

// The widest of float32, float64 and int64 that holds every value of a type.
__device__ __forceinline__ float32 wide(float32 x) { return x; }
__device__ __forceinline__ float64 wide(float64 x) { return x; }
__device__ __forceinline__ float32 wide(float16 x) { return widen(x); }
__device__ __forceinline__ float32 wide(bfloat16 x) { return widen(x); }
template <class T> __device__ __forceinline__ int64 wide(T x) { return (int64)x; }

/// Integers of 32 bits and bytes; int64 and the others are below.
template <class D> struct From {
    template <class W> static __device__ __forceinline__ D real(W x) {
        const bool fits = x < (W)2147483648.0 && x > (W)-2147483649.0;
        return (D)(fits ? (int32)x : (int32)0x80000000);
    }
    static __device__ __forceinline__ D from(float32 x) { return real(x); }
    static __device__ __forceinline__ D from(float64 x) { return real(x); }
    static __device__ __forceinline__ D from(int64 x) { return (D)x; }
};

template <> struct From<int64> {
    template <class W> static __device__ __forceinline__ int64 real(W x) {
        const bool fits = x < (W)9223372036854775808.0 && x >= (W)-9223372036854775808.0;
        return fits ? (int64)x : (int64)0x8000000000000000ull;
    }
    static __device__ __forceinline__ int64 from(float32 x) { return real(x); }
    static __device__ __forceinline__ int64 from(float64 x) { return real(x); }
    static __device__ __forceinline__ int64 from(int64 x) { return x; }
};

template <> struct From<bool> {
    template <class W> static __device__ __forceinline__ bool from(W x) { return x != (W)0; }
};

template <> struct From<float32> {
    template <class W> static __device__ __forceinline__ float32 from(W x) { return (float32)x; }
};

template <> struct From<float64> {
    template <class W> static __device__ __forceinline__ float64 from(W x) { return (float64)x; }
};

template <class H> struct FromToHalf {
    static __device__ __forceinline__ H from(float32 x) {
        H y;
        narrow(x, y);
        return y;
    }
    static __device__ __forceinline__ H from(float64 x) {
        H y;
        narrow(x, y);
        return y;
    }
    static __device__ __forceinline__ H from(int64 x) { return from((float64)x); }
};
template <> struct From<float16> : FromToHalf<float16> {};
template <> struct From<bfloat16> : FromToHalf<bfloat16> {};

template <class D, class S> struct Convert {
    static __device__ __forceinline__ D run(S x) { return From<D>::from(wide(x)); }
};
template <class T> struct Convert<T, T> {
    static __device__ __forceinline__ T run(T x) { return x; }
};

/// `x` as a D.
template <class D, class S> __device__ __forceinline__ D convert(S x) {
    return Convert<D, S>::run(x);
}

/// A bound as a T: reals are rounded, integers truncated but kept within the range of T; NaN
/// gives 0.
template <class T> __device__ __forceinline__ T saturate(float64 x) {
    if constexpr (!Type<T>::integer) {
        return (T)x;
    } else {
        constexpr bool is_signed = (T)-1 < (T)0;
        constexpr int bits = 8 * sizeof(T) - (is_signed ? 1 : 0);
        constexpr float64 end = 2.0 * (float64)(1ull << (bits - 1));
        constexpr T highest = (T)((1ull << bits) - 1);
        constexpr T lowest = is_signed ? (T)(-highest - 1) : (T)0;
        if (x >= end) {
            return highest;
        }
        if (x <= (is_signed ? -end : 0.0)) {
            return lowest;
        }
        return x == x ? (T)x : (T)0;
    }
}

} // namespace fm

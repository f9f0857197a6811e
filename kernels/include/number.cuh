// Arithmetic of the types that kernels compute in, with the results of the CPU kernels: integers
// wrap, an integer divided by zero is zero, `modulo` takes the sign of the divisor, comparisons
// give 0 or 1. Products and sums are rounded one by one, never fused, as on the CPU.
#pragma once
#include "half.cuh"

namespace fm {

typedef unsigned long long Word;

/// Whether a number is below zero, which no unsigned one is.
template <class T> __device__ __forceinline__ bool negative(T a) {
    if constexpr ((T)-1 < (T)0) {
        return a < (T)0;
    } else {
        return false;
    }
}

template <class T> __device__ __forceinline__ T plus(T a, T b) { return (T)((Word)a + (Word)b); }
template <class T> __device__ __forceinline__ T minus(T a, T b) { return (T)((Word)a - (Word)b); }
template <class T> __device__ __forceinline__ T times(T a, T b) { return (T)((Word)a * (Word)b); }
template <class T> __device__ __forceinline__ T opposite(T a) { return (T)(0ull - (Word)a); }
template <class T> __device__ __forceinline__ T magnitude(T a) { return negative(a) ? opposite(a) : a; }

template <class T> __device__ __forceinline__ T over(T a, T b) {
    if (b == (T)0) {
        return (T)0;
    }
    // The one quotient that does not fit: the least integer by -1.
    return (T)-1 < (T)0 && b == (T)-1 ? opposite(a) : (T)(a / b);
}

template <class T> __device__ __forceinline__ T modulo(T a, T b) {
    if (b == (T)0 || ((T)-1 < (T)0 && b == (T)-1)) {
        return (T)0;
    }
    const T r = (T)(a % b);
    return r != (T)0 && negative(r) != negative(b) ? (T)(r + b) : r;
}

// Truth values add up to a truth value.
__device__ __forceinline__ bool plus(bool a, bool b) { return a || b; }

__device__ __forceinline__ float32 plus(float32 a, float32 b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float32 minus(float32 a, float32 b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float32 times(float32 a, float32 b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float32 over(float32 a, float32 b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ float32 opposite(float32 a) { return -a; }
__device__ __forceinline__ float32 magnitude(float32 a) { return fabsf(a); }

__device__ __forceinline__ float64 plus(float64 a, float64 b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float64 minus(float64 a, float64 b) { return __dsub_rn(a, b); }
__device__ __forceinline__ float64 times(float64 a, float64 b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float64 over(float64 a, float64 b) { return __ddiv_rn(a, b); }
__device__ __forceinline__ float64 opposite(float64 a) { return -a; }
__device__ __forceinline__ float64 magnitude(float64 a) { return fabs(a); }

// Halves that are added as stored: what an accumulating copy does.
template <class H> __device__ __forceinline__ H half_sum(H a, H b) {
    H y;
    narrow(__fadd_rn(widen(a), widen(b)), y);
    return y;
}
__device__ __forceinline__ float16 plus(float16 a, float16 b) { return half_sum(a, b); }
__device__ __forceinline__ bfloat16 plus(bfloat16 a, bfloat16 b) { return half_sum(a, b); }

__device__ __noinline__ float32 remainder_of(float32 a, float32 b) { return fmodf(a, b); }
__device__ __noinline__ float64 remainder_of(float64 a, float64 b) { return fmod(a, b); }

template <class R> __device__ __forceinline__ R real_modulo(R a, R b) {
    if (b == (R)0) {
        return (R)0;
    }
    const R r = remainder_of(a, b);
    return r != (R)0 && negative(r) != negative(b) ? plus(r, b) : r;
}
__device__ __forceinline__ float32 modulo(float32 a, float32 b) { return real_modulo(a, b); }
__device__ __forceinline__ float64 modulo(float64 a, float64 b) { return real_modulo(a, b); }

/// The larger one; NaN if either is.
template <class T> __device__ __forceinline__ T larger(T a, T b) { return a > b || a != a ? a : b; }

/// The smaller one; NaN if either is.
template <class T> __device__ __forceinline__ T smaller(T a, T b) { return a < b || a != a ? a : b; }

/// -1, 0 or 1; 0 for NaN.
template <class T> __device__ __forceinline__ T sign(T a) {
    return a > (T)0 ? (T)1 : negative(a) ? opposite((T)1) : (T)0;
}

/// Whether a number counts as true.
template <class T> __device__ __forceinline__ bool truth(T a) { return a != (T)0; }

/// `x` moved into the bounds; NaN stays, and the upper bound counts first.
template <class T> __device__ __forceinline__ T clip(T x, T low, T high) {
    return x > high ? high : x < low ? low : x;
}

} // namespace fm

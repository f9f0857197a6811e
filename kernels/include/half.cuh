// Conversions of the two half-precision types, rounding to nearest even.
#pragma once
#include "types.cuh"

namespace fm {

__device__ __forceinline__ float32 widen(float16 x) {
#ifdef FM_HOST
    return fm_host_widen(x.bits);
#else
    float32 y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
#endif
}

__device__ __forceinline__ float32 widen(bfloat16 x) {
    return __uint_as_float((unsigned)x.bits << 16);
}

__device__ __forceinline__ void narrow(float32 x, float16 &y) {
#ifdef FM_HOST
    y.bits = fm_host_narrow(x);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#endif
}

__device__ __forceinline__ void narrow(float64 x, float16 &y) {
#ifdef FM_HOST
    y.bits = fm_host_narrow(x);
#else
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
#endif
}

__device__ __forceinline__ void narrow(float32 x, bfloat16 &y) {
    const unsigned bits = __float_as_uint(x);
    // Half a unit of the last place that stays, or a little less where that place is even.
    const unsigned rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    y.bits = (unsigned short)(x != x ? 0x7fc0u | bits >> 16 : rounded >> 16);
}

__device__ __forceinline__ void narrow(float64 x, bfloat16 &y) {
    // Rounding to odd first keeps what the second rounding must know (Boldo and Melquiond, "When
    // double rounding is odd", 2005).
    float32 cut = __double2float_rz(x);
    if (x == x && (float64)cut != x) {
        cut = __uint_as_float(__float_as_uint(cut) | 1u);
    }
    narrow(cut, y);
}

} // namespace fm

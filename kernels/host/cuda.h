// Enough of CUDA's language for a C++ compiler of the host: with `block.h`, the sources run without a
// GPU, instruction by instruction of their own arithmetic. A launcher includes it before a source.
#pragma once
#define FM_HOST 1
#include "block.h"
#include <math.h>

#define __device__
#define __host__
#ifndef __global__
#define __global__
#endif
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __restrict__

template <class D, class S> inline D fm_host_bits(S x) {
    static_assert(sizeof(D) == sizeof(S), "as large");
    D y;
    memcpy(&y, &x, sizeof x);
    return y;
}

// Conversions.
inline float fm_host_widen(unsigned short x) { return (float)fm_host_bits<_Float16>(x); }
template <class S> inline unsigned short fm_host_narrow(S x) {
    return fm_host_bits<unsigned short>((_Float16)x);
}
inline float __uint_as_float(unsigned x) { return fm_host_bits<float>(x); }
inline unsigned __float_as_uint(float x) { return fm_host_bits<unsigned>(x); }
inline float __double2float_rz(double x) {
    const float y = (float)x;
    return fabs((double)y) > fabs(x) ? nextafterf(y, 0) : y;
}

// Arithmetic that no compiler may merge.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frcp_rn(float a) { return 1 / a; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __drcp_rn(double a) { return 1 / a; }

// Threads that wait for each other.
inline void __syncthreads() { fm_host::wait(fm_host::State::AtBarrier); }
inline void __syncwarp(unsigned mask = 0xffffffffu) {
    fm_host::wait(fm_host::State::InWarp, mask);
}
template <class T> inline T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
    return fm_host::exchange(mask, value, [=](int lane) { return lane / width * width + from % width; });
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int flip, int width = warpSize) {
    return fm_host::exchange(mask, value, [=](int lane) {
        return (lane ^ flip) / width > lane / width ? lane : lane ^ flip;
    });
}
template <class T> inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    return fm_host::exchange(mask, value, [=](int lane) {
        return lane % width + (int)by < width ? lane + (int)by : lane;
    });
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
    return fm_host::exchange(
        mask, value, [=](int lane) { return lane % width >= (int)by ? lane - (int)by : lane; });
}

// Launches run one at a time on a thread, and those that run beside them write elsewhere.
template <class T> inline T atomicAdd(T *at, T value) {
    const T old = *at;
    *at = old + value;
    return old;
}
template <class T> inline T atomicMax(T *at, T value) {
    const T old = *at;
    *at = old < value ? value : old;
    return old;
}
template <class T> inline T atomicMin(T *at, T value) {
    const T old = *at;
    *at = value < old ? value : old;
    return old;
}
template <class T> inline T atomicCAS(T *at, T expected, T value) {
    const T old = *at;
    *at = old == expected ? value : old;
    return old;
}

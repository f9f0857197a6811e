// The least finite numbers, from which maxima begin as on the CPU.
#pragma once
#include "types.cuh"

namespace fm {

template <class T> __device__ __forceinline__ Compute<T> least();
template <> __device__ __forceinline__ float32 least<float32>() { return __uint_as_float(0xff7fffffu); }
template <> __device__ __forceinline__ float64 least<float64>() { return -1.7976931348623157e308; }
template <> __device__ __forceinline__ float32 least<float16>() { return -65504.0f; }
template <> __device__ __forceinline__ float32 least<bfloat16>() { return __uint_as_float(0xff7f0000u); }

} // namespace fm

// How many elements are of a kind: each block counts its part, and who asks adds the parts up.
#pragma once
#include "fold.cuh"

namespace fm {

/// Sets `counts[blockIdx.x]`; threads lie along y, their number is a power of two.
template <class T, class F>
__device__ __forceinline__ void count(const T *data, int64 size, int64 *counts, F is_one) {
    FM_SHARED(int64, part, MOST_THREADS);
    int64 found = 0;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.y + threadIdx.y; i < size;
         i += gridDim.x * (int64)blockDim.y) {
        found += is_one(data[i]) ? 1 : 0;
    }
    found = together(found, part, [](int64 a, int64 b) { return a + b; });
    if (threadIdx.y == 0) {
        counts[blockIdx.x] = found;
    }
}

/// A divisor: what was counted, at least 1; without counts, the one given.
__device__ __forceinline__ float64 divisor(const int64 *counts, int64 parts, float64 given) {
    if (counts == nullptr) {
        return given;
    }
    int64 sum = 0;
#pragma unroll 1
    for (int64 i = 0; i < parts; ++i) {
        sum += counts[i];
    }
    return (float64)(sum < 1 ? 1 : sum);
}

} // namespace fm

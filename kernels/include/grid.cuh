// Things that the threads of a one-dimensional grid share, and positions taken apart.
#pragma once
#include "types.cuh"

namespace fm {

/// Calls `f` with this thread's share of the numbers below `total`.
template <class F> __device__ __forceinline__ void each(int64 total, F f) {
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < total;
         i += gridDim.x * (int64)blockDim.x) {
        f(i);
    }
}

/// A position in rows: which row, and where in it.
struct Split {
    int64 row, at;
};

/// Both, by the short division where it does.
__device__ __forceinline__ Split split(int64 position, int64 width) {
    if ((unsigned long long)(position | width) <= 0xffffffffull) {
        const unsigned row = (unsigned)position / (unsigned)width;
        return {row, (int64)((unsigned)position - row * (unsigned)width)};
    }
    const int64 row = position / width;
    return {row, position - row * width};
}

} // namespace fm

// AdaGrad with one state for each row, whose elements threads along y, a power of two, share.
#pragma once
#include "fold.cuh"
#include "update.cuh"

namespace fm {

/// The step of a row, whose gradient is `grad`; rates are lr, rescale_grad, clip_gradient, epsilon.
template <class T>
__device__ __forceinline__ void group_adagrad_row(
    const T *weight, const T *grad, T *history, T *out, int64 row, int64 width,
    const Rates<4> &rates, int req) {
    FM_SHARED(T, part, MOST_THREADS);
    const T lr = (T)rates.at[0], scale = (T)rates.at[1], bound = (T)rates.at[2];
    const int64 first = row * width;
    T sum = 0;
#pragma unroll 1
    for (int64 i = threadIdx.y; i < width; i += blockDim.y) {
        const T g = clipped(scale * grad[i], bound);
        sum += g * g;
    }
    sum = together(sum, part, [](T a, T b) { return a + b; });
    const T state = history[row] + sum / (T)(width < 1 ? 1 : width);
    const T root = square_root(state + (T)rates.at[3]);
#pragma unroll 1
    for (int64 i = threadIdx.y; i < width && req != Null; i += blockDim.y) {
        const T g = clipped(scale * grad[i], bound);
        put(out[first + i], weight[first + i] - lr * g / root, req == Add);
    }
    __syncthreads(); // all have read the state
    if (threadIdx.y == 0) {
        history[row] = state;
    }
}

} // namespace fm

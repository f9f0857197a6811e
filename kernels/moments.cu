// Means and variances over axes: the mean first, then the squared distances from it.
//
// Entry points: moments_DTYPE(data, mean, var, walk, mean_req, var_req). Threads along y, a power of two,
// share an output. Halves are computed in float32, integers in int64.
#include "fold.cuh"

namespace fm {

/// A pass over the elements of an output: the sum of `lift` of each, in all threads that have it.
template <class T, class C, class F>
__device__ __forceinline__ C
sum_of(const T *from, const FoldWalk &walk, C (&part)[MOST_THREADS], F lift) {
    C sum = 0;
#pragma unroll 1
    for (int64 i = threadIdx.y; i < walk.count; i += blockDim.y) {
        const int64 at = offset_of(i, walk.reduced_rank, walk.reduced, walk.reduced_strides);
        sum = plus(sum, lift(convert<C>(from[at])));
    }
    return together(sum, part, [](C a, C b) { return plus(a, b); });
}

template <class T>
__device__ __forceinline__ void
moments(const T *data, T *mean, T *var, const FoldWalk &walk, int mean_req, int var_req) {
    typedef Wide<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    const C count = (C)walk.count;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < walk.outputs;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 output = first + threadIdx.x, known = output < walk.outputs ? output : 0;
        const T *const from = data + offset_of(known, walk.kept_rank, walk.kept, walk.kept_strides);
        const C center = over(sum_of(from, walk, part, [](C x) { return x; }), count);
        const C squares = sum_of(from, walk, part, [=](C x) {
            return times(minus(x, center), minus(x, center));
        });
        if (threadIdx.y == 0 && output < walk.outputs) {
            if (mean_req != Null) {
                put(mean[output], center, mean_req == Add);
            }
            if (var_req != Null) {
                put(var[output], over(squares, count), var_req == Add);
            }
        }
    }
}

} // namespace fm

#define FM_MOMENTS_ENTRY(T, ...) \
    extern "C" __global__ void moments_##T( \
        const T *data, T *mean, T *var, const __grid_constant__ fm::FoldWalk walk, int mean_req, \
        int var_req) { \
        fm::moments(data, mean, var, walk, mean_req, var_req); \
    }
FM_NUMBERS(FM_MOMENTS_ENTRY, )

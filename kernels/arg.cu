// Where the largest or smallest element lies: the first of equals, and NaN counts as the extreme one.
//
// Entry points: arg_max_DTYPE(data, places, walk) and arg_min_DTYPE. Threads along y, a power of two,
// share an output.
#include "fold.cuh"

namespace fm {

template <class C> struct Found {
    C value;
    /// -1 where there is none.
    int64 place;
};

template <bool LEAST, class C>
__device__ __forceinline__ Found<C> better(const Found<C> &a, const Found<C> &b) {
    if (a.place < 0 || b.place < 0) {
        return a.place < 0 ? b : a;
    }
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    if (a_nan != b_nan) {
        return a_nan ? a : b;
    }
    if (a_nan || a.value == b.value) {
        return a.place < b.place ? a : b;
    }
    return (LEAST ? a.value < b.value : a.value > b.value) ? a : b;
}

template <bool LEAST, class T>
__device__ __forceinline__ void arg(const T *data, int64 *places, const FoldWalk &walk) {
    typedef Compute<T> C;
    FM_SHARED(Found<C>, part, MOST_THREADS);
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < walk.outputs;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 output = first + threadIdx.x, known = output < walk.outputs ? output : 0;
        const T *const from = data + offset_of(known, walk.kept_rank, walk.kept, walk.kept_strides);
        Found<C> best = {0, -1};
#pragma unroll 1
        for (int64 i = threadIdx.y; i < walk.count; i += blockDim.y) {
            const int64 at = offset_of(i, walk.reduced_rank, walk.reduced, walk.reduced_strides);
            best = better<LEAST>(best, {convert<C>(from[at]), i});
        }
        best = together(best, part, better<LEAST, C>);
        if (threadIdx.y == 0 && output < walk.outputs) {
            places[output] = best.place;
        }
    }
}

} // namespace fm

#define FM_ARG_ENTRIES(T, ...) \
    extern "C" __global__ void arg_max_##T( \
        const T *data, int64 *places, const __grid_constant__ fm::FoldWalk walk) { \
        fm::arg<false>(data, places, walk); \
    } \
    extern "C" __global__ void arg_min_##T( \
        const T *data, int64 *places, const __grid_constant__ fm::FoldWalk walk) { \
        fm::arg<true>(data, places, walk); \
    }
FM_NUMBERS(FM_ARG_ENTRIES, )

// Any number of tensors at once: their squared norms in float64, and whether all elements are finite.
//
// Entry points: tensors_squares_DTYPE(arrays, partial) with a row of blocks for each array and threads
// along y, a power of two, then tensors_sums_float32(partial, out, first, count, parts, req);
// tensors_start_int32(found), tensors_search_DTYPE(arrays, found), tensors_verdict_float32(found, out,
// init, req).
#include "fold.cuh"
#include "grid.cuh"

namespace fm {

/// As many arrays as one launch takes.
template <class T> struct Arrays {
    int64 count;
    const T *at[64];
    int64 sizes[64];
};

/// Calls `one` with this thread's share of the elements of the array of its row of blocks.
template <class T, class F>
__device__ __forceinline__ void elements(const Arrays<T> &arrays, F one) {
    const T *const data = arrays.at[blockIdx.y];
    const int64 size = arrays.sizes[blockIdx.y];
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.y + threadIdx.y; i < size;
         i += gridDim.x * (int64)blockDim.y) {
        one(data[i]);
    }
}

template <class T>
__device__ __forceinline__ void squares(const Arrays<T> &arrays, float64 *partial) {
    FM_SHARED(float64, part, MOST_THREADS);
    float64 sum = 0;
    elements(arrays, [&](T x) {
        const float64 wide = convert<float64>(x);
        sum = plus(sum, times(wide, wide));
    });
    sum = together(sum, part, [](float64 a, float64 b) { return plus(a, b); });
    if (threadIdx.y == 0) {
        partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
    }
}

} // namespace fm

#define FM_TENSORS_ENTRIES(T, ...) \
    extern "C" __global__ void tensors_squares_##T( \
        const __grid_constant__ fm::Arrays<T> arrays, float64 *partial) { \
        fm::squares(arrays, partial); \
    } \
    extern "C" __global__ void tensors_search_##T( \
        const __grid_constant__ fm::Arrays<T> arrays, int32 *found) { \
        fm::elements(arrays, [&](T x) { \
            if (fm::times(fm::convert<fm::Compute<T>>(x), (fm::Compute<T>)0) != 0) { \
                atomicMax(found, 1); \
            } \
        }); \
    }
FM_FLOATS(FM_TENSORS_ENTRIES, )

#define FM_SUMS_ENTRIES \
    extern "C" __global__ void tensors_sums_float32( \
        const float64 *partial, float32 *out, int64 first, int64 count, int64 parts, int req) { \
        fm::each(req == fm::Null ? 0 : count, [=](int64 k) { \
            float64 sum = 0; \
            for (int64 i = 0; i < parts; ++i) { \
                sum = fm::plus(sum, partial[k * parts + i]); \
            } \
            fm::put(out[first + k], sum, req == fm::Add); \
        }); \
    } \
    extern "C" __global__ void tensors_verdict_float32( \
        const int32 *found, float32 *out, int init, int req) { \
        const bool is_told = req != fm::Null && (init || *found); \
        fm::each(is_told ? 1 : 0, [=](int64 i) { \
            fm::put(out[i], *found ? 0.0f : 1.0f, req == fm::Add); \
        }); \
    }
FM_IF_float32(FM_SUMS_ENTRIES)
#define FM_START_ENTRY \
    extern "C" __global__ void tensors_start_int32(int32 *found) { \
        fm::each(1, [=](int64 i) { found[i] = 0; }); \
    }
FM_IF_int32(FM_START_ENTRY)

// Real numbers as whole ones of eight bits, for a range, and back.
//
// Entry points: quantize_bounds_float32 and quantize_bounds_int32(lows, highs, count, to), the least and the
// greatest number that each block finds, threads lying along y; quantize_range_float32(ends, shown);
// quantize_real_DTYPE(data, out, ends, shown, walk, levels, req), quantize_asym_uint8(data, out, ends, shown,
// walk, req), quantize_back_DTYPE(data, out, ends, walk, req) and quantize_sums_DTYPE(data, out, ends, found,
// known, shown, walk, req), of int8 and uint8, some elements for each thread. No gaps.
#include "fold.cuh"
#include "levels.cuh"

namespace fm {

/// Writes the least numbers of all blocks, and behind them the greatest. NaN counts only if it comes first.
template <class T>
__device__ __forceinline__ void bounds(const T *lows, const T *highs, int64 count, T *to) {
    FM_SHARED(T, part, MOST_THREADS);
    T low = count > 0 ? lows[0] : (T)0, high = count > 0 ? highs[0] : (T)0;
    const int64 step = gridDim.x * (int64)blockDim.y;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.y + threadIdx.y; i < count; i += step) {
        low = lows[i] < low ? lows[i] : low;
        high = highs[i] > high ? highs[i] : high;
    }
    low = together(low, part, [](T a, T b) { return b < a ? b : a; });
    high = together(high, part, [](T a, T b) { return b > a ? b : a; });
    if (threadIdx.y == 0) {
        to[blockIdx.x] = low;
        to[gridDim.x + blockIdx.x] = high;
    }
}

template <class T>
__device__ __forceinline__ void quantize(
    const float32 *data, T *out, const Ends &ends, const Shown &shown, const Walk<2> &walk,
    float32 levels, int req) {
    const Range range = ends.get();
    const float32 most = range.most(), factor = over(levels, most);
    const float32 *const in[1] = {data};
    map<few_lanes<T, float32>>(out, in, walk, req, [&](const float32(&x)[1]) {
        return nearest<T>(times(x[0], factor));
    });
    shown.put((T)-1 < (T)0 ? even(most) : range);
}

__device__ __forceinline__ void
asymmetric(const float32 *data, uint8 *out, const Ends &ends, const Shown &shown, const Walk<2> &walk,
           int req) {
    const Range range = ends.get();
    const float32 most = Level<uint8>::most, factor = over(most, minus(range.high, range.low));
    const float32 shift = minus(most, times(range.high, factor));
    const float32 *const in[1] = {data};
    map<few_lanes<uint8, float32>>(out, in, walk, req, [&](const float32(&x)[1]) {
        return cut<uint8>(plus(plus(times(x[0], factor), shift), 0.5f));
    });
    shown.put({factor, shift});
}

template <class T>
__device__ __forceinline__ void
back(const T *data, float32 *out, const Ends &ends, const Walk<2> &walk, int req) {
    const float32 factor = over(ends.get().most(), Level<T>::levels);
    const T *const in[1] = {data};
    map<few_lanes<float32, T>>(out, in, walk, req, [&](const T(&x)[1]) {
        return times((float32)x[0], factor);
    });
}

/// Sums of a range; `found` are the least and the greatest, or null where a magnitude is known.
template <class T>
__device__ __forceinline__ void
sums(const int32 *data, T *out, const Ends &ends, const int32 *found, float32 known, const Shown &shown,
     const Walk<2> &walk, int req) {
    const float32 step = over(ends.get().most(), Level<int32>::levels);
    float32 most = known;
    if (found != nullptr) {
        const unsigned low = (unsigned)magnitude(found[0]), high = (unsigned)magnitude(found[1]);
        most = times((float32)(low > high ? low : high), step);
    }
    const float32 factor = times(step, over(Level<T>::most, most));
    const int32 *const in[1] = {data};
    map<few_lanes<T, int32>>(out, in, walk, req, [&](const int32(&x)[1]) {
        return nearest<T>(times((float32)x[0], factor));
    });
    shown.put({(T)-1 < (T)0 ? -most : 0.0f, most});
}

} // namespace fm

#define FM_BOUNDS_ENTRY(T) \
    extern "C" __global__ void quantize_bounds_##T( \
        const T *lows, const T *highs, int64 count, T *to) { \
        fm::bounds(lows, highs, count, to); \
    }
FM_IF_float32(FM_BOUNDS_ENTRY(float32))
FM_IF_int32(FM_BOUNDS_ENTRY(int32))

#define FM_QUANTIZE_ENTRIES(T) \
    extern "C" __global__ void quantize_real_##T( \
        const float32 *data, T *out, const __grid_constant__ fm::Ends ends, \
        const __grid_constant__ fm::Shown shown, const __grid_constant__ fm::Walk<2> walk, \
        float32 levels, int req) { \
        fm::quantize(data, out, ends, shown, walk, levels, req); \
    } \
    extern "C" __global__ void quantize_back_##T( \
        const T *data, float32 *out, const __grid_constant__ fm::Ends ends, \
        const __grid_constant__ fm::Walk<2> walk, int req) { \
        fm::back(data, out, ends, walk, req); \
    } \
    extern "C" __global__ void quantize_sums_##T( \
        const int32 *data, T *out, const __grid_constant__ fm::Ends ends, const int32 *found, \
        float32 known, const __grid_constant__ fm::Shown shown, \
        const __grid_constant__ fm::Walk<2> walk, int req) { \
        fm::sums(data, out, ends, found, known, shown, walk, req); \
    }
FM_IF_int8(FM_QUANTIZE_ENTRIES(int8))
FM_IF_uint8(FM_QUANTIZE_ENTRIES(uint8))

#define FM_ASYM_ENTRY \
    extern "C" __global__ void quantize_asym_uint8( \
        const float32 *data, uint8 *out, const __grid_constant__ fm::Ends ends, \
        const __grid_constant__ fm::Shown shown, const __grid_constant__ fm::Walk<2> walk, int req) { \
        fm::asymmetric(data, out, ends, shown, walk, req); \
    }
#define FM_RANGE_ENTRY \
    extern "C" __global__ void quantize_range_float32( \
        const __grid_constant__ fm::Ends ends, const __grid_constant__ fm::Shown shown) { \
        shown.put(ends.get()); \
    }
FM_IF_uint8(FM_ASYM_ENTRY)
FM_IF_float32(FM_RANGE_ENTRY)

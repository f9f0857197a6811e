// How many numbers fall between the edges of bins.
//
// Entry points: histogram_edges_DTYPE(bins, edges, counts, out, even, req), which makes the edges, float64, and
// puts zeros into `counts`; `bins` is null where all have one width; and histogram_count_DTYPE(data, size, edges,
// counts, even), whose blocks count in shared memory first, if there are few bins. No gaps.
#include "fold.cuh"
#include "grid.cuh"

namespace fm {

/// Bins that shared memory holds.
constexpr int FEW = 4096;

/// So many bins. Of those of one width the ends, and how many are in a width of 1.
struct Even {
    int64 count, is_even;
    float64 low, high, scale;
};

/// The edges, as the type of the data holds them.
template <class T>
__device__ __forceinline__ void
make_edges(const T *bins, float64 *edges, Word *counts, T *out, const Even &even, int req) {
    const float64 count = (float64)even.count;
    each(even.count + 1, [&](int64 i) {
        const float64 before = (float64)i, after = minus(count, before);
        const float64 sum = plus(times(even.high, before), times(after, even.low));
        const T edge = bins == nullptr ? convert<T>(over(sum, count)) : bins[i];
        edges[i] = convert<float64>(edge);
        if (i < even.count) {
            counts[i] = 0;
        }
        if (req != Null) {
            put(out[i], convert<T>(edges[i]), opaque(req == Add));
        }
    });
}

/// The bin of a number, or -1. The end of the last bin is in it.
__device__ __forceinline__ int64 bin_of(float64 x, const float64 *edges, const Even &even) {
    const int64 last = even.count - 1;
    if (even.is_even) {
        if (!(even.low <= x && x <= even.high)) {
            return -1;
        }
        // As edges are rounded to the type of the data, the neighbours are looked at, too.
        const float64 place = times(minus(x, even.low), even.scale);
        int64 guess = place < (float64)last ? (int64)place : last;
        guess -= guess > 0 && x < edges[guess];
        return guess + (guess < last && x >= edges[guess + 1]);
    }
    if (!(edges[0] <= x && x <= edges[even.count])) {
        return -1;
    }
    // How many of the edges after the first one are not above it.
    int64 low = 0, high = last;
#pragma unroll 1
    while (low < high) {
        const int64 middle = (low + high) / 2;
        if (edges[middle + 1] <= x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

template <class T>
__device__ __forceinline__ void
count(const T *data, int64 size, const float64 *edges, Word *counts, const Even &even) {
    FM_SHARED(unsigned, own, FEW);
    const int few = even.count <= FEW ? (int)even.count : 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < few; i += blockDim.x) {
        own[i] = 0;
    }
    __syncthreads();
    each(size, [&](int64 i) {
        const int64 bin = bin_of(convert<float64>(data[i]), edges, even);
        if (bin >= 0 && few) {
            atomicAdd(&own[bin], 1u);
        } else if (bin >= 0) {
            atomicAdd(&counts[bin], (Word)1);
        }
    });
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < few; i += blockDim.x) {
        if (own[i]) {
            atomicAdd(&counts[i], (Word)own[i]);
        }
    }
}

} // namespace fm

#define FM_HISTOGRAM_ENTRIES(T, ...) \
    extern "C" __global__ void histogram_edges_##T( \
        const T *bins, float64 *edges, fm::Word *counts, T *out, \
        const __grid_constant__ fm::Even even, int req) { \
        fm::make_edges(bins, edges, counts, out, even, req); \
    } \
    extern "C" __global__ void histogram_count_##T( \
        const T *data, int64 size, const float64 *edges, fm::Word *counts, \
        const __grid_constant__ fm::Even even) { \
        fm::count(data, size, edges, counts, even); \
    }
FM_NUMBERS(FM_HISTOGRAM_ENTRIES, )

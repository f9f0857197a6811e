// Different classes in each row, small ones more often: a class that a row has is tried again.
//
// Entry points: zipfian_clear_int32(seen, count), and zipfian_int64(classes, classes_req, tries, tries_req, seen,
// rows, stream), a block for each row. `seen` are tables of classes by their hashes, -1 where there is none.
#include "fold.cuh"
#include "grid.cuh"
#include "random.cuh"
#include "real.cuh"

namespace fm {

/// Rows of so many classes out of `range`, whose logarithm is known, and places of a table, a power of two.
struct Rows {
    int64 count, wanted, range, places;
    float64 logarithm;
};

__device__ __forceinline__ int64 place_of(int32 value, int64 places) {
    return (int64)((unsigned)value * 2654435769u) & (places - 1);
}

__device__ __forceinline__ bool is_in(const int32 *seen, int32 value, int64 places) {
    int64 at = place_of(value, places);
#pragma unroll 1
    while (seen[at] >= 0 && seen[at] != value) {
        at = (at + 1) & (places - 1);
    }
    return seen[at] == value;
}

__device__ __forceinline__ void enter(int32 *seen, int32 value, int64 places) {
    int64 at = place_of(value, places);
#pragma unroll 1
    while (atomicCAS(&seen[at], -1, value) >= 0) {
        at = (at + 1) & (places - 1);
    }
}

/// As many tries at a time as threads: those that are new, to the table and among themselves, are taken in
/// their order until there are enough.
__device__ __forceinline__ void unique(
    int64 *classes, int classes_req, int64 *tries, int tries_req, int32 *seen, const Rows &rows,
    const Stream &stream) {
    FM_SHARED(int32, tried, MOST_THREADS);
    FM_SHARED(int32, news, MOST_THREADS);
    FM_SHARED(int64, last, 1);
    const int me = threadIdx.x, width = blockDim.x;
#pragma unroll 1
    for (int64 row = blockIdx.x; row < rows.count; row += gridDim.x) {
        int32 *const own = seen + row * rows.places;
        int64 found = 0;
        if (me == 0) {
            last[0] = 0;
        }
#pragma unroll 1
        for (int64 first = 0; found < rows.wanted; first += width) {
            const int64 number = first + me;
            const Block words = block_of(stream, (Word)row << 32 | (Word)number / 2);
            const float64 u = fraction_of<float64>(words, (int)(number % 2));
            const int64 rank = (int64)round_away(exponential(times(u, rows.logarithm)));
            tried[me] = (int32)((rank - 1) % rows.range);
            __syncthreads();
            bool is_new = !is_in(own, tried[me], rows.places);
#pragma unroll 1
            for (int k = 0; k < me && is_new; ++k) {
                is_new = tried[k] != tried[me];
            }
            news[me] = is_new;
            __syncthreads();
            int32 before = 0, all = 0;
#pragma unroll 1
            for (int k = 0; k < width; ++k) {
                before += k < me ? news[k] : 0;
                all += news[k];
            }
            const int64 place = found + before;
            if (is_new && place < rows.wanted) {
                enter(own, tried[me], rows.places);
                if (classes_req != Null) {
                    put(classes[row * rows.wanted + place], (int64)tried[me], opaque(classes_req == Add));
                }
                if (place == rows.wanted - 1) {
                    last[0] = number + 1;
                }
            }
            found += all;
            __syncthreads();
        }
        if (me == 0 && tries_req != Null) {
            put(tries[row], last[0], opaque(tries_req == Add));
        }
        __syncthreads();
    }
}

} // namespace fm

#define FM_CLEAR_ENTRY \
    extern "C" __global__ void zipfian_clear_int32(int32 *seen, int64 count) { \
        fm::each(count, [=](int64 i) { seen[i] = -1; }); \
    }
FM_IF_int32(FM_CLEAR_ENTRY)
#define FM_ZIPFIAN_ENTRY \
    extern "C" __global__ void zipfian_int64( \
        int64 *classes, int classes_req, int64 *tries, int tries_req, int32 *seen, \
        const __grid_constant__ fm::Rows rows, const __grid_constant__ fm::Stream stream) { \
        fm::unique(classes, classes_req, tries, tries_req, seen, rows, stream); \
    }
FM_IF_int64(FM_ZIPFIAN_ENTRY)

// Random orders: elements go to 256 buckets by a random byte, in their order, and each bucket is put into an
// order by the method of Fisher and Yates. A few elements are one bucket.
//
// Entry points: shuffle_count_int32(counts, count, tiles, stream), how many elements of each tile go to each
// bucket, and, when those are where they start, shuffle_spread_int32(starts, places, count, tiles, stream), a
// block for each tile; shuffle_fill_int32(places, count), the elements in their order; shuffle_mix_int32(starts,
// places, count, tiles, stream), a block for each bucket; without `starts` there is one.
#include "fold.cuh"
#include "grid.cuh"
#include "random.cuh"

namespace fm {

/// Elements of a tile, 16 for each block of random words.
constexpr int TILE = 4096, BUCKETS = 256;
/// Places of an order that are drawn together.
constexpr int DRAWN = 2048;

/// Calls `each(bucket, element)` for the elements of a tile: each thread for buckets of its own, in the order of
/// elements; and `done(bucket)` when those of a bucket are through.
template <class F, class G>
__device__ __forceinline__ void
bucketed(int64 tile, int64 count, const Stream &stream, F each, G done) {
    FM_SHARED(unsigned, bytes, TILE / 4);
    const int64 first = tile * TILE, left = count - first;
    const int size = left < TILE ? (int)left : TILE;
#pragma unroll 1
    for (int b = threadIdx.x; b < TILE / 16; b += blockDim.x) {
        const Block words = block_of(stream, (Word)(first / 16 + b));
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            bytes[4 * b + k] = words.at[k];
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int bucket = threadIdx.x; bucket < BUCKETS; bucket += blockDim.x) {
#pragma unroll 1
        for (int k = 0; k < size; ++k) {
            if ((int)(bytes[k / 4] >> 8 * (k % 4) & 255) == bucket) {
                each(bucket, first + k);
            }
        }
        done(bucket);
    }
    __syncthreads();
}

/// Starts are numbered by bucket, then by tile.
__device__ __forceinline__ void
count(int32 *counts, int64 count, int64 tiles, const Stream &stream) {
#pragma unroll 1
    for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int32 found = 0;
        bucketed(
            tile, count, stream, [&](int, int64) { ++found; },
            [&](int bucket) {
                counts[bucket * tiles + tile] = found;
                found = 0;
            });
    }
}

__device__ __forceinline__ void
spread(const int32 *starts, int32 *places, int64 count, int64 tiles, const Stream &stream) {
#pragma unroll 1
    for (int64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int32 found = 0;
        bucketed(
            tile, count, stream,
            [&](int bucket, int64 element) {
                places[starts[bucket * tiles + tile] + found++] = (int32)element;
            },
            [&](int) { found = 0; });
    }
}

/// A number up to that of an element, from half a block in the second half of all blocks: of 64 bits times
/// those that there are the part above.
__device__ __forceinline__ int32 drawn(const Stream &stream, int64 element, int64 within) {
    const Block words = block_of(stream, 1ull << 63 | (Word)element / 2);
    const int k = (int)(element % 2 * 2);
    const Word size = (Word)within + 1;
    return (int32)((words.at[k] * size + (words.at[k + 1] * size >> 32)) >> 32);
}

/// Each element of a bucket changes places with one up to its own; that is done by one thread.
__device__ __forceinline__ void
mix(const int32 *starts, int32 *places, int64 count, int64 tiles, const Stream &stream) {
    FM_SHARED(int32, with, DRAWN);
    const int64 buckets = starts == nullptr ? 1 : BUCKETS;
#pragma unroll 1
    for (int64 bucket = blockIdx.x; bucket < buckets; bucket += gridDim.x) {
        const int64 start = starts == nullptr ? 0 : starts[bucket * tiles];
        const int64 end = starts == nullptr ? count : starts[(bucket + 1) * tiles];
#pragma unroll 1
        for (int64 first = start; first < end; first += DRAWN) {
            const int size = end - first < DRAWN ? (int)(end - first) : DRAWN;
#pragma unroll 1
            for (int k = threadIdx.x; k < size; k += blockDim.x) {
                with[k] = drawn(stream, first + k, first + k - start);
            }
            __syncthreads();
#pragma unroll 1
            for (int k = 0; k < (threadIdx.x == 0 ? size : 0); ++k) {
                const int32 own = places[first + k];
                places[first + k] = places[start + with[k]];
                places[start + with[k]] = own;
            }
            __syncthreads();
        }
    }
}

} // namespace fm

#define FM_SHUFFLE_ENTRIES \
    extern "C" __global__ void shuffle_count_int32( \
        int32 *counts, int64 count, int64 tiles, const __grid_constant__ fm::Stream stream) { \
        fm::count(counts, count, tiles, stream); \
    } \
    extern "C" __global__ void shuffle_spread_int32( \
        const int32 *starts, int32 *places, int64 count, int64 tiles, \
        const __grid_constant__ fm::Stream stream) { \
        fm::spread(starts, places, count, tiles, stream); \
    } \
    extern "C" __global__ void shuffle_fill_int32(int32 *places, int64 count) { \
        fm::each(count, [=](int64 i) { places[i] = (int32)i; }); \
    } \
    extern "C" __global__ void shuffle_mix_int32( \
        const int32 *starts, int32 *places, int64 count, int64 tiles, \
        const __grid_constant__ fm::Stream stream) { \
        fm::mix(starts, places, count, tiles, stream); \
    }
FM_IF_int32(FM_SHUFFLE_ENTRIES)

// Dropout: zeroes elements at random and scales the others up, by the words of docs/random.md.
//
// Entry points: dropout_each_DTYPE(data, out, out_req, mask, mask_req, count, coin, stream) where each
// element has a factor of its own; where elements share one, dropout_mask_DTYPE(mask, count, coin,
// stream, req) makes the factors, and dropout_spread_DTYPE(data, out, walk, coin, stream, req) the
// output, whose walk says for each element which factor is its own. Arrays have no gaps.
#include "map.cuh"
#include "random.cuh"

namespace fm {

template <class T>
__device__ __forceinline__ void drop_each(
    const T *data, T *out, int out_req, T *mask, int mask_req, int64 count, const Coin &coin,
    const Stream &stream) {
    typedef Compute<T> R;
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int64 b = first; b < (count + 3) / 4; b += gridDim.x * (int64)blockDim.x) {
        const Block words = block_of(stream, (Word)b);
#pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const int64 i = 4 * b + lane;
            if (i >= count) {
                break;
            }
            const R factor = toss<R>(coin, words.at[lane]);
            // The output may lie where the data does.
            const R result = out_req == Null ? (R)0 : times(convert<R>(data[i]), factor);
            if (mask_req != Null) {
                put(mask[i], factor, opaque(mask_req == Add));
            }
            if (out_req != Null) {
                put(out[i], result, opaque(out_req == Add));
            }
        }
    }
}

template <class T>
__device__ __forceinline__ void drop_together(
    const T *data, T *out, const Walk<2> &walk, const Coin &coin, const Stream &stream, int req) {
    typedef Compute<T> R;
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    const int64 total = req == Null ? 0 : walk.total;
#pragma unroll 1
    for (int64 i = first; i < total; i += gridDim.x * (int64)blockDim.x) {
        int64 place[2];
        locate(walk, i, place);
        const unsigned word = block_of(stream, (Word)place[1] / 4).at[place[1] % 4];
        put(out[i], times(convert<R>(data[i]), toss<R>(coin, word)), opaque(req == Add));
    }
}

} // namespace fm

#define FM_DROPOUT_ENTRIES(T, ...) \
    extern "C" __global__ void dropout_each_##T( \
        const T *data, T *out, int out_req, T *mask, int mask_req, int64 count, \
        const __grid_constant__ fm::Coin coin, const __grid_constant__ fm::Stream stream) { \
        fm::drop_each(data, out, out_req, mask, mask_req, count, coin, stream); \
    } \
    extern "C" __global__ void dropout_mask_##T( \
        T *mask, int64 count, const __grid_constant__ fm::Coin coin, \
        const __grid_constant__ fm::Stream stream, int req) { \
        fm::drop_each<T>(nullptr, nullptr, fm::Null, mask, req, count, coin, stream); \
    } \
    extern "C" __global__ void dropout_spread_##T( \
        const T *data, T *out, const __grid_constant__ fm::Walk<2> walk, \
        const __grid_constant__ fm::Coin coin, const __grid_constant__ fm::Stream stream, int req) { \
        fm::drop_together(data, out, walk, coin, stream, req); \
    }
FM_FLOATS(FM_DROPOUT_ENTRIES, )

// Dropout: zeroes elements at random and scales the others up, by the words of docs/random.md.
//
// Entry points: dropout_each_DTYPE(data, out, out_req, mask, mask_req, count, coin, stream) where each
// element has a factor of its own; where elements share one, dropout_mask_DTYPE(mask, count, coin,
// stream, req) makes the factors, and dropout_spread_DTYPE(data, out, walk, coin, stream, req) the
// output, whose walk says for each element which factor is its own. Arrays have no gaps.
#include "map.cuh"
#include "random.cuh"

namespace fm {

/// Elements of whole packs and whole blocks of words.
template <class T> struct Chunk {
    static constexpr int LANES = lanes<T, T>, SIZE = LANES < 4 ? 4 : LANES, PACKS = SIZE / LANES;
    Pack<T, LANES> of[PACKS];

    __device__ __forceinline__ void load(const T *from, int64 chunk) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            of[k] = ((const Pack<T, LANES> *)from)[chunk * PACKS + k];
        }
    }
    __device__ __forceinline__ void store(T *to, int64 chunk) const {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            ((Pack<T, LANES> *)to)[chunk * PACKS + k] = of[k];
        }
    }
    __device__ __forceinline__ T &operator[](int i) { return of[i / LANES].at[i % LANES]; }
};

/// Chunks that a thread loads before it uses the first.
constexpr int CHUNKS_AHEAD = 2;

/// Drops of one chunk; without data there is only a mask.
template <class T>
__device__ __forceinline__ void drop_chunk(
    Chunk<T> &x, T *out, T *mask, int64 chunk, const Coin &coin, const Stream &stream) {
    typedef Compute<T> R;
    Chunk<T> factors;
#pragma unroll
    for (int block = 0; block < Chunk<T>::SIZE / 4; ++block) {
        const Block words = block_of(stream, (Word)(chunk * (Chunk<T>::SIZE / 4) + block));
#pragma unroll
        for (int lane = 0; lane < 4; ++lane) {
            const int i = 4 * block + lane;
            const R factor = toss<R>(coin, words.at[lane]);
            factors[i] = convert<T>(factor);
            x[i] = convert<T>(times(convert<R>(x[i]), factor));
        }
    }
    if (mask != nullptr) {
        factors.store(mask, chunk);
    }
    if (out != nullptr) {
        x.store(out, chunk);
    }
}

/// Writes the chunks of which all arrays have whole packs, and returns how many; an output that is null is
/// not asked for.
template <class T>
__device__ __forceinline__ int64 drop_chunks(
    const T *data, T *out, T *mask, int64 count, const Coin &coin, const Stream &stream) {
    const Word bits = (Word)data | (Word)out | (Word)mask;
    const int64 chunks = bits % sizeof(Pack<T, Chunk<T>::LANES>) == 0 ? count / Chunk<T>::SIZE : 0;
    const int64 step = gridDim.x * (int64)blockDim.x;
#pragma unroll 1
    for (int64 c = blockIdx.x * (int64)blockDim.x + threadIdx.x; c < chunks;
         c += CHUNKS_AHEAD * step) {
        Chunk<T> x[CHUNKS_AHEAD] = {};
#pragma unroll
        for (int u = 0; u < CHUNKS_AHEAD; ++u) {
            if (out != nullptr && c + u * step < chunks) {
                x[u].load(data, c + u * step);
            }
        }
#pragma unroll
        for (int u = 0; u < CHUNKS_AHEAD; ++u) {
            if (c + u * step < chunks) {
                drop_chunk(x[u], out, mask, c + u * step, coin, stream);
            }
        }
    }
    return chunks;
}

template <class T>
__device__ __forceinline__ void drop_each(
    const T *data, T *out, int out_req, T *mask, int mask_req, int64 count, const Coin &coin,
    const Stream &stream) {
    typedef Compute<T> R;
    int64 done = 0;
    if (out_req != Add && mask_req != Add) {
        T *const to = out_req == Null ? nullptr : out;
        done = drop_chunks(data, to, mask_req == Null ? nullptr : mask, count, coin, stream);
    }
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    const int64 begin = done * (Chunk<T>::SIZE / 4);
#pragma unroll 1
    for (int64 b = begin + first; b < (count + 3) / 4; b += gridDim.x * (int64)blockDim.x) {
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

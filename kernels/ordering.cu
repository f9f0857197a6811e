// Elements in order along an axis, by a bitonic network in shared memory for each line. Equal ones keep
// the order of their places, and NaN counts as greater than all, so that each order is the only one.
//
// Entry points: ordering_DTYPE(data, values, places, mask, order, values_req, mask_req), of which
// outputs may be null. A line has at most 2,048 elements. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"
#include "shared.cuh"

namespace fm {

constexpr int LONGEST = 2048;

/// Lines of (outer, count, inner), of which the first `most` elements are wanted.
struct Order {
    int64 outer, count, inner, most, descending;
};

/// Numbers as integers of the same order; both zeros are one.
__device__ __forceinline__ Word key_of(float32 x) {
    const unsigned bits = __float_as_uint(x + 0.0f);
    const unsigned ordered = bits >> 31 ? ~bits : bits | 1u << 31;
    return x != x ? 0xffffffffu : ordered;
}
__device__ __forceinline__ Word key_of(float64 x) {
    const float64 sum = x + 0.0;
    Word bits;
    memcpy(&bits, &sum, sizeof bits);
    return x != x ? ~0ull : bits >> 63 ? ~bits : bits | 1ull << 63;
}
__device__ __forceinline__ Word key_of(float16 x) { return key_of(widen(x)); }
__device__ __forceinline__ Word key_of(bfloat16 x) { return key_of(widen(x)); }
template <class T> __device__ __forceinline__ Word key_of(T x) {
    return (Word)(int64)x ^ 1ull << 63;
}

/// Sorts `size` keys, a power of two, and their places; equal keys by their places.
__device__ __forceinline__ void sort(Word *keys, int32 *places, int size) {
#pragma unroll 1
    for (int run = 2; run <= size; run *= 2) {
#pragma unroll 1
        for (int step = run / 2; step > 0; step /= 2) {
            __syncthreads();
#pragma unroll 1
            for (int pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
                const int a = pair / step * 2 * step + pair % step, b = a + step;
                const bool greater
                    = keys[a] > keys[b] || (keys[a] == keys[b] && places[a] > places[b]);
                if (greater == ((a & run) == 0)) {
                    const Word key = keys[a];
                    const int32 place = places[a];
                    keys[a] = keys[b];
                    places[a] = places[b];
                    keys[b] = key;
                    places[b] = place;
                }
            }
        }
    }
    __syncthreads();
}

template <class T>
__device__ __forceinline__ void ordering(
    const T *data, T *values, int64 *places, T *mask, const Order &order, int values_req,
    int mask_req) {
    FM_SHARED(Word, keys, LONGEST);
    FM_SHARED(int32, at, LONGEST);
    const int count = (int)order.count;
    int size = 1;
    while (size < count) {
        size *= 2;
    }
#pragma unroll 1
    for (int64 line = blockIdx.x; line < order.outer * order.inner; line += gridDim.x) {
        const Split place = split(line, order.inner);
        const int64 start = place.row * order.count * order.inner + place.at;
        const int64 first = place.row * order.most * order.inner + place.at;
#pragma unroll 1
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            const Word key = i < count ? key_of(data[start + i * order.inner]) : 0;
            keys[i] = i < count ? (order.descending ? ~key : key) : ~0ull;
            at[i] = i;
        }
        sort(keys, at, size);
#pragma unroll 1
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            const int64 from = start + at[i] * order.inner, to = first + i * order.inner;
            if (values_req != Null && i < order.most) {
                put(values[to], data[from], opaque(values_req == Add));
            }
            if (places != nullptr && i < order.most) {
                places[to] = at[i];
            }
            if (mask_req != Null) {
                put(mask[from], convert<T>((int64)(i < order.most)), opaque(mask_req == Add));
            }
        }
        __syncthreads();
    }
}

} // namespace fm

#define FM_ORDERING_ENTRY(T, ...) \
    extern "C" __global__ void ordering_##T( \
        const T *data, T *values, int64 *places, T *mask, const __grid_constant__ fm::Order order, \
        int values_req, int mask_req) { \
        fm::ordering(data, values, places, mask, order, values_req, mask_req); \
    }
FM_NUMBERS(FM_ORDERING_ENTRY, )

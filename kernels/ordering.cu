// Elements in order along an axis, by a bitonic network for each line. Equal ones keep the order of their
// places, and NaN counts as greater than all, so that each order is the only one.
//
// Entry points: ordering_DTYPE(data, values, places, mask, order, values_req, mask_req), of which
// outputs may be null, for lines of at most 2,048 elements, in shared memory. Longer ones have keys and
// places in memory, `size` of each line, a power of two: ordering_keys_DTYPE(data, keys, at, order, size),
// then ordering_part_int64(keys, at, total, size, run), whose blocks sort parts of 2,048 elements where
// `run` is 0, or take the last steps of a run, and before these ordering_step_int64(keys, at, total, size,
// run, step) for each step that reaches farther; in the end ordering_write_DTYPE(data, at, values, places,
// mask, order, size, values_req, mask_req). Arrays have no gaps.
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

/// Puts two keys and their places in order, or in the reverse; equal keys by their places.
__device__ __forceinline__ void
exchange(Word *keys, int32 *places, int64 a, int64 b, bool ascending) {
    const bool greater = keys[a] > keys[b] || (keys[a] == keys[b] && places[a] > places[b]);
    if (greater == ascending) {
        const Word key = keys[a];
        const int32 place = places[a];
        keys[a] = keys[b];
        places[a] = places[b];
        keys[b] = key;
        places[b] = place;
    }
}

/// The steps of a run over `size` keys, a power of two, that stand `before` elements after a line's start.
__device__ __forceinline__ void
steps_of(Word *keys, int32 *places, int size, int64 before, int64 run, int step) {
#pragma unroll 1
    for (; step > 0; step /= 2) {
        __syncthreads();
#pragma unroll 1
        for (int pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
            const int a = pair / step * 2 * step + pair % step;
            exchange(keys, places, a, a + step, ((before + a) & run) == 0);
        }
    }
}

/// Sorts such keys; every second part of a line in reverse.
__device__ __forceinline__ void sort(Word *keys, int32 *places, int size, int64 before = 0) {
#pragma unroll 1
    for (int run = 2; run <= size; run *= 2) {
        steps_of(keys, places, size, before, run, run / 2);
    }
    __syncthreads();
}

/// A key as it is compared; what only fills a line comes last.
template <class T>
__device__ __forceinline__ Word
sorted_key(const T *data, int64 start, int64 i, const Order &order) {
    if (i >= order.count) {
        return ~0ull;
    }
    const Word key = key_of(data[start + i * order.inner]);
    return order.descending ? ~key : key;
}

/// Where a line begins, and where what is wanted of it does.
struct Starts {
    int64 line, wanted;
};
__device__ __forceinline__ Starts starts_of(int64 line, const Order &order) {
    const Split place = split(line, order.inner);
    return {place.row * order.count * order.inner + place.at,
            place.row * order.most * order.inner + place.at};
}

/// What becomes of the element of rank `i`, which stands at `at`.
template <class T>
__device__ __forceinline__ void write(
    const T *data, T *values, int64 *places, T *mask, const Order &order, const Starts &starts,
    int64 i, int64 at, int values_req, int mask_req) {
    const int64 from = starts.line + at * order.inner, to = starts.wanted + i * order.inner;
    if (values_req != Null && i < order.most) {
        put(values[to], data[from], opaque(values_req == Add));
    }
    if (places != nullptr && i < order.most) {
        places[to] = at;
    }
    if (mask_req != Null) {
        put(mask[from], convert<T>((int64)(i < order.most)), opaque(mask_req == Add));
    }
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
        const Starts starts = starts_of(line, order);
#pragma unroll 1
        for (int i = threadIdx.x; i < size; i += blockDim.x) {
            keys[i] = sorted_key(data, starts.line, i, order);
            at[i] = i;
        }
        sort(keys, at, size);
#pragma unroll 1
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            write(data, values, places, mask, order, starts, i, at[i], values_req, mask_req);
        }
        __syncthreads();
    }
}

/// A part of a line, in shared memory.
__device__ __forceinline__ void
part_of(Word *keys, int32 *places, int64 total, int64 size, int64 run) {
    FM_SHARED(Word, own, LONGEST);
    FM_SHARED(int32, at, LONGEST);
#pragma unroll 1
    for (int64 part = blockIdx.x; part < total / LONGEST; part += gridDim.x) {
        const int64 first = part * LONGEST, before = first % size;
#pragma unroll 1
        for (int i = threadIdx.x; i < LONGEST; i += blockDim.x) {
            own[i] = keys[first + i];
            at[i] = places[first + i];
        }
        if (run == 0) {
            sort(own, at, LONGEST, before);
        } else {
            steps_of(own, at, LONGEST, before, run, LONGEST / 2);
            __syncthreads();
        }
#pragma unroll 1
        for (int i = threadIdx.x; i < LONGEST; i += blockDim.x) {
            keys[first + i] = own[i];
            places[first + i] = at[i];
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
    } \
    extern "C" __global__ void ordering_keys_##T( \
        const T *data, unsigned long long *keys, int32 *at, \
        const __grid_constant__ fm::Order order, int64 size) { \
        fm::each(order.outer * order.inner * size, [&](int64 i) { \
            const fm::Split place = fm::split(i, size); \
            const int64 start = fm::starts_of(place.row, order).line; \
            keys[i] = fm::sorted_key(data, start, place.at, order); \
            at[i] = (int32)place.at; \
        }); \
    } \
    extern "C" __global__ void ordering_write_##T( \
        const T *data, const int32 *at, T *values, int64 *places, T *mask, \
        const __grid_constant__ fm::Order order, int64 size, int values_req, int mask_req) { \
        fm::each(order.outer * order.inner * order.count, [&](int64 i) { \
            const fm::Split place = fm::split(i, order.count); \
            const fm::Starts starts = fm::starts_of(place.row, order); \
            const int64 from = at[place.row * size + place.at]; \
            fm::write( \
                data, values, places, mask, order, starts, place.at, from, values_req, mask_req); \
        }); \
    }
FM_NUMBERS(FM_ORDERING_ENTRY, )

#define FM_LONG_ENTRIES \
    extern "C" __global__ void ordering_part_int64( \
        unsigned long long *keys, int32 *at, int64 total, int64 size, int64 run) { \
        fm::part_of(keys, at, total, size, run); \
    } \
    extern "C" __global__ void ordering_step_int64( \
        unsigned long long *keys, int32 *at, int64 total, int64 size, int64 run, int64 step) { \
        fm::each(total / 2, [&](int64 pair) { \
            const fm::Split place = fm::split(pair, step); \
            const int64 a = place.row * 2 * step + place.at; \
            fm::exchange(keys, at, a, a + step, (a & (size - 1) & run) == 0); \
        }); \
    }
FM_IF_int64(FM_LONG_ENTRIES)

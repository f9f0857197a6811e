// Steps of many weights in one launch: a table of them, by value, and chunks of elements that blocks
// take in turn, whatever weights they belong to.
#pragma once
#include "update.cuh"

namespace fm {

/// Weights of a table, which must fit the 4 KiB of a kernel's arguments, and elements of a chunk.
constexpr int MOST_ITEMS = 32, CHUNK = 1024;

/// A weight: its step, the chunks of those before it and its own, where its elements stand in memory
/// that all share, its own rates, and what to do with the output.
template <class T, class S, int STATES, int OWN> struct Item {
    Step<T, S, STATES> step;
    int64 end, start;
    float64 rates[OWN];
    int req;
};

/// `first` is the number of the first weight among those of the operator.
template <class T, class S, int STATES, int OWN> struct Table {
    typedef fm::Item<T, S, STATES, OWN> Item;
    Item items[MOST_ITEMS];
    int64 count, first;
};

/// Calls `each(number, item, chunk, first, end)` for the chunks of this block, and their elements.
template <class TABLE, class F>
__device__ __forceinline__ void chunks_of(const TABLE &table, F each) {
    const int64 total = table.items[table.count - 1].end;
    int number = 0;
    int64 before = 0;
#pragma unroll 1
    for (int64 chunk = blockIdx.x; chunk < total; chunk += gridDim.x) {
#pragma unroll 1
        while (chunk >= table.items[number].end) {
            before = table.items[number++].end;
        }
        const typename TABLE::Item &item = table.items[number];
        const int64 first = (chunk - before) * CHUNK, end = first + CHUNK;
        each(number, item, chunk, first, end < item.step.count ? end : item.step.count);
    }
}

/// The rates of a weight: its own, then those of all, as far as there are.
template <class R, int OWN, int COMMON, int N>
__device__ __forceinline__ void
gather(const float64 (&own)[OWN], const Rates<COMMON> &common, R (&rate)[N]) {
    static_assert(OWN + COMMON <= N, "room for all rates");
#pragma unroll
    for (int k = 0; k < N; ++k) {
        rate[k] = k < OWN ? (R)own[k] : k < OWN + COMMON ? (R)common.at[k - OWN] : (R)0;
    }
}

} // namespace fm

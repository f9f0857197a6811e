// Rows that are picked by places, and rows that come together at them.
//
// Entry points: rows_gather_DTYPE(data, places, out, rows, req), zeros where a place is -1;
// rows_sum_DTYPE and rows_last_DTYPE(from, groups, out, rows, req), zeros where nothing comes together;
// rows_set_DTYPE(data, from, groups, out, rows, req), the data there. Sums are in the order of
// positions, of halves in float32, of integers in int64. Arrays have no gaps.
#include "grid.cuh"
#include "groups.cuh"
#include "map.cuh"

namespace fm {

/// `outer` blocks of `n` rows of `inner` elements, of which `count` are picked.
struct Rows {
    int64 outer, n, inner, count;
};

template <int LANES, class T>
__device__ __forceinline__ void
gather_packs(const T *data, const int64 *places, T *out, const Rows &rows, bool add) {
    const int64 width = rows.inner / LANES;
    each(rows.outer * rows.count * width, [&](int64 i) {
        const Split in_row = split(i, width), block = split(in_row.row, rows.count);
        const int64 place = places[block.at];
        Pack<T, LANES> x = {}, y = {};
        if (place >= 0) {
            const int64 from = (block.row * rows.n + place) * width + in_row.at;
            x = ((const Pack<T, LANES> *)data)[from];
        }
        if (add) {
            y = ((const Pack<T, LANES> *)out)[i];
        }
#pragma unroll
        for (int lane = 0; lane < LANES; ++lane) {
            put(y.at[lane], x.at[lane], add);
        }
        ((Pack<T, LANES> *)out)[i] = y;
    });
}

template <class T>
__device__ __forceinline__ void
gather(const T *data, const int64 *places, T *out, const Rows &rows, int req) {
    constexpr int LANES = lanes<T, T>;
    if (req == Null) {
        return;
    }
    const Word unaligned = ((Word)data | (Word)out) % sizeof(Pack<T, LANES>);
    if (unaligned == 0 && rows.inner % LANES == 0) {
        gather_packs<LANES>(data, places, out, rows, opaque(req == Add));
    } else {
        gather_packs<1>(data, places, out, rows, opaque(req == Add));
    }
}

/// Calls `each(element, block, first, end, offset in a row)` for the elements of `out`, of which the
/// members from `first` to `end` come to its row.
template <class F>
__device__ __forceinline__ void
targets(const Groups &groups, const Rows &rows, int req, F one) {
    each(req == Null ? 0 : rows.outer * rows.n * rows.inner, [&](int64 i) {
        const Split in_row = split(i, rows.inner), block = split(in_row.row, rows.n);
        const int32 *const start = groups.starts + block.at;
        one(i, block.row, start[0], start[1], in_row.at);
    });
}

template <class T>
__device__ __forceinline__ void
sum(const T *from, const Groups &groups, T *out, const Rows &rows, int req) {
    typedef Wide<T> C;
    targets(groups, rows, req, [&](int64 i, int64 block, int32 first, int32 end, int64 at) {
        C total = 0;
#pragma unroll 4
        for (int32 member = first; member < end; ++member) {
            const int64 row = block * rows.count + groups.members[member];
            total = plus(total, convert<C>(from[row * rows.inner + at]));
        }
        put(out[i], total, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void
last(const T *from, const Groups &groups, T *out, const Rows &rows, int req) {
    typedef Wide<T> C;
    targets(groups, rows, req, [&](int64 i, int64 block, int32 first, int32 end, int64 at) {
        C value = 0;
        if (first < end) {
            const int64 row = block * rows.count + groups.members[end - 1];
            value = plus(value, convert<C>(from[row * rows.inner + at]));
        }
        put(out[i], value, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void
set(const T *data, const T *from, const Groups &groups, T *out, const Rows &rows, int req) {
    targets(groups, rows, req, [&](int64 i, int64 block, int32 first, int32 end, int64 at) {
        T value = data[i];
        if (first < end) {
            const int64 row = block * rows.count + groups.members[end - 1];
            value = from[row * rows.inner + at];
        }
        put(out[i], value, opaque(req == Add));
    });
}

} // namespace fm

#define FM_ROWS_ENTRIES(T, ...) \
    extern "C" __global__ void rows_gather_##T( \
        const T *data, const int64 *places, T *out, const __grid_constant__ fm::Rows rows, int req) { \
        fm::gather(data, places, out, rows, req); \
    } \
    extern "C" __global__ void rows_sum_##T( \
        const T *from, const __grid_constant__ fm::Groups groups, T *out, \
        const __grid_constant__ fm::Rows rows, int req) { \
        fm::sum(from, groups, out, rows, req); \
    } \
    extern "C" __global__ void rows_last_##T( \
        const T *from, const __grid_constant__ fm::Groups groups, T *out, \
        const __grid_constant__ fm::Rows rows, int req) { \
        fm::last(from, groups, out, rows, req); \
    } \
    extern "C" __global__ void rows_set_##T( \
        const T *data, const T *from, const __grid_constant__ fm::Groups groups, T *out, \
        const __grid_constant__ fm::Rows rows, int req) { \
        fm::set(data, from, groups, out, rows, req); \
    }
FM_ALL(FM_ROWS_ENTRIES, )

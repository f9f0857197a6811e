// Where rows of row_sparse arrays are, for rows_gather of rows.cu, and rows that are written in place.
//
// Entry points: row_sparse_places_int64(listed, places, refusal), the rows in use, then -1; and
// row_sparse_find_int64(listed, wanted, places, count, refusal), the place of each row among those in use,
// whose numbers grow; and for each row of a table, from row_sparse_clear_int64(slots, height) on,
// row_sparse_mark_int64(listed, slots, refusal), which of those in use it is, the last of several, or
// row_sparse_keep_int64(places, slots, count), the row itself, for those that are places; -1 for other rows.
// row_sparse_write_DTYPE(data, values, slots, listed, out, width, req) replaces rows; where `out` is the data,
// it leaves the others alone. row_sparse_numbers_DTYPE(data, out, count, height, refusal, req) makes numbers
// of rows, fractions cut. Arrays have no gaps.
#include "grid.cuh"
#include "listed.cuh"
#include "map.cuh"
#include "real.cuh"

namespace fm {

/// The place of a number among those in use; -1 if it is none of them.
__device__ __forceinline__ int64 place_of(const Listed &listed, int64 used, int64 wanted) {
    int64 first = 0, end = used;
#pragma unroll 1
    while (first < end) {
        const int64 middle = (first + end) / 2;
        if (listed.rows[middle] < wanted) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first < used && listed.rows[first] == wanted ? first : -1;
}

template <class T>
__device__ __forceinline__ void write_rows(
    const T *data, const T *values, const int64 *slots, const Listed &listed, T *out, int64 width,
    int req) {
    if (req == Null) {
        return;
    }
    if (data == out && req != Add) {
        each(listed.used() * width, [&](int64 i) {
            const Split place = split(i, width);
            const int64 row = listed.row(place.row);
            if (row >= 0 && slots[row] == place.row) {
                out[row * width + place.at] = values[i];
            }
        });
        return;
    }
    each(listed.height * width, [&](int64 i) {
        const Split place = split(i, width);
        const int64 slot = slots[place.row];
        put(out[i], slot < 0 ? data[i] : values[slot * width + place.at], opaque(req == Add));
    });
}

/// Real numbers are cut, but not those outside; a whole number that is refused is told.
template <class T>
__device__ __forceinline__ void
numbers(const T *data, int64 *out, int64 count, int64 height, Refusal *refusal, int req) {
    typedef Real<T> R;
    each(req == Null ? 0 : count, [&](int64 i) {
        int64 row = convert<int64>(data[i]);
        if (!Type<T>::integer) {
            const R x = convert<R>(data[i]);
            row = x < (R)0 ? convert<int64>(round_down(x)) : row;
            row = x > (R)(height - 1) ? convert<int64>(round_up(x)) : row;
        }
        const bool is_there = row >= 0 && row < height;
        if (!is_there) {
            refuse(refusal, 1, row);
        }
        // Not a wrong one: who reads that would refuse it, too, in other words.
        put(out[i], is_there ? row : 0, opaque(req == Add));
    });
}

} // namespace fm

#define FM_PLACE_ENTRIES \
    extern "C" __global__ void row_sparse_places_int64( \
        const __grid_constant__ fm::Listed listed, int64 *places, fm::Refusal *refusal) { \
        listed.check(refusal); \
        const int64 used = listed.used(); \
        fm::each(listed.room, [&](int64 k) { places[k] = k < used ? listed.row(k) : -1; }); \
    } \
    extern "C" __global__ void row_sparse_find_int64( \
        const __grid_constant__ fm::Listed listed, const int64 *wanted, int64 *places, int64 count, \
        fm::Refusal *refusal) { \
        listed.check(refusal); \
        const int64 used = listed.used(); \
        fm::each(count, [&](int64 j) { places[j] = fm::place_of(listed, used, wanted[j]); }); \
    } \
    extern "C" __global__ void row_sparse_clear_int64(int64 *slots, int64 height) { \
        fm::each(height, [&](int64 row) { slots[row] = -1; }); \
    } \
    extern "C" __global__ void row_sparse_mark_int64( \
        const __grid_constant__ fm::Listed listed, int64 *slots, fm::Refusal *refusal) { \
        listed.check(refusal); \
        fm::each(listed.used(), [&](int64 k) { \
            if (listed.row(k) >= 0) { \
                atomicMax(&slots[listed.row(k)], k); \
            } \
        }); \
    } \
    extern "C" __global__ void row_sparse_keep_int64( \
        const int64 *places, int64 *slots, int64 count) { \
        fm::each(count, [&](int64 j) { \
            if (places[j] >= 0) { \
                atomicMax(&slots[places[j]], places[j]); \
            } \
        }); \
    }
FM_IF_int64(FM_PLACE_ENTRIES)

#define FM_WRITE_ENTRY(T, ...) \
    extern "C" __global__ void row_sparse_write_##T( \
        const T *data, const T *values, const int64 *slots, \
        const __grid_constant__ fm::Listed listed, T *out, int64 width, int req) { \
        fm::write_rows(data, values, slots, listed, out, width, req); \
    }
FM_ALL(FM_WRITE_ENTRY, )

#define FM_NUMBERS_ENTRY(T, ...) \
    extern "C" __global__ void row_sparse_numbers_##T( \
        const T *data, int64 *out, int64 count, int64 height, fm::Refusal *refusal, int req) { \
        fm::numbers(data, out, count, height, refusal, req); \
    }
FM_ALL(FM_NUMBERS_ENTRY, )

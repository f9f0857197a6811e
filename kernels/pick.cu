// Elements along an axis by a place for each, and the way back.
//
// Entry points: pick_forward_DTYPE(data, places, out, lines, req), zeros where a place is -1;
// pick_backward_DTYPE(grad, places, out, lines, req), where the last of equal places counts;
// pick_fill_DTYPE(data, values, places, out, lines, req), which sets an element of each row. Where places
// of a line are many, the way back is pick_clear_int64(winners, total), pick_claim_int64(places, winners,
// lines), pick_place_DTYPE(grad, winners, out, total, req). Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// Arrays of (outer, k, inner), of which `chosen` along k are picked.
struct Lines {
    int64 outer, k, inner, chosen;
};

template <class T>
__device__ __forceinline__ void
forward(const T *data, const int64 *places, T *out, const Lines &lines, int req) {
    each(req == Null ? 0 : lines.outer * lines.chosen * lines.inner, [&](int64 i) {
        const Split in_block = split(i, lines.chosen * lines.inner);
        const int64 at = split(in_block.at, lines.inner).at, place = places[i];
        const int64 from = (in_block.row * lines.k + place) * lines.inner + at;
        put(out[i], place < 0 ? T() : data[from], opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void
backward(const T *grad, const int64 *places, T *out, const Lines &lines, int req) {
    each(req == Null ? 0 : lines.outer * lines.k * lines.inner, [&](int64 i) {
        const Split in_block = split(i, lines.k * lines.inner);
        const Split in_line = split(in_block.at, lines.inner);
        const int64 first = in_block.row * lines.chosen * lines.inner + in_line.at;
        T value = T();
#pragma unroll 1
        for (int64 c = lines.chosen - 1; c >= 0; --c) {
            if (places[first + c * lines.inner] == in_line.row) {
                value = grad[first + c * lines.inner];
                break;
            }
        }
        put(out[i], value, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void fill(
    const T *data, const T *values, const int64 *places, T *out, const Lines &lines, int req) {
    each(req == Null ? 0 : lines.outer * lines.k, [&](int64 i) {
        const Split in_row = split(i, lines.k);
        const bool is_set = places[in_row.row] == in_row.at;
        put(out[i], is_set ? values[in_row.row] : data[i], opaque(req == Add));
    });
}

/// The greatest position that leads to each element: a maximum, so that the order is of no matter.
__device__ __forceinline__ void
claim(const int64 *places, int64 *winners, const Lines &lines) {
    each(lines.outer * lines.chosen * lines.inner, [&](int64 i) {
        const Split in_block = split(i, lines.chosen * lines.inner);
        const int64 at = split(in_block.at, lines.inner).at;
        if (places[i] >= 0) {
            atomicMax(&winners[(in_block.row * lines.k + places[i]) * lines.inner + at], i);
        }
    });
}

} // namespace fm

#define FM_PICK_ENTRIES(T, ...) \
    extern "C" __global__ void pick_forward_##T( \
        const T *data, const int64 *places, T *out, const __grid_constant__ fm::Lines lines, \
        int req) { \
        fm::forward(data, places, out, lines, req); \
    } \
    extern "C" __global__ void pick_backward_##T( \
        const T *grad, const int64 *places, T *out, const __grid_constant__ fm::Lines lines, \
        int req) { \
        fm::backward(grad, places, out, lines, req); \
    } \
    extern "C" __global__ void pick_place_##T( \
        const T *grad, const int64 *winners, T *out, int64 total, int req) { \
        fm::each(req == fm::Null ? 0 : total, [=](int64 i) { \
            const T x = winners[i] < 0 ? T() : grad[winners[i]]; \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    } \
    extern "C" __global__ void pick_fill_##T( \
        const T *data, const T *values, const int64 *places, T *out, \
        const __grid_constant__ fm::Lines lines, int req) { \
        fm::fill(data, values, places, out, lines, req); \
    }
FM_ALL(FM_PICK_ENTRIES, )

#define FM_CLAIM_ENTRIES \
    extern "C" __global__ void pick_clear_int64(int64 *winners, int64 total) { \
        fm::each(total, [=](int64 i) { winners[i] = -1; }); \
    } \
    extern "C" __global__ void pick_claim_int64( \
        const int64 *places, int64 *winners, const __grid_constant__ fm::Lines lines) { \
        fm::claim(places, winners, lines); \
    }
FM_IF_int64(FM_CLAIM_ENTRIES)

// Count sketches: elements of rows, with signs, added up in fewer places, and the way back. Arrays have no
// gaps.
//
// Entry points: sketch_forward_DTYPE(data, groups, signs, out, sketch, req), a thread for each place of a row,
// which adds in the order of elements; sketch_backward_DTYPE(grad, places, signs, out, sketch, req), one for
// each element, 0 where its place is -1.
#include "grid.cuh"
#include "groups.cuh"
#include "map.cuh"

namespace fm {

/// Rows of so many elements, which go to `places`.
struct Sketch {
    int64 rows, elements, places;
};

template <class T>
__device__ __forceinline__ void forward(
    const T *data, const Groups &groups, const T *signs, T *out, const Sketch &sketch, int req) {
    each(req == Null ? 0 : sketch.rows * sketch.places, [&](int64 i) {
        const Split at = split(i, sketch.places);
        const T *const from = data + at.row * sketch.elements;
        const T sum = sum_at<T>(groups, at.at, [&](int64 j) { return times(signs[j], from[j]); });
        put(out[i], sum, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void backward(
    const T *grad, const int64 *places, const T *signs, T *out, const Sketch &sketch, int req) {
    each(req == Null ? 0 : sketch.rows * sketch.elements, [&](int64 i) {
        const Split at = split(i, sketch.elements);
        const int64 place = places[at.at];
        const T found = place < 0 ? (T)0 : times(signs[at.at], grad[at.row * sketch.places + place]);
        put(out[i], found, opaque(req == Add));
    });
}

} // namespace fm

#define FM_SKETCH_ENTRIES(T, ...) \
    extern "C" __global__ void sketch_forward_##T( \
        const T *data, const __grid_constant__ fm::Groups groups, const T *signs, T *out, \
        const __grid_constant__ fm::Sketch sketch, int req) { \
        fm::forward(data, groups, signs, out, sketch, req); \
    } \
    extern "C" __global__ void sketch_backward_##T( \
        const T *grad, const int64 *places, const T *signs, T *out, \
        const __grid_constant__ fm::Sketch sketch, int req) { \
        fm::backward(grad, places, signs, out, sketch, req); \
    }
FM_REALS(FM_SKETCH_ENTRIES, )

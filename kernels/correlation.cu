// Products, or differences, of patches of two tensors of images at all displacements up to a distance, and
// the gradients. Zeros are around the images. Arrays have no gaps; halves are computed in float32.
//
// Entry points: correlation_forward_DTYPE(first, second, out, patches, req), a thread for each result, and
// correlation_backward_DTYPE(grad, own, other, out, patches, displaced, req), one for each element of one of
// the tensors, `displaced` for the second.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// `extents` and `output` are rows and columns; displacements go by `step` up to `reach`, `shifts` of them
/// along either axis, patches by `stride`.
struct Patches {
    int64 batch, channels, extents[2], output[2], pad, kernel, reach, shifts, stride, step, multiply;

    __device__ __forceinline__ int64 pixels() const { return extents[0] * extents[1]; }
    __device__ __forceinline__ int64 places() const { return output[0] * output[1]; }

    /// What displacement `i` adds to a place along an axis.
    __device__ __forceinline__ int64 shift(int64 i) const {
        return reach - shifts / 2 * step + i * step;
    }

    template <class C> __device__ __forceinline__ C scale() const {
        return (C)over(1.0, (float64)(kernel * kernel * channels));
    }
};

/// An element of a plane, by a place that counts the border.
template <class C, class T>
__device__ __forceinline__ C
element(const T *plane, const Patches &patches, int64 row, int64 column) {
    const int64 y = row - patches.pad, x = column - patches.pad;
    const bool inside = y >= 0 && x >= 0 && y < patches.extents[0] && x < patches.extents[1];
    return inside ? convert<C>(plane[y * patches.extents[1] + x]) : (C)0;
}

template <class T>
__device__ __forceinline__ void
forward(const T *first, const T *second, T *out, const Patches &patches, int req) {
    typedef Compute<T> C;
    const int64 n = patches.shifts, total = patches.batch * n * n * patches.places();
    each(req == Null ? 0 : total, [&](int64 i) {
        const Split line = split(i, patches.output[1]), plane = split(line.row, patches.output[0]);
        const Split down = split(plane.row, n), right = {down.row / n, down.row % n};
        const int64 y = plane.at * patches.stride, x = line.at * patches.stride;
        const int64 below = y + patches.shift(right.at), beside = x + patches.shift(down.at);
        const int64 start = right.row * patches.channels;
        C sum = 0;
#pragma unroll 1
        for (int64 c = start; c < start + patches.channels; ++c) {
            const T *const a = first + c * patches.pixels(), *const b = second + c * patches.pixels();
#pragma unroll 1
            for (int64 h = 0; h < patches.kernel; ++h) {
#pragma unroll 1
                for (int64 w = 0; w < patches.kernel; ++w) {
                    const C p = element<C>(a, patches, y + patches.reach + h, x + patches.reach + w);
                    const C q = element<C>(b, patches, below + h, beside + w);
                    sum = plus(sum, patches.multiply ? times(p, q) : magnitude(minus(p, q)));
                }
            }
        }
        put(out[i], times(sum, patches.scale<C>()), opaque(req == Add));
    });
}

/// The patch whose element `tap` is at a place of an axis, if patches begin `first` after theirs; -1 if there
/// is none.
__device__ __forceinline__ int64
patch_at(const Patches &patches, int way, int64 place, int64 first, int64 tap) {
    const int64 start = place + patches.pad - first - tap;
    if (start < 0 || start % patches.stride != 0) {
        return -1;
    }
    const int64 patch = start / patches.stride;
    return patch < patches.output[way] ? patch : -1;
}

/// What patches at one displacement give to the element at `(y, x)`.
template <class T>
__device__ __forceinline__ void add_shift(
    const T *heads, const T *own, const T *other, const Patches &patches, const int64 (&mine)[2],
    const int64 (&theirs)[2], int64 y, int64 x, Compute<T> &sum) {
    typedef Compute<T> C;
    const C a = convert<C>(own[y * patches.extents[1] + x]);
    const int64 row = y + patches.pad + theirs[0] - mine[0];
    const int64 column = x + patches.pad + theirs[1] - mine[1];
    const C b = element<C>(other, patches, row, column);
#pragma unroll 1
    for (int64 h = 0; h < patches.kernel; ++h) {
        const int64 down = patch_at(patches, 0, y, mine[0], h);
#pragma unroll 1
        for (int64 w = patches.kernel - 1; w >= (down < 0 ? patches.kernel : 0); --w) {
            const int64 along = patch_at(patches, 1, x, mine[1], w);
            if (along >= 0) {
                const C head = convert<C>(heads[down * patches.output[1] + along]);
                const C g = times(head, patches.scale<C>());
                const C slope = a > b ? g : a < b ? opposite(g) : (C)0;
                sum = plus(sum, patches.multiply ? times(b, g) : slope);
            }
        }
    }
}

template <class T>
__device__ __forceinline__ void backward(
    const T *grad, const T *own, const T *other, T *out, const Patches &patches, int displaced,
    int req) {
    typedef Compute<T> C;
    const int64 n = patches.shifts, size = patches.pixels();
    each(req == Null ? 0 : patches.batch * patches.channels * size, [&](int64 i) {
        const Split at = split(i, size), place = split(at.at, patches.extents[1]);
        const int64 image = split(at.row, patches.channels).row;
        C sum = 0;
#pragma unroll 1
        for (int64 s = 0; s < n * n; ++s) {
            const int64 shift[2] = {patches.shift(s / n), patches.shift(s % n)};
            const int64 still[2] = {patches.reach, patches.reach};
            const T *const heads = grad + (image * n * n + s) * patches.places();
            const T *const a = own + at.row * size, *const b = other + at.row * size;
            add_shift(heads, a, b, patches, displaced ? shift : still, displaced ? still : shift,
                place.row, place.at, sum);
        }
        put(out[i], sum, opaque(req == Add));
    });
}

} // namespace fm

#define FM_CORRELATION_ENTRIES(T, ...) \
    extern "C" __global__ void correlation_forward_##T( \
        const T *first, const T *second, T *out, const __grid_constant__ fm::Patches patches, \
        int req) { \
        fm::forward(first, second, out, patches, req); \
    } \
    extern "C" __global__ void correlation_backward_##T( \
        const T *grad, const T *own, const T *other, T *out, \
        const __grid_constant__ fm::Patches patches, int displaced, int req) { \
        fm::backward(grad, own, other, out, patches, displaced, req); \
    }
FM_FLOATS(FM_CORRELATION_ENTRIES, )

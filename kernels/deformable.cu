// What kernels of convolutions see of images where each of their elements is moved at each place, as columns
// of a matrix that the weights are multiplied by, and the gradients of that. Arrays have no gaps; halves are
// computed in float32.
//
// Entry points: deformable_columns_DTYPE(data, offset, mask, out, deformed), a thread for an element of the
// kernel at a place in some channels; deformable_points_DTYPE(columns, data, offset, mask, offset_out, mask_out,
// deformed, offset_req, mask_req), one for each such point, for the gradients of offsets and masks;
// deformable_taps_DTYPE(offset, mask, places, weights, deformed, req) finds the pixels of each point, four in a
// row, -1 for none, and deformable_pixels_DTYPE(columns, groups, weights, mask, out, deformed, req), a thread
// for each pixel, adds up what comes to it. `mask` is null where there is none.
#include "bilinear.cuh"
#include "grid.cuh"
#include "groups.cuh"
#include "map.cuh"

namespace fm {

/// Pairs are rows and columns; `moved` groups of channels have offsets of their own.
struct Deformed {
    int64 batch, channels, extents[2], kernel[2], stride[2], dilate[2], pad[2], output[2], moved;

    __device__ __forceinline__ int64 pixels() const { return extents[0] * extents[1]; }
    __device__ __forceinline__ int64 places() const { return output[0] * output[1]; }
    __device__ __forceinline__ int64 taps() const { return kernel[0] * kernel[1]; }
    /// Channels of a group.
    __device__ __forceinline__ int64 members() const { return channels / moved; }
    /// Points of all images.
    __device__ __forceinline__ int64 points() const { return batch * moved * taps() * places(); }
};

/// Point `number`: those of an image have a row for each group and element of the kernel. Without masks
/// elements of the kernel that are moved out of the image see nothing, with them they see zeros around it.
template <class C, class T>
__device__ __forceinline__ Point<C>
point_of(const T *offset, bool masked, const Deformed &deformed, int64 number) {
    const Split at = split(number, deformed.places()), place = split(at.at, deformed.output[1]);
    const Split tap = split(split(at.row, deformed.taps()).at, deformed.kernel[1]);
    const int64 own[2] = {tap.row, tap.at}, spot[2] = {place.row, place.at};
    C moved[2];
#pragma unroll
    for (int way = 0; way < 2; ++way) {
        const int64 start = own[way] * deformed.dilate[way] - deformed.pad[way];
        const C move = convert<C>(offset[(2 * at.row + way) * deformed.places() + at.at]);
        moved[way] = plus((C)(start + spot[way] * deformed.stride[way]), move);
    }
    const int64 rows = deformed.extents[0], columns = deformed.extents[1];
    return masked ? point_at<Rim::Zeros>(moved[0], moved[1], rows, columns)
                  : point_at<Rim::Inside>(moved[0], moved[1], rows, columns);
}

/// Channels of a thread, which finds the pixels once for all of them.
constexpr int CHANNELS = 8;

/// The image and group of a point, and the rest of its number.
__device__ __forceinline__ Split group_of(const Deformed &deformed, int64 point) {
    return split(point, deformed.taps() * deformed.places());
}

template <class T>
__device__ __forceinline__ void columns(
    const T *data, const T *offset, const T *mask, T *out, const Deformed &deformed) {
    typedef Compute<T> C;
    const int64 members = deformed.members(), chunks = (members + CHANNELS - 1) / CHANNELS;
    const int64 rows = deformed.taps() * deformed.places();
    each(deformed.points() * chunks, [&](int64 i) {
        const Split chunk = split(i, deformed.points());
        Point<C> point = point_of<C>(offset, mask != nullptr, deformed, chunk.at);
        if (mask != nullptr) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                point.weight[k] = times(point.weight[k], convert<C>(mask[chunk.at]));
            }
        }
        const Split group = group_of(deformed, chunk.at);
        const int64 first = group.row * members, begin = chunk.row * CHANNELS;
        const int64 end = begin + CHANNELS < members ? begin + CHANNELS : members;
#pragma unroll 1
        for (int64 c = first + begin; c < first + end; ++c) {
            const T *const plane = data + c * deformed.pixels();
            out[c * rows + group.at] = convert<T>(read(plane, point.at, point.weight));
        }
    });
}

template <class T>
__device__ __forceinline__ void points(
    const T *columns, const T *data, const T *offset, const T *mask, T *offset_out, T *mask_out,
    const Deformed &deformed, int offset_req, int mask_req) {
    typedef Compute<T> C;
    const int64 members = deformed.members(), places = deformed.places();
    const int64 rows = deformed.taps() * places;
    const bool none = offset_req == Null && mask_req == Null;
    each(none ? 0 : deformed.points(), [&](int64 i) {
        const Point<C> point = point_of<C>(offset, mask != nullptr, deformed, i);
        const Split group = group_of(deformed, i), at = split(i, places);
        C sums[3] = {0, 0, 0};
#pragma unroll 1
        for (int64 c = group.row * members; c < (group.row + 1) * members; ++c) {
            const C g = convert<C>(columns[c * rows + group.at]);
            const T *const plane = data + c * deformed.pixels();
            sums[0] = plus(sums[0], times(g, read(plane, point.at, point.by[0])));
            sums[1] = plus(sums[1], times(g, read(plane, point.at, point.by[1])));
            sums[2] = plus(sums[2], times(g, read(plane, point.at, point.weight)));
        }
        const C factor = mask != nullptr ? convert<C>(mask[i]) : (C)1;
        if (offset_req != Null) {
            T *const down = offset_out + 2 * at.row * places + at.at;
            put(down[0], times(sums[0], factor), opaque(offset_req == Add));
            put(down[places], times(sums[1], factor), opaque(offset_req == Add));
        }
        if (mask_req != Null) {
            put(mask_out[i], sums[2], opaque(mask_req == Add));
        }
    });
}

/// Without a request no pixel is found.
template <class T>
__device__ __forceinline__ void
taps(const T *offset, const T *mask, int64 *places, Compute<T> *weights, const Deformed &deformed,
    int req) {
    typedef Compute<T> C;
    each(deformed.points(), [&](int64 i) {
        const Point<C> point = point_of<C>(offset, mask != nullptr, deformed, i);
        const int64 first = group_of(deformed, i).row * deformed.pixels();
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const bool counts = req != Null && point.weight[k] != (C)0;
            places[4 * i + k] = counts ? first + point.at[k] : -1;
            weights[4 * i + k] = point.weight[k];
        }
    });
}

template <class T>
__device__ __forceinline__ void pixels(
    const T *columns, const Groups &groups, const Compute<T> *weights, const T *mask, T *out,
    const Deformed &deformed, int req) {
    typedef Compute<T> C;
    const int64 size = deformed.pixels(), rows = deformed.taps() * deformed.places();
    each(req == Null ? 0 : deformed.batch * deformed.channels * size, [&](int64 i) {
        const Split at = split(i, size);
        const int64 group = split(at.row, deformed.members()).row;
        const T *const from = columns + (at.row - group) * rows;
        const C sum = sum_at<C>(groups, group * size + at.at, [&](int64 tap) {
            const C g = convert<C>(from[tap / 4]);
            const C part = mask != nullptr ? times(g, convert<C>(mask[tap / 4])) : g;
            return times(weights[tap], part);
        });
        put(out[i], sum, opaque(req == Add));
    });
}

} // namespace fm

#define FM_DEFORMABLE_ENTRIES(T, ...) \
    extern "C" __global__ void deformable_columns_##T( \
        const T *data, const T *offset, const T *mask, T *out, \
        const __grid_constant__ fm::Deformed deformed) { \
        fm::columns(data, offset, mask, out, deformed); \
    } \
    extern "C" __global__ void deformable_points_##T( \
        const T *columns, const T *data, const T *offset, const T *mask, T *offset_out, T *mask_out, \
        const __grid_constant__ fm::Deformed deformed, int offset_req, int mask_req) { \
        fm::points( \
            columns, data, offset, mask, offset_out, mask_out, deformed, offset_req, mask_req); \
    } \
    extern "C" __global__ void deformable_taps_##T( \
        const T *offset, const T *mask, int64 *places, fm::Compute<T> *weights, \
        const __grid_constant__ fm::Deformed deformed, int req) { \
        fm::taps(offset, mask, places, weights, deformed, req); \
    } \
    extern "C" __global__ void deformable_pixels_##T( \
        const T *columns, const __grid_constant__ fm::Groups groups, const fm::Compute<T> *weights, \
        const T *mask, T *out, const __grid_constant__ fm::Deformed deformed, int req) { \
        fm::pixels(columns, groups, weights, mask, out, deformed, req); \
    }
FM_FLOATS(FM_DEFORMABLE_ENTRIES, )

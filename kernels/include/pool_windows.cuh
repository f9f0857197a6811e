// Windows along two axes of planes whose elements lie side by side, fewer than 2^31 of them and of elements: short
// arithmetic, and all elements of the usual windows on their way at once.
#pragma once
#include "pool.cuh"

namespace fm {

/// A divisor of numbers below 2^31, whose quotient is `number * factor >> shift`.
struct Quick {
    int64 factor, shift;

    __device__ __forceinline__ int under(int number) const {
        return (int)((Word)(unsigned)number * (Word)(unsigned)factor >> (int)shift);
    }
};

/// Rows or columns: those of the data and of windows, the windows' kernel, stride and padding, and divisors
/// by strides, by windows, by elements and by packs of 16 bytes of these.
struct FlatAxis {
    PoolAxis axis;
    Quick strides, windows, elements, packs;
};

struct Flat {
    int64 planes, with_pad;
    FlatAxis sides[2];
};

/// Where a maximum is in its window: 16 times the row, and the column. Windows have 15 of each at most.
typedef unsigned char Place;
constexpr Place NOWHERE = 255;

/// A thing of a plane at a row and a column.
struct FlatSpot {
    int plane, row, column;
};

/// The window of a number, or, by the other divisors, the element or the pack.
__device__ __forceinline__ FlatSpot
flat_spot(int number, const Quick &rows, int height, const Quick &columns, int width) {
    const int line = columns.under(number), plane = rows.under(line);
    return {plane, line - plane * height, number - line * width};
}

/// Calls `each(window, first row, first column)` for this thread's share of the windows.
template <class F> __device__ __forceinline__ void each_window(const Flat &flat, int req, F each) {
    const PoolAxis &down = flat.sides[0].axis, &along = flat.sides[1].axis;
    const int height = (int)down.output, width = (int)along.output;
    const int total = req == Null ? 0 : (int)flat.planes * height * width;
    // The last step may go beyond 2^31.
#pragma unroll 1
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)total;
         i += gridDim.x * blockDim.x) {
        const FlatSpot spot
            = flat_spot(i, flat.sides[0].windows, height, flat.sides[1].windows, width);
        const int row = spot.row * (int)down.stride - (int)down.pad;
        each(i, spot, row, spot.column * (int)along.stride - (int)along.pad);
    }
}

/// Calls `one(row, column, element or `start`)` for the positions of a window, in their order; those outside
/// of the plane, too, where the window has KERNEL rows and columns, which are then all loaded before.
template <int KERNEL, class T, class F>
__device__ __forceinline__ void
over_flat(const T *plane, const Flat &flat, int row, int column, Compute<T> start, F one) {
    typedef Compute<T> R;
    const int height = (int)flat.sides[0].axis.input, width = (int)flat.sides[1].axis.input;
    if constexpr (KERNEL > 0) {
        R x[KERNEL * KERNEL];
#pragma unroll
        for (int k = 0; k < KERNEL * KERNEL; ++k) {
            const int at_row = row + k / KERNEL, at_column = column + k % KERNEL;
            const bool in = (unsigned)at_row < (unsigned)height && (unsigned)at_column < (unsigned)width;
            x[k] = in ? convert<R>(plane[at_row * width + at_column]) : start;
        }
#pragma unroll
        for (int k = 0; k < KERNEL * KERNEL; ++k) {
            one(k / KERNEL, k % KERNEL, x[k]);
        }
    } else {
        const int rows = (int)flat.sides[0].axis.kernel, columns = (int)flat.sides[1].axis.kernel;
        const int top = row < 0 ? -row : 0, bottom = row + rows > height ? height - row : rows;
        const int left = column < 0 ? -column : 0;
        const int right = column + columns > width ? width - column : columns;
#pragma unroll 1
        for (int y = top; y < bottom; ++y) {
#pragma unroll 4
            for (int x = left; x < right; ++x) {
                one(y, x, convert<R>(plane[(row + y) * width + column + x]));
            }
        }
    }
}

/// Whether all windows have so many rows and columns.
__device__ __forceinline__ bool is_square(const Flat &flat, int kernel) {
    return flat.sides[0].axis.kernel == kernel && flat.sides[1].axis.kernel == kernel;
}

template <class T>
__device__ __forceinline__ const T *plane_at(const T *data, const Flat &flat, int plane) {
    return data + plane * (flat.sides[0].axis.input * flat.sides[1].axis.input);
}

template <Kind KIND, class R>
__device__ __forceinline__ R flat_share(const Flat &flat, const FlatSpot &spot) {
    if (KIND != Kind::Avg) {
        return (R)1;
    }
    const bool pad = flat.with_pad != 0;
    const int64 count = divisor(flat.sides[0].axis, spot.row, pad)
        * divisor(flat.sides[1].axis, spot.column, pad);
    return over((R)1, (R)(count < 1 ? 1 : count));
}

template <Kind KIND, int KERNEL, class T>
__device__ __forceinline__ void forward_of(const T *data, T *out, const Flat &flat, int req) {
    typedef Compute<T> R;
    each_window(flat, req, [&](int i, const FlatSpot &spot, int row, int column) {
        const R start = start_of<KIND, T>();
        R y = start;
        const T *const plane = plane_at(data, flat, spot.plane);
        over_flat<KERNEL>(plane, flat, row, column, start, [&](int, int, R x) {
            y = with<KIND>(y, x);
        });
        put(out[i], y * flat_share<KIND, R>(flat, spot), opaque(req == Add));
    });
}

template <Kind KIND, class T>
__device__ __forceinline__ void flat_forward(const T *data, T *out, const Flat &flat, int req) {
    if (is_square(flat, 3)) {
        forward_of<KIND, 3>(data, out, flat, req);
    } else if (is_square(flat, 2)) {
        forward_of<KIND, 2>(data, out, flat, req);
    } else {
        forward_of<KIND, 0>(data, out, flat, req);
    }
}

template <int KERNEL, class T>
__device__ __forceinline__ void places_of(const T *data, Place *places, const Flat &flat, int req) {
    typedef Compute<T> R;
    const R below = 2 * least<T>(); // all finite numbers
    each_window(flat, req, [&](int i, const FlatSpot &spot, int row, int column) {
        R y = below;
        int place = NOWHERE;
        const T *const plane = plane_at(data, flat, spot.plane);
        over_flat<KERNEL>(plane, flat, row, column, below, [&](int down, int along, R x) {
            place = x > y ? 16 * down + along : place;
            y = x > y ? x : y;
        });
        places[i] = (Place)place;
    });
}

template <class T>
__device__ __forceinline__ void find_places(const T *data, Place *places, const Flat &flat, int req) {
    if (is_square(flat, 3)) {
        places_of<3>(data, places, flat, req);
    } else if (is_square(flat, 2)) {
        places_of<2>(data, places, flat, req);
    } else {
        places_of<0>(data, places, flat, req);
    }
}

/// The windows that cover some of COUNT neighbours.
template <int COUNT> __device__ __forceinline__ Range covering(const FlatAxis &side, int at) {
    const int before = at + (int)side.axis.pad - (int)side.axis.kernel;
    const int last = side.strides.under(at + COUNT - 1 + (int)side.axis.pad);
    const int first = before < 0 ? 0 : side.strides.under(before) + 1;
    return {first, last < (int)side.axis.output ? last + 1 : side.axis.output};
}

/// The sums of the gradients whose maxima are COUNT neighbours of a row.
template <int COUNT, class T>
__device__ __forceinline__ void placed_at(
    const T *grad, const Place *places, const Flat &flat, const FlatSpot &spot,
    Compute<T> (&sums)[COUNT]) {
    typedef Compute<T> R;
    constexpr int AT_ONCE = COUNT == 1 ? 2 : COUNT / 2 + 1;
    const PoolAxis &down = flat.sides[0].axis, &along = flat.sides[1].axis;
    const Range rows = covering<1>(flat.sides[0], spot.row);
    const Range columns = covering<COUNT>(flat.sides[1], spot.column);
    const int first = (int)columns.first, end = (int)columns.end;
#pragma unroll 1
    for (int row = (int)rows.first; row < (int)rows.end; ++row) {
        const int line = (spot.plane * (int)down.output + row) * (int)along.output;
        const int own = spot.row - row * (int)down.stride + (int)down.pad;
#pragma unroll 1
        for (int column = first; column < end; column += AT_ONCE) {
            int place[AT_ONCE];
            R g[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                const bool in = column + k < end;
                place[k] = in ? places[line + column + k] : NOWHERE;
                g[k] = in ? convert<R>(grad[line + column + k]) : (R)0;
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                const int start = (column + k) * (int)along.stride - (int)along.pad - spot.column;
                const int at = place[k] >> 4 == own ? start + (place[k] & 15) : -1;
#pragma unroll
                for (int j = 0; j < COUNT; ++j) {
                    sums[j] = at == j ? sums[j] + g[k] : sums[j];
                }
            }
        }
    }
}

/// Gradients of packs of COUNT elements; rows are whole packs.
template <int COUNT, class T>
__device__ __forceinline__ void placed_in(
    const T *grad, const Place *places, T *result, const Flat &flat, const Quick &by, int req) {
    typedef Compute<T> R;
    const int height = (int)flat.sides[0].axis.input, wide = (int)flat.sides[1].axis.input / COUNT;
    const int total = req == Null ? 0 : (int)flat.planes * height * wide;
    const bool add = opaque(req == Add);
#pragma unroll 1
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)total;
         i += gridDim.x * blockDim.x) {
        FlatSpot spot = flat_spot(i, flat.sides[0].elements, height, by, wide);
        spot.column *= COUNT;
        R sums[COUNT] = {};
        placed_at(grad, places, flat, spot, sums);
        Pack<T, COUNT> some;
        if (add) {
            some = ((const Pack<T, COUNT> *)result)[i];
        }
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            put(some.at[k], sums[k], add);
        }
        ((Pack<T, COUNT> *)result)[i] = some;
    }
}

template <class T>
__device__ __forceinline__ void flat_placed(
    const T *grad, const Place *places, T *result, const Flat &flat, int req) {
    constexpr int LANES = lanes<T, T>;
    const bool aligned = (unsigned long long)result % sizeof(Pack<T, LANES>) == 0;
    if (aligned && flat.sides[1].axis.input % LANES == 0) {
        placed_in<LANES>(grad, places, result, flat, flat.sides[1].packs, req);
    } else {
        placed_in<1>(grad, places, result, flat, flat.sides[1].elements, req);
    }
}

} // namespace fm

// What the taps of a convolution's kernel reach: where positions of the result and taps lie in memory.
// The gradient of the data is a convolution, too: of its positions along an axis, those of one phase,
// the rest of a division by the stride, take the same taps, which reach neighbours.
#pragma once
#include "types.cuh"

namespace fm {

/// Divides numbers below 2^31 by a multiplication (Granlund and Montgomery, "Division by invariant
/// integers using multiplication", 1994).
struct Divisor {
    unsigned by, magic;
    int shift;
    __device__ __forceinline__ unsigned over(unsigned x) const {
        return ((unsigned)((unsigned long long)x * magic >> 32) + x) >> shift;
    }
    /// Takes the rest out of a number that becomes the quotient.
    __device__ __forceinline__ int take(unsigned &x) const {
        const unsigned quotient = over(x), rest = x - quotient * by;
        x = quotient;
        return (int)rest;
    }
};

/// Of nothing, one.
__device__ __forceinline__ Divisor divisor_of(int count) {
    const unsigned by = count < 1 ? 1 : (unsigned)count;
    int shift = 0;
    while (1ull << shift < by) {
        ++shift;
    }
    const unsigned long long rest = (1ull << shift) - by;
    return {by, (unsigned)((rest << 32) / by + 1), shift};
}

/// An axis of a convolution.
struct Axis {
    int64 input, output, kernel, stride, dilate, pad;
};

/// A convolution; channels and filters are those of a group, and axes that it lacks have one element.
struct Shape {
    int64 batch, groups, channels, filters;
    Axis axes[3];
};

/// Position `p` and tap `t` of an axis reach `p * factor + base + t * step` of the source. Tap `t` is
/// number `first_tap + t * tap_step` of the kernel's, and `p` stands at `start + p * target_step`.
struct Line {
    Divisor positions, taps;
    int source, factor, base, step;
    int kernel, first_tap, tap_step;
    int target, start, target_step;
};

/// A position: where its sample starts, and where its first tap would reach.
struct Position {
    int sample, at[3];
};

/// A tap: its plane of the sample, how far it reaches, and where its weight is.
struct Tap {
    int plane, at[3], weight;
};

struct Field {
    Line lines[3];
    /// Extents of the product of weights and what they reach.
    int rows, columns, depth;
    /// Input planes of a group, and the distance between their weights.
    int planes, weight_plane;
    int weight_row, weight_group;
    int source_plane, source_group, source_sample;
    int plane, target_group, target_sample;
    /// Positions of a sample.
    Divisor positions;

    __device__ __forceinline__ Position position(unsigned column) const {
        Position found;
#pragma unroll
        for (int k = 2; k >= 0; --k) {
            const int at = lines[k].positions.take(column);
            found.at[k] = at * lines[k].factor + lines[k].base;
        }
        found.sample = (int)column * source_sample;
        return found;
    }
    /// Where a position stands in the result of a group.
    __device__ __forceinline__ int target(unsigned column) const {
        int at[3];
#pragma unroll
        for (int k = 2; k >= 0; --k) {
            at[k] = lines[k].positions.take(column) * lines[k].target_step + lines[k].start;
        }
        const int in_plane = (at[0] * lines[1].target + at[1]) * lines[2].target + at[2];
        return (int)column * target_sample + in_plane;
    }
    __device__ __forceinline__ Tap tap(unsigned number) const {
        int at[3];
#pragma unroll
        for (int k = 2; k >= 0; --k) {
            at[k] = lines[k].taps.take(number);
        }
        return tap((int)number, at);
    }
    __device__ __forceinline__ Tap tap(int plane, const int (&at)[3]) const {
        Tap found;
        int weight = 0;
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            found.at[k] = at[k] * lines[k].step;
            weight = weight * lines[k].kernel + lines[k].first_tap + at[k] * lines[k].tap_step;
        }
        found.plane = plane * source_plane;
        found.weight = plane * weight_plane + weight;
        return found;
    }
    /// What a tap reaches from a position; zero outside of the source.
    template <class T>
    __device__ __forceinline__ T reached(const T *data, const Position &p, const Tap &t) const {
        int at = 0;
        bool inside = true;
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const int place = p.at[k] + t.at[k];
            inside = inside && (unsigned)place < (unsigned)lines[k].source;
            at = at * lines[k].source + place;
        }
        return inside ? data[p.sample + t.plane + at] : T{0};
    }
};

__device__ __forceinline__ Line line_of(const Axis &axis) {
    return {divisor_of((int)axis.output), divisor_of((int)axis.kernel),
            (int)axis.input, (int)axis.stride, (int)-axis.pad, (int)axis.dilate,
            (int)axis.kernel, 0, 1, (int)axis.output, 0, 1};
}

/// Phase `phase` of the gradient of the data, and how many taps it has.
__device__ __forceinline__ Line back_of(const Axis &axis, int phase, int &count) {
    const int stride = (int)axis.stride, dilate = (int)axis.dilate;
    int first = 0, tap_step = 1;
    count = 0;
#pragma unroll 1
    for (int t = 0; t < (int)axis.kernel; ++t) {
        if ((phase + (int)axis.pad - t * dilate) % stride == 0) {
            first = count == 0 ? t : first;
            tap_step = count == 1 ? t - first : tap_step;
            ++count;
        }
    }
    const int input = (int)axis.input;
    const int positions = input > phase ? (input - phase + stride - 1) / stride : 0;
    const int base = count == 0 ? 0 : (phase + (int)axis.pad - first * dilate) / stride;
    return {divisor_of(positions), divisor_of(count),
            (int)axis.output, 1, base, -(tap_step * dilate / stride),
            (int)axis.kernel, first, tap_step, input, phase, stride};
}

/// What follows from the lines and the extents of a group.
__device__ __forceinline__ void
fill(Field &field, const Shape &shape, int64 rows, int64 planes, int64 taps, int64 positions) {
    const Line *const l = field.lines;
    field.rows = (int)rows;
    field.planes = (int)planes;
    field.depth = (int)(planes * taps);
    field.columns = (int)(shape.batch * positions);
    field.positions = divisor_of((int)positions);
    field.weight_group = (int)(rows * planes) * l[0].kernel * l[1].kernel * l[2].kernel;
    field.source_plane = l[0].source * l[1].source * l[2].source;
    field.source_group = field.planes * field.source_plane;
    field.source_sample = (int)shape.groups * field.source_group;
    field.plane = l[0].target * l[1].target * l[2].target;
    field.target_group = field.rows * field.plane;
    field.target_sample = (int)shape.groups * field.target_group;
}

/// The convolution itself.
__device__ __forceinline__ void field_of(Field &field, const Shape &shape) {
    int64 positions = 1, taps = 1;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        field.lines[k] = line_of(shape.axes[k]);
        positions *= shape.axes[k].output;
        taps *= shape.axes[k].kernel;
    }
    fill(field, shape, shape.filters, shape.channels, taps, positions);
    field.weight_plane = (int)taps;
    field.weight_row = field.planes * (int)taps;
}

__device__ __forceinline__ int64 phases_of(const Shape &shape) {
    return shape.axes[0].stride * shape.axes[1].stride * shape.axes[2].stride;
}

/// A phase of the gradient of its data.
__device__ __forceinline__ void back_of(Field &field, const Shape &shape, int64 phase) {
    int64 positions = 1, taps = 1, kernel = 1;
#pragma unroll
    for (int k = 2; k >= 0; --k) {
        const Axis &axis = shape.axes[k];
        const int own = (int)(phase % axis.stride);
        int count;
        phase /= axis.stride;
        field.lines[k] = back_of(axis, own, count);
        positions *= own < axis.input ? (axis.input - own + axis.stride - 1) / axis.stride : 0;
        taps *= count;
        kernel *= axis.kernel;
    }
    fill(field, shape, shape.channels, shape.filters, taps, positions);
    field.weight_row = (int)kernel;
    field.weight_plane = field.rows * (int)kernel;
}

/// Weights as the left operand: rows of the output's channels, in depth the taps.
template <bool BACK, class T> struct Weights {
    typedef int Row;
    static constexpr bool along_depth = true;
    const T *data;
    const Field &field;

    __device__ __forceinline__ Row row(int64 i) const { return (int)i * field.weight_row; }
    __device__ __forceinline__ T at(Row row, int64 k) const {
        return data[row + (BACK ? field.tap((unsigned)k).weight : (int)k)];
    }
};

/// What the taps of each position reach, as the right operand: columns of positions.
template <class T> struct Reached {
    typedef Position Row;
    static constexpr bool along_depth = false;
    const T *data;
    const Field &field;

    __device__ __forceinline__ Row row(int64 j) const { return field.position((unsigned)j); }
    __device__ __forceinline__ T at(const Row &row, int64 k) const {
        return field.reached(data, row, field.tap((unsigned)k));
    }
};

} // namespace fm

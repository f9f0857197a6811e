// Sizes of a layer of a recurrent network, and where the numbers of one step lie.
#pragma once
#include "cells.cuh"

namespace fm {

enum Mode { Relu = 0, Tanh = 1, Lstm = 2, Gru = 3 };
template <int MODE> constexpr int gates_of = MODE == Lstm ? 4 : MODE == Gru ? 3 : 1;
enum Clipped { Free = 0, Bounded = 1, WithoutNan = 2 };

/// One layer: sizes, and where in the arrays of all layers its own begins.
struct Net {
    int64 steps, batch, hidden, out, directions;
    /// Of the states' weights, the projection's and the biases among the parameters; from one direction's
    /// weights to the other's.
    int64 weights, projection, biases, weights_step;
    /// Of what is kept: gates; from there to further numbers, and to outputs before the projection; from one
    /// direction's to the other's.
    int64 kept, more, unprojected, kept_step;
    /// Of the outputs.
    int64 seen;
    int64 projects, clipped;
    float64 low, high;

    __device__ __forceinline__ int64 step(int64 d, int64 number) const {
        return d == 0 ? number : steps - 1 - number;
    }
    __device__ __forceinline__ int64 length(const int64 *lengths, int64 row) const {
        const int64 n = lengths == nullptr ? steps : lengths[row];
        return n < 0 ? 0 : n;
    }
    __device__ __forceinline__ int64 place(int64 t, int64 row, int64 d, int64 unit) const {
        return ((t * batch + row) * directions + d) * out + unit;
    }
    template <class R> __device__ __forceinline__ R clip(R c) const {
        const R least = (R)low, greatest = (R)high;
        if (clipped == Free) {
            return c;
        }
        return (clipped == WithoutNan && c != c) || c < least ? least : c > greatest ? greatest : c;
    }
};

} // namespace fm

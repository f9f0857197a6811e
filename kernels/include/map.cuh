// The elementwise loop: one output computed from inputs that broadcast to its shape. It follows
// strides, or goes 16 bytes at a time where memory has no gaps. Any one-dimensional grid computes
// the same result.
#pragma once
#include "convert.cuh"
#include "number.cuh"

namespace fm {

constexpr int MAX_RANK = 8;

/// What to do with an output; `Inplace` may share the memory of an input of the same strides.
enum Req { Null = 0, Write = 1, Inplace = 2, Add = 3 };

/// How N operands, the output first, lie in memory. The caller merges neighbouring axes where it
/// can, so that eight of them do for any shape in practice. Everything has 8 bytes, without gaps.
template <int N> struct Walk {
    /// Elements of the output.
    int64 total;
    /// Axes in use, at most MAX_RANK; none where `flat` and `single` cover all operands.
    int64 rank;
    /// Bit j: operand j is C-contiguous and has the shape of the output.
    int64 flat;
    /// Bit j: operand j is one element, which stands for all.
    int64 single;
    /// Extents of the output.
    int64 shape[MAX_RANK];
    /// Elements from one to the next along each axis; 0 where an operand is broadcast.
    int64 strides[N][MAX_RANK];
};

/// Elements that are loaded and stored as one.
template <class T, int LANES> struct alignas(sizeof(T) * LANES) Pack {
    T at[LANES];
};

/// Elements of 16 bytes, of the larger of two types.
template <class D, class S>
constexpr int lanes = 16 / (int)(sizeof(D) > sizeof(S) ? sizeof(D) : sizeof(S));

/// The same, but few enough that a long function may be repeated for each of them.
template <class D, class S> constexpr int few_lanes = lanes<D, S> < 4 ? lanes<D, S> : 4;

template <int N, class Index>
__device__ __forceinline__ void unravel(const Walk<N> &walk, Index rest, int64 (&place)[N]) {
#pragma unroll 1
    for (int axis = (int)walk.rank - 1; axis >= 0; --axis) {
        const Index extent = (Index)walk.shape[axis], outer = rest / extent;
        const int64 at = (int64)(rest - outer * extent);
        for (int j = 0; j < N; ++j) {
            place[j] += at * walk.strides[j][axis];
        }
        rest = outer;
    }
}

/// `unravel` for more than 2^32 elements: division is slow there, and inlining it everywhere would
/// be for nothing.
template <int N>
__device__ __noinline__ void unravel_far(const Walk<N> &walk, Word rest, int64 (&place)[N]) {
    unravel(walk, rest, place);
}

/// The offsets of all operands at a position of the output.
template <int N>
__device__ __forceinline__ void locate(const Walk<N> &walk, int64 position, int64 (&place)[N]) {
    for (int j = 0; j < N; ++j) {
        place[j] = walk.rank == 0 && (walk.flat >> j & 1) ? position : 0;
    }
    if (walk.total <= 0xffffffffll) {
        unravel(walk, (unsigned)position, place);
    } else {
        // In a copy, so that `place` itself may stay in registers.
        int64 far[N];
        for (int j = 0; j < N; ++j) {
            far[j] = place[j];
        }
        unravel_far(walk, (Word)position, far);
        for (int j = 0; j < N; ++j) {
            place[j] = far[j];
        }
    }
}

/// The same truth value, but unknown to the compiler, which would compile a loop once for each.
__device__ __forceinline__ bool opaque(bool flag) {
    int value = flag;
    asm volatile("" : "+r"(value));
    return value != 0;
}

/// Stores a result, or adds it to what is there: sums of reals are rounded once, other results
/// are of the output's type before they are added.
template <class D, class C> __device__ __forceinline__ void put(D &out, C result, bool add) {
    if constexpr (Type<D>::integer) {
        const D y = convert<D>(result);
        out = add ? plus(out, y) : y;
    } else {
        out = convert<D>(add ? plus(convert<C>(out), result) : result);
    }
}

/// Whether packs of all operands without gaps are aligned, and there are no others.
template <int LANES, class D, class S, int INPUTS>
__device__ __forceinline__ bool packable(
    const D *out, const S *const (&in)[INPUTS], const Walk<INPUTS + 1> &walk) {
    const int64 all = (1 << (INPUTS + 1)) - 1;
    bool fine = LANES > 1 && (walk.flat & 1) && (walk.flat | walk.single) == all
        && (unsigned long long)out % sizeof(Pack<D, LANES>) == 0;
    for (int j = 0; j < INPUTS; ++j) {
        const bool aligned = (unsigned long long)in[j] % sizeof(Pack<S, LANES>) == 0;
        fine = fine && (aligned || (walk.single >> (j + 1) & 1));
    }
    return fine;
}

/// The pack of an input at `p`, or its one element in all lanes.
template <int LANES, class S>
__device__ __forceinline__ Pack<S, LANES> fetch(const S *in, bool single, int64 p) {
    if (!single) {
        return ((const Pack<S, LANES> *)in)[p];
    }
    Pack<S, LANES> x;
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
        x.at[i] = in[0];
    }
    return x;
}

/// `map` for the elements of pack `p`.
template <int LANES, class D, class S, int INPUTS, class F>
__device__ __forceinline__ void map_pack(
    D *out, const S *const (&in)[INPUTS], int64 single, int64 p, bool add, F f) {
    Pack<S, LANES> x[INPUTS];
    for (int j = 0; j < INPUTS; ++j) {
        x[j] = fetch<LANES>(in[j], single >> (j + 1) & 1, p);
    }
    Pack<D, LANES> y;
    if (add) {
        y = ((const Pack<D, LANES> *)out)[p];
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
        S one[INPUTS];
        for (int j = 0; j < INPUTS; ++j) {
            one[j] = x[j].at[i];
        }
        put(y.at[i], f(one), add);
    }
    ((Pack<D, LANES> *)out)[p] = y;
}

/// Sets `out` to `f` of the inputs. `f` takes an array with an element of each input and returns
/// the result in the type that it is computed in. Every element is read before it is written, by
/// the thread that writes it.
template <int LANES, class D, class S, int INPUTS, class F>
__device__ __forceinline__ void map(
    D *out, const S *const (&in)[INPUTS], const Walk<INPUTS + 1> &walk, int req, F f) {
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    const int64 step = gridDim.x * (int64)blockDim.x;
    const int64 total = req == Null ? 0 : walk.total;
    const int64 packs = packable<LANES>(out, in, walk) ? total / LANES : 0;
#pragma unroll 1
    for (int64 p = first; p < packs; p += step) {
        map_pack<LANES>(out, in, walk.single, p, opaque(req == Add), f);
    }
#pragma unroll 1
    for (int64 i = packs * LANES + first; i < total; i += step) {
        int64 place[INPUTS + 1];
        locate(walk, i, place);
        S one[INPUTS];
        for (int j = 0; j < INPUTS; ++j) {
            one[j] = in[j][place[j + 1]];
        }
        put(out[place[0]], f(one), opaque(req == Add));
    }
}

} // namespace fm

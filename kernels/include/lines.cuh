// Rows without gaps whose elements the threads of a team share, and numbers for softmax of them.
#pragma once
#include "fold.cuh"
#include "real.cuh"

namespace fm {

/// Elements of a line that a thread keeps.
template <class T> constexpr int KEPT = sizeof(T) == 8 ? 8 : 16;

/// What all elements of a row are below, or equal to.
template <class C> __device__ __forceinline__ C lowest() {
    return -(C)__uint_as_float(0x7f800000u);
}

/// The larger one, or the one that is a number: sums of exponentials tell of NaN.
__device__ __forceinline__ float32 peak(float32 a, float32 b) { return fmaxf(a, b); }
__device__ __forceinline__ float64 peak(float64 a, float64 b) { return fmax(a, b); }

/// The exponential of a computed number, as exact as elements of type T show.
template <class T> __device__ __forceinline__ Compute<T> power_of_e(Compute<T> x) {
    if constexpr (sizeof(T) == 2) {
        const float32 two = 1.4426950408889634f * x;
#ifdef FM_HOST
        return exp2f(two);
#else
        float32 y;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(two));
        return y;
#endif
    } else {
        return exponential(x);
    }
}

/// A pack that is not read again, or not soon: the cache makes room of it first.
template <class P> __device__ __forceinline__ P get_last(const P *at) {
#ifndef FM_HOST
    if constexpr (sizeof(P) == 16) {
        union {
            unsigned words[4];
            P pack;
        } x;
        asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x.words[0]), "=r"(x.words[1]), "=r"(x.words[2]), "=r"(x.words[3])
                     : "l"(at)
                     : "memory");
        return x.pack;
    }
#endif
    return *at;
}
template <class P> __device__ __forceinline__ void set_last(P *at, const P &pack) {
#ifndef FM_HOST
    if constexpr (sizeof(P) == 16) {
        union {
            P pack;
            unsigned words[4];
        } x = {pack};
        asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};"
                     :
                     : "l"(at), "r"(x.words[0]), "r"(x.words[1]), "r"(x.words[2]), "r"(x.words[3])
                     : "memory");
        return;
    }
#endif
    *at = pack;
}

/// How many elements of a position count.
__device__ __forceinline__ int64
length_of(const void *lengths, int wide, int64 position, int64 count) {
    if (lengths == nullptr) {
        return count;
    }
    const int64 given
        = wide ? ((const int64 *)lengths)[position] : (int64)((const int32 *)lengths)[position];
    return given < 0 ? 0 : given < count ? given : count;
}

/// A row without gaps, in packs.
template <class T, int LANES> struct Line {
    int64 first;
    unsigned packs, length;
    bool is_one;

    __device__ __forceinline__
    Line(const void *lengths, int wide, const Along &along, int64 row) {
        is_one = row < along.outer;
        row = is_one ? row : along.outer - 1;
        packs = (unsigned)along.count / LANES;
        length = (unsigned)length_of(lengths, wide, row, along.count);
        first = row * packs;
    }
    __device__ __forceinline__ bool has(unsigned p) const { return is_one && p < packs; }
    __device__ __forceinline__ bool whole() const { return length == packs * LANES; }

    /// Sets what is behind the length to a number, in packs `apart` from each other.
    template <class C, int PACKS>
    __device__ __forceinline__ void
    fill(C (&x)[PACKS][LANES], unsigned p, unsigned apart, C value) const {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            const int left = (int)(length - (p + k * apart) * LANES);
#pragma unroll
            for (int j = 0; j < LANES; ++j) {
                x[k][j] = j < left ? x[k][j] : value;
            }
        }
    }
    /// Sets x to packs that are `apart`; behind the end the last one, so that no load waits for a
    /// comparison.
    template <bool LAST = false, int PACKS>
    __device__ __forceinline__ void
    get(Pack<T, LANES> (&x)[PACKS], const T *data, unsigned p, unsigned apart) const {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            const unsigned at = p + k * apart;
            const Pack<T, LANES> *const from
                = (const Pack<T, LANES> *)data + first + (at < packs ? at : packs - 1);
            x[k] = LAST ? get_last(from) : *from;
        }
    }
    /// Stores packs that are `apart`, with zeros behind the length.
    template <bool LAST, class C, int PACKS>
    __device__ __forceinline__ void
    set(T *out, C (&x)[PACKS][LANES], unsigned p, unsigned apart, bool add) const {
        if (!whole()) {
            fill(x, p, apart, (C)0);
        }
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            Pack<T, LANES> *const to = (Pack<T, LANES> *)out + first + (p + k * apart);
            if (has(p + k * apart)) {
                store<LAST>(to, x[k], add);
            }
        }
    }
    template <bool LAST, class C>
    static __device__ __forceinline__ void
    store(Pack<T, LANES> *to, C (&x)[LANES], bool add) {
        if (add) {
            const Pack<T, LANES> before = *to;
#pragma unroll
            for (int j = 0; j < LANES; ++j) {
                x[j] = plus(convert<C>(before.at[j]), x[j]);
            }
        }
        Pack<T, LANES> y;
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            y.at[j] = convert<T>(x[j]);
        }
        if (LAST) {
            set_last(to, y);
        } else {
            *to = y;
        }
    }
};

/// Calls `each(line)` for the rows of the block's teams; all threads of the block call it.
template <class T, int LANES, class F>
__device__ __forceinline__ void
lines(const void *lengths, int wide, const Along &along, const Team &team, int req, F each) {
    const int64 total = req == Null || along.count == 0 ? 0 : along.outer;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        each(Line<T, LANES>(lengths, wide, along, first + team.number));
    }
}

/// Whether lines are rows whose places are computed in 32 bits, and packs of them are aligned.
__device__ __forceinline__ bool are_rows(const Along &along) {
    return along.inner == 1 && along.count <= MOST_FOLDED / 2;
}
template <class T> __device__ __forceinline__ bool have_packs(const Along &along, Word bits) {
    constexpr int LANES = lanes<T, T>;
    return along.count % LANES == 0 && bits % sizeof(Pack<T, LANES>) == 0;
}

/// Divides by a temperature; IS_ONE where that is 1, as mostly. For float32 it multiplies by the reciprocal
/// in float64, which has range and digits enough, and takes fewer registers than a division.
template <class C, bool IS_ONE> struct Divisor {
    float64 by;

    __device__ __forceinline__ explicit Divisor(C t)
        : by(sizeof(C) == 8 ? (float64)t : __drcp_rn((float64)t)) {}

    __device__ __forceinline__ C of(C x) const {
        if constexpr (IS_ONE) {
            return x;
        } else if constexpr (sizeof(C) == 8) {
            return over(x, by);
        } else {
            return (C)((float64)x * by);
        }
    }
};

/// The temperature of softmax: the data change their signs where it is negative, so that the highest
/// ones always count most.
template <class C, bool IS_ONE> struct Temperature {
    Divisor<C, IS_ONE> size;
    C sign;

    __device__ __forceinline__ explicit Temperature(float64 t)
        : size((C)(t < 0 ? -t : t)), sign(!IS_ONE && t < 0 ? (C)-1 : (C)1) {}
};

/// Sets x to the elements of packs `apart` from each other, with the temperature's sign: the lowest
/// behind the length, and from the end of the row on what is there already.
template <bool LAST, int PACKS, int LANES, class T, class C>
__device__ __forceinline__ void take(
    C (&x)[PACKS][LANES], const T *data, const Line<T, LANES> &line, unsigned p, unsigned apart,
    C sign) {
    Pack<T, LANES> found[PACKS];
    line.template get<LAST>(found, data, p, apart);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            x[k][j] = convert<C>(found[k].at[j]) * sign;
        }
    }
    if (!line.whole()) {
        line.fill(x, p, apart, lowest<C>());
    }
}

/// Takes `top` from the elements before it divides them: quotients may be too large for a difference.
template <int PACKS, int LANES, class T, class C, bool IS_ONE>
__device__ __forceinline__ void lower(
    C (&x)[PACKS][LANES], const Line<T, LANES> &line, unsigned p, unsigned apart, C top,
    const Temperature<C, IS_ONE> &t) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            x[k][j] = t.size.of(x[k][j] - top);
        }
    }
    if (!IS_ONE && !line.whole()) { // an infinite temperature makes NaN of the lowest
        line.fill(x, p, apart, lowest<C>());
    }
}

/// The highest of the elements, and of one before.
template <int PACKS, int LANES, class C>
__device__ __forceinline__ C highest_of(const C (&x)[PACKS][LANES], C highest) {
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            highest = peak(x[k][j], highest);
        }
    }
    return highest;
}

} // namespace fm

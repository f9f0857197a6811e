// softmax, softmin and log_softmax along an axis, and their gradients.
//
// Entry points: softmax_forward_FROM_TO and softmax_log_FROM_TO(data, lengths, wide, out, along,
// temperature, req); softmax_backward_DTYPE and softmax_backward_log_DTYPE with (grad, out, ...) in
// place of data. `lengths` may be null; they are int64 where `wide`, else int32. softmin is softmax
// with the opposite of the temperature. Arrays have no gaps. As many threads as lie along y, a power of
// two, share a line; they keep one without gaps between the passes where they have room, and read a
// longer one twice.
#include "lines.cuh"

namespace fm {

/// Goes through the positions with `each(first element, elements that count)`, which all threads of
/// a block call together; threads along y share the elements of a position.
template <class F>
__device__ __forceinline__ void
positions(const void *lengths, int wide, const Along &along, int req, F each) {
    const int64 total = req == Null ? 0 : along.outer * along.inner;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 position = first + threadIdx.x;
        const bool is_one = position < total;
        const int64 outer = position / along.inner, at = position - outer * along.inner;
        const int64 length = is_one ? length_of(lengths, wide, position, along.count) : 0;
        each(outer * along.count * along.inner + at, length, is_one ? along.count : 0);
    }
}

template <bool FIRST, class A, class B> struct Either {
    typedef A Is;
};
template <class A, class B> struct Either<false, A, B> {
    typedef B Is;
};
/// The wider of the types that two are computed in.
template <class A, class B>
using Wider = typename Either<(sizeof(Compute<A>) > sizeof(Compute<B>)), Compute<A>, Compute<B>>::Is;

template <class A, class B> constexpr bool same = false;
template <class A> constexpr bool same<A, A> = true;

/// Softmax of rows that threads keep.
template <bool LOG, int LANES, class T, class C, bool IS_ONE>
__device__ __forceinline__ void softmax_kept(
    const T *data, const void *lengths, int wide, T *out, C (&part)[MOST_THREADS],
    const Along &along, const Temperature<C, IS_ONE> &t, int req) {
    constexpr int PACKS = KEPT<T> / LANES;
    const Team team;
    const bool add = opaque(req == Add);
    lines<T, LANES>(lengths, wide, along, team, req, [&](const Line<T, LANES> &line) {
        C x[PACKS][LANES], sum = 0;
        take<false>(x, data, line, team.lane, team.size, t.sign);
        const C top = team.together(
            highest_of(x, lowest<C>()), part, [](C a, C b) { return peak(a, b); });
        lower(x, line, team.lane, team.size, top, t);
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
#pragma unroll
            for (int j = 0; j < LANES; ++j) {
                const C e = power_of_e<T>(x[k][j]);
                x[k][j] = LOG ? x[k][j] : e;
                sum += team.lane + k * team.size < line.packs ? e : (C)0;
            }
        }
        sum = team.together(sum, part, [](C a, C b) { return a + b; });
        const C rest = LOG ? logarithm(sum) : over((C)1, sum);
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
#pragma unroll
            for (int j = 0; j < LANES; ++j) {
                x[k][j] = LOG ? x[k][j] - rest : x[k][j] * rest;
            }
        }
        line.template set<false>(out, x, team.lane, team.size, add);
    });
}

/// A sum of exponentials below `from`, as one below `to`; nothing is below the lowest one.
template <class T, class C, bool IS_ONE>
__device__ __forceinline__ C rescaled(C sum, C from, C to, const Temperature<C, IS_ONE> &t) {
    return from == lowest<C>() ? sum : sum * power_of_e<T>(t.size.of(from - to));
}

/// Softmax of rows that are read twice: the second time from their end, of which more is in the cache.
template <bool LOG, int LANES, class T, class C, bool IS_ONE>
__device__ __forceinline__ void softmax_long(
    const T *data, const void *lengths, int wide, T *out, C (&part)[MOST_THREADS],
    const Along &along, const Temperature<C, IS_ONE> &t, int req) {
    constexpr int PACKS = LANES == 8 ? 4 : KEPT<T> / LANES; // so many loads are under way
    const Team team;
    const unsigned step = PACKS * team.size;
    const bool add = opaque(req == Add);
    lines<T, LANES>(lengths, wide, along, team, req, [&](const Line<T, LANES> &line) {
        C x[PACKS][LANES], highest = lowest<C>(), sum = 0;
#pragma unroll 1
        for (unsigned p = team.lane; p < line.packs; p += step) {
            take<false>(x, data, line, p, team.size, t.sign);
            const C before = highest;
            highest = highest_of(x, before);
            // Where there are only infinite ones so far, each counts as nothing.
            const C from = highest == lowest<C>() ? (C)0 : highest;
            sum = rescaled<T>(sum, before, from, t);
            lower(x, line, p, team.size, from, t);
#pragma unroll
            for (int k = 0; k < PACKS; ++k) {
#pragma unroll
                for (int j = 0; j < LANES; ++j) {
                    const C e = power_of_e<T>(x[k][j]);
                    sum += p + k * team.size < line.packs ? e : (C)0;
                }
            }
        }
        const C top = team.together(highest, part, [](C a, C b) { return peak(a, b); });
        sum = rescaled<T>(sum, highest, top, t);
        sum = team.together(sum, part, [](C a, C b) { return a + b; });
        const C rest = LOG ? logarithm(sum) : over((C)1, sum);
#pragma unroll 1
        for (unsigned left = (line.packs + step - 1) / step; left > 0; --left) {
            const unsigned p = team.lane + (left - 1) * step;
            take<true>(x, data, line, p, team.size, t.sign);
            lower(x, line, p, team.size, top, t);
#pragma unroll
            for (int k = 0; k < PACKS; ++k) {
#pragma unroll
                for (int j = 0; j < LANES; ++j) {
                    x[k][j] = LOG ? x[k][j] - rest : power_of_e<T>(x[k][j]) * rest;
                }
            }
            line.template set<true>(out, x, p, team.size, add);
        }
    });
}

template <bool LOG, class C, class D, class S, bool IS_ONE>
__device__ __forceinline__ void softmax_strided(
    const S *data, const void *lengths, int wide, D *out, C (&part)[MOST_THREADS],
    const Along &along, const Temperature<C, IS_ONE> &t, int req) {
    positions(lengths, wide, along, req, [&](int64 base, int64 length, int64 count) {
        const int64 step = along.inner;
        C highest = lowest<C>(), sum = 0;
#pragma unroll 4
        for (int64 i = threadIdx.y; i < length; i += blockDim.y) {
            highest = larger(convert<C>(data[base + i * step]) * t.sign, highest);
        }
        highest = together(highest, part, [](C a, C b) { return larger(b, a); });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < length; i += blockDim.y) {
            sum += exponential(t.size.of(convert<C>(data[base + i * step]) * t.sign - highest));
        }
        sum = together(sum, part, [](C a, C b) { return a + b; });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            C y = 0;
            if (i < length) {
                const C x = t.size.of(convert<C>(data[base + i * step]) * t.sign - highest);
                y = LOG ? x - logarithm(sum) : over(exponential(x), sum);
            }
            put(out[base + i * step], y, req == Add);
        }
    });
}

template <bool LOG, class C, class D, class S, bool IS_ONE>
__device__ __forceinline__ void softmax_at(
    const S *data, const void *lengths, int wide, D *out, C (&part)[MOST_THREADS],
    const Along &along, const Temperature<C, IS_ONE> &t, int req) {
    if constexpr (same<D, S>) {
        if (are_rows(along)) {
            constexpr int LANES = lanes<D, S>;
            const bool kept = along.count <= KEPT<S> * (int64)blockDim.y;
            if (have_packs<S>(along, (Word)data | (Word)out)) {
                if (kept) {
                    softmax_kept<LOG, LANES>(data, lengths, wide, out, part, along, t, req);
                } else {
                    softmax_long<LOG, LANES>(data, lengths, wide, out, part, along, t, req);
                }
            } else if (kept) {
                softmax_kept<LOG, 1>(data, lengths, wide, out, part, along, t, req);
            } else {
                softmax_long<LOG, 1>(data, lengths, wide, out, part, along, t, req);
            }
            return;
        }
    }
    softmax_strided<LOG>(data, lengths, wide, out, part, along, t, req);
}

template <bool LOG, class D, class S>
__device__ __forceinline__ void softmax(
    const S *data, const void *lengths, int wide, D *out, const Along &along, float64 temperature,
    int req) {
    typedef Wider<D, S> C;
    FM_SHARED(C, part, MOST_THREADS);
    if ((C)temperature == (C)1) {
        const Temperature<C, true> t(1.0);
        softmax_at<LOG>(data, lengths, wide, out, part, along, t, req);
    } else {
        const Temperature<C, false> t(temperature);
        softmax_at<LOG>(data, lengths, wide, out, part, along, t, req);
    }
}

/// What an element of a batch adds to the sum that its gradient needs.
template <bool LOG, class C> __device__ __forceinline__ C slope(C grad, C out) {
    return LOG ? grad : grad * out;
}
/// Its gradient, but for the temperature.
template <bool LOG, class T, class C>
__device__ __forceinline__ C gradient(C grad, C out, C sum) {
    return LOG ? grad - power_of_e<T>(out) * sum : (grad - sum) * out;
}

/// The sum of the slopes in packs `apart` from each other; `g` and `o` get these.
template <bool LOG, int PACKS, int LANES, class T>
__device__ __forceinline__ Compute<T> slopes(
    Pack<T, LANES> (&g)[PACKS], Pack<T, LANES> (&o)[PACKS], const T *grad, const T *out,
    const Line<T, LANES> &line, unsigned p, unsigned apart) {
    typedef Compute<T> C;
    line.get(g, grad, p, apart);
    if (!LOG) {
        line.get(o, out, p, apart);
    }
    C sum = 0;
    const bool whole = line.whole();
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        const unsigned at = p + k * apart;
        const int left = whole ? LANES : (int)(line.length - at * LANES);
        const C before = sum;
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            const C one = LOG ? (C)0 : convert<C>(o[k].at[j]);
            const C more = slope<LOG>(convert<C>(g[k].at[j]), one);
            sum += j < left ? more : (C)0;
        }
        sum = at < line.packs ? sum : before;
    }
    return sum;
}

/// Stores the gradients of packs `apart` from each other.
template <bool LOG, bool LAST, int PACKS, int LANES, class T, class C, bool IS_ONE>
__device__ __forceinline__ void set_gradients(
    const Pack<T, LANES> (&g)[PACKS], const Pack<T, LANES> (&o)[PACKS], T *result,
    const Line<T, LANES> &line, unsigned p, unsigned apart, C sum,
    const Divisor<C, IS_ONE> &t, bool add) {
    C y[PACKS][LANES];
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
#pragma unroll
        for (int j = 0; j < LANES; ++j) {
            const C one = convert<C>(o[k].at[j]);
            y[k][j] = t.of(gradient<LOG, T>(convert<C>(g[k].at[j]), one, sum));
        }
    }
    line.template set<LAST>(result, y, p, apart, add);
}

/// Gradients of rows that threads keep.
template <bool LOG, int LANES, class T, class C, bool IS_ONE>
__device__ __forceinline__ void backward_kept(
    const T *grad, const T *out, const void *lengths, int wide, T *result,
    C (&part)[MOST_THREADS], const Along &along, const Divisor<C, IS_ONE> &t, int req) {
    constexpr int PACKS = KEPT<T> / LANES;
    const Team team;
    const bool add = opaque(req == Add);
    lines<T, LANES>(lengths, wide, along, team, req, [&](const Line<T, LANES> &line) {
        Pack<T, LANES> g[PACKS], o[PACKS];
        C sum = slopes<LOG>(g, o, grad, out, line, team.lane, team.size);
        if (LOG) {
            line.get(o, out, team.lane, team.size);
        }
        sum = team.together(sum, part, [](C a, C b) { return a + b; });
        set_gradients<LOG, false>(g, o, result, line, team.lane, team.size, sum, t, add);
    });
}

/// Gradients of rows that are read twice, as in `softmax_long`.
template <bool LOG, int LANES, class T, class C, bool IS_ONE>
__device__ __forceinline__ void backward_long(
    const T *grad, const T *out, const void *lengths, int wide, T *result,
    C (&part)[MOST_THREADS], const Along &along, const Divisor<C, IS_ONE> &t, int req) {
    constexpr int PACKS = LANES == 8 ? 2 : KEPT<T> / LANES / 2;
    const Team team;
    const unsigned step = PACKS * team.size;
    const bool add = opaque(req == Add);
    lines<T, LANES>(lengths, wide, along, team, req, [&](const Line<T, LANES> &line) {
        Pack<T, LANES> g[PACKS], o[PACKS];
        C sum = 0;
#pragma unroll 1
        for (unsigned p = team.lane; p < line.packs; p += step) {
            sum += slopes<LOG>(g, o, grad, out, line, p, team.size);
        }
        sum = team.together(sum, part, [](C a, C b) { return a + b; });
#pragma unroll 1
        for (unsigned left = (line.packs + step - 1) / step; left > 0; --left) {
            const unsigned p = team.lane + (left - 1) * step;
            line.template get<true>(g, grad, p, team.size);
            line.template get<true>(o, out, p, team.size);
            set_gradients<LOG, true>(g, o, result, line, p, team.size, sum, t, add);
        }
    });
}

template <bool LOG, class T, class C, bool IS_ONE>
__device__ __forceinline__ void backward_strided(
    const T *grad, const T *out, const void *lengths, int wide, T *result,
    C (&part)[MOST_THREADS], const Along &along, const Divisor<C, IS_ONE> &t, int req) {
    positions(lengths, wide, along, req, [&](int64 base, int64 length, int64 count) {
        const int64 step = along.inner;
        C sum = 0;
#pragma unroll 4
        for (int64 i = threadIdx.y; i < length; i += blockDim.y) {
            const C g = convert<C>(grad[base + i * step]);
            sum += LOG ? g : g * convert<C>(out[base + i * step]);
        }
        sum = together(sum, part, [](C a, C b) { return a + b; });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            C y = 0;
            if (i < length) {
                const C g = convert<C>(grad[base + i * step]), o = convert<C>(out[base + i * step]);
                y = t.of(LOG ? g - exponential(o) * sum : (g - sum) * o);
            }
            put(result[base + i * step], y, req == Add);
        }
    });
}

template <bool LOG, class T, class C, bool IS_ONE>
__device__ __forceinline__ void backward_at(
    const T *grad, const T *out, const void *lengths, int wide, T *result,
    C (&part)[MOST_THREADS], const Along &along, const Divisor<C, IS_ONE> &t, int req) {
    constexpr int LANES = lanes<T, T>;
    const bool kept = along.count <= KEPT<T> * (int64)blockDim.y;
    if (!are_rows(along)) {
        backward_strided<LOG>(grad, out, lengths, wide, result, part, along, t, req);
    } else if (have_packs<T>(along, (Word)grad | (Word)out | (Word)result)) {
        if (kept) {
            backward_kept<LOG, LANES>(grad, out, lengths, wide, result, part, along, t, req);
        } else {
            backward_long<LOG, LANES>(grad, out, lengths, wide, result, part, along, t, req);
        }
    } else if (kept) {
        backward_kept<LOG, 1>(grad, out, lengths, wide, result, part, along, t, req);
    } else {
        backward_long<LOG, 1>(grad, out, lengths, wide, result, part, along, t, req);
    }
}

template <bool LOG, class T>
__device__ __forceinline__ void backward(
    const T *grad, const T *out, const void *lengths, int wide, T *result, const Along &along,
    float64 temperature, int req) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    if ((C)temperature == (C)1) {
        const Divisor<C, true> t((C)1);
        backward_at<LOG>(grad, out, lengths, wide, result, part, along, t, req);
    } else {
        const Divisor<C, false> t((C)temperature);
        backward_at<LOG>(grad, out, lengths, wide, result, part, along, t, req);
    }
}

} // namespace fm

#define FM_SOFTMAX_ENTRY(NAME, LOG, TO, FROM) \
    extern "C" __global__ void __launch_bounds__(fm::MOST_THREADS) softmax_##NAME##_##FROM##_##TO( \
        const FROM *data, const void *lengths, int wide, TO *out, \
        const __grid_constant__ fm::Along along, float64 temperature, int req) { \
        fm::softmax<LOG>(data, lengths, wide, out, along, temperature, req); \
    }
#define FM_FORWARD_ENTRY(TO, FROM) FM_SOFTMAX_ENTRY(forward, false, TO, FROM)
#define FM_LOG_ENTRY(TO, FROM) FM_SOFTMAX_ENTRY(log, true, TO, FROM)
FM_FLOATS(FM_FORWARD_ENTRY, float32)
FM_FLOATS(FM_FORWARD_ENTRY, float64)
FM_FLOATS(FM_FORWARD_ENTRY, float16)
FM_FLOATS(FM_FORWARD_ENTRY, bfloat16)
FM_FLOATS(FM_LOG_ENTRY, float32)
FM_FLOATS(FM_LOG_ENTRY, float64)
FM_FLOATS(FM_LOG_ENTRY, float16)
FM_FLOATS(FM_LOG_ENTRY, bfloat16)

#define FM_BACKWARD_ENTRY(T, NAME, LOG) \
    extern "C" __global__ void __launch_bounds__(fm::MOST_THREADS) softmax_##NAME##_##T( \
        const T *grad, const T *out, const void *lengths, int wide, T *result, \
        const __grid_constant__ fm::Along along, float64 temperature, int req) { \
        fm::backward<LOG>(grad, out, lengths, wide, result, along, temperature, req); \
    }
FM_FLOATS(FM_BACKWARD_ENTRY, backward, false)
FM_FLOATS(FM_BACKWARD_ENTRY, backward_log, true)

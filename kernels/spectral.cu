// Discrete Fourier transforms of rows, with real and imaginary parts in turn: passes over all elements, each of
// which makes transforms `radix` times as long from shorter ones (Stockham's order, in which a row ends sorted).
//
// Entry points: spectral_turns_DTYPE(turns, n), the roots of unity; spectral_short_DTYPE(data, out, turns, plan, req),
// all passes of rows that shared memory holds; and of longer ones spectral_load_DTYPE(data, pairs, plan),
// spectral_pass_DTYPE(from, to, turns, plan, done, radix) and spectral_store_DTYPE(pairs, out, plan, req), a
// thread for each pair. No gaps.
//
// Rows of other lengths are convolved by a chirp, after Bluestein, "A linear filtering approach to the computation
// of the discrete Fourier transform" (1970), by transforms of `m` pairs: spectral_chirp_DTYPE(chirp, filter, n, m),
// spectral_spread_DTYPE(data, pairs, chirp, plan, m), spectral_times_DTYPE(pairs, filter, count, m), and
// spectral_gather_DTYPE(pairs, out, chirp, plan, m, req).
#include "grid.cuh"
#include "map.cuh"
#include "real.cuh"
#include "shared.cuh"

namespace fm {

/// A complex number.
template <class R> struct alignas(2 * sizeof(R)) Pair {
    R re, im;
};

/// Pairs of a block's rows, of which there are two copies of 16 KiB each.
template <class R> constexpr int most_pairs = 16384 / (int)sizeof(Pair<R>);

/// Rows of `n` pairs, which blocks take by groups; whether the way is back, and the passes.
struct Plan {
    int64 rows, n, group, back, passes;
    int64 radix[20];
};

/// Element `o` of a row after a pass that joins `radix` transforms of length `done` each.
template <class R>
__device__ __forceinline__ Pair<R> joined(
    const Pair<R> *row, const Pair<R> *turns, int64 o, int64 done, int64 radix, const Plan &plan) {
    const int64 size = done * radix, apart = plan.n / size;
    const Split place = split(o, apart);
    const int64 first = split(place.row, done).at * apart * radix + place.at;
    Pair<R> sum = {(R)0, (R)0};
    int64 turn = 0;
#pragma unroll 1
    for (int64 q = 0; q < radix; ++q) {
        const Pair<R> x = row[first + q * apart], w = turns[turn * apart];
        const R im = plan.back ? -w.im : w.im;
        sum.re += x.re * w.re - x.im * im;
        sum.im += x.re * im + x.im * w.re;
        turn += place.row;
        turn -= turn >= size ? size : 0;
    }
    return sum;
}

template <class R> __device__ __forceinline__ Pair<R> product(const Pair<R> &x, const Pair<R> &y) {
    return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

/// Real numbers, or pairs on the way back.
template <class R>
__device__ __forceinline__ Pair<R> loaded(const R *data, int64 i, const Plan &plan) {
    if (plan.back) {
        return {data[2 * i], data[2 * i + 1]};
    }
    return {data[i], (R)0};
}

/// Pairs, or their real parts on the way back.
template <class R>
__device__ __forceinline__ void
store(R *out, int64 i, const Pair<R> &x, const Plan &plan, bool adds) {
    put(out[plan.back ? i : 2 * i], x.re, adds);
    if (!plan.back) {
        put(out[2 * i + 1], x.im, adds);
    }
}

/// Calls `f` with the numbers below `count`, of this thread of the block.
template <class F> __device__ __forceinline__ void in_block(int64 count, F f) {
#pragma unroll 1
    for (int64 e = threadIdx.x; e < count; e += blockDim.x) {
        f(e);
    }
    __syncthreads();
}

template <class R>
__device__ __forceinline__ void
transform(const R *data, R *out, const Pair<R> *turns, const Plan &plan, int req) {
    FM_SHARED(Pair<R>, even, most_pairs<R>);
    FM_SHARED(Pair<R>, odd, most_pairs<R>);
    const int64 rows = req == Null ? 0 : plan.rows, n = plan.n;
#pragma unroll 1
    for (int64 first = blockIdx.x * plan.group; first < rows; first += gridDim.x * plan.group) {
        const int64 mine = rows - first < plan.group ? rows - first : plan.group, count = mine * n;
        in_block(count, [&](int64 e) { even[e] = loaded(data, first * n + e, plan); });
        Pair<R> *from = even, *to = odd;
        int64 done = 1;
#pragma unroll 1
        for (int pass = 0; pass < (int)plan.passes; ++pass) {
            const int64 radix = plan.radix[pass];
            in_block(count, [&](int64 e) {
                const int64 at = split(e, n).at;
                to[e] = joined(from + e - at, turns, at, done, radix, plan);
            });
            Pair<R> *const free = from;
            from = to;
            to = free;
            done *= radix;
        }
        in_block(count, [&](int64 e) {
            store(out, first * n + e, from[e], plan, opaque(req == Add));
        });
    }
}

template <class R>
__device__ __forceinline__ void
pass(const Pair<R> *from, Pair<R> *to, const Pair<R> *turns, const Plan &plan, int64 done, int64 radix) {
    each(plan.rows * plan.n, [&](int64 i) {
        const int64 at = split(i, plan.n).at;
        to[i] = joined(from + i - at, turns, at, done, radix, plan);
    });
}

/// A turn by half of `j` squared `n`-ths, of which whole ones do not matter.
__device__ __forceinline__ Pair<float64> chirp_at(int64 j, int64 n) {
    const float64 angle = 3.141592653589793238462643383280 * (float64)(j * j % (2 * n)) / (float64)n;
    return {cosine(angle), -sine(angle)};
}

/// The chirp, and what undoes it around the first of `m` pairs.
template <class R>
__device__ __forceinline__ void chirp(Pair<R> *chirp, Pair<R> *filter, int64 n, int64 m) {
    each(m, [&](int64 k) {
        const int64 j = k < n ? k : m - k;
        const Pair<float64> turn = chirp_at(j < n ? j : 0, n);
        if (k < n) {
            chirp[k] = {(R)turn.re, (R)turn.im};
        }
        filter[k] = {j < n ? (R)turn.re : (R)0, j < n ? (R)-turn.im : (R)0};
    });
}

/// The way back is the way there of what has the other sign in its imaginary part.
template <class R>
__device__ __forceinline__ void
spread(const R *data, Pair<R> *pairs, const Pair<R> *chirp, const Plan &plan, int64 m) {
    each(plan.rows * m, [&](int64 i) {
        const Split place = split(i, m);
        Pair<R> found = {(R)0, (R)0};
        if (place.at < plan.n) {
            const Pair<R> x = loaded(data, place.row * plan.n + place.at, plan);
            found = product({x.re, -x.im}, chirp[place.at]);
        }
        pairs[i] = found;
    });
}

template <class R>
__device__ __forceinline__ void
gather(const Pair<R> *pairs, R *out, const Pair<R> *chirp, const Plan &plan, int64 m, int req) {
    each(req == Null ? 0 : plan.rows * plan.n, [&](int64 i) {
        const Split place = split(i, plan.n);
        const Pair<R> x = product(pairs[place.row * m + place.at], chirp[place.at]);
        store(out, i, {x.re / (R)m, x.im / (R)m}, plan, opaque(req == Add));
    });
}

} // namespace fm

#define FM_CHIRP_ENTRIES(T, ...) \
    extern "C" __global__ void spectral_chirp_##T( \
        fm::Pair<T> *chirp, fm::Pair<T> *filter, int64 n, int64 m) { \
        fm::chirp(chirp, filter, n, m); \
    } \
    extern "C" __global__ void spectral_spread_##T( \
        const T *data, fm::Pair<T> *pairs, const fm::Pair<T> *chirp, \
        const __grid_constant__ fm::Plan plan, int64 m) { \
        fm::spread(data, pairs, chirp, plan, m); \
    } \
    extern "C" __global__ void spectral_times_##T( \
        fm::Pair<T> *pairs, const fm::Pair<T> *filter, int64 count, int64 m) { \
        fm::each(count, [=](int64 i) { \
            pairs[i] = fm::product(pairs[i], filter[fm::split(i, m).at]); \
        }); \
    } \
    extern "C" __global__ void spectral_gather_##T( \
        const fm::Pair<T> *pairs, T *out, const fm::Pair<T> *chirp, \
        const __grid_constant__ fm::Plan plan, int64 m, int req) { \
        fm::gather(pairs, out, chirp, plan, m, req); \
    }
FM_REALS(FM_CHIRP_ENTRIES, )

#define FM_SPECTRAL_ENTRIES(T, ...) \
    extern "C" __global__ void spectral_turns_##T(fm::Pair<T> *turns, int64 n) { \
        fm::each(n, [=](int64 i) { \
            const float64 angle = 6.283185307179586476925286766559 * (float64)i / (float64)n; \
            turns[i] = {(T)fm::cosine(angle), (T)-fm::sine(angle)}; \
        }); \
    } \
    extern "C" __global__ void spectral_short_##T( \
        const T *data, T *out, const fm::Pair<T> *turns, const __grid_constant__ fm::Plan plan, \
        int req) { \
        fm::transform(data, out, turns, plan, req); \
    } \
    extern "C" __global__ void spectral_load_##T( \
        const T *data, fm::Pair<T> *pairs, const __grid_constant__ fm::Plan plan) { \
        fm::each(plan.rows * plan.n, [&](int64 i) { pairs[i] = fm::loaded(data, i, plan); }); \
    } \
    extern "C" __global__ void spectral_pass_##T( \
        const fm::Pair<T> *from, fm::Pair<T> *to, const fm::Pair<T> *turns, \
        const __grid_constant__ fm::Plan plan, int64 done, int64 radix) { \
        fm::pass(from, to, turns, plan, done, radix); \
    } \
    extern "C" __global__ void spectral_store_##T( \
        const fm::Pair<T> *pairs, T *out, const __grid_constant__ fm::Plan plan, int req) { \
        fm::each(req == fm::Null ? 0 : plan.rows * plan.n, [&](int64 i) { \
            fm::store(out, i, pairs[i], plan, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_REALS(FM_SPECTRAL_ENTRIES, )

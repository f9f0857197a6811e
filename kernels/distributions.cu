// Numbers of distributions, the CPU's (docs/random.md): an element takes words of its own, and as many
// attempts as it needs.
//
// Entry points: distributions_LAW_DTYPE(out, count, first, second, firsts, seconds, per, stream, req) for the
// laws uniform, normal, exponential, gamma, poisson, negative_binomial and generalized_negative_binomial.
// Parameters are the two numbers, or, where there are arrays of float64, those of element i / per. And
// distributions_integers_DTYPE(out, count, low, size, stream, req): whole numbers from `low` on, `size` of
// them. No gaps.
#include "grid.cuh"
#include "map.cuh"
#include "random.cuh"
#include "real.cuh"

namespace fm {

constexpr float64 TAU = 6.283185307179586476925286766559;
/// The first attempt at the second of two draws for an element.
constexpr Word SECOND = 1 << 14;

/// An element of a run, in precision R.
template <class R> struct Draw {
    const Stream &stream;
    Word element;
};

/// Four numbers in (0, 1) of one attempt.
struct Four {
    float64 at[4];
};

__device__ __forceinline__ float64 open_32(unsigned word) {
    return ((float64)word + 0.5) / 4294967296.0;
}
__device__ __forceinline__ float64 open_53(unsigned high, unsigned low) {
    return fraction_53(high, low) + 0.5 / (float64)(1ull << 53);
}

__device__ __noinline__ Four attempt(const Draw<float32> &draw, Word number) {
    const Block b = block_of(draw.stream, number << 48 | draw.element);
    return {{open_32(b.at[0]), open_32(b.at[1]), open_32(b.at[2]), open_32(b.at[3])}};
}
__device__ __noinline__ Four attempt(const Draw<float64> &draw, Word number) {
    const Word first = (2 * number) << 48 | draw.element;
    const Block a = block_of(draw.stream, first), b = block_of(draw.stream, first | 1ull << 48);
    return {{open_53(a.at[0], a.at[1]), open_53(a.at[2], a.at[3]), open_53(b.at[0], b.at[1]),
             open_53(b.at[2], b.at[3])}};
}

__device__ __forceinline__ float32 standard_exponential(const Draw<float32> &draw) {
    return -logarithm(positive(block_of(draw.stream, draw.element / 4).at[draw.element % 4]));
}
__device__ __forceinline__ float64 standard_exponential(const Draw<float64> &draw) {
    const Block b = block_of(draw.stream, draw.element / 2);
    const int k = (int)(draw.element % 2 * 2);
    return -logarithm(1.0 - fraction_53(b.at[k], b.at[k + 1]));
}

__device__ __forceinline__ float32 standard_normal(const Draw<float32> &draw) {
    const Block b = block_of(draw.stream, draw.element / 4);
    const int k = (int)(draw.element % 4 / 2 * 2);
    const float32 radius = square_root(times(-2.0f, logarithm(positive(b.at[k]))));
    const float32 angle = times(fraction(b.at[k + 1], 24), (float32)TAU);
    return times(radius, draw.element % 2 ? sine(angle) : cosine(angle));
}
__device__ __forceinline__ float64 standard_normal(const Draw<float64> &draw) {
    const Block b = block_of(draw.stream, draw.element / 2);
    const float64 u = 1.0 - fraction_53(b.at[0], b.at[1]);
    const float64 radius = square_root(times(-2.0, logarithm(u)));
    const float64 angle = times(fraction_53(b.at[2], b.at[3]), TAU);
    return times(radius, draw.element % 2 ? sine(angle) : cosine(angle));
}

__device__ __forceinline__ float64 no_number() { return nan(""); }

/// Of a shape and a scale, by Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).
template <class R>
__device__ __noinline__ R gamma_of(const Draw<R> &draw, float64 shape, float64 scale) {
    const bool small = shape < 1.0;
    const float64 d = (shape > 0.0 ? shape : no_number()) - 1.0 / 3.0 + (small ? 1.0 : 0.0);
    const float64 c = 1.0 / square_root(9.0 * d);
    R found = times((R)d, (R)scale);
    const Four start = attempt(draw, 0);
    Four u = start;
#pragma unroll 1
    for (Word t = 1; t < SECOND; ++t) {
        const R radius = square_root(times((R)-2, logarithm((R)u.at[0])));
        const R x = times(radius, cosine(times((R)u.at[1], (R)TAU)));
        const R root = plus((R)1, times((R)c, x)), cube = times(times(root, root), root);
        const R square = times(x, x);
        bool taken = cube > (R)0
            && (R)u.at[2] < minus((R)1, times(times((R)0.0331, square), square));
        if (!taken) {
            const float64 y = c * (float64)x;
            const float64 excess = 3.0 * logarithm_1p(y) - y * (3.0 + y * (3.0 + y));
            const bool below = logarithm(u.at[2]) < 0.5 * (float64)x * (float64)x + d * excess;
            taken = (cube > (R)0 && below) || d != d;
        }
        if (taken) {
            found = times(times((R)d, cube), (R)scale);
            break;
        }
        u = attempt(draw, t);
    }
    return small ? times(found, exponential(times(logarithm((R)start.at[3]), (R)(1.0 / shape)))) : found;
}

/// The logarithm of the probability of a count, by Stirling's series where it is not small.
__device__ __forceinline__ float64 log_probability(float64 mean, float64 count) {
    if (count < 10.0) {
        float64 factorial = 1.0;
#pragma unroll 1
        for (int k = 2; k <= (int)count; ++k) {
            factorial *= k;
        }
        return count * logarithm(mean) - mean - logarithm(factorial);
    }
    const float64 away = (mean - count) / count, inverse = 1.0 / count;
    const float64 series = inverse * (1.0 / 12.0 - inverse * inverse / 360.0);
    return -count * (away - logarithm_1p(away)) - 0.5 * logarithm(TAU * count) - series;
}

/// Of a mean: small ones by inversion, others by Hörmann, "The transformed rejection method for generating
/// Poisson random variables" (1993). Attempts count from `first`.
template <class R>
__device__ __noinline__ float64 poisson_of(const Draw<R> &draw, float64 mean, Word first) {
    if (!(mean > 0.0) || mean - mean != 0.0) {
        return mean <= 0.0 ? 0.0 : mean;
    }
    if (mean < 10.0) {
        const float64 u = attempt(draw, first).at[0];
        float64 count = 0.0, p = exponential(-mean), sum = p;
#pragma unroll 1
        while (u > sum && count < 100.0) {
            count += 1.0;
            p *= mean / count;
            sum += p;
        }
        return count;
    }
    const float64 b = 0.931 + 2.53 * square_root(mean), a = -0.059 + 0.02483 * b;
    const float64 quick = 0.9277 - 3.6224 / (b - 2.0), hat = logarithm(1.1239 + 1.1328 / (b - 3.4));
#pragma unroll 1
    for (Word t = 0; t < SECOND; ++t) {
        const Four four = attempt(draw, first + t);
        const float64 u = four.at[0] - 0.5, v = four.at[1], edge = 0.5 - magnitude(u);
        const float64 count = round_down((2.0 * a / edge + b) * u + mean + 0.43);
        if (edge >= 0.07 && v <= quick) {
            return count;
        }
        if (count < 0.0 || (edge < 0.013 && v > edge)) {
            continue;
        }
        const float64 bound = logarithm(v) + hat - logarithm(a / (edge * edge) + b);
        if (bound <= log_probability(mean, count)) {
            return count;
        }
    }
    return round_down(mean);
}

/// Poisson's with a mean that is drawn itself.
template <class R>
__device__ __forceinline__ R mixture(const Draw<R> &draw, float64 shape, float64 scale) {
    return (R)poisson_of(draw, (float64)gamma_of(draw, shape, scale), SECOND);
}

template <class R> __device__ __forceinline__ R normal(const Draw<R> &draw, float64 mean, float64 scale) {
    return plus((R)mean, times(standard_normal(draw), (R)scale));
}
template <class R> __device__ __forceinline__ R exponential(const Draw<R> &draw, float64 rate, float64) {
    return over(standard_exponential(draw), (R)rate);
}
template <class R> __device__ __forceinline__ R gamma(const Draw<R> &draw, float64 shape, float64 scale) {
    return gamma_of(draw, shape, scale);
}
template <class R> __device__ __forceinline__ R poisson(const Draw<R> &draw, float64 mean, float64) {
    return (R)poisson_of(draw, mean, 0);
}
template <class R>
__device__ __forceinline__ R negative_binomial(const Draw<R> &draw, float64 k, float64 p) {
    if (k == 0.0 && p > 0.0) {
        return (R)0;
    }
    return mixture(draw, k, p > 0.0 ? (1.0 - p) / p : no_number());
}
template <class R>
__device__ __forceinline__ R
generalized_negative_binomial(const Draw<R> &draw, float64 mu, float64 alpha) {
    if (alpha == 0.0 || mu <= 0.0) {
        return (R)poisson_of(draw, mu, 0);
    }
    return mixture(draw, 1.0 / alpha, alpha * mu);
}

/// The number of a type beside one.
template <class T> __device__ __forceinline__ float64 beside(float64 x, bool up) {
    if constexpr (sizeof(T) == 8) {
        return nextafter(x, up ? 1.7e308 : -1.7e308);
    } else if constexpr (sizeof(T) == 4) {
        return nextafterf((float32)x, up ? 3.4e38f : -3.4e38f);
    } else {
        const T from = convert<T>(x);
        const int sign = from.bits & 0x8000, size = from.bits & 0x7fff;
        const int bits = size == 0 ? (up ? 1 : 0x8001) : from.bits + ((sign != 0) == up ? -1 : 1);
        return (float64)widen(T{(unsigned short)bits});
    }
}

/// Rounding to T may not leave the interval; where none of its numbers lies within, it is the nearest.
template <class T>
__device__ __forceinline__ Compute<T>
uniform(const Draw<Compute<T>> &draw, float64 low, float64 high) {
    typedef Compute<T> R;
    const Block words = block_of(draw.stream, draw.element / of_block<T>);
    const R u = fraction_of<T>(words, (int)(draw.element % of_block<T>));
    const R x = plus((R)low, times(u, minus((R)high, (R)low)));
    const float64 first = (float64)wide(convert<T>(low)), last = (float64)wide(convert<T>(high));
    const float64 least = first < low ? beside<T>(first, true) : first;
    const float64 greatest = last >= high ? beside<T>(last, false) : last;
    const bool none = least > greatest;
    const R bottom = (R)(none ? first : least), top = (R)(none ? first : greatest);
    // From tensors come ends in any order, and what is none.
    return low <= high && low - high == low - high ? clip(x, bottom, top) : x;
}

/// The upper half of a product.
__device__ __forceinline__ Word upper(Word a, Word b) {
    const Word a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const Word middle = a1 * b0 + (a0 * b0 >> 32), more = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (more >> 32);
}

/// A number below `size`: random bits times it, of which the upper part counts.
__device__ __forceinline__ Word below(const Stream &stream, Word element, Word size) {
    if (size < 1ull << 32) {
        const Block b = block_of(stream, element / 2);
        const int k = (int)(element % 2 * 2);
        return (b.at[k] * size + (b.at[k + 1] * size >> 32)) >> 32;
    }
    const Block b = block_of(stream, element);
    const Word high = (Word)b.at[0] << 32 | b.at[1], low = (Word)b.at[2] << 32 | b.at[3];
    const Word lower = high * size, sum = lower + upper(low, size);
    return upper(high, size) + (sum < lower);
}

} // namespace fm

#define FM_INTEGERS_ENTRY(T) \
    extern "C" __global__ void distributions_integers_##T( \
        T *out, int64 count, int64 low, int64 size, const __grid_constant__ fm::Stream stream, \
        int req) { \
        fm::each(req == fm::Null ? 0 : count, [&](int64 i) { \
            const fm::Word found = fm::below(stream, (fm::Word)i, (fm::Word)size); \
            fm::put(out[i], (T)((fm::Word)low + found), fm::opaque(req == fm::Add)); \
        }); \
    }
FM_IF_int32(FM_INTEGERS_ENTRY(int32))
FM_IF_int64(FM_INTEGERS_ENTRY(int64))
#define FM_LAW_ENTRY(T, LAW, ...) \
    extern "C" __global__ void distributions_##LAW##_##T( \
        T *out, int64 count, float64 first, float64 second, const float64 *firsts, \
        const float64 *seconds, int64 per, const __grid_constant__ fm::Stream stream, int req) { \
        fm::each(req == fm::Null ? 0 : count, [&](int64 i) { \
            const int64 row = firsts == nullptr ? 0 : i / per; \
            const float64 a = firsts == nullptr ? first : firsts[row]; \
            const float64 b = seconds == nullptr ? second : seconds[row]; \
            const fm::Draw<fm::Compute<T>> draw{stream, (fm::Word)i}; \
            fm::put(out[i], __VA_ARGS__(draw, a, b), fm::opaque(req == fm::Add)); \
        }); \
    }
#define FM_LAW_ENTRIES(T, ...) \
    FM_LAW_ENTRY(T, uniform, fm::uniform<T>) \
    FM_LAW_ENTRY(T, normal, fm::normal) \
    FM_LAW_ENTRY(T, exponential, fm::exponential) \
    FM_LAW_ENTRY(T, gamma, fm::gamma) \
    FM_LAW_ENTRY(T, poisson, fm::poisson) \
    FM_LAW_ENTRY(T, negative_binomial, fm::negative_binomial) \
    FM_LAW_ENTRY(T, generalized_negative_binomial, fm::generalized_negative_binomial)
FM_FLOATS(FM_LAW_ENTRIES, )

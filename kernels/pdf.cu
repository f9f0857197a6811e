// Densities of distributions at samples, or their logarithms, and what these hand back. All is computed in
// float64; what of the parameters alone comes first is made once for all samples of a row.
//
// Entry points: pdf_ready_DTYPE(first, second, ready, rows, law, slopes), a thread for each row; pdf_forward_DTYPE
// (sample, ready, out, of, law, req), a thread for each sample; pdf_back_DTYPE(grad, sample, ready, back, partial,
// of, law), whose threads along y, and blocks along y, share the samples of a row; pdf_join_DTYPE(partial, parts,
// back, of), where there are several of these. `second` may be null. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "special.cuh"

namespace fm {

enum Law {
    Uniform = 0,
    Normal = 1,
    Exponential = 2,
    Gamma = 3,
    Poisson = 4,
    NegativeBinomial = 5,
    GeneralizedNegativeBinomial = 6
};

/// Rows of `per` samples each, and whether the logarithm is wanted.
struct Samples {
    int64 rows, per, is_log;
};

/// The parameters of a row, what densities have of them, and what slopes have.
struct Ready {
    float64 params[2], at[3], slope;
};

/// How the logarithm of a density changes with the sample and with each parameter.
struct Slopes {
    float64 at[3];
};

/// The gradients, and the requests for them.
template <class T> struct Back {
    T *out[3];
    int req[3];
};

__device__ __forceinline__ Ready of_counts(float64 k, float64 top, float64 failure) {
    return {{0.0, 0.0}, {k, top - log_gamma(k), failure}, 0.0};
}

__device__ __noinline__ Ready ready_of(float64 a, float64 b, int law, bool slopes) {
    const float64 half_turn = 0.918938533204672741780329736406; // the logarithm of the root of a full one
    Ready ready = {{a, b}, {a, 0.0, 0.0}, 0.0};
    float64 k = a, p = b;
    if (law == Uniform) {
        ready.at[0] = -logarithm(b - a);
    } else if (law == Normal) {
        ready.at[1] = 1.0 / b;
        ready.at[2] = -logarithm(b) - half_turn;
    } else if (law == Exponential) {
        ready.at[1] = logarithm(a);
    } else if (law == Gamma) {
        ready = {{a, b}, {a - 1.0, b, a * logarithm(b) - log_gamma(a)}, 0.0};
    } else if (law == NegativeBinomial) {
        ready = of_counts(a, weighted_log(a, b), 1.0 - b);
    } else if (law == GeneralizedNegativeBinomial) {
        const float64 more = a * b;
        k = 1.0 / b;
        p = 1.0 / (1.0 + more);
        ready = of_counts(k, -k * logarithm_1p(more), more / (1.0 + more));
    }
    ready.params[0] = a;
    ready.params[1] = b;
    if (slopes && law >= Gamma && law != Poisson) {
        ready.slope = logarithm(p) - digamma(k);
    }
    return ready;
}

__device__ __noinline__ float64 log_density(float64 x, const Ready &ready, int law) {
    const float64 a = ready.at[0], b = ready.at[1], c = ready.at[2];
    if (law == Uniform) {
        return a;
    }
    if (law == Normal) {
        const float64 away = (x - a) * b;
        return c - 0.5 * away * away;
    }
    if (law == Exponential) {
        return b - a * x;
    }
    if (law == Gamma) {
        return c + weighted_log(a, x) - b * x;
    }
    const float64 ways = log_gamma(x + 1.0);
    if (law == Poisson) {
        return weighted_log(x, a) - a - ways;
    }
    return log_gamma(x + a) - ways + b + weighted_log(x, c);
}

__device__ __noinline__ Slopes slopes_of(float64 x, const Ready &ready, int law) {
    const float64 a = ready.params[0], b = ready.params[1];
    if (law == Uniform) {
        const float64 slope = 1.0 / (b - a);
        return {{0.0, slope, -slope}};
    }
    if (law == Normal) {
        const float64 away = (x - a) / b, slope = away / b;
        return {{-slope, slope, (away * away - 1.0) / b}};
    }
    if (law == Exponential) {
        return {{-a, 1.0 / a - x, 0.0}};
    }
    if (law == Gamma) {
        return {{(a - 1.0) / x - b, ready.slope + logarithm(x), a / b - x}};
    }
    if (law == Poisson) {
        return {{0.0, x / a - 1.0, 0.0}};
    }
    const bool general = law == GeneralizedNegativeBinomial;
    const float64 k = general ? 1.0 / b : a, p = general ? 1.0 / (1.0 + a * b) : b;
    const float64 by_k = digamma(x + k) + ready.slope, by_p = k / p - x / (1.0 - p);
    if (general) {
        return {{0.0, -by_p * b * p * p, -by_k * k * k - by_p * a * p * p}};
    }
    return {{0.0, by_k, by_p}};
}

template <class T> __device__ __forceinline__ float64 real(T x) {
    return (float64)convert<Compute<T>>(x);
}

template <class T>
__device__ __forceinline__ void
make_ready(const T *first, const T *second, Ready *ready, int64 rows, int law, int slopes) {
    each(rows, [&](int64 row) {
        const float64 b = second == nullptr ? 0.0 : real(second[row]);
        ready[row] = ready_of(real(first[row]), b, law, slopes);
    });
}

template <class T>
__device__ __forceinline__ void
forward(const T *sample, const Ready *ready, T *out, const Samples &of, int law, int req) {
    each(req == Null ? 0 : of.rows * of.per, [&](int64 i) {
        const float64 x = log_density(real(sample[i]), ready[split(i, of.per).row], law);
        put(out[i], (Compute<T>)(of.is_log ? x : exponential(x)), opaque(req == Add));
    });
}

/// What a row's samples hand back to a parameter.
template <class T>
__device__ __forceinline__ void
give(const Back<T> &back, int k, int64 row, float64 sum) {
    if (back.req[k] != Null) {
        put(back.out[k][row], (Compute<T>)sum, opaque(back.req[k] == Add));
    }
}

template <class T>
__device__ __forceinline__ void backward(
    const T *grad, const T *sample, const Ready *ready, const Back<T> &back, float64 *partial,
    const Samples &of, int law) {
    FM_SHARED(float64, part, MOST_THREADS);
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < of.rows;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 row = first + threadIdx.x, count = row < of.rows ? of.per : 0;
        float64 sums[2] = {0.0, 0.0};
#pragma unroll 1
        for (int64 k = blockIdx.y * (int64)blockDim.y + threadIdx.y; k < count;
             k += gridDim.y * (int64)blockDim.y) {
            const int64 i = row * of.per + k;
            const float64 x = real(sample[i]);
            const float64 density = of.is_log ? 1.0 : exponential(log_density(x, ready[row], law));
            const float64 g = real(grad[i]) * density;
            const Slopes slopes = slopes_of(x, ready[row], law);
            give(back, 0, i, g * slopes.at[0]);
            sums[0] += g * slopes.at[1];
            sums[1] += g * slopes.at[2];
        }
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const float64 sum = together(sums[k], part, [](float64 a, float64 b) { return a + b; });
            if (threadIdx.y == 0 && row < of.rows) {
                if (gridDim.y > 1) {
                    partial[(blockIdx.y * 2 + k) * of.rows + row] = sum;
                } else {
                    give(back, k + 1, row, sum);
                }
            }
        }
    }
}

template <class T>
__device__ __forceinline__ void
join(const float64 *partial, int64 parts, const Back<T> &back, const Samples &of) {
    each(2 * of.rows, [&](int64 i) {
        float64 sum = 0.0;
#pragma unroll 1
        for (int64 part = 0; part < parts; ++part) {
            sum += partial[part * 2 * of.rows + i];
        }
        const bool second = i >= of.rows;
        give(back, second ? 2 : 1, second ? i - of.rows : i, sum);
    });
}

} // namespace fm

#define FM_PDF_ENTRIES(T, ...) \
    extern "C" __global__ void pdf_ready_##T( \
        const T *first, const T *second, fm::Ready *ready, int64 rows, int law, int slopes) { \
        fm::make_ready(first, second, ready, rows, law, slopes); \
    } \
    extern "C" __global__ void pdf_forward_##T( \
        const T *sample, const fm::Ready *ready, T *out, const __grid_constant__ fm::Samples of, \
        int law, int req) { \
        fm::forward(sample, ready, out, of, law, req); \
    } \
    extern "C" __global__ void pdf_back_##T( \
        const T *grad, const T *sample, const fm::Ready *ready, \
        const __grid_constant__ fm::Back<T> back, float64 *partial, \
        const __grid_constant__ fm::Samples of, int law) { \
        fm::backward(grad, sample, ready, back, partial, of, law); \
    } \
    extern "C" __global__ void pdf_join_##T( \
        const float64 *partial, int64 parts, const __grid_constant__ fm::Back<T> back, \
        const __grid_constant__ fm::Samples of) { \
        fm::join(partial, parts, back, of); \
    }
FM_FLOATS(FM_PDF_ENTRIES, )

// The distribution of Dirichlet: densities of points whose coordinates are probabilities, and their gradients.
// All is computed in float64.
//
// Entry points: dirichlet_tops_DTYPE(alpha, tops, points), what the parameters of a row contribute to each
// point; dirichlet_forward_DTYPE(sample, alpha, tops, out, densities, points, req), to `densities`, if that is
// not null, else to `out`; dirichlet_sample_DTYPE(grad, sample, alpha, densities, out, points, req), a thread for
// each coordinate; dirichlet_alpha_DTYPE(grad, sample, alpha, tops, densities, out, points, req). Of all but
// the third, threads along y share a sum. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "special.cuh"

namespace fm {

/// Rows of parameters for so many classes, each of `per` points.
struct Points {
    int64 rows, per, classes, is_log;
};

/// A part of the logarithm, and the derivative of the gamma function at the sum.
struct Top {
    float64 top, slope;
};

template <class T> __device__ __forceinline__ float64 real(T x) {
    return (float64)convert<Compute<T>>(x);
}

/// The sum of `each(i)` over the numbers below `count`, by the threads along y.
template <class F>
__device__ __forceinline__ float64 summed(int64 count, float64 (&part)[MOST_THREADS], F each) {
    float64 sum = 0.0;
#pragma unroll 1
    for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
        sum += each(i);
    }
    return together(sum, part, [](float64 a, float64 b) { return a + b; });
}

/// Calls `f(i, is)` for the numbers below `total`, of which threads along x have their own; all threads of a
/// block come equally often, without a number where `is` is false.
template <class F> __device__ __forceinline__ void shared_each(int64 total, F f) {
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        f(first + threadIdx.x, first + threadIdx.x < total);
    }
}

template <class T>
__device__ __forceinline__ void tops(const T *alpha, Top *tops, const Points &points) {
    FM_SHARED(float64, part, MOST_THREADS);
    shared_each(points.rows, [&](int64 row, bool is) {
        const T *const own = alpha + row * points.classes;
        const int64 count = is ? points.classes : 0;
        const float64 sum = summed(count, part, [&](int64 i) { return real(own[i]); });
        const float64 logs = summed(count, part, [&](int64 i) { return log_gamma(real(own[i])); });
        if (is && threadIdx.y == 0) {
            tops[row] = {log_gamma(sum) - logs, digamma(sum)};
        }
    });
}

template <class T>
__device__ __forceinline__ void forward(
    const T *sample, const T *alpha, const Top *tops, T *out, float64 *densities,
    const Points &points, int req) {
    FM_SHARED(float64, part, MOST_THREADS);
    shared_each(req == Null ? 0 : points.rows * points.per, [&](int64 point, bool is) {
        const int64 row = is ? split(point, points.per).row : 0, n = points.classes;
        const float64 terms = summed(is ? n : 0, part, [&](int64 i) {
            return weighted_log(real(alpha[row * n + i]) - 1.0, real(sample[point * n + i]));
        });
        if (is && threadIdx.y == 0) {
            const float64 log = terms + tops[row].top, found = points.is_log ? log : exponential(log);
            if (densities != nullptr) {
                densities[point] = found;
            } else {
                put(out[point], (Compute<T>)found, opaque(req == Add));
            }
        }
    });
}

/// What is handed back to the logarithm of a point's density.
template <class T>
__device__ __forceinline__ float64 slope_of(const T *grad, const float64 *densities, int64 point) {
    return densities == nullptr ? real(grad[point]) : real(grad[point]) * densities[point];
}

template <class T>
__device__ __forceinline__ void to_sample(
    const T *grad, const T *sample, const T *alpha, const float64 *densities, T *out,
    const Points &points, int req) {
    each(req == Null ? 0 : points.rows * points.per * points.classes, [&](int64 i) {
        const Split place = split(i, points.classes);
        const int64 row = split(place.row, points.per).row;
        const float64 power = real(alpha[row * points.classes + place.at]) - 1.0;
        const float64 found = slope_of(grad, densities, place.row) * power / real(sample[i]);
        put(out[i], (Compute<T>)found, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void to_alpha(
    const T *grad, const T *sample, const T *alpha, const Top *tops, const float64 *densities,
    T *out, const Points &points, int req) {
    FM_SHARED(float64, part, MOST_THREADS);
    shared_each(req == Null ? 0 : points.rows * points.classes, [&](int64 i, bool is) {
        const Split place = split(i, points.classes);
        const float64 own = is ? tops[place.row].slope - digamma(real(alpha[i])) : 0.0;
        const float64 sum = summed(is ? points.per : 0, part, [&](int64 k) {
            const int64 point = place.row * points.per + k;
            const float64 x = real(sample[point * points.classes + place.at]);
            return slope_of(grad, densities, point) * (logarithm(x) + own);
        });
        if (is && threadIdx.y == 0) {
            put(out[i], (Compute<T>)sum, opaque(req == Add));
        }
    });
}

} // namespace fm

#define FM_DIRICHLET_ENTRIES(T, ...) \
    extern "C" __global__ void dirichlet_tops_##T( \
        const T *alpha, fm::Top *tops, const __grid_constant__ fm::Points points) { \
        fm::tops(alpha, tops, points); \
    } \
    extern "C" __global__ void dirichlet_forward_##T( \
        const T *sample, const T *alpha, const fm::Top *tops, T *out, float64 *densities, \
        const __grid_constant__ fm::Points points, int req) { \
        fm::forward(sample, alpha, tops, out, densities, points, req); \
    } \
    extern "C" __global__ void dirichlet_sample_##T( \
        const T *grad, const T *sample, const T *alpha, const float64 *densities, T *out, \
        const __grid_constant__ fm::Points points, int req) { \
        fm::to_sample(grad, sample, alpha, densities, out, points, req); \
    } \
    extern "C" __global__ void dirichlet_alpha_##T( \
        const T *grad, const T *sample, const T *alpha, const fm::Top *tops, \
        const float64 *densities, T *out, const __grid_constant__ fm::Points points, int req) { \
        fm::to_alpha(grad, sample, alpha, tops, densities, out, points, req); \
    }
FM_FLOATS(FM_DIRICHLET_ENTRIES, )

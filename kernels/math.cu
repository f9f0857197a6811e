// Functions of real numbers, element by element.
//
// Entry points: math_NAME_DTYPE(data, out, walk, req); those of operators with numbers for attributes
// take these before the walk, in the order of the card. NAME is the operator's without leading
// underscores. One row below is one operator.
#include "map.cuh"
#include "real.cuh"
#include "special.cuh"
#include "whole.cuh"

// `x` is the element of type T in the type C; integers are computed as float64 and truncated, as in MXNet.
#define FM_ENTRY(TYPE, NAME, LANES, C, ...) \
    extern "C" __global__ void math_##NAME##_##TYPE( \
        const TYPE *data, TYPE *out, const __grid_constant__ fm::Walk<2> walk, int req) { \
        typedef TYPE T; \
        const T *const in[1] = {data}; \
        fm::map<LANES>(out, in, walk, req, [](const T(&at)[1]) { \
            const C x = fm::convert<C>(at[0]); \
            return (C)(__VA_ARGS__); \
        }); \
    }

#define FM_FLOAT_ENTRY(T, NAME, ...) \
    FM_ENTRY(T, NAME, (fm::few_lanes<T, T>), fm::Real<T>, __VA_ARGS__)
#define FM_INTEGER_ENTRY(T, NAME, ...) FM_ENTRY(T, NAME, 1, fm::Real<T>, __VA_ARGS__)
#define FM_REAL(NAME, ...) \
    FM_FLOATS(FM_FLOAT_ENTRY, NAME, __VA_ARGS__) \
    FM_INTEGERS(FM_INTEGER_ENTRY, NAME, __VA_ARGS__)

FM_REAL(exp, fm::exponential(x))
FM_REAL(log, fm::logarithm(x))
FM_REAL(log1p, fm::logarithm_1p(x))
FM_REAL(expm1, fm::exponential_m1(x))
FM_REAL(log2, fm::logarithm_2_for<T>(x))
FM_REAL(log10, fm::logarithm_10_for<T>(x))
FM_REAL(sqrt, fm::square_root(x))
FM_REAL(rsqrt, fm::reciprocal(fm::square_root(x)))
FM_REAL(cbrt, fm::cube_root_for<T>(x))
FM_REAL(rcbrt, fm::reciprocal(fm::cube_root_for<T>(x)))
FM_REAL(reciprocal, fm::reciprocal(x))
FM_REAL(sigmoid, fm::sigmoid(x))
FM_REAL(log_sigmoid, fm::log_sigmoid(x))
FM_REAL(mish, fm::mish(x))
FM_REAL(softsign, fm::softsign(x))
FM_REAL(sin, fm::sine(x))
FM_REAL(cos, fm::cosine(x))
FM_REAL(tan, fm::tangent(x))
FM_REAL(arcsin, fm::arc_sine(x))
FM_REAL(arccos, fm::arc_cosine(x))
FM_REAL(arctan, fm::arc_tangent(x))
FM_REAL(sinh, fm::hyperbolic_sine(x))
FM_REAL(cosh, fm::hyperbolic_cosine(x))
FM_REAL(tanh, fm::hyperbolic_tangent(x))
FM_REAL(arcsinh, fm::area_sine(x))
FM_REAL(arccosh, fm::area_cosine(x))
FM_REAL(arctanh, fm::area_tangent(x))
FM_REAL(degrees, (float64)x * (180 / fm::PI))
FM_REAL(radians, (float64)x * (fm::PI / 180))
FM_REAL(erf, fm::error_function(x))
FM_REAL(erfinv, fm::inverse_error_function(x))
FM_REAL(gamma, fm::gamma_for<T>(x))
FM_REAL(gammaln, fm::log_gamma(x))
FM_REAL(digamma, fm::digamma(x))
FM_REAL(trigamma, fm::trigamma(x))

#define FM_HARD_SIGMOID_ENTRY(T, ...) \
    extern "C" __global__ void math_hard_sigmoid_##T( \
        const T *data, T *out, float64 alpha, float64 beta, \
        const __grid_constant__ fm::Walk<2> walk, int req) { \
        typedef fm::Real<T> C; \
        const T *const in[1] = {data}; \
        const C slope = (C)alpha, bias = (C)beta; \
        fm::map<fm::lanes<T, T>>(out, in, walk, req, [=](const T(&at)[1]) { \
            const C y = fm::plus(fm::times(slope, fm::convert<C>(at[0])), bias); \
            return fm::clip(y, (C)0, (C)1); \
        }); \
    }
FM_FLOATS(FM_HARD_SIGMOID_ENTRY, )

#define FM_SMOOTH_L1_ENTRY(T, ...) \
    extern "C" __global__ void math_smooth_l1_##T( \
        const T *data, T *out, float64 scalar, const __grid_constant__ fm::Walk<2> walk, \
        int req) { \
        typedef fm::Real<T> C; \
        const T *const in[1] = {data}; \
        const C sigma = fm::whole_for<T>((C)scalar); \
        fm::map<fm::lanes<T, T>>(out, in, walk, req, [=](const T(&at)[1]) { \
            return fm::smooth_l1(fm::convert<C>(at[0]), fm::times(sigma, sigma)); \
        }); \
    }
FM_NUMBERS(FM_SMOOTH_L1_ENTRY, )

#define FM_QUADRATIC_ENTRY(T, ...) \
    extern "C" __global__ void math_contrib_quadratic_##T( \
        const T *data, T *out, float64 a, float64 b, float64 c, \
        const __grid_constant__ fm::Walk<2> walk, int req) { \
        typedef fm::Real<T> C; \
        const T *const in[1] = {data}; \
        const C two = (C)a, one = (C)b, none = (C)c; \
        fm::map<fm::lanes<T, T>>(out, in, walk, req, [=](const T(&at)[1]) { \
            const C x = fm::convert<C>(at[0]); \
            const C square = fm::times(fm::times(two, x), x); \
            return fm::plus(fm::plus(square, fm::times(one, x)), none); \
        }); \
    }
FM_NUMBERS(FM_QUADRATIC_ENTRY, )

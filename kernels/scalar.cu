// Functions of a tensor and a scalar. The scalar is first converted to the type of the tensor, as
// MXNet does: 2.5 is 2 to an integer tensor.
//
// Entry points: scalar_NAME_DTYPE(data, out, scalar, walk, req), where the operator is
// _NAME_scalar. The output has the type of the data; bools are converted to another type first
// where the result has one. One row below is one operator.
#include "map.cuh"
#include "whole.cuh"

// `x` is the element of type T, `s` the scalar, in the type C.
#define FM_ENTRY(TYPE, NAME, LANES, C, ...) \
    extern "C" __global__ void scalar_##NAME##_##TYPE( \
        const TYPE *data, TYPE *out, float64 scalar, const __grid_constant__ fm::Walk<2> walk, \
        int req) { \
        typedef TYPE T; \
        const T *const in[1] = {data}; \
        const C s = fm::convert<C>(fm::convert<T>(scalar)); \
        fm::map<LANES>(out, in, walk, req, [=](const T(&at)[1]) { \
            const C x = fm::convert<C>(at[0]); \
            return (C)(__VA_ARGS__); \
        }); \
    }

#define FM_PLAIN_ENTRY(T, NAME, ...) \
    FM_ENTRY(T, NAME, (fm::lanes<T, T>), fm::Compute<T>, __VA_ARGS__)
#define FM_DEAR_ENTRY(T, NAME, ...) \
    FM_ENTRY(T, NAME, (fm::few_lanes<T, T>), fm::Compute<T>, __VA_ARGS__)
// Powers and hypotenuses of integers are computed as float64 and truncated, as in MXNet.
#define FM_REAL_ENTRY(T, NAME, ...) \
    FM_ENTRY(T, NAME, (fm::few_lanes<T, T>), fm::Real<T>, __VA_ARGS__)

FM_NUMBERS(FM_PLAIN_ENTRY, plus, fm::plus(x, s))
FM_NUMBERS(FM_PLAIN_ENTRY, minus, fm::minus(x, s))
FM_NUMBERS(FM_PLAIN_ENTRY, rminus, fm::minus(s, x))
FM_NUMBERS(FM_PLAIN_ENTRY, mul, fm::times(x, s))
FM_NUMBERS(FM_DEAR_ENTRY, div, fm::over(x, s))
FM_NUMBERS(FM_DEAR_ENTRY, rdiv, fm::over(s, x))
FM_NUMBERS(FM_DEAR_ENTRY, mod, fm::modulo(x, s))
FM_NUMBERS(FM_DEAR_ENTRY, rmod, fm::modulo(s, x))
FM_NUMBERS(FM_REAL_ENTRY, power, s == 2 ? fm::times(x, x) : fm::power_for<T>(x, s))
FM_NUMBERS(FM_REAL_ENTRY, rpower, fm::power_for<T>(s, x))
FM_NUMBERS(FM_REAL_ENTRY, hypot, fm::hypotenuse_for<T>(x, s))
FM_NUMBERS(FM_REAL_ENTRY, power_slope, fm::times(s, fm::power_for<T>(x, s - 1)))
FM_NUMBERS(FM_REAL_ENTRY, hypot_slope, fm::over(x, fm::hypotenuse_for<T>(x, s)))
FM_ALL(FM_PLAIN_ENTRY, maximum, fm::larger(x, s))
FM_ALL(FM_PLAIN_ENTRY, minimum, fm::smaller(x, s))
FM_ALL(FM_PLAIN_ENTRY, equal, x == s)
FM_ALL(FM_PLAIN_ENTRY, not_equal, x != s)
FM_ALL(FM_PLAIN_ENTRY, greater, x > s)
FM_ALL(FM_PLAIN_ENTRY, greater_equal, x >= s)
FM_ALL(FM_PLAIN_ENTRY, lesser, x < s)
FM_ALL(FM_PLAIN_ENTRY, lesser_equal, x <= s)
FM_ALL(FM_PLAIN_ENTRY, logical_and, fm::truth(x) && fm::truth(s))
FM_ALL(FM_PLAIN_ENTRY, logical_or, fm::truth(x) || fm::truth(s))
FM_ALL(FM_PLAIN_ENTRY, logical_xor, fm::truth(x) != fm::truth(s))

// Functions of two tensors with broadcasting.
//
// Entry points: binary_NAME_DTYPE(lhs, rhs, out, walk, req), where the operator is
// broadcast_NAME, or _NAME. Both inputs and the output have one type. One row below is one operator.
#include "map.cuh"
#include "whole.cuh"

// `a` and `b` are the elements of type T in the type C.
#define FM_ENTRY(TYPE, NAME, LANES, C, ...) \
    extern "C" __global__ void binary_##NAME##_##TYPE( \
        const TYPE *lhs, const TYPE *rhs, TYPE *out, const __grid_constant__ fm::Walk<3> walk, \
        int req) { \
        typedef TYPE T; \
        const T *const in[2] = {lhs, rhs}; \
        fm::map<LANES>(out, in, walk, req, [](const T(&at)[2]) { \
            const C a = fm::convert<C>(at[0]), b = fm::convert<C>(at[1]); \
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

FM_NUMBERS(FM_PLAIN_ENTRY, add, fm::plus(a, b))
FM_NUMBERS(FM_PLAIN_ENTRY, sub, fm::minus(a, b))
FM_NUMBERS(FM_PLAIN_ENTRY, mul, fm::times(a, b))
FM_NUMBERS(FM_DEAR_ENTRY, div, fm::over(a, b))
FM_NUMBERS(FM_DEAR_ENTRY, mod, fm::modulo(a, b))
FM_NUMBERS(FM_REAL_ENTRY, power, fm::power_for<T>(a, b))
FM_NUMBERS(FM_REAL_ENTRY, hypot, fm::hypotenuse_for<T>(a, b))
FM_NUMBERS(FM_REAL_ENTRY, power_slope, fm::times(b, fm::power_for<T>(a, b - 1)))
FM_NUMBERS(FM_REAL_ENTRY, hypot_slope, fm::over(a, fm::hypotenuse_for<T>(a, b)))
FM_ALL(FM_PLAIN_ENTRY, maximum, fm::larger(a, b))
FM_ALL(FM_PLAIN_ENTRY, minimum, fm::smaller(a, b))
FM_ALL(FM_PLAIN_ENTRY, equal, a == b)
FM_ALL(FM_PLAIN_ENTRY, not_equal, a != b)
FM_ALL(FM_PLAIN_ENTRY, greater, a > b)
FM_ALL(FM_PLAIN_ENTRY, greater_equal, a >= b)
FM_ALL(FM_PLAIN_ENTRY, lesser, a < b)
FM_ALL(FM_PLAIN_ENTRY, lesser_equal, a <= b)
FM_ALL(FM_PLAIN_ENTRY, logical_and, fm::truth(a) && fm::truth(b))
FM_ALL(FM_PLAIN_ENTRY, logical_or, fm::truth(a) || fm::truth(b))
FM_ALL(FM_PLAIN_ENTRY, logical_xor, fm::truth(a) != fm::truth(b))

// Functions of real numbers whose results for integers may be whole. Those of CUDA's library are some
// units of the last place off in float64, too, which would be cut to the integer below; for a tensor of
// integers they are exact here where the result is a float64, as on the CPU.
#pragma once
#include "real.cuh"

namespace fm {

/// `a` to the power `b`, by squares as long as no product is rounded.
__device__ __noinline__ float64 whole_power(float64 a, float64 b) {
    float64 y = 1, square = a, lost = 0;
#pragma unroll 1
    for (float64 rest = b; rest >= 1 && lost == 0;) {
        const float64 half = floor(rest / 2);
        if (rest != 2 * half) {
            const float64 product = times(y, square);
            lost = fma(y, square, -product);
            y = product;
        }
        if (half >= 1 && lost == 0) {
            const float64 product = times(square, square);
            lost = fma(square, square, -product);
            square = product;
        }
        rest = half;
    }
    // Below zero all others than those of 1 and -1 are less than 1.
    return b >= 0 && lost == 0 ? y : rint(power(a, b));
}

/// The root of a sum of squares, and of what its roundings lost.
__device__ __noinline__ float64 whole_hypotenuse(float64 a, float64 b) {
    const float64 p = times(a, a), q = times(b, b), sum = plus(p, q);
    const float64 less = minus(p < q ? p : q, minus(sum, p < q ? q : p));
    const float64 lost = plus(plus(fma(a, a, -p), fma(b, b, -q)), less);
    const float64 root = square_root(sum);
    return root == 0 ? root : plus(root, over(plus(fma(-root, root, sum), lost), 2 * root));
}

__device__ __noinline__ float64 whole_cube_root(float64 x) {
    const float64 root = cube_root(x), whole = rint(root);
    return times(times(whole, whole), whole) == x ? whole : root;
}

/// `found` is about the logarithm of `x`.
__device__ __noinline__ float64 whole_logarithm(float64 found, float64 base, float64 x) {
    const float64 whole = rint(found);
    float64 power = 1;
#pragma unroll 1
    for (float64 i = 0; i < whole; i += 1) {
        power = times(power, base);
    }
    return power == x ? whole : found;
}

/// A product, which is exact as long as it is a float64.
__device__ __noinline__ float64 whole_gamma(float64 x) {
    if (!(x >= 1 && x <= 23)) {
        return gamma(x);
    }
    float64 y = 1;
#pragma unroll 1
    for (float64 i = 2; i < x; i += 1) {
        y = times(y, i);
    }
    return y;
}

// The functions of a tensor of T.
#define FM_WHOLE_OR_REAL(NAME, WHOLE) \
    template <class T> __device__ __forceinline__ Real<T> NAME##_for(Real<T> x) { \
        if constexpr (Type<T>::integer) { \
            return WHOLE; \
        } else { \
            return NAME(x); \
        } \
    }
FM_WHOLE_OR_REAL(cube_root, whole_cube_root(x))
FM_WHOLE_OR_REAL(logarithm_2, whole_logarithm(logarithm_2(x), 2, x))
FM_WHOLE_OR_REAL(logarithm_10, whole_logarithm(logarithm_10(x), 10, x))
FM_WHOLE_OR_REAL(gamma, whole_gamma(x))

template <class T> __device__ __forceinline__ Real<T> power_for(Real<T> a, Real<T> b) {
    if constexpr (Type<T>::integer) {
        return whole_power(a, b);
    } else {
        return power(a, b);
    }
}

template <class T> __device__ __forceinline__ Real<T> hypotenuse_for(Real<T> a, Real<T> b) {
    if constexpr (Type<T>::integer) {
        return whole_hypotenuse(a, b);
    } else {
        return hypotenuse(a, b);
    }
}

} // namespace fm

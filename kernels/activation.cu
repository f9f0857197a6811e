// Activation and LeakyReLU, with their gradients.
//
// Entry points: activation_NAME_DTYPE(data, out, walk, req) and activation_NAME_backward_DTYPE(grad,
// known, out, walk, req), where `known` is the output, or for softsign and gelu the input; leaky and elu
// take slope and scale before the walk, and selu is elu with its constants. activation_prelu_DTYPE(data,
// gamma, out, walk, req) and activation_prelu_backward_DTYPE(grad, data, gamma, out, walk, req) follow the
// slopes through the walk, and activation_prelu_slopes_DTYPE(grad, data, out, along, req) sums for them.
#include "activations.cuh"
#include "fold.cuh"

namespace fm {

/// Sums gradients times data where data are not above zero, for each slope.
template <class T>
__device__ __forceinline__ void
slopes(const T *grad, const T *data, T *out, const Along &along, int req) {
    FM_SHARED(float64, part, MOST_THREADS);
    const int64 slopes = req == Null ? 0 : along.count, all = along.outer * along.inner;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < slopes;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 slope = first + threadIdx.x;
        float64 sum = 0;
#pragma unroll 1
        for (int64 e = threadIdx.y; slope < slopes && e < all; e += blockDim.y) {
            const int64 outer = e / along.inner;
            const int64 at = (outer * along.count + slope) * along.inner + e - outer * along.inner;
            const Compute<T> x = convert<Compute<T>>(data[at]);
            sum += x > 0 ? 0.0 : (float64)(convert<Compute<T>>(grad[at]) * x);
        }
        sum = together(sum, part, [](float64 a, float64 b) { return a + b; });
        if (threadIdx.y == 0 && slope < slopes) {
            put(out[slope], (Compute<T>)sum, req == Add);
        }
    }
}

} // namespace fm

// `x` is the element in the type C; so are `g` and `y` of the gradients.
#define FM_ENTRY(T, NAME, ...) \
    extern "C" __global__ void activation_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Walk<2> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[1] = {data}; \
        fm::map<fm::few_lanes<T, T>>(out, in, walk, req, [](const T(&at)[1]) { \
            const C x = fm::convert<C>(at[0]); \
            return (C)(__VA_ARGS__); \
        }); \
    }
#define FM_BACK_ENTRY(T, NAME, ...) \
    extern "C" __global__ void activation_##NAME##_backward_##T( \
        const T *grad, const T *known, T *out, const __grid_constant__ fm::Walk<3> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[2] = {grad, known}; \
        fm::map<fm::few_lanes<T, T>>(out, in, walk, req, [](const T(&at)[2]) { \
            const C g = fm::convert<C>(at[0]), y = fm::convert<C>(at[1]); \
            return (C)(__VA_ARGS__); \
        }); \
    }

FM_FLOATS(FM_ENTRY, relu, x <= 0 ? 0 : x)
FM_FLOATS(FM_BACK_ENTRY, relu, g * fm::relu_slope(y))
FM_FLOATS(FM_ENTRY, sigmoid, fm::sigmoid(x))
FM_FLOATS(FM_BACK_ENTRY, sigmoid, g * y * (1 - y))
FM_FLOATS(FM_ENTRY, tanh, fm::hyperbolic_tangent(x))
FM_FLOATS(FM_BACK_ENTRY, tanh, g * (1 - y * y))
FM_FLOATS(FM_ENTRY, softrelu, fm::softrelu(x))
FM_FLOATS(FM_BACK_ENTRY, softrelu, -g * fm::exponential_m1(-y))
FM_FLOATS(FM_ENTRY, softsign, fm::softsign(x))
FM_FLOATS(FM_BACK_ENTRY, softsign, g / (1 + fm::magnitude(y)) / (1 + fm::magnitude(y)))
FM_FLOATS(FM_ENTRY, gelu, x * fm::normal_below(x))
FM_FLOATS(FM_BACK_ENTRY, gelu, g * fm::gelu_slope(y))

#define FM_SLOPE_ENTRIES(T, NAME, FORWARD, BACKWARD) \
    extern "C" __global__ void activation_##NAME##_##T( \
        const T *data, T *out, float64 slope, float64 scale, \
        const __grid_constant__ fm::Walk<2> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[1] = {data}; \
        const C s = (C)slope, all = (C)scale; \
        fm::map<fm::few_lanes<T, T>>(out, in, walk, req, [=](const T(&at)[1]) { \
            const C x = fm::convert<C>(at[0]); \
            return (C)(all * (FORWARD)); \
        }); \
    } \
    extern "C" __global__ void activation_##NAME##_backward_##T( \
        const T *grad, const T *data, T *out, float64 slope, float64 scale, \
        const __grid_constant__ fm::Walk<3> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[2] = {grad, data}; \
        const C s = (C)slope, all = (C)scale; \
        fm::map<fm::few_lanes<T, T>>(out, in, walk, req, [=](const T(&at)[2]) { \
            const C g = fm::convert<C>(at[0]), x = fm::convert<C>(at[1]); \
            return (C)(g * all * (BACKWARD)); \
        }); \
    }
FM_FLOATS(FM_SLOPE_ENTRIES, leaky, fm::leaky(x, s), x > 0 ? 1 : s)
FM_FLOATS(FM_SLOPE_ENTRIES, elu, x > 0 ? x : s * fm::exponential_m1(x),
          x > 0 ? 1 : s * fm::exponential(x))

#define FM_LEARNED_ENTRIES(T, ...) \
    extern "C" __global__ void activation_prelu_##T( \
        const T *data, const T *gamma, T *out, const __grid_constant__ fm::Walk<3> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[2] = {data, gamma}; \
        fm::map<fm::lanes<T, T>>(out, in, walk, req, [](const T(&at)[2]) { \
            return fm::leaky(fm::convert<C>(at[0]), fm::convert<C>(at[1])); \
        }); \
    } \
    extern "C" __global__ void activation_prelu_backward_##T( \
        const T *grad, const T *data, const T *gamma, T *out, \
        const __grid_constant__ fm::Walk<4> walk, int req) { \
        typedef fm::Compute<T> C; \
        const T *const in[3] = {grad, data, gamma}; \
        fm::map<fm::lanes<T, T>>(out, in, walk, req, [](const T(&at)[3]) { \
            const C g = fm::convert<C>(at[0]); \
            return fm::convert<C>(at[1]) > 0 ? g : g * fm::convert<C>(at[2]); \
        }); \
    } \
    extern "C" __global__ void activation_prelu_slopes_##T( \
        const T *grad, const T *data, T *out, const __grid_constant__ fm::Along along, int req) { \
        fm::slopes(grad, data, out, along, req); \
    }
FM_FLOATS(FM_LEARNED_ENTRIES, )

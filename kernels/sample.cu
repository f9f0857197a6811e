// Random tensors: the numbers of docs/random.md.
//
// Entry points: sample_uniform_DTYPE(out, count, low, high, least, greatest, stream, req), where
// `least` and `greatest` are the outermost numbers of the type within the interval, and
// sample_normal_DTYPE(out, count, loc, scale, stream, req). The output has no gaps.
#include "convert.cuh"
#include "map.cuh"
#include "random.cuh"
#include "real.cuh"

namespace fm {

struct Interval {
    float64 low, high, least, greatest;
};

__device__ __forceinline__ float64 confined(float64 x, const Interval &in) {
    return x < in.least ? in.least : x > in.greatest ? in.greatest : x;
}

template <class T> struct Uniform {
    Interval in;
    template <class R, int N>
    __device__ __forceinline__ void operator()(const Block &words, R (&x)[N]) const {
        const R low = (R)in.low, width = minus((R)in.high, low);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = (R)confined(plus(low, times(fraction_of<T>(words, i), width)), in);
        }
    }
};

constexpr float64 TAU = 6.283185307179586476925286766559;

struct Normal {
    float64 loc, scale;
    __device__ __forceinline__ void operator()(const Block &words, float32 (&x)[4]) const {
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            const float32 log = logarithm(positive(words.at[i]));
            const float32 radius = times(square_root(times(-2.0f, log)), (float32)scale);
            const float32 angle = times(fraction(words.at[i + 1], 24), (float32)TAU);
            x[i] = plus((float32)loc, times(radius, cosine(angle)));
            x[i + 1] = plus((float32)loc, times(radius, sine(angle)));
        }
    }
    __device__ __forceinline__ void operator()(const Block &words, float64 (&x)[2]) const {
        const float64 log = logarithm(1.0 - fraction_53(words.at[0], words.at[1]));
        const float64 radius = times(square_root(times(-2.0, log)), scale);
        const float64 angle = times(fraction_53(words.at[2], words.at[3]), TAU);
        x[0] = plus(loc, times(radius, cosine(angle)));
        x[1] = plus(loc, times(radius, sine(angle)));
    }
};

/// Sets `out` to what `make` makes of the block of each element.
template <class T, class F>
__device__ __forceinline__ void
sample(T *out, int64 count, const Stream &stream, int req, F make) {
    constexpr int N = of_block<T>;
    const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
    const int64 step = gridDim.x * (int64)blockDim.x;
    const int64 blocks = req == Null ? 0 : (count + N - 1) / N;
#pragma unroll 1
    for (int64 b = first; b < blocks; b += step) {
        Compute<T> x[N];
        make(block_of(stream, (Word)b), x);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            if (b * N + i < count) {
                put(out[b * N + i], x[i], opaque(req == Add));
            }
        }
    }
}

} // namespace fm

#define FM_UNIFORM_ENTRY(T, ...) \
    extern "C" __global__ void sample_uniform_##T( \
        T *out, int64 count, float64 low, float64 high, float64 least, float64 greatest, \
        const __grid_constant__ fm::Stream stream, int req) { \
        fm::sample(out, count, stream, req, fm::Uniform<T>{{low, high, least, greatest}}); \
    }
#define FM_NORMAL_ENTRY(T, ...) \
    extern "C" __global__ void sample_normal_##T( \
        T *out, int64 count, float64 loc, float64 scale, \
        const __grid_constant__ fm::Stream stream, int req) { \
        fm::sample(out, count, stream, req, fm::Normal{loc, scale}); \
    }
FM_FLOATS(FM_UNIFORM_ENTRY, )
FM_FLOATS(FM_NORMAL_ENTRY, )

// LeakyReLU with random slopes: its output, and the slopes, by which gradients are multiplied.
//
// Entry point: leaky_DTYPE(data, out, out_req, slopes, slopes_req, count, interval, stream), a thread for each
// block of random words. Halves are computed in float32. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"
#include "random.cuh"

namespace fm {

/// Slopes are drawn evenly from `low` on, or else are its middle.
struct Interval {
    float64 low, width;
    int64 drawn;
};

template <class T>
__device__ __forceinline__ void leaky(
    const T *data, T *out, int out_req, T *slopes, int slopes_req, int64 count, const Interval &in,
    const Stream &stream) {
    typedef Compute<T> R;
    constexpr int N = of_block<T>;
    each((count + N - 1) / N, [&](int64 b) {
        const Block words = in.drawn ? block_of(stream, (Word)b) : Block{{0, 0, 0, 0}};
#pragma unroll
        for (int lane = 0; lane < N; ++lane) {
            const int64 i = b * N + lane;
            if (i >= count) {
                break;
            }
            const R x = convert<R>(data[i]), u = in.drawn ? fraction_of<T>(words, lane) : (R)0.5;
            const R slope = x > (R)0 ? (R)1 : plus((R)in.low, times(u, (R)in.width));
            if (out_req != Null) {
                put(out[i], times(x, slope), opaque(out_req == Add));
            }
            if (slopes_req != Null) {
                put(slopes[i], slope, opaque(slopes_req == Add));
            }
        }
    });
}

} // namespace fm

#define FM_LEAKY_ENTRY(T, ...) \
    extern "C" __global__ void leaky_##T( \
        const T *data, T *out, int out_req, T *slopes, int slopes_req, int64 count, \
        const __grid_constant__ fm::Interval in, const __grid_constant__ fm::Stream stream) { \
        fm::leaky(data, out, out_req, slopes, slopes_req, count, in, stream); \
    }
FM_FLOATS(FM_LEAKY_ENTRY, )

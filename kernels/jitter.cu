// Brightness, contrast, saturation, hue and lighting of one image of red, green and blue, or of gray: by
// given amounts or by drawn ones. All is computed in single precision; integers are cut, and bytes limited,
// after each step.
//
// Entry points: jitter_gray_DTYPE(data, sums, change, stream), sums of chunks of pixels that come to the
// step of contrast, by blocks whose threads lie along y; and jitter_DTYPE(data, out, sums, change, stream, req),
// by blocks as well, a thread for each pixel. `sums` is null where no step needs the mean. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "random.cuh"
#include "real.cuh"

namespace fm {

/// A change of the colours: by a factor; a factor of distances to the mean gray; or of those to a part of
/// the blue of the pixel; a part of a full turn; what is added to each colour.
enum Kind { Brightness = 0, Contrast = 1, Saturation = 2, Hue = 3, Lighting = 4 };

/// Where amounts come from: given, between two, of a deviation, or all but lighting by up to four amounts.
enum Source { Fixed = 0, Even = 1, Normal = 2, All = 3 };

struct Change {
    int64 pixels, channels, kind, from;
    float64 amounts[4];
};

/// Pixels whose gray is added up as one number.
constexpr int64 CHUNK = 4096;

struct Step {
    int kind;
    float32 amount[3];
};

struct Steps {
    int count;
    Step at[4];
};

__device__ __forceinline__ float32 even(unsigned word, float32 low, float32 high) {
    return plus(low, times((float32)((float64)word / 4294967296.0), minus(high, low)));
}

/// What parts of the principal components of the colours of ImageNet add to a colour: lengths and
/// directions after Krizhevsky, Sutskever and Hinton (2012).
__device__ __forceinline__ float32 shift_of(const float32 (&part)[3], int colour) {
    const float32 lengths[3] = {55.46f, 4.794f, 1.148f};
    const float32 directions[9]
        = {-0.5675f, 0.7192f, 0.4009f, -0.5808f, -0.0045f, -0.8140f, -0.5836f, -0.6948f, 0.4203f};
    float32 sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        sum = plus(sum, times(times(directions[3 * colour + k], lengths[k]), part[k]));
    }
    return sum;
}

__device__ __forceinline__ void lighting(const float32 (&part)[3], Steps &steps) {
    steps.at[0] = {Lighting, {shift_of(part, 0), shift_of(part, 1), shift_of(part, 2)}};
}

/// A number of the normal distribution.
__device__ __forceinline__ float32 normal(unsigned a, unsigned b, float32 deviation) {
    const float32 log = logarithm(minus(1.0f, even(a >> 8, 0.0f, 256.0f)));
    const float32 angle = even(b, 0.0f, 6.28318530717958647692f);
    return times(times(deviation, square_root(times(-2.0f, log))), cosine(angle));
}

/// The steps of a run.
__device__ __noinline__ Steps steps_of(const Change &change, const Stream &stream) {
    Steps steps{1, {{(int)change.kind, {0.0f, 0.0f, 0.0f}}}};
    float32 amounts[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        amounts[k] = (float32)change.amounts[k];
    }
    if (change.from == Fixed) {
        lighting({amounts[0], amounts[1], amounts[2]}, steps);
        return steps;
    }
    const Block words = block_of(stream, 0), more = block_of(stream, 1);
    if (change.from == Even) {
        steps.at[0].amount[0] = even(words.at[0], amounts[0], amounts[1]);
    } else if (change.from == Normal) {
        const float32 parts[3] = {normal(words.at[0], words.at[1], amounts[0]),
                                  normal(words.at[2], words.at[3], amounts[0]),
                                  normal(more.at[0], more.at[1], amounts[0])};
        lighting(parts, steps);
    } else {
        steps.count = 4;
#pragma unroll 1
        for (int k = 0; k < 4; ++k) {
            const float32 amount = even(words.at[k], -amounts[k], amounts[k]);
            steps.at[k] = {k, {k == Hue ? amount : plus(1.0f, amount), 0.0f, 0.0f}};
        }
#pragma unroll 1
        for (int k = 3; k > 0; --k) {
            const int other = (int)(more.at[k] % (unsigned)(k + 1));
            const Step step = steps.at[k];
            steps.at[k] = steps.at[other];
            steps.at[other] = step;
        }
    }
    return steps;
}

struct Pixel {
    float32 at[3];
};

__device__ __forceinline__ float32 gray_of(const Pixel &pixel, int64 channels) {
    const float32 red = times(pixel.at[0], 0.299f), green = times(pixel.at[1], 0.587f);
    return channels == 1 ? pixel.at[0] : plus(plus(red, green), times(pixel.at[2], 0.114f));
}

/// Turned round the circle of colours, in which hue counts sixths.
__device__ __noinline__ Pixel turned(const Pixel &pixel, float32 turn) {
    const float32 r = over(pixel.at[0], 255.0f), g = over(pixel.at[1], 255.0f);
    const float32 b = over(pixel.at[2], 255.0f);
    const float32 high = fmaxf(fmaxf(r, g), b), low = fminf(fminf(r, g), b);
    const float32 sum = plus(high, low), range = minus(high, low), light = times(sum, 0.5f);
    float32 hue = 0.0f, saturation = 0.0f;
    if (!(range <= 1.1920929e-7f)) {
        saturation = over(range, light < 0.5f ? sum : minus(2.0f, sum));
        hue = high == r ? over(minus(g, b), range)
            : high == g ? plus(over(minus(b, r), range), 2.0f)
                        : plus(over(minus(r, g), range), 4.0f);
    }
    hue = remainder_of(plus(hue, times(turn, 6.0f)), 6.0f);
    hue = hue < 0.0f ? plus(hue, 6.0f) : hue;
    const float32 most = light <= 0.5f ? times(light, plus(1.0f, saturation))
                                       : minus(plus(light, saturation), times(light, saturation));
    const float32 least = minus(times(2.0f, light), most), whole = round_down(hue);
    const float32 part = minus(hue, whole), width = minus(most, least);
    const float32 falls = plus(least, times(width, minus(1.0f, part)));
    const float32 rises = plus(least, times(width, part));
    // Six sectors of the circle; rounding may end at a full turn, as if it were the first one's start.
    const int sector = whole >= 1.0f ? (int)whole : 0;
    const float32 middle = sector == 6 ? least : sector % 2 ? falls : rises;
    const float32 red = sector == 1 || sector == 4 ? middle : sector == 2 || sector == 3 ? least : most;
    const float32 green = sector == 0 || sector == 3 || sector == 6 ? middle : sector < 3 ? most : least;
    const float32 blue = sector == 2 || sector == 5 ? middle : sector == 3 || sector == 4 ? most : least;
    return {{times(red, 255.0f), times(green, 255.0f), times(blue, 255.0f)}};
}

/// What a step makes of a pixel; gray ones have no colours.
__device__ __forceinline__ void
take(const Step &step, Pixel &pixel, int64 channels, float32 mean) {
    if (step.kind > Contrast && channels == 1) {
        return;
    }
    if (step.kind == Hue) {
        pixel = turned(pixel, step.amount[0]);
        return;
    }
    const float32 factor = step.kind == Lighting ? 1.0f : step.amount[0];
    const float32 rest = minus(1.0f, factor), gray = times(pixel.at[2], 0.114f);
    const float32 shift = step.kind == Contrast ? times(rest, mean) : times(gray, rest);
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        const float32 x = times(pixel.at[c], factor);
        pixel.at[c] = step.kind == Brightness ? x : plus(x, step.kind == Lighting ? step.amount[c] : shift);
    }
}

/// As the type holds it, but for its range.
template <class T> __device__ __forceinline__ void cut(Pixel &pixel) {
    if constexpr (Type<T>::integer) {
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            const float32 x = pixel.at[c];
            pixel.at[c] = round_to_zero(sizeof(T) == 1 && (T)-1 > (T)0 ? clip(x, 0.0f, 255.0f) : x);
        }
    }
}

/// A pixel after all steps, or, where `first`, after those before that of contrast.
template <class T>
__device__ __forceinline__ Pixel
changed(const T *data, int64 place, int64 channels, const Steps &steps, float32 mean, bool first) {
    Pixel pixel = {{0.0f, 0.0f, 0.0f}};
#pragma unroll
    for (int c = 0; c < 3; ++c) {
        if (c < channels) {
            pixel.at[c] = convert<float32>(data[place * channels + c]);
        }
    }
#pragma unroll 1
    for (int k = 0; k < steps.count && !(first && steps.at[k].kind == Contrast); ++k) {
        take(steps.at[k], pixel, channels, mean);
        cut<T>(pixel);
    }
    return pixel;
}

__device__ __forceinline__ int64 chunks_of(const Change &change) {
    return (change.pixels + CHUNK - 1) / CHUNK;
}

template <class T>
__device__ __forceinline__ void
gray(const T *data, float64 *sums, const Change &change, const Stream &stream) {
    FM_SHARED(float64, part, MOST_THREADS);
    const Steps steps = steps_of(change, stream);
#pragma unroll 1
    for (int64 chunk = blockIdx.x; chunk < chunks_of(change); chunk += gridDim.x) {
        const int64 end = (chunk + 1) * CHUNK < change.pixels ? (chunk + 1) * CHUNK : change.pixels;
        float64 sum = 0.0;
#pragma unroll 1
        for (int64 i = chunk * CHUNK + threadIdx.y; i < end; i += blockDim.y) {
            const Pixel pixel = changed(data, i, change.channels, steps, 0.0f, true);
            sum = plus(sum, (float64)gray_of(pixel, change.channels));
        }
        sum = together(sum, part, [](float64 a, float64 b) { return plus(a, b); });
        if (threadIdx.y == 0) {
            sums[chunk] = sum;
        }
    }
}

template <class T>
__device__ __forceinline__ void
jitter(const T *data, T *out, const float64 *sums, const Change &change, const Stream &stream, int req) {
    FM_SHARED(float64, part, MOST_THREADS);
    float64 sum = 0.0;
#pragma unroll 1
    for (int64 k = threadIdx.y; k < (sums == nullptr ? 0 : chunks_of(change)); k += blockDim.y) {
        sum = plus(sum, sums[k]);
    }
    sum = together(sum, part, [](float64 a, float64 b) { return plus(a, b); });
    const float32 mean = (float32)over(sum, (float64)change.pixels);
    const Steps steps = steps_of(change, stream);
    const int64 pixels = req == Null ? 0 : change.pixels;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.y + threadIdx.y; i < pixels;
         i += gridDim.x * (int64)blockDim.y) {
        const Pixel pixel = changed(data, i, change.channels, steps, mean, false);
#pragma unroll
        for (int c = 0; c < 3; ++c) {
            if (c < change.channels) {
                put(out[i * change.channels + c], convert<T>(pixel.at[c]), opaque(req == Add));
            }
        }
    }
}

} // namespace fm

#define FM_JITTER_ENTRIES(T, ...) \
    extern "C" __global__ void jitter_gray_##T( \
        const T *data, float64 *sums, const __grid_constant__ fm::Change change, \
        const __grid_constant__ fm::Stream stream) { \
        fm::gray(data, sums, change, stream); \
    } \
    extern "C" __global__ void jitter_##T( \
        const T *data, T *out, const float64 *sums, const __grid_constant__ fm::Change change, \
        const __grid_constant__ fm::Stream stream, int req) { \
        fm::jitter(data, out, sums, change, stream, req); \
    }
FM_NUMBERS(FM_JITTER_ENTRIES, )

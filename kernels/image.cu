// Images as tensors with channels first, normalized, turned round by chance, and in another size.
//
// Entry points: image_tensor_DTYPE(data, out, planes, req), whose output is float32;
// image_normalize_DTYPE(data, out, norm, req); image_flip_DTYPE(data, out, along, stream, req), which mirrors
// an axis if a random bit says so; image_taps_float32(taps, images), from which samples those of a column,
// then those of a line, are made, and image_resize_DTYPE(data, out, taps, images, req). A thread for each
// element that is written. Arrays have no gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "random.cuh"
#include "real.cuh"

namespace fm {

/// All elements of a batch of images, and pixels and channels of one.
struct Planes {
    int64 total, pixels, channels;
};

/// Numbers for channels, of which there are three at most.
struct Norm {
    Planes planes;
    float64 mean[3], deviation[3];
};

/// Single precision, but for float64.
template <class T> struct Single {
    typedef float32 Is;
};
template <> struct Single<float64> {
    typedef float64 Is;
};

template <class T>
__device__ __forceinline__ void tensor(const T *data, float32 *out, const Planes &planes, int req) {
    each(req == Null ? 0 : planes.total, [&](int64 i) {
        const Split plane = split(i, planes.pixels), image = split(plane.row, planes.channels);
        const int64 pixel = image.row * planes.pixels + plane.at;
        const float32 x = convert<float32>(data[pixel * planes.channels + image.at]);
        put(out[i], over(x, 255.0f), opaque(req == Add));
    });
}

/// The numbers are as single precision holds them.
template <class T>
__device__ __forceinline__ void normalize(const T *data, T *out, const Norm &norm, int req) {
    typedef typename Single<T>::Is C;
    each(req == Null ? 0 : norm.planes.total, [&](int64 i) {
        const int64 channel = split(split(i, norm.planes.pixels).row, norm.planes.channels).at;
        const C mean = (C)(float32)norm.mean[channel];
        const C deviation = (C)(float32)norm.deviation[channel];
        put(out[i], over(minus(convert<C>(data[i]), mean), deviation), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void
flip(const T *data, T *out, const Along &along, const Stream &stream, int req) {
    const bool turned = block_of(stream, 0).at[0] & 1;
    each(req == Null ? 0 : along.outer * along.count * along.inner, [&](int64 i) {
        const int64 place = split(split(i, along.inner).row, along.count).at;
        const int64 away = turned ? along.count - 1 - 2 * place : 0;
        put(out[i], data[i + away * along.inner], opaque(req == Add));
    });
}

/// How samples between samples are made: from 1, 2, 4, 2 or 8 of them; from all that one covers; from four.
enum Kind { Nearest = 0, Linear = 1, Cubic = 2, Enlarged = 3, Lanczos = 4, Covered = 5, Halved = 6 };

__device__ __forceinline__ int taps_of(int64 kind) {
    return kind == Nearest ? 1 : kind == Cubic ? 4 : kind == Lanczos ? 8 : 2;
}

/// A batch of images: elements of all after, rows and columns before and after, channels of a pixel.
struct Images {
    int64 total, kind, from[2], to[2], channels;
};

/// The samples from `first` on of which one is made, some of which may lie beyond the ends. Where it covers
/// `count`, `edge` tells where the second weight begins, and the third.
struct Taps {
    int64 first, count, edge[2];
    float32 weights[8];

    __device__ __forceinline__ float32 covered(int64 k) const {
        return weights[k < edge[0] ? 0 : k < edge[1] ? 1 : 2];
    }
};

/// Keys' cubic convolution with a slope of -0.75.
__device__ __forceinline__ float32 near_cubic(float32 x) {
    return plus(times(times(minus(times(1.25f, x), 2.25f), x), x), 1.0f);
}
__device__ __forceinline__ void cubic(float32 x, float32 (&weights)[8]) {
    const float32 y = plus(x, 1.0f);
    const float32 inner = plus(times(minus(times(-0.75f, y), -3.75f), y), -6.0f);
    weights[0] = minus(times(inner, y), -3.0f);
    weights[1] = near_cubic(x);
    weights[2] = near_cubic(minus(1.0f, x));
    weights[3] = minus(minus(minus(1.0f, weights[0]), weights[1]), weights[2]);
}

/// Lanczos' window of four lobes, with weights that add up to one.
__device__ __forceinline__ void lanczos(float32 x, float32 (&weights)[8]) {
    const float64 pi = 3.141592653589793;
    const bool at_sample = x < 1.1920929e-7f;
    float32 sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
        const float64 at = times(pi, minus(plus((float64)x, 3.0), (float64)k));
        const float64 lobes = times(times(4.0, sine(at)), sine(over(at, 4.0)));
        weights[k] = at_sample ? (k == 3 ? 1.0f : 0.0f) : (float32)over(lobes, times(at, at));
        sum = plus(sum, weights[k]);
    }
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
        weights[k] = over(weights[k], sum);
    }
}

/// What sample `x` of `to` covers of a line of `from`, which is not shorter.
__device__ __forceinline__ void cover(Taps &taps, float64 x, int64 from, int64 to) {
    const float64 none = 1e-3, scale = over((float64)from, (float64)to);
    const float64 start = times(x, scale), end = times(plus(x, 1.0), scale);
    const float64 left = minus((float64)from, start), width = scale < left ? scale : left;
    const int64 below = (int64)round_down(end), last = below < from - 1 ? below : from - 1;
    const int64 above = (int64)round_up(start), first = above < last ? above : last;
    const bool before = minus((float64)first, start) > none && first > 0;
    const float64 after = minus(end, (float64)last);
    const float64 part = after < 1.0 ? after : 1.0;
    taps.first = before ? first - 1 : first;
    taps.count = last - taps.first + (after > none ? 1 : 0);
    taps.edge[0] = first - taps.first;
    taps.edge[1] = last - taps.first;
    taps.weights[0] = (float32)over(minus((float64)first, start), width);
    taps.weights[1] = (float32)over(1.0, width);
    taps.weights[2] = (float32)over(part < width ? part : width, width);
}

/// Beyond the ends of a line its last sample is taken alone, beyond those of a column twice, with both
/// weights: sums of bytes show the difference.
__device__ __forceinline__ void between(Taps &taps, float64 x, const Images &images, int axis) {
    const int64 from = images.from[axis], kind = images.kind;
    const float64 inverse = over((float64)images.to[axis], (float64)from), scale = over(1.0, inverse);
    int64 first = (int64)round_down(times(x, scale));
    float32 part = 0.0f;
    if (kind == Enlarged) {
        part = (float32)minus(plus(x, 1.0), times((float64)(first + 1), inverse));
        part = part <= 0.0f ? 0.0f : minus(part, round_down(part));
    } else if (kind != Nearest) {
        const float32 place = (float32)minus(times(plus(x, 0.5), scale), 0.5);
        first = (int64)round_down(place);
        part = minus(place, round_down(place));
    }
    const int count = taps_of(kind);
    if (axis == 1 && count == 2 && (first < 0 || first >= from - 1)) {
        part = 0.0f;
    }
    taps.first = count == 1 ? first : first - count / 2 + 1;
    taps.weights[0] = count == 1 ? 1.0f : minus(1.0f, part);
    taps.weights[1] = part;
    if (kind == Cubic) {
        cubic(part, taps.weights);
    } else if (kind == Lanczos) {
        lanczos(part, taps.weights);
    }
}

/// Sums of samples with weights: real ones as they are.
template <class T> struct Sums {
    typedef T Sum;
    typedef T Mean;
    static __device__ __forceinline__ Sum weight(float32 part) { return (Sum)part; }
    static __device__ __forceinline__ Sum part(Sum sum, Sum weight, bool) { return times(sum, weight); }
    static __device__ __forceinline__ T whole(Sum sum, bool) { return sum; }
    static __device__ __forceinline__ T mean(Mean sum) { return sum; }
    static __device__ __forceinline__ T of_four(Mean sum) { return times(sum, (T)0.25); }
};

/// Bytes with weights of 11 bits; two lines are added with 16 bits each.
template <> struct Sums<uint8> {
    typedef int32 Sum;
    typedef float32 Mean;
    static __device__ __forceinline__ Sum weight(float32 part) {
        return (int32)rintf(times(part, 2048.0f));
    }
    static __device__ __forceinline__ Sum part(Sum sum, Sum weight, bool pair) {
        return pair ? times(weight, sum >> 4) >> 16 : times(sum, weight);
    }
    static __device__ __forceinline__ uint8 whole(Sum sum, bool pair) {
        const int32 found = pair ? plus(sum, 2) >> 2 : plus(sum, 1 << 21) >> 22;
        return (uint8)clip(found, 0, 255);
    }
    static __device__ __forceinline__ uint8 mean(Mean sum) { return (uint8)clip(rintf(sum), 0.0f, 255.0f); }
    static __device__ __forceinline__ uint8 of_four(Mean sum) { return (uint8)(((int32)sum + 2) >> 2); }
};

/// The sample of an image, whose first one is `data`, that lies between others.
template <class T>
__device__ __forceinline__ T
joined(const T *data, const Taps &rows, const Taps &columns, const Images &images) {
    typedef typename Sums<T>::Sum C;
    const int count = taps_of(images.kind);
    const int64 low = images.from[0] - 1, right = images.from[1] - 1;
    C total = 0;
#pragma unroll 1
    for (int r = 0; r < count; ++r) {
        const int64 line = clip(rows.first + r, 0ll, low) * images.from[1];
        C sum = 0;
#pragma unroll 1
        for (int c = 0; c < count; ++c) {
            const int64 at = line + clip(columns.first + c, 0ll, right);
            const C x = (C)data[at * images.channels];
            sum = plus(sum, times(x, Sums<T>::weight(columns.weights[c])));
        }
        total = plus(total, Sums<T>::part(sum, Sums<T>::weight(rows.weights[r]), count == 2));
    }
    return Sums<T>::whole(total, count == 2);
}

/// The mean of the samples that one covers.
template <class T>
__device__ __forceinline__ T
covered(const T *data, const Taps &rows, const Taps &columns, const Images &images) {
    typedef typename Sums<T>::Mean C;
    C sum = 0;
#pragma unroll 1
    for (int64 r = 0; r < rows.count; ++r) {
#pragma unroll 1
        for (int64 c = 0; c < columns.count; ++c) {
            const int64 at = (rows.first + r) * images.from[1] + columns.first + c;
            const float32 part = times(rows.covered(r), columns.covered(c));
            sum = plus(sum, times((C)data[at * images.channels], (C)part));
        }
    }
    return Sums<T>::mean(sum);
}

template <class T>
__device__ __forceinline__ T halved(const T *data, int64 y, int64 x, const Images &images) {
    typedef typename Sums<T>::Mean C;
    C sum = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int64 at = (2 * y + k / 2) * images.from[1] + 2 * x + k % 2;
        sum = plus(sum, (C)data[at * images.channels]);
    }
    return Sums<T>::of_four(sum);
}

template <class T>
__device__ __forceinline__ void
resize(const T *data, T *out, const Taps *taps, const Images &images, int req) {
    each(req == Null ? 0 : images.total, [&](int64 i) {
        const Split pixel = split(i, images.channels), line = split(pixel.row, images.to[1]);
        const Split image = split(line.row, images.to[0]);
        const int64 before = image.row * images.from[0] * images.from[1] * images.channels;
        const T *const own = data + before + pixel.at;
        const Taps &rows = taps[image.at], &columns = taps[images.to[0] + line.at];
        T found;
        if (images.kind == Nearest) {
            const int64 y = clip(rows.first, 0ll, images.from[0] - 1);
            const int64 x = clip(columns.first, 0ll, images.from[1] - 1);
            found = own[(y * images.from[1] + x) * images.channels];
        } else if (images.kind == Halved) {
            found = halved(own, image.at, line.at, images);
        } else if (images.kind == Covered) {
            found = covered(own, rows, columns, images);
        } else {
            found = joined(own, rows, columns, images);
        }
        put(out[i], found, opaque(req == Add));
    });
}

} // namespace fm

#define FM_IMAGE_ENTRIES(T, ...) \
    extern "C" __global__ void image_tensor_##T( \
        const T *data, float32 *out, const __grid_constant__ fm::Planes planes, int req) { \
        fm::tensor(data, out, planes, req); \
    } \
    extern "C" __global__ void image_normalize_##T( \
        const T *data, T *out, const __grid_constant__ fm::Norm norm, int req) { \
        fm::normalize(data, out, norm, req); \
    }
FM_NUMBERS(FM_IMAGE_ENTRIES, )

#define FM_FLIP_ENTRY(T, ...) \
    extern "C" __global__ void image_flip_##T( \
        const T *data, T *out, const __grid_constant__ fm::Along along, \
        const __grid_constant__ fm::Stream stream, int req) { \
        fm::flip(data, out, along, stream, req); \
    }
FM_ALL(FM_FLIP_ENTRY, )

#define FM_TAPS_ENTRY \
    extern "C" __global__ void image_taps_float32( \
        fm::Taps *taps, const __grid_constant__ fm::Images images) { \
        fm::each(images.to[0] + images.to[1], [&](int64 i) { \
            const int axis = i < images.to[0] ? 0 : 1; \
            const float64 x = (float64)(axis == 0 ? i : i - images.to[0]); \
            if (images.kind == fm::Covered) { \
                fm::cover(taps[i], x, images.from[axis], images.to[axis]); \
            } else { \
                fm::between(taps[i], x, images, axis); \
            } \
        }); \
    }
FM_IF_float32(FM_TAPS_ENTRY)

#define FM_RESIZE_ENTRY(T, ...) \
    extern "C" __global__ void image_resize_##T( \
        const T *data, T *out, const fm::Taps *taps, const __grid_constant__ fm::Images images, \
        int req) { \
        fm::resize(data, out, taps, images, req); \
    }
FM_REALS(FM_RESIZE_ENTRY, )
FM_IF_uint8(FM_RESIZE_ENTRY(uint8, ))

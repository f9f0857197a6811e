// Layers of numbers of eight bits with ranges: means and maxima of windows, and products whose sums have 32
// bits that wrap around.
//
// Entry points: quantized_layers_pool_DTYPE(data, out, ends, shown, pool, req), a thread for each element;
// quantized_layers_connected_SIZE_DTYPE(data, weight, bias, out, ranges, shown, sizes, req), SIZE being medium
// or small, the tile; quantized_layers_words_uint8(from, to, outer, channels, inner), four channels side by
// side, and quantized_layers_convolve_SIZE_DTYPE(data, weight, bias, out, ranges, shown, shape, count, req) of
// such words, whose blocks have tiles along x. DTYPE is that of the data, int8 or uint8; `bias` may be null.
// No gaps.
#include "field.cuh"
#include "gemm.cuh"
#include "grid.cuh"
#include "levels.cuh"

namespace fm {

/// Windows over planes of images, of means or of maxima; `padded` means are of all elements.
struct Pool {
    int64 planes, average, padded;
    Axis axes[3];
};

/// The taps of a window at a place that are inside along an axis, and where the first tap would be.
struct Taps {
    int64 first, end, start;
};

__device__ __forceinline__ Taps taps_of(const Axis &axis, int64 place) {
    const int64 start = place * axis.stride - axis.pad, room = axis.input - start;
    const int64 end = room < axis.kernel ? room : axis.kernel, first = start < 0 ? -start : 0;
    return {first, end < first ? first : end, start};
}

template <class T>
__device__ __forceinline__ void
pool(const T *data, T *out, const Ends &ends, const Shown &shown, const Pool &p, int req) {
    const Axis &deep = p.axes[0], &high = p.axes[1], &wide = p.axes[2];
    const int64 places = deep.output * high.output * wide.output;
    each(req == Null ? 0 : p.planes * places, [&](int64 i) {
        const Split at = split(i, places), line = split(at.at, wide.output);
        const Split plane = split(line.row, high.output);
        const Taps z = taps_of(deep, plane.row), y = taps_of(high, plane.at), x = taps_of(wide, line.at);
        const T *const from = data + at.row * deep.input * high.input * wide.input;
        T most = (T)Level<T>::least;
        int64 sum = 0;
#pragma unroll 1
        for (int64 a = z.start + z.first; a < z.start + z.end; ++a) {
#pragma unroll 1
            for (int64 b = y.start + y.first; b < y.start + y.end; ++b) {
                const T *const row = from + (a * high.input + b) * wide.input;
#pragma unroll 1
                for (int64 c = x.start + x.first; c < x.start + x.end; ++c) {
                    most = row[c] > most ? row[c] : most;
                    sum += row[c];
                }
            }
        }
        const int64 all = deep.kernel * high.kernel * wide.kernel;
        const int64 inside = (z.end - z.first) * (y.end - y.first) * (x.end - x.first);
        const float32 mean = over((float32)sum, (float32)(p.padded ? all : inside));
        put(out[i], p.average ? nearest<T>(mean) : most, opaque(req == Add));
    });
    shown.put(ends.get());
}

/// The sum of four products of bytes, of data of type S and of weights with a sign, and of what is there.
template <class S>
__device__ __forceinline__ unsigned dot4(unsigned data, unsigned weight, unsigned sum) {
    constexpr bool is_signed = (S)-1 < (S)0;
#ifdef FM_HOST
    for (int i = 0; i < 32; i += 8) {
        const int32 a = is_signed ? (int8)(data >> i) : (uint8)(data >> i);
        sum += (unsigned)(a * (int8)(weight >> i));
    }
    return sum;
#else
    unsigned made;
    if constexpr (is_signed) {
        asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(made) : "r"(data), "r"(weight), "r"(sum));
    } else {
        asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(made) : "r"(data), "r"(weight), "r"(sum));
    }
    return made;
#endif
}

/// Four bytes, or a sum: numbers whose product is that of four pairs. S is the type of the data, which are on
/// the left or on the right.
template <class S, bool DATA_LEFT> struct Quad {
    unsigned bits;
    Quad() = default;
    __device__ __forceinline__ Quad(unsigned bits) : bits(bits) {}
};
template <class S> struct Four {
    unsigned data, weight;
};
template <class S, bool LEFT>
__device__ __forceinline__ Four<S> operator*(const Quad<S, LEFT> &a, const Quad<S, LEFT> &b) {
    return LEFT ? Four<S>{a.bits, b.bits} : Four<S>{b.bits, a.bits};
}
template <class S, bool LEFT>
__device__ __forceinline__ void operator+=(Quad<S, LEFT> &sum, const Four<S> &four) {
    sum.bits = dot4<S>(four.data, four.weight, sum.bits);
}

/// Rows of bytes, four of which are one in depth.
template <class Q> struct Rows {
    typedef const uint8 *Row;
    static constexpr bool along_depth = true;
    const uint8 *data;
    int64 depth;
    bool aligned;

    __device__ __forceinline__ Rows(const void *data, int64 depth)
        : data((const uint8 *)data), depth(depth), aligned(((Word)data | (Word)depth) % 4 == 0) {}
    __device__ __forceinline__ Row row(int64 i) const { return data + i * depth; }
    __device__ __forceinline__ Q at(Row row, int64 k) const {
        if (aligned) {
            return ((const unsigned *)row)[k];
        }
        unsigned bits = 0;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            bits |= 4 * k + i < depth ? (unsigned)row[4 * k + i] << (8 * i) : 0;
        }
        return bits;
    }
};

/// The ranges of data, weight and bias, whose numbers are added as they are where `scaled` is 0.
struct Ranges {
    Ends data, weight, bias;
    int64 scaled;

    /// That of sums.
    template <class S> __device__ __forceinline__ Range sums() const {
        const float32 by = over(data.get().most(), Level<S>::most);
        return even(times(times(by, over(weight.get().most(), Level<int8>::most)), Level<int32>::levels));
    }
    /// What a number of the bias is in steps of the sums.
    template <class S> __device__ __forceinline__ float32 ratio() const {
        const float32 levels = Level<int8>::levels;
        const float32 unit = over(data.get().most(), Level<S>::levels);
        return over(over(bias.get().most(), levels), times(unit, over(weight.get().most(), levels)));
    }
};

template <class S> struct Bias {
    const int8 *data;
    bool scaled;
    float32 ratio;

    __device__ __forceinline__ Bias(const int8 *data, const Ranges &ranges)
        : data(data), scaled(data != nullptr && ranges.scaled),
          ratio(scaled ? ranges.ratio<S>() : 1.0f) {}
    __device__ __forceinline__ int32 added(unsigned sum, int64 i) const {
        const int32 own = data == nullptr ? 0
            : scaled ? cut<int32>(times((float32)data[i], ratio)) : (int32)data[i];
        return (int32)(sum + (unsigned)own);
    }
};

struct Sizes {
    int64 rows, hidden, depth;
};

template <class TILE, class S>
__device__ __forceinline__ void
connect(const S *data, const int8 *weight, const int8 *bias, int32 *out, const Ranges &ranges,
        const Shown &shown, const Sizes &s, int req) {
    typedef Quad<S, true> Q;
    shown.put(ranges.sums<S>());
    const int64 down = (s.rows + TILE::rows - 1) / TILE::rows;
    const int64 across = (s.hidden + TILE::columns - 1) / TILE::columns;
    if (req == Null || blockIdx.x >= down * across) {
        return;
    }
    const int64 i = blockIdx.x % down * TILE::rows, j = blockIdx.x / down * TILE::columns;
    const Rows<Q> left(data, s.depth), right(weight, s.depth);
    const Bias<S> more(bias, ranges);
    Q sums[TILE::own_rows][TILE::own_columns];
    multiply<TILE>(left, right, i, j, s.rows, s.hidden, Depth{0, (s.depth + 3) / 4}, sums);
    elements_of<TILE>(sums, i, j, s.rows, s.hidden, [&](int64 row, int64 column, Q sum) {
        put(out[row * s.hidden + column], more.added(sum.bits, column), opaque(req == Add));
    });
}

/// Each word has four channels of an element; those that are not there are nought.
__device__ __forceinline__ void
words(const uint8 *from, unsigned *to, int64 outer, int64 channels, int64 inner) {
    const int64 groups = (channels + 3) / 4;
    each(outer * groups * inner, [&](int64 i) {
        const Split at = split(i, inner), group = split(at.row, groups);
        const uint8 *const first = from + (group.row * channels + 4 * group.at) * inner + at.at;
        unsigned bits = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            bits |= 4 * group.at + k < channels ? (unsigned)first[k * inner] << (8 * k) : 0;
        }
        to[i] = bits;
    });
}

template <class TILE, class S>
__device__ __forceinline__ void convolve(
    const unsigned *data, const unsigned *weight, const int8 *bias, int32 *out, const Ranges &ranges,
    const Shown &shown, const Shape &shape, int64 count, int req) {
    typedef Quad<S, false> Q;
    FM_SHARED(Field, fields, 1);
    shown.put(ranges.sums<int8>()); // whatever the type of the data, as in MXNet
    if (req == Null || count == 0) {
        return;
    }
    if (threadIdx.x == 0) {
        field_of(fields[0], shape);
    }
    __syncthreads();
    const Field &field = fields[0];
    const int64 m = field.rows, n = field.columns;
    const int64 down = (m + TILE::rows - 1) / TILE::rows;
    const int64 i = blockIdx.x % down * TILE::rows, j = blockIdx.x / down * TILE::columns;
    const Weights<false, Q> left = {(const Q *)weight, field};
    const Reached<Q> right = {(const Q *)data, field};
    const Bias<S> more(bias, ranges);
    Q sums[TILE::own_rows][TILE::own_columns];
    multiply<TILE>(left, right, i, j, m, n, Depth{0, field.depth}, sums);
    elements_of<TILE>(sums, i, j, m, n, [&](int64 row, int64 column, Q sum) {
        const int64 at = field.target((unsigned)column) + row * field.plane;
        put(out[at], more.added(sum.bits, row), opaque(req == Add));
    });
}

} // namespace fm

#define FM_LAYER_ENTRIES(T, SIZE, TILE) \
    extern "C" __global__ void __launch_bounds__(fm::TILE::threads, fm::TILE::blocks) \
    quantized_layers_connected_##SIZE##_##T( \
        const T *data, const int8 *weight, const int8 *bias, int32 *out, \
        const __grid_constant__ fm::Ranges ranges, const __grid_constant__ fm::Shown shown, \
        const __grid_constant__ fm::Sizes sizes, int req) { \
        fm::connect<fm::TILE>(data, weight, bias, out, ranges, shown, sizes, req); \
    } \
    extern "C" __global__ void __launch_bounds__(fm::TILE::threads, fm::TILE::blocks) \
    quantized_layers_convolve_##SIZE##_##T( \
        const unsigned *data, const unsigned *weight, const int8 *bias, int32 *out, \
        const __grid_constant__ fm::Ranges ranges, const __grid_constant__ fm::Shown shown, \
        const __grid_constant__ fm::Shape shape, int64 count, int req) { \
        fm::convolve<fm::TILE, T>(data, weight, bias, out, ranges, shown, shape, count, req); \
    }
#define FM_BYTE_ENTRIES(T) \
    FM_LAYER_ENTRIES(T, medium, Medium) \
    FM_LAYER_ENTRIES(T, small, Small) \
    extern "C" __global__ void quantized_layers_pool_##T( \
        const T *data, T *out, const __grid_constant__ fm::Ends ends, \
        const __grid_constant__ fm::Shown shown, const __grid_constant__ fm::Pool pool, int req) { \
        fm::pool(data, out, ends, shown, pool, req); \
    }
FM_IF_int8(FM_BYTE_ENTRIES(int8))
FM_IF_uint8(FM_BYTE_ENTRIES(uint8))

#define FM_WORDS_ENTRY \
    extern "C" __global__ void quantized_layers_words_uint8( \
        const uint8 *from, unsigned *to, int64 outer, int64 channels, int64 inner) { \
        fm::words(from, to, outer, channels, inner); \
    }
FM_IF_uint8(FM_WORDS_ENTRY)

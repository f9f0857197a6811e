// Numbers of eight bits with ranges: relu, sums, products, normalization, and tensors in one range.
//
// Entry points: quantized_relu_int8(data, out, ends, shown, walk, req), quantized_add_DTYPE of int8, uint8 and
// int32 and quantized_multiply_DTYPE of int8, int32 and float32 (lhs, rhs, out, pair, shown, walk, req), some
// elements for each thread; quantized_join_float32(table, joined, shown), the widest of ranges, and
// quantized_part_DTYPE(data, out, ends, joined, part, req), a tensor in that range, of int8 and uint8, a thread
// for each element; quantized_scales_float32(gamma, beta, mean, var, ends, made, eps, channels, scales), a
// thread for each channel, and quantized_normalize_DTYPE(data, scales, out, made, shown, plane, channels, count,
// req), of int8 and uint8, a thread for each element. No gaps.
#include "grid.cuh"
#include "levels.cuh"

namespace fm {

__device__ __forceinline__ void
relu(const int8 *data, int8 *out, const Ends &ends, const Shown &shown, const Walk<2> &walk, int req) {
    const int8 *const in[1] = {data};
    map<few_lanes<int8, int8>>(out, in, walk, req, [](const int8(&x)[1]) {
        return x[0] < 0 ? (int8)0 : x[0];
    });
    shown.put(ends.get());
}

/// Ranges of two tensors and of what is made, and which tensors have no sign. Without a range of what is
/// made, sums have that of both magnitudes, and products are not scaled.
struct Pair {
    Ends left, right;
    Range made;
    int has_range, left_unsigned, right_unsigned, padding;
};

template <class T>
__device__ __forceinline__ void
add(const uint8 *lhs, const uint8 *rhs, T *out, const Pair &pair, const Shown &shown,
    const Walk<3> &walk, int req) {
    const float32 left = pair.left.get().most(), right = pair.right.get().most();
    const Range range = pair.has_range ? pair.made : even(plus(left, right));
    const float32 unit = over(range.most(), Level<T>::levels);
    const bool left_unsigned = pair.left_unsigned, right_unsigned = pair.right_unsigned;
    const float32 by_left = over(over(left, levels_of(left_unsigned)), unit);
    const float32 by_right = over(over(right, levels_of(right_unsigned)), unit);
    const uint8 *const in[2] = {lhs, rhs};
    map<few_lanes<T, uint8>>(out, in, walk, req, [&](const uint8(&x)[2]) {
        const float32 a = times(real_of(x[0], left_unsigned), by_left);
        return nearest<T>(plus(a, times(real_of(x[1], right_unsigned), by_right)));
    });
    shown.put(range);
}

template <class T>
__device__ __forceinline__ void
multiply(const int8 *lhs, const int8 *rhs, T *out, const Pair &pair, const Shown &shown,
         const Walk<3> &walk, int req) {
    const float32 levels = Level<int8>::levels, whole = Level<int8>::most;
    const float32 left = pair.left.get().most(), right = pair.right.get().most();
    const float32 real = times(over(left, levels), over(right, levels));
    const float32 factor = over(real, over(pair.made.most(), levels));
    const int8 *const in[2] = {lhs, rhs};
    map<few_lanes<T, int8>>(out, in, walk, req, [&](const int8(&x)[2]) -> T {
        const int32 product = (int32)x[0] * (int32)x[1];
        if constexpr (sizeof(T) == 1) {
            // Cut, not rounded, as in MXNet.
            return cut<T>(times((float32)product, factor));
        } else if constexpr (Type<T>::integer) {
            return product;
        } else {
            return times((float32)product, real);
        }
    });
    const float32 sums = times(times(over(left, whole), over(right, whole)), Level<int32>::levels);
    shown.put(pair.has_range ? pair.made : even(sums));
}

constexpr int MOST_RANGES = 32;

/// Ranges that are joined, with those before where there are some.
struct Joined {
    const float32 *ends[MOST_RANGES][2];
    int64 count, before;
};

__device__ __forceinline__ void join(const Joined &table, float32 *joined, const Shown &shown) {
    if (threadIdx.x != 0) {
        return;
    }
    float32 low = table.before ? joined[0] : *table.ends[0][0];
    float32 high = table.before ? joined[1] : *table.ends[0][1];
#pragma unroll 1
    for (int64 i = 0; i < table.count; ++i) {
        low = fminf(low, *table.ends[i][0]);
        high = fmaxf(high, *table.ends[i][1]);
    }
    joined[0] = low;
    joined[1] = high;
    shown.put({low, high});
}

/// Lines of `line` numbers, that go to places from `first` on of lines of `total` numbers.
struct Part {
    int64 lines, line, first, total, is_unsigned;
};

template <class T>
__device__ __forceinline__ void
part(const uint8 *data, T *out, const Ends &ends, const float32 *joined, const Part &p, int req) {
    const Range all = {joined[0], joined[1]};
    const float32 own = over(ends.get().most(), levels_of(p.is_unsigned));
    const float32 factor = over(own, over(all.most(), Level<T>::levels));
    each(req == Null ? 0 : p.lines * p.line, [&](int64 i) {
        const Split at = split(i, p.line);
        const uint8 x = data[i];
        const T y = factor == 1.0f ? (T)x : nearest<T>(times(real_of(x, p.is_unsigned), factor));
        put(out[at.row * p.total + p.first + at.at], y, opaque(req == Add));
    });
}

/// Factors, and behind them what is added.
__device__ __forceinline__ void
scales(const float32 *gamma, const float32 *beta, const float32 *mean, const float32 *var,
       const Ends &ends, const Range &made, float32 eps, int64 channels, float32 *out) {
    const float32 most = ends.get().most(), to = made.most();
    each(channels, [&](int64 c) {
        const float32 root = over(gamma[c], square_root(plus(var[c], eps)));
        // In MXNet a normalization by variance 1 follows, which adds epsilon once more.
        out[c] = over(over(times(root, most), to), square_root(plus(1.0f, eps)));
        const float32 rest = minus(beta[c], times(mean[c], root));
        out[channels + c] = over(times(rest, Level<int8>::levels), to);
    });
}

template <class T>
__device__ __forceinline__ void
normalize(const T *data, const float32 *scales, int8 *out, const Range &made, const Shown &shown,
          int64 plane, int64 channels, int64 count, int req) {
    // Numbers without sign become such with one first, as in MXNet.
    const float32 with_sign = over(Level<int8>::levels, Level<T>::levels);
    each(req == Null ? 0 : count, [&](int64 i) {
        const int64 c = split(split(i, plane).row, channels).at;
        const float32 x = (float32)nearest<int8>(times((float32)data[i], with_sign));
        put(out[i], nearest<int8>(fmaf(x, scales[c], scales[channels + c])), opaque(req == Add));
    });
    shown.put(made);
}

} // namespace fm

#define FM_PAIR_ENTRY(T, NAME, S) \
    extern "C" __global__ void quantized_##NAME##_##T( \
        const S *lhs, const S *rhs, T *out, const __grid_constant__ fm::Pair pair, \
        const __grid_constant__ fm::Shown shown, const __grid_constant__ fm::Walk<3> walk, int req) { \
        fm::NAME(lhs, rhs, out, pair, shown, walk, req); \
    }
FM_IF_int8(FM_PAIR_ENTRY(int8, add, uint8))
FM_IF_uint8(FM_PAIR_ENTRY(uint8, add, uint8))
FM_IF_int32(FM_PAIR_ENTRY(int32, add, uint8))
FM_IF_int8(FM_PAIR_ENTRY(int8, multiply, int8))
FM_IF_int32(FM_PAIR_ENTRY(int32, multiply, int8))
FM_IF_float32(FM_PAIR_ENTRY(float32, multiply, int8))

#define FM_BYTE_ENTRIES(T) \
    extern "C" __global__ void quantized_part_##T( \
        const uint8 *data, T *out, const __grid_constant__ fm::Ends ends, const float32 *joined, \
        const __grid_constant__ fm::Part part, int req) { \
        fm::part(data, out, ends, joined, part, req); \
    } \
    extern "C" __global__ void quantized_normalize_##T( \
        const T *data, const float32 *scales, int8 *out, const __grid_constant__ fm::Range made, \
        const __grid_constant__ fm::Shown shown, int64 plane, int64 channels, int64 count, int req) { \
        fm::normalize(data, scales, out, made, shown, plane, channels, count, req); \
    }
FM_IF_int8(FM_BYTE_ENTRIES(int8))
FM_IF_uint8(FM_BYTE_ENTRIES(uint8))

#define FM_RELU_ENTRY \
    extern "C" __global__ void quantized_relu_int8( \
        const int8 *data, int8 *out, const __grid_constant__ fm::Ends ends, \
        const __grid_constant__ fm::Shown shown, const __grid_constant__ fm::Walk<2> walk, int req) { \
        fm::relu(data, out, ends, shown, walk, req); \
    }
#define FM_RANGE_ENTRIES \
    extern "C" __global__ void quantized_join_float32( \
        const __grid_constant__ fm::Joined table, float32 *joined, \
        const __grid_constant__ fm::Shown shown) { \
        fm::join(table, joined, shown); \
    } \
    extern "C" __global__ void quantized_scales_float32( \
        const float32 *gamma, const float32 *beta, const float32 *mean, const float32 *var, \
        const __grid_constant__ fm::Ends ends, const __grid_constant__ fm::Range made, float32 eps, \
        int64 channels, float32 *scales) { \
        fm::scales(gamma, beta, mean, var, ends, made, eps, channels, scales); \
    }
FM_IF_int8(FM_RELU_ENTRY)
FM_IF_float32(FM_RANGE_ENTRIES)

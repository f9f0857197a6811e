// softmax, softmin and log_softmax along an axis, and their gradients.
//
// Entry points: softmax_forward_FROM_TO and softmax_log_FROM_TO(data, lengths, wide, out, along,
// temperature, req); softmax_backward_DTYPE and softmax_backward_log_DTYPE with (grad, out, ...) in
// place of data. `lengths` may be null; they are int64 where `wide`, else int32. softmin is softmax
// with the opposite of the temperature. Arrays have no gaps.
#include "fold.cuh"
#include "real.cuh"

namespace fm {

/// How many elements of a position count.
__device__ __forceinline__ int64
length_of(const void *lengths, int wide, int64 position, int64 count) {
    if (lengths == nullptr) {
        return count;
    }
    const int64 given
        = wide ? ((const int64 *)lengths)[position] : (int64)((const int32 *)lengths)[position];
    return given < 0 ? 0 : given < count ? given : count;
}

/// Goes through the positions with `each(first element, elements that count)`, which all threads of
/// a block call together; threads along y share the elements of a position.
template <class F>
__device__ __forceinline__ void
positions(const void *lengths, int wide, const Along &along, int req, F each) {
    const int64 total = req == Null ? 0 : along.outer * along.inner;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 position = first + threadIdx.x;
        const bool is_one = position < total;
        const int64 outer = position / along.inner, at = position - outer * along.inner;
        const int64 length = is_one ? length_of(lengths, wide, position, along.count) : 0;
        each(outer * along.count * along.inner + at, length, is_one ? along.count : 0);
    }
}

template <bool FIRST, class A, class B> struct Either {
    typedef A Is;
};
template <class A, class B> struct Either<false, A, B> {
    typedef B Is;
};
/// The wider of the types that two are computed in.
template <class A, class B>
using Wider = typename Either<(sizeof(Compute<A>) > sizeof(Compute<B>)), Compute<A>, Compute<B>>::Is;

template <bool LOG, class D, class S>
__device__ __forceinline__ void softmax(
    const S *data, const void *lengths, int wide, D *out, const Along &along, float64 temperature,
    int req) {
    typedef Wider<D, S> C;
    FM_SHARED(C, part, MOST_THREADS);
    const C t = (C)temperature, lowest = -(C)__uint_as_float(0x7f800000u);
    positions(lengths, wide, along, req, [&](int64 base, int64 length, int64 count) {
        const int64 step = along.inner;
        C highest = lowest, sum = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < length; i += blockDim.y) {
            highest = larger(over(convert<C>(data[base + i * step]), t), highest);
        }
        highest = together(highest, part, [](C a, C b) { return larger(b, a); });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < length; i += blockDim.y) {
            sum += exponential(over(convert<C>(data[base + i * step]), t) - highest);
        }
        sum = together(sum, part, [](C a, C b) { return a + b; });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            C y = 0;
            if (i < length) {
                const C x = over(convert<C>(data[base + i * step]), t) - highest;
                y = LOG ? x - logarithm(sum) : over(exponential(x), sum);
            }
            put(out[base + i * step], y, req == Add);
        }
    });
}

template <bool LOG, class T>
__device__ __forceinline__ void backward(
    const T *grad, const T *out, const void *lengths, int wide, T *result, const Along &along,
    float64 temperature, int req) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    const C t = (C)temperature;
    positions(lengths, wide, along, req, [&](int64 base, int64 length, int64 count) {
        const int64 step = along.inner;
        C sum = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < length; i += blockDim.y) {
            const C g = convert<C>(grad[base + i * step]);
            sum += LOG ? g : g * convert<C>(out[base + i * step]);
        }
        sum = together(sum, part, [](C a, C b) { return a + b; });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            C y = 0;
            if (i < length) {
                const C g = convert<C>(grad[base + i * step]), o = convert<C>(out[base + i * step]);
                y = over(LOG ? g - exponential(o) * sum : (g - sum) * o, t);
            }
            put(result[base + i * step], y, req == Add);
        }
    });
}

} // namespace fm

#define FM_SOFTMAX_ENTRY(NAME, LOG, TO, FROM) \
    extern "C" __global__ void softmax_##NAME##_##FROM##_##TO( \
        const FROM *data, const void *lengths, int wide, TO *out, \
        const __grid_constant__ fm::Along along, float64 temperature, int req) { \
        fm::softmax<LOG>(data, lengths, wide, out, along, temperature, req); \
    }
#define FM_FORWARD_ENTRY(TO, FROM) FM_SOFTMAX_ENTRY(forward, false, TO, FROM)
#define FM_LOG_ENTRY(TO, FROM) FM_SOFTMAX_ENTRY(log, true, TO, FROM)
FM_FLOATS(FM_FORWARD_ENTRY, float32)
FM_FLOATS(FM_FORWARD_ENTRY, float64)
FM_FLOATS(FM_FORWARD_ENTRY, float16)
FM_FLOATS(FM_FORWARD_ENTRY, bfloat16)
FM_FLOATS(FM_LOG_ENTRY, float32)
FM_FLOATS(FM_LOG_ENTRY, float64)
FM_FLOATS(FM_LOG_ENTRY, float16)
FM_FLOATS(FM_LOG_ENTRY, bfloat16)

#define FM_BACKWARD_ENTRY(T, NAME, LOG) \
    extern "C" __global__ void softmax_##NAME##_##T( \
        const T *grad, const T *out, const void *lengths, int wide, T *result, \
        const __grid_constant__ fm::Along along, float64 temperature, int req) { \
        fm::backward<LOG>(grad, out, lengths, wide, result, along, temperature, req); \
    }
FM_FLOATS(FM_BACKWARD_ENTRY, backward, false)
FM_FLOATS(FM_BACKWARD_ENTRY, backward_log, true)

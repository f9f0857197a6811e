// The gradient of the cross entropy of a softmax and its labels.
//
// Entry points: softmax_output_count_DTYPE(label, size, ignored, counts) counts the labels that are not
// ignored, each block its own, with threads along y; softmax_output_backward_DTYPE(head, out, label, grad,
// loss, counts, parts, req) divides by what the blocks counted, or by the loss's divisor where `counts`
// is null. `head`, the gradient of the output, may be null. Arrays have no gaps.
#include "count.cuh"

namespace fm {

struct Loss {
    /// Elements of the output, of (outer, classes, inner).
    int64 size, classes, inner;
    /// Whether labels are probabilities; whether one of them is ignored, and which.
    int64 soft, ignores, ignored;
    /// What the class of the label, and the others, have to reach.
    float64 hit, miss;
    float64 scale, divisor;
};

template <class T> __device__ __forceinline__ int64 class_of(T label) {
    return saturate<int64>((float64)convert<Compute<T>>(label));
}

/// The gradient of an element, before the factor; Index is wide enough for all of them.
template <class Index, class T>
__device__ __forceinline__ Compute<T>
slope(const T *out, const T *label, const Loss &loss, Index i) {
    typedef Compute<T> C;
    const C y = convert<C>(out[i]);
    if (loss.soft) {
        return y - convert<C>(label[i]);
    }
    const Index inner = (Index)loss.inner, outer = i / inner, at = i - outer * inner;
    const Index sample = outer / (Index)loss.classes;
    const int64 wanted = class_of(label[(int64)sample * inner + at]);
    if (loss.ignores && wanted == loss.ignored) {
        return (C)0;
    }
    return y - (C)(wanted == (int64)(outer - sample * (Index)loss.classes) ? loss.hit : loss.miss);
}

template <class T>
__device__ __forceinline__ void cross_entropy(
    const T *head, const T *out, const T *label, T *grad, const Loss &loss, const int64 *counts,
    int64 parts, int req) {
    typedef Compute<T> C;
    const C factor = (C)(loss.scale / divisor(counts, parts, loss.divisor));
    const int64 size = req == Null ? 0 : loss.size;
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < size;
         i += gridDim.x * (int64)blockDim.x) {
        C d = size <= 0xffffffffll ? slope(out, label, loss, (unsigned)i) : slope(out, label, loss, i);
        d = times(d, factor);
        d = head == nullptr ? d : times(d, convert<C>(head[i]));
        put(grad[i], d, opaque(req == Add));
    }
}

} // namespace fm

#define FM_LOSS_ENTRIES(T, ...) \
    extern "C" __global__ void softmax_output_count_##T( \
        const T *label, int64 size, int64 ignored, int64 *counts) { \
        fm::count(label, size, counts, [&](T x) { return fm::class_of(x) != ignored; }); \
    } \
    extern "C" __global__ void softmax_output_backward_##T( \
        const T *head, const T *out, const T *label, T *grad, \
        const __grid_constant__ fm::Loss loss, const int64 *counts, int64 parts, int req) { \
        fm::cross_entropy(head, out, label, grad, loss, counts, parts, req); \
    }
FM_FLOATS(FM_LOSS_ENTRIES, )

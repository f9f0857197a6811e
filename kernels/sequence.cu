// Sequences of different lengths, whose steps are along one of the first two axes.
//
// Entry points: sequence_mask_DTYPE(data, lengths, out, steps, value, req), sequence_reverse_DTYPE(data,
// lengths, out, steps, req, refusal), sequence_last_DTYPE(data, lengths, out, steps, req, refusal) and
// sequence_last_backward_DTYPE(grad, lengths, out, steps, req, refusal). `lengths` are int64, or null for all
// steps; those that there cannot be are refused, but for a mask, of which they are the nearest that there can
// be. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"
#include "refusal.cuh"

namespace fm {

/// Data of (first, second, rest), of which the axis of a number has the steps.
struct Steps {
    int64 first, second, rest, axis;

    __device__ __forceinline__ int64 time() const { return axis == 0 ? first : second; }
    __device__ __forceinline__ int64 total() const { return first * second * rest; }
    __device__ __forceinline__ int64 place(int64 step, int64 member) const {
        return axis == 0 ? step * second + member : member * second + step;
    }
    /// A length from 0 to the number of steps; refused if it is another one or below `least`.
    __device__ __forceinline__ int64
    length(const int64 *lengths, int64 member, int64 least, Refusal *refusal) const {
        const int64 n = lengths == nullptr ? time() : lengths[member];
        if (refusal != nullptr && (n < least || n > time())) {
            refuse(refusal, 1, n);
        }
        return n < 0 ? 0 : n > time() ? time() : n;
    }
};

/// Where an element is.
struct Step {
    int64 step, member, at;
};

__device__ __forceinline__ Step step_of(const Steps &steps, int64 i) {
    const Split in_rest = split(i, steps.rest), place = split(in_rest.row, steps.second);
    return steps.axis == 0 ? Step{place.row, place.at, in_rest.at}
                           : Step{place.at, place.row, in_rest.at};
}

template <class T>
__device__ __forceinline__ void
mask(const T *data, const int64 *lengths, T *out, const Steps &steps, float64 value, int req) {
    const T filled = convert<T>(value);
    each(req == Null ? 0 : steps.total(), [&](int64 i) {
        const Step at = step_of(steps, i);
        const bool kept = at.step < steps.length(lengths, at.member, 0, nullptr);
        put(out[i], kept ? data[i] : filled, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void reverse(
    const T *data, const int64 *lengths, T *out, const Steps &steps, int req, Refusal *refusal) {
    each(req == Null ? 0 : steps.total(), [&](int64 i) {
        const Step at = step_of(steps, i);
        const int64 length = steps.length(lengths, at.member, 0, refusal);
        const int64 from = at.step < length ? length - 1 - at.step : at.step;
        put(out[i], data[steps.place(from, at.member) * steps.rest + at.at], opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void last(
    const T *data, const int64 *lengths, T *out, const Steps &steps, int req, Refusal *refusal) {
    const int64 batch = steps.axis == 0 ? steps.second : steps.first;
    each(req == Null ? 0 : batch * steps.rest, [&](int64 i) {
        const Split at = split(i, steps.rest);
        const int64 length = steps.length(lengths, at.row, 1, refusal);
        const int64 from = steps.place(length - 1, at.row) * steps.rest + at.at;
        put(out[i], length > 0 ? data[from] : T(), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void last_backward(
    const T *grad, const int64 *lengths, T *out, const Steps &steps, int req, Refusal *refusal) {
    each(req == Null ? 0 : steps.total(), [&](int64 i) {
        const Step at = step_of(steps, i);
        const bool is_last = at.step == steps.length(lengths, at.member, 1, refusal) - 1;
        put(out[i], is_last ? grad[at.member * steps.rest + at.at] : T(), opaque(req == Add));
    });
}

} // namespace fm

#define FM_SEQUENCE_ENTRY(T, NAME) \
    extern "C" __global__ void sequence_##NAME##_##T( \
        const T *data, const int64 *lengths, T *out, const __grid_constant__ fm::Steps steps, \
        int req, fm::Refusal *refusal) { \
        fm::NAME(data, lengths, out, steps, req, refusal); \
    }
#define FM_SEQUENCE_ENTRIES(T, ...) \
    extern "C" __global__ void sequence_mask_##T( \
        const T *data, const int64 *lengths, T *out, const __grid_constant__ fm::Steps steps, \
        float64 value, int req) { \
        fm::mask(data, lengths, out, steps, value, req); \
    } \
    FM_SEQUENCE_ENTRY(T, reverse) \
    FM_SEQUENCE_ENTRY(T, last) \
    FM_SEQUENCE_ENTRY(T, last_backward)
FM_NUMBERS(FM_SEQUENCE_ENTRIES, )

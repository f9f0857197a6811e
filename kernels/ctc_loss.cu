// Connectionist temporal classification: the loss of each sequence over all its paths, and the gradient.
// Probabilities of paths are logarithms in float64.
//
// Entry points, in the order of their launches: ctc_loss_labels_int64(labels, data_lengths, label_lengths,
// paths, refusal), a block for each sequence, which refuses lengths of data (1) and of labels (2) that there
// cannot be, and labels that are no class (3); ctc_loss_sums_DTYPE(data, sums, along), whose threads along y, a
// power of two, share a line; ctc_loss_paths_DTYPE(data, out, paths, req, gradient_req), a block for each
// sequence along x, and the way there and the way back along y; ctc_loss_gradient_DTYPE(data, out, paths, req),
// a thread for each element of the data. Lengths may be null. Arrays have no gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"
#include "refusal.cuh"

namespace fm {

/// The logarithm of what has no path; far from overflow when others are added.
constexpr float64 NO_PATH = -1e30;

/// The sizes, and temporary memory. A sequence has a state for each of its labels and for the blanks around
/// them, at most `states`.
struct Paths {
    int64 steps, batch, classes, labels, blank;
    /// What ends the labels where no lengths are given.
    int64 padding;
    /// The labels of sequences; of each class the first state that has it, or -1.
    int64 *classes_of, *first_state;
    /// Of sequences: their labels, or -1 where these need more steps than there are; their steps.
    int64 *counts, *lengths;
    /// Logarithms of the sums of exponentials of lines, and of the probabilities of all paths.
    float64 *sums, *totals;
    /// Logarithms of the probabilities of reaching states: (batch, steps, states), there and back.
    float64 *there, *back;

    __device__ __forceinline__ int64 states() const { return 2 * labels + 1; }
    __device__ __forceinline__ int64 class_at(int64 sequence, int64 state) const {
        return state % 2 == 0 ? blank : classes_of[sequence * labels + state / 2];
    }
    /// The logarithm of the probability of a state's class at a step.
    template <class T>
    __device__ __forceinline__ float64 gain(const T *data, int64 t, int64 sequence, int64 state) const {
        const int64 line = t * batch + sequence;
        return (float64)convert<Compute<T>>(data[line * classes + class_at(sequence, state)]) - sums[line];
    }
};

__device__ __forceinline__ int64 within(int64 n, int64 most) { return n < 0 ? 0 : n > most ? most : n; }

/// A length, which is `most` where none are given; others than from 0 to that are refused.
__device__ __forceinline__ int64
length_of(const int64 *given, int64 sequence, int64 most, unsigned code, Refusal *refusal) {
    const int64 n = given == nullptr ? most : given[sequence], length = within(n, most);
    if (n != length) {
        refuse(refusal, code, n);
    }
    return length;
}

/// How many labels a sequence has, or -1 where they do not fit: equal neighbours need a blank between them.
__device__ __forceinline__ int64 counted(
    const int64 *labels, const int64 *given, int64 sequence, const Paths &paths, int64 steps,
    Refusal *refusal) {
    int64 count = length_of(given, sequence, paths.labels, 2, refusal), needed = 0;
#pragma unroll 1
    for (int64 i = 0; i < count; ++i) {
        if (given == nullptr && labels[i] == paths.padding) {
            count = i;
            break;
        }
        if (labels[i] < 0 || labels[i] >= paths.classes) {
            refuse(refusal, 3, labels[i]);
        }
        needed += 1 + (i > 0 && labels[i] == labels[i - 1]);
    }
    return needed <= steps ? count : -1;
}

__device__ __forceinline__ void read_labels(
    const int64 *labels, const int64 *data_lengths, const int64 *label_lengths, const Paths &paths,
    Refusal *refusal) {
    const int64 b = blockIdx.x, most = paths.labels;
    int64 *const own = paths.classes_of + b * most, *const first = paths.first_state + b * paths.classes;
#pragma unroll 1
    for (int64 c = threadIdx.x; c < paths.classes; c += blockDim.x) {
        first[c] = -1;
    }
    if (threadIdx.x == 0) {
        const int64 steps = length_of(data_lengths, b, paths.steps, 1, refusal);
        paths.lengths[b] = steps;
        paths.counts[b] = counted(labels + b * most, label_lengths, b, paths, steps, refusal);
    }
#pragma unroll 1
    for (int64 i = threadIdx.x; i < most; i += blockDim.x) {
        own[i] = within(labels[b * most + i], paths.classes - 1);
    }
    __syncthreads();
#pragma unroll 1
    for (int64 i = threadIdx.x; i < paths.counts[b]; i += blockDim.x) {
        int64 before = 0;
#pragma unroll 1
        while (before < i && own[before] != own[i]) {
            ++before;
        }
        if (before == i && own[i] != paths.blank) {
            first[own[i]] = 2 * i + 1;
        }
    }
    if (threadIdx.x == 0) {
        first[paths.blank] = 0;
    }
}

template <class T>
__device__ __forceinline__ void log_sums(const T *data, float64 *sums, const Along &along) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < along.outer;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 line = first + threadIdx.x, count = line < along.outer ? along.count : 0;
        const T *const from = data + line * along.count;
        C top = -(C)__uint_as_float(0x7f800000u), sum = 0;
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            top = larger(top, convert<C>(from[i]));
        }
        top = together(top, part, [](C a, C b) { return larger(a, b); });
#pragma unroll 1
        for (int64 i = threadIdx.y; i < count; i += blockDim.y) {
            sum += exponential(convert<C>(from[i]) - top);
        }
        sum = together(sum, part, [](C a, C b) { return a + b; });
        if (threadIdx.y == 0 && line < along.outer) {
            sums[line] = (float64)top + logarithm((float64)sum);
        }
    }
}

/// The logarithm of the sum of the exponentials of three numbers, of which one is not `NO_PATH`, or of none.
__device__ __forceinline__ float64 joined(float64 a, float64 b, float64 c) {
    const float64 top = larger(NO_PATH, larger(a, larger(b, c)));
    return top + logarithm(exponential(a - top) + exponential(b - top) + exponential(c - top));
}

/// Walks from the first step to the last, or back; threads have states. A path stays in a state, or comes from
/// the one before, or from the one before that if both are different labels.
template <class T>
__device__ __forceinline__ void reach(const T *data, const Paths &paths, bool turned, float64 *reached) {
    const int64 b = blockIdx.x, steps = paths.lengths[b], most = paths.states();
    const int64 states = 2 * paths.counts[b] + 1;
#pragma unroll 1
    for (int64 i = 0; i < steps; ++i) {
        const int64 t = turned ? steps - 1 - i : i;
        float64 *const now = reached + (b * paths.steps + t) * most;
        const float64 *const last = turned ? now + most : now - most;
#pragma unroll 1
        for (int64 k = threadIdx.x; k < states; k += blockDim.x) {
            const int64 s = turned ? states - 1 - k : k, way = turned ? 1 : -1;
            float64 sum = k < 2 ? 0.0 : NO_PATH;
            if (i > 0) {
                const bool skips = k > 1 && k % 2 == 1
                    && paths.class_at(b, s) != paths.class_at(b, s + 2 * way);
                sum = joined(last[s], k > 0 ? last[s + way] : NO_PATH, skips ? last[s + 2 * way] : NO_PATH);
            }
            now[s] = sum + paths.gain(data, t, b, s);
        }
        __syncthreads();
    }
}

template <class T>
__device__ __forceinline__ void
walk_paths(const T *data, T *out, const Paths &paths, int req, int gradient_req) {
    const int64 b = blockIdx.x, count = paths.counts[b], steps = paths.lengths[b];
    const bool turned = blockIdx.y == 1;
    if (turned && gradient_req == Null) {
        return;
    }
    if (count >= 0) {
        reach(data, paths, turned, turned ? paths.back : paths.there);
    }
    if (turned || threadIdx.x != 0) {
        return;
    }
    float64 total = 0;
    if (count >= 0 && steps > 0) {
        const float64 *const ends = paths.there + (b * paths.steps + steps - 1) * paths.states();
        total = ends[2 * count];
        if (count > 0) {
            const float64 a = ends[2 * count - 1], low = smaller(a, total), high = larger(a, total);
            total = high + logarithm_1p(exponential(low - high));
        }
    }
    paths.totals[b] = total;
    if (req != Null) {
        put(out[b], (Compute<T>)(count < 0 ? 0.0 : -total), req == Add);
    }
}

/// The share of the paths that pass a class at a step, added up as the CPU does.
template <class T>
__device__ __forceinline__ Compute<T>
without_shares(Compute<T> found, const T *data, const Paths &paths, int64 t, int64 b, int64 first) {
    const int64 states = 2 * paths.counts[b] + 1, own = paths.class_at(b, first);
    const int64 row = (b * paths.steps + t) * paths.states();
#pragma unroll 1
    for (int64 s = first; s < states; ++s) {
        if (paths.class_at(b, s) == own) {
            const float64 gain = paths.gain(data, t, b, s);
            const float64 share = paths.there[row + s] + paths.back[row + s] - gain - paths.totals[b];
            found += (Compute<T>)-exponential(share);
        }
    }
    return found;
}

template <class T>
__device__ __forceinline__ void gradient(const T *data, T *out, const Paths &paths, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : paths.steps * paths.batch * paths.classes, [&](int64 i) {
        const Split line = split(i, paths.classes), at = split(line.row, paths.batch);
        const int64 b = at.at;
        C found = 0;
        if (paths.counts[b] >= 0 && at.row < paths.lengths[b]) {
            found = exponential(convert<C>(data[i]) - (C)paths.sums[line.row]);
            const int64 first = paths.first_state[b * paths.classes + line.at];
            found = first < 0 ? found : without_shares(found, data, paths, at.row, b, first);
        }
        put(out[i], found, opaque(req == Add));
    });
}

} // namespace fm

FM_IF_int64(extern "C" __global__ void ctc_loss_labels_int64(
    const int64 *labels, const int64 *data_lengths, const int64 *label_lengths,
    const __grid_constant__ fm::Paths paths, fm::Refusal *refusal) {
    fm::read_labels(labels, data_lengths, label_lengths, paths, refusal);
})
#define FM_CTC_ENTRIES(T, ...) \
    extern "C" __global__ void ctc_loss_sums_##T( \
        const T *data, float64 *sums, const __grid_constant__ fm::Along along) { \
        fm::log_sums(data, sums, along); \
    } \
    extern "C" __global__ void ctc_loss_paths_##T( \
        const T *data, T *out, const __grid_constant__ fm::Paths paths, int req, int gradient_req) { \
        fm::walk_paths(data, out, paths, req, gradient_req); \
    } \
    extern "C" __global__ void ctc_loss_gradient_##T( \
        const T *data, T *out, const __grid_constant__ fm::Paths paths, int req) { \
        fm::gradient(data, out, paths, req); \
    }
FM_FLOATS(FM_CTC_ENTRIES, )

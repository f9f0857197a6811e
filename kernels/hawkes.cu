// The log likelihood of points in time, of kinds that each excite points of their kind, and its gradient. What
// remains of the excitement decays exponentially. Halves are computed in float32.
//
// Entry points: hawkes_forward_DTYPE(given, parts, states, sizes, req, refusal), a thread for each kind of a
// sequence, which looks at all points, and refuses those of no kind; hawkes_back_DTYPE(given, grad, rate_grad,
// strengths, decays, sizes, req, refusal), the same for the gradients; hawkes_sum_DTYPE(parts, out, lines,
// req), sums that threads along y share. `parts`, `strengths` and `decays` are (sequences, kinds) of the type
// that is computed in. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "real.cuh"
#include "refusal.cuh"

namespace fm {

/// Sequences, kinds, and most points of a sequence.
struct Sizes {
    int64 sequences, kinds, points;
};

/// All inputs: the rates, the strengths, the decays, the states before, the distances of points, their kinds,
/// how many there are, and when the time ends.
template <class T> struct Given {
    const T *rate, *strength, *decay, *state, *lags;
    const int32 *kinds;
    const T *valid, *end;
};

/// One kind along a sequence: when its last point was, what excitement was left then, and what that changes by
/// with the decay.
template <class R> struct Trail {
    R last, state, by_decay;
};

/// What a kind has of a sum, and its derivatives by the rate, the strength and the decay.
template <class R> struct Part {
    R value, by[3];
};

/// The numbers of a kind.
template <class R> struct Kind {
    R rate, strength, decay;

    /// The part from the last point on for `gap`; the trail is moved to the end of that.
    __device__ __forceinline__ Part<R> pass(Trail<R> &trail, R gap) const {
        const R left = exponential(-decay * gap), lost = (R)1 - left;
        const R by_decay = trail.by_decay * lost + trail.state * gap * left;
        const Part<R> part = {-(rate * gap + strength * trail.state * lost),
                              {-gap, -(trail.state * lost), -(strength * by_decay)}};
        trail = {trail.last + gap, trail.state * left, (trail.by_decay - trail.state * gap) * left};
        return part;
    }

    /// The same up to a point of the kind, with the point.
    __device__ __forceinline__ Part<R> meet(Trail<R> &trail, R now) const {
        Part<R> part = pass(trail, now - trail.last);
        const R high = strength * decay * trail.state + rate;
        part.value += logarithm(high);
        part.by[0] += (R)1 / high;
        part.by[1] += decay * trail.state / high;
        part.by[2] += strength * (trail.state + decay * trail.by_decay) / high;
        trail.state += (R)1;
        trail.last = now;
        return part;
    }
};

/// The sums of a kind's parts, of which derivatives are multiplied by `g`; the trail is that at the end.
template <class T, class R>
__device__ __forceinline__ Part<R> walked(
    const Given<T> &given, const Sizes &sizes, const Split &at, R g, Trail<R> &trail, Refusal *refusal) {
    const int64 place = at.row * sizes.kinds + at.at;
    const Kind<R> kind = {convert<R>(given.rate[place]), convert<R>(given.strength[at.at]),
                          convert<R>(given.decay[at.at])};
    const R count = convert<R>(given.valid[at.row]);
    const int64 most = sizes.points;
    const int64 points = count >= (R)most ? most : count >= (R)1 ? (int64)count : 0;
    trail = {(R)0, convert<R>(given.state[place]), (R)0};
    Part<R> sum = {(R)0, {(R)0, (R)0, (R)0}};
    R now = 0;
#pragma unroll 1
    for (int64 k = 0; k <= points; ++k) {
        const bool ends = k == points;
        const int64 i = at.row * most + k;
        now += ends ? (R)0 : convert<R>(given.lags[i]);
        const int64 met = ends ? at.at : given.kinds[i];
        if (met < 0 || met >= sizes.kinds) {
            refuse(refusal, 1, met);
        } else if (met == at.at) {
            const R end = convert<R>(given.end[at.row]);
            const Part<R> part = ends ? kind.pass(trail, end - trail.last) : kind.meet(trail, now);
            sum.value += part.value;
            for (int j = 0; j < 3; ++j) {
                sum.by[j] += g * part.by[j];
            }
        }
    }
    return sum;
}

template <class T, class R>
__device__ __forceinline__ void
forward(const Given<T> &given, R *parts, T *states, const Sizes &sizes, int req, Refusal *refusal) {
    each(sizes.sequences * sizes.kinds, [&](int64 i) {
        Trail<R> trail;
        parts[i] = walked(given, sizes, split(i, sizes.kinds), (R)0, trail, refusal).value;
        if (req != Null) {
            put(states[i], trail.state, opaque(req == Add));
        }
    });
}

template <class T, class R>
__device__ __forceinline__ void back(
    const Given<T> &given, const T *grad, T *rate_grad, R *strengths, R *decays, const Sizes &sizes,
    int req, Refusal *refusal) {
    each(sizes.sequences * sizes.kinds, [&](int64 i) {
        Trail<R> trail;
        const Split at = split(i, sizes.kinds);
        const Part<R> sum = walked(given, sizes, at, convert<R>(grad[at.row]), trail, refusal);
        strengths[i] = sum.by[1];
        decays[i] = sum.by[2];
        if (req != Null) {
            put(rate_grad[i], sum.by[0], opaque(req == Add));
        }
    });
}

/// So many sums of `count` numbers that are `step` apart; those of the next sum are `apart`.
struct Lines {
    int64 sums, apart, count, step;
};

template <class T, class R>
__device__ __forceinline__ void sum(const R *parts, T *out, const Lines &lines, int req) {
    FM_SHARED(R, part, MOST_THREADS);
    const int64 total = req == Null ? 0 : lines.sums;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 i = first + threadIdx.x, count = i < total ? lines.count : 0;
        R sum = 0;
#pragma unroll 1
        for (int64 k = threadIdx.y; k < count; k += blockDim.y) {
            sum += parts[i * lines.apart + k * lines.step];
        }
        sum = together(sum, part, [](R a, R b) { return a + b; });
        if (threadIdx.y == 0 && i < total) {
            put(out[i], sum, opaque(req == Add));
        }
    }
}

} // namespace fm

#define FM_HAWKES_ENTRIES(T, ...) \
    extern "C" __global__ void hawkes_forward_##T( \
        const __grid_constant__ fm::Given<T> given, fm::Compute<T> *parts, T *states, \
        const __grid_constant__ fm::Sizes sizes, int req, fm::Refusal *refusal) { \
        fm::forward(given, parts, states, sizes, req, refusal); \
    } \
    extern "C" __global__ void hawkes_back_##T( \
        const __grid_constant__ fm::Given<T> given, const T *grad, T *rate_grad, \
        fm::Compute<T> *strengths, fm::Compute<T> *decays, \
        const __grid_constant__ fm::Sizes sizes, int req, fm::Refusal *refusal) { \
        fm::back(given, grad, rate_grad, strengths, decays, sizes, req, refusal); \
    } \
    extern "C" __global__ void hawkes_sum_##T( \
        const fm::Compute<T> *parts, T *out, const __grid_constant__ fm::Lines lines, int req) { \
        fm::sum(parts, out, lines, req); \
    }
FM_FLOATS(FM_HAWKES_ENTRIES, )

// Steps of optimizers on the rows of a row_sparse gradient; the other rows stay as they are.
//
// Entry points: row_updates_begin_DTYPE(weight, out, size, listed, falls, refusal) copies a weight that is
// not changed where it is, and counts, in each block, the rows whose number is not above that of the one
// before, and refuses rows that there are not; then row_updates_NAME_DTYPE(step, rates, listed, width, falls, parts). Where numbers grow, every
// row has one step, and all are made at once. Otherwise rows follow each other, as one may be there twice:
// threads have columns. Blocks of row_updates_group_adagrad_DTYPE have rows, whose elements threads along y
// share. All write, whatever the request.
#include "grid.cuh"
#include "group.cuh"
#include "listed.cuh"
#include "rules.cuh"

namespace fm {

/// Threads lie along y; their number is a power of two.
template <class T>
__device__ __forceinline__ void
begin(
    const T *weight, T *out, int64 size, const Listed &listed, int64 *falls, Refusal *refusal) {
    FM_SHARED(int64, part, MOST_THREADS);
    const int64 first = blockIdx.x * (int64)blockDim.y + threadIdx.y;
    const int64 apart = gridDim.x * (int64)blockDim.y, used = listed.used();
    int64 found = 0;
    listed.check(first, apart, refusal);
#pragma unroll 1
    for (int64 k = first + 1; k < used; k += apart) {
        found += listed.rows[k] > listed.rows[k - 1] ? 0 : 1;
    }
    found = together(found, part, [](int64 a, int64 b) { return a + b; });
    if (threadIdx.y == 0) {
        falls[blockIdx.x] = found;
    }
#pragma unroll 1
    for (int64 i = first; i < size && out != nullptr && out != weight; i += apart) {
        out[i] = weight[i];
    }
}

/// Whether the blocks that looked found that numbers grow.
__device__ __forceinline__ bool growing(const int64 *falls, int64 parts) {
    int64 sum = 0;
#pragma unroll 4
    for (int64 i = 0; i < parts; ++i) {
        sum += falls[i];
    }
    return sum == 0;
}

/// The step of element `at` of row `k` of the gradient.
template <class RULE, class R, class T, int STATES, int N>
__device__ __forceinline__ void step_at(
    const Step<T, T, STATES> &step, R (&rate)[N], const Listed &listed, int64 width, int64 k, int64 at) {
    const int64 row = listed.row(k), i = row * width + at;
    if (row < 0) {
        return;
    }
    R value[STATES + 1];
    value[0] = convert<R>(step.out != nullptr ? step.out[i] : step.weight[i]);
#pragma unroll
    for (int state = 0; state < STATES; ++state) {
        value[state + 1] = convert<R>(step.states[state][i]);
    }
    RULE::step(rate, convert<R>(step.grad[k * width + at]), value);
#pragma unroll
    for (int state = 0; state < STATES; ++state) {
        step.states[state][i] = convert<T>(value[state + 1]);
    }
    if (step.out != nullptr) {
        step.out[i] = convert<T>(value[0]);
    }
}

template <class RULE, class T, int STATES, int N>
__device__ __forceinline__ void step_rows(
    const Step<T, T, STATES> &step, const Rates<N> &rates, const Listed &listed, int64 width,
    const int64 *falls, int64 parts) {
    typedef Compute<T> R;
    R rate[N];
#pragma unroll
    for (int k = 0; k < N; ++k) {
        rate[k] = (R)rates.at[k];
    }
    // One at a time, or all as one: a step stands in the source once, and is compiled once.
    const int64 used = listed.used(), turns = growing(falls, parts) ? 1 : used;
    each(turns == 1 ? used * width : width, [&](int64 i) {
        const Split place = split(i, width);
#pragma unroll 1
        for (int64 turn = 0; turn < turns; ++turn) {
            step_at<RULE>(step, rate, listed, width, place.row + turn, place.at);
        }
    });
}

template <class T>
__device__ __forceinline__ void group_rows(
    const Step<T, T, 1> &step, const Rates<4> &rates, const Listed &listed, int64 width,
    const int64 *falls, int64 parts) {
    const bool at_once = growing(falls, parts);
    const int req = step.out != nullptr ? Write : Null;
    const int64 used = at_once || blockIdx.x == 0 ? listed.used() : 0;
#pragma unroll 1
    for (int64 k = blockIdx.x; k < used; k += at_once ? gridDim.x : 1) {
        const int64 row = listed.row(k);
        if (row >= 0) { // for all threads of a block
            const T *const grad = step.grad + k * width;
            group_adagrad_row(
                step.weight, grad, step.states[0], step.out, row, width, rates, req);
        }
        __syncthreads(); // before the next row, which may be the same
    }
}

} // namespace fm

#define FM_BEGIN_ENTRY(T, ...) \
    extern "C" __global__ void row_updates_begin_##T( \
        const T *weight, T *out, int64 size, const __grid_constant__ fm::Listed listed, \
        int64 *falls, fm::Refusal *refusal) { \
        fm::begin(weight, out, size, listed, falls, refusal); \
    }
#define FM_ROWS_ENTRY(T, NAME, RULE, STATES, N) \
    extern "C" __global__ void row_updates_##NAME##_##T( \
        const __grid_constant__ fm::Step<T, T, STATES> step, \
        const __grid_constant__ fm::Rates<N> rates, const __grid_constant__ fm::Listed listed, \
        int64 width, const int64 *falls, int64 parts) { \
        fm::step_rows<fm::RULE>(step, rates, listed, width, falls, parts); \
    }
#define FM_GROUP_ENTRY(T, ...) \
    extern "C" __global__ void row_updates_group_adagrad_##T( \
        const __grid_constant__ fm::Step<T, T, 1> step, \
        const __grid_constant__ fm::Rates<4> rates, const __grid_constant__ fm::Listed listed, \
        int64 width, const int64 *falls, int64 parts) { \
        fm::group_rows(step, rates, listed, width, falls, parts); \
    }

FM_FLOATS(FM_BEGIN_ENTRY, )
FM_FLOATS(FM_ROWS_ENTRY, sgd, Sgd, 0, 4)
FM_FLOATS(FM_ROWS_ENTRY, sgd_mom, Momentum, 1, 5)
FM_FLOATS(FM_ROWS_ENTRY, adam, Adam, 2, 7)
FM_FLOATS(FM_ROWS_ENTRY, ftrl, Ftrl, 2, 6)
FM_FLOATS(FM_ROWS_ENTRY, adagrad, AdaGrad, 1, 4)
FM_REALS(FM_GROUP_ENTRY, )

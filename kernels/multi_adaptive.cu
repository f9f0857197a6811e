// Steps of AdamW and LAMB for several weights at once, and of AdamW for one.
//
// Entry points: multi_adaptive_adamw_DTYPE(table, rates, rescale), where `rescale` is the factor of the
// gradient in memory; nothing changes where it is 0, infinite or NaN. Own rates are lr, wd and eta.
// LAMB goes in three steps: multi_adaptive_lamb_direction_DTYPE(table, rates, directions, squares) makes
// directions, and squares of weights and directions summed chunk by chunk; with a block for each weight,
// whose threads lie along y, multi_adaptive_lamb_lengths_DTYPE(table, squares, lower, upper, lengths) makes
// rates of them; multi_adaptive_lamb_descent_DTYPE(table, directions, lengths) makes the step. Own rates are
// wd, the divisors of mean and variance, and lr. Names with mp_ in front of the step have states of float32,
// the last a copy of the weight.
#include "fold.cuh"
#include "rules.cuh"
#include "table.cuh"

namespace fm {

template <bool MASTER, class R, class TABLE>
__device__ __forceinline__ void
adamw(const TABLE &table, const Rates<4> &common, const float32 *rescale) {
    const float32 factor = *rescale;
    const bool is_fit = factor - factor == 0.0f && factor != 0.0f;
    chunks_of(table, [&](int, const typename TABLE::Item &item, int64, int64 first, int64 end) {
        const int64 start = first + threadIdx.x;
        if (is_fit) {
            R rate[8];
            gather(item.rates, common, rate);
            rate[7] = (R)factor;
            update<MASTER, AdamW>(item.step, rate, start, end, blockDim.x, item.req);
            return;
        }
        const auto &step = item.step;
        for (int64 i = start; i < end && item.req != Null; i += blockDim.x) {
            put(step.out[i], convert<R>(step.weight[i]), item.req == Add);
        }
    });
}

/// Squares of a weight and of its direction.
struct Squares {
    float64 weight, direction;
};

template <bool MASTER, class R, class TABLE>
__device__ __forceinline__ void
directions(const TABLE &table, const Rates<5> &common, R *direction, Squares *squares) {
    FM_SHARED(float64, part, MOST_THREADS);
    chunks_of(table, [&](int, const typename TABLE::Item &item, int64 chunk, int64 first, int64 end) {
        constexpr int LAST = MASTER ? 2 : 0;
        const auto &step = item.step;
        R rate[8];
        const float64 own[3] = {item.rates[0], item.rates[1], item.rates[2]};
        gather(own, common, rate);
        Squares sum = {0, 0};
        for (int64 i = first + threadIdx.y; i < end; i += blockDim.y) {
            R x[3] = {MASTER ? convert<R>(step.states[LAST][i]) : convert<R>(step.weight[i]),
                      convert<R>(step.states[0][i]), convert<R>(step.states[1][i])};
            Direction::step(rate, convert<R>(step.grad[i]), x);
            put(step.states[0][i], x[1], false);
            put(step.states[1][i], x[2], false);
            direction[item.start + i] = x[0];
            const float64 weight = convert<float64>(step.weight[i]);
            sum.weight += weight * weight;
            sum.direction += (float64)x[0] * x[0];
        }
        const auto plus = [](float64 a, float64 b) { return a + b; };
        sum.weight = together(sum.weight, part, plus);
        sum.direction = together(sum.direction, part, plus);
        if (threadIdx.y == 0) {
            squares[chunk] = sum;
        }
    });
}

template <class TABLE>
__device__ __forceinline__ void lengths(
    const TABLE &table, const Squares *squares, float64 lower, float64 upper, float64 *rates) {
    FM_SHARED(float64, part, MOST_THREADS);
    const int number = (int)blockIdx.x;
    const int64 end = table.items[number].end;
    Squares sum = {0, 0};
    for (int64 i = (number == 0 ? 0 : table.items[number - 1].end) + threadIdx.y; i < end;
         i += blockDim.y) {
        sum.weight += squares[i].weight;
        sum.direction += squares[i].direction;
    }
    const auto plus = [](float64 a, float64 b) { return a + b; };
    sum.weight = together(sum.weight, part, plus);
    sum.direction = together(sum.direction, part, plus);
    if (threadIdx.y == 0) {
        const float64 lr = table.items[number].rates[3];
        rates[number] = lr * length(sqrt(sum.weight), sqrt(sum.direction), lower, upper);
    }
}

template <bool MASTER, class R, class TABLE>
__device__ __forceinline__ void
descend(const TABLE &table, const R *direction, const float64 *rates) {
    chunks_of(table, [&](int number, const typename TABLE::Item &item, int64, int64 first, int64 end) {
        constexpr int LAST = MASTER ? 2 : 0;
        const auto &step = item.step;
        R rate[1] = {(R)rates[number]};
        for (int64 i = first + threadIdx.x; i < end; i += blockDim.x) {
            R x[1] = {MASTER ? convert<R>(step.states[LAST][i]) : convert<R>(step.weight[i])};
            Descent::step(rate, direction[item.start + i], x);
            if (MASTER) {
                put(step.states[LAST][i], x[0], false);
            }
            if (item.req != Null) {
                put(step.out[i], x[0], opaque(item.req == Add));
            }
        }
    });
}

} // namespace fm

#define FM_TABLE_ENTRIES(T, MP, MASTER, S, R, STATES) \
    extern "C" __global__ void multi_adaptive_##MP##adamw_##T( \
        const __grid_constant__ fm::Table<T, S, STATES, 3> table, \
        const __grid_constant__ fm::Rates<4> rates, const float32 *rescale) { \
        fm::adamw<MASTER, R>(table, rates, rescale); \
    } \
    extern "C" __global__ void multi_adaptive_##MP##lamb_direction_##T( \
        const __grid_constant__ fm::Table<T, S, STATES, 4> table, \
        const __grid_constant__ fm::Rates<5> rates, R *directions, fm::Squares *squares) { \
        fm::directions<MASTER>(table, rates, directions, squares); \
    } \
    extern "C" __global__ void multi_adaptive_##MP##lamb_lengths_##T( \
        const __grid_constant__ fm::Table<T, S, STATES, 4> table, const fm::Squares *squares, \
        float64 lower, float64 upper, float64 *lengths) { \
        fm::lengths(table, squares, lower, upper, lengths); \
    } \
    extern "C" __global__ void multi_adaptive_##MP##lamb_descent_##T( \
        const __grid_constant__ fm::Table<T, S, STATES, 4> table, const R *directions, \
        const float64 *lengths) { \
        fm::descend<MASTER>(table, directions, lengths); \
    }
#define FM_MULTI_ENTRIES(T, ...) \
    FM_TABLE_ENTRIES(T, , false, T, fm::Compute<T>, 2) \
    FM_TABLE_ENTRIES(T, mp_, true, float32, float32, 3)
FM_FLOATS(FM_MULTI_ENTRIES, )

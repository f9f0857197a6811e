// Steps of gradient descent for several weights at once.
//
// Entry points: multi_sgd_NAME_DTYPE(table, rates, lrs, decays), where NAME is that of the step for one
// weight. Rates are those of all weights; each weight's learning rate and decay are in the table, or in
// memory where `lrs` and `decays` are not null. In mp_ steps states are float32, the last a copy of the
// weight.
#include "rules.cuh"
#include "table.cuh"

namespace fm {

template <bool MASTER, class RULE, class R, class TABLE, int COMMON>
__device__ __forceinline__ void descend(
    const TABLE &table, const Rates<COMMON> &common, const float32 *lrs, const float32 *decays) {
    chunks_of(table, [&](int number, const typename TABLE::Item &item, int64, int64 first, int64 end) {
        R rate[2 + COMMON];
        gather(item.rates, common, rate);
        if (lrs != nullptr) {
            rate[0] = (R)lrs[table.first + number];
            rate[1] = (R)decays[table.first + number];
        }
        const int64 start = first + threadIdx.x;
        update<MASTER, RULE>(item.step, rate, start, end, blockDim.x, item.req);
    });
}

} // namespace fm

#define FM_TABLE_ENTRY(T, NAME, MASTER, RULE, S, R, STATES, COMMON) \
    extern "C" __global__ void multi_sgd_##NAME##_##T( \
        const __grid_constant__ fm::Table<T, S, STATES, 2> table, \
        const __grid_constant__ fm::Rates<COMMON> rates, const float32 *lrs, \
        const float32 *decays) { \
        fm::descend<MASTER, fm::RULE, R>(table, rates, lrs, decays); \
    }
#define FM_MULTI_ENTRIES(T, ...) \
    FM_TABLE_ENTRY(T, sgd_update, false, Sgd, T, fm::Compute<T>, 0, 2) \
    FM_TABLE_ENTRY(T, sgd_mom_update, false, Momentum, T, fm::Compute<T>, 1, 3) \
    FM_TABLE_ENTRY(T, mp_sgd_update, true, Sgd, float32, float32, 1, 2) \
    FM_TABLE_ENTRY(T, mp_sgd_mom_update, true, Momentum, float32, float32, 2, 3)
FM_FLOATS(FM_MULTI_ENTRIES, )

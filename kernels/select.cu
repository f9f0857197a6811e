// Choices between the elements of two tensors.
//
// Entry points: select_truth_DTYPE(condition, truth, count) and select_where_DTYPE(truth, lhs, rhs, out,
// total, inner, req), where each truth value is for `inner` elements. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"

#define FM_SELECT_ENTRIES(T, ...) \
    extern "C" __global__ void select_truth_##T(const T *condition, bool *truth, int64 count) { \
        fm::each(count, [=](int64 i) { truth[i] = fm::convert<bool>(condition[i]); }); \
    } \
    extern "C" __global__ void select_where_##T( \
        const bool *truth, const T *lhs, const T *rhs, T *out, int64 total, int64 inner, int req) { \
        fm::each(req == fm::Null ? 0 : total, [=](int64 i) { \
            const T x = truth[fm::split(i, inner).row] ? lhs[i] : rhs[i]; \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_ALL(FM_SELECT_ENTRIES, )

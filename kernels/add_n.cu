// The sum of any number of tensors, from left to right; halves are rounded after each.
//
// Entry points: add_n_DTYPE(terms, out, total, more, req), where `more` says that what is in `out`
// belongs to the sum. Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// As many terms as one launch adds.
template <class T> struct Terms {
    int64 count;
    const T *at[8];
};

template <class T>
__device__ __forceinline__ void
add_terms(const Terms<T> &terms, T *out, int64 total, int more, int req) {
    const bool is_added = opaque(more || req == Add);
    each(req == Null ? 0 : total, [&](int64 i) {
        T sum = is_added ? plus(out[i], terms.at[0][i]) : terms.at[0][i];
#pragma unroll 1
        for (int k = 1; k < (int)terms.count; ++k) {
            sum = plus(sum, terms.at[k][i]);
        }
        out[i] = sum;
    });
}

} // namespace fm

#define FM_ADD_N_ENTRY(T, ...) \
    extern "C" __global__ void add_n_##T( \
        const __grid_constant__ fm::Terms<T> terms, T *out, int64 total, int more, int req) { \
        fm::add_terms(terms, out, total, more, req); \
    }
FM_ALL(FM_ADD_N_ENTRY, )

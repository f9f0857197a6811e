// Parts of attention: elements divided by the root of the last extent, of integers the truncated quotient.
//
// Entry points: transformer_div_sqrt_dim_DTYPE(data, out, total, root, req). Arrays have no gaps.
#include "grid.cuh"
#include "map.cuh"

#define FM_DIVIDED_ENTRY(T, ...) \
    extern "C" __global__ void transformer_div_sqrt_dim_##T( \
        const T *data, T *out, int64 total, float64 root, int req) { \
        typedef fm::Real<T> C; \
        const C divisor = (C)root; \
        fm::each(req == fm::Null ? 0 : total, [=](int64 i) { \
            const C x = fm::over(fm::convert<C>(data[i]), divisor); \
            fm::put(out[i], x, fm::opaque(req == fm::Add)); \
        }); \
    }
FM_NUMBERS(FM_DIVIDED_ENTRY, )

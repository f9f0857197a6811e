// Whether two tensors are equal up to a tolerance.
//
// Entry points: allclose_search_DTYPE(a, b, found, count, rtol, atol, equal_nan) leaves a mark where
// elements differ, in what tensors_start_int32 cleared; allclose_verdict_uint8(found, out, req). Arrays
// have no gaps.
#include "grid.cuh"
#include "map.cuh"
#include "number.cuh"

namespace fm {

/// Whether numbers are close; infinities only to their like.
__device__ __forceinline__ bool
close(float64 a, float64 b, float64 rtol, float64 atol, int equal_nan) {
    const bool finite = times(b, 0.0) == 0;
    const bool near = magnitude(minus(a, b)) <= plus(atol, times(rtol, magnitude(b)));
    return (near && finite) || a == b || (equal_nan && a != a && b != b);
}

} // namespace fm

#define FM_ALLCLOSE_ENTRIES(T, ...) \
    extern "C" __global__ void allclose_search_##T( \
        const T *a, const T *b, int32 *found, int64 count, float64 rtol, float64 atol, \
        int equal_nan) { \
        fm::each(count, [=](int64 i) { \
            const float64 x = fm::convert<float64>(a[i]), y = fm::convert<float64>(b[i]); \
            if (!fm::close(x, y, rtol, atol, equal_nan)) { \
                atomicMax(found, 1); \
            } \
        }); \
    }
FM_NUMBERS(FM_ALLCLOSE_ENTRIES, )

#define FM_VERDICT_ENTRY \
    extern "C" __global__ void allclose_verdict_uint8(const int32 *found, uint8 *out, int req) { \
        fm::each(req == fm::Null ? 0 : 1, [=](int64 i) { \
            fm::put(out[i], (uint8)(*found == 0), req == fm::Add); \
        }); \
    }
FM_IF_uint8(FM_VERDICT_ENTRY)

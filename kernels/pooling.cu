// Pooling over windows of one to three spatial axes, and its gradients. As on the CPU, NaN loses every
// comparison, a window in the padding altogether gives the least finite number (max) or zero, and the
// gradient of a maximum goes to the first element that has it.
//
// Entry points, KIND being max, avg, sum, squares or cubes: pooling_KIND_DTYPE(data, out, pool, req),
// pooling_KIND_backward_DTYPE(grad, data, out, result, pool, req), and pooling_pick_DTYPE(grad, data,
// out, result, pool, req), which takes from a gradient of the input's shape what stands where each
// maximum is.
//
// Faster where they do, both of planes of neighbours: pooling_whole_KIND_DTYPE(data, out, pool, req) and
// pooling_whole_KIND_backward_DTYPE(grad, data, out, result, pool, req), of sums and averages, have a window
// for each plane, which threads along x, a power of two, share (include/pool_planes.cuh). Of windows along two
// axes, pooling_flat_KIND_DTYPE(data, out, flat, req), KIND being max, avg or sum; pooling_places_DTYPE(data,
// places, flat, req) finds the maxima, and pooling_placed_DTYPE(grad, places, result, flat, req) brings
// gradients there (include/pool_windows.cuh). Arrays have no gaps.
#include "pool.cuh"
#include "pool_planes.cuh"
#include "pool_windows.cuh"

namespace fm {

/// Where an element lies: its outer and inner position, and those along the spatial axes.
struct Spot {
    int64 outer, inner, at[3];
};

template <bool OUTPUT>
__device__ __forceinline__ Spot spot_of(const Pool &pool, int64 element) {
    Spot spot;
    spot.inner = element % pool.inner;
    int64 rest = element / pool.inner;
#pragma unroll
    for (int k = 2; k >= 0; --k) {
        const int64 extent = OUTPUT ? pool.axes[k].output : pool.axes[k].input;
        spot.at[k] = rest % extent;
        rest /= extent;
    }
    spot.outer = rest;
    return spot;
}

template <bool OUTPUT>
__device__ __forceinline__ int64
element_at(const Pool &pool, const Spot &spot, int64 d, int64 h, int64 w) {
    int64 at = spot.outer;
    const int64 place[3] = {d, h, w};
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        at = at * (OUTPUT ? pool.axes[k].output : pool.axes[k].input) + place[k];
    }
    return at * pool.inner + spot.inner;
}

/// Calls `each` with the elements of a window, in their order, until it returns true.
template <class F>
__device__ __forceinline__ void over_window(const Pool &pool, const Spot &spot, F each) {
    const Range d = window(pool.axes[0], spot.at[0]), h = window(pool.axes[1], spot.at[1]);
    const Range w = window(pool.axes[2], spot.at[2]);
#pragma unroll 1
    for (int64 z = d.first; z < d.end; ++z) {
#pragma unroll 1
        for (int64 y = h.first; y < h.end; ++y) {
#pragma unroll 1
            for (int64 x = w.first; x < w.end; ++x) {
                if (each(element_at<false>(pool, spot, z, y, x))) {
                    return;
                }
            }
        }
    }
}

/// The first element of a window that equals its maximum; -1 if none does.
template <class T>
__device__ __forceinline__ int64
first_of(const Pool &pool, const Spot &spot, const T *data, Compute<T> highest) {
    int64 found = -1;
    over_window(pool, spot, [&](int64 at) {
        const bool same = convert<Compute<T>>(data[at]) == highest;
        found = same ? at : found;
        return same;
    });
    return found;
}

template <bool OUTPUT> __device__ __forceinline__ int64 elements(const Pool &pool) {
    int64 count = pool.outer * pool.inner;
    for (int k = 0; k < 3; ++k) {
        count *= OUTPUT ? pool.axes[k].output : pool.axes[k].input;
    }
    return count;
}

template <Kind KIND, class T>
__device__ __forceinline__ void forward(const T *data, T *out, const Pool &pool, int req) {
    typedef Compute<T> R;
    const int64 total = req == Null ? 0 : elements<true>(pool);
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < total;
         i += gridDim.x * (int64)blockDim.x) {
        const Spot spot = spot_of<true>(pool, i);
        R y = start_of<KIND, T>();
        over_window(pool, spot, [&](int64 at) {
            y = with<KIND>(y, convert<R>(data[at]));
            return false;
        });
        y = last_of<KIND>(y) * share<KIND, R>(pool, spot.at[0], spot.at[1], spot.at[2]);
        put(out[i], y, opaque(req == Add));
    }
}

/// What element `i` gets of the gradient of the window `at`; `o` is that window's output.
template <Kind KIND, class T>
__device__ __forceinline__ Compute<T> part_of(
    const Pool &pool, const Spot &window, const T *data, int64 i, Compute<T> g, Compute<T> o) {
    typedef Compute<T> R;
    const R x = convert<R>(data[i]);
    if (KIND == Kind::Max) {
        return x == o && first_of(pool, window, data, o) == i ? g : (R)0;
    }
    if (KIND == Kind::Squares) {
        return o == (R)0 ? (R)0 : over(g, o) * x;
    }
    if (KIND == Kind::Cubes) {
        return o == (R)0 ? (R)0 : over(over(g, o), o) * (x * x);
    }
    return g * share<KIND, R>(pool, window.at[0], window.at[1], window.at[2]);
}

template <Kind KIND, class T>
__device__ __forceinline__ void backward(
    const T *grad, const T *data, const T *out, T *result, const Pool &pool, int req) {
    typedef Compute<T> R;
    const int64 total = req == Null ? 0 : elements<false>(pool);
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < total;
         i += gridDim.x * (int64)blockDim.x) {
        const Spot spot = spot_of<false>(pool, i);
        Range over_axis[3];
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            over_axis[k] = windows_of(pool.axes[k], spot.at[k]);
        }
        R sum = 0;
        Spot window = spot;
#pragma unroll 1
        for (int64 d = over_axis[0].first; d < over_axis[0].end; ++d) {
#pragma unroll 1
            for (int64 h = over_axis[1].first; h < over_axis[1].end; ++h) {
#pragma unroll 1
                for (int64 w = over_axis[2].first; w < over_axis[2].end; ++w) {
                    window.at[0] = d;
                    window.at[1] = h;
                    window.at[2] = w;
                    const int64 at = element_at<true>(pool, spot, d, h, w);
                    const R g = convert<R>(grad[at]), o = convert<R>(out[at]);
                    sum += part_of<KIND>(pool, window, data, i, g, o);
                }
            }
        }
        put(result[i], sum, opaque(req == Add));
    }
}

template <class T>
__device__ __forceinline__ void
pick(const T *grad, const T *data, const T *out, T *result, const Pool &pool, int req) {
    typedef Compute<T> R;
    const int64 total = req == Null ? 0 : elements<true>(pool);
#pragma unroll 1
    for (int64 i = blockIdx.x * (int64)blockDim.x + threadIdx.x; i < total;
         i += gridDim.x * (int64)blockDim.x) {
        const int64 at = first_of(pool, spot_of<true>(pool, i), data, convert<R>(out[i]));
        put(result[i], at < 0 ? (R)0 : convert<R>(grad[at]), opaque(req == Add));
    }
}

} // namespace fm

#define FM_POOLING_ENTRIES(T, NAME, KIND) \
    extern "C" __global__ void pooling_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Pool pool, int req) { \
        fm::forward<fm::Kind::KIND>(data, out, pool, req); \
    } \
    extern "C" __global__ void pooling_##NAME##_backward_##T( \
        const T *grad, const T *data, const T *out, T *result, \
        const __grid_constant__ fm::Pool pool, int req) { \
        fm::backward<fm::Kind::KIND>(grad, data, out, result, pool, req); \
    }
FM_FLOATS(FM_POOLING_ENTRIES, max, Max)
FM_FLOATS(FM_POOLING_ENTRIES, avg, Avg)
FM_FLOATS(FM_POOLING_ENTRIES, sum, Sum)
FM_FLOATS(FM_POOLING_ENTRIES, squares, Squares)
FM_FLOATS(FM_POOLING_ENTRIES, cubes, Cubes)

#define FM_PICK_ENTRY(T, ...) \
    extern "C" __global__ void pooling_pick_##T( \
        const T *grad, const T *data, const T *out, T *result, \
        const __grid_constant__ fm::Pool pool, int req) { \
        fm::pick(grad, data, out, result, pool, req); \
    }
FM_FLOATS(FM_PICK_ENTRY, )

#define FM_WHOLE_ENTRY(T, NAME, KIND) \
    extern "C" __global__ void pooling_whole_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Pool pool, int req) { \
        fm::whole<fm::Kind::KIND>(data, out, pool, req); \
    }
FM_FLOATS(FM_WHOLE_ENTRY, max, Max)
FM_FLOATS(FM_WHOLE_ENTRY, avg, Avg)
FM_FLOATS(FM_WHOLE_ENTRY, sum, Sum)
FM_FLOATS(FM_WHOLE_ENTRY, squares, Squares)
FM_FLOATS(FM_WHOLE_ENTRY, cubes, Cubes)

#define FM_WHOLE_BACK_ENTRY(T, NAME, KIND) \
    extern "C" __global__ void pooling_whole_##NAME##_backward_##T( \
        const T *grad, const T *, const T *, T *result, const __grid_constant__ fm::Pool pool, \
        int req) { \
        fm::whole_backward<fm::Kind::KIND>(grad, result, pool, req); \
    }
FM_FLOATS(FM_WHOLE_BACK_ENTRY, avg, Avg)
FM_FLOATS(FM_WHOLE_BACK_ENTRY, sum, Sum)

#define FM_FLAT_ENTRY(T, NAME, KIND) \
    extern "C" __global__ void pooling_flat_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Flat flat, int req) { \
        fm::flat_forward<fm::Kind::KIND>(data, out, flat, req); \
    }
FM_FLOATS(FM_FLAT_ENTRY, max, Max)
FM_FLOATS(FM_FLAT_ENTRY, avg, Avg)
FM_FLOATS(FM_FLAT_ENTRY, sum, Sum)

// Recipes launch 256 threads; told so, the compiler gives them registers for loads side by side.
#define FM_PLACES_ENTRY(T, ...) \
    extern "C" __global__ void pooling_places_##T( \
        const T *data, fm::Place *places, const __grid_constant__ fm::Flat flat, int req) { \
        fm::find_places(data, places, flat, req); \
    } \
    extern "C" __global__ void __launch_bounds__(256, 4) pooling_placed_##T( \
        const T *grad, const fm::Place *places, T *result, \
        const __grid_constant__ fm::Flat flat, int req) { \
        fm::flat_placed(grad, places, result, flat, req); \
    }
FM_FLOATS(FM_PLACES_ENTRY, )

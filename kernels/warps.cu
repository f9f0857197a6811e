// Grids of points, and images that are read at them. Coordinates go from -1 to 1 between the first and the
// last pixel. Arrays have no gaps; halves are computed in float32.
//
// Entry points: warps_affine_DTYPE and warps_flow_DTYPE(data, out, grid, req) make a grid, a thread for each
// number; warps_flow_back_DTYPE(grad, out, grid, req) likewise, and warps_affine_back_DTYPE, whose threads
// along y share a row of a map, give the gradients. warps_sample_DTYPE(data, grid, out, sampler, req) has a
// thread for each result, warps_points_DTYPE(grad, data, grid, out, sampler, req) one for each point.
// warps_taps_DTYPE(grid, places, weights, sampler, req) finds the pixels of each point, four in a row, -1 for
// none, and warps_pixels_DTYPE(grad, groups, weights, out, sampler, req), a thread for each pixel, adds up
// what comes to it.
#include "bilinear.cuh"
#include "fold.cuh"
#include "grid.cuh"
#include "groups.cuh"

namespace fm {

/// `planes` of coordinates, x and y in turn, at so many points.
struct Grid {
    int64 planes, rows, columns;
};

/// Where one number of a grid is.
struct Spot {
    int64 plane, y, x;
};

__device__ __forceinline__ Spot spot_of(const Grid &grid, int64 i) {
    const Split line = split(i, grid.columns), plane = split(line.row, grid.rows);
    return {plane.row, plane.at, line.at};
}

/// The coordinate of point `i` of `n`.
template <class R> __device__ __forceinline__ R coordinate(int64 i, int64 n) {
    return minus(times((R)i, over((R)2, (R)(n - 1))), (R)1);
}

/// Half the distance of the first and the last pixel along the axis of a plane.
template <class R> __device__ __forceinline__ R half_of(const Grid &grid, int64 plane) {
    return over((R)((plane % 2 == 0 ? grid.columns : grid.rows) - 1), (R)2);
}

template <class T>
__device__ __forceinline__ void affine(const T *data, T *out, const Grid &grid, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : grid.planes * grid.rows * grid.columns, [&](int64 i) {
        const Spot spot = spot_of(grid, i);
        const T *const map = data + spot.plane * 3;
        const C y = coordinate<C>(spot.y, grid.rows), x = coordinate<C>(spot.x, grid.columns);
        const C start = plus(times(convert<C>(map[1]), y), convert<C>(map[2]));
        put(out[i], plus(times(convert<C>(map[0]), x), start), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void flow(const T *data, T *out, const Grid &grid, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : grid.planes * grid.rows * grid.columns, [&](int64 i) {
        const Spot spot = spot_of(grid, i);
        const C place = plus(convert<C>(data[i]), (C)(spot.plane % 2 == 0 ? spot.x : spot.y));
        put(out[i], minus(over(place, half_of<C>(grid, spot.plane)), (C)1), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void flow_back(const T *grad, T *out, const Grid &grid, int req) {
    typedef Compute<T> C;
    each(req == Null ? 0 : grid.planes * grid.rows * grid.columns, [&](int64 i) {
        const C half = half_of<C>(grid, spot_of(grid, i).plane);
        put(out[i], over(convert<C>(grad[i]), half), opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void affine_back(const T *grad, T *out, const Grid &grid, int req) {
    FM_SHARED(float64, part, MOST_THREADS);
    const int64 planes = req == Null ? 0 : grid.planes, points = grid.rows * grid.columns;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < planes;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 plane = first + threadIdx.x;
        float64 sums[3] = {0.0, 0.0, 0.0};
#pragma unroll 1
        for (int64 i = threadIdx.y; i < (plane < planes ? points : 0); i += blockDim.y) {
            const Split at = split(i, grid.columns);
            const float64 g = convert<float64>(grad[plane * points + i]);
            sums[0] = plus(sums[0], times(g, coordinate<float64>(at.at, grid.columns)));
            sums[1] = plus(sums[1], times(g, coordinate<float64>(at.row, grid.rows)));
            sums[2] = plus(sums[2], g);
        }
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const float64 sum
                = together(sums[k], part, [](float64 a, float64 b) { return plus(a, b); });
            if (threadIdx.y == 0 && plane < planes) {
                put(out[plane * 3 + k], (Compute<T>)sum, opaque(req == Add));
            }
        }
    }
}

/// Images, and how many points each is read at.
struct Sampler {
    int64 batch, channels, rows, columns, points;
};

/// Point `p` of an image.
template <class C, class T>
__device__ __forceinline__ Point<C>
point_of(const T *grid, const Sampler &sampler, int64 image, int64 p) {
    const T *const x = grid + image * 2 * sampler.points + p;
    const C high = times((C)(sampler.rows - 1), (C)0.5), wide = times((C)(sampler.columns - 1), (C)0.5);
    const C down = times(plus(convert<C>(x[sampler.points]), (C)1), high);
    const C along = times(plus(convert<C>(x[0]), (C)1), wide);
    return point_at<Rim::Zeros>(down, along, sampler.rows, sampler.columns);
}

template <class T>
__device__ __forceinline__ void
sample(const T *data, const T *grid, T *out, const Sampler &sampler, int req) {
    typedef Compute<T> C;
    const int64 pixels = sampler.rows * sampler.columns;
    each(req == Null ? 0 : sampler.batch * sampler.channels * sampler.points, [&](int64 i) {
        const Split at = split(i, sampler.points);
        const Point<C> point = point_of<C>(grid, sampler, split(at.row, sampler.channels).row, at.at);
        const C found = read(data + at.row * pixels, point.at, point.weight);
        put(out[i], found, opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void
points(const T *grad, const T *data, const T *grid, T *out, const Sampler &sampler, int req) {
    typedef Compute<T> C;
    const int64 pixels = sampler.rows * sampler.columns;
    each(req == Null ? 0 : sampler.batch * sampler.points, [&](int64 i) {
        const Split at = split(i, sampler.points);
        const Point<C> point = point_of<C>(grid, sampler, at.row, at.at);
        C sums[2] = {0, 0};
#pragma unroll 1
        for (int64 plane = at.row * sampler.channels; plane < (at.row + 1) * sampler.channels; ++plane) {
            const C g = convert<C>(grad[plane * sampler.points + at.at]);
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const C slope = read(data + plane * pixels, point.at, point.by[k]);
                sums[k] = plus(sums[k], times(g, slope));
            }
        }
        const C down = times(sums[0], times((C)(sampler.rows - 1), (C)0.5));
        const C along = times(sums[1], times((C)(sampler.columns - 1), (C)0.5));
        T *const x = out + at.row * 2 * sampler.points + at.at;
        put(x[0], along, opaque(req == Add));
        put(x[sampler.points], down, opaque(req == Add));
    });
}

/// Without a request no pixel is found.
template <class T>
__device__ __forceinline__ void
taps(const T *grid, int64 *places, Compute<T> *weights, const Sampler &sampler, int req) {
    typedef Compute<T> C;
    each(sampler.batch * sampler.points, [&](int64 i) {
        const Split at = split(i, sampler.points);
        const Point<C> point = point_of<C>(grid, sampler, at.row, at.at);
        const int64 first = at.row * sampler.rows * sampler.columns;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const bool counts = req != Null && point.weight[k] != (C)0;
            places[4 * i + k] = counts ? first + point.at[k] : -1;
            weights[4 * i + k] = point.weight[k];
        }
    });
}

template <class T>
__device__ __forceinline__ void pixels(
    const T *grad, const Groups &groups, const Compute<T> *weights, T *out, const Sampler &sampler,
    int req) {
    typedef Compute<T> C;
    const int64 size = sampler.rows * sampler.columns;
    each(req == Null ? 0 : sampler.batch * sampler.channels * size, [&](int64 i) {
        const Split at = split(i, size);
        const int64 image = split(at.row, sampler.channels).row;
        const T *const from = grad + (at.row - image) * sampler.points;
        const C sum = sum_at<C>(groups, image * size + at.at, [&](int64 tap) {
            return times(weights[tap], convert<C>(from[tap / 4]));
        });
        put(out[i], sum, opaque(req == Add));
    });
}

} // namespace fm

#define FM_GRID_ENTRY(T, NAME) \
    extern "C" __global__ void warps_##NAME##_##T( \
        const T *data, T *out, const __grid_constant__ fm::Grid grid, int req) { \
        fm::NAME(data, out, grid, req); \
    }
FM_FLOATS(FM_GRID_ENTRY, affine)
FM_FLOATS(FM_GRID_ENTRY, affine_back)
FM_FLOATS(FM_GRID_ENTRY, flow)
FM_FLOATS(FM_GRID_ENTRY, flow_back)

#define FM_SAMPLER_ENTRIES(T, ...) \
    extern "C" __global__ void warps_sample_##T( \
        const T *data, const T *grid, T *out, const __grid_constant__ fm::Sampler sampler, int req) { \
        fm::sample(data, grid, out, sampler, req); \
    } \
    extern "C" __global__ void warps_points_##T( \
        const T *grad, const T *data, const T *grid, T *out, \
        const __grid_constant__ fm::Sampler sampler, int req) { \
        fm::points(grad, data, grid, out, sampler, req); \
    } \
    extern "C" __global__ void warps_taps_##T( \
        const T *grid, int64 *places, fm::Compute<T> *weights, \
        const __grid_constant__ fm::Sampler sampler, int req) { \
        fm::taps(grid, places, weights, sampler, req); \
    } \
    extern "C" __global__ void warps_pixels_##T( \
        const T *grad, const __grid_constant__ fm::Groups groups, const fm::Compute<T> *weights, \
        T *out, const __grid_constant__ fm::Sampler sampler, int req) { \
        fm::pixels(grad, groups, weights, out, sampler, req); \
    }
FM_FLOATS(FM_SAMPLER_ENTRIES, )

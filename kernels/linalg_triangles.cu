// Diagonals and triangles of square matrices: taken out, put in, and weighed.
//
// Entry points: linalg_triangles_extract_DTYPE and linalg_triangles_make_DTYPE(from, to, part, req), and
// linalg_triangles_weigh_DTYPE(a, out, weights, req), a thread for each element of the output. No gaps.
#include "grid.cuh"
#include "map.cuh"

namespace fm {

/// A part of square matrices of side `n`: `side` elements of a diagonal that is `distance` from the main one,
/// or the triangle that ends there. What is below the main diagonal goes row by row, what is above column by
/// column.
struct Part {
    int64 matrices, n, side, distance, below, triangle;

    __device__ __forceinline__ int64 length() const { return triangle ? side * (side + 1) / 2 : side; }
};

/// The line of a triangle that has the element `i`; lines of 1, 2, 3 and so on elements follow each other.
__device__ __forceinline__ int64 line_of(int64 i) {
    int64 line = (int64)((__dsqrt_rn(8.0 * (float64)i + 1.0) - 1.0) * 0.5);
    while (line * (line + 1) / 2 > i) {
        --line;
    }
    while ((line + 1) * (line + 2) / 2 <= i) {
        ++line;
    }
    return line;
}

template <class T>
__device__ __forceinline__ void extract(const T *from, T *to, const Part &part, int req) {
    const int64 length = part.length();
    each(req == Null ? 0 : part.matrices * length, [&](int64 i) {
        const Split at = split(i, length);
        const int64 end = part.triangle ? line_of(at.at) : at.at;
        const int64 in_line = part.triangle ? at.at - end * (end + 1) / 2 : end, far = end + part.distance;
        const int64 place = part.below ? far * part.n + in_line : far + in_line * part.n;
        put(to[i], from[at.row * part.n * part.n + place], opaque(req == Add));
    });
}

template <class T>
__device__ __forceinline__ void make(const T *from, T *to, const Part &part, int req) {
    const int64 length = part.length();
    each(req == Null ? 0 : part.matrices * part.n * part.n, [&](int64 i) {
        const Split line = split(i, part.n), matrix = split(line.row, part.n);
        const int64 far = part.below ? matrix.at : line.at, end = far - part.distance;
        const int64 in_line = part.below ? line.at : matrix.at;
        const bool inside = part.triangle ? in_line <= end : in_line == end;
        const int64 place = part.triangle ? end * (end + 1) / 2 + in_line : end;
        put(to[i], inside ? from[matrix.row * length + place] : (T)0, opaque(req == Add));
    });
}

/// Those of what is below the diagonal, on it and above it, and, of the transposed matrix, below and above.
struct Weights {
    int64 matrices, n;
    float64 lower, diagonal, upper, from_upper, from_lower;
};

/// A part without a weight is not read: it may hold anything.
template <class T> __device__ __forceinline__ T weigh(T weight, const T &x) {
    return weight == (T)0 ? (T)0 : times(weight, x);
}

template <class T>
__device__ __forceinline__ void weigh(const T *a, T *out, const Weights &w, int req) {
    each(req == Null ? 0 : w.matrices * w.n * w.n, [&](int64 i) {
        const Split line = split(i, w.n), matrix = split(line.row, w.n);
        const int64 row = matrix.at, column = line.at;
        const T own = (T)(row > column ? w.lower : row == column ? w.diagonal : w.upper);
        const T turned = (T)(row > column ? w.from_upper : row == column ? 0.0 : w.from_lower);
        const T *const from = a + matrix.row * w.n * w.n;
        const T sum = plus(weigh(own, a[i]), weigh(turned, from[column * w.n + row]));
        put(out[i], sum, opaque(req == Add));
    });
}

} // namespace fm

#define FM_PART_ENTRY(T, NAME) \
    extern "C" __global__ void linalg_triangles_##NAME##_##T( \
        const T *from, T *to, const __grid_constant__ fm::Part part, int req) { \
        fm::NAME(from, to, part, req); \
    }
#define FM_TRIANGLE_ENTRIES(T, ...) \
    FM_PART_ENTRY(T, extract) \
    FM_PART_ENTRY(T, make) \
    extern "C" __global__ void linalg_triangles_weigh_##T( \
        const T *a, T *out, const __grid_constant__ fm::Weights weights, int req) { \
        fm::weigh(a, out, weights, req); \
    }
FM_REALS(FM_TRIANGLE_ENTRIES, )

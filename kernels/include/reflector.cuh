// Reflectors of rows, by all threads of a block, which lie along y.
#pragma once
#include "fold.cuh"
#include "real.cuh"

namespace fm {

/// A row becomes a reflector that maps it to a multiple of a unit vector, and that multiple.
template <class T>
__device__ __forceinline__ T
reflector(T *row, T *v, int64 first, int64 columns, float64 (&part)[MOST_THREADS], T &tau) {
    float64 most = magnitude((float64)row[first]), sum = 0.0, rest = 0.0;
    const float64 head = (float64)row[first];
#pragma unroll 1
    for (int64 c = first + 1 + threadIdx.y; c < columns; c += blockDim.y) {
        const float64 x = magnitude((float64)row[c]);
        most = larger(most, x);
        rest = x == 0.0 ? rest : 1.0;
    }
    const auto most_of = [](float64 a, float64 b) { return larger(a, b); };
    most = together(most, part, most_of);
    const bool alone = together(rest, part, most_of) == 0.0;
    // Scaled, as squares may overflow.
#pragma unroll 1
    for (int64 c = first + 1 + threadIdx.y; c < columns; c += blockDim.y) {
        const float64 x = over((float64)row[c], most);
        sum = plus(sum, times(x, x));
    }
    sum = together(sum, part, [](float64 a, float64 b) { return plus(a, b); });
    const float64 scaled = over(head, most);
    const float64 norm = times(square_root(plus(sum, times(scaled, scaled))), most);
    const float64 to = head > 0.0 ? -norm : norm;
#pragma unroll 1
    for (int64 c = threadIdx.y; c < columns; c += blockDim.y) {
        const T x = alone ? (T)0 : (T)over((float64)row[c], minus(head, to));
        v[c] = c < first ? (T)0 : c == first ? (T)1 : x;
    }
    tau = alone ? (T)0 : (T)over(minus(to, head), to);
    return alone ? (T)head : (T)to;
}

} // namespace fm

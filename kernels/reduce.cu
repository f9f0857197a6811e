// Sums, products, extremes and norms over axes.
//
// Entry points: reduce_NAME_DTYPE(data, out, partial, walk, req), and reduce_NAME_DTYPE_finish(partial,
// out, parts, walk, req) after a grid whose y is more than 1. Halves are reduced in float32, integers
// and bools in int64, norms in float64; the result is converted once.
#include "fold.cuh"

namespace fm {

template <class C> struct Lowest {
    static __device__ __forceinline__ C value() { return -(C)__uint_as_float(0x7f800000u); }
};
template <> struct Lowest<int64> {
    static __device__ __forceinline__ int64 value() { return (int64)0x8000000000000000ull; }
};

template <class C> struct Sum {
    __device__ __forceinline__ C start() const { return 0; }
    __device__ __forceinline__ C lift(C x) const { return x; }
    __device__ __forceinline__ C join(C a, C b) const { return plus(a, b); }
    __device__ __forceinline__ C last(C x) const { return x; }
};
/// A mean of truth values is their sum, as on the CPU.
template <class C> struct Mean : Sum<C> {
    int64 count;
    __device__ __forceinline__ Mean(int64 count) : count(count) {}
    __device__ __forceinline__ C last(C x) const { return over(x, (C)count); }
};
template <class C> struct NanSum : Sum<C> {
    __device__ __forceinline__ C lift(C x) const { return x == x ? x : (C)0; }
};
template <class C> struct Prod {
    __device__ __forceinline__ C start() const { return 1; }
    __device__ __forceinline__ C lift(C x) const { return x; }
    __device__ __forceinline__ C join(C a, C b) const { return times(a, b); }
    __device__ __forceinline__ C last(C x) const { return x; }
};
template <class C> struct NanProd : Prod<C> {
    __device__ __forceinline__ C lift(C x) const { return x == x ? x : (C)1; }
};
template <class C> struct Max {
    __device__ __forceinline__ C start() const { return Lowest<C>::value(); }
    __device__ __forceinline__ C lift(C x) const { return x; }
    __device__ __forceinline__ C join(C a, C b) const { return larger(b, a); }
    __device__ __forceinline__ C last(C x) const { return x; }
};
template <class C> struct Min {
    // The highest integer is what remains of the lowest one, all bits turned.
    __device__ __forceinline__ C start() const {
        return Type<C>::integer ? (C)~(Word)Lowest<int64>::value() : -Lowest<C>::value();
    }
    __device__ __forceinline__ C lift(C x) const { return x; }
    __device__ __forceinline__ C join(C a, C b) const { return smaller(b, a); }
    __device__ __forceinline__ C last(C x) const { return x; }
};
struct Norm1 : Sum<float64> {
    __device__ __forceinline__ float64 lift(float64 x) const { return magnitude(x); }
};
struct Norm2 : Sum<float64> {
    __device__ __forceinline__ float64 lift(float64 x) const { return times(x, x); }
    __device__ __forceinline__ float64 last(float64 x) const { return sqrt(x); }
};

} // namespace fm

#define FM_FOLD_ENTRIES(T, NAME, C, ...) \
    extern "C" __global__ void __launch_bounds__(fm::FOLD_THREADS, fm::FOLD_BLOCKS) \
    reduce_##NAME##_##T( \
        const T *data, T *out, C *partial, const __grid_constant__ fm::FoldWalk walk, int req) { \
        fm::fold(data, out, partial, walk, req, __VA_ARGS__); \
    } \
    extern "C" __global__ void reduce_##NAME##_##T##_finish( \
        const C *partial, T *out, int64 parts, const __grid_constant__ fm::FoldWalk walk, int req) { \
        fm::finish(partial, out, parts, walk, req, __VA_ARGS__); \
    }
#define FM_FOLD_ROW(T, NAME, F) FM_FOLD_ENTRIES(T, NAME, fm::Wide<T>, fm::F<fm::Wide<T>>())
#define FM_MEAN_ROW(T, NAME) FM_FOLD_ENTRIES(T, NAME, fm::Wide<T>, fm::Mean<fm::Wide<T>>(walk.count))
#define FM_NORM_ROW(T, NAME, F) FM_FOLD_ENTRIES(T, NAME, float64, fm::F())

FM_ALL(FM_FOLD_ROW, sum, Sum)
FM_NUMBERS(FM_MEAN_ROW, mean)
FM_IF_bool(FM_FOLD_ROW(bool, mean, Sum))
FM_ALL(FM_FOLD_ROW, prod, Prod)
FM_ALL(FM_FOLD_ROW, nansum, NanSum)
FM_ALL(FM_FOLD_ROW, nanprod, NanProd)
FM_ALL(FM_FOLD_ROW, max, Max)
FM_ALL(FM_FOLD_ROW, min, Min)
FM_ALL(FM_NORM_ROW, norm1, Norm1)
FM_ALL(FM_NORM_ROW, norm2, Norm2)

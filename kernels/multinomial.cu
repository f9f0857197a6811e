// Classes by their probabilities, and what their logarithms hand back.
//
// Entry points: multinomial_sums_DTYPE(data, sums, last, rows, refusal), running sums of each row in float64 and
// the last class that is possible, by a block for each row, which is refused where there is none;
// multinomial_draw_int32(sums, last, classes, rows, stream), a thread for each draw;
// multinomial_logs_DTYPE(data, classes, out, rows, req); multinomial_back_DTYPE(grad, data, classes, out, rows,
// req), whose threads along y share the draws of an element. Classes are int32, of `back` int64, where -1 is
// none. No gaps.
#include "fold.cuh"
#include "grid.cuh"
#include "random.cuh"
#include "real.cuh"
#include "refusal.cuh"

namespace fm {

/// Rows of so many classes, each of which makes `per` draws.
struct Rows {
    int64 count, classes, per;
};

/// One thread adds up, in the order of the CPU: the last bits decide which class a fraction falls into, and
/// that one without probability has an empty interval.
template <class T>
__device__ __forceinline__ void
sums(const T *data, float64 *sums, int32 *last, const Rows &rows, Refusal *refusal) {
    FM_SHARED(float64, part, MOST_THREADS);
    const int me = threadIdx.x, width = blockDim.x;
#pragma unroll 1
    for (int64 row = blockIdx.x; row < rows.count; row += gridDim.x) {
        const int64 base = row * rows.classes;
        float64 sum = 0.0;
        bool fine = true;
        int32 found = 0;
#pragma unroll 1
        for (int64 first = 0; first < rows.classes; first += width) {
            const int64 left = rows.classes - first, count = left < width ? left : width;
            if (me < count) {
                part[me] = (float64)convert<Compute<T>>(data[base + first + me]);
            }
            __syncthreads();
#pragma unroll 1
            for (int k = 0; k < (me == 0 ? (int)count : 0); ++k) {
                const float64 before = sum;
                fine = fine && part[k] >= 0.0;
                sum = plus(sum, part[k]);
                part[k] = sum;
                found = sum > before ? (int32)(first + k) : found;
            }
            __syncthreads();
            if (me < count) {
                sums[base + first + me] = part[me];
            }
            __syncthreads();
        }
        if (me == 0) {
            last[row] = found;
            if (!fine || !(sum > 0.0) || sum - sum != 0.0) {
                refuse(refusal, 1, row);
            }
        }
    }
}

/// Each the first class whose sum of probabilities exceeds a fraction of all.
__device__ __forceinline__ void draw(
    const float64 *sums, const int32 *last, int32 *classes, const Rows &rows, const Stream &stream) {
    each(rows.count * rows.per, [&](int64 i) {
        const int64 row = split(i, rows.per).row;
        const float64 *const own = sums + row * rows.classes;
        const Block words = block_of(stream, (Word)i / 2);
        const float64 u = times(fraction_of<float64>(words, (int)(i % 2)), own[rows.classes - 1]);
        int64 low = 0, high = last[row];
#pragma unroll 1
        while (low < high) {
            const int64 middle = (low + high) / 2;
            if (own[middle] <= u) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        classes[i] = (int32)low;
    });
}

template <class T>
__device__ __forceinline__ void
logs(const T *data, const int32 *classes, T *out, const Rows &rows, int req) {
    typedef Compute<T> R;
    each(req == Null ? 0 : rows.count * rows.per, [&](int64 i) {
        const int64 place = split(i, rows.per).row * rows.classes + classes[i];
        put(out[i], convert<T>(logarithm(convert<R>(data[place]))), opaque(req == Add));
    });
}

/// The gradients of the draws of a class, over its probability.
template <class T>
__device__ __forceinline__ void back(
    const T *grad, const T *data, const int64 *classes, T *out, const Rows &rows, int req) {
    typedef Compute<T> R;
    FM_SHARED(R, part, MOST_THREADS);
    const int64 total = req == Null ? 0 : rows.count * rows.classes;
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < total;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 i = first + threadIdx.x;
        const Split place = split(i, rows.classes);
        const int64 draws = i < total ? rows.per : 0;
        const R p = i < total ? convert<R>(data[i]) : (R)1;
        R sum = 0;
#pragma unroll 1
        for (int64 k = threadIdx.y; k < draws; k += blockDim.y) {
            const int64 at = place.row * rows.per + k;
            sum = classes[at] == place.at ? plus(sum, over(convert<R>(grad[at]), p)) : sum;
        }
        sum = together(sum, part, [](R a, R b) { return plus(a, b); });
        if (threadIdx.y == 0 && i < total) {
            put(out[i], convert<T>(sum), opaque(req == Add));
        }
    }
}

} // namespace fm

#define FM_CLASSES_ENTRIES(T, ...) \
    extern "C" __global__ void multinomial_sums_##T( \
        const T *data, float64 *sums, int32 *last, const __grid_constant__ fm::Rows rows, \
        fm::Refusal *refusal) { \
        fm::sums(data, sums, last, rows, refusal); \
    } \
    extern "C" __global__ void multinomial_logs_##T( \
        const T *data, const int32 *classes, T *out, const __grid_constant__ fm::Rows rows, int req) { \
        fm::logs(data, classes, out, rows, req); \
    } \
    extern "C" __global__ void multinomial_back_##T( \
        const T *grad, const T *data, const int64 *classes, T *out, \
        const __grid_constant__ fm::Rows rows, int req) { \
        fm::back(grad, data, classes, out, rows, req); \
    }
FM_FLOATS(FM_CLASSES_ENTRIES, )

#define FM_DRAW_ENTRY \
    extern "C" __global__ void multinomial_draw_int32( \
        const float64 *sums, const int32 *last, int32 *classes, const __grid_constant__ fm::Rows rows, \
        const __grid_constant__ fm::Stream stream) { \
        fm::draw(sums, last, classes, rows, stream); \
    }
FM_IF_int32(FM_DRAW_ENTRY)

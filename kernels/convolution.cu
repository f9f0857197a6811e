// Convolution over one to three spatial axes, with groups, strides, dilation and padding, and its
// gradients, as products whose matrices are read where the taps of the kernel reach.
//
// Entry points, SIZE being large, medium or small, the tile (the large one is not for float64), of float32
// tf32_large or tf32_medium, which round factors to tf32, where there are tensor cores for that, and few
// for a thread, or of weights a block, for each element of the output, where groups have few channels:
// convolution_SIZE_DTYPE(data, weight, bias, out, partial, count, shape, req) for the output,
// convolution_data_SIZE_DTYPE(grad, weight, null, out, partial, count, shape, req) and
// convolution_weight_SIZE_DTYPE(grad, data, null, out, partial, count, shape, req) for gradients. Tiles lie along
// x, parts of the depth along y, groups (for the gradient of the data times the phases of the strides)
// along z. Where there are several parts, `partial` gets their sums, part by part in the shape of the
// output of `count` elements, and convolution_DTYPE_finish(partial, bias, out, parts, count, plane, filters, req) comes
// after. `bias` may be null; arrays have no gaps, and fewer than 2^31 elements. Halves are summed in
// float32, by tensor cores where there are some.
#include "field.cuh"
#include "fold.cuh"
#include "tensor.cuh"

namespace fm {

/// `Reached` with columns of taps, and positions in depth.
template <class T> struct Reaching {
    typedef Tap Row;
    static constexpr bool along_depth = true;
    const T *data;
    const Field &field;

    __device__ __forceinline__ Row row(int64 j) const { return field.tap((unsigned)j); }
    __device__ __forceinline__ T at(const Row &row, int64 k) const {
        return field.reached(data, field.position((unsigned)k), row);
    }
};

/// The gradient of the output as the left operand of that of the weights: positions in depth.
template <class T> struct Heads {
    typedef int Row;
    static constexpr bool along_depth = true;
    const T *data;
    const Field &field;

    __device__ __forceinline__ Row row(int64 i) const { return (int)i * field.plane; }
    __device__ __forceinline__ T at(Row row, int64 k) const {
        unsigned sample = (unsigned)k;
        const int at = field.positions.take(sample);
        return data[row + (int)sample * field.target_sample + at];
    }
};

/// Where sums go: to the output, or to those of a part of the depth.
template <class T> struct Sink {
    typedef Compute<T> C;
    const T *bias;
    T *out;
    C *partial;
    int64 count;
    int req;

    __device__ __forceinline__ void store(int64 at, int64 channel, C sum) const {
        if (gridDim.y > 1) {
            partial[blockIdx.y * count + at] = sum;
        } else {
            put(out[at], biased(sum, bias, channel), req == Add);
        }
    }
};

/// Calls `each(field, group)` for the groups, and phases, that blocks of this z have.
template <bool BACK, class F>
__device__ __forceinline__ void fields(const Shape &shape, int req, F each) {
    FM_SHARED(Field, field, 1);
    const int64 end = req == Null ? 0 : shape.groups * (BACK ? phases_of(shape) : 1);
#pragma unroll 1
    for (int64 z = blockIdx.z; z < end; z += gridDim.z) {
        __syncthreads(); // the field before has been read
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            if (BACK) {
                back_of(field[0], shape, z / shape.groups);
            } else {
                field_of(field[0], shape);
            }
        }
        __syncthreads();
        each((const Field &)field[0], z % shape.groups);
    }
}

template <bool BACK, class TILE, class T>
__device__ __forceinline__ void
convolve(const T *source, const T *weight, const Sink<T> &sink, const Shape &shape) {
    fields<BACK>(shape, sink.req, [&](const Field &field, int64 group) {
        const int64 m = field.rows, n = field.columns;
        const int64 down = (m + TILE::rows - 1) / TILE::rows;
        const int64 i = blockIdx.x % down * TILE::rows, j = blockIdx.x / down * TILE::columns;
        if (j >= n) {
            return; // phases differ in size
        }
        const Weights<BACK, T> left{weight + group * field.weight_group, field};
        const Reached<T> right{source + group * field.source_group, field};
        const Depth depth = depth_of(field.depth, piece_depth<TILE, T>);
        products_of<TILE, T>(left, right, i, j, m, n, depth, [&](int64 row, int64 column, Compute<T> sum) {
            const int64 channel = group * m + row;
            sink.store(channel * field.plane + field.target((unsigned)column), channel, sum);
        });
    });
}

/// A thread for each element of the output.
template <bool BACK, class T>
__device__ __forceinline__ void
convolve_few(const T *source, const T *weight, const Sink<T> &sink, const Shape &shape) {
    typedef Compute<T> C;
    fields<BACK>(shape, sink.req, [&](const Field &field, int64 group) {
        const T *const from = source + group * field.source_group;
        const T *const weights = weight + group * field.weight_group;
        const int64 columns = field.columns, first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
#pragma unroll 1
        for (int64 i = first; i < field.rows * columns; i += gridDim.x * (int64)blockDim.x) {
            const int row = (int)(i / columns);
            const unsigned column = (unsigned)(i - row * columns);
            const Position position = field.position(column);
            C sum = 0;
#pragma unroll 1
            for (int k = 0; k < field.depth; ++k) {
                const Tap tap = field.tap((unsigned)k);
                const C w = convert<C>(weights[row * field.weight_row + tap.weight]);
                sum += w * convert<C>(field.reached(from, position, tap));
            }
            const int64 channel = group * field.rows + row;
            sink.store(channel * field.plane + field.target(column), channel, sum);
        }
    });
}

template <class TILE, class T>
__device__ __forceinline__ void
weigh(const T *grad, const T *data, const Sink<T> &sink, const Shape &shape) {
    fields<false>(shape, sink.req, [&](const Field &field, int64 group) {
        const int64 m = field.rows, n = field.depth;
        const int64 down = (m + TILE::rows - 1) / TILE::rows;
        const int64 i = blockIdx.x % down * TILE::rows, j = blockIdx.x / down * TILE::columns;
        const Heads<T> left{grad + group * field.target_group, field};
        const Reaching<T> right{data + group * field.source_group, field};
        const Depth depth = depth_of(field.columns, piece_depth<TILE, T>);
        products_of<TILE, T>(left, right, i, j, m, n, depth, [&](int64 row, int64 column, Compute<T> sum) {
            sink.store((group * m + row) * n + column, 0, sum);
        });
    });
}

/// A block for each weight of a group, whose threads along y, a power of two, share the positions.
template <class T>
__device__ __forceinline__ void
weigh_few(const T *grad, const T *data, const Sink<T> &sink, const Shape &shape) {
    typedef Compute<T> C;
    FM_SHARED(C, part, MOST_THREADS);
    fields<false>(shape, sink.req, [&](const Field &field, int64 group) {
        const T *const from = data + group * field.source_group;
        const Heads<T> heads{grad + group * field.target_group, field};
        const int count = field.rows * field.depth;
#pragma unroll 1
        for (int i = (int)blockIdx.x; i < count; i += (int)gridDim.x) {
            const int row = i / field.depth, start = heads.row(row);
            const Tap tap = field.tap((unsigned)(i - row * field.depth));
            C sum = 0;
#pragma unroll 1
            for (int k = (int)threadIdx.y; k < field.columns; k += (int)blockDim.y) {
                const T reached = field.reached(from, field.position((unsigned)k), tap);
                sum += convert<C>(heads.at(start, k)) * convert<C>(reached);
            }
            sum = together(sum, part, [](C a, C b) { return a + b; });
            if (threadIdx.y == 0) {
                sink.store(group * count + i, 0, sum);
            }
        }
    });
}

} // namespace fm

#define FM_CONVOLUTION_ENTRY(T, NAME, TILE, ...) \
    extern "C" __global__ void __launch_bounds__(fm::TILE::threads, fm::TILE::blocks) \
    convolution_##NAME##_##T( \
        const T *source, const T *operand, const T *bias, T *out, fm::Compute<T> *partial, int64 count, \
        const __grid_constant__ fm::Shape shape, int req) { \
        fm::__VA_ARGS__(source, operand, fm::Sink<T>{bias, out, partial, count, req}, shape); \
    }
#define FM_TILE_ENTRIES(T, SIZE, TILE) \
    FM_CONVOLUTION_ENTRY(T, SIZE, TILE, convolve<false, fm::TILE>) \
    FM_CONVOLUTION_ENTRY(T, data_##SIZE, TILE, convolve<true, fm::TILE>) \
    FM_CONVOLUTION_ENTRY(T, weight_##SIZE, TILE, weigh<fm::TILE>)
#define FM_FEW_ENTRIES(T, ...) \
    FM_CONVOLUTION_ENTRY(T, few, Medium, convolve_few<false>) \
    FM_CONVOLUTION_ENTRY(T, data_few, Medium, convolve_few<true>) \
    FM_CONVOLUTION_ENTRY(T, weight_few, Medium, weigh_few) \
    extern "C" __global__ void convolution_##T##_finish( \
        const fm::Compute<T> *partial, const T *bias, T *out, int64 parts, int64 count, int64 plane, \
        int64 filters, int req) { \
        fm::join(partial, parts, req == fm::Null ? 0 : count, [&](int64 i, fm::Compute<T> sum) { \
            fm::put(out[i], fm::biased(sum, bias, i / plane % filters), req == fm::Add); \
        }); \
    }
FM_IF_float32(FM_TILE_ENTRIES(float32, large, Large))
FM_IF_float16(FM_TILE_ENTRIES(float16, large, Large))
FM_IF_bfloat16(FM_TILE_ENTRIES(bfloat16, large, Large))
FM_IF_float32(FM_IF_tf32(FM_TILE_ENTRIES(float32, tf32_large, Tf32<fm::Large>)))
FM_IF_float32(FM_IF_tf32(FM_TILE_ENTRIES(float32, tf32_medium, Tf32<fm::Medium>)))
FM_FLOATS(FM_TILE_ENTRIES, medium, Medium)
FM_FLOATS(FM_TILE_ENTRIES, small, Small)
FM_FLOATS(FM_FEW_ENTRIES, )

// Long rows to mean 0 and deviation 1, then each element by a gamma and a beta of its own, and their
// gradients: a block takes the same columns of several rows, so that gammas stay in registers. Arrays hold
// fewer than 2^31 elements.
#pragma once
#include "row_norm.cuh"

namespace fm {

/// Rows that a thread reads ahead, and those of a block at most.
constexpr int ROWS_AHEAD = 4, MOST_ROWS = 64;

/// The columns of a block's thread, and the block's rows.
template <int LANES> struct Tile {
    unsigned pack, begin, end;
    bool has;

    __device__ __forceinline__ Tile(unsigned count, unsigned length, unsigned per) {
        const unsigned packs = length / LANES, mine = blockIdx.x * blockDim.x + threadIdx.x;
        has = mine < packs;
        pack = has ? mine : packs - 1;
        begin = blockIdx.y * per;
        end = begin + per < count ? begin + per : count;
    }
};

/// Rows as long as they may be, by what blocks found in their parts. Block (0, y) stores the statistics.
template <int LANES, class T>
__device__ __forceinline__ void forward_tile(
    const Normed<T> &by, const Pair<Compute<T>> *lines, unsigned count, unsigned length,
    unsigned per, int64 req) {
    typedef Compute<T> C;
    const bool aligned = is_aligned<T, LANES>(
        bits_of(by.data) | bits_of(by.gamma) | bits_of(by.beta) | bits_of(by.out));
    const Tile<LANES> tile(count, length, per);
    const Pack<T, LANES> gamma = pack_at<LANES>(by.gamma, tile.pack, aligned);
    const Pack<T, LANES> beta = pack_at<LANES>(by.beta, tile.pack, aligned);
#pragma unroll 1
    for (unsigned row = tile.begin; row < (tile.has ? tile.end : 0); row += ROWS_AHEAD) {
        Pack<T, LANES> x[ROWS_AHEAD];
#pragma unroll
        for (unsigned r = 0; r < ROWS_AHEAD; ++r) {
            const unsigned known = row + r < tile.end ? row + r : row;
            x[r] = pack_at<LANES>(by.data + (int64)known * length, tile.pack, aligned);
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS_AHEAD; ++r) {
            if (row + r >= tile.end) {
                break;
            }
            const Pair<C> line = lines[row + r - tile.begin];
            C y[LANES];
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                const C normed = (convert<C>(x[r].at[i]) - line.gamma) * line.beta;
                y[i] = normed * convert<C>(gamma.at[i]) + convert<C>(beta.at[i]);
            }
            put_pack<LANES>(by.out + (int64)(row + r) * length, tile.pack, y, aligned,
                            opaque(req == Add));
        }
    }
}

template <class T>
__device__ __forceinline__ void forward_rows(
    const Normed<T> &by, const Moments *partial, unsigned parts, unsigned count, unsigned length,
    unsigned per, float64 eps, const Reqs &reqs) {
    typedef Compute<T> C;
    FM_SHARED(Pair<C>, lines, MOST_ROWS);
    const unsigned begin = blockIdx.y * per;
    for (unsigned r = threadIdx.x; r < per && begin + r < count; r += blockDim.x) {
        Moments all = partial[begin + r];
        for (unsigned part = 1; part < parts; ++part) {
            const Moments more = partial[(int64)part * count + begin + r];
            all.sum += more.sum;
            all.squares += more.squares;
        }
        const C mean = (C)all.mean((float64)length);
        const C root = (C)square_root(all.variance((float64)length) + eps);
        lines[r] = {mean, reciprocal(root)};
        if (blockIdx.x == 0) {
            give_row(by, begin + r, mean, root, reqs);
        }
    }
    __syncthreads();
    if (reqs.of[0] == Null) {
        return;
    }
    if (length % row_lanes<T> == 0) {
        forward_tile<row_lanes<T>>(by, lines, count, length, per, reqs.of[0]);
    } else {
        forward_tile<1>(by, lines, count, length, per, reqs.of[0]);
    }
}

/// Sets `lines` to the mean of each row of a block, and to what scales it.
template <class T>
__device__ __forceinline__ void
lines_of(const Slopes<T> &by, Pair<Compute<T>> *lines, unsigned count, unsigned per) {
    typedef Compute<T> C;
    const unsigned begin = blockIdx.y * per;
    for (unsigned r = threadIdx.x; r < per && begin + r < count; r += blockDim.x) {
        const C mean = convert<C>(by.means[begin + r]);
        lines[r] = {mean, reciprocal(convert<C>(by.roots[begin + r]))};
    }
}

/// Sums over the columns of a tile, for its rows, to sums[blockIdx.x][row], and over its rows, for its
/// columns, to columns[blockIdx.y][column].
template <int LANES, class T>
__device__ __forceinline__ void sum_tile(
    const Slopes<T> &by, Pair<Compute<T>> *columns, Pair<Compute<T>> *sums,
    const Pair<Compute<T>> *lines, Compute<T> (&room)[4 * ROWS_AHEAD * WARPS], unsigned count,
    unsigned length, unsigned per) {
    typedef Compute<T> C;
    const bool aligned
        = is_aligned<T, LANES>(bits_of(by.grad) | bits_of(by.data) | bits_of(by.gamma));
    const Tile<LANES> tile(count, length, per);
    const Pack<T, LANES> gamma = pack_at<LANES>(by.gamma, tile.pack, aligned);
    Pair<C> mine[LANES] = {};
    C *buffer = room, *other = room + 2 * ROWS_AHEAD * WARPS; // in turn: one barrier does
#pragma unroll 1
    for (unsigned row = tile.begin; row < tile.end; row += ROWS_AHEAD) {
        Pack<T, LANES> g[ROWS_AHEAD], x[ROWS_AHEAD];
        C found[2 * ROWS_AHEAD] = {};
#pragma unroll
        for (unsigned r = 0; r < ROWS_AHEAD; ++r) {
            const unsigned known = row + r < tile.end ? row + r : row;
            g[r] = pack_at<LANES>(by.grad + (int64)known * length, tile.pack, aligned);
            x[r] = pack_at<LANES>(by.data + (int64)known * length, tile.pack, aligned);
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS_AHEAD; ++r) {
            const bool counts = tile.has && row + r < tile.end;
            const Pair<C> line = lines[(counts ? row + r : row) - tile.begin];
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                const C apart = convert<C>(x[r].at[i]) - line.gamma;
                const C slope = counts ? convert<C>(g[r].at[i]) : (C)0;
                const C normed = counts ? apart * line.beta : (C)0;
                mine[i].gamma += slope * normed;
                mine[i].beta += slope;
                found[2 * r] += slope * convert<C>(gamma.at[i]);
                found[2 * r + 1] += slope * convert<C>(gamma.at[i]) * normed;
            }
        }
        warp_sums(found);
        if (threadIdx.x % 32 == 0) {
#pragma unroll
            for (int k = 0; k < 2 * ROWS_AHEAD; ++k) {
                buffer[k * WARPS + threadIdx.x / 32] = found[k];
            }
        }
        __syncthreads();
        if (threadIdx.x < ROWS_AHEAD && row + threadIdx.x < tile.end) {
            Pair<C> all = {0, 0};
            for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
                all.gamma += buffer[2 * threadIdx.x * WARPS + warp];
                all.beta += buffer[(2 * threadIdx.x + 1) * WARPS + warp];
            }
            sums[(int64)blockIdx.x * count + row + threadIdx.x] = all;
        }
        C *const next = other;
        other = buffer;
        buffer = next;
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
        if (tile.has) {
            columns[(int64)blockIdx.y * length + tile.pack * LANES + i] = mine[i];
        }
    }
}

/// The gradient of the data, by the means of the sums of each row.
template <int LANES, class T>
__device__ __forceinline__ void slope_tile(
    const Slopes<T> &by, const Pair<Compute<T>> *lines, const Pair<Compute<T>> *sums, unsigned count,
    unsigned length, unsigned per, int req) {
    typedef Compute<T> C;
    const bool aligned = is_aligned<T, LANES>(
        bits_of(by.grad) | bits_of(by.data) | bits_of(by.gamma) | bits_of(by.out));
    const Tile<LANES> tile(count, length, per);
    const Pack<T, LANES> gamma = pack_at<LANES>(by.gamma, tile.pack, aligned);
#pragma unroll 1
    for (unsigned row = tile.begin; row < (tile.has ? tile.end : 0); row += ROWS_AHEAD) {
        Pack<T, LANES> g[ROWS_AHEAD], x[ROWS_AHEAD];
#pragma unroll
        for (unsigned r = 0; r < ROWS_AHEAD; ++r) {
            const unsigned known = row + r < tile.end ? row + r : row;
            g[r] = pack_at<LANES>(by.grad + (int64)known * length, tile.pack, aligned);
            x[r] = pack_at<LANES>(by.data + (int64)known * length, tile.pack, aligned);
        }
#pragma unroll
        for (unsigned r = 0; r < ROWS_AHEAD; ++r) {
            if (row + r >= tile.end) {
                break;
            }
            const Pair<C> line = lines[row + r - tile.begin], sum = sums[row + r - tile.begin];
            C y[LANES];
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                const C normed = (convert<C>(x[r].at[i]) - line.gamma) * line.beta;
                const C slope = convert<C>(g[r].at[i]) * convert<C>(gamma.at[i]);
                y[i] = line.beta * (slope - sum.gamma - normed * sum.beta);
            }
            put_pack<LANES>(by.out + (int64)(row + r) * length, tile.pack, y, aligned,
                            opaque(req == Add));
        }
    }
}

/// Adds up `parts` rows of pairs: threads along y, a power of two, share a column, for which one of
/// them calls `give(column, sum)`.
template <class C, class F>
__device__ __forceinline__ void
join(const Pair<C> *partial, int64 parts, int64 count, C (&part)[MOST_THREADS], F give) {
    const auto add = [](C a, C b) { return plus(a, b); };
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.x; first < count;
         first += gridDim.x * (int64)blockDim.x) {
        const int64 column = first + threadIdx.x;
        Pair<C> sum = {0, 0};
#pragma unroll 8
        for (int64 p = threadIdx.y; p < (column < count ? parts : 0); p += blockDim.y) {
            const Pair<C> more = partial[p * count + column];
            sum = {plus(sum.gamma, more.gamma), plus(sum.beta, more.beta)};
        }
        sum = {together(sum.gamma, part, add), together(sum.beta, part, add)};
        if (threadIdx.y == 0 && column < count) {
            give(column, sum);
        }
    }
}

} // namespace fm

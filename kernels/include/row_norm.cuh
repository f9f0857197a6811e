// Rows without gaps to mean 0 and deviation 1, then each element by a gamma and a beta of its own: rows
// that stay in the registers of some lanes of a warp. Arrays hold fewer than 2^31 elements.
#pragma once
#include "norm.cuh"
#include "real.cuh"

namespace fm {

struct Reqs {
    int64 of[3];
};

/// Two sums of the same elements: for a gamma and its beta, or for a row.
template <class C> struct Pair {
    C gamma, beta;
};

/// Elements of a pack, by the length of rows alone.
template <class T> constexpr int row_lanes = lanes<T, T>;

template <int LANES, class T>
__device__ __forceinline__ Pack<T, LANES> pack_at(const T *from, unsigned pack, bool aligned) {
    if (aligned) {
        return ((const Pack<T, LANES> *)from)[pack];
    }
    Pack<T, LANES> x;
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
        x.at[i] = from[pack * LANES + i];
    }
    return x;
}

/// Stores a pack of results, or adds them.
template <int LANES, class T>
__device__ __forceinline__ void
put_pack(T *to, unsigned pack, const Compute<T> (&y)[LANES], bool aligned, bool add) {
    Pack<T, LANES> x;
    if (add) {
        x = pack_at<LANES>(to, pack, aligned);
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
        put(x.at[i], y[i], add);
    }
    if (aligned) {
        ((Pack<T, LANES> *)to)[pack] = x;
        return;
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) {
        to[pack * LANES + i] = x.at[i];
    }
}

template <class T, int LANES> __device__ __forceinline__ bool is_aligned(unsigned long long bits) {
    return bits % sizeof(Pack<T, LANES>) == 0;
}

/// Which row of which lanes, where a warp has several rows at once.
struct RowLanes {
    unsigned packs, lanes, lane, row, rows;

    /// As few lanes as have two packs each, up to a warp.
    __device__ __forceinline__ explicit RowLanes(unsigned packs) : packs(packs), lanes(1) {
        while (lanes < 32 && 2 * lanes < packs) {
            lanes *= 2;
        }
        lane = threadIdx.x % lanes;
        row = threadIdx.x % 32 / lanes;
        rows = 32 / lanes;
    }
    /// Pack `k` of this lane, and whether there is one: the first one is.
    __device__ __forceinline__ bool has(int k) const { return lane + k * lanes < packs; }
    __device__ __forceinline__ unsigned pack(int k) const { return has(k) ? lane + k * lanes : lane; }

    /// Calls `each(row, is_one)` for the rows of this warp's teams, which stay together; the last ones may
    /// repeat one, which then is none.
    template <class F> __device__ __forceinline__ void each_row(unsigned count, F each) const {
        const unsigned warps = gridDim.x * (blockDim.x / 32);
        const unsigned warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
#pragma unroll 1
        for (unsigned first = warp * rows; first < count; first += warps * rows) {
            const bool is_one = first + row < count;
            each(is_one ? first + row : first, is_one);
        }
    }
    /// The sums over the lanes of a row, in all of them.
    template <class C, int N> __device__ __forceinline__ void sums(C (&x)[N]) const {
        for (unsigned far = lanes / 2; far > 0; far /= 2) {
#pragma unroll
            for (int k = 0; k < N; ++k) {
                x[k] = plus(x[k], __shfl_xor_sync(ALL_LANES, x[k], far));
            }
        }
    }
    template <class C> __device__ __forceinline__ C sum(C x) const {
        for (unsigned far = lanes / 2; far > 0; far /= 2) {
            x = plus(x, __shfl_xor_sync(ALL_LANES, x, far));
        }
        return x;
    }
};

/// The packs of a row that a lane has.
template <class T, int LANES, int K> struct Line {
    Pack<T, LANES> of[K];

    __device__ __forceinline__ void load(const T *row, const RowLanes &team, bool aligned) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            of[k] = pack_at<LANES>(row, team.pack(k), aligned);
        }
    }
    __device__ __forceinline__ Compute<T> at(int k, int i) const {
        return convert<Compute<T>>(of[k].at[i]);
    }
};

template <class T> struct Normed {
    const T *data, *gamma, *beta;
    T *out, *means, *roots;
};

/// What rounding left of a row's mean, and the root of the variance plus `eps`.
template <class C> struct Spread {
    C rest, root;

    /// By the sums of distances from the rounded mean, and of their squares.
    __device__ __forceinline__ Spread(C sum, C squares, C length, C eps) : rest(over(sum, length)) {
        const C found = minus(over(squares, length), times(rest, rest));
        root = square_root(plus(found < 0 ? (C)0 : found, eps)); // rounding may take it below; NaN stays
    }
};

template <class T, class C>
__device__ __forceinline__ void
give_row(const Normed<T> &by, int64 row, C mean, C root, const Reqs &reqs) {
    if (reqs.of[1] != Null) {
        put(by.means[row], mean, reqs.of[1] == Add);
    }
    if (reqs.of[2] != Null) {
        put(by.roots[row], root, reqs.of[2] == Add);
    }
}

template <int LANES, int K, class T>
__device__ __forceinline__ void narrow_forward(
    const Normed<T> &by, unsigned count, unsigned length, float64 eps, const Reqs &reqs) {
    typedef Compute<T> C;
    const bool aligned = is_aligned<T, LANES>(
        bits_of(by.data) | bits_of(by.gamma) | bits_of(by.beta) | bits_of(by.out));
    const RowLanes team(length / LANES);
    Line<T, LANES, K> gamma, beta, x;
    if (K <= 2) {
        gamma.load(by.gamma, team, aligned);
        beta.load(by.beta, team, aligned);
    }
    team.each_row(count, [&](unsigned row, bool is_one) {
        const int64 start = (int64)row * length;
        x.load(by.data + start, team, aligned);
        C sum = 0, apart[2] = {0, 0};
#pragma unroll
        for (int k = 0; k < K; ++k) {
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                sum += team.has(k) ? x.at(k, i) : (C)0;
            }
        }
        const C mean = over(team.sum(sum), (C)length);
#pragma unroll
        for (int k = 0; k < K; ++k) {
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                const C distance = team.has(k) ? x.at(k, i) - mean : (C)0;
                apart[0] += distance;
                apart[1] += distance * distance;
            }
        }
        team.sums(apart);
        const Spread<C> spread(apart[0], apart[1], (C)length, (C)eps);
        const C scale = reciprocal(spread.root);
        if (is_one && team.lane == 0) {
            give_row(by, row, plus(mean, spread.rest), spread.root, reqs);
        }
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (K > 2) { // all of them would take too many registers
                gamma.of[k] = pack_at<LANES>(by.gamma, team.pack(k), aligned);
                beta.of[k] = pack_at<LANES>(by.beta, team.pack(k), aligned);
            }
            C y[LANES];
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                y[i] = (x.at(k, i) - mean - spread.rest) * scale * gamma.at(k, i) + beta.at(k, i);
            }
            if (is_one && team.has(k) && reqs.of[0] != Null) {
                put_pack<LANES>(by.out + start, team.pack(k), y, aligned, opaque(reqs.of[0] == Add));
            }
        }
    });
}

template <class T> struct Slopes {
    const T *grad, *data, *gamma, *means, *roots;
    T *out;
};

/// What a lane finds for the gammas and betas of its packs.
template <class C, int LANES, int K> struct Columns {
    Pair<C> of[K][LANES];

    /// Sums over the block into `room`, then to `partial`; the warps come in turn, always in one order.
    __device__ __forceinline__ void
    give(const RowLanes &team, unsigned length, Pair<C> *room, Pair<C> *partial) {
#pragma unroll
        for (int e = 0; e < K * LANES; ++e) {
            Pair<C> &sum = of[e / LANES][e % LANES];
            for (unsigned far = team.lanes; far < 32; far *= 2) {
                sum.gamma += __shfl_xor_sync(ALL_LANES, sum.gamma, far);
                sum.beta += __shfl_xor_sync(ALL_LANES, sum.beta, far);
            }
        }
#pragma unroll 1
        for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) {
#pragma unroll
            for (int e = 0; e < K * LANES; ++e) {
                if (threadIdx.x / 32 == warp && team.row == 0 && team.has(e / LANES)) {
                    const Pair<C> sum = of[e / LANES][e % LANES];
                    Pair<C> &to = room[team.pack(e / LANES) * LANES + e % LANES];
                    to = warp == 0 ? sum : Pair<C>{to.gamma + sum.gamma, to.beta + sum.beta};
                }
            }
            __syncthreads();
        }
        for (unsigned column = threadIdx.x; column < length; column += blockDim.x) {
            partial[(int64)blockIdx.x * length + column] = room[column];
        }
    }
};

/// Elements of a lane at most whose gammas and betas find room in registers, and of a row.
constexpr int MOST_COLUMNS = 16, MOST_NARROW = 32 * MOST_COLUMNS;

template <int LANES, int K, class T>
__device__ __forceinline__ void narrow_backward(
    const Slopes<T> &by, Pair<Compute<T>> *partial, Pair<Compute<T>> *room, unsigned count,
    unsigned length, int req) {
    typedef Compute<T> C;
    const bool aligned = is_aligned<T, LANES>(
        bits_of(by.grad) | bits_of(by.data) | bits_of(by.gamma) | bits_of(by.out));
    const RowLanes team(length / LANES);
    Line<T, LANES, K> gamma, grad, data;
    gamma.load(by.gamma, team, aligned);
    Columns<C, LANES, K> columns = {};
    team.each_row(count, [&](unsigned row, bool is_one) {
        const int64 start = (int64)row * length;
        grad.load(by.grad + start, team, aligned);
        data.load(by.data + start, team, aligned);
        const C mean = convert<C>(by.means[row]), scale = reciprocal(convert<C>(by.roots[row]));
        C plain = 0, weighted = 0;
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const bool counts = is_one && team.has(k);
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                const C g = counts ? grad.at(k, i) : (C)0;
                const C x = counts ? (data.at(k, i) - mean) * scale : (C)0;
                columns.of[k][i].gamma += g * x;
                columns.of[k][i].beta += g;
                plain += g * gamma.at(k, i);
                weighted += g * gamma.at(k, i) * x;
            }
        }
        plain = over(team.sum(plain), (C)length);
        weighted = over(team.sum(weighted), (C)length);
#pragma unroll
        for (int k = 0; k < K; ++k) {
            C y[LANES];
#pragma unroll
            for (int i = 0; i < LANES; ++i) {
                const C x = (data.at(k, i) - mean) * scale;
                y[i] = scale * (grad.at(k, i) * gamma.at(k, i) - plain - x * weighted);
            }
            if (is_one && team.has(k) && req != Null) {
                put_pack<LANES>(by.out + start, team.pack(k), y, aligned, opaque(req == Add));
            }
        }
    });
    columns.give(team, length, room, partial);
}

} // namespace fm

// Passes over channels, or rows, of an array of (outer, count, inner) that blocks share: each takes a part of
// one channel, in packs of up to 16 bytes where they are aligned, with several loads under way. There
// are fewer than 2^31 packs, and blocks are of whole warps along x.
#pragma once
#include "fold.cuh"

namespace fm {

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int WARPS = MOST_THREADS / 32;

/// How many packs a thread loads before it uses the first.
template <int LANES> constexpr int ahead = LANES == 1 ? 8 : 4;

/// Elements of a pack: the most, or fewer for runs of halves that these do not divide.
template <class T> constexpr int most_lanes = lanes<T, T>;
template <class T> constexpr int some_lanes = sizeof(T) == 2 ? 4 : 1;

/// Whether runs of so many elements are whole packs, in arrays at addresses of which `bits` has all bits.
template <int LANES, class T>
__device__ __forceinline__ bool fits(int64 run, unsigned long long bits) {
    return run % LANES == 0 && bits % sizeof(Pack<T, LANES>) == 0;
}

// Calls something for the largest LANES that fit.
#define FM_BY_LANES(T, RUN, BITS, ...) \
    if (fits<most_lanes<T>, T>(RUN, BITS)) { \
        constexpr int LANES = most_lanes<T>; \
        __VA_ARGS__; \
    } else if (some_lanes<T> > 1 && fits<some_lanes<T>, T>(RUN, BITS)) { \
        constexpr int LANES = some_lanes<T>; \
        __VA_ARGS__; \
    } else { \
        constexpr int LANES = 1; \
        __VA_ARGS__; \
    }

__device__ __forceinline__ unsigned long long bits_of(const void *at) {
    return (unsigned long long)at;
}

/// This thread's packs of a part of a channel, as many apart as the block has threads.
struct Way {
    /// Packs that are left, and where the next one is: in the array, and in its run of `width`.
    unsigned left, at, place;
    unsigned width, rest, step, jump;

    __device__ __forceinline__
    Way(const Along &along, int lanes, unsigned channel, unsigned part, unsigned parts) {
        width = (unsigned)along.inner / lanes;
        const unsigned count = (unsigned)along.count, all = (unsigned)along.outer * width;
        const unsigned share = (all + parts - 1) / parts, begin = part * share;
        const unsigned end = begin + share < all ? begin + share : all;
        const unsigned first = begin + threadIdx.x, threads = blockDim.x;
        left = first < end ? (end - first + threads - 1) / threads : 0;
        const unsigned run = first / width, turns = threads / width;
        place = first - run * width;
        at = (run * count + channel) * width + place;
        rest = threads - turns * width;
        step = turns * count * width + rest;
        jump = (count - 1) * width;
    }

    __device__ __forceinline__ void go_on() {
        at += step;
        place += rest;
        if (place >= width) {
            place -= width;
            at += jump;
        }
    }
};

/// Packs of inputs at the same places; those from `valid` on repeat the first.
template <class T, int LANES, int INPUTS> struct Batch {
    Pack<T, LANES> of[INPUTS][ahead<LANES>];
    unsigned at[ahead<LANES>];
    /// In the run.
    unsigned place[ahead<LANES>];
    unsigned valid;

    /// An element of input `j`, or what does not count. No branch: a load would wait for its outcome.
    __device__ __forceinline__ Compute<T>
    element(int j, unsigned u, int i, Compute<T> nothing) const {
        const Compute<T> x = convert<Compute<T>>(of[j][u].at[i]);
        return u < valid ? x : nothing;
    }
};

/// Calls `each(batch)` for all packs of a way.
template <int LANES, class T, int INPUTS, class F>
__device__ __forceinline__ void along_way(Way way, const T *const (&in)[INPUTS], F each) {
    constexpr unsigned most = ahead<LANES>;
#pragma unroll 1
    while (way.left > 0) {
        Batch<T, LANES, INPUTS> batch;
        batch.valid = way.left < most ? way.left : most;
#pragma unroll
        for (unsigned u = 0; u < most; ++u) {
            batch.at[u] = u < batch.valid ? way.at : batch.at[0];
            batch.place[u] = u < batch.valid ? way.place : batch.place[0];
            way.go_on();
#pragma unroll
            for (int j = 0; j < INPUTS; ++j) {
                batch.of[j][u] = ((const Pack<T, LANES> *)in[j])[batch.at[u]];
            }
        }
        each(batch);
        way.left -= batch.valid;
    }
}

/// Sets the packs of a batch to `f` of the elements of each input, and the place in the run.
template <int LANES, class T, int INPUTS, class F>
__device__ __forceinline__ void
store(T *out, const Batch<T, LANES, INPUTS> &batch, bool add, F f) {
#pragma unroll
    for (unsigned u = 0; u < ahead<LANES>; ++u) {
        if (u >= batch.valid) {
            break;
        }
        Pack<T, LANES> *const to = (Pack<T, LANES> *)out + batch.at[u];
        Pack<T, LANES> y;
        if (add) {
            y = *to;
        }
#pragma unroll
        for (int i = 0; i < LANES; ++i) {
            Compute<T> x[INPUTS];
#pragma unroll
            for (int j = 0; j < INPUTS; ++j) {
                x[j] = convert<Compute<T>>(batch.of[j][u].at[i]);
            }
            put(y.at[i], f(x, batch.place[u] * LANES + i), add);
        }
        *to = y;
    }
}

/// The sums of N numbers over the lanes of a warp, in all of them.
template <class C, int N> __device__ __forceinline__ void warp_sums(C (&x)[N]) {
#pragma unroll
    for (int far = 16; far > 0; far /= 2) {
#pragma unroll
        for (int k = 0; k < N; ++k) {
            x[k] = plus(x[k], __shfl_xor_sync(ALL_LANES, x[k], far));
        }
    }
}

/// The same over a block, in all threads. `part` is free again after the next barrier.
template <class C, int N>
__device__ __forceinline__ void block_sums(C (&x)[N], C (&part)[N * WARPS]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    warp_sums(x);
    if (lane == 0) {
        for (int k = 0; k < N; ++k) {
            part[warp * N + k] = x[k];
        }
    }
    __syncthreads();
    for (int k = 0; k < N; ++k) {
        x[k] = lane < warps ? part[lane * N + k] : (C)0;
    }
    warp_sums(x);
}

/// Sums of distances from a number near the mean, and of their squares: as exact where the mean is far
/// from 0.
struct Moments {
    float64 from, sum, squares;

    __device__ __forceinline__ float64 mean(float64 count) const { return from + sum / count; }
    __device__ __forceinline__ float64 variance(float64 count) const {
        const float64 found = (squares - sum * (sum / count)) / count;
        return found < 0 ? 0.0 : found; // rounding may take it below; NaN stays
    }
};

/// A number to take distances from; what is not finite would make NaN of an infinite mean.
template <class C> __device__ __forceinline__ C anchor(C x) {
    return minus(x, x) == (C)0 ? x : (C)0;
}

/// Adds the packs of a batch. Distances from one of its own elements keep the digits of float32, whose
/// few sums go on in float64.
template <int LANES, class T>
__device__ __forceinline__ void add_to(Moments &all, const Batch<T, LANES, 1> &batch) {
    typedef Compute<T> C;
    const C from = anchor(convert<C>(batch.of[0][0].at[0]));
    C sum = 0, squares = 0;
#pragma unroll
    for (unsigned u = 0; u < ahead<LANES>; ++u) {
#pragma unroll
        for (int i = 0; i < LANES; ++i) {
            const C apart = batch.element(0, u, i, from) - from;
            sum += apart;
            squares += apart * apart;
        }
    }
    const float64 count = (float64)(batch.valid * LANES), off = (float64)from - all.from;
    all.sum += count * off + (float64)sum;
    all.squares += (float64)squares + off * (2.0 * (float64)sum + count * off);
}

/// The moments of a part of a channel, in all threads; `from` is the channel's first element.
template <int LANES, class T>
__device__ __forceinline__ Moments moments_of(
    const T *data, const Along &along, unsigned channel, unsigned part, unsigned parts,
    float64 from, float64 (&room)[2 * WARPS]) {
    Moments mine = {from, 0.0, 0.0};
    const T *const in[1] = {data};
    along_way<LANES>(
        Way(along, LANES, channel, part, parts), in,
        [&](const Batch<T, LANES, 1> &batch) { add_to(mine, batch); });
    float64 sums[2] = {mine.sum, mine.squares};
    block_sums(sums, room);
    return {from, sums[0], sums[1]};
}

/// The element that distances of a channel, or a row, are taken from.
template <class T>
__device__ __forceinline__ float64 start_of(const T *data, const Along &along, unsigned channel) {
    return (float64)anchor(convert<Compute<T>>(data[(int64)channel * along.inner]));
}

/// Sets partial[part][channel] for the block at (channel, part) of the grid.
template <class T>
__device__ __forceinline__ void
moments(const T *data, Moments *partial, const Along &along) {
    FM_SHARED(float64, room, 2 * WARPS);
    const float64 from = start_of(data, along, blockIdx.x);
    Moments found;
    FM_BY_LANES(T, along.inner, bits_of(data),
        found = moments_of<LANES>(data, along, blockIdx.x, blockIdx.y, gridDim.y, from, room))
    if (threadIdx.x == 0) {
        partial[blockIdx.y * (int64)gridDim.x + blockIdx.x] = found;
    }
}

/// The sums of `parts` pairs, `apart` from one to the next, in all lanes of a warp.
template <class C, class P, class F>
__device__ __forceinline__ void
gathered(C (&sums)[2], const P *from, unsigned parts, int64 apart, F pair) {
    sums[0] = sums[1] = 0;
    for (unsigned part = threadIdx.x % 32; part < parts; part += 32) {
        const P more = from[part * apart];
        pair(sums, more);
    }
    warp_sums(sums);
}

/// What the parts of a channel add up to, in all lanes of a warp.
__device__ __forceinline__ Moments
joined(const Moments *partial, unsigned channel, unsigned channels, unsigned parts) {
    float64 sums[2];
    gathered(sums, partial + channel, parts, channels, [](float64(&all)[2], const Moments &more) {
        all[0] += more.sum;
        all[1] += more.squares;
    });
    return {partial[channel].from, sums[0], sums[1]};
}

} // namespace fm

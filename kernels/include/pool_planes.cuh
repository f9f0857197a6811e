// Windows that are whole planes, whose elements lie side by side. Threads along x, a power of two of them, share
// a plane: a part of a warp, or the block.
#pragma once
#include "pool.cuh"
#include "shared.cuh"

namespace fm {

constexpr int WARP = 32, MOST_WARPS = 32;

/// How a run of elements falls into packs of 16 bytes, after a head that is not aligned.
template <class T> struct Run {
    static constexpr int LANES = lanes<T, T>;
    int count, head, packs;

    __device__ __forceinline__ Run(const T *from, int64 elements) : count((int)elements) {
        const int before = (int)((unsigned long long)from / sizeof(T) % LANES);
        head = before == 0 ? 0 : LANES - before;
        head = head < count ? head : count;
        packs = (count - head) / LANES;
    }

    /// Calls `one` with this thread's share of the positions outside packs.
    template <class F> __device__ __forceinline__ void rims(F one) const {
        const int rest = count - packs * LANES;
#pragma unroll 1
        for (int i = threadIdx.x; i < rest; i += blockDim.x) {
            one(i < head ? i : i + packs * LANES);
        }
    }
};

/// Elements of a plane.
__device__ __forceinline__ int64 plane_of(const Pool &pool) {
    return pool.axes[0].input * pool.axes[1].input * pool.axes[2].input;
}

/// What this thread finds in a plane. Four packs are on their way at once.
template <Kind KIND, class T>
__device__ __forceinline__ Compute<T> found_in(const T *plane, int64 count) {
    typedef Compute<T> R;
    const Run<T> run(plane, count);
    typedef Pack<T, Run<T>::LANES> Some;
    const Some *const packs = (const Some *)(plane + run.head);
    const int step = blockDim.x;
    R y = start_of<KIND, T>();
    const auto take = [&](const Some &some) {
#pragma unroll
        for (int k = 0; k < Run<T>::LANES; ++k) {
            y = with<KIND>(y, convert<R>(some.at[k]));
        }
    };
    int p = threadIdx.x;
#pragma unroll 1
    for (; p + 3 * step < run.packs; p += 4 * step) {
        Some some[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            some[k] = packs[p + k * step];
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            take(some[k]);
        }
    }
#pragma unroll 1
    for (; p < run.packs; p += step) {
        take(packs[p]);
    }
    run.rims([&](int i) { y = with<KIND>(y, convert<R>(plane[i])); });
    return y;
}

/// What all threads along x found, in the first of them. `part` is free again when all have returned.
template <Kind KIND, class R>
__device__ __forceinline__ R along_x(R y, R (&part)[MOST_WARPS]) {
    const int wide = blockDim.x < WARP ? (int)blockDim.x : WARP;
#pragma unroll 1
    for (int far = wide / 2; far > 0; far /= 2) {
        y = joined<KIND>(y, __shfl_xor_sync(0xffffffffu, y, far));
    }
    if (blockDim.x > WARP) {
        if (threadIdx.x % WARP == 0) {
            part[threadIdx.x / WARP] = y;
        }
        __syncthreads();
#pragma unroll 1
        for (int k = 1; k < (threadIdx.x == 0 ? (int)blockDim.x / WARP : 0); ++k) {
            y = joined<KIND>(y, part[k]);
        }
        __syncthreads();
    }
    return y;
}

template <Kind KIND, class T>
__device__ __forceinline__ void whole(const T *data, T *out, const Pool &pool, int req) {
    typedef Compute<T> R;
    FM_SHARED(R, part, MOST_WARPS);
    const int64 planes = req == Null ? 0 : pool.outer, count = plane_of(pool);
#pragma unroll 1
    for (int64 first = blockIdx.x * (int64)blockDim.y; first < planes;
         first += gridDim.x * (int64)blockDim.y) {
        const int64 plane = first + threadIdx.y;
        R y = start_of<KIND, T>();
        if (plane < planes) {
            y = found_in<KIND>(data + plane * count, count);
        }
        y = along_x<KIND>(y, part);
        if (threadIdx.x == 0 && plane < planes) {
            y = last_of<KIND>(y) * share<KIND, R>(pool, 0, 0, 0);
            put(out[plane], y, opaque(req == Add));
        }
    }
}

/// The gradient of sums and averages, which all elements of a plane share.
template <Kind KIND, class T>
__device__ __forceinline__ void
whole_backward(const T *grad, T *result, const Pool &pool, int req) {
    typedef Compute<T> R;
    const int64 planes = req == Null ? 0 : pool.outer, count = plane_of(pool);
    const R scale = share<KIND, R>(pool, 0, 0, 0);
    const bool add = opaque(req == Add);
#pragma unroll 1
    for (int64 plane = blockIdx.x * (int64)blockDim.y + threadIdx.y; plane < planes;
         plane += gridDim.x * (int64)blockDim.y) {
        const R g = convert<R>(grad[plane]) * scale;
        T *const target = result + plane * count;
        const Run<T> run(target, count);
        typedef Pack<T, Run<T>::LANES> Some;
        Some *const packs = (Some *)(target + run.head);
#pragma unroll 4
        for (int p = threadIdx.x; p < run.packs; p += blockDim.x) {
            Some some;
            if (add) {
                some = packs[p];
            }
#pragma unroll
            for (int k = 0; k < Run<T>::LANES; ++k) {
                put(some.at[k], g, add);
            }
            packs[p] = some;
        }
        run.rims([&](int i) { put(target[i], g, add); });
    }
}

} // namespace fm

// Numbers of rows in device memory, of which some are in use: the rows that a row_sparse array stores.
// What is refused leads nowhere: rows that there are not, and more in use than there is room for.
#pragma once
#include "refusal.cuh"
#include "types.cuh"

namespace fm {

/// `count` of `room` numbers of a table's `height` rows.
struct Listed {
    const int64 *rows, *count;
    int64 room, height;

    __device__ __forceinline__ int64 used() const {
        const int64 all = count[0];
        return all < 0 ? 0 : all < room ? all : room;
    }
    /// The row of number `k`; -1 for one that there is not.
    __device__ __forceinline__ int64 row(int64 k) const {
        const int64 at = rows[k];
        return at < height && at >= 0 ? at : -1;
    }
    /// Looks at the numbers from `first` on that are `apart`; threads share them.
    __device__ __forceinline__ void check(int64 first, int64 apart, Refusal *refusal) const {
        const int64 most = used();
        if (first == 0 && count[0] != most) {
            refuse(refusal, 1, count[0]);
        }
#pragma unroll 1
        for (int64 k = first; k < most; k += apart) {
            if (row(k) < 0) {
                refuse(refusal, 2, rows[k]);
            }
        }
    }
    __device__ __forceinline__ void check(Refusal *refusal) const {
        const int64 first = blockIdx.x * (int64)blockDim.x + threadIdx.x;
        check(first, gridDim.x * (int64)blockDim.x, refusal);
    }
};

} // namespace fm

// Numbers of rows in device memory, of which some are in use: the rows that a row_sparse array stores.
// What the CPU refuses leads nowhere: rows that there are not, and more in use than there is room for.
#pragma once
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
};

} // namespace fm

// Where the elements of a csr matrix are. What is refused, rows that are no range of what is stored and
// columns that there are not, has no elements.
#pragma once
#include "grid.cuh"
#include "refusal.cuh"
#include "types.cuh"

namespace fm {

/// The range of elements of a row.
struct Range {
    int64 first, end;
};

/// The structure of a matrix, with room for `room` elements.
struct Pattern {
    const int64 *indices, *indptr;
    int64 rows, columns, room;
    Refusal *refusal;

    __device__ __forceinline__ Range row(int64 row) const {
        const int64 first = indptr[row], end = indptr[row + 1];
        if (first >= 0 && end >= first && end <= room) {
            return {first, end};
        }
        refuse(refusal, 1, row);
        return {0, 0};
    }
    /// The column of an element; -1 for one that there is not.
    __device__ __forceinline__ int64 column(int64 element) const {
        const int64 at = indices[element];
        if (at >= 0 && at < columns) {
            return at;
        }
        refuse(refusal, 2, at);
        return -1;
    }
    /// The row that an element is in; -1 for what is in none.
    __device__ __forceinline__ int64 row_of(int64 element) const {
        int64 low = 0, high = rows; // of the first row that begins behind the element
#pragma unroll 1
        while (low < high) {
            const int64 middle = (low + high) / 2;
            if (indptr[middle] <= element) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == 0) {
            return -1;
        }
        const Range range = row(low - 1);
        return element >= range.first && element < range.end ? low - 1 : -1;
    }
    /// Looks at all rows; those of elements alone do not show all that is wrong.
    __device__ __forceinline__ void check() const {
        each(rows, [&](int64 at) { row(at); });
    }
};

} // namespace fm

// Products with the transpose of csr matrices: elements are put in order by their columns, so that each
// row of the result sums those of one column in the order in which they are stored, as on the CPU.
//
// Entry points: csr_transposed_keys_int64(pattern, keys, at, rows, size), columns of elements, to be sorted
// with their places; behind the last column comes all else. Then csr_transposed_starts_int64(keys, size,
// starts, columns) finds where each column begins; or csr_transposed_count_int64(keys, size, counts) and
// csr_transposed_found_int64(keys, size, counts, starts, columns, number, room, kept, refusal) where those begin that
// have elements, which these are, and how many, at most `room`. Last csr_transposed_dot_DTYPE(starts, at,
// rows, data, rhs, out, number, count, width, req), for `count` rows of the result or the number in memory,
// which are written, whatever the request.
#include "fold.cuh"
#include "grid.cuh"
#include "pattern.cuh"

namespace fm {

constexpr Word LAST = ~0ull;

__device__ __forceinline__ void
keys_of(const Pattern &pattern, Word *keys, int32 *at, int32 *rows, int64 size) {
    pattern.check();
    each(size, [&](int64 i) {
        const int64 row = i < pattern.room ? pattern.row_of(i) : -1;
        const int64 column = row < 0 ? -1 : pattern.column(i);
        keys[i] = column < 0 ? LAST : (Word)column;
        at[i] = (int32)i;
        if (i < pattern.room) {
            rows[i] = (int32)row;
        }
    });
}

/// The first of sorted keys that is not below `key`.
__device__ __forceinline__ int64 bound(const Word *keys, int64 size, Word key) {
    int64 first = 0, end = size;
#pragma unroll 1
    while (first < end) {
        const int64 middle = (first + end) / 2;
        if (keys[middle] < key) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/// The keys that a block looks at.
struct Share {
    int64 first, end;
};
__device__ __forceinline__ Share share_of(int64 size) {
    const int64 count = (size + gridDim.x - 1) / gridDim.x, first = blockIdx.x * count;
    return {first, first + count < size ? first + count : size};
}

__device__ __forceinline__ bool begins(const Word *keys, int64 i) {
    return i == 0 || keys[i] != keys[i - 1];
}

/// How many columns begin in each block's share; threads lie along y.
__device__ __forceinline__ void count(const Word *keys, int64 size, int64 *counts) {
    FM_SHARED(int64, part, MOST_THREADS);
    const Share share = share_of(size);
    int64 found = 0;
#pragma unroll 1
    for (int64 i = share.first + threadIdx.y; i < share.end; i += blockDim.y) {
        found += begins(keys, i) ? 1 : 0;
    }
    found = together(found, part, [](int64 a, int64 b) { return a + b; });
    if (threadIdx.y == 0) {
        counts[blockIdx.x] = found;
    }
}

/// Where the column of a number begins; behind all of them begins what is none.
__device__ __forceinline__ void note(
    const Word *keys, int64 i, int64 place, int32 *starts, int64 *columns, int64 *number, int64 room,
    int64 *kept, Refusal *refusal) {
    if (place <= room) {
        starts[place] = (int32)i;
    }
    if (keys[i] == LAST) {
        const int64 most = place < room ? place : room;
        *kept = most;
        if (place > room) {
            refuse(refusal, 3, place);
        }
        if (number != nullptr) {
            *number = most;
        }
    } else if (place < room && columns != nullptr) {
        columns[place] = (int64)keys[i];
    }
}

/// Threads lie along y, as many blocks as counted; there is a key that is no column's.
__device__ __forceinline__ void found(
    const Word *keys, int64 size, const int64 *counts, int32 *starts, int64 *columns, int64 *number,
    int64 room, int64 *kept, Refusal *refusal) {
    FM_SHARED(int32, part, MOST_THREADS);
    const Share share = share_of(size);
    const int me = threadIdx.y;
    int64 before = 0;
#pragma unroll 4
    for (int block = 0; block < (int)blockIdx.x; ++block) {
        before += counts[block];
    }
#pragma unroll 1
    for (int64 first = share.first; first < share.end; first += blockDim.y) {
        const int64 i = first + me;
        const bool head = i < share.end && begins(keys, i);
        part[me] = head ? 1 : 0;
        __syncthreads();
#pragma unroll 1
        for (int distance = 1; distance < (int)blockDim.y; distance *= 2) {
            const int32 left = me < distance ? 0 : part[me - distance];
            __syncthreads();
            part[me] += left;
            __syncthreads();
        }
        if (head) {
            note(keys, i, before + part[me] - 1, starts, columns, number, room, kept, refusal);
        }
        before += part[blockDim.y - 1];
        __syncthreads(); // before the next keys take the shared memory
    }
}

template <class T>
__device__ __forceinline__ void
dot(const int32 *starts, const int32 *at, const int32 *rows, const T *data, const T *rhs, T *out,
    const int64 *number, int64 count, int64 width, int req) {
    const int64 places = number == nullptr ? count : *number;
    each(req == Null ? 0 : places * width, [&](int64 i) {
        const Split place = split(i, width);
        const int32 end = starts[place.row + 1];
        T total = 0;
#pragma unroll 4
        for (int32 k = starts[place.row]; k < end; ++k) {
            const int32 element = at[k];
            total = plus(total, times(data[element], rhs[rows[element] * width + place.at]));
        }
        put(out[i], total, opaque(req == Add && number == nullptr));
    });
}

} // namespace fm

#define FM_ORDER_ENTRIES \
    extern "C" __global__ void csr_transposed_keys_int64( \
        const __grid_constant__ fm::Pattern pattern, fm::Word *keys, int32 *at, int32 *rows, \
        int64 size) { \
        fm::keys_of(pattern, keys, at, rows, size); \
    } \
    extern "C" __global__ void csr_transposed_starts_int64( \
        const fm::Word *keys, int64 size, int32 *starts, int64 columns) { \
        fm::each(columns + 1, [&](int64 column) { \
            starts[column] = (int32)fm::bound(keys, size, (fm::Word)column); \
        }); \
    } \
    extern "C" __global__ void csr_transposed_count_int64( \
        const fm::Word *keys, int64 size, int64 *counts) { \
        fm::count(keys, size, counts); \
    } \
    extern "C" __global__ void csr_transposed_found_int64( \
        const fm::Word *keys, int64 size, const int64 *counts, int32 *starts, int64 *columns, \
        int64 *number, int64 room, int64 *kept, fm::Refusal *refusal) { \
        fm::found(keys, size, counts, starts, columns, number, room, kept, refusal); \
    }
FM_IF_int64(FM_ORDER_ENTRIES)

#define FM_DOT_ENTRY(T, ...) \
    extern "C" __global__ void csr_transposed_dot_##T( \
        const int32 *starts, const int32 *at, const int32 *rows, const T *data, const T *rhs, T *out, \
        const int64 *number, int64 count, int64 width, int req) { \
        fm::dot(starts, at, rows, data, rhs, out, number, count, width, req); \
    }
FM_REALS(FM_DOT_ENTRY, )

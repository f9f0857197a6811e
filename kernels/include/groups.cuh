// Positions that come together at places, as indices.cu groups them.
#pragma once
#include "number.cuh"

namespace fm {

/// The positions of each place: `members` from `starts[place]` on.
struct Groups {
    const int32 *starts, *members;
};

/// The sum of `part` over the positions of a place, in their order.
template <class C, class F>
__device__ __forceinline__ C sum_at(const Groups &groups, int64 place, F part) {
    const int32 end = groups.starts[place + 1];
    C total = 0;
#pragma unroll 1
    for (int32 i = groups.starts[place]; i < end; ++i) {
        total = plus(total, part((int64)groups.members[i]));
    }
    return total;
}

} // namespace fm

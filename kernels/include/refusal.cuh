// What a kernel refuses: the host raises it where it next waits.
#pragma once
#include "types.cuh"

namespace fm {

/// Memory of the host that a recipe's launches share. A code is the number of a sentence of the recipe, from 1
/// on; 0 while nothing was refused.
struct Refusal {
    unsigned code;
    int64 value;
};

/// Refuses a value; of several, any one is told. What the kernel writes then is read by nobody, but it must
/// stay within its arrays.
__device__ __forceinline__ void refuse(Refusal *refusal, unsigned code, int64 value) {
    if (atomicCAS(&refusal->code, 0u, code) == 0u) {
        refusal->value = value;
    }
}

} // namespace fm

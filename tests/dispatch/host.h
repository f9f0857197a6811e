// Enough of CUDA's language to compile the sources as plain C++: one thread at a time, placed by
// `place`. Conversions of halves, which are instructions of the device, are the compiler's own.
#include <math.h>
#include <string.h>

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__

struct Place {
    unsigned x;
};
static Place blockIdx, blockDim, threadIdx, gridDim;
extern "C" void place(unsigned block, unsigned thread, unsigned blocks, unsigned threads) {
    blockIdx.x = block;
    threadIdx.x = thread;
    gridDim.x = blocks;
    blockDim.x = threads;
}

template <class D, class S> inline D bits(S x) {
    static_assert(sizeof(D) == sizeof(S), "as large");
    D y;
    memcpy(&y, &x, sizeof x);
    return y;
}
inline float host_from_half(unsigned short x) { return (float)bits<_Float16>(x); }
template <class S> inline unsigned short host_to_half(S x) {
    return bits<unsigned short>((_Float16)x);
}

inline float __uint_as_float(unsigned x) { return bits<float>(x); }
inline unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
inline float __double2float_rz(double x) {
    const float y = (float)x;
    return fabs((double)y) > fabs(x) ? nextafterf(y, 0) : y;
}
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frcp_rn(float a) { return 1 / a; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return sqrt(a); }
inline double __drcp_rn(double a) { return 1 / a; }

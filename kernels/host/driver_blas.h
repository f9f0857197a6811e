// The part of cuBLAS's interface that Ferromix calls: products of batches of matrices, element by element.
#pragma once
#include <math.h>

#include "driver_capture.h"

typedef struct cublasContext *cublasHandle_t;
typedef int cublasStatus_t;

enum { CUBLAS_SUCCESS = 0, CUBLAS_NOT_INITIALIZED = 1, CUBLAS_INVALID_VALUE = 7, CUBLAS_EXECUTION_FAILED = 13 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_TF32 = 77 };
enum { FLOAT32 = 0, FLOAT64 = 1, FLOAT16 = 2, BFLOAT16 = 14 };

/// What a handle remembers between calls.
struct Products {
    CUstream stream = nullptr;
    char *room = nullptr;
    size_t bytes = 0;
};

inline Table<Products> &products() {
    static Table<Products> &all = *new Table<Products>(0x10006);
    return all;
}

inline float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

inline double load_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
        : exponent == 0                ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -size : size;
}

/// The nearest half, of two equally near ones the even one.
inline uint16_t store_half(float value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs((double)value);
    if (isnan(value) || size >= 65520) {
        return sign | (isnan(value) ? 0x7e00 : 0x7c00);
    }
    int exponent = -24; // of 0, too
    if (size > 0) {
        frexp(size, &exponent);
    }
    const int unit = exponent < -13 ? -24 : exponent - 11;
    const int steps = (int)nearbyint(ldexp(size, -unit));
    // Below the smallest normal number, and where rounding reaches the next power, the bits go on counting.
    return (uint16_t)(sign | (exponent < -13 ? steps : ((exponent + 13) << 10) + steps));
}

inline uint16_t store_bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(isnan(value) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline double load(const void *at, int type, long long i) {
    switch (type) {
    case FLOAT32: return ((const float *)at)[i];
    case FLOAT64: return ((const double *)at)[i];
    case FLOAT16: return load_half(((const uint16_t *)at)[i]);
    default: return from_bits((uint32_t)((const uint16_t *)at)[i] << 16);
    }
}

/// With the ten bits of tf32, ties away from zero.
inline double rounded(double value) {
    const float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return isnan(value) ? value : from_bits((bits + 0x1000) & ~0x1fffu);
}

inline void store(void *at, int type, long long i, double value) {
    switch (type) {
    case FLOAT32: ((float *)at)[i] = (float)value; break;
    case FLOAT64: ((double *)at)[i] = value; break;
    case FLOAT16: ((uint16_t *)at)[i] = store_half((float)value); break;
    default: ((uint16_t *)at)[i] = store_bfloat((float)value);
    }
}

/// Matrices of a batch, whose columns lie one after another.
struct Matrices {
    const void *at;
    int flip, width;
    long long step;
    long long place(int batch, int row, int column) const {
        return batch * step + (flip ? column + (long long)row * width : row + (long long)column * width);
    }
};

FM_API cublasStatus_t cublasCreate_v2(cublasHandle_t *handle) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    if (handle == nullptr || current < 0) {
        return CUBLAS_NOT_INITIALIZED;
    }
    *handle = products().add<cublasHandle_t>(std::make_shared<Products>());
    return CUBLAS_SUCCESS;
}

/// Sums are in float64 whatever the mode.
FM_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, int) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    return products().find(handle) == nullptr ? CUBLAS_NOT_INITIALIZED : CUBLAS_SUCCESS;
}

FM_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, CUstream stream) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    const std::shared_ptr<Products> found = products().find(handle);
    if (found == nullptr) {
        return CUBLAS_NOT_INITIALIZED;
    }
    *found = {stream};
    return CUBLAS_SUCCESS;
}

FM_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *room, size_t bytes) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    const std::shared_ptr<Products> found = products().find(handle);
    if (found == nullptr) {
        return CUBLAS_NOT_INITIALIZED;
    }
    if ((uintptr_t)room % 256 != 0) {
        return CUBLAS_INVALID_VALUE;
    }
    found->room = (char *)room;
    found->bytes = bytes;
    return CUBLAS_SUCCESS;
}

/// In float64, rounded once. What is in the room of the handle is lost, as anything may be put there.
FM_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, int flip_a, int flip_b, int m, int n, int depth, const void *alpha, const void *a,
    int a_type, int a_width, long long a_step, const void *b, int b_type, int b_width, long long b_step,
    const void *beta, void *c, int c_type, int c_width, long long c_step, int batch, int compute, int) {
    auto work = std::make_shared<Work>();
    work->reads.swap(declared_reads);
    work->writes.swap(declared_writes);
    work->kernel = true;
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    const std::shared_ptr<Products> found = products().find(handle);
    const std::shared_ptr<Stream> stream = found == nullptr ? nullptr : stream_of(found->stream);
    if (stream == nullptr || stream->device != current) {
        return CUBLAS_NOT_INITIALIZED;
    }
    const bool fits = m >= 0 && n >= 0 && depth >= 0 && batch >= 0 && (flip_a & ~1) == 0
        && (flip_b & ~1) == 0 && a_width >= std::max(1, flip_a ? depth : m)
        && b_width >= std::max(1, flip_b ? n : depth) && c_width >= std::max(1, m);
    const bool rounds = compute == COMPUTE_32F_TF32;
    const bool known = rounds ? c_type == FLOAT32 : compute == (c_type == FLOAT64 ? COMPUTE_64F : COMPUTE_32F);
    if (!fits || a_type != c_type || b_type != c_type || !known) {
        return CUBLAS_INVALID_VALUE;
    }
    const bool wide = c_type == FLOAT64;
    const double scale = wide ? *(const double *)alpha : *(const float *)alpha;
    const double kept = wide ? *(const double *)beta : *(const float *)beta;
    const Matrices left{a, flip_a, a_width, a_step}, right{b, flip_b, b_width, b_step};
    const Products given = *found;
    static const std::string &name = *new std::string("cublasGemmStridedBatchedEx");
    work->name = &name;
    work->run = [=](unsigned) {
        if (given.bytes > 0) {
            memset(given.room, 0xff, given.bytes);
        }
        for (int z = 0; z < batch; ++z) {
            for (int j = 0; j < n; ++j) {
                for (int i = 0; i < m; ++i) {
                    double sum = 0;
                    for (int k = 0; k < depth; ++k) {
                        const double x = load(left.at, a_type, left.place(z, i, k));
                        const double y = load(right.at, b_type, right.place(z, k, j));
                        sum += rounds ? rounded(x) * rounded(y) : x * y;
                    }
                    const long long at = z * c_step + i + (long long)j * c_width;
                    store(c, c_type, at, scale * sum + (kept == 0 ? 0 : kept * load(c, c_type, at)));
                }
            }
        }
        return std::string();
    };
    return submit(*stream, work) == CUDA_SUCCESS ? CUBLAS_SUCCESS : CUBLAS_EXECUTION_FAILED;
}

// The part of cuDNN's interface that Ferromix calls: convolutions and their gradients, element by element.
#pragma once
#include "driver_blas.h"

typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnDescriptor *cudnnDescriptor_t;
typedef int cudnnStatus_t;

enum { CUDNN_SUCCESS = 0, CUDNN_NOT_INITIALIZED = 1001, CUDNN_BAD_PARAM = 2000, CUDNN_NOT_SUPPORTED = 3000 };

/// An array, weights, or a convolution; axes after batch and channels.
struct Shaped {
    int type = -1, groups = 1, math = 0;
    std::vector<int> shape, pad, stride, dilate;
    long long count() const {
        long long all = 1;
        for (int n : shape) {
            all *= n;
        }
        return all;
    }
};

inline Table<CUstream> &convolvers() {
    static Table<CUstream> &all = *new Table<CUstream>(0x10007);
    return all;
}
inline Table<Shaped> &shapes() {
    static Table<Shaped> &all = *new Table<Shaped>(0x10008);
    return all;
}

inline cudnnStatus_t make_shaped(cudnnDescriptor_t *made) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    *made = shapes().add<cudnnDescriptor_t>(std::make_shared<Shaped>());
    return CUDNN_SUCCESS;
}
inline cudnnStatus_t drop_shaped(cudnnDescriptor_t which) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    shapes().remove(which);
    return CUDNN_SUCCESS;
}
/// Calls `work` with a descriptor that there is.
template <class F> cudnnStatus_t with_shaped(cudnnDescriptor_t which, F work) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    const std::shared_ptr<Shaped> found = shapes().find(which);
    return found == nullptr ? CUDNN_BAD_PARAM : work(*found);
}
inline cudnnStatus_t set_shape(Shaped &to, int type, int rank, const int *dims) {
    for (int i = 0; i < rank; ++i) {
        if (dims[i] < 1) {
            return CUDNN_BAD_PARAM;
        }
    }
    to.type = type;
    to.shape.assign(dims, dims + rank);
    return rank == 4 || rank == 5 ? CUDNN_SUCCESS : CUDNN_NOT_SUPPORTED;
}

FM_API cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    if (current < 0) {
        return CUDNN_NOT_INITIALIZED;
    }
    *handle = convolvers().add<cudnnHandle_t>(std::make_shared<CUstream>());
    return CUDNN_SUCCESS;
}
FM_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, CUstream stream) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    const std::shared_ptr<CUstream> found = convolvers().find(handle);
    if (found == nullptr) {
        return CUDNN_NOT_INITIALIZED;
    }
    *found = stream;
    return CUDNN_SUCCESS;
}
FM_API cudnnStatus_t cudnnCreateTensorDescriptor(cudnnDescriptor_t *made) { return make_shaped(made); }
FM_API cudnnStatus_t cudnnCreateFilterDescriptor(cudnnDescriptor_t *made) { return make_shaped(made); }
FM_API cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnDescriptor_t *made) { return make_shaped(made); }
FM_API cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnDescriptor_t which) { return drop_shaped(which); }
FM_API cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnDescriptor_t which) { return drop_shaped(which); }
FM_API cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnDescriptor_t which) { return drop_shaped(which); }
FM_API cudnnStatus_t cudnnSetTensorNdDescriptor(
    cudnnDescriptor_t which, int type, int rank, const int *dims, const int *strides) {
    return with_shaped(which, [&](Shaped &to) {
        int step = 1;
        for (int i = rank - 1; i >= 0; --i) {
            if (strides[i] != step) {
                return (int)CUDNN_NOT_SUPPORTED;
            }
            step *= dims[i];
        }
        return (int)set_shape(to, type, rank, dims);
    });
}
FM_API cudnnStatus_t
cudnnSetFilterNdDescriptor(cudnnDescriptor_t which, int type, int, int rank, const int *dims) {
    return with_shaped(which, [&](Shaped &to) { return set_shape(to, type, rank, dims); });
}
FM_API cudnnStatus_t cudnnSetConvolutionNdDescriptor(
    cudnnDescriptor_t which, int axes, const int *pad, const int *stride, const int *dilate, int mode,
    int sums) {
    return with_shaped(which, [&](Shaped &to) {
        to.pad.assign(pad, pad + axes);
        to.stride.assign(stride, stride + axes);
        to.dilate.assign(dilate, dilate + axes);
        to.type = sums;
        return mode == 1 ? CUDNN_SUCCESS : CUDNN_NOT_SUPPORTED;
    });
}
FM_API cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnDescriptor_t which, int groups) {
    return with_shaped(which, [&](Shaped &to) {
        to.groups = groups;
        return CUDNN_SUCCESS;
    });
}
FM_API cudnnStatus_t cudnnSetConvolutionMathType(cudnnDescriptor_t which, int math) {
    return with_shaped(which, [&](Shaped &to) {
        to.math = math;
        return CUDNN_SUCCESS;
    });
}

/// A problem, whose shapes fit.
struct Convolved {
    Shaped x, w, y, how;

    bool is_known() const {
        const size_t axes = how.pad.size();
        bool fits = x.shape.size() == axes + 2 && w.shape.size() == axes + 2 && y.shape.size() == axes + 2;
        fits = fits && x.type == w.type && x.type == y.type && how.type == (x.type == 1 ? 1 : 0);
        fits = fits && x.shape[0] == y.shape[0] && w.shape[0] == y.shape[1]
            && x.shape[1] == w.shape[1] * how.groups && w.shape[0] % how.groups == 0;
        for (size_t a = 0; fits && a < axes; ++a) {
            const int reach = (w.shape[a + 2] - 1) * how.dilate[a] + 1;
            const int out = (x.shape[a + 2] + 2 * how.pad[a] - reach) / how.stride[a] + 1;
            fits = out == y.shape[a + 2];
        }
        return fits;
    }

    /// Calls `each(place in x, in w, in y)` for all products of the sums.
    template <class F> void products(F each) const {
        const int axes = (int)how.pad.size(), filters = w.shape[0] / how.groups, channels = w.shape[1];
        const long long plane = y.count() / y.shape[0] / y.shape[1], taps = w.count() / w.shape[0] / channels;
        for (long long out = 0; out < y.count(); ++out) {
            const long long sample = out / plane / y.shape[1], filter = out / plane % y.shape[1];
            const long long group = filter / filters;
            for (long long tap = 0; tap < channels * taps; ++tap) {
                long long at = out % plane, t = tap % taps, place = 0, step = 1;
                bool inside = true;
                for (int a = axes - 1; a >= 0; --a) {
                    const long long p = at % y.shape[a + 2] * how.stride[a] - how.pad[a]
                        + t % w.shape[a + 2] * how.dilate[a];
                    inside = inside && p >= 0 && p < x.shape[a + 2];
                    place += p * step;
                    step *= x.shape[a + 2];
                    at /= y.shape[a + 2];
                    t /= w.shape[a + 2];
                }
                const long long channel = sample * x.shape[1] + group * channels + tap / taps;
                if (inside) {
                    each(channel * step + place, filter * channels * taps + tap, out);
                }
            }
        }
    }
};

inline bool convolved(
    Convolved &found, cudnnDescriptor_t x, cudnnDescriptor_t w, cudnnDescriptor_t y, cudnnDescriptor_t how) {
    const cudnnDescriptor_t which[4] = {x, w, y, how};
    Shaped *const to[4] = {&found.x, &found.w, &found.y, &found.how};
    for (int i = 0; i < 4; ++i) {
        const std::shared_ptr<Shaped> shaped = shapes().find(which[i]);
        if (shaped == nullptr) {
            return false;
        }
        *to[i] = *shaped;
    }
    return found.is_known();
}

struct Rated {
    int algorithm, status;
    float time;
    size_t memory;
    int deterministic, math, reserved[3];
};

/// The math in which float32 keeps all its bits.
enum { MULTIPLY_ADD = 3 };

/// Enough for the room to be asked for, and spoilt.
enum { ROOM = 4096 };

inline cudnnStatus_t rate(
    cudnnDescriptor_t x, cudnnDescriptor_t w, cudnnDescriptor_t y, cudnnDescriptor_t how, int most, int *count,
    Rated *list) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    Convolved problem;
    if (!convolved(problem, x, w, y, how) || most < 3) {
        return CUDNN_BAD_PARAM;
    }
    // One that is not the same at each run, one that fails, and one that serves.
    list[0] = {0, CUDNN_SUCCESS, 1, 0, 0, 0, {}};
    list[1] = {3, CUDNN_NOT_SUPPORTED, 1, 0, 1, 0, {}};
    list[2] = {1, CUDNN_SUCCESS, 2, ROOM, 1, problem.how.math, {}};
    *count = 3;
    return CUDNN_SUCCESS;
}
FM_API cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, cudnnDescriptor_t x, cudnnDescriptor_t w, cudnnDescriptor_t how, cudnnDescriptor_t y, int most,
    int *count, Rated *list) {
    return rate(x, w, y, how, most, count, list);
}
FM_API cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnDescriptor_t w, cudnnDescriptor_t y, cudnnDescriptor_t how, cudnnDescriptor_t x, int most,
    int *count, Rated *list) {
    return rate(x, w, y, how, most, count, list);
}
FM_API cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnDescriptor_t x, cudnnDescriptor_t y, cudnnDescriptor_t how, cudnnDescriptor_t w, int most,
    int *count, Rated *list) {
    return rate(x, w, y, how, most, count, list);
}

/// Whoever times algorithms here gets the same.
FM_API cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(
    cudnnHandle_t, cudnnDescriptor_t x, cudnnDescriptor_t w, cudnnDescriptor_t how, cudnnDescriptor_t y, int most,
    int *count, Rated *list) {
    return rate(x, w, y, how, most, count, list);
}
FM_API cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(
    cudnnHandle_t, cudnnDescriptor_t w, cudnnDescriptor_t y, cudnnDescriptor_t how, cudnnDescriptor_t x, int most,
    int *count, Rated *list) {
    return rate(x, w, y, how, most, count, list);
}
FM_API cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(
    cudnnHandle_t, cudnnDescriptor_t x, cudnnDescriptor_t y, cudnnDescriptor_t how, cudnnDescriptor_t w, int most,
    int *count, Rated *list) {
    return rate(x, w, y, how, most, count, list);
}

inline cudnnStatus_t room_of(int algorithm, size_t *bytes) {
    *bytes = ROOM;
    return algorithm == 1 ? CUDNN_SUCCESS : CUDNN_NOT_SUPPORTED;
}
FM_API cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnDescriptor_t, cudnnDescriptor_t, cudnnDescriptor_t, cudnnDescriptor_t, int algorithm,
    size_t *bytes) {
    return room_of(algorithm, bytes);
}
FM_API cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnDescriptor_t, cudnnDescriptor_t, cudnnDescriptor_t, cudnnDescriptor_t, int algorithm,
    size_t *bytes) {
    return room_of(algorithm, bytes);
}
FM_API cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnDescriptor_t, cudnnDescriptor_t, cudnnDescriptor_t, cudnnDescriptor_t, int algorithm,
    size_t *bytes) {
    return room_of(algorithm, bytes);
}

/// In float64, rounded once: `left` times `right` where `each` says, into `out` of the shape `to`.
template <class F>
cudnnStatus_t convolve_with(
    cudnnHandle_t handle, const Convolved &problem, const Shaped &to, const void *alpha, const void *beta,
    const void *left, const void *right, void *out, void *room, size_t bytes, const char *name, F each) {
    auto work = std::make_shared<Work>();
    work->reads.swap(declared_reads);
    work->writes.swap(declared_writes);
    work->kernel = true;
    const std::shared_ptr<CUstream> found = convolvers().find(handle);
    const std::shared_ptr<Stream> stream = found == nullptr ? nullptr : stream_of(*found);
    if (stream == nullptr || stream->device != current || bytes < ROOM) {
        return CUDNN_BAD_PARAM;
    }
    const int type = to.type;
    const bool wide = type == 1;
    const double scale = wide ? *(const double *)alpha : *(const float *)alpha;
    const double kept = wide ? *(const double *)beta : *(const float *)beta;
    static const std::string &any = *new std::string(name);
    work->name = &any;
    const bool rounds = type == FLOAT32 && problem.how.math != MULTIPLY_ADD;
    const int number = type == 9 ? (int)BFLOAT16 : type; // cuBLAS numbers the others alike
    work->run = [=](unsigned) {
        memset(room, 0xff, bytes);
        std::vector<double> sums(to.count());
        problem.products([&](long long x, long long w, long long y) {
            const auto [l, r, o] = each(x, w, y);
            const double a = load(left, number, l), b = load(right, number, r);
            sums[o] += rounds ? rounded(a) * rounded(b) : a * b;
        });
        for (long long i = 0; i < to.count(); ++i) {
            store(out, number, i, scale * sums[i] + (kept == 0 ? 0 : kept * load(out, number, i)));
        }
        return std::string();
    };
    return submit(*stream, work) == CUDA_SUCCESS ? CUDNN_SUCCESS : CUDNN_NOT_SUPPORTED;
}

struct Places {
    long long left, right, out;
};

FM_API cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t handle, const void *alpha, cudnnDescriptor_t x, const void *data, cudnnDescriptor_t w,
    const void *weight, cudnnDescriptor_t how, int, void *room, size_t bytes, const void *beta, cudnnDescriptor_t y,
    void *out) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    Convolved problem;
    if (!convolved(problem, x, w, y, how)) {
        return CUDNN_BAD_PARAM;
    }
    return convolve_with(
        handle, problem, problem.y, alpha, beta, data, weight, out, room, bytes, "cudnnConvolutionForward",
        [](long long x, long long w, long long y) { return Places{x, w, y}; });
}
FM_API cudnnStatus_t cudnnConvolutionBackwardData(
    cudnnHandle_t handle, const void *alpha, cudnnDescriptor_t w, const void *weight, cudnnDescriptor_t y,
    const void *grad, cudnnDescriptor_t how, int, void *room, size_t bytes, const void *beta, cudnnDescriptor_t x,
    void *out) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    Convolved problem;
    if (!convolved(problem, x, w, y, how)) {
        return CUDNN_BAD_PARAM;
    }
    return convolve_with(
        handle, problem, problem.x, alpha, beta, weight, grad, out, room, bytes, "cudnnConvolutionBackwardData",
        [](long long x, long long w, long long y) { return Places{w, y, x}; });
}
FM_API cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t handle, const void *alpha, cudnnDescriptor_t x, const void *data, cudnnDescriptor_t y,
    const void *grad, cudnnDescriptor_t how, int, void *room, size_t bytes, const void *beta, cudnnDescriptor_t w,
    void *out) {
    std::lock_guard<std::mutex> lock(machine().mutex);
    Convolved problem;
    if (!convolved(problem, x, w, y, how)) {
        return CUDNN_BAD_PARAM;
    }
    return convolve_with(
        handle, problem, problem.w, alpha, beta, data, grad, out, room, bytes, "cudnnConvolutionBackwardFilter",
        [](long long x, long long w, long long y) { return Places{x, y, w}; });
}

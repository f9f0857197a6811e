// The part of libcuda's binary interface that the host driver has: its types, its numbers, its errors.
#pragma once
#include <stddef.h>

#define FM_API extern "C" __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

// Name, number and meaning of each error.
#define FM_ERRORS(X) \
    X(CUDA_SUCCESS, 0, "no error") \
    X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument") \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory") \
    X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error") \
    X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected") \
    X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal") \
    X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context") \
    X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle") \
    X(CUDA_ERROR_ILLEGAL_STATE, 401, "the operation cannot be performed in the present state") \
    X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found") \
    X(CUDA_ERROR_NOT_READY, 600, "device not ready") \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered") \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch") \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated") \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled") \
    X(CUDA_ERROR_ASSERT, 710, "device-side assert triggered") \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, \
      "part or all of the requested memory range is already mapped") \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, \
      "pointer does not correspond to a registered memory region") \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address") \
    X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, \
      "operation not permitted when stream is capturing") \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, \
      "operation failed due to a previous error during capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, \
      "operation would result in a merge of separate capture sequences") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, "capture was not ended in the same stream as it began") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work") \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, \
      "dependency created on uncaptured work in another stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, \
      "operation would make the legacy stream depend on a capturing blocking stream") \
    X(CUDA_ERROR_CAPTURED_EVENT, 907, \
      "operation not permitted on an event last recorded in a capturing stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, \
      "attempt to terminate a thread-local capture sequence from another thread") \
    X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

#define FM_ERROR_NUMBER(NAME, NUMBER, TEXT) NAME = NUMBER,
enum { FM_ERRORS(FM_ERROR_NUMBER) };
#undef FM_ERROR_NUMBER

struct ErrorText {
    CUresult code;
    const char *name, *text;
};

inline const ErrorText *error_text(CUresult code) {
#define FM_ERROR_ROW(NAME, NUMBER, TEXT) {NUMBER, #NAME, TEXT},
    static const ErrorText all[] = {FM_ERRORS(FM_ERROR_ROW)};
#undef FM_ERROR_ROW
    for (const ErrorText &one : all) {
        if (one.code == code) {
            return &one;
        }
    }
    return nullptr;
}

// What a device tells of itself, by the numbers of `CUdevice_attribute`: a small GPU of the
// architecture 8.0, which has one multiprocessor so that grids stay small.
inline bool attribute(int number, int *value) {
    static const int all[][2] = {
        {1, 1024},        // threads of a block
        {2, 1024},        // and along each axis
        {3, 1024},        //
        {4, 64},          //
        {5, 2147483647},  // blocks of a grid along each axis
        {6, 65535},       //
        {7, 65535},       //
        {8, 49152},       // bytes of shared memory of a block
        {10, 32},         // threads of a warp
        {12, 65536},      // registers of a block
        {13, 1000000},    // kilohertz
        {15, 1},          // copies beside kernels
        {16, 1},          // multiprocessors
        {18, 0},          // shares the memory of the host
        {19, 1},          // maps the memory of the host
        {20, 0},          // compute mode: any thread may use it
        {31, 1},          // kernels beside kernels
        {36, 1000000},    // kilohertz of the memory
        {37, 256},        // bits of its bus
        {38, 1 << 20},    // bytes of the second cache
        {39, 2048},       // threads of a multiprocessor
        {40, 2},          // engines that copy
        {41, 1},          // one address space
        {75, 8},          // the architecture
        {76, 0},          //
        {78, 0},          // priorities of streams
        {81, 167936},     // bytes of shared memory of a multiprocessor
        {82, 65536},      // registers of a multiprocessor
        {83, 0},          // managed memory
        {95, 0},          // cooperative launches
        {97, 166912},     // bytes of shared memory that a block may ask for
        {106, 32},        // blocks of a multiprocessor
        {115, 0},         // CUDA's own pools
    };
    for (const auto &row : all) {
        if (row[0] == number) {
            *value = row[1];
            return true;
        }
    }
    return false;
}

"""The host driver through ctypes, as a program sees CUDA's."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy as np

from ferromix.dispatch import host_driver

SOURCE = r"""
extern "C" __global__ void combine(float *out, const float *x, const float *y, float a, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        out[i] = x[i] * a + y[i];
    }
}
extern "C" __global__ void apart(int unused) {
    if (threadIdx.x == 0) {
        __syncthreads();
    } else {
        __syncwarp(1);
    }
}
"""
N = 16
SIZE = 4 * N

EAGER, ON_WAIT, RANDOM, STARVE = POLICIES = range(4)
THREADS = 4


class CudaError(RuntimeError):
    def __init__(self, symbol: str, code: int, text: str) -> None:
        super().__init__(f"{symbol}: {code} {text}")
        self.code = code


class Gpus:
    """A fresh set of devices; calls raise :class:`CudaError`."""

    def __init__(self, policy: int = RANDOM, seed: int = 0) -> None:
        self.library = library = ctypes.CDLL(str(host_driver.library()))
        library.fm_host_function.restype = c_void_p
        library.fm_host_races.restype = ctypes.c_char_p
        library.fm_host_error.restype = ctypes.c_char_p
        library.fm_host_reset()
        library.fm_host_schedule(c_int(policy), c_ulonglong(seed))
        self.call("cuInit", c_uint(0))
        self.contexts = [self.make("cuDevicePrimaryCtxRetain", c_int(i)) for i in range(2)]
        self.use(0)

    def code(self, symbol, *args):
        return getattr(self.library, symbol)(*args)

    def call(self, symbol, *args):
        code = self.code(symbol, *args)
        if code != 0:
            raise CudaError(symbol, code, self.library.fm_host_error().decode())

    def make(self, symbol, *args):
        """What a call writes to the place of its first argument."""
        value = c_void_p()
        self.call(symbol, byref(value), *args)
        return value

    def use(self, device):
        self.call("cuCtxSetCurrent", self.contexts[device])

    def stream(self):
        return self.make("cuStreamCreate", c_uint(1))

    def event(self):
        return self.make("cuEventCreate", c_uint(2))

    def alloc(self, size):
        return self.make("cuMemAlloc_v2", c_size_t(size)).value

    def free(self, address):
        self.call("cuMemFree_v2", c_ulonglong(address))

    def record(self, event, stream):
        self.call("cuEventRecord", event, stream)

    def wait(self, stream, event):
        self.call("cuStreamWaitEvent", stream, event, c_uint(0))

    def synchronize(self, stream):
        self.call("cuStreamSynchronize", stream)

    def copy_in(self, address, x, stream):
        source = c_void_p(x.ctypes.data)
        self.call("cuMemcpyHtoDAsync_v2", c_ulonglong(address), source, c_size_t(x.nbytes), stream)

    def copy_out(self, x, address, stream):
        target = c_void_p(x.ctypes.data)
        self.call("cuMemcpyDtoHAsync_v2", target, c_ulonglong(address), c_size_t(x.nbytes), stream)

    def copy(self, to, source, size, stream):
        ends = c_ulonglong(to), c_ulonglong(source)
        self.call("cuMemcpyDtoDAsync_v2", *ends, c_size_t(size), stream)

    def copy_peer(self, to, to_device, source, device, size, stream):
        ends = (
            (c_ulonglong(to), self.contexts[to_device]),
            (
                c_ulonglong(source),
                self.contexts[device],
            ),
        )
        self.call("cuMemcpyPeerAsync", *ends[0], *ends[1], c_size_t(size), stream)

    def fill(self, address, value, size, stream):
        where = c_ulonglong(address), ctypes.c_ubyte(value)
        self.call("cuMemsetD8Async", *where, c_size_t(size), stream)

    def register(self, x):
        where = c_void_p(x.ctypes.data), c_size_t(x.nbytes)
        self.call("cuMemHostRegister_v2", *where, c_uint(0))

    def read(self, address, count, stream):
        out = np.zeros(count, np.float32)
        self.copy_out(out, address, stream)
        return out

    def function(self, path, entry):
        found = self.library.fm_host_function(str(path).encode(), entry.encode())
        return None if found is None else c_void_p(found)

    def launch(self, function, stream, args, reads=(), writes=(), grid=1, threads=THREADS):
        def pairs(ranges):
            return (c_ulonglong * (2 * len(ranges)))(*(end for pair in ranges for end in pair))

        counts = c_size_t(len(reads)), c_size_t(len(writes))
        self.library.fm_host_declare(pairs(reads), counts[0], pairs(writes), counts[1])
        given = (c_void_p * max(len(args), 1))(*map(ctypes.addressof, args))
        sizes = *map(c_uint, (grid, 1, 1, threads, 1, 1)), c_uint(0)
        self.call("cuLaunchKernel", function, *sizes, stream, given, None)

    def races(self):
        return self.library.fm_host_races().decode()

    def sizes(self):
        """Pieces of memory that the clocks know, items that wait, lanes."""
        out = (c_size_t * 3)()
        self.library.fm_host_sizes(out)
        return list(out)


def combine(gpus, path, stream, out, x, y, a):
    args = c_ulonglong(out), c_ulonglong(x), c_ulonglong(y), c_float(a), c_int(N)
    spans = [(at, at + SIZE) for at in (x, y, out)]
    gpus.launch(gpus.function(path, "combine"), stream, args, spans[:2], spans[2:])


def counted(start=0.0):
    return np.arange(N, dtype=np.float32) + np.float32(start)


def refused(gpus, symbol, *args):
    code = gpus.code(symbol, *args)
    name = ctypes.c_char_p()
    gpus.call("cuGetErrorName", c_int(code), byref(name))
    return name.value.decode().removeprefix("CUDA_ERROR_")

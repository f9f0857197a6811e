"""Compile a CUDA kernel of one's own at run time, and launch it on arrays.

The kernel adds a multiple of one array to another; a second one does the same for doubles, from the
same template. Launches are operations of the engine: each runs after whatever was pushed before it
on the same arrays, and whoever reads the result waits for it.

    python examples/rtc_axpy.py --size 1000000

It needs a GPU. To try it without one, a C++ compiler stands in, slowly:

    FERROMIX_GPU_DRIVER=host python examples/rtc_axpy.py
"""

from __future__ import annotations

import argparse

import numpy as np

import ferromix as mx

SOURCE = r"""
template <typename T>
__device__ void add_multiple(const T *x, T *y, T alpha, int size) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < size; i += gridDim.x * blockDim.x)
        y[i] += alpha * x[i];
}

extern "C" __global__ void saxpy(const float *x, float *y, float alpha, int size) {
    add_multiple(x, y, alpha, size);
}

extern "C" __global__ void daxpy(const double *x, double *y, double alpha, int size) {
    add_multiple(x, y, alpha, size);
}
"""
SIGNATURE = "const {0} *x, {0} *y, {0} alpha, int size"
THREADS = 256
KERNELS = {"saxpy": ("float", "float32"), "daxpy": ("double", "float64")}


def launch(module: mx.rtc.CudaModule, name: str, size: int, alpha: float) -> None:
    """Launches twice, between operators of the library, and compares with NumPy."""
    kind, dtype = KERNELS[name]
    gpu = mx.gpu(0)
    axpy = module.get_kernel(name, SIGNATURE.format(kind))
    given = np.random.default_rng(0).random(size).astype(dtype)
    x = mx.nd.array(given, ctx=gpu, dtype=dtype)
    y = mx.nd.ones((size,), ctx=gpu, dtype=dtype)
    blocks = min(1024, (size + THREADS - 1) // THREADS)
    for _ in range(2):
        axpy.launch([x, y, alpha, size], gpu, (blocks, 1, 1), (THREADS, 1, 1))
    y *= 2
    error = np.abs(y.asnumpy() - 2 * (1 + 2 * alpha * given)).max()
    print(f"{name}: {size} elements, the largest difference from NumPy is {error:.1e}")


def main() -> None:
    """Runs both kernels, and one that does not compile."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--alpha", type=float, default=3.0)
    args = parser.parse_args()
    if not mx.num_gpus():
        print("this example needs a GPU; with FERROMIX_GPU_DRIVER=host a C++ compiler stands in")
        return
    module = mx.rtc.CudaModule(SOURCE)
    for name in KERNELS:
        launch(module, name, args.size, args.alpha)
    try:
        x = mx.nd.ones((1,), ctx=mx.gpu(0))
        module.get_kernel("caxpy", "float *x").launch([x], mx.gpu(0), (1, 1, 1), (1, 1, 1))
    except mx.MXNetError as error:
        print(f"refused: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()

"""Kernels of one's own: what they compute, when they run, and what is wrong with a launch."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import ArgumentTypeError, DeviceError, InvalidArgumentError

from .device import EAGER, HOST, ON_WAIT, RANDOM, STARVED, races, schedule

GPU = mx.gpu(0)
TYPES = {
    "float": "float32",
    "double": "float64",
    "uint8_t": "uint8",
    "int8_t": "int8",
    "char": "int8",
    "int": "int32",
    "int32_t": "int32",
    "int64_t": "int64",
}
SOURCE = """
#define AXPY(NAME, T) \\
    extern "C" __global__ void axpy_##NAME(const T *x, T *y, T alpha, int n) { \\
        int i = blockIdx.x * blockDim.x + threadIdx.x; \\
        if (i < n) y[i] += alpha * x[i]; \\
    }
AXPY(float, float) AXPY(double, double) AXPY(uint8_t, unsigned char) AXPY(int8_t, signed char)
AXPY(char, char) AXPY(int, int) AXPY(int32_t, int) AXPY(int64_t, long long)

extern "C" __global__ void places(int *y) {
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    y[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 100 + thread;
}
"""


@pytest.fixture(scope="module")
def module():
    return mx.rtc.CudaModule(SOURCE)


@pytest.fixture
def axpy(module):
    return module.get_kernel("axpy_float", "const float *x, float *y, float alpha, int n")


def ones(count=3, **more):
    return mx.nd.ones((count,), ctx=GPU, **more)


@pytest.mark.parametrize("kind", TYPES)
def test_axpy_of_each_type(module, kind):
    signature = f"const {kind} *x, {kind} *y, {kind} alpha, int n"
    kernel = module.get_kernel(f"axpy_{kind}", signature)
    x = np.arange(40).astype(TYPES[kind])
    a, b = mx.nd.array(x, ctx=GPU, dtype=x.dtype), mx.nd.ones((40,), ctx=GPU, dtype=x.dtype)
    kernel.launch([a, b, 2, 37], GPU, (3, 1, 1), (16, 1, 1))
    expected = np.ones_like(x)
    expected[:37] += 2 * x[:37]
    np.testing.assert_array_equal(b.asnumpy(), expected)
    np.testing.assert_array_equal(a.asnumpy(), x)


@pytest.mark.parametrize("alpha", [3, 3.0, np.float32(3), np.float64(3), np.int8(3), True + 2])
@pytest.mark.parametrize("count", [3, np.int64(3), 3.7])
def test_numbers_of_python_and_numpy(axpy, alpha, count):
    """As in MXNet, a fraction for an int is cut off."""
    y = ones()
    axpy.launch((ones(), y, alpha, count), "gpu(0)", [1, 1, 1], np.array([4, 1, 1]))
    assert y.asnumpy().tolist() == [4, 4, 4]


def test_signatures_may_leave_out_names_and_say_more(module):
    for signature in (
        "const float *, float *, float, int",
        "const  float * __restrict__ x,float*__restrict__ y , float  alpha,int n",
    ):
        y = ones()
        module.get_kernel("axpy_float", signature).launch(
            [ones(), y, 1, 3], GPU, (1, 1, 1), (3, 1, 1)
        )
        assert y.asnumpy().tolist() == [2, 2, 2]


def test_grids_and_blocks_have_three_axes(module):
    y = mx.nd.zeros((2 * 3 * 2 * 2 * 1 * 4,), ctx=GPU, dtype="int32")
    module.get_kernel("places", "int *y").launch([y], GPU, (2, 3, 2), (2, 1, 4))
    expected = [block * 100 + thread for block in range(12) for thread in range(8)]
    assert y.asnumpy().tolist() == expected


def test_views_are_written_through(axpy):
    """Without gaps in place, with gaps by a copy."""
    whole = mx.nd.zeros((4, 3), ctx=GPU)
    axpy.launch([ones(), whole[1], 5, 3], GPU, (1, 1, 1), (3, 1, 1))
    source = mx.nd.array(np.arange(6).reshape(3, 2), ctx=GPU)
    axpy.launch([source.T[1], whole[2], 1, 3], GPU, (1, 1, 1), (3, 1, 1))
    expected = [[0, 0, 0], [5, 5, 5], [1, 3, 5], [0, 0, 0]]
    assert whole.asnumpy().tolist() == expected


def test_the_same_array_twice(axpy):
    y = mx.nd.array([1, 2, 3], ctx=GPU)
    axpy.launch([y, y, 2, 3], GPU, (1, 1, 1), (3, 1, 1))
    assert y.asnumpy().tolist() == [3, 6, 9]


@pytest.mark.parametrize("policy", [EAGER, ON_WAIT, RANDOM, STARVED])
def test_launches_keep_their_place_among_operations(axpy, policy):
    for seed in range(20):
        schedule(policy, seed)
        x, y = ones(16), mx.nd.zeros((16,), ctx=GPU)
        expected = np.zeros(16, np.float32)
        values = np.ones(16, np.float32)
        for step in range(4):
            axpy.launch([x, y, step, 16], GPU, (2, 1, 1), (8, 1, 1))
            expected += step * values
            x = x + 1  # the old memory is free at once
            values = values + 1
            axpy.launch([y, x, 1, 16], GPU, (1, 1, 1), (16, 1, 1))
            values = values + expected
            y *= 2
            expected *= 2
        np.testing.assert_array_equal(y.asnumpy(), expected)
        np.testing.assert_array_equal(x.asnumpy(), values)
        assert races() == "", f"seed {seed}"
    schedule(EAGER)


def test_launches_under_autograd_are_not_recorded(axpy):
    x, y = ones(), ones()
    x.attach_grad()
    with mx.autograd.record():
        z = x * 2
        axpy.launch([z.detach(), y, 1, 3], GPU, (1, 1, 1), (3, 1, 1))
    z.backward()
    assert x.grad.asnumpy().tolist() == [2, 2, 2]
    assert y.asnumpy().tolist() == [3, 3, 3]


BROKEN = """extern "C" __global__ void broken(float *y) {
    int place = threadIdx.x;
    y[place] = no_such_thing;
}
"""


def test_a_text_that_does_not_compile():
    """The compiler's message counts the lines of the text."""
    kernel = mx.rtc.CudaModule(BROKEN).get_kernel("broken", "float *y")
    with pytest.raises(InvalidArgumentError, match="broken does not compile") as caught:
        kernel.launch([ones()], GPU, (1, 1, 1), (3, 1, 1))
    message = str(caught.value)
    assert "no_such_thing" in message
    assert ":3:" in message if HOST else "(3)" in message
    assert (ones() + 1).asnumpy().tolist() == [2, 2, 2]


def test_a_kernel_that_there_is_not(module):
    with pytest.raises(InvalidArgumentError, match="no kernel 'absent'"):
        module.get_kernel("absent", "float *y").launch([ones()], GPU, (1, 1, 1), (3, 1, 1))


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("const foo *x", "argument 0 .* type 'foo'; known: float, double"),
        ("float *x, float **y", "cannot read argument 1"),
        ("float *x,", "cannot read argument 1"),
        ("", "cannot read argument 0"),
        ("const", "cannot read argument 0"),
        ("float x[3]", "cannot read argument 0"),
    ],
)
def test_signatures_that_cannot_be_read(module, signature, message):
    with pytest.raises(InvalidArgumentError, match=message):
        module.get_kernel("axpy_float", signature)


@pytest.mark.parametrize(
    ("args", "kind", "message"),
    [
        (lambda: [ones(), ones(), 1.0], InvalidArgumentError, "has 4 arguments, got 3"),
        (lambda: [ones(), ones(), 1.0, 3, 4], InvalidArgumentError, "has 4 arguments, got 5"),
        (lambda: [ones(), ones(), "1", 3], ArgumentTypeError, "'alpha' must be a number"),
        (lambda: [ones(), ones(), ones(), 3], ArgumentTypeError, "'alpha' must be a number"),
        (lambda: [ones(), 1.0, 1.0, 3], ArgumentTypeError, "'y' must be an NDArray"),
        (lambda: [np.ones(3), ones(), 1.0, 3], ArgumentTypeError, "'x' must be an NDArray"),
        (lambda: [ones(dtype="float64"), ones(), 1, 3], InvalidArgumentError, "must be float32"),
        (
            lambda: [mx.nd.ones((3,), ctx=mx.cpu()), ones(), 1, 3],
            InvalidArgumentError,
            r"'x' is on cpu\(0\)",
        ),
        (lambda: [ones(), ones(), 1, 2**31], InvalidArgumentError, "'n' is int, not 2147483648"),
        (lambda: [ones(), ones(), 1, float("nan")], InvalidArgumentError, "'n' is int, not nan"),
        (lambda: [ones(), ones(), 1, float("inf")], InvalidArgumentError, "'n' is int, not inf"),
        (lambda: [ones(), ones(), 1e300, 3], InvalidArgumentError, "'alpha' is float"),
        (
            lambda: [mx.nd.ones((1, 3), ctx=GPU).tostype("csr"), ones(), 1, 3],
            InvalidArgumentError,
            "'x' must be a dense array, got a csr one",
        ),
    ],
)
def test_arguments_that_do_not_fit(axpy, args, kind, message):
    with pytest.raises(kind, match=f"axpy_float: .*{message}"):
        axpy.launch(args(), GPU, (1, 1, 1), (3, 1, 1))


@pytest.mark.parametrize(
    ("ctx", "kind", "message"),
    [
        (mx.cpu(), InvalidArgumentError, r"run on a GPU, got cpu\(0\)"),
        (mx.gpu(63), InvalidArgumentError, r"'x' is on gpu\(0\), the launch on gpu\(63\)"),
    ],
)
def test_launches_elsewhere(axpy, ctx, kind, message):
    with pytest.raises(kind, match=message):
        axpy.launch([ones(), ones(), 1, 3], ctx, (1, 1, 1), (3, 1, 1))


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ((1, 1), (1, 1, 1), "grid_dims must be three"),
        ((1, 1, 0), (1, 1, 1), "grid_dims must be three"),
        ((1, 1, 1), (-1, 1, 1), "block_dims must be three"),
        ((1.0, 1, 1), (1, 1, 1), "grid_dims must be three"),
        ((1, 2**16, 1), (1, 1, 1), "grid_dims must be three"),
        ((2**40, 1, 1), (1, 1, 1), "grid_dims must be three"),
        ((1, 1, 1), (2048, 1, 1), "block_dims must be three"),
        ((1, 1, 1), (1, 1, 65), "block_dims must be three"),
        ((1, 1, 1), (64, 32, 1), "block_dims must be at most 1024 threads in all"),
    ],
)
def test_grids_that_no_gpu_takes(axpy, grid, block, message):
    with pytest.raises(InvalidArgumentError, match=f"axpy_float: {message}"):
        axpy.launch([ones(), ones(), 1, 3], GPU, grid, block)


@pytest.mark.parametrize("shared", [-1, 2**31, "a", 1.5])
def test_shared_memory_that_is_no_number_of_bytes(axpy, shared):
    with pytest.raises(InvalidArgumentError, match="axpy_float: shared_mem must be an int"):
        axpy.launch([ones(), ones(), 1, 3], GPU, (1, 1, 1), (3, 1, 1), shared)


def test_more_shared_memory_than_a_gpu_has(axpy):
    """What the driver refuses surfaces at the wait, with the kernel and the line."""
    y = ones()
    axpy.launch([ones(), y, 1, 3], GPU, (1, 1, 1), (3, 1, 1), 10**7)
    with pytest.raises(DeviceError, match=r"axpy_float: cuLaunchKernel(.|\n)*test_rtc\.py:"):
        y.wait_to_read()
    assert (ones() + 1).asnumpy().tolist() == [2, 2, 2]


def test_modules_of_other_things_than_texts():
    with pytest.raises(ArgumentTypeError, match="source must be a string"):
        mx.rtc.CudaModule(b"")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="options must be strings"):
        mx.rtc.CudaModule("", options=(1,))  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="exports must be strings"):
        mx.rtc.CudaModule("", exports=(None,))  # type: ignore[arg-type]

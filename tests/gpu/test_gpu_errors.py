"""What a user sees where GPUs are missing, break or are full: a clear message, the right class."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import gpu
from ferromix.error import DeviceError, InvalidArgumentError, MXNetError, OutOfMemoryError

from .device import HOST

stand_in = pytest.mark.skipif(not HOST, reason="only the stand-in fails when it is told to")

PROLOGUE = """
import ctypes, sys
import numpy as np
import ferromix as mx
from ferromix.error import DeviceError, InvalidArgumentError, MXNetError, OutOfMemoryError

def stand_in():
    from ferromix.dispatch import host_driver
    return ctypes.CDLL(str(host_driver.library()))

def fails(kind, call):
    try:
        call()
    except kind as error:
        print(f"{type(error).__name__}: {error}")
    else:
        raise SystemExit(f"no error at line {sys._getframe(1).f_lineno}")
"""


def run(script: str, driver: str = "host", **environment: str) -> str:
    """What a script writes in a new process, which ends by itself and well."""
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + script],
        env={**os.environ, "FERROMIX_GPU_DRIVER": driver, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not HOST, reason="this machine has a driver")
def test_without_a_driver_all_else_works_and_a_gpu_says_what_to_do():
    out = run(
        """
assert mx.num_gpus() == 0
assert mx.gpu(0) != mx.cpu(0)
fails(DeviceError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)))
fails(DeviceError, lambda: mx.nd.ones((2,)).as_in_context(mx.gpu(1)))
fails(MXNetError, lambda: mx.context.gpu_memory_info(0))
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
mx.nd.waitall()
""",
        driver="cuda",
    )
    assert "cannot use gpu(0)" in out
    assert "libcuda.so.1" in out
    assert "use cpu()" in out


def test_without_cupy_a_gpu_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    gpu._cupy.cache_clear()
    with pytest.raises(DeviceError, match=r"CuPy.*ferromix\[cuda12\] or ferromix\[cuda13\]"):
        gpu._Cuda().function("elemwise", "elemwise_copy_float32", 0)


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            RuntimeError("CuPy failed to load libnvrtc.so.12: OSError: cannot open shared object"),
            DeviceError,
            r"cannot use gpu\(1\): CUDA's compiler NVRTC is missing .*ferromix\[cuda12\]",
        ),
        (
            RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient"),
            DeviceError,
            r"cannot use gpu\(1\): NVIDIA's driver is too old for this CuPy .*update it, or",
        ),
        (
            RuntimeError("CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available"),
            DeviceError,
            r"cannot use gpu\(1\): CuPy says RuntimeError: CUDA_ERROR_NO_BINARY_FOR_GPU",
        ),
        (
            RuntimeError("CUDA_ERROR_NOT_FOUND: named symbol not found"),
            InvalidArgumentError,
            "the text has no kernel 'axpy'",
        ),
        (
            InvalidArgumentError('source.cu(3): error: identifier "y" is undefined'),
            InvalidArgumentError,
            r'axpy does not compile:\nsource.cu\(3\): error: identifier "y" is undefined',
        ),
    ],
)
def test_what_cupy_says_comes_with_what_to_do(monkeypatch, error, kind, message):
    def fail(*_):
        raise error

    cuda = SimpleNamespace(Device=lambda number: nullcontext())
    monkeypatch.setattr(gpu, "_cupy", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(gpu, "_kernels", fail)
    with pytest.raises(kind, match=message):
        gpu._Cuda().compiled("text", (), (), "axpy", 1)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler for a library without functions")
def test_a_driver_that_is_too_old(tmp_path):
    """One without a function that there is since CUDA 11."""
    source, library = tmp_path / "old.c", tmp_path / "libold.so"
    source.write_text("int cuInit(unsigned flags) { return 0; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, timeout=60)
    out = run(
        f"""
from ferromix.dispatch import gpu
gpu._Cuda.driver = {str(library)!r}
assert mx.num_gpus() == 0
fails(DeviceError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)))
""",
        driver="cuda",
    )
    assert "cannot use gpu(0): the driver of GPUs has no function 'cu" in out
    assert "it is too old: Ferromix needs one for CUDA 11" in out


def test_a_driver_of_another_name():
    out = run(
        """
fails(InvalidArgumentError, mx.num_gpus)
fails(InvalidArgumentError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)))
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
""",
        driver="cdua",
    )
    assert out.count("FERROMIX_GPU_DRIVER must be 'cuda' or 'host', got 'cdua'") == 2


@stand_in
def test_a_machine_whose_driver_finds_no_gpu():
    out = run(
        """
fails(DeviceError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)))
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
""",
        FERROMIX_HOST_GPUS="0",
    )
    assert "gpu(0)" in out


@pytest.mark.parametrize(
    "use",
    [
        lambda ctx: mx.nd.ones((2,), ctx=ctx),
        lambda ctx: mx.nd.array([1, 2], ctx=ctx),
        lambda ctx: mx.nd.ones((2,)).as_in_context(ctx),
        lambda ctx: mx.nd.ones((2,)).copyto(ctx),
        lambda ctx: mx.random.uniform(shape=(2,), ctx=ctx),
        lambda ctx: mx.context.gpu_memory_info(ctx.device_id),
    ],
)
def test_a_gpu_that_there_is_not(use):
    with pytest.raises(DeviceError, match=r"gpu\(63\)"):
        use(mx.gpu(63))


@stand_in
def test_a_driver_that_does_not_start():
    out = run(
        """
stand_in().fm_host_fail_call(b"cuInit", 999)
fails(DeviceError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)))
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
fails(DeviceError, mx.num_gpus)  # for another reason
""",
        FERROMIX_HOST_GPU_MEMORY="much",
    )
    assert out.count("cuInit: CUDA_ERROR") == 2


@stand_in
def test_calls_that_the_driver_refuses():
    """Each surfaces where values are asked for, and the next works again."""
    out = run(
        """
x = mx.nd.array([1, 2, 3], ctx=mx.gpu(0))
x.wait_to_read()
for symbol, code in (
    ("cuLaunchKernel", 701), ("cuEventSynchronize", 719), ("cuEventRecord", 999),
    ("cuMemcpyDtoHAsync_v2", 719),
):
    stand_in().fm_host_fail_call(symbol.encode(), code)
    y = mx.nd.broadcast_maximum(x, x)
    fails(DeviceError, y.asnumpy)
    print("next")
    mx.nd.waitall()
    assert mx.nd.broadcast_maximum(x, x).asnumpy().tolist() == [1, 2, 3]
    assert x.asnumpy().tolist() == [1, 2, 3]
"""
    )
    launch, wait, mark, copy, _ = out.split("next\n")
    assert "operator broadcast_maximum: cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RES" in launch
    assert "cuEventSynchronize: CUDA_ERROR_LAUNCH_FAILED" in wait
    assert "cuEventRecord: CUDA_ERROR_UNKNOWN" in mark
    for found in (launch, wait, mark):
        assert "operation 'broadcast_maximum', pushed at <string>:" in found
    assert "cuMemcpyDtoHAsync: CUDA_ERROR_LAUNCH_FAILED" in copy  # the user's own call


@stand_in
@pytest.mark.parametrize(
    ("code", "name", "late"),
    [(700, "CUDA_ERROR_ILLEGAL_ADDRESS", True), (719, "CUDA_ERROR_LAUNCH_FAILED", False)],
)
def test_a_kernel_that_breaks_the_device(code, name, late):
    """It surfaces at the wait; nothing hangs afterwards, the CPU works, and the process ends."""
    out = run(
        f"""
x = mx.nd.array([1, 2, 3], ctx=mx.gpu(0))
x.wait_to_read()
driver = stand_in()
driver.fm_host_schedule({int(late)}, ctypes.c_ulonglong(0))
driver.fm_host_fail({code}, ctypes.c_ulonglong(1))
y = mx.nd.broadcast_maximum(x, x)
fails(DeviceError, y.asnumpy)
print("later:")
fails(DeviceError, y.wait_to_read)
fails(DeviceError, x.asnumpy)
fails(MXNetError, lambda: (x + 1).asnumpy())
fails(MXNetError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)).asnumpy())
fails(DeviceError, mx.nd.waitall)
fails(DeviceError, mx.nd.waitall)
assert (mx.nd.ones((2,)) + 1).asnumpy().tolist() == [2, 2]
"""
    )
    first, later = out.split("later:")
    assert name in first
    assert "'broadcast_maximum', pushed at <string>:" in first
    assert later.count(name) == 6


MIB = 1 << 20


@stand_in
def test_exhausted_memory_is_trimmed_then_refused_and_work_goes_on():
    out = run(
        """
gpu = mx.gpu(0)
mx.nd.ones((8,), ctx=gpu).wait_to_read()
stand_in().fm_host_fail_call(b"cuMemAlloc_v2", 2)  # asked for again
for count in range(10_000, 110_000, 10_000):  # together more than there is
    assert mx.nd.ones((count,), ctx=gpu).asnumpy().sum() == count
x = mx.nd.ones((150_000,), ctx=gpu)
x.wait_to_read()
fails(OutOfMemoryError, lambda: mx.nd.ones((200_000,), ctx=gpu).wait_to_read())
fails(MemoryError, lambda: (x + 1).asnumpy())
fails(OutOfMemoryError, lambda: mx.nd.zeros((10**9,), ctx=gpu).asnumpy())
mx.nd.waitall()
x += 1
assert x.asnumpy().sum() == 300_000
assert mx.storage.stats(gpu)["in_use"] == 655_360
del x
assert mx.nd.ones((200_000,), ctx=gpu).asnumpy().sum() == 200_000
""",
        FERROMIX_HOST_GPU_MEMORY=str(MIB),
    )
    assert "cannot allocate 800000 bytes" in out
    assert "on gpu(0)" in out
    assert "in use 655360 bytes" in out
    assert "Free arrays" in out


@pytest.mark.parametrize(
    "operate",
    [
        lambda a, b: a + b,
        lambda a, b: mx.nd.concat(a, b, dim=0),
        lambda a, b: mx.nd.dot(a, b),
        lambda a, b: mx.nd.add_n(a, b),
        lambda a, b: mx.nd.elemwise_add(a, a, out=b),
    ],
)
@pytest.mark.parametrize("other", [mx.cpu(), mx.gpu(1)])
def test_arrays_of_two_devices_in_one_operator(operate, other):
    if other == mx.gpu(1) and mx.num_gpus() < 2:
        pytest.skip("one GPU")
    a, b = mx.nd.ones((2,), ctx=mx.gpu(0)), mx.nd.ones((2,), ctx=other)
    with pytest.raises(InvalidArgumentError, match=r"gpu\(0\).*as_in_context") as caught:
        operate(a, b)
    assert str(other) in str(caught.value)
    assert a.asnumpy().tolist() == b.asnumpy().tolist() == [1, 1]


def test_numpy_gets_copies_of_arrays_on_a_gpu():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = mx.nd.array(values, ctx=mx.gpu(0))
    for found in (np.asarray(x), np.array(x), x.asnumpy(), x.__array__(copy=True)):
        np.testing.assert_array_equal(found, values)
        assert found.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(x.T), values.T)
    assert np.asarray(x, dtype="int32").dtype == np.int32
    assert np.add(values, np.asarray(x)).sum() == 30
    found = np.array(x)
    found[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), values)


def test_no_buffer_is_where_the_cpu_does_not_reach():
    x = mx.nd.ones((2,), ctx=mx.gpu(0))
    with pytest.raises(InvalidArgumentError, match=r"does not reach .*gpu\(0\).*as_in_context"):
        memoryview(x)
    with pytest.raises(InvalidArgumentError, match="as_in_context"):
        np.frombuffer(x, np.float32)
    with pytest.raises(ValueError, match=r"on gpu\(0\).* without a copy"):
        x.__array__(copy=False)
    with pytest.raises(AttributeError, match=r"gpu\(0\)"):
        _ = x.__array_interface__


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_a_process_with_gpu_arrays():
    """CPU arrays work there; GPU arrays work, or a clear error says that they do not."""
    out = run(
        """
import os
x = mx.nd.ones((3,), ctx=mx.gpu(0))
x.wait_to_read()
child = os.fork()
if child == 0:
    assert (mx.nd.ones((3,)) + 1).asnumpy().tolist() == [2, 2, 2]
    try:
        assert (x + 1).asnumpy().tolist() == [2, 2, 2]
    except MXNetError as error:
        print(error)
    del x
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (x + 1).asnumpy().tolist() == [2, 2, 2]
print("done")
"""
    )
    assert out.endswith("done\n")


def test_errors_are_of_classes_that_programs_catch():
    assert issubclass(DeviceError, MXNetError)
    assert issubclass(OutOfMemoryError, MemoryError)
    assert issubclass(InvalidArgumentError, ValueError)


@stand_in
def test_a_driver_of_cuda_s_that_does_not_start():
    """There are no GPUs then, but who wants one hears what the driver says."""
    out = run(
        """
from ferromix.dispatch import gpu
gpu._Cuda.driver = gpu.Host().driver
assert mx.num_gpus() == 0
fails(DeviceError, lambda: mx.nd.ones((2,), ctx=mx.gpu(0)))
""",
        driver="cuda",
        FERROMIX_HOST_GPU_MEMORY="much",
    )
    assert "cannot use gpu(0): cuInit: CUDA_ERROR_INVALID_VALUE" in out

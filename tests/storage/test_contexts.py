"""Arrays in the kinds of memory that the CPU has."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ferromix as mx

MIB = 1 << 20

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:cpu_pinned arrays:RuntimeWarning"),
]


@pytest.fixture(params=["cpu_pinned", "cpu_shared"])
def ctx(request):
    return getattr(mx, request.param)()


def test_contexts_have_mxnets_names(ctx):
    assert ctx == mx.Context(ctx.device_type)
    assert str(ctx) == f"{ctx.device_type}(0)"
    assert ctx != mx.cpu()


def test_arrays_are_made_where_they_are_placed(ctx):
    made = [
        (mx.nd.zeros((2, 3), ctx=ctx), np.zeros((2, 3))),
        (mx.nd.ones((2, 3), ctx, "float64"), np.ones((2, 3))),
        (mx.nd.full((2,), 7, ctx=ctx), np.full(2, 7)),
        (mx.nd.array([[1, 2], [3, 4]], ctx=ctx, dtype="int32"), np.array([[1, 2], [3, 4]])),
        (mx.nd.array(mx.nd.array([5, 6]), ctx=ctx), np.array([5, 6])),
        (mx.nd.arange(3, ctx=ctx), np.arange(3)),
    ]
    for array, expected in made:
        assert array.context == ctx
        np.testing.assert_array_equal(array.asnumpy(), expected)
    with ctx:
        assert mx.nd.empty((3,)).context == ctx
    assert mx.nd.empty((3,)).context == mx.cpu()


def test_copies_go_between_contexts(ctx):
    values = np.arange(12, dtype="float32").reshape(3, 4)
    here = mx.nd.array(values)
    there = here.as_in_context(ctx)
    assert there.context == ctx
    assert there.as_in_context(ctx) is there
    back = there.as_in_context(mx.cpu(0))
    assert back.context == mx.cpu()
    turned = here.reshape((4, 3)).copyto(ctx)
    for array in (there, back, turned.reshape((3, 4)), there.copyto(mx.nd.empty((3, 4)))):
        np.testing.assert_array_equal(array.asnumpy(), values)
    assert there.copyto(ctx) is not there
    for same in (there.copy(), there[1:], there.reshape((12,)), there.astype("float16")):
        assert same.context == ctx


def test_operators_run_on_them_and_answer_on_the_cpu(ctx):
    values = np.arange(12, dtype="float32").reshape(3, 4)
    a, b = mx.nd.array(values, ctx=ctx), mx.nd.array(values)
    for result in (a + 1, a + b, b + a, mx.nd.dot(a, b.T)):
        assert result.context == mx.cpu()
    np.testing.assert_array_equal((a + b).asnumpy(), values * 2)
    np.testing.assert_array_equal(mx.nd.dot(a, b.T).asnumpy(), values @ values.T)
    a[:] = 3
    a += 1
    assert a.context == ctx
    np.testing.assert_array_equal(a.asnumpy(), np.full((3, 4), 4))
    filled = mx.nd.empty((1000,), ctx=ctx)
    assert mx.nd.random.uniform(out=filled) is filled
    assert 0.3 < filled.asnumpy().mean() < 0.7


def test_each_kind_has_accounts_of_its_own(ctx):
    mx.nd.waitall()
    mx.storage.release_all()
    before, plain = mx.storage.stats(ctx), mx.storage.stats()
    array = mx.nd.zeros((3, MIB // 4), ctx=ctx)
    array.wait_to_read()
    assert mx.storage.stats(ctx)["in_use"] - before["in_use"] == 3 * MIB
    assert mx.storage.stats()["in_use"] == plain["in_use"]
    del array
    mx.nd.waitall()
    assert mx.storage.stats(ctx)["cached"] >= 3 * MIB
    mx.storage.trim(ctx=ctx)
    # Small blocks that other threads keep for themselves are out of reach.
    assert mx.storage.stats(ctx)["cached"] < MIB
    mx.storage.set_limit(MIB, ctx)
    try:
        assert (mx.storage.limit(ctx), mx.storage.limit()) == (MIB, None)
        with pytest.raises(MemoryError, match=rf"{ctx.device_type}\(0\).*limit 1048576"):
            mx.nd.zeros((2 * MIB,), ctx=ctx)
    finally:
        mx.storage.set_limit(None, ctx)


def test_a_gpu_that_is_not_there_is_refused():
    for call in (
        lambda: mx.nd.zeros((1,), ctx=mx.gpu(9)),
        lambda: mx.nd.zeros((1,)).as_in_context(mx.gpu(9)),
        lambda: mx.storage.stats(mx.gpu(9)),
    ):
        with pytest.raises(mx.error.DeviceError, match=r"cannot place an array on gpu"):
            call()


def _run(program: str, **env: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), **env},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return run.stdout


def test_memory_that_cannot_be_locked_is_ordinary_and_one_warning_says_so():
    program = """
import os, resource, warnings
import ferromix as mx
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
if os.geteuid() == 0:
    os.setuid(65534)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    small = mx.nd.ones((64,), ctx=mx.cpu_pinned())
    print(len(caught))
    large = [mx.nd.ones((1 << 20,), ctx=mx.cpu_pinned()) for _ in range(2)]
    print(len(caught), caught[0].category.__name__, caught[0].message)
print(large[1].context, float(large[1].asnumpy().sum()))
"""
    lines = _run(program).splitlines()
    assert lines[0] == "0"
    assert lines[1].startswith("1 RuntimeWarning cpu_pinned arrays use ordinary memory")
    assert "RLIMIT_MEMLOCK" in lines[1]
    assert lines[2] == "cpu_pinned(0) 1048576.0"


@pytest.mark.parametrize("device", ["CPU", "CPU_PINNED", "CPU_SHARED"])
def test_the_environment_sets_up_each_pool(device):
    program = f"""
import ferromix as mx
ctx = mx.Context("{device.lower()}")
array = mx.nd.ones((10000,), ctx=ctx)
array.wait_to_read()
print(mx.storage.limit(ctx), mx.storage.stats(ctx)["in_use"])
del array
mx.nd.waitall()
print(mx.storage.stats(ctx)["cached"])
"""
    limit = {f"FERROMIX_{device}_MEM_LIMIT": "64M"}
    mxnet = f"MXNET_{device}_MEM_POOL_"
    round_up = {mxnet + "TYPE": "Round", mxnet + "ROUND_LINEAR_CUTOFF": "20"}
    assert _run(program, **limit).split() == ["67108864", "40960", "40960"]
    assert _run(program, **round_up).split() == ["None", "65536", "65536"]
    assert _run(program, **{mxnet + "TYPE": "Unpooled"}).split() == ["None", "40960", "0"]
    assert _run(program, **{mxnet + "PAGE_SIZE": "1M"}).split() == ["None", str(MIB), str(MIB)]
    reserved = _run(program, **{mxnet + "RESERVE": "99"}).split()
    assert 0 < int(reserved[0]) < 1 << 40

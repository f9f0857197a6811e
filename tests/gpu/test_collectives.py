"""Sums and copies among GPUs by the vendor's library: their values, their order, and without it."""

from __future__ import annotations

import ctypes
import warnings

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import gpu
from ferromix.error import DeviceError
from ferromix.kvstore import devices

from .device import EAGER, HOST, ON_WAIT, RANDOM, STARVED, driver, races, schedule, synchronize

pytestmark = pytest.mark.skipif(not HOST, reason="needs two GPUs, which the stand-in has")
PLACES = [mx.gpu(0), mx.gpu(1)]
TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"]


def arrays(values, dtype="float32"):
    return [mx.nd.array(v, ctx=p, dtype=dtype) for v, p in zip(values, PLACES, strict=True)]


def numbers(x):
    return x.astype("float64").asnumpy()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("root", [0, 1])
def test_sums_and_copies(dtype, root):
    values = np.arange(6.0).reshape(2, 3), np.array([[5, 1, 2], [3, 0, 7.0]])
    parts = arrays(values, dtype)
    total = mx.nd.zeros((2, 3), ctx=PLACES[root], dtype=dtype)
    assert devices.reduce(total, parts)
    np.testing.assert_array_equal(numbers(total), sum(values))
    assert devices.broadcast(total, parts)
    for part in parts:
        np.testing.assert_array_equal(numbers(part), sum(values))
    assert races() == ""


def test_a_sum_on_the_host():
    total = mx.nd.zeros((3,))
    assert devices.reduce(total, arrays([[1, 2, 3], [10, 20, 30]]))
    assert total.asnumpy().tolist() == [11, 22, 33]


@pytest.mark.parametrize("policy", [EAGER, ON_WAIT, RANDOM, STARVED])
def test_they_keep_their_place_among_operations(policy):
    """Parts and sums change before and after, and are freed while streams are late."""
    for seed in range(25):
        schedule(policy, seed)
        rng = np.random.default_rng(seed)
        values = [rng.integers(-3, 4, 16).astype(np.float32) for _ in PLACES]
        whole = np.zeros(16, np.float32)
        parts, root = arrays(values), seed % 2
        total = mx.nd.zeros((16,), ctx=PLACES[root])
        for _ in range(6):
            kind, which = rng.integers(0, 5), int(rng.integers(0, 2))
            if kind == 0:
                assert devices.reduce(total, parts)
                whole = values[0] + values[1]
            elif kind == 1:
                assert devices.broadcast(total, parts)
                values = [whole.copy(), whole.copy()]
            elif kind == 2:
                parts[which] += 1
                values[which] += 1
            elif kind == 3:
                parts[which] = parts[which] * 2  # the old memory is free at once
                values[which] = values[which] * 2
            else:
                total -= 1
                whole = whole - 1
        for found, expected in zip([total, *parts], [whole, *values], strict=True):
            np.testing.assert_array_equal(found.asnumpy(), expected)
        assert races() == "", f"seed {seed}"


@pytest.mark.parametrize("symbol", ["cuStreamWaitEvent", "cuEventRecord"])
def test_what_orders_them_cannot_be_left_out(symbol):
    """Part and sum were changed on streams of their own, of which one must wait for the other."""
    library = driver()
    for skips in (False, True):
        schedule(ON_WAIT)
        parts = arrays([np.ones(16), np.ones(16)])
        total = mx.nd.zeros((16,), ctx=PLACES[0])
        mx.nd.waitall()
        parts[0] += 1
        total += 1
        if skips:
            mx.nd.ones((4,), ctx=mx.cpu()).wait_to_read()
            library.fm_host_skip(symbol.encode(), ctypes.c_longlong(0))
        devices.reduce(total, parts)
        mx.nd.waitall()
        left_out = bool(library.fm_host_skip(symbol.encode(), ctypes.c_longlong(-1)))
        synchronize()
        assert left_out == skips
        assert bool(races()) == skips


@pytest.mark.parametrize("update", [False, True])
def test_a_store_adds_up_on_the_devices(monkeypatch, update):
    calls = []
    monkeypatch.setattr(devices, "reduce", lambda *a: calls.append("reduce") or reduce(*a))
    monkeypatch.setattr(devices, "broadcast", lambda *a: calls.append("copy") or broadcast(*a))
    store = mx.kv.create("device")
    store.init("w", mx.nd.ones((4,), ctx=PLACES[0]))
    if update:
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    grads, out = arrays([np.full(4, 2), np.full(4, 4)]), arrays([np.zeros(4)] * 2)
    store.push("w", grads)
    store.pull("w", out)
    expected = 1 - 0.5 * 6 if update else 6
    assert [o.asnumpy().tolist() for o in out] == [[expected] * 4] * 2
    assert [g.asnumpy().tolist() for g in grads] == [[2] * 4, [4] * 4]
    assert calls == ["reduce", "copy"]
    assert races() == ""


reduce, broadcast = devices.reduce, devices.broadcast


def test_what_is_left_to_the_caller():
    """One device, two arrays on one, several types, the host."""
    a, b = arrays([np.ones(4), np.ones(4)])
    total = mx.nd.zeros((4,), ctx=PLACES[0])
    for parts in (
        [a],
        [a, mx.nd.ones((4,), ctx=PLACES[0])],
        [a, b.astype("float64")],
        [a, mx.nd.ones((4,))],
    ):
        assert not devices.reduce(total, parts)
        assert not devices.broadcast(total, parts)
    assert not devices.reduce(mx.nd.zeros((4,), ctx=PLACES[0], dtype="float64"), [a, b])
    assert not devices.broadcast(a, [a, b])


def test_an_error_of_the_library():
    a, b = arrays([np.ones(4), np.ones(4)])
    total = mx.nd.zeros((4,), ctx=PLACES[0])
    assert devices.reduce(total, [a, b])
    mx.nd.waitall()
    driver().fm_host_fail_call(b"ncclGroupEnd", 999)
    devices.reduce(total, [a, b])
    with pytest.raises(DeviceError, match=r"ncclGroupEnd: unhandled.*FERROMIX_GPU_NCCL=0"):
        total.wait_to_read()
    mx.nd.waitall()
    again = mx.nd.zeros((4,), ctx=PLACES[0])
    assert devices.reduce(again, [a, b])
    assert again.asnumpy().tolist() == [2] * 4


def test_without_the_library_that_is_said_once(monkeypatch):
    monkeypatch.setattr(gpu.Host, "collectives", lambda self: None)
    monkeypatch.setenv("FERROMIX_GPU_FALLBACK_LOG", "1")
    gpu.has_collectives.cache_clear()
    try:
        store = mx.kv.create("device")
        store.init("w", mx.nd.zeros((4,), ctx=PLACES[0]))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for _ in range(2):
                store.push("w", arrays([np.full(4, 2), np.full(4, 4)]))
        assert [str(w.message).split(",")[0] for w in told] == [
            "arrays of several GPUs are added up by copies"
        ]
        out = mx.nd.zeros((4,))
        store.pull("w", out)
        assert out.asnumpy().tolist() == [6] * 4
    finally:
        gpu.has_collectives.cache_clear()


def test_the_switch(monkeypatch):
    monkeypatch.setenv("FERROMIX_GPU_NCCL", "0")
    gpu.has_collectives.cache_clear()
    try:
        assert not gpu.has_collectives()
    finally:
        gpu.has_collectives.cache_clear()

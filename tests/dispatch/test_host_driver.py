"""The host driver: what CUDA promises holds, and what it does not promise fails here."""

from __future__ import annotations

import ctypes
import threading
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from pathlib import Path

import numpy as np
import pytest
from gpus import (
    EAGER,
    ON_WAIT,
    POLICIES,
    RANDOM,
    SIZE,
    SOURCE,
    STARVE,
    CudaError,
    Gpus,
    N,
    combine,
    counted,
    refused,
)
from host import NEEDS_COMPILER

from ferromix.dispatch import host_driver
from ferromix.error import MissingFileError

pytestmark = NEEDS_COMPILER


@pytest.fixture(scope="module")
def path() -> Path:
    return host_driver.text_library(SOURCE)


@pytest.mark.parametrize("policy", POLICIES)
def test_copies_and_launches_of_one_stream_run_in_order(path, policy):
    gpus = Gpus(policy)
    stream, x, y = gpus.stream(), gpus.alloc(SIZE), gpus.alloc(SIZE)
    source = counted()
    gpus.copy_in(x, source, stream)
    source[:] = 7  # pageable memory is staged at the call
    gpus.fill(y, 0, SIZE, stream)
    combine(gpus, path, stream, y, x, x, 2)
    gpus.copy(x, y, SIZE, stream)
    np.testing.assert_array_equal(gpus.read(x, N, stream), counted() * 3)
    assert gpus.races() == ""


def test_memory_starts_as_nan_and_is_poisoned_when_it_is_freed():
    gpus = Gpus(EAGER)
    stream, x = gpus.stream(), gpus.alloc(SIZE)
    assert np.isnan(gpus.read(x, N, stream)).all()
    gpus.copy_in(x, counted(), stream)
    gpus.free(x)
    assert np.isnan(np.frombuffer(ctypes.string_at(x, SIZE), np.float32)).all()
    assert refused(gpus, "cuMemFree_v2", c_ulonglong(x)) == "INVALID_VALUE"
    with pytest.raises(CudaError, match="cuMemcpyHtoDAsync_v2: 1"):
        gpus.copy_in(x, counted(), stream)


def handed_over(policy, seed, path, waits):
    """A value that one stream makes and another reads; with or without a wait between."""
    gpus = Gpus(policy, seed)
    first, second, event = gpus.stream(), gpus.stream(), gpus.event()
    x, y = gpus.alloc(SIZE), gpus.alloc(SIZE)
    gpus.copy_in(x, counted(), first)
    gpus.record(event, first)
    if waits:
        gpus.wait(second, event)
    combine(gpus, path, second, y, x, x, 1)
    return gpus.read(y, N, second), gpus.races()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_wait_orders_streams(policy, seed, path):
    value, races = handed_over(policy, seed, path, waits=True)
    np.testing.assert_array_equal(value, counted() * 2)
    assert races == ""


@pytest.mark.parametrize("policy", POLICIES)
def test_a_missing_wait_is_a_race_under_every_schedule(policy, path):
    results = [handed_over(policy, seed, path, waits=False) for seed in range(20)]
    assert all("'combine' on stream 3" in races for _, races in results)
    assert all("'copy to the device' on stream 2 of device 0 writes" in r for _, r in results)
    wrong = [not np.array_equal(value, counted() * 2) for value, _ in results]
    assert any(wrong) == (policy != EAGER)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_wait_is_for_the_last_record_before_it(policy, path):
    gpus = Gpus(policy)
    first, second, event = gpus.stream(), gpus.stream(), gpus.event()
    x, y = gpus.alloc(SIZE), gpus.alloc(SIZE)
    gpus.wait(second, event)  # never recorded: nothing to wait for
    gpus.record(event, first)
    gpus.copy_in(x, counted(), first)
    gpus.record(event, first)
    gpus.wait(second, event)
    combine(gpus, path, second, y, x, x, 1)
    gpus.record(event, second)  # changes nothing for the wait above
    np.testing.assert_array_equal(gpus.read(y, N, second), counted() * 2)
    assert gpus.races() == ""
    gpus.wait(first, event)
    gpus.copy_in(x, counted(5), first)
    gpus.record(event, first)
    gpus.copy_in(x, counted(6), first)
    gpus.wait(second, event)  # of the first of the two
    combine(gpus, path, second, y, x, x, 1)
    gpus.call("cuCtxSynchronize")
    assert "'combine' on stream 3 of device 0 reads" in gpus.races()


def test_nothing_runs_until_the_host_waits():
    gpus = Gpus(ON_WAIT)
    stream, other, event, x = gpus.stream(), gpus.stream(), gpus.event(), gpus.alloc(SIZE)
    gpus.copy_in(x, counted(), stream)
    gpus.record(event, stream)
    gpus.fill(gpus.alloc(SIZE), 0, SIZE, other)
    before = np.frombuffer(ctypes.string_at(x, SIZE), np.float32)
    assert np.isnan(before).all()
    assert gpus.sizes()[1] == 3
    assert refused(gpus, "cuEventQuery", event) == "NOT_READY"
    gpus.call("cuEventSynchronize", event)
    gpus.call("cuEventQuery", event)
    gpus.call("cuStreamQuery", stream)
    assert gpus.sizes()[1] == 1
    assert ctypes.string_at(x, SIZE) == counted().tobytes()


@pytest.mark.parametrize("policy", POLICIES)
def test_who_asks_for_an_event_long_enough_sees_it(policy):
    gpus = Gpus(policy)
    stream, event, x = gpus.stream(), gpus.event(), gpus.alloc(SIZE)
    for _ in range(20):
        gpus.fill(x, 1, SIZE, stream)
    gpus.record(event, stream)
    for _ in range(10_000):
        if gpus.code("cuEventQuery", event) == 0:
            break
    gpus.call("cuEventQuery", event)
    gpus.free(x)
    assert gpus.races() == ""


def test_registered_memory_is_read_and_written_late():
    gpus = Gpus(ON_WAIT)
    stream, x = gpus.stream(), gpus.alloc(SIZE)
    source, target = counted(), np.zeros(N, np.float32)
    gpus.register(source)
    gpus.register(target)
    again = c_void_p(source.ctypes.data + 4), c_size_t(4)
    again_registered = refused(gpus, "cuMemHostRegister_v2", *again, c_uint(0))
    assert again_registered == "HOST_MEMORY_ALREADY_REGISTERED"
    gpus.copy_in(x, source, stream)
    gpus.copy_out(target, x, stream)
    source[:] = 7
    assert (target == 0).all()
    gpus.synchronize(stream)
    assert (target == 7).all()
    gpus.call("cuMemHostUnregister", c_void_p(source.ctypes.data))
    assert gpus.races() == ""
    gpus.copy_out(target, x, stream)
    gpus.call("cuMemHostUnregister", c_void_p(target.ctypes.data))
    assert "unregistered although the host has not waited" in gpus.races()
    unknown = refused(gpus, "cuMemHostUnregister", c_void_p(target.ctypes.data))
    assert unknown == "HOST_MEMORY_NOT_REGISTERED"


def test_memory_runs_out(monkeypatch):
    monkeypatch.setenv("FERROMIX_HOST_GPU_MEMORY", "4096")
    gpus = Gpus()
    x = gpus.alloc(3000)
    assert refused(gpus, "cuMemAlloc_v2", byref(c_ulonglong()), c_size_t(2000)) == "OUT_OF_MEMORY"
    free, total = c_size_t(), c_size_t()
    gpus.call("cuMemGetInfo_v2", byref(free), byref(total))
    assert (free.value, total.value) == (1096, 4096)
    gpus.use(1)
    gpus.alloc(4096)
    gpus.use(0)
    gpus.free(x)
    gpus.alloc(4096)


def test_devices_tell_of_themselves(monkeypatch):
    monkeypatch.setenv("FERROMIX_HOST_GPUS", "3")
    gpus = Gpus()
    value, name = c_int(), ctypes.create_string_buffer(100)
    gpus.call("cuDeviceGetCount", byref(value))
    assert value.value == 3
    for number, expected in {16: 1, 75: 8, 76: 0, 40: 2}.items():
        gpus.call("cuDeviceGetAttribute", byref(value), c_int(number), c_int(2))
        assert value.value == expected
    gpus.call("cuDeviceGetName", name, c_int(100), c_int(2))
    assert name.value == b"Ferromix host device 2"
    assert refused(gpus, "cuDeviceGet", byref(value), c_int(3)) == "INVALID_DEVICE"
    gpus.call("cuPointerGetAttribute", byref(value), c_int(9), c_ulonglong(gpus.alloc(4)))
    assert value.value == 0


@pytest.mark.parametrize("policy", POLICIES)
def test_a_kernel_that_hangs_is_an_error_that_stays(policy, path):
    gpus = Gpus(policy)
    stream, x = gpus.stream(), gpus.alloc(SIZE)

    def hang():
        gpus.launch(gpus.function(path, "apart"), stream, [c_int(0)])
        gpus.synchronize(stream)

    with pytest.raises(CudaError, match=r"'apart' on stream 2 of device 0: thread 0.*in vain") as e:
        hang()
    assert e.value.code == 719
    for call in (lambda: gpus.synchronize(stream), lambda: gpus.free(x), gpus.stream):
        with pytest.raises(CudaError, match="719"):
            call()


def test_errors_that_a_test_asks_for():
    gpus = Gpus(ON_WAIT)
    stream, x = gpus.stream(), gpus.alloc(SIZE)
    gpus.library.fm_host_fail_call(b"cuMemAlloc_v2", c_int(2))
    assert refused(gpus, "cuMemAlloc_v2", byref(c_ulonglong()), c_size_t(1)) == "OUT_OF_MEMORY"
    gpus.alloc(1)
    gpus.library.fm_host_fail(c_int(700), c_ulonglong(2))
    gpus.fill(x, 1, SIZE, stream)
    gpus.fill(x, 2, SIZE, stream)
    with pytest.raises(CudaError, match="'memset' on stream 2 of device 0 fails") as e:
        gpus.synchronize(stream)
    assert e.value.code == 700
    assert ctypes.string_at(x, 1) == b"\1"


def test_wrong_handles_and_ranges_are_errors(path):
    gpus = Gpus()
    stream, event, x = gpus.stream(), gpus.event(), gpus.alloc(SIZE)
    gpus.call("cuEventDestroy_v2", event)
    gpus.call("cuStreamDestroy_v2", stream)
    for symbol, *args in [
        ("cuStreamSynchronize", stream),
        ("cuEventRecord", event, None),
        ("cuEventSynchronize", None),
        ("cuEventDestroy_v2", event),
        ("cuStreamDestroy_v2", c_void_p(12345)),
        ("cuLaunchKernel", None, *[c_uint(1)] * 6, c_uint(0), None, None, None),
    ]:
        assert refused(gpus, symbol, *args) == "INVALID_HANDLE", symbol
    kernel = gpus.function(path, "combine")
    for sizes in [(0, 1, 1, 1, 1, 1), (1, 1, 1, 1024, 2, 1)]:
        given = kernel, *map(c_uint, sizes), c_uint(0), None, (c_void_p * 5)(), None
        assert refused(gpus, "cuLaunchKernel", *given) == "INVALID_VALUE"
    for at, size in [(x + 1, SIZE), (0, 4), (x - 4, 8)]:
        where = c_ulonglong(at), ctypes.c_ubyte(0), c_size_t(size)
        assert refused(gpus, "cuMemsetD8Async", *where, None) == "INVALID_VALUE"
    assert gpus.function(path, "nothing") is None
    assert gpus.function("nowhere.so", "combine") is None
    gpus.call("cuCtxSetCurrent", None)
    assert refused(gpus, "cuCtxSynchronize") == "INVALID_CONTEXT"


def test_a_kernel_reaches_other_devices_by_peer_access_alone(path):
    for enabled in (True, False):
        gpus = Gpus(ON_WAIT)
        x = gpus.alloc(SIZE)
        gpus.copy_in(x, counted(), None)
        gpus.synchronize(None)
        gpus.use(1)
        stream, y = gpus.stream(), gpus.alloc(SIZE)
        if enabled:
            gpus.call("cuCtxEnablePeerAccess", gpus.contexts[0], c_uint(0))
        combine(gpus, path, stream, y, x, x, 1)
        if enabled:
            np.testing.assert_array_equal(gpus.read(y, N, stream), counted() * 2)
        else:
            with pytest.raises(CudaError, match=r"700.*device 0, to which it has no peer access"):
                gpus.synchronize(stream)


def test_the_legacy_stream_waits_for_blocking_streams(path):
    gpus = Gpus(STARVE, 2)
    blocking, x = gpus.make("cuStreamCreate", c_uint(0)), gpus.alloc(SIZE)
    gpus.copy_in(x, counted(), blocking)
    np.testing.assert_array_equal(gpus.read(x, N, None), counted())
    assert gpus.races() == ""


def test_what_is_kept_stays_bounded(path):
    gpus = Gpus()
    x, y = gpus.alloc(SIZE), gpus.alloc(SIZE)
    for turn in range(300):
        stream, event = gpus.stream(), gpus.event()
        for at in range(0, SIZE, 4):
            gpus.fill(x + at, turn % 256, 4, stream)
        combine(gpus, path, stream, y, x, x, 1)
        gpus.record(event, stream)
        gpus.call("cuEventSynchronize", event)
        gpus.call("cuStreamDestroy_v2", stream)
        gpus.call("cuEventDestroy_v2", event)
    pieces, waiting, lanes = gpus.sizes()
    assert pieces <= 1100
    assert (waiting, lanes) == (0, 3)
    assert gpus.races() == ""


def test_threads_share_devices(path):
    gpus, wrong = Gpus(RANDOM, 3), []

    def work(number):
        gpus.use(number % 2)
        stream, x = gpus.stream(), gpus.alloc(SIZE)
        for turn in range(50):
            gpus.copy_in(x, counted(turn), stream)
            combine(gpus, path, stream, x, x, x, number)
            if not np.array_equal(gpus.read(x, N, stream), counted(turn) * (number + 1)):
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    assert gpus.races() == ""


def test_without_a_compiler_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(host_driver, "COMPILER", None)
    host_driver._version.cache_clear()
    with pytest.raises(MissingFileError, match=r"neither g\+\+ nor clang\+\+ on PATH; install one"):
        host_driver.library()


def test_libraries_are_built_once(monkeypatch, tmp_path):
    monkeypatch.setenv("FERROMIX_CACHE", str(tmp_path))
    made = host_driver.kernel_library("transformer")
    before = made.stat().st_mtime_ns
    assert host_driver.kernel_library("transformer") == made
    assert made.stat().st_mtime_ns == before
    assert host_driver.text_library(SOURCE) == host_driver.text_library(SOURCE) != made
    assert len(list((tmp_path / "host").glob("*.so"))) == 2


def test_who_asks_at_the_same_time_waits_for_the_one_who_builds(monkeypatch, tmp_path):
    monkeypatch.setenv("FERROMIX_CACHE", str(tmp_path))
    build, runs = host_driver.build, []

    def noted(text, folder):
        runs.append(text)
        return build(text, folder)

    monkeypatch.setattr(host_driver, "build", noted)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(host_driver.text_library, [SOURCE] * 4))
    assert len(set(made)) == 1
    assert len(runs) == 1

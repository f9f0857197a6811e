"""Streams that the host driver captures into graphs."""

from __future__ import annotations

from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from pathlib import Path

import numpy as np
import pytest
from gpus import POLICIES, SIZE, SOURCE, Gpus, N, combine, counted, refused
from host import NEEDS_COMPILER

from ferromix.dispatch import host_driver

pytestmark = NEEDS_COMPILER


@pytest.fixture(scope="module")
def path() -> Path:
    return host_driver.text_library(SOURCE)


def captured(gpus, path, joins=True):
    """A graph over two streams: z = (x + x) + (x * 2 + x), by way of y."""
    first, second, fork, join = gpus.stream(), gpus.stream(), gpus.event(), gpus.event()
    x, y, z = (gpus.alloc(SIZE) for _ in range(3))
    gpus.call("cuStreamBeginCapture_v2", first, c_int(2))
    gpus.record(fork, first)
    gpus.wait(second, fork)
    combine(gpus, path, second, y, x, x, 2)
    combine(gpus, path, first, z, x, x, 1)
    gpus.record(join, second)
    if joins:
        gpus.wait(first, join)
    combine(gpus, path, first, z, z, y, 1)
    return first, second, x, z


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_captured_graph_runs_as_often_as_it_is_launched(policy, seed, path):
    gpus = Gpus(policy, seed)
    first, second, x, z = captured(gpus, path)
    status = c_int()
    gpus.call("cuStreamIsCapturing", second, byref(status))
    assert status.value == 1
    assert refused(gpus, "cuStreamEndCapture", second, byref(c_void_p())) == (
        "STREAM_CAPTURE_UNMATCHED"
    )
    first, second, x, z = captured(gpus, path)
    graph = c_void_p()
    gpus.call("cuStreamEndCapture", first, byref(graph))
    exec_ = gpus.make("cuGraphInstantiateWithFlags", graph, c_ulonglong(0))
    gpus.call("cuGraphDestroy", graph)
    for start in range(3):
        gpus.copy_in(x, counted(start), first)
        gpus.call("cuGraphLaunch", exec_, first)
        np.testing.assert_array_equal(gpus.read(z, N, first), counted(start) * 5)
    assert gpus.races() == ""
    gpus.call("cuGraphExecDestroy", exec_)
    assert refused(gpus, "cuGraphLaunch", exec_, first) == "INVALID_VALUE"
    gpus.call("cuStreamSynchronize", second)


def test_captures_that_cannot_be(path):
    gpus = Gpus()
    first, second, *_ = captured(gpus, path, joins=False)
    graph = c_void_p()
    assert refused(gpus, "cuStreamEndCapture", first, byref(graph)) == "STREAM_CAPTURE_UNJOINED"
    gpus.call("cuStreamBeginCapture_v2", first, c_int(0))
    assert refused(gpus, "cuMemAlloc_v2", byref(c_ulonglong()), c_size_t(4)) == (
        "STREAM_CAPTURE_UNSUPPORTED"
    )
    assert refused(gpus, "cuStreamEndCapture", first, byref(graph)) == "STREAM_CAPTURE_INVALIDATED"
    event = gpus.event()
    gpus.record(event, second)
    gpus.call("cuStreamBeginCapture_v2", first, c_int(2))
    assert refused(gpus, "cuStreamWaitEvent", first, event, c_uint(0)) == "STREAM_CAPTURE_ISOLATION"
    assert refused(gpus, "cuStreamEndCapture", first, byref(graph)) == "STREAM_CAPTURE_INVALIDATED"
    assert refused(gpus, "cuStreamEndCapture", first, byref(graph)) == "ILLEGAL_STATE"


def test_graphs_that_nothing_orders_race(path):
    gpus = Gpus()
    first, second, *_ = captured(gpus, path)
    graph = c_void_p()
    gpus.call("cuStreamEndCapture", first, byref(graph))
    exec_ = gpus.make("cuGraphInstantiateWithFlags", graph, c_ulonglong(0))
    other = gpus.make("cuGraphInstantiateWithFlags", graph, c_ulonglong(0))
    gpus.call("cuGraphLaunch", exec_, first)
    gpus.call("cuGraphLaunch", exec_, second)  # launches of one graph come one after the other
    gpus.synchronize(second)
    assert gpus.races() == ""
    gpus.call("cuGraphLaunch", exec_, first)
    gpus.call("cuGraphLaunch", other, second)
    assert "and nothing orders the two" in gpus.races()

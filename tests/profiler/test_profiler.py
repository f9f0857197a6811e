"""Profiles: every operation once, under its name; nested, valid, bounded; MXNet's interface."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError, MXNetError

profiler = mx.profiler


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "profile.json"
    profiler.set_config(filename=str(file))
    mx.nd.waitall()
    yield file
    profiler.set_state("stop")
    profiler.dumps(reset=True)
    profiler.set_config(filename="profile.json", profile_all=False, continuous_dump=False)


def events(path):
    document = json.loads(path.read_text())
    found = document["traceEvents"]
    for event in found:
        assert {"ph", "ts", "pid", "tid", "name"} <= event.keys()
        assert event["pid"] == os.getpid()
        assert event["ts"] >= 0
    return found


def slices(found, category):
    return Counter(e["name"] for e in found if e["ph"] == "X" and e["cat"] == category)


def test_every_operation_is_there_once_under_its_name(path):
    a, b = mx.nd.ones((16, 16)), mx.nd.ones((16, 16))
    mx.nd.waitall()
    profiler.set_state("run")
    for _ in range(50):
        c = mx.nd.dot(a, b)
        c += a
    mx.engine.push(lambda: None, const_vars=[a], name="a function")
    mx.nd.waitall()
    profiler.dump()
    found = events(path)
    ran = slices(found, "operation")
    assert ran["dot"] == 50
    assert ran["broadcast_add"] == 50
    assert ran["a function"] == slices(found, "python")["a function"] == 1
    assert slices(found, "push")["dot"] == 50
    starts = Counter(e["id"] for e in found if e["ph"] == "s")
    ends = Counter(e["id"] for e in found if e["ph"] == "f")
    assert set(ends) <= set(starts)
    assert max(starts.values()) == 1


def test_slices_of_a_thread_nest_and_threads_have_names(path):
    profiler.set_state("run")
    domain = profiler.Domain("mine")
    with domain.new_task("outer"):
        for _ in range(20):
            with domain.new_frame("inner"):
                a = mx.nd.ones((2048, 1024)) * 2
                mx.engine.push(lambda a=a: a.asnumpy(), const_vars=[a])
            a.wait_to_read()
    mx.nd.waitall()
    profiler.dump()
    found = events(path)
    named = {e["tid"]: e["args"]["name"] for e in found if e["name"] == "thread_name"}
    lines = defaultdict(list)
    for e in found:
        if e["ph"] == "X":
            lines[e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    assert set(lines) <= set(named)
    assert any(name.startswith("fmx-cpu-run") for name in named.values())
    for spans in lines.values():
        # The longer of two that begin together is outside.
        stack = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while stack and stack[-1] <= begin + 0.0005:
                stack.pop()
            assert not stack or end <= stack[-1] + 0.0005
            stack.append(end)
    assert slices(found, "mine") == {"outer": 1}
    assert slices(found, "mine,frame") == {"inner": 20}


def test_executors_show_their_nodes(path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="dense")
    executor = net.simple_bind(mx.cpu(), data=(4, 3))
    profiler.set_state("run")
    for _ in range(7):
        executor.forward()
    mx.nd.waitall()
    profiler.dump()
    found = events(path)
    assert slices(found, "operation")["FullyConnected"] == 7
    assert [e.get("args", {}).get("node") for e in found if e["name"] == "FullyConnected"].count(
        "dense"
    ) == 7


def test_pause_leaves_out_and_resume_goes_on(path):
    a = mx.nd.ones((2,))
    profiler.set_state("run")
    (a + 1).wait_to_read()
    profiler.pause()
    (a * 2).wait_to_read()
    profiler.resume()
    (a - 3).wait_to_read()
    profiler.dump()
    ran = slices(events(path), "operation")
    assert sum(n for name, n in ran.items() if "mul" in name) == 0
    assert ran["_plus_scalar"] == ran["_minus_scalar"] == 1


def test_a_second_run_adds_until_the_dump_that_finishes(path):
    def run():
        profiler.set_state("run")
        (mx.nd.ones((2,)) + 1).wait_to_read()
        profiler.set_state("stop")

    run()
    run()
    profiler.dump(finished=False)
    assert slices(events(path), "operation")["_plus_scalar"] == 2
    profiler.dump()
    run()
    profiler.dump()
    assert slices(events(path), "operation")["_plus_scalar"] == 1


def test_the_table_counts_and_adds_up(path):
    profiler.set_state("run")
    a = mx.nd.ones((8, 8))
    for _ in range(5):
        a = mx.nd.dot(a, a)
    mx.engine.push(lambda: time.sleep(0.02), name="nap")
    mx.nd.waitall()
    profiler.set_state("stop")
    table = profiler.dumps()
    lines = table.splitlines()
    assert lines[1] == "Profile Statistics:"
    assert "operator" in lines
    assert next(line for line in lines if line.startswith("dot ")).split()[1] == "5"
    times = json.loads(profiler.dumps(format="json"))["Time"]
    nap = times["Python functions"]["nap"]
    assert nap["Count"] == 1
    assert nap["Total"] >= 20
    dots = times["operator"]["dot"]
    assert dots["Min"] <= dots["Avg"] <= dots["Max"] <= dots["Total"]
    assert dots["Avg"] == pytest.approx(dots["Total"] / 5)
    rows = [line.split() for line in profiler.dumps(sort_by="count", ascending=True).splitlines()]
    operators = rows[rows.index(["operator"]) + 4 :]
    counts = [int(row[1]) for row in operators[: operators.index([])]]
    assert counts == sorted(counts)
    profiler.dumps(reset=True)
    assert "dot" not in profiler.dumps()


def test_counters_markers_events_and_scopes(path):
    profiler.set_state("run")
    domain = profiler.Domain("mine")
    counter = domain.new_counter("level", 5)
    counter += 3
    counter -= 1
    counter.increment()
    counter.decrement(2)
    domain.new_marker("here").mark()
    event = profiler.Event("event")
    event.start()
    event.stop()
    with profiler.scope("block"):
        pass
    profiler.dump()
    found = events(path)
    assert [e["args"]["value"] for e in found if e["ph"] == "C"] == [5, 8, 7, 8, 6]
    assert [e["name"] for e in found if e["ph"] == "i"] == ["here"]
    assert slices(found, "event") == {"event": 1}
    assert slices(found, "scope") == {"block": 1}
    with pytest.raises(MXNetError, match="without having been started"):
        event.stop()


def test_memory_is_sampled_and_files_are_written_as_time_goes_on(path):
    profiler.set_config(profile_all=True, continuous_dump=True, dump_period=0.05)
    profiler.set_state("run")
    kept = mx.nd.ones((1 << 20,))
    kept.wait_to_read()
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    profiler.dump()
    levels = [e["args"]["value"] for e in events(path) if e["name"] == "Memory: cpu/0"]
    assert max(levels) >= kept.size * 4
    assert "Device Storage" in profiler.dumps()


def test_threads_may_run_start_and_stop_it_together(path):
    stop, errors = threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                a = mx.nd.ones((4,)) + 1
                np.testing.assert_array_equal(a.asnumpy(), [2, 2, 2, 2])
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        profiler.set_state("run")
        time.sleep(0.005)
        profiler.set_state("stop")
        profiler.dumps(reset=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []


def test_wrong_settings_are_named(path, monkeypatch):
    monkeypatch.setattr(profiler._profiler, "ever", False)
    for call, match in [
        (lambda: profiler.set_config(file_name="x"), "no setting 'file_name'"),
        (lambda: profiler.set_state("go"), "'run' or 'stop', got 'go'"),
        (lambda: profiler.dumps(format="xml"), "'table' or 'json', got 'xml'"),
        (lambda: profiler.dumps(sort_by="name"), "sort_by must be one of"),
        (lambda: profiler.start("server"), "must be 'worker'"),
    ]:
        with pytest.raises(InvalidArgumentError, match=match):
            call()
    with pytest.raises(MXNetError, match="no profile to write"):
        profiler.dump()


def test_old_names(path):
    profiler.profiler_set_config(mode="all", filename=str(path))
    profiler.profiler_set_state("run")
    (mx.nd.ones((2,)) + 1).wait_to_read()
    profiler.profiler_set_state("stop")
    profiler.dump_profile()
    assert slices(events(path), "operation")["_plus_scalar"] == 1


def test_autostart_writes_a_profile_at_the_end(tmp_path):
    program = "import ferromix as mx\n(mx.nd.ones((2,)) + 1).wait_to_read()\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MXNET_PROFILER_AUTOSTART": "1"},
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    document = json.loads((tmp_path / "profile.json").read_text())
    assert slices(document["traceEvents"], "operation")["_plus_scalar"] == 1


def test_settings_change_while_it_runs(path, tmp_path):
    other = tmp_path / "other.json"
    profiler.set_state("run")
    profiler.set_config(profile_memory=True, filename=str(other))
    with pytest.raises(InvalidArgumentError, match="no setting 'file_name'"):
        profiler.set_config(profile_memory=False, file_name="x")
    (mx.nd.ones((8,)) + 1).wait_to_read()
    time.sleep(0.1)
    profiler.dump()
    assert not path.exists()
    found = events(other)
    assert any("Memory" in e["name"] for e in found)
    assert any(e["name"] == "_plus_scalar" for e in found)


def test_a_folder_that_is_not_there(path, tmp_path):
    profiler.set_config(filename=str(tmp_path / "missing" / "profile.json"))
    profiler.set_state("run")
    with pytest.raises(FileNotFoundError, match="missing") as found:
        profiler.dump()
    assert isinstance(found.value, MXNetError)


def test_an_empty_profile_is_written_after_it_was_forgotten(path):
    profiler.set_config(filename=str(path), aggregate_stats=True)
    profiler.set_state("run")
    (mx.nd.ones((2,)) + 1).wait_to_read()
    profiler.set_state("stop")
    profiler.dumps(reset=True)
    profiler.dump()
    names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
    assert "_plus_scalar" not in names

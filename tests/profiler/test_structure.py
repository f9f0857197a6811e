"""The structure of traces, as viewers want it, and tables in MXNet's form."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

import ferromix as mx

profiler = mx.profiler
PHASES = set("XBEbesfCiM")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "profile.json"
    profiler.set_config(filename=str(file))
    mx.nd.waitall()
    yield file
    profiler.set_state("stop")
    profiler.dumps(reset=True)
    profiler.set_config(filename="profile.json", profile_all=False)


def network():
    net = mx.sym.Variable("data")
    for i in range(3):
        net = mx.sym.FullyConnected(net, num_hidden=8, name=f"dense{i}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{i}")
    return net.simple_bind(mx.cpu(), data=(4, 8))


def work():
    """Operators one by one and bound, from two devices, functions of Python, waits and marks."""
    executor = network()
    domain = profiler.Domain("mine")
    with domain.new_task("step"), domain.new_frame("frame"):
        for _ in range(4):
            executor.forward(is_train=True)
            executor.backward(mx.nd.ones((4, 8)))
            a = mx.nd.ones((256, 256), ctx=mx.cpu(1))
            mx.nd.dot(a, a).wait_to_read()
            mx.engine.push(lambda: None, mutable_vars=[a], name="own")
        domain.new_counter("count", 3)
        domain.new_marker("here").mark()
    mx.nd.waitall()


def test_what_a_viewer_relies_on(path):
    """Every beginning has its end, times of a thread never go back, and all have names."""
    profiler.set_config(profile_all=True)
    profiler.set_state("run")
    work()
    profiler.dump()
    document = json.loads(path.read_text())
    assert set(document) == {"displayTimeUnit", "traceEvents"}
    last, stacks = defaultdict(float), defaultdict(list)
    open_, flows = defaultdict(int), {}
    threads = {e["tid"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    for event in document["traceEvents"]:
        assert event["ph"] in PHASES
        assert isinstance(event["name"], str)
        assert event["name"]
        if event["ph"] == "M":
            assert event["args"]["name"]
            continue
        assert event["cat"]
        thread = event["pid"], event["tid"]
        assert event["tid"] in threads
        assert event["ts"] >= last[thread]
        last[thread] = event["ts"]
        match event["ph"]:
            case "X":
                assert event["dur"] >= 0
            case "B":
                stacks[thread].append(event["name"])
            case "E":
                assert stacks[thread].pop() == event["name"]
            case "b" | "e":
                open_[event["cat"], event["name"], event["id"]] += 1 if event["ph"] == "b" else -1
            case "s":
                assert flows.setdefault(event["id"], (event["name"], event["ts"]))[1] == event["ts"]
            case "C":
                assert all(isinstance(value, (int, float)) for value in event["args"].values())
    assert not any(stacks.values())
    assert not any(open_.values())
    ends = [e for e in document["traceEvents"] if e["ph"] == "f"]
    assert ends
    for end in ends:
        name, begun = flows[end["id"]]
        assert name == end["name"]
        assert begun <= end["ts"]
    categories = {e.get("cat") for e in document["traceEvents"]}
    assert {"operation", "push", "wait", "python", "mine", "mine,frame"} <= categories


def test_operators_of_graphs_are_counted_by_their_kind(path):
    profiler.set_state("run")
    work()
    profiler.set_state("stop")
    times = json.loads(profiler.dumps(format="json"))["Time"]["operator"]
    assert times["FullyConnected"]["Count"] == times["Activation"]["Count"] == 12
    assert times["_backward_Activation"]["Count"] == 12
    assert times["dot"]["Count"] == 4
    assert not [name for name in times if name.startswith(("dense", "tanh"))]
    profiler.dump()
    nodes = [
        (e["args"]["node"], e["name"])
        for e in json.loads(path.read_text())["traceEvents"]
        if e["ph"] == "X" and "node" in e["args"]
    ]
    assert nodes.count(("dense1", "FullyConnected")) == 4
    assert nodes.count(("tanh2", "Activation")) == 4


HEAD = "Name                          Total Count        {}    {}    {}    {}".format
TIMES = HEAD("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)")
USES = (
    "Name                          Total Count    Min Use  (kB)    Max Use  (kB)    Avg Use  (kB)"
)


def test_the_table_has_mxnets_form(path):
    """Titles, heads and widths as MXNet 1.9.1 prints them."""
    profiler.set_config(profile_all=True)
    profiler.set_state("run")
    work()
    profiler.set_state("stop")
    lines = profiler.dumps().splitlines()
    assert lines[:3] == [
        "",
        "Profile Statistics:",
        "\tNote the difference in units for different entries.",
    ]
    titles = [i for i, line in enumerate(lines) if line == "================="]
    names = [lines[i - 1] for i in titles]
    assert names[0] == "Device Storage"
    assert {"operator", "mine", "mine,frame"} <= set(names)
    for i, name in zip(titles, names, strict=True):
        assert lines[i + 1] == (USES if name == "Device Storage" else TIMES)
        assert re.fullmatch(r"----( +-+)+", lines[i + 2])
        row = lines[i + 3]
        assert re.fullmatch(r".{25} *\d+( +\d+\.\d{4}){3,4}", row), row
    found = json.loads(profiler.dumps(format="json"))
    assert found["Unit"] == {"Time": "ms", "Memory": "kB"}
    assert found["Memory"]["Device Storage"]["Memory: cpu/0"]["Count"] >= 1

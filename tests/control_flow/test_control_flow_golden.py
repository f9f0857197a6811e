"""Loops and branches as MXNet 1.9.1 saves and computes them (tools/golden/make_control_flow.py)."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError

GOLDEN = Path(__file__).parents[1] / "golden" / "control_flow"
sys.path.insert(0, str(GOLDEN))
from loops import NETWORKS  # noqa: E402

sys.path.pop(0)


def values(name):
    with np.load(GOLDEN / f"{name}.npz") as data:
        return {k: data[k] for k in data.files}


@pytest.mark.parametrize("loaded", [False, True], ids=["made", "loaded"])
@pytest.mark.parametrize("name", NETWORKS)
def test_values_and_gradients(name, loaded):
    symbol = mx.sym.load(GOLDEN / f"{name}.json") if loaded else NETWORKS[name](mx)
    golden = values(name)
    args = {k[3:]: mx.nd.array(v) for k, v in golden.items() if k.startswith("in.")}
    grads = {n: mx.nd.zeros(a.shape) for n, a in args.items()}
    executor = symbol.bind(mx.cpu(), args, grads)
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(o.shape) for o in outputs])
    found = {f"out.{i}": o for i, o in enumerate(outputs)}
    found |= {f"grad.{n}": g for n, g in grads.items()}
    for key, value in golden.items():
        if not key.startswith("in."):
            np.testing.assert_allclose(found[key].asnumpy(), value, 1e-5, 1e-6, err_msg=key)


def shape_of(graph):
    """What must agree between graphs: all but the numbers in names, and how numbers are spelled."""
    return [
        (
            node["op"],
            node["inputs"],
            {k: v for k, v in node.get("attrs", {}).items() if k not in ("scalar", *NAMES)},
            [shape_of(g) for g in node.get("subgraphs", [])],
        )
        for node in graph["nodes"]
    ] + [graph["heads"], graph["arg_nodes"]]


NAMES = ("__subgraph_name__",)


@pytest.mark.parametrize("name", NETWORKS)
def test_files_are_those_of_mxnet(name):
    theirs = json.loads((GOLDEN / f"{name}.json").read_text())
    ours = NETWORKS[name](mx)
    assert shape_of(json.loads(ours.tojson())) == shape_of(theirs)
    again = mx.sym.load_json(ours.tojson())
    assert again.tojson() == ours.tojson()
    assert again.list_outputs() == ours.list_outputs()


def broken(change):
    graph = json.loads((GOLDEN / "cells.json").read_text())
    node = next(n for n in graph["nodes"] if n["op"] == "_foreach")
    change(node)
    return json.dumps(graph)


def deep(node):
    inner = {"nodes": [dict(node)], "heads": [[0, 0, 0]]}
    for _ in range(20):
        inner = {"nodes": [{**node, "inputs": [], "subgraphs": [inner]}], "heads": [[0, 0, 0]]}
    node["subgraphs"] = [inner]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda n: n.pop("subgraphs"), "subgraphs"),
        (lambda n: n.update(subgraphs=[]), "expected 1 subgraphs"),
        (lambda n: n.update(subgraphs=[3]), "expected an object"),
        (lambda n: n["attrs"].update(in_data_locs="[0, 1]"), "do not name each input"),
        (lambda n: n["attrs"].update(num_out_data="9"), "num_out_data=9"),
        (lambda n: n["attrs"].update(num_args="2"), "do not name each input"),
        (lambda n: n["attrs"].update(subgraphs="x"), "subgraphs"),
        (lambda n: n.update(op="tanh", inputs=n["inputs"][:1], attrs={}), "no subgraphs"),
        (deep, "levels"),
    ],
)
def test_broken_files(change, words):
    with pytest.raises(FileFormatError, match=words):
        mx.sym.load_json(broken(change))

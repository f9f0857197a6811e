"""Symbols against what MXNet 1.9.1 says of the same networks (tools/golden/make_symbols.py)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

import ferromix as mx

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "symbol"


def load_networks():
    spec = importlib.util.spec_from_file_location("networks", GOLDEN / "networks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.NETWORKS


NETWORKS = load_networks()


def made(name):
    with mx.name.NameManager():
        return NETWORKS[name](mx.sym)


def facts(name):
    return json.loads((GOLDEN / f"{name}.facts.json").read_text())


def structure(text):
    """What must be equal in two graphs, with the texts of all attributes."""
    graph = json.loads(text)
    nodes = [(n["op"], n["name"], n.get("attrs", {}), n["inputs"]) for n in graph["nodes"]]
    return nodes, graph["heads"], graph["arg_nodes"], graph["attrs"]


@pytest.mark.parametrize("name", NETWORKS)
def test_lists(name):
    net, _ = made(name)
    golden = facts(name)
    assert net.list_arguments() == golden["arguments"]
    assert net.list_outputs() == golden["outputs"]
    assert net.list_auxiliary_states() == golden["states"]
    assert net.list_inputs() == golden["inputs"]
    assert net.get_internals().list_outputs() == golden["internals"]


@pytest.mark.parametrize("name", NETWORKS)
def test_shapes(name):
    net, shapes = made(name)
    golden = facts(name)
    found = [[list(s) for s in group] for group in net.infer_shape(**shapes)]
    keys = ("argument_shapes", "output_shapes", "state_shapes")
    assert found == [golden[k] for k in keys]
    internals = net.get_internals().infer_shape(**shapes)[1]
    assert [list(s) for s in internals] == golden["internal_shapes"]


@pytest.mark.parametrize("name", NETWORKS)
def test_types(name):
    net, shapes = made(name)
    found = net.infer_type(**dict.fromkeys(shapes, "float64"))
    assert [[t.__name__ for t in group] for group in found] == facts(name)["types"]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_graph_is_the_one_that_mxnet_saves(name):
    net, _ = made(name)
    assert structure(net.tojson()) == structure((GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("name", NETWORKS)
def test_what_mxnet_saved_loads_and_is_saved_alike(name, tmp_path):
    loaded = mx.sym.load(GOLDEN / f"{name}.json")
    loaded.save(tmp_path / "again.json")
    again = (tmp_path / "again.json").read_text()
    assert structure(again) == structure((GOLDEN / f"{name}.json").read_text())
    assert mx.sym.load(tmp_path / "again.json").tojson() == again
    assert loaded.list_arguments() == facts(name)["arguments"]

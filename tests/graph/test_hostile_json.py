"""Hostile graphs: an error that names the node, or a graph; no crash, no hang, no runaway time."""

from __future__ import annotations

import json
import random
import time
import warnings
from pathlib import Path

import pytest

import ferromix as mx
from ferromix.error import FileFormatError, MXNetError

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
SEEDS = sorted((GOLDEN / "networks").glob("*.json")) + sorted(
    (GOLDEN / "symbol").glob("*[a-z].json")
)
GRAPHS = [p for p in SEEDS if '"nodes"' in p.read_text()[:200]]
WORDS = (
    *("", "null", "None", "True", "-1", "0", "1e999", "nan", "(", "(2, 3)", "[]", "()", "1" * 40),
    *(
        "float16",
        "Convolution",
        "_foreach",
        "BatchNorm",
        "SoftmaxOutput",
        "Reshape",
        "\0",
        "é" * 50,
    ),
    *("__shape__", "__dtype__", "__init__", "num_args", "kernel", "axis", "9" * 5000, "(1," * 999),
)
NUMBERS = (-1, 0, 1, 2, 3, 7, 10**9, 2**31, 2**63, -(2**70), 0.5, True, None)


def node(op, name, inputs=(), **extra):
    return {"op": op, "name": name, "inputs": [list(i) for i in inputs], **extra}


def text(nodes, heads, **extra):
    return json.dumps({"nodes": nodes, "arg_nodes": [], "heads": heads, **extra})


def places(value, found):
    """All containers inside of a value."""
    if isinstance(value, dict | list):
        found.append(value)
        for inner in value.values() if isinstance(value, dict) else value:
            places(inner, found)
    return found


def damage(graph, rng):
    """Changes one thing somewhere."""
    spot = rng.choice([p for p in places(graph, []) if p] or [graph])
    keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
    key = rng.choice(keys)
    kind = rng.randrange(7)
    if kind == 0:
        del spot[key]
    elif kind == 1:
        spot[key] = rng.choice(WORDS)
    elif kind == 2:
        spot[key] = rng.choice(NUMBERS)
    elif kind == 3:
        other = rng.choice(places(graph, []))
        spot[key] = json.loads(json.dumps(other))
    elif kind == 4 and isinstance(spot, list):
        spot.insert(key, spot[key])
    elif kind == 5 and isinstance(spot, dict):
        spot[rng.choice(WORDS)] = rng.choice((rng.choice(WORDS), spot[key]))
    else:
        a = rng.choice(keys)
        spot[a], spot[key] = spot[key], spot[a]


def refused(function, *args):
    """The result, and what an error of Ferromix's own says; any other error goes on."""
    try:
        return function(*args), ""
    except MXNetError as error:
        return None, str(error)


def try_all(net):
    """What is asked of a symbol before it is bound."""
    net.list_arguments()
    net.attr_dict()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ask in (net.infer_shape_partial, net.infer_type_partial):
            assert len(refused(ask)[1]) < 6000
    again = mx.sym.load_json(net.tojson())
    assert again.list_inputs() == net.list_inputs()


def fuzz(seeds, count):
    """Damages graphs, and takes every one that is still a graph for one."""
    loaded = 0
    for seed in seeds:
        rng = random.Random(seed)
        whole = rng.choice(GRAPHS).read_text()
        for _ in range(count):
            graph = json.loads(whole)
            for _ in range(rng.randrange(1, 4)):
                damage(graph, rng)
            start = time.process_time()
            net, said = refused(mx.sym.load_json, json.dumps(graph))
            if net is None:
                assert said.startswith("the JSON text")
                assert len(said) < 1500
            else:
                loaded += 1
                try_all(net)
            assert time.process_time() - start < 5, (seed, count)
    return loaded


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level("ERROR")


def test_damaged_graphs():
    assert fuzz(range(40), 8) > 20


@pytest.mark.nightly
def test_many_damaged_graphs():
    assert fuzz(range(1000, 2000), 20) > 1000


def test_cycles_are_refused():
    x = node("null", "x")
    for inputs in ([[1, 0]], [[2, 0]], [[-1, 0]]):
        graph = text([x, node("relu", "first", inputs), node("relu", "second", [[1, 0]])], [[2, 0]])
        with pytest.raises(FileFormatError, match="node 1 'first', input 0"):
            mx.sym.load_json(graph)


def test_paths_without_number_take_time_by_nodes():
    """2 ** 300 ways lead from the head to the variable."""
    nodes = [node("null", "x")]
    nodes += [node("elemwise_add", f"n{i}", [[i, 0], [i, 0]]) for i in range(300)]
    net = mx.sym.load_json(text(nodes, [[300, 0]]))
    assert net.infer_shape(x=(2,))[1] == [(2,)]
    types = net.infer_type(x="float64")
    assert types[0] == types[1]
    executor = net.simple_bind(mx.cpu(), x=(1,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.zeros((1,))])
    assert executor.grad_dict["x"].asnumpy()[0] == 0
    assert mx.sym.load_json(net.tojson()).tojson() == net.tojson()


def loop(depth):
    """A loop whose body is a loop whose body ..."""
    inner = {"nodes": [node("null", "x"), node("null", "s")], "heads": [[0, 0, 0], [1, 0, 0]]}
    inner["arg_nodes"] = [0, 1]
    for level in range(depth):
        attrs = {"num_args": "3", "num_outputs": "2", "num_out_data": "1"}
        attrs |= {"in_data_locs": "[0]", "in_state_locs": "[1]", "remain_locs": "()"}
        body = node("_foreach", f"loop{level}", [[0, 0, 0], [1, 0, 0]], attrs=attrs)
        body["subgraphs"] = [inner]
        inner = {
            "nodes": [node("null", "x"), node("null", "s"), body],
            "heads": [[2, 0, 0], [2, 1, 0]],
        }
        inner["arg_nodes"] = [0, 1]
    return json.dumps(inner)


def test_graphs_within_graphs_have_an_end():
    assert mx.sym.load_json(loop(3)).list_arguments() == ["x", "s"]
    with pytest.raises(FileFormatError, match="levels"):
        mx.sym.load_json(loop(40))
    with pytest.raises(FileFormatError, match="not JSON"):
        mx.sym.load_json('{"nodes": ' + "[" * 10**6)


@pytest.mark.parametrize(
    ("op", "attrs", "inputs"),
    [
        ("SliceChannel", {"num_outputs": "1000000000"}, 1),
        ("Concat", {"num_args": "1000000000"}, 1),
        ("_foreach", {"num_args": "2", "num_outputs": "1000000000"}, 1),
        ("RNN", {"mode": "lstm", "num_layers": "99999999999", "state_size": "9"}, 1),
        ("multi_sgd_update", {"num_weights": "1000000000", "lrs": "(1,)", "wds": "(0,)"}, 2),
    ],
)
def test_what_a_node_claims_is_not_believed(op, attrs, inputs):
    start = time.process_time()
    graph = text([node("null", "x"), node(op, "bold", [[0, 0]] * inputs, attrs=attrs)], [[1, 0]])
    net, said = refused(mx.sym.load_json, graph)
    if net is None:
        assert "node 1 'bold'" in said
    else:
        try_all(net)
    assert time.process_time() - start < 2


def chain(count):
    nodes = [node("null", "x")]
    nodes += [node("relu", f"n{i}", [[i, 0]]) for i in range(count)]
    return text(nodes, [[count, 0]])


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_long_graphs_load_in_linear_time(count):
    spent = []
    for size in (count // 10, count):
        graph = chain(size)
        start = time.process_time()
        net = mx.sym.load_json(graph)
        assert len(net.get_internals()) == size + 1
        assert len(net.tojson()) > len(graph)
        spent.append(time.process_time() - start)
    assert spent[1] < 25 * spent[0] + 1

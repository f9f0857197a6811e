"""MXNet's JSON: old versions are read, and what is wrong with a file is said."""

from __future__ import annotations

import json
import random

import pytest

import ferromix as mx
from ferromix.error import DTypeError, FileFormatError, InvalidArgumentError


def node(op, name, inputs=(), **extra):
    return {"op": op, "name": name, "inputs": [list(i) for i in inputs], **extra}


def text(nodes, heads, **extra):
    return json.dumps({"nodes": nodes, "arg_nodes": [], "heads": heads, **extra})


OLD = text(
    [
        node("null", "data", param={}, backward_source_id=-1),
        node("null", "fc_weight", param={}, attr={"lr_mult": "2"}, backward_source_id=-1),
        node(
            "FullyConnected",
            "fc",
            [[0, 0], [1, 0]],
            param={"num_hidden": "10", "no_bias": "True"},
            attr={"ctx_group": "g", "weight_wd_mult": "3", "mood": "calm"},
            backward_source_id=-1,
        ),
        node("null", "bn_gamma", param={}, backward_source_id=-1),
        node("null", "bn_beta", param={}, backward_source_id=-1),
        node(
            "BatchNorm",
            "bn",
            [[2, 0], [3, 0], [4, 0]],
            param={"eps": "0.001", "fix_gamma": "False"},
            backward_source_id=-1,
        ),
    ],
    [[5, 0]],
)


def test_a_file_from_before_0_9():
    net = mx.sym.load_json(OLD)
    assert net.list_arguments() == ["data", "fc_weight", "bn_gamma", "bn_beta"]
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    attrs = net.attr_dict()
    assert attrs["fc_weight"] == {
        "__lr_mult__": "2",
        "lr_mult": "2",
        "__wd_mult__": "3",
        "wd_mult": "3",
    }
    assert attrs["fc"]["ctx_group"] == "g"
    assert attrs["fc"]["__mood__"] == "calm"
    assert attrs["fc"]["num_hidden"] == "10"
    assert net.infer_shape(data=(2, 3))[1] == [(2, 10)]


def test_a_file_from_before_1_0_has_all_attributes_in_attr():
    nodes = [
        node("null", "data", attr={"__shape__": "(2, 3)"}),
        node("null", "w"),
        node("FullyConnected", "fc", [[0, 0, 0], [1, 0, 0]],
             attr={"num_hidden": "4L", "no_bias": "true", "lr_mult": "2"}),
    ]  # fmt: skip
    net = mx.sym.load_json(text(nodes, [[2, 0]]))
    assert net.infer_shape()[0] == [(2, 3), (4, 3)]
    assert net.attr("__lr_mult__") == "2"


def test_aliases_are_read_and_canonical_names_written():
    nodes = [
        node("null", "a"),
        node("_PlusScalar", "s", [[0, 0]], param={"scalar": "2"}),
        node("_Plus", "p", [[0, 0], [1, 0]]),
        node("ElementWiseSum", "t", [[0, 0], [1, 0], [2, 0]], param={"num_args": "3"}),
    ]
    net = mx.sym.load_json(text(nodes, [[3, 0]]))
    written = [n["op"] for n in json.loads(net.tojson())["nodes"]]
    assert written == ["null", "_plus_scalar", "elemwise_add", "add_n"]


def test_missing_arguments_become_variables():
    nodes = [node("null", "data"), node("Convolution", "c", [[0, 0]],
             attrs={"kernel": "(3, 3)", "num_filter": "2"})]  # fmt: skip
    net = mx.sym.load_json(text(nodes, [[1, 0]]))
    assert net.list_arguments() == ["data", "c_weight", "c_bias"]


DATA = node("null", "data")
RELU = {"attrs": {"act_type": "relu"}}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["not JSON"]),
        ("{", ["not JSON"]),
        ("[" * 100_000, ["not JSON"]),
        ("3", ["object", "3"]),
        ("{}", ["'nodes'"]),
        (text([], []), ["'heads'", "empty"]),
        (text([DATA], []), ["'heads'"]),
        (text([DATA], [[1, 0]]), ["head 0", "found 1"]),
        (text([DATA], [[0, 1]]), ["head 0", "'data'", "found 1"]),
        (text([DATA], [[-1, 0]]), ["head 0", "found -1"]),
        (text([DATA], [[0]]), ["head 0", "[0]"]),
        (text([DATA], [[0.0, 0]]), ["head 0"]),
        (text([DATA], [[True, 0]]), ["head 0"]),
        (text([DATA], ["x"]), ["head 0", "'x'"]),
        (text([3], [[0, 0]]), ["node 0", "3"]),
        (text([{"op": "null", "inputs": []}], [[0, 0]]), ["node 0", "'name'"]),
        (text([{"op": "null", "name": "a"}], [[0, 0]]), ["node 0 'a'", "'inputs'"]),
        (text([node("null", "a", attrs=[])], [[0, 0]]), ["node 0 'a'", "'attrs'"]),
        (text([node("null", "a", attrs={"x": 1})], [[0, 0]]), ["'a'", "'x'", "1"]),
        (text([DATA, node("Nope", "n", [[0, 0]])], [[1, 0]]), ["node 1 'n'", "'Nope'"]),
        (text([DATA, node("Activation", "n", [[1, 0]], **RELU)], [[1, 0]]), ["'n'", "input 0"]),
        (text([DATA, node("Activation", "n", [[2, 0]], **RELU), DATA], [[1, 0]]), ["input 0"]),
        (text([DATA, node("Activation", "n", [[0, 0], [0, 0]], **RELU)], [[1, 0]]), ["got 2"]),
        (text([DATA, node("Activation", "n", [[0, 0]])], [[1, 0]]), ["'n'", "act_type"]),
        (
            text([DATA, node("Activation", "n", [[0, 0]], attrs={"act_type": "x"})], [[1, 0]]),
            ["'n'", "act_type", "'x'"],
        ),
        (
            text(
                [DATA, node("clip", "n", [[0, 0]], attrs={"a_min": "__import__('os')"})], [[1, 0]]
            ),
            ["'n'", "a_min"],
        ),
        (
            text([DATA, node("Concat", "n", [[0, 0]], attrs={"num_args": "999999999"})], [[1, 0]]),
            ["'n'"],
        ),
        (
            text([DATA, node("sum", "n", [[0, 0]], attrs={"axis": "-" * 100_000 + "1"})], [[1, 0]]),
            ["'n'", "'axis'"],
        ),
        (text([DATA, node("null", "n", [[0, 0]])], [[1, 0]]), ["'n'", "no inputs"]),
        (text([DATA, node("sum", "n", [[1, 0]])], [[1, 0]]), ["'n'", "nodes before"]),
        (text([node("n" * 100_000, "n")], [[0, 0]]), ["node 0", "unknown operator"]),
        (text([DATA], [[0, 0]], arg_nodes=3), ["arg_nodes", "3"]),
        (text([DATA], [[0, 0]], arg_nodes=["x"]), ["arg_nodes", "whole numbers", "'x'"]),
        (text([DATA], [[0, 0]], arg_nodes=[0, -1]), ["arg_nodes", "number 1", "-1"]),
        (text([DATA, node("sum", "n", [[0, 0]])], [[1, 0]], arg_nodes=[1]), ["variable", "1"]),
        (text([DATA], [[0, 0]], node_row_ptr={}), ["node_row_ptr", "{}"]),
        (text([DATA], [[0, 0]], attrs=[3]), ["attrs", "[3]"]),
        (
            text([DATA, node("_foreach", "n", subgraphs=[{}])], [[1, 0]]),
            ["'n'", "subgraph 0", "nodes"],
        ),
    ],
)
def test_what_is_wrong_is_said(content, parts, tmp_path):
    path = tmp_path / "broken-symbol.json"
    path.write_text(content)
    with pytest.raises(FileFormatError) as error:
        mx.sym.load(path)
    for part in ("broken-symbol.json", *parts):
        assert part in str(error.value)
    assert len(str(error.value)) < 1500


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "noise"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(FileFormatError, match="noise"):
        mx.sym.load(path)


def test_damaged_files_never_break_anything_else():
    rng = random.Random(3)
    for _ in range(400):
        letters = list(OLD)
        for _ in range(rng.randrange(1, 4)):
            letters[rng.randrange(len(letters))] = chr(rng.randrange(32, 127))
        try:
            mx.sym.load_json("".join(letters))
        except FileFormatError:
            continue


FIELDS = [
    None,
    3,
    -1,
    2**70,
    1.5,
    True,
    "x",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    ["x"],
    [[0, 0, 0]],
    {"a": 1},
]


def places(value, path=()):
    """The paths to everything inside of a value made of lists and dicts."""
    yield path
    inside = {list: enumerate, dict: dict.items}.get(type(value), lambda _: ())
    for key, inner in inside(value):
        yield from places(inner, (*path, key))


@pytest.mark.parametrize("whole", [OLD, mx.sym.Convolution(kernel=(2, 2), num_filter=3).tojson()])
def test_fields_of_any_type_are_graphs_or_said_to_be_none(whole):
    for path in places(json.loads(whole)):
        for field in FIELDS:
            graph = json.loads(whole)
            spot = graph
            for key in path[:-1]:
                spot = spot[key]
            if path:
                spot[path[-1]] = field
            else:
                graph = field
            try:
                symbol = mx.sym.load_json(json.dumps(graph))
            except FileFormatError:
                continue
            assert mx.sym.load_json(symbol.tojson()).list_inputs() == symbol.list_inputs()


def test_texts_of_any_size_are_kept_or_cut_in_errors():
    long = "y" * 100_000
    x = mx.sym.load_json(text([node("null", long, attrs={"__note__": long})], [[0, 0]]))
    assert (x.name, x.attr("__note__")) == (long, long)
    for attrs in ({"__shape__": "(" * 100_000}, {"__shape__": "9" * 100_000}):
        x = mx.sym.load_json(text([node("null", "x", attrs=attrs)], [[0, 0]]))
        with pytest.raises(InvalidArgumentError, match="shape of 'x'") as error:
            x.infer_shape()
        assert len(str(error.value)) < 500


def test_no_text():
    for value in (3, None, [OLD]):
        with pytest.raises(DTypeError, match="must be a string"):
            mx.sym.load_json(value)


# As MXNet writes them, which escapes no other characters and reads no other escapes.
SPELLED = {
    "é名": "é名",
    'a"b\\c': r"a\"b\\c",
    "\n\r\t": r"\n\r\t",
    "\x01\b\f\x0b\x1f\x7f": "\x01\b\f\x0b\x1f\x7f",
    "\\u0041\x02": "\\\\u0041\x02",
}


@pytest.mark.parametrize("text", SPELLED, ids=ascii)
def test_texts_are_spelled_as_in_mxnet(text, tmp_path):
    symbol = mx.sym.sin(mx.sym.var("x" + text, attr={"__a__": text}), name="y" + text)
    written = symbol.tojson()
    assert f'"name": "x{SPELLED[text]}"' in written
    assert f'"__a__": "{SPELLED[text]}"' in written
    symbol.save(tmp_path / "s.json")
    assert (tmp_path / "s.json").read_bytes().decode() == written
    for again in (mx.sym.load(str(tmp_path / "s.json")), mx.sym.load_json(written)):
        assert again.list_arguments() == ["x" + text]
        assert again.name == "y" + text
        assert again.attr_dict()["x" + text]["__a__"] == text

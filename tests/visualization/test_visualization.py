"""Tables and drawings are those of MXNet 1.9.1."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pictures import network, texts

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "visualization.json"


def test_texts_are_those_of_mxnet():
    found, expected = texts(mx), json.loads(GOLDEN.read_text())
    assert found["summary"] == expected["summary"]
    for name in ("drawing", "plain", "typed", "weights", "others"):
        # Lines may end in other ways between versions of graphviz.
        assert found[name].split() == expected[name].split()


def test_several_nodes_of_one_name():
    both = mx.sym.elemwise_add(mx.sym.Variable("a"), mx.sym.Variable("a"), name="s")
    # MXNet 1.9.1 has this text and category.
    message = (
        "There are multiple variables with the same name in your graph, this may result in cyclic "
        "graph. Repeated names: a"
    )
    with pytest.warns(RuntimeWarning, match="^" + message + "$") as found:
        mx.viz.plot_network(both)
    assert found[0].filename == __file__


def test_a_custom_operator_has_its_own_name():
    @mx.operator.register("drawn")
    class Drawn(mx.operator.CustomOpProp):
        pass

    drawn = mx.viz.plot_network(mx.sym.Custom(mx.sym.Variable("x"), op_type="drawn", name="c"))
    # As MXNet 1.9.1 draws it.
    assert 'c [label=drawn fillcolor="#fccde5" fixedsize=true' in drawn.source


def test_what_is_no_symbol_and_a_package_that_is_missing(monkeypatch):
    for draw in (mx.viz.print_summary, mx.viz.plot_network):
        with pytest.raises(ArgumentTypeError, match="must be a Symbol, got int"):
            draw(3)
    both = mx.sym.Group([mx.sym.Variable("data") * 2, mx.sym.Variable("other") * 2])
    message = "more of the inputs: data, other"
    with pytest.warns(match="do not follow"), pytest.raises(InvalidArgumentError, match=message):
        mx.viz.print_summary(both, {"data": (2, 3)})
    nothing = pytest.raises(InvalidArgumentError, match="infer_shape finds nothing")
    with pytest.warns(match="do not follow"), nothing:
        mx.viz.plot_network(network(mx), shape={})
    with pytest.raises(ArgumentTypeError, match="dtype must be a dict of types by name, got str"):
        mx.viz.plot_network(network(mx), dtype="float16")
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="pip install graphviz"):
        mx.viz.plot_network(network(mx))

"""Tables and drawings are those of MXNet 1.9.1."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pictures import network, texts

import ferromix as mx
from ferromix.error import ArgumentTypeError

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "visualization.json"


def test_texts_are_those_of_mxnet():
    found, expected = texts(mx), json.loads(GOLDEN.read_text())
    assert found["summary"] == expected["summary"]
    for name in ("drawing", "plain", "edges"):
        # Lines may end in other ways between versions of graphviz.
        assert found[name].split() == expected[name].split()


def test_weights_may_be_drawn():
    drawn = mx.viz.plot_network(network(mx), hide_weights=False).source
    assert "c1_weight [label=c1_weight" in drawn
    assert "c1 -> c1_weight" in drawn


def test_what_is_no_symbol_and_a_package_that_is_missing(monkeypatch):
    for draw in (mx.viz.print_summary, mx.viz.plot_network):
        with pytest.raises(ArgumentTypeError, match="must be a Symbol, got int"):
            draw(3)
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="pip install graphviz"):
        mx.viz.plot_network(network(mx))

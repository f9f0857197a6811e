"""Graphs of older versions, as MXNet 1.9.1 reads them (tools/golden/make_old_symbols.py)."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

import ferromix as mx
from ferromix.checkpoints import describe
from ferromix.ops.card import find

PATH = Path(__file__).resolve().parent.parent / "golden" / "symbol" / "old.json"
OLD = json.loads(PATH.read_text())


def nodes(net):
    return [
        [n["op"], n["name"], n.get("attrs", {}), [i[:2] for i in n["inputs"]]]
        for n in json.loads(net.tojson())["nodes"]
    ]


def meaning(op, attrs):
    """The symbol's attributes, and the operator's as it reads them."""
    own = {k: v for k, v in attrs.items() if k.startswith("__")}
    if op == "null":
        # MXNet leaves the attributes of the operator on the variables that it makes for it.
        return own, {}
    return own, find(op)(**{k: v for k, v in attrs.items() if k not in own}).attrs


@pytest.mark.parametrize("name", OLD)
def test_means_what_it_means_in_mxnet(name):
    net = mx.sym.load_json(OLD[name]["text"])
    assert net.list_arguments() == OLD[name]["arguments"]
    assert net.list_auxiliary_states() == OLD[name]["states"]
    found, expected = nodes(net), OLD[name]["nodes"]
    assert [(n[0], n[1], n[3]) for n in found] == [(n[0], n[1], n[3]) for n in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert meaning(ours[0], ours[2]) == meaning(theirs[0], theirs[2]), ours[1]


def test_says_what_it_changed(caplog, tmp_path):
    path = tmp_path / "old-symbol.json"
    path.write_text(OLD["before_0_9 None"]["text"])
    with caplog.at_level(logging.WARNING):
        net = mx.sym.load(path)
    (record,) = caplog.records
    said = record.getMessage()
    for part in (
        f"{path} states no version of MXNet",
        "inputs added: bn_moving_mean, bn_moving_var, slope_gamma, fc_weight, fc_bias",
        "attributes stored with underscores: lr_mult (1), ctx_group (1)",
        "bias_wd_mult to 'conv_bias', weight_lr_mult to 'conv_weight'",
    ):
        assert part in said
    caplog.clear()
    mx.sym.load_json(net.tojson())
    assert not caplog.records


def test_inspect_says_it_too(tmp_path, caplog):
    (tmp_path / "old-symbol.json").write_text(OLD["before_1_0 904"]["text"])
    mx.nd.save(str(tmp_path / "old-0001.params"), {"arg:w": mx.nd.zeros((3, 48))})
    said = describe(str(tmp_path / "old"), 1)
    assert "of MXNet 0.9.4" in said
    assert "upgraded    axis=-1 left out, which meant all axes, of: most" in said
    assert "upgraded    attributes moved to variables: weight_lr_mult to 'w'" in said
    assert not caplog.records


def test_the_axis_of_argmax_had_another_meaning():
    before, since = (mx.sym.load_json(OLD[f"before_1_0 {v}"]["text"]) for v in (904, 905))
    shapes = [net.get_internals()["most_output"].infer_shape()[1] for net in (before, since)]
    assert shapes == [[(1,)], [(2,)]]

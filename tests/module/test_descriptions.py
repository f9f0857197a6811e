"""How modules check names, and describe data and labels, under MXNet's names for it."""

import logging

import pytest

import ferromix as mx

BASE = mx.module.base_module


def test_names_of_descriptions_must_match(caplog):
    given = [mx.io.DataDesc("a", (1, 2)), mx.io.DataDesc("b", (1, 2))]
    assert BASE._check_names_match(["b", "a"], given, "data", True) is None
    with pytest.raises(ValueError, match=r"data_shapes are of \['a', 'b'\]"):
        BASE._check_names_match(["a"], given, "data", True)
    with caplog.at_level(logging.WARNING):
        BASE._check_names_match(["a"], given, "label", False)
    assert "label_names are ['a']" in caplog.text


def test_pairs_become_descriptions(caplog):
    data, labels = BASE._parse_data_desc(["x"], ["y"], [("x", (1, 2))], [("y", (1,))])
    assert (data, labels) == ([mx.io.DataDesc("x", (1, 2))], [mx.io.DataDesc("y", (1,))])
    half = [("x", (1, 2), "float16", "NC")]
    (one,), none = BASE._parse_data_desc(["x"], ["y"], half, None)
    assert (one.dtype, one.layout, none) == ("float16", "NC", None)
    assert BASE._parse_data_desc(["x"], [], [("x", (1, 2))], [])[1] == []
    with pytest.raises(ValueError, match="data_names"):
        BASE._parse_data_desc(["x"], ["y"], [("z", (1, 2))], None)
    with caplog.at_level(logging.WARNING):
        BASE._parse_data_desc(["x"], ["y"], [("x", (1, 2))], [("z", (1,))])
    assert "label_shapes" in caplog.text

"""Some seventy networks against MXNet 1.9.1: what they are, what a step of training gives.

tools/golden/make_networks.py made what is expected, and loaded there the JSON that Ferromix writes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from zoo import NETWORKS
from zoo.step import build, dtype_of, facts, step

import ferromix as mx

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "networks"
EXPECTED = json.loads((GOLDEN / "networks.json").read_text())
TOLERANCE = {"float64": 1e-6, "float32": 1e-4}


NOISE = {"float64": 1e-12, "float32": 1e-6}


def agree(found, expected, dtype):
    """The numbers of each array are near beside its norm; what is nothing but rounding, such as the
    gradient of a bias before a normalization, beside the largest of all."""
    assert found.keys() == expected.keys()
    noise = NOISE[dtype] * max(numbers[1] for numbers in expected.values())
    for key, numbers in expected.items():
        near = max(numbers[1] * TOLERANCE[dtype], noise)
        np.testing.assert_allclose(found[key], numbers, rtol=0, atol=near, err_msg=key)


@pytest.mark.parametrize("name", NETWORKS)
def test_lists_shapes_and_types(name):
    net, inputs = build(mx, name)
    known = facts(net, name, inputs)
    assert known == {key: EXPECTED[name][key] for key in known}


@pytest.mark.filterwarnings("ignore:.*storage type fallback")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_step_of_what_mxnet_saved(name):
    """The graph is the one that MXNet wrote; the one that is built here has the same JSON."""
    net, inputs = build(mx, name)
    loaded = mx.sym.load(GOLDEN / f"{name}.json")
    assert facts(loaded, name, inputs) == facts(net, name, inputs)
    agree(step(mx, loaded, name, inputs), EXPECTED[name]["step"], dtype_of(name))


@pytest.mark.parametrize("name", NETWORKS)
def test_mxnet_loaded_what_is_written_here(name):
    """As tools/golden/make_networks.py found, from the graph that is built today."""
    assert EXPECTED[name]["ferromix_json"]["same_facts"]
    assert EXPECTED[name]["ferromix_json"]["distance"] <= 1e-6

"""What functions of operators take by position: inputs, attributes, and where the result goes."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

nd, sym = mx.nd, mx.sym
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "signatures.json").read_text())

OTHERS = (
    # Auxiliary states are inputs here.
    *(
        f"{front}.{name}"
        for front in ("nd", "sym")
        for name in ("BatchNorm_v1", "IdentityAttachKLSparseReg")
    ),
    # The number of weights is that of the lists.
    *(f"nd.contrib.multi_{name}_update" for name in ("adamw", "mp_adamw", "lamb", "mp_lamb")),
    # Also the upper factor.
    *(
        f"{front}.linalg{dot}{name}"
        for front in ("nd", "sym")
        for dot in "._"
        for name in ("potrf", "potri")
    ),
)


def resolved(path):
    found = mx
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


@pytest.mark.parametrize("front", ["nd", "sym"])
def test_functions_take_by_position_what_those_of_mxnet_take_in_its_order(front):
    compared = 0
    for path, order in GOLDEN.items():
        function = resolved(path)
        if not path.startswith(front + ".") or path in OTHERS or function is None:
            continue
        rows = inspect.signature(function).parameters.values()
        names = [p.name for p in rows if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert names[: len(order.split())] == order.split(), path
        compared += 1
    assert compared > 400


def test_the_result_may_be_given_behind_the_attributes():
    out = nd.zeros((2,))
    for call in (
        lambda: nd.relu(nd.array([-1, 1]), out),
        lambda: nd.relu(nd.array([-1, 1]), out, "a name"),
        lambda: nd.broadcast_mul(nd.array([0, 1]), nd.ones((2,)), out),
        lambda: nd.sum(nd.array([[0, 1]]), 0, False, False, out),
        lambda: nd.array([[0, 1]]).sum(0, False, False, out),
    ):
        out[:] = 7
        assert call() is out
        np.testing.assert_array_equal(out.asnumpy(), [0, 1])
    assert nd.exp(nd.zeros((1,)), None, None).asscalar() == 1


def test_sparse_and_value_shaped_results_too():
    csr = nd.array([[0, 4]]).tostype("csr")
    out = nd.sparse.zeros("csr", (1, 2))
    assert nd.sparse.sqrt(csr, out) is out
    np.testing.assert_array_equal(out.asnumpy(), [[0, 2]])
    kept = nd.contrib.boolean_mask(nd.array([1, 2]), nd.array([0, 1]), 0, None)
    np.testing.assert_array_equal(kept.asnumpy(), [2])


def test_symbols_take_a_name_and_attributes_behind_the_attributes_of_the_operator():
    data = sym.var("data")
    named = sym.FullyConnected(data, None, None, 3, False, True, "layer", {"__kind__": "first"})
    assert named.list_arguments() == ["data", "layer_weight", "layer_bias"]
    assert named.attr("__kind__") == "first"
    assert sym.exp(data, "grown", None, None).name == "grown"
    assert sym.arange(0, 4, 1, 1, False, "steps", "int32").infer_type()[1] == [np.int32]


@pytest.mark.parametrize(
    "call",
    [
        lambda: nd.relu(nd.ones((1,)), None, None, None),
        lambda: nd.relu(nd.ones((1,)), nd.ones((1,)), out=nd.ones((1,))),
        lambda: sym.exp(sym.var("x"), "a", name="b"),
        lambda: sym.exp(sym.var("x"), "a", None, None, None),
    ],
    ids=["too many", "out twice", "name twice", "too many for a symbol"],
)
def test_more_than_that_is_refused(call):
    with pytest.raises(InvalidArgumentError, match="takes at most 1 inputs and attributes"):
        call()


def test_what_is_no_array_cannot_take_the_result():
    with pytest.raises((InvalidArgumentError, TypeError), match="out"):
        nd.relu(nd.ones((1,)), 3)


def test_values_of_a_sequence_mask_come_before_its_axis():
    masked = nd.SequenceMask(nd.ones((2, 2)), nd.array([1, 2]), True, -1, 1)
    np.testing.assert_array_equal(masked.asnumpy(), [[1, -1], [1, 1]])

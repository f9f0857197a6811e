"""Arrays in other storage types reach no kernel: they are converted, with one warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ferromix as mx
from ferromix.dispatch import storage
from ferromix.error import InvalidArgumentError
from ferromix.graph.infer_storage import infer_storage
from ferromix.graph.node import Entry, topological
from ferromix.ops.card import OperatorProperty, find

ROWS = np.array([[0, 0, 0], [1, -2, 3]], np.float32)


def rows():
    """Row-sparse values."""
    return mx.nd.array(ROWS).tostype("row_sparse")


@pytest.fixture(autouse=True)
def unwarned(monkeypatch):
    monkeypatch.setattr(storage, "_warned", set())


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call().asnumpy()


CALLS = {
    "function": (lambda a: mx.nd.exp(a), np.exp(ROWS)),
    "function by name": (lambda a: mx.nd.exp(data=a), np.exp(ROWS)),
    "method": (lambda a: a.sum(axis=0), ROWS.sum(0)),
    "two": (lambda a: mx.nd.broadcast_add(mx.nd.ones((2, 3)), a), 1 + ROWS),
    "number": (lambda a: a * 2 - 1, ROWS * 2 - 1),
    "reflected": (lambda a: 1 - a, 1 - ROWS),
    "both": (lambda a: a * a, ROWS * ROWS),
    "dense on the left": (lambda a: mx.nd.ones((2, 3)) / 2 + a, 0.5 + ROWS),
    "alone": (lambda a: -a, -ROWS),
    "absolute": (lambda a: abs(a), abs(ROWS)),
    "compared": (lambda a: a > 0, ROWS > 0),
    "equal": (lambda a: a == a, np.ones((2, 3))),
    "several": (
        lambda a: mx.nd.concat(a, mx.nd.ones((1, 3)), dim=0),
        np.vstack([ROWS, np.ones((1, 3))]),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_dense_arrays(name):
    call, expected = CALLS[name]
    call(mx.nd.array(ROWS))  # what is remembered for dense arrays is not used for others
    for _ in range(2):
        np.testing.assert_allclose(quietly(lambda: call(rows())), expected, rtol=1e-6)


def test_one_warning_for_each_operator_and_storage_types(monkeypatch):
    with pytest.warns(UserWarning, match="exp: storage type fallback.*row_sparse") as caught:
        [mx.nd.exp(rows()) for _ in range(2)]
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="cosh: storage type fallback"):
        mx.nd.cosh(rows())
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.nd.log(rows())


def test_results_go_where_they_are_wanted():
    out = rows()
    assert mx.nd.square(mx.nd.ones((2, 3)) * 2, out=out) is out
    assert out.stype == "row_sparse"
    np.testing.assert_array_equal(out.asnumpy(), np.full((2, 3), 4))
    dense = mx.nd.zeros((2, 3))
    mx.nd.square(rows(), out=dense)
    np.testing.assert_array_equal(dense.asnumpy(), ROWS**2)


def test_what_describes_an_array():
    assert mx.nd.ones((2,)).stype == "default"
    assert rows().stype == "row_sparse"
    with pytest.raises(ValueError, match="default, row_sparse or csr"):
        mx.nd.NDArray(mx.nd.ones((1,)).handle, "dense")
    np.testing.assert_array_equal(mx.nd.ones((2,)).tostype("default").asnumpy(), [1, 1])
    with pytest.raises(InvalidArgumentError, match="two dimensions"):
        mx.nd.ones((2,)).tostype("csr")


class Doubling(OperatorProperty):
    """Takes sparse rows as they are, and gives such."""

    name = "_test_doubling"
    arguments = ("data", "other")

    def infer_storage_type(self, in_stypes):
        return [in_stypes[0], "default"], [in_stypes[0]], []


def test_a_card_may_take_other_storage_types():
    a, b = rows(), mx.nd.ones((2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert storage.conform(Doubling(), [a, b]) == [a, b]
    with pytest.warns(UserWarning, match="converted to row_sparse, default"):
        taken, converted = storage.conform(Doubling(), [a, rows()])
    assert taken is a
    np.testing.assert_array_equal(converted.asnumpy(), ROWS)


def test_storage_types_of_a_graph():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    out = mx.sym.BatchNorm(x, name="norm") + y
    nodes = topological(out.entries)
    by_name = {n.name: n for n in nodes}
    found, converting = infer_storage(nodes, {Entry(by_name["x"], 0): "csr"})
    assert found[Entry(by_name["x"], 0)] == "csr"
    assert [n.name for n in converting] == ["norm"]
    others = [stype for entry, stype in found.items() if entry.node.name != "x"]
    assert others == ["default"] * (len(found) - 1)


def test_every_card_says_something_for_every_input():
    for name in ("exp", "broadcast_add", "BatchNorm", "Concat"):
        card = find(name)(**({"num_args": 3} if name == "Concat" else {}))
        count = len(card.list_arguments())
        found = card.infer_storage_type(["csr"] * count)
        lengths = (count, len(card.list_outputs()), len(card.list_auxiliary_states()))
        assert tuple(map(len, found)) == lengths

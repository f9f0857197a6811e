"""Operators that are made of others, beyond what the cases of those in the tables show."""

from typing import ClassVar

import numpy as np
import pytest

import ferromix as mx
from ferromix import dispatch
from ferromix.error import InternalError, InvalidArgumentError
from ferromix.graph.compose import expand
from ferromix.graph.node import Entry, topological
from ferromix.ops.card import _REGISTRY, make, register
from ferromix.ops.composed import Composed
from ferromix.ops.family import FLOATS
from ferromix.ops.param import Param


class Scaled(Composed):
    """tanh(data) * factor, an operator with an attribute."""

    name = "_test_scaled"
    dtypes = FLOATS
    params: ClassVar = {"factor": Param("float", 2.0, "The factor.")}

    def forward(self, data):
        return self.attrs["factor"] * data.op("tanh")


class Halves(Composed):
    """Of the sum and the difference the products with others; composed of a composed operator."""

    name = "_test_halves"
    arguments = ("lhs", "rhs")
    operands = "elemwise"
    dtypes = FLOATS

    def list_outputs(self):
        return ["less", "same", "more"]

    def forward(self, lhs, rhs):
        more = lhs.op("_test_scaled", factor=3.0) + rhs
        parts = more.outputs("SliceChannel", num_outputs=2, axis=0)
        return [1 - parts[0], lhs, more]


class Noisy(Composed):
    """A dropout of half of what it is given, squared."""

    name = "_test_noisy"
    dtypes = FLOATS

    def forward(self, data):
        return data.op("Dropout", p=0.5) ** 2.0


@pytest.fixture(autouse=True)
def registered():
    cards = [Scaled, Halves, Noisy]
    for card in cards:
        register(card)
    yield
    for card in cards:
        del _REGISTRY[card.name]


def call(name, *arrays, **attrs):
    return getattr(mx.nd._internal, name)(*arrays, **attrs)


def array(values, dtype="float64"):
    return mx.nd.array(values, dtype=dtype)


A, B = np.linspace(-1, 1, 8).reshape(4, 2), np.linspace(3, 5, 8).reshape(4, 2)


def halves(a, b):
    more = 3 * np.tanh(a) + b
    return 1 - more[:2], a, more


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_outputs_of_a_composed_operator_of_composed_ones(dtype):
    found = call("_test_halves", array(A, dtype), array(B, dtype))
    digits = {"float64": 1e-14, "float32": 1e-5, "float16": 1e-2, "bfloat16": 6e-2}[dtype]
    for one, wanted in zip(found, halves(A, B), strict=True):
        assert one.dtype_name == dtype
        np.testing.assert_allclose(one.astype("float64").asnumpy(), wanted, atol=8 * digits)


def test_of_nothing():
    found = call("_test_halves", array(np.zeros((0, 2))), array(np.zeros((0, 2))))
    assert [o.shape for o in found] == [(0, 2)] * 3


def test_an_input_that_is_an_output_is_copied():
    a = array(A)
    same = call("_test_halves", a, array(B))[1]
    same[:] = 0
    np.testing.assert_array_equal(a.asnumpy(), A)


def test_gradients_to_second_order():
    a = array(A)
    a.attach_grad()
    with mx.autograd.record():
        out = call("_test_scaled", a, factor=2.0)
        (first,) = mx.autograd.grad(out, [a], create_graph=True)
    first.backward()
    np.testing.assert_allclose(first.asnumpy(), 2 / np.cosh(A) ** 2, rtol=1e-12)
    expected = -4 * np.tanh(A) / np.cosh(A) ** 2
    np.testing.assert_allclose(a.grad.asnumpy(), expected, rtol=1e-12)


def test_out_may_be_an_input():
    a, b = array(A), array(B)
    targets = [mx.nd.zeros((2, 2), dtype="float64"), b, a]
    found = call("_test_halves", a, b, out=targets)
    assert all(one is target for one, target in zip(found, targets, strict=True))
    for one, wanted in zip(targets, halves(A, B), strict=True):
        np.testing.assert_allclose(one.asnumpy(), wanted, atol=1e-14)
    a = array(A)
    assert call("_test_scaled", a, out=a) is a
    np.testing.assert_allclose(a.asnumpy(), 2 * np.tanh(A), rtol=1e-14)


def test_out_that_does_not_fit_is_refused_before_anything_is_written():
    a = array(A)
    with pytest.raises(InvalidArgumentError, match=r"_test_scaled: output 0 .*\[4, 2\].*\[2, 4\]"):
        call("_test_scaled", a, out=mx.nd.zeros((2, 4), dtype="float64"))
    with pytest.raises(InvalidArgumentError, match="_test_scaled: has 1 outputs, got 2"):
        call("_test_scaled", a, out=[a, a])
    np.testing.assert_array_equal(a.asnumpy(), A)


def test_out_while_recording():
    a, other = array(A), mx.nd.zeros((4, 2), dtype="float64")
    a.attach_grad()
    with mx.autograd.record():
        with pytest.raises(InvalidArgumentError, match="operator _test_scaled: would overwrite"):
            call("_test_scaled", a, out=a)
        call("_test_scaled", a, out=other)
    other.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), 2 / np.cosh(A) ** 2, rtol=1e-12)


class Weighted(Composed):
    """Data by a weight; not registered."""

    name = "_test_weighted"
    arguments = ("data", "weight")
    operands = "elemwise"

    def forward(self, data, weight):
        return (data * 2) * weight


def test_what_the_parts_decide_cannot_be_overridden():
    with pytest.raises(InternalError, match="_test_weighted: the parts decide on inplace_options"):

        class Wrong(Weighted):
            def inplace_options(self):
                return [(0, 0)]


def test_errors_name_the_operator_and_the_part():
    with pytest.raises(InvalidArgumentError, match=r"_test_halves: .*'rhs'.*\(4, 3\)"):
        call("_test_halves", array(A), array(np.zeros((4, 3))))
    with pytest.raises(
        InvalidArgumentError, match=r"_test_weighted: argument 'weight' has.*\(1, 4\)"
    ):
        Weighted().infer_shape([(3, 4), (1, 4)])
    with pytest.raises(InvalidArgumentError, match=r"_test_scaled: .*element type int32"):
        call("_test_scaled", array(A, "int32"))
    labels = [part.card.label for part in make("_test_halves", {}).composition.parts]
    assert labels[0] == "_test_halves/_test_scaled"
    inner = make("_test_halves", {}).composition.parts[0].card.composition.parts
    assert inner[0].card.label == "_test_halves/_test_scaled/tanh"


def test_the_tape_names_the_line_and_the_part():
    a = array(A)
    a.attach_grad()
    with mx.autograd.record():
        out = call("_test_scaled", a)
    mx.autograd.backward(out)
    with pytest.raises(InvalidArgumentError, match=r"_test_scaled/\w+, .*test_composed\.py:\d+"):
        mx.autograd.backward(out)


def test_parts_train_where_the_call_does():
    ones = mx.nd.ones((1000,))
    assert call("_test_noisy", ones).asnumpy().min() == 1
    with mx.autograd.train_mode():
        mx.random.seed(1)
        found = call("_test_noisy", ones).asnumpy()
        mx.random.seed(1)
        np.testing.assert_array_equal(call("_test_noisy", ones).asnumpy(), found)
    assert set(found) == {0, 4}


def symbol():
    a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    return mx.sym._internal._test_halves(a, b, name="h")


def test_a_symbol_keeps_the_operator():
    s = symbol()
    assert s.list_outputs() == ["h_less", "h_same", "h_more"]
    assert s.get_internals().list_outputs() == ["a", "b", "h_less", "h_same", "h_more"]
    again = mx.sym.fromjson(s.tojson())
    assert again.tojson() == s.tojson()
    assert '"op": "_test_halves"' in s.tojson()
    assert s.infer_shape(a=(4, 2)) == ([(4, 2)] * 2, [(2, 2), (4, 2), (4, 2)], [])


def test_inference_goes_both_ways():
    card = make("_test_halves", {})
    assert card.infer_shape_backward([None, None], [None, None, (4, 2)]) == [(4, 2)] * 2
    assert card.infer_shape([(4, -1), (-1, 2)])[1] == [(2, 2), (4, 2), (4, 2)]
    assert card.infer_type(["float16", None]) == (["float16"] * 2, ["float16"] * 3, [])


def test_an_executor_runs_the_parts():
    grads = {n: mx.nd.ones((4, 2), dtype="float64") for n in "ab"}
    executor = symbol().bind(mx.current_context(), {"a": array(A), "b": array(B)}, grads, "add")
    for found, wanted in zip(executor.forward(is_train=True), halves(A, B), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-14)
    assert list(executor.output_dict) == ["h_less", "h_same", "h_more"]
    zeros = mx.nd.zeros((2, 2), dtype="float64")
    head = mx.nd.ones((4, 2), dtype="float64")
    executor.backward({"h_less": zeros, "h_same": head, "h_more": head})
    np.testing.assert_allclose(grads["a"].asnumpy(), 2 + 3 / np.cosh(A) ** 2, rtol=1e-12)
    np.testing.assert_allclose(grads["b"].asnumpy(), np.full((4, 2), 2), rtol=1e-12)


def test_only_composed_nodes_are_replaced():
    a = mx.sym.Variable("a")
    s = mx.sym.exp(symbol()[2]) + mx.sym.exp(a)
    found = expand(s.entries)
    new = topological([found[e] for e in s.entries])
    assert not any(isinstance(n.op, Composed) for n in new)
    old = topological(s.entries)
    kept = [n.name for n in old if n in new]
    assert "a" in kept
    assert found[Entry(old[0], 0)] == Entry(old[0], 0)


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    def run(seed):
        values = np.random.default_rng(seed).standard_normal((4, 2))
        found = [call("_test_halves", array(values), array(B)) for _ in range(50)]
        return all(np.allclose(f[2].asnumpy(), halves(values, B)[2]) for f in found)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(16)))


def test_intermediate_arrays_die_early():
    class Chain(Composed):
        name = "_test_chain"

        def forward(self, data):
            for _ in range(20):
                data = data.op("negative")
            return data

    x = mx.nd.ones((1 << 22,))
    mx.nd.waitall()
    mx.storage.release_all()
    with mx.engine.naive():
        (out,) = dispatch.invoke(Chain(), [x.handle])
    cached = mx.storage.stats(mx.cpu())["cached"]
    np.testing.assert_array_equal(mx.nd.NDArray(out).asnumpy(), 1)
    assert cached <= 4 * x.handle.nbytes


def test_a_rule_that_does_not_fit_its_card_is_named():
    class Odd(Composed):
        name = "_test_odd"

        def forward(self, data):
            return [data, data]

    with pytest.raises(InternalError, match="_test_odd: forward gives 2 outputs, list_outputs 1"):
        Odd().infer_shape([(2,)])

    class Changing(Composed):
        name = "_test_changing"
        arguments = ("weight", "grad", "mom")

        def forward(self, weight, grad, mom):
            return weight.op("sgd_mom_update", grad, mom, lr=0.1)

    with pytest.raises(InternalError, match="its part sgd_mom_update changes inputs"):
        Changing().infer_shape([(2,)] * 3)

"""Operators of one's own with sparse arrays; values of MXNet are in test_custom_golden."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

X = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -1]], "float32")


class Stored(mx.operator.CustomOp):
    """Doubles, and notes how its arrays are stored."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, is_train, req, in_data, out_data, aux):
        self.seen.append([a.stype for a in (*in_data, *out_data, *aux)])
        for target, request in zip(out_data, req, strict=True):
            value = (in_data[0].tostype("default") * 2).tostype(target.stype)
            self.assign(target, request, value)
        if aux:
            aux[0][:] = aux[0].tostype("default") + len(self.seen)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        value = out_grad[0].tostype("default") * 2 + len(self.seen)
        self.assign(in_grad[0], req[0], value.tostype(in_grad[0].stype))


def register(name, **methods):
    methods = {"create_operator": lambda self, *_: Stored(), **methods}
    mx.operator.register(name)(type("Prop", (mx.operator.CustomOpProp,), methods))
    return name


def says(output, gradient):
    """Methods that say how the output and the gradient are stored."""

    def infer(self, in_stype):
        return in_stype, [output], ["default"] * len(self.list_auxiliary_states())

    def back(self, ograd, in_data, out_data, igrad, aux):
        return ograd, in_data, out_data, [gradient], aux

    return {"infer_storage_type": infer, "infer_storage_type_backward": back}


@pytest.mark.parametrize("given", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("output", ["default", "csr", "row_sparse"])
@pytest.mark.parametrize("gradient", ["default", "row_sparse"])
def test_all_storage_types_recorded_and_bound(given, output, gradient):
    name = register(f"test_stored_{given}_{output}_{gradient}", **says(output, gradient))
    x = mx.nd.array(X).tostype(given)
    x.attach_grad(stype=gradient)
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
        z = y.tostype("default") * 3
    z.backward()
    assert (y.stype, x.grad.stype) == (output, gradient)
    np.testing.assert_array_equal(y.asnumpy(), 2 * X)
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full_like(X, 7))
    symbol = mx.sym.Custom(mx.sym.var("x", stype=given), op_type=name)
    executor = symbol.simple_bind(mx.cpu(), x=X.shape, grad_req="add")
    assert executor.outputs[0].stype == output
    for _ in range(2):
        executor.forward(is_train=True, x=x)
        executor.backward(mx.nd.ones(X.shape))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 2 * X)
    # One object for the executor: it has seen one run, and then two.
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full_like(X, 3 + 4))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_edge_shapes(shape):
    name = register(f"test_stored_edge_{shape[0]}_{shape[1]}", **says("csr", "default"))
    x = mx.nd.sparse.zeros("csr", shape)
    y = mx.nd.Custom(x, op_type=name)
    assert (y.stype, y.shape) == ("csr", shape)
    np.testing.assert_array_equal(y.asnumpy(), np.zeros(shape))


def test_inputs_that_are_taken_dense_and_states():
    def infer(self, in_stype):
        return ["default"], ["default"], ["default"]

    name = register(
        "test_stored_dense",
        infer_storage_type=infer,
        list_auxiliary_states=lambda self: ["runs"],
        infer_shape=lambda self, shapes: (shapes, shapes, [(1,)]),
    )
    runs = mx.nd.zeros((1,))
    out = mx.nd.zeros(X.shape)
    found = mx.nd.Custom(mx.nd.array(X).tostype("csr"), runs, op_type=name, out=out)
    assert found is out
    np.testing.assert_array_equal(out.asnumpy(), 2 * X)
    assert runs.asscalar() == 1


def test_a_card_says_storage_types_too():
    class Card(mx.operator.OperatorProperty):
        """Twice as much, in rows."""

        name = "test_stored_card"
        seen = None

        def infer_storage_type(self, in_stypes):
            return in_stypes, ["row_sparse"], []

        def create_operator(self, ctx):
            class Double:
                def forward(self, ctx, in_data, req, out_data, aux):
                    Card.seen = in_data[0].stype
                    double = in_data[0].tostype("default") * 2
                    mx.operator.assign(out_data[0], req[0], double.tostype("row_sparse"))

                def backward(self, ctx, out_grad, in_data, out_data, req, in_grad, aux):
                    mx.operator.assign(in_grad[0], req[0], out_grad[0] * 2)

            return Double()

    mx.operator.register(Card)
    for stype in ("default", "csr"):
        x = mx.nd.array(X).tostype(stype)
        y = mx.nd.test_stored_card(x)
        assert (Card.seen, y.stype) == (stype, "row_sparse")
        np.testing.assert_array_equal(y.asnumpy(), 2 * X)
    assert "Twice as much, in rows." in mx.nd.test_stored_card.__doc__


def test_a_property_that_says_nothing_takes_dense_arrays_alone():
    name = register("test_stored_plain")
    with pytest.raises(InvalidArgumentError, match=rf"{name}.*infer_storage_type.*in_stype\[0\]"):
        mx.nd.Custom(mx.nd.array(X).tostype("csr"), op_type=name)


@pytest.mark.parametrize("found", [None, 3, ([],), (["csr"], ["foo"], []), (["csr"], [], [])])
def test_what_infer_storage_type_returns_is_checked(found):
    name = register(
        f"test_stored_wrong_{abs(hash(str(found)))}", infer_storage_type=lambda self, s: found
    )
    with pytest.raises(InvalidArgumentError, match=rf"{name}.*infer_storage_type must return"):
        mx.nd.Custom(mx.nd.array(X).tostype("csr"), op_type=name)


@pytest.mark.parametrize("found", [None, 3, ([], [], [], [], []), "undefined"])
def test_what_infer_storage_type_backward_returns_is_checked(found):
    def back(self, ograd, in_data, out_data, igrad, aux):
        return (ograd, in_data, out_data, ["undefined"], aux) if found == "undefined" else found

    methods = {**says("csr", "csr"), "infer_storage_type_backward": back}
    name = register(f"test_stored_back_{abs(hash(str(found)))}", **methods)
    x = mx.nd.array(X).tostype("csr")
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    with pytest.raises(InvalidArgumentError, match=rf"{name}.*infer_storage_type_backward must"):
        y.backward()


def test_rows_of_a_weight_in_a_bound_graph():
    """Without a golden file: MXNet 1.9.1 never ends here."""

    class Rows(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], mx.nd.take(in_data[1], in_data[0]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            rows = in_data[0].asnumpy().astype(int)
            used, places = np.unique(rows, return_inverse=True)
            total = np.zeros((len(used), 2), "float32")
            np.add.at(total, places, out_grad[0].asnumpy())
            grad = mx.nd.sparse.row_sparse_array((total, used), shape=in_data[1].shape)
            self.assign(in_grad[1], req[1], grad)

    name = register(
        "test_stored_rows",
        create_operator=lambda self, *_: Rows(),
        list_arguments=lambda self: ["index", "weight"],
        infer_shape=lambda self, s: (s, [(s[0][0], s[1][1])], []),
        infer_storage_type_backward=lambda self, o, i, y, g, a: (
            *(o, i, y),
            ["default", "row_sparse"],
            a,
        ),
    )
    symbol = mx.sym.Custom(mx.sym.var("i"), mx.sym.var("w"), op_type=name) * 2
    requests = {"i": "null", "w": "write"}
    executor = symbol.simple_bind(mx.cpu(), i=(3,), w=(6, 2), grad_req=requests)
    weight = np.arange(12).reshape(6, 2)
    executor.forward(is_train=True, i=mx.nd.array([3, 0, 3]), w=mx.nd.array(weight))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 2 * weight[[3, 0, 3]])
    executor.backward(mx.nd.array([[1, 2], [3, 4], [5, 6]]))
    grad = executor.grad_dict["w"]
    assert (grad.stype, grad.indices.asnumpy().tolist()) == ("row_sparse", [0, 3])
    np.testing.assert_array_equal(grad.asnumpy()[[0, 3]], [[6, 8], [12, 16]])


def only_csr(self, stypes):
    if stypes[0] != "csr":
        raise ValueError("only csr")
    return ["csr"], ["csr"], []


def test_a_property_may_refuse_dense_arrays():
    name = register("storage_only_csr", infer_storage_type=only_csr)
    found = mx.nd.Custom(mx.nd.array(X).tostype("csr"), op_type=name)
    assert found.stype == "csr"
    np.testing.assert_array_equal(found.asnumpy(), X * 2)
    symbol = mx.sym.Custom(mx.sym.var("x", stype="csr"), op_type=name)
    (found,) = symbol.eval(x=mx.nd.array(X).tostype("csr"))
    np.testing.assert_array_equal(found.asnumpy(), X * 2)
    with pytest.raises(InvalidArgumentError, match=f"'{name}': infer_storage_type .*only csr"):
        mx.nd.Custom(mx.nd.array(X), op_type=name)

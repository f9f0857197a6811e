"""Gradients, steps of optimizers, stores and bound graphs with sparse arrays."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import ferromix as mx

nd, sym = mx.nd, mx.sym
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "sparse"
OPTIMIZERS = json.loads((GOLDEN / "optimizers.json").read_text())
STEPS = np.load(GOLDEN / "steps.npz")
VALUES = np.array([[1, 0, 2], [0, 0, 3], [4, 0, 0]], np.float32)
WEIGHT = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
GRADS = [([0, 2], 0.5), ([2], -0.75), ([0, 1, 3], 0.25)]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def gradient(rows, value):
    stored = np.full((len(rows), 3), value, "float32") * np.arange(1, 4, dtype="float32")
    return nd.sparse.row_sparse_array((stored, rows), shape=(4, 3))


# -- autograd ------------------------------------------------------------------------------------


def recorded(weight, csr):
    with mx.autograd.record():
        return nd.dot(csr, weight)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("weight_stype", ["default", "row_sparse"])
def test_gradient_of_a_product(weight_stype, stype):
    csr = nd.array(VALUES).tostype("csr")
    weight = nd.ones((3, 2)).tostype(weight_stype)
    weight.attach_grad(stype=stype)
    assert weight.grad.stype == stype
    head = nd.array([[1, 2], [3, 4], [5, 6]])
    recorded(weight, csr).backward(head)
    np.testing.assert_allclose(weight.grad.asnumpy(), VALUES.T @ head.asnumpy())
    if stype == "row_sparse":
        np.testing.assert_array_equal(weight.grad.indices.asnumpy(), [0, 2])
        weight.grad.check_format()


def test_gradients_are_written_or_added():
    csr = nd.array(VALUES).tostype("csr")
    for stype in ("default", "row_sparse"):
        weight = nd.ones((3, 2))
        weight.attach_grad("add", stype)
        for _ in range(3):
            recorded(weight, csr).backward()
        expected = 3 * VALUES.T @ np.ones((3, 2))
        np.testing.assert_allclose(weight.grad.asnumpy(), expected)
        weight.attach_grad("write", stype)
        for _ in range(2):
            recorded(weight, csr).backward()
        np.testing.assert_allclose(weight.grad.asnumpy(), expected / 3)


def test_gradients_through_a_network():
    rng = np.random.default_rng(0)
    matrix = sp.random(20, 30, 0.2, "csr", "float32", random_state=0)
    csr = nd.sparse.csr_matrix(matrix, dtype="float32")
    first, second = rng.normal(size=(30, 4)), rng.normal(size=(4, 2))

    def run(data, stype):
        weights = [nd.array(w, dtype="float32") for w in (first, second)]
        weights[0].attach_grad(stype=stype)
        weights[1].attach_grad()
        with mx.autograd.record():
            hidden = nd.tanh(nd.dot(data, weights[0]))
            loss = nd.sum(nd.square(nd.dot(hidden, weights[1]))) + nd.sum(hidden[3:5] * 2)
        loss.backward()
        return [loss.asnumpy(), *(w.grad.asnumpy() for w in weights)]

    expected = run(nd.array(matrix.toarray()), None)
    for stype in (None, "row_sparse"):
        for found, right in zip(run(csr, stype), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=2e-5, atol=1e-5)


def test_two_uses_of_a_weight():
    csr = nd.array(VALUES).tostype("csr")
    weight = nd.ones((3, 2))
    weight.attach_grad(stype="row_sparse")
    with mx.autograd.record():
        out = nd.dot(csr, weight) + 2 * nd.dot(csr[0:3], weight)
    out.backward()
    np.testing.assert_allclose(weight.grad.asnumpy(), 3 * VALUES.T @ np.ones((3, 2)))
    assert weight.grad.stype == "row_sparse"


def test_gradients_as_new_arrays():
    csr = nd.array(VALUES).tostype("csr")
    weight = nd.ones((3, 2))
    weight.attach_grad()
    out = recorded(weight, csr)
    (found,) = mx.autograd.grad(out, [weight], retain_graph=True)
    assert found.stype == "row_sparse"
    np.testing.assert_allclose(found.asnumpy(), VALUES.T @ np.ones((3, 2)))
    out.backward()
    np.testing.assert_allclose(weight.grad.asnumpy(), found.asnumpy())
    with pytest.raises(mx.MXNetError, match="freed"):
        out.backward()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_gradient_of_embedding(sparse, stype):
    weight = nd.array(WEIGHT)
    weight.attach_grad(stype=stype)
    numbers = nd.array([[3, 0], [3, 3]])
    with mx.autograd.record():
        out = nd.Embedding(numbers, weight, input_dim=4, output_dim=3, sparse_grad=sparse)
        loss = nd.sum(out * nd.array([1, 2, 3]))
    loss.backward()
    expected = np.outer([1, 0, 0, 3], [1, 2, 3])
    np.testing.assert_allclose(weight.grad.asnumpy(), expected)
    if stype == "row_sparse":
        np.testing.assert_array_equal(weight.grad.indices.asnumpy(), [0, 3])


def test_conversions_have_gradients():
    weight = nd.array(WEIGHT)
    weight.attach_grad()
    with mx.autograd.record():
        loss = nd.sum(nd.square(weight.tostype("row_sparse")).tostype("default") * 3)
    loss.backward()
    np.testing.assert_allclose(weight.grad.asnumpy(), 6 * WEIGHT, rtol=1e-6)


def test_gradients_of_sparse_variables():
    for stype in ("csr", "row_sparse"):
        array = nd.array(VALUES).tostype(stype)
        array.attach_grad()
        assert array.grad.stype == stype
        with mx.autograd.record():
            loss = nd.sum(array * 2)
        loss.backward()
        np.testing.assert_allclose(array.grad.asnumpy(), np.full((3, 3), 2))


def test_marked_variables_and_dense_passes_afterwards():
    weight, grad = nd.ones((3, 2)), nd.zeros((3, 2), stype="row_sparse")
    mx.autograd.mark_variables([weight], [grad])
    recorded(weight, nd.array(VALUES).tostype("csr")).backward()
    assert weight.grad is grad
    np.testing.assert_allclose(grad.asnumpy(), VALUES.T @ np.ones((3, 2)))
    dense = nd.array([1, 2])
    dense.attach_grad()
    with mx.autograd.record():
        loss = dense * dense
    loss.backward()
    np.testing.assert_allclose(dense.grad.asnumpy(), [2, 4])


# -- optimizers and stores -----------------------------------------------------------------------


# In MXNet the rates of these are float32, and so are the powers of FTML's decays.
RTOL = {"lars": 2e-5, "lamb": 2e-5, "ftml": 2e-5, "nadam": 2e-5}


@pytest.mark.parametrize("key", sorted(STEPS.files))
def test_steps_are_those_of_mxnet(key):
    name, _, stype = key.partition(", ")
    kind, attrs = OPTIMIZERS[name]
    optimizer = mx.optimizer.create(kind, **attrs)
    half = "multi_precision" in attrs
    dtype, rtol = ("float16", 1e-3) if half else ("float32", RTOL.get(kind, 2e-6))
    weight = nd.array(WEIGHT, dtype=dtype).tostype(stype)
    state = optimizer.create_state_multi_precision(0, weight)
    for (rows, value), expected in zip(GRADS, STEPS[key], strict=True):
        grad = gradient(rows, value).astype(dtype)
        optimizer.update_multi_precision(0, weight, grad, state)
        assert weight.stype == stype
        assert weight.dtype == expected.dtype == dtype
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=rtol, atol=rtol / 20)


@pytest.mark.parametrize(
    ("name", "stypes"),
    [
        ("sgd", ["row_sparse"]),
        ("nag", ["default"]),
        ("adam", ["row_sparse", "row_sparse"]),
        ("adadelta", ["default", "default"]),
        ("adamax", ["default", "default"]),
        ("nadam", ["default", "default"]),
        ("ftml", ["default", "default", "default"]),
        ("dcasgd", ["default", "row_sparse"]),
        ("rmsprop", ["row_sparse"]),
        ("lamb", ["row_sparse", "row_sparse"]),
    ],
)
def test_states_are_stored_as_in_mxnet(name, stypes):
    attrs = {"momentum": 0.9} if name in ("sgd", "nag", "dcasgd") else {}
    optimizer = mx.optimizer.create(name, **attrs)
    state = optimizer.create_state(0, nd.array(WEIGHT).tostype("row_sparse"))
    state = state if isinstance(state, tuple) else (state,)
    assert [s.stype for s in state] == stypes


def test_states_of_all_rows_where_all_rows_change():
    for name, attrs in (("sgd", {"momentum": 0.9}), ("lars", {"momentum": 0.9}), ("adam", {})):
        optimizer = mx.optimizer.create(name, lazy_update=False, **attrs)
        state = optimizer.create_state(0, nd.array(WEIGHT).tostype("row_sparse"))
        for one in state if isinstance(state, tuple) else (state,):
            assert one.stype == "default", name


def test_a_step_into_another_array_leaves_the_weight():
    weight, out = nd.array(WEIGHT), nd.zeros((4, 3))
    nd.sgd_update(weight, gradient([1], 1), lr=0.5, out=out)
    np.testing.assert_array_equal(weight.asnumpy(), WEIGHT)
    expected = WEIGHT.copy()
    expected[1] -= [0.5, 1, 1.5]
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)


def test_steps_need_all_rows_of_a_sparse_weight():
    weight = nd.sparse.row_sparse_array((WEIGHT[:2], [0, 1]), shape=(4, 3))
    with pytest.raises(mx.MXNetError, match="not all 4"):
        nd.sgd_update(weight, gradient([1], 1), lr=0.5, out=weight)


def test_rows_of_gradients_outside_of_the_weight():
    weight = nd.array(WEIGHT)
    bad = nd.sparse.row_sparse_array((np.ones((1, 3)), [9]), shape=(4, 3), dtype="float32")
    nd.sgd_update(weight, bad, lr=0.5, out=weight)
    with pytest.raises(mx.MXNetError, match="row 9"):
        weight.asnumpy()


def test_store_of_rows():
    store = mx.kv.create("local")
    store.init("w", nd.array(WEIGHT).tostype("row_sparse"))
    out = nd.zeros((4, 3), stype="row_sparse")
    store.row_sparse_pull("w", out=out, row_ids=nd.array([2, 0, 2]))
    np.testing.assert_array_equal(out.indices.asnumpy(), [0, 2])
    np.testing.assert_array_equal(out.data.asnumpy(), WEIGHT[[0, 2]])
    store.push("w", [gradient([0], 1), gradient([0, 2], 2)])
    total = nd.zeros((4, 3))
    store.pull("w", out=total, ignore_sparse=False)
    expected = np.zeros((4, 3))
    expected[0], expected[2] = [3, 6, 9], [2, 4, 6]
    np.testing.assert_array_equal(total.asnumpy(), expected)
    before = out.asnumpy()
    store.pull("w", out=out)
    np.testing.assert_array_equal(out.asnumpy(), before)


def test_store_with_an_optimizer():
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.init("w", nd.array(WEIGHT).tostype("row_sparse"))
    store.push("w", [gradient([1], 1), gradient([1, 3], 1)])
    out = [nd.zeros((4, 3), stype="row_sparse") for _ in range(2)]
    store.row_sparse_pull("w", out=out, row_ids=nd.array([0, 1, 2, 3]))
    expected = WEIGHT.copy()
    expected[1] -= np.arange(1, 4)
    expected[3] -= np.arange(1, 4) / 2
    for array in out:
        np.testing.assert_allclose(array.asnumpy(), expected, rtol=1e-6)


def test_what_a_store_refuses():
    store = mx.kv.create("local")
    store.init("dense", nd.ones((4, 3)))
    store.init("rows", nd.ones((4, 3)).tostype("row_sparse"))
    rows = nd.zeros((4, 3), stype="row_sparse")
    for key, out in (("dense", rows), ("rows", nd.zeros((4, 3)))):
        with pytest.raises(mx.MXNetError, match="row_sparse"):
            store.row_sparse_pull(key, out=out, row_ids=nd.array([0]))
    for missing in ({"row_ids": nd.array([0])}, {"out": rows}):
        with pytest.raises(mx.MXNetError, match="required"):
            store.row_sparse_pull("rows", **missing)
    with pytest.raises(mx.MXNetError, match="2 row_ids for 1"):
        store.row_sparse_pull("rows", out=rows, row_ids=[nd.array([0]), nd.array([1])])


@pytest.mark.parametrize("name", ["zeros", "ones", "uniform", "normal"])
def test_initializers_fill_all_rows(name):
    weight = nd.zeros((4, 3), stype="row_sparse")
    mx.init.create(name)(mx.init.InitDesc("x_weight"), weight)
    np.testing.assert_array_equal(weight.indices.asnumpy(), range(4))
    assert weight.stype == "row_sparse"


# -- graphs --------------------------------------------------------------------------------------


def linear(stype="default", **attrs):
    data, weight = sym.var("data", stype="csr"), sym.var("weight", stype=stype)
    return sym.broadcast_add(sym.sparse.dot(data, weight), sym.var("bias"), **attrs)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_simple_bind_of_a_linear_model(stype):
    executor = linear(stype).simple_bind(mx.cpu(), data=(3, 3), weight=(3, 2), bias=(1, 2))
    stypes = {name: a.stype for name, a in executor.arg_dict.items()}
    assert stypes == {"data": "csr", "weight": stype, "bias": "default"}
    grads = {name: a.stype for name, a in executor.grad_dict.items()}
    assert grads == {"data": "default", "weight": "row_sparse", "bias": "default"}
    executor.arg_dict["weight"][:] = nd.ones((3, 2))
    executor.arg_dict["bias"][:] = 5
    out = executor.forward(is_train=True, data=nd.array(VALUES).tostype("csr"))[0]
    np.testing.assert_allclose(out.asnumpy(), VALUES @ np.ones((3, 2)) + 5)
    executor.backward(nd.ones((3, 2)))
    weight = executor.grad_dict["weight"]
    np.testing.assert_array_equal(weight.indices.asnumpy(), [0, 2])
    np.testing.assert_allclose(weight.asnumpy(), VALUES.T @ np.ones((3, 2)))
    np.testing.assert_allclose(executor.grad_dict["bias"].asnumpy(), [[3, 3]])
    np.testing.assert_allclose(executor.grad_dict["data"].asnumpy(), np.full((3, 3), 2))


@pytest.mark.parametrize("request_", ["write", "add"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_bind_over_given_arrays(stype, request_):
    args = {
        "data": nd.array(VALUES).tostype("csr"),
        "weight": nd.ones((3, 2)),
        "bias": nd.zeros((1, 2)),
    }
    grad = nd.zeros((3, 2), stype=stype)
    requests = {"weight": request_}
    executor = linear().bind(mx.cpu(), args, {"weight": grad}, requests)
    for count in (1, 2):
        out = executor.forward(is_train=True)[0]
        executor.backward(nd.ones((3, 2)))
        times = count if request_ == "add" else 1
        np.testing.assert_allclose(grad.asnumpy(), times * VALUES.T @ np.ones((3, 2)))
        np.testing.assert_allclose(out.asnumpy(), VALUES @ np.ones((3, 2)))
    other = nd.array(VALUES * 2).tostype("csr")
    out = executor.forward(data=other)[0]
    np.testing.assert_allclose(out.asnumpy(), 2 * VALUES @ np.ones((3, 2)))


def test_bound_embedding_and_loss():
    weight = sym.var("weight", stype="row_sparse")
    out = sym.Embedding(sym.var("data"), weight, input_dim=4, output_dim=3, sparse_grad=True)
    executor = out.simple_bind(mx.cpu(), data=(2,), grad_req={"weight": "write"})
    assert executor.grad_dict["weight"].stype == "row_sparse"
    executor.arg_dict["weight"][:] = nd.array(WEIGHT)
    found = executor.forward(is_train=True, data=nd.array([3, 1]))[0]
    np.testing.assert_array_equal(found.asnumpy(), WEIGHT[[3, 1]])
    executor.backward(nd.ones((2, 3)))
    np.testing.assert_array_equal(executor.grad_dict["weight"].indices.asnumpy(), [1, 3])


def test_heads_may_be_sparse():
    data = sym.var("data", stype="csr")
    executor = (data * 2).simple_bind(mx.cpu(), data=(3, 3), grad_req="null")
    out = executor.forward(data=nd.array(VALUES).tostype("csr"))[0]
    assert out.stype == "csr"
    np.testing.assert_array_equal(out.asnumpy(), VALUES * 2)


def test_unknown_storage_types_are_refused():
    with pytest.raises(mx.MXNetError, match="stype_dict"):
        sym.var("a").simple_bind(mx.cpu(), a=(2,), stype_dict={"a": "dense"})


@pytest.mark.parametrize("loss", ["Linear", "Logistic", "MAE"])
@pytest.mark.parametrize("label_stype", ["default", "csr"])
def test_losses_of_regression(loss, label_stype):
    data, label = nd.array(VALUES - 1), nd.array(VALUES).tostype(label_stype)
    data.attach_grad()
    with mx.autograd.record():
        out = getattr(nd, f"{loss}RegressionOutput")(data, label, grad_scale=2.0)
    out.backward()
    values = VALUES - 1
    expected = 1 / (1 + np.exp(-values)) if loss == "Logistic" else values
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-6)
    apart = expected - VALUES
    apart = np.where(apart > 0, 1, -1) if loss == "MAE" else apart
    np.testing.assert_allclose(data.grad.asnumpy(), apart * 2 / 3, rtol=1e-6)


def test_training_finds_a_linear_model():
    rng = np.random.default_rng(0)
    matrix = sp.random(400, 50, 0.1, "csr", "float32", random_state=0)
    truth = rng.normal(size=(50, 1)).astype("float32")
    target = matrix @ truth
    weight = nd.zeros((50, 1))
    weight.attach_grad(stype="row_sparse")
    optimizer = mx.optimizer.create("adam", learning_rate=0.1)
    state = optimizer.create_state(0, weight)
    for step in range(300):
        batch = slice(step * 40 % 400, step * 40 % 400 + 40)
        data = nd.sparse.csr_matrix(matrix[batch], dtype="float32")
        with mx.autograd.record():
            loss = nd.sum(nd.square(nd.dot(data, weight) - nd.array(target[batch])))
        loss.backward()
        optimizer.update(0, weight, weight.grad, state)
    assert np.abs(weight.asnumpy() - truth).max() < 0.05

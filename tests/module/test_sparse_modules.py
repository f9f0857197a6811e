"""Modules whose parameters are row_sparse: what the store has, batches read and files get."""

import numpy as np
import pytest

import ferromix as mx

ONE, TWO = [mx.cpu()], [mx.cpu(0), mx.cpu(1)]
KINDS = {"w_weight": "row_sparse", "b_bias": "default"}
STORES = {
    "none": (None, ONE),
    "local": ("local", TWO),
    "device": ("device", TWO),
    "local object": (lambda: mx.kv.create("local"), ONE),
    "device object": (lambda: mx.kv.create("device"), TWO),
}


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    # Parts of csr batches for several devices are cut by way of dense arrays.
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


def linear():
    data = mx.sym.Variable("data", stype="csr")
    weight = mx.sym.Variable("w_weight", stype="row_sparse", shape=(6, 2))
    product = mx.sym.sparse.dot(data, weight)
    both = mx.sym.broadcast_add(product, mx.sym.Variable("b_bias", shape=(2,)))
    return mx.sym.SoftmaxOutput(both, mx.sym.Variable("softmax_label"), name="softmax")


def samples():
    rng = np.random.default_rng(5)
    data = (rng.random((8, 6)) * (rng.random((8, 6)) > 0.6)).astype("float32")
    data[:4, 4] = 0  # a row that the first batch does not read
    return data, (rng.random(8) > 0.5).astype("float32")


def batches():
    data, label = samples()
    data = mx.nd.array(data).tostype("csr")
    return mx.io.NDArrayIter(data, label, 4, last_batch_handle="discard")


def rows_of(batch):
    return {"w_weight": mx.nd.array(np.flatnonzero(batch.data[0].asnumpy().any(axis=0)))}


def expected(epochs, rate):
    """Weights and bias after plain descent, from ones and zeros."""
    data, label = (part.astype("float64") for part in samples())
    weight, bias = np.ones((6, 2)), np.zeros(2)
    for part in [slice(0, 4), slice(4, 8)] * epochs:
        scores = np.exp(data[part] @ weight + bias)
        error = scores / scores.sum(axis=1, keepdims=True) - np.eye(2)[label[part].astype(int)]
        weight -= rate / 4 * data[part].T @ error
        bias -= rate / 4 * error.sum(axis=0)
    return {"w_weight": weight, "b_bias": bias}


def check(params, wanted):
    assert {name: array.stype for name, array in params.items()} == KINDS
    for name, array in params.items():
        np.testing.assert_allclose(array.asnumpy(), wanted[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("updates", ["1", "0"])
@pytest.mark.parametrize("case", STORES)
def test_a_linear_model_trains_as_plain_descent(case, updates, monkeypatch, tmp_path):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", updates)
    store, devices = STORES[case]
    module = mx.mod.Module(linear(), context=devices)
    module.fit(
        batches(),
        num_epoch=3,
        initializer=mx.init.One(),
        optimizer_params={"learning_rate": 0.5},
        kvstore=store() if callable(store) else store,
        sparse_row_id_fn=rows_of,
    )
    wanted = expected(3, 0.5)
    check(module.get_params()[0], wanted)
    module.save_checkpoint(str(tmp_path / "net"), 3)
    check(mx.model.load_params(tmp_path / "net", 3)[0], wanted)


def test_devices_have_the_rows_that_a_batch_reads():
    module = mx.mod.Module(linear())
    data = batches()
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(mx.kv.create("local"), optimizer_params={"learning_rate": 0.5})
    first, second = data.next(), data.next()
    (weight,) = module._exec_group.param_arrays[0]
    module.forward_backward(first)
    module.update()
    assert weight.asnumpy().tolist() == np.ones((6, 2)).tolist()  # before it asks for rows
    rows = rows_of(second)["w_weight"].asnumpy().astype(int).tolist()
    module.prepare(second, rows_of)
    assert weight.stype == "row_sparse"
    assert weight.indices.asnumpy().tolist() == rows
    module.prepare(first, rows_of)
    assert weight.indices.asnumpy().tolist() == [0, 1, 2, 3, 5]
    whole = module.get_params()[0]["w_weight"]
    assert whole.indices.asnumpy().tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_array_equal(whole.asnumpy()[4], [1, 1])
    np.testing.assert_array_equal(whole.asnumpy()[rows], module_rows(module, second, rows))


def module_rows(module, batch, rows):
    module.prepare(batch, rows_of)
    return module._exec_group.param_arrays[0][0].asnumpy()[rows]


def test_a_checkpoint_goes_on_row_by_row(tmp_path):
    prefix = str(tmp_path / "net")
    values = {"w_weight": mx.nd.ones((6, 2)).tostype("row_sparse"), "b_bias": mx.nd.zeros(2)}
    mx.model.save_checkpoint(prefix, 1, linear(), values, {})
    symbol, args, auxs = mx.model.load_checkpoint(prefix, 1)
    module = mx.mod.Module(symbol)
    module.fit(
        batches(),
        num_epoch=2,
        arg_params=args,
        aux_params=auxs,
        optimizer_params={"learning_rate": 0.25},
        kvstore=mx.kv.create("local"),
        sparse_row_id_fn=rows_of,
    )
    check(module.get_params()[0], expected(2, 0.25))


def test_devices_have_dense_parameters_whole():
    module = mx.mod.Module(linear())
    data = batches()
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.One())
    module.init_optimizer(mx.kv.create("local"))
    with pytest.warns(UserWarning, match="'b_bias' is default"):
        module.prepare(data.next(), lambda batch: {"b_bias": mx.nd.array([0])})
    with pytest.raises(mx.MXNetError, match="no parameter 'nope'"):
        module.prepare(data.next(), lambda batch: {"nope": mx.nd.array([0])})

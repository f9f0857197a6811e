"""Modules: files, states, shapes that change, and what is refused."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from scenarios import numbers, perceptron, samples, start

import ferromix as mx
from ferromix.error import ArgumentTypeError, InvalidArgumentError, MXNetError
from ferromix.module.executor_group import _split_input_slice


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="f")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def params():
    return {"f_weight": mx.nd.array(numbers(3, 5)), "f_bias": mx.nd.array([0.5, 0, -0.5])}


def bound(**kwargs):
    module = mx.mod.Module(network(), **kwargs)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))], inputs_need_grad=True)
    module.init_params(arg_params=params(), aux_params={})
    return module


def batch(size=4, seed=9):
    return mx.io.DataBatch(
        [mx.nd.array(numbers(size, 5, seed=seed))], [mx.nd.array(np.arange(size) % 3)]
    )


def expected(data):
    """The outputs for the parameters above."""
    weights = {k: v.asnumpy().astype(np.float64) for k, v in params().items()}
    scores = data.asnumpy() @ weights["f_weight"].T + weights["f_bias"]
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize("devices", [1, 2, 3])
def test_outputs_and_gradients_of_a_batch(devices):
    module = bound(context=[mx.cpu(i) for i in range(devices)])
    given = batch()
    module.forward_backward(given)
    probabilities = expected(given.data[0])
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), probabilities, rtol=1e-5)
    assert len(module.get_outputs(merge_multi_context=False)[0]) == devices
    assert module.output_shapes == [("softmax_output", (4, 3))]
    slope = (probabilities - np.eye(3)[np.arange(4) % 3]) @ params()["f_weight"].asnumpy()
    np.testing.assert_allclose(module.get_input_grads()[0].asnumpy(), slope, rtol=1e-4, atol=1e-6)


def test_batches_are_cut_by_shares():
    assert _split_input_slice(10, [1, 1]) == [slice(0, 5), slice(5, 10)]
    assert _split_input_slice(10, [3, 1]) == [slice(0, 8), slice(8, 10)]
    assert _split_input_slice(7, [1, 1, 1])[-1].stop == 7
    with pytest.raises(InvalidArgumentError, match="a batch of 2 is too small for 3 devices"):
        _split_input_slice(2, [1, 1, 1])


@pytest.mark.parametrize("devices", [1, 2])
def test_batches_of_other_sizes(devices):
    module = bound(context=[mx.cpu(i) for i in range(devices)])
    for size in (6, 2, 4):
        given = batch(size)
        module.forward(given, is_train=False)
        np.testing.assert_allclose(
            module.get_outputs()[0].asnumpy(), expected(given.data[0]), rtol=1e-5
        )
        assert module.data_shapes[0].shape == (size, 5)
        assert module.label_shapes[0].shape == (size,)


@pytest.mark.parametrize("devices", [1, 2])
def test_batches_that_need_other_parameters_are_refused(devices):
    module = bound(context=[mx.cpu(i) for i in range(devices)])
    wide = mx.io.DataBatch([mx.nd.ones((4, 6))], [mx.nd.zeros(4)])
    with pytest.raises(InvalidArgumentError, match=r"'f_weight' would have.*\(3, 6\).*\(3, 5\)"):
        module.forward(wide)
    # What it was bound for is as before.
    assert module.data_shapes[0].shape == (4, 5)
    given = batch()
    module.forward(given)
    found = module.get_outputs()[0].asnumpy()
    np.testing.assert_allclose(found, expected(given.data[0]), rtol=1e-5)


def test_what_scripts_read_of_an_optimizer():
    module = bound()
    assert module._optimizer is None
    module.init_optimizer(optimizer_params={"learning_rate": 0.25})
    assert module._optimizer.lr == 0.25
    assert module._kvstore is None
    assert module._update_on_kvstore is False
    assert module._updater.optimizer is module._optimizer


def test_buckets_of_a_module():
    def made(key):
        return network(), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(made, 5)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.switch_bucket(2, [("data", (2, 5))], [("softmax_label", (2,))])
    assert (module._curr_bucket_key, sorted(module._buckets)) == (2, [2, 5])
    assert module._curr_module is module._buckets[2]
    with pytest.raises(InvalidArgumentError, match=r"sym_gen must give a symbol.*bucket 5"):
        mx.mod.BucketingModule(lambda key: network(), 5)


def test_a_checkpoint_with_states_goes_on_where_it_was(tmp_path):
    def trained(module, epochs, begin=0):
        module.fit(
            samples(mx),
            num_epoch=epochs,
            begin_epoch=begin,
            optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
            arg_params=start(mx)[0],
            aux_params=start(mx)[1],
        )
        return module

    prefix = str(tmp_path / "net")
    trained(mx.mod.Module(perceptron(mx)), 2).save_checkpoint(prefix, 2, True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["net-0002.params", "net-0002.states", "net-symbol.json"]
    again = mx.mod.Module.load(prefix, 2, load_optimizer_states=True)
    with pytest.warns(UserWarning, match="set already"):
        trained(again, 4, 2)
    straight = trained(mx.mod.Module(perceptron(mx)), 4)
    for one, other in zip(again.get_params(), straight.get_params(), strict=True):
        for name, array in one.items():
            np.testing.assert_array_equal(array.asnumpy(), other[name].asnumpy())


def test_parameters_in_files(tmp_path):
    path = str(tmp_path / "parameters")
    bound().save_params(path)
    module = mx.mod.Module(network())
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    module.load_params(path)
    assert module.params_initialized
    given = batch(2)
    module.forward(given)
    np.testing.assert_allclose(
        module.get_outputs()[0].asnumpy(), expected(given.data[0]), rtol=1e-5
    )


@pytest.mark.parametrize("size", [20, 18])
def test_predictions(size):
    module, data = bound(), numbers(size, 5, seed=4)
    iterator = mx.io.NDArrayIter(data, np.zeros(size), 4)
    whole = expected(mx.nd.array(data))
    np.testing.assert_allclose(module.predict(iterator).asnumpy(), whole, rtol=1e-5)
    (listed,) = module.predict(iterator, always_output_list=True)
    assert listed.shape == (size, 3)
    parts = module.predict(iterator, merge_batches=False)
    assert [p[0].shape[0] for p in parts] == [4] * (size // 4) + ([2] if size % 4 else [])
    assert module.predict(iterator, num_batch=2).shape == (8, 3)
    assert [n for _, n, _ in module.iter_predict(iterator)] == list(range(-(-size // 4)))
    np.testing.assert_allclose(module.predict(data).asnumpy(), whole, rtol=1e-5)


def test_scores_and_callbacks():
    module, told, ended = bound(), [], []
    iterator = mx.io.NDArrayIter(numbers(12, 5), np.zeros(12), 4)
    found = module.score(
        iterator,
        ["acc", "ce"],
        num_batch=2,
        batch_end_callback=[lambda p: told.append(p.nbatch), lambda p: told.append(p.epoch)],
        score_end_callback=lambda p: ended.append(p.nbatch),
        epoch=7,
    )
    assert [name for name, _ in found] == ["accuracy", "cross-entropy"]
    chosen = expected(mx.nd.array(numbers(12, 5)[:8]))
    assert found[0][1] == pytest.approx((chosen.argmax(1) == 0).mean())
    assert told == [0, 7, 1, 7]
    assert ended == [2]
    about = []
    module.score(
        iterator,
        "acc",
        batch_end_callback=lambda p: about.append(p.locals["eval_batch"].data[0].shape),
        score_end_callback=lambda p: about.append(p.locals["actual_num_batch"]),
    )
    assert about == [(4, 5)] * 3 + [3]


def test_states_are_handed_on():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="f")
    net = mx.sym.broadcast_add(net, mx.sym.Variable("memory", shape=(4, 3)))
    module = mx.mod.Module(net, label_names=None, state_names=["memory"])
    module.bind([("data", (4, 5))], for_training=False)
    module.init_params(mx.init.One())
    given = mx.io.DataBatch([mx.nd.ones((4, 5))])
    for state, total in ((2.0, 7), (mx.nd.full((4, 3), 3), 8)):
        words = {"value": state} if isinstance(state, float) else {"states": [state]}
        module.set_states(**words)
        module.forward(given)
        np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.full((4, 3), total))
    np.testing.assert_array_equal(module.get_states()[0].asnumpy(), np.full((4, 3), 3))
    with pytest.raises(InvalidArgumentError, match="either states or a value"):
        module.set_states()


def test_modules_share_parameters():
    whole = bound()
    whole.init_optimizer(optimizer_params={"learning_rate": 1.0})
    small = mx.mod.Module(network())
    small.bind([("data", (2, 5))], [("softmax_label", (2,))], shared_module=whole)
    small.forward_backward(batch(2))
    small.update()
    changed = whole._exec_group.execs[0].arg_dict["f_weight"].asnumpy()
    assert not np.array_equal(changed, params()["f_weight"].asnumpy())
    np.testing.assert_array_equal(small.get_params()[0]["f_weight"].asnumpy(), changed)


def test_fixed_parameters_stay():
    module = mx.mod.Module(network(), fixed_param_names=["f_weight"])
    data = mx.io.NDArrayIter(numbers(8, 5), np.zeros(8), 4)
    module.fit(data, num_epoch=1, arg_params=params(), aux_params={})
    found = module.get_params()[0]
    assert np.array_equal(found["f_weight"].asnumpy(), params()["f_weight"].asnumpy())
    assert not np.array_equal(found["f_bias"].asnumpy(), params()["f_bias"].asnumpy())


def test_initializers_of_variables_count():
    weight = mx.sym.Variable("w", init=mx.init.Constant(3))
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), weight, num_hidden=2, name="f")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 2))])
    module.init_params(mx.init.One())
    found, _ = module.get_params()
    assert (found["w"].asnumpy() == 3).all()
    assert (found["f_bias"].asnumpy() == 0).all()


def test_monitors_see_what_is_computed(caplog):
    caplog.set_level(logging.INFO)
    module = mx.mod.Module(network())
    data = mx.io.NDArrayIter(numbers(8, 5), np.zeros(8), 4)
    monitor = mx.mon.Monitor(1, pattern="softmax_output")
    module.fit(data, num_epoch=1, monitor=monitor)
    assert sum("softmax_output" in r.getMessage() for r in caplog.records) == 2
    assert any("Train-accuracy" in r.getMessage() for r in caplog.records)


def test_steps_that_are_missing_are_named():
    module = mx.mod.Module(network())
    with pytest.raises(MXNetError, match="call bind"):
        module.init_params()
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    with pytest.raises(MXNetError, match="call init_params"):
        module.forward(batch())
    module.init_params()
    with pytest.raises(MXNetError, match="call init_optimizer"):
        module.update()
    with pytest.raises(InvalidArgumentError, match="inputs_need_grad"):
        module.get_input_grads()
    with pytest.warns(UserWarning, match="set already"):
        module.init_params()
    module.bind([("data", (2, 5))], force_rebind=True, for_training=False)
    with pytest.raises(InvalidArgumentError, match="for_training"):
        module.backward()


def test_wrong_arguments_are_named():
    with pytest.raises(InvalidArgumentError, match=r"no argument 'x'.*data, softmax_label"):
        mx.mod.Module(network(), data_names=["x"])
    with pytest.raises(ArgumentTypeError, match="must be a Symbol"):
        mx.mod.Module("net")
    with pytest.raises(InvalidArgumentError, match="2 shares for 1 devices"):
        mx.mod.Module(network(), work_load_list=[1, 2])
    module = mx.mod.Module(network())
    with pytest.raises(InvalidArgumentError, match=r"data_names are \['data'\]"):
        module.bind([("other", (4, 5))])
    with pytest.raises(InvalidArgumentError, match="one batch size"):
        module.bind([("data", (4, 5))], [("softmax_label", (3,))])
    module = bound()
    with pytest.raises(InvalidArgumentError, match="'f_bias' is not among those given"):
        module.set_params({"f_weight": params()["f_weight"]}, {})
    module.set_params({"f_weight": params()["f_weight"]}, {}, allow_missing=True)
    with pytest.raises(InvalidArgumentError, match="no parameter 'more'"):
        module.set_params({"more": mx.nd.ones(1)}, {}, allow_missing=True)
    with pytest.raises(InvalidArgumentError, match="'f_bias' has shape"):
        module.set_params(params() | {"f_bias": mx.nd.ones(2)}, {})
    with pytest.raises(ArgumentTypeError, match="optimizer must be"):
        module.init_optimizer(optimizer=3)
    with pytest.raises(ArgumentTypeError, match="kvstore must be"):
        module.init_optimizer(kvstore=3)
    with pytest.raises(InvalidArgumentError, match="num_epoch"):
        module.fit(samples(mx))
    with pytest.warns(UserWarning, match="not by 0.25"):
        module.init_optimizer(optimizer=mx.optimizer.SGD())

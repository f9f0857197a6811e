"""What scripts of MXNet read in modules, and assign, under names that begin with an underscore."""

import numpy as np
import pytest

import ferromix as mx

DATA, LABELS = np.arange(12.0).reshape(4, 3), np.array([0.0, 1.0, 1.0, 0.0])
ONE, TWO = [mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(mx.sym.BatchNorm(net, name="bn"), name="softmax")


def batches():
    return mx.io.NDArrayIter(DATA, LABELS, 4)


def bound(context, **how):
    module = mx.mod.Module(network(), context=context)
    data = batches()
    module.bind(data.provide_data, data.provide_label, **how)
    module.init_params(mx.init.Uniform(1))
    return module, next(data)


def weight(module, device=0):
    return module._exec_group.param_arrays[0][device].asnumpy()


@pytest.mark.parametrize("context", [ONE, TWO], ids=["one device", "two devices"])
def test_groups_list_their_arrays(context):
    module, batch = bound(context, grad_req="add")
    group = module._exec_group
    count, parts = len(context), group.slices
    assert module._grad_req == "add"
    assert module._total_exec_bytes == group._total_exec_bytes == 0
    assert parts == ([slice(0, 4)] if count == 1 else [slice(0, 2), slice(2, 4)])
    assert (group.batch_size, len(group.execs), group.num_outputs) == (4, count, 1)
    assert group.data_layouts == group.label_layouts == group.output_layouts == [0]
    names = ["fc_weight", "fc_bias", "bn_gamma", "bn_beta"]
    assert group.param_names == names
    shapes = [(2, 3), (2,), (2,), (2,)]
    for blocks in (group.param_arrays, group.grad_arrays):
        assert [[a.shape for a in block] for block in blocks] == [[s] * count for s in shapes]
    assert [[a.shape for a in block] for block in group.aux_arrays] == [[(2,)] * count] * 2
    assert [[part for part, _ in block] for block in group.data_arrays] == [parts]
    module.forward(batch)
    for blocks, whole in ((group.data_arrays, DATA), (group.label_arrays, LABELS)):
        for part, array in blocks[0]:
            assert array.asnumpy().tolist() == whole[part].tolist()
    module.reshape([("data", (2, 3))], [("softmax_label", (2,))])
    assert group.data_arrays[0][0][1].shape == (2 // count, 3)


def test_parameters_come_from_devices_when_asked():
    module, batch = bound(TWO)
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    before = module._arg_params["fc_weight"].asnumpy()
    module.forward_backward(batch)
    module.update()
    assert module._params_dirty
    assert module._arg_params["fc_weight"].asnumpy().tolist() == before.tolist()
    module._sync_params_from_devices()
    assert not module._params_dirty
    assert module._arg_params["fc_weight"].asnumpy().tolist() == weight(module).tolist()
    assert (weight(module) != before).any()


@pytest.mark.parametrize("context", [ONE, TWO], ids=["one device", "two devices"])
def test_an_updater_of_ones_own_may_be_assigned(context):
    module, batch = bound(context)
    assert module._optimizer is module._kvstore is module._updater is None
    assert module._update_on_kvstore is None
    seen = []
    module._updater = lambda numbers, grads, weights: seen.append((numbers, grads, weights))
    module._update_on_kvstore, module.optimizer_initialized = False, True
    module.forward_backward(batch)
    module.update()
    count, group = len(context), module._exec_group
    assert [numbers for numbers, _, _ in seen] == [
        tuple(range(k, 4 * count, count)) for k in range(count)
    ]
    for device, (_, grads, weights) in enumerate(seen):
        assert [a is b[device] for a, b in zip(grads, group.grad_arrays, strict=True)] == [True] * 4
        assert [a is b[device] for a, b in zip(weights, group.param_arrays, strict=True)]


def test_an_optimizer_may_be_exchanged():
    module, batch = bound(ONE)
    module.init_optimizer(optimizer_params={"learning_rate": 1.0})
    module._optimizer = slower = mx.optimizer.SGD(learning_rate=0.25, rescale_grad=0.25)
    module._updater = mx.optimizer.get_updater(slower)
    before = weight(module)
    module.forward_backward(batch)
    module.update()
    gradient = module._exec_group.grad_arrays[0][0].asnumpy()
    np.testing.assert_allclose(weight(module), before - 0.25 * 0.25 * gradient, rtol=1e-6)


def test_a_store_may_be_assigned(tmp_path):
    module, batch = bound(TWO)
    module.init_optimizer()
    store = mx.kv.create("local")
    for name, array in module.get_params()[0].items():
        store.init(name, array)
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    module._kvstore, module._update_on_kvstore, module._updater = store, True, None
    before = weight(module)
    module.forward_backward(batch)
    module.update()
    total = sum(g.asnumpy() for g in module._exec_group.grad_arrays[0])
    for device in range(2):
        np.testing.assert_allclose(weight(module, device), before - 0.5 * total, rtol=1e-5)
    module.save_optimizer_states(str(tmp_path / "states"))
    assert (tmp_path / "states").stat().st_size > 0


def test_what_is_assigned_is_borrowed():
    module, _ = bound(ONE)
    module.init_optimizer()
    module._updater = own = mx.optimizer.get_updater(mx.optimizer.SGD())
    other = mx.mod.Module(network())
    other.bind([("data", (2, 3))], [("softmax_label", (2,))], shared_module=module)
    assert other.optimizer_initialized
    assert other._updater is own
    assert other._optimizer is module._optimizer


def test_binding_may_be_undone():
    module, batch = bound(ONE)
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    module.forward_backward(batch)
    module.update()
    trained, group = weight(module), module._exec_group
    module._reset_bind()
    assert not module.binded
    assert module._exec_group is None
    with pytest.raises(mx.MXNetError, match="call bind"):
        module.forward(batch)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    assert module._exec_group is not group
    assert weight(module).tolist() == trained.tolist()
    assert module.optimizer_initialized


def test_binding_of_buckets_may_be_undone():
    made = mx.mod.BucketingModule(lambda key: (network(), ("data",), ("softmax_label",)), 4)
    shapes = [("data", (4, 3))], [("softmax_label", (4,))]
    made.bind(*shapes, grad_req="add")
    made.init_params(mx.init.One())
    assert made._grad_req == "add"
    made._reset_bind()
    assert not made.binded
    assert made._buckets == {}
    made.bind(*shapes)
    assert made._grad_req == "write"
    assert made.get_params()[0]["fc_weight"].asnumpy().tolist() == [[1, 1, 1]] * 2


def test_the_least_of_stores_sums_gradients():
    trained = {}
    for kind in ("teststore", "local"):
        module = mx.mod.Module(network(), context=TWO)
        mx.random.seed(7)
        module.fit(
            batches(),
            num_epoch=2,
            kvstore=kind,
            initializer=mx.init.Uniform(1),
            optimizer_params={"learning_rate": 0.5},
        )
        trained[kind] = module.get_params()[0]["fc_weight"].asnumpy()
        assert module._update_on_kvstore == (kind == "local")
    np.testing.assert_allclose(trained["teststore"], trained["local"], rtol=1e-5)

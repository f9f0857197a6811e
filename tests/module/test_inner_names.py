"""Functions and attributes with an underscore that scripts for MXNet use all the same."""

import numpy as np
import pytest

import ferromix as mx
from ferromix import model
from ferromix.module import base_module

ONE, TWO = [mx.cpu()], [mx.cpu(0), mx.cpu(1)]
PARAMS = {"w": mx.nd.ones((3, 2)), "s": mx.nd.zeros((3, 2)).tostype("row_sparse")}


class Recorder(mx.kv.KVStoreBase):
    """A store that notes what it is asked."""

    def __init__(self):
        self.calls = []

    def broadcast(self, key, value, out, priority=0):
        self.calls.append(("broadcast", key, len(out)))

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append(("pushpull", key, len(value), out and len(out), priority))

    def init(self, key, value):
        self.calls.append(("init", key))

    def push(self, key, value, priority=0):
        self.calls.append(("push", key, len(value), priority))

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        self.calls.append(("pull", key, len(out), priority, ignore_sparse))

    @staticmethod
    def is_capable(capability):
        return True


def network():
    data = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn")
    data = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(data, name="softmax")


def bound(devices=ONE, **kwargs):
    module = mx.mod.Module(network(), context=devices)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))], **kwargs)
    module.init_params(mx.init.One())
    return module


def step(module, value=1.0):
    label = mx.nd.array([0, 1, 1, 1])
    data = mx.nd.array(np.arange(12).reshape(4, 3) * value)
    module.forward_backward(mx.io.DataBatch([data], [label]))
    module.update()
    return {name: array.asnumpy() for name, array in module.get_params()[0].items()}


# -- stores --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "devices", "kind", "updates"),
    [
        (None, 2, None, False),
        ("local", 1, None, False),
        ("local", 2, "local", True),
        ("device", 2, "device", True),
        ("teststore", 2, "teststore", False),
        (mx.kv.create("local"), 1, "local", True),
    ],
    ids=lambda value: "a store" if isinstance(value, mx.kv.KVStoreBase) else str(value),
)
def test_stores_for_devices(given, devices, kind, updates, monkeypatch):
    store, on_store = model._create_kvstore(given, devices, PARAMS)
    assert (store and store.type, on_store) == (kind, updates)
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    assert model._create_kvstore(given, devices, PARAMS)[1] is False


def test_large_parameters_are_not_updated_in_the_host_store():
    large = {"w": mx.nd.zeros((4097, 4096), dtype="int8")}
    assert model._create_kvstore("local", 2, large)[1] is False
    assert model._create_kvstore("device", 2, large)[1] is True
    with pytest.raises(TypeError, match="kvstore must be a store"):
        model._create_kvstore(3, 2, large)


def test_stores_for_rows_update():
    store, on_store = model._create_sparse_kvstore("local")
    assert (store.type, on_store) == ("local", True)
    assert model._create_sparse_kvstore(store)[0] is store
    for wrong in (None, Recorder()):
        with pytest.raises(TypeError, match="need a KVStore"):
            model._create_sparse_kvstore(wrong)


def test_what_stores_are_asked_for():
    names = ["w", "b", "s"]
    params = {**PARAMS, "b": mx.nd.zeros(2)}
    arrays = [[params[name].copy() for _ in range(2)] for name in names]
    grads = [arrays[0], [None, None], arrays[2]]
    store = Recorder()
    model._initialize_kvstore(store, arrays, params, names, True)
    assert store.calls == [("broadcast", "w", 2), ("broadcast", "b", 2), ("init", "s")]
    store.calls.clear()
    model._initialize_kvstore(store, arrays, params, names, update_on_kvstore=False)
    assert store.calls == [("init", "w"), ("init", "b"), ("init", "s")]
    store.calls.clear()
    model._update_params_on_kvstore(arrays, grads, store, names)
    assert store.calls == [("pushpull", "w", 2, 2, 0), ("push", "s", 2, -2)]
    store.calls.clear()
    updated = []
    model._update_params(arrays, grads, lambda *given: updated.append(given), 2, store, names)
    assert store.calls == [
        ("pushpull", "w", 2, None, 0),
        ("push", "s", 2, -2),
        ("pull", "s", 2, -2, False),
    ]
    assert [numbers for numbers, _, _ in updated] == [(0, 4), (1, 5)]
    assert updated[1][2] == (arrays[0][1], arrays[2][1])


def test_a_loop_of_ones_own_with_them_is_what_modules_do():
    module = bound(TWO)
    rate = {"learning_rate": 0.5, "rescale_grad": 0.25}
    module.init_optimizer("device", "sgd", rate)
    own = bound(TWO)
    group, (args, _) = own._exec_group, own.get_params()
    store, on_store = model._create_kvstore("device", 2, args)
    assert on_store
    store.set_optimizer(mx.optimizer.create("sgd", param_idx2name=dict(enumerate(args)), **rate))
    model._initialize_kvstore(store, group.param_arrays, args, group.param_names, on_store)
    wanted = step(module)
    label, data = mx.nd.array([0, 1, 1, 1]), mx.nd.array(np.arange(12).reshape(4, 3))
    own.forward_backward(mx.io.DataBatch([data], [label]))
    model._update_params_on_kvstore(group.param_arrays, group.grad_arrays, store, group.param_names)
    own._params_dirty = True
    for name, array in own.get_params()[0].items():
        np.testing.assert_array_equal(array.asnumpy(), wanted[name])


# -- what modules ask of names -------------------------------------------------------------------


def test_names_and_descriptions_are_checked(caplog):
    net = network()
    base_module._check_input_names(net, ["data"], "data", True)
    with pytest.raises(ValueError, match=r"has no argument .x., which data_names"):
        base_module._check_input_names(net, ["x"], "data", True)
    base_module._check_input_names(net, ["x"], "label", False)
    assert "label_names" in caplog.text
    data, labels = base_module._parse_data_desc(["data"], [], [("data", (2, 3), "float16")], None)
    assert data == [mx.io.DataDesc("data", (2, 3), "float16")]
    assert labels is None
    with pytest.raises(ValueError, match="data_shapes are of"):
        base_module._parse_data_desc(["data"], [], [("d", (2, 3))], None)


@pytest.mark.parametrize("as_list", [base_module._as_list, mx.base._as_list])
def test_lists_of_one(as_list):
    assert [as_list(x) for x in (1, [1], (1, 2), None)] == [[1], [1], (1, 2), [None]]


# -- what scripts read of modules, and assign ----------------------------------------------------


def test_a_module_may_be_given_an_updater():
    module = bound(grad_req="add")
    assert module._grad_req == "add"
    assert module._optimizer is module._kvstore is module._updater is None
    seen = []
    module._optimizer = mx.optimizer.SGD(learning_rate=1.0)
    module._kvstore, module._update_on_kvstore = None, False
    module._updater = lambda numbers, grads, weights: seen.append(numbers)
    module.optimizer_initialized = True
    assert set(step(module)) == {"bn_gamma", "bn_beta", "fc_weight", "fc_bias"}
    assert seen == [(0, 1, 2, 3)]
    other = bound()
    other.borrow_optimizer(module)
    assert other._updater is module._updater


def test_a_module_may_be_given_a_store():
    module, usual = bound(), bound()
    for one in (module, usual):
        one.init_optimizer(optimizer_params={"learning_rate": 0.5})
    assert module._update_on_kvstore is False
    module._kvstore = mx.kv.create("local")
    module._kvstore.set_optimizer(module._optimizer)
    group = module._exec_group
    model._initialize_kvstore(
        module._kvstore, group.param_arrays, module._arg_params, group.param_names, True
    )
    module._update_on_kvstore, module._updater = True, None
    found, wanted = step(module), step(usual)
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values)


def test_the_arrays_of_devices_are_listed():
    group = bound(TWO)._exec_group
    first, second = slice(0, 2), slice(2, 4)
    assert group.slices == [first, second]
    assert (group.batch_size, group.num_outputs, group._total_exec_bytes) == (4, 1, 0)
    shapes = [[(part, array.shape) for part, array in pairs] for pairs in group.data_arrays]
    assert shapes == [[(first, (2, 3)), (second, (2, 3))]]
    shapes = [[(part, array.shape) for part, array in pairs] for pairs in group.label_arrays]
    assert shapes == [[(first, (2,)), (second, (2,))]]
    assert group.data_arrays[0][1][1] is group.execs[1].arg_dict["data"]
    for blocks, count in ((group.param_arrays, 4), (group.grad_arrays, 4), (group.aux_arrays, 2)):
        assert [len(block) for block in blocks] == [2] * count


def test_a_module_may_be_unbound_and_bound_again():
    module = bound()
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    label, data = mx.nd.array([0, 1, 1, 1]), mx.nd.array(np.arange(12).reshape(4, 3))
    module.forward_backward(mx.io.DataBatch([data], [label]))
    module.update()
    assert module._params_dirty
    module._sync_params_from_devices()
    assert not module._params_dirty
    wanted = module._arg_params["fc_weight"].asnumpy()
    assert not np.array_equal(wanted, np.ones((2, 3)))
    module._reset_bind()
    assert (module.binded, module._exec_group) == (False, None)
    assert module.params_initialized
    module.bind([("data", (2, 3))], None, for_training=False)
    assert module._exec_group.label_arrays is None
    np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), wanted)

"""What a module takes for a batch, and what it does not."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

nd, sym = mx.nd, mx.sym


def layer(**kwargs):
    """A module of one layer of ones, bound to two rows of three."""
    out = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
    module = mx.mod.Module(out, label_names=None, **kwargs)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params(mx.init.One())
    return module


@pytest.mark.parametrize("devices", [1, 2])
def test_whatever_has_data_is_a_batch_of_any_size(devices):
    only_data = namedtuple("only_data", ["data"])
    module = layer(context=[mx.cpu(i) for i in range(devices)])
    for rows in (2, 6, 2):
        module.forward(only_data([nd.ones((rows, 3))]))
        np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.full((rows, 4), 3))


def test_labels_of_a_batch_that_does_not_describe_them():
    with_labels = namedtuple("with_labels", ["data", "label"])
    out = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
    module = mx.mod.Module(sym.SoftmaxOutput(out, name="softmax"))
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.Zero())
    module.init_optimizer(optimizer_params={"learning_rate": 1, "rescale_grad": 1})
    module.forward(with_labels([nd.ones((4, 3))], [nd.ones((4,))]))
    module.backward()
    module.update()
    bias = module.get_params()[0]["fc_bias"].asnumpy()
    np.testing.assert_allclose(bias, [-1, 3, -1, -1], rtol=1e-6)


def test_arrays_beyond_the_bound_ones_are_passed_over_and_missing_ones_refused():
    module = layer()
    module.forward(mx.io.DataBatch([nd.ones((2, 3)), nd.ones((5,))]))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.full((2, 4), 3))
    with pytest.raises(InvalidArgumentError, match="with 0 arrays, bound for 1: data"):
        module.forward(mx.io.DataBatch([]))


@pytest.mark.parametrize("reshape", [False, True])
def test_data_that_would_change_a_parameter_are_refused_and_nothing_changes(reshape):
    module = layer()
    other = nd.ones((2, 5))
    said = r"\(2, 5\).*'fc_weight'.*\(4, 5\).*it has \(4, 3\)"
    call, given = module.forward, mx.io.DataBatch([other])
    if reshape:
        call, given = module.reshape, [("data", other.shape)]
    with pytest.raises(InvalidArgumentError, match=said):
        call(given)
    assert module.data_shapes[0].shape == (2, 3)
    module.forward(mx.io.DataBatch([nd.ones((2, 3))]))
    np.testing.assert_array_equal(module.get_outputs()[0].asnumpy(), np.full((2, 4), 3))


def test_the_optimizer_is_where_scripts_look_for_it_to_change_its_rate():
    out = sym.MakeLoss(sym.FullyConnected(sym.var("data"), num_hidden=1, name="fc"))
    module = mx.mod.BucketingModule(lambda key: (out, ["data"], None), default_bucket_key=1)
    module.bind([("data", (1, 1))])
    module.init_params(mx.init.Zero())
    assert module._curr_module._optimizer is None
    module.init_optimizer(optimizer_params={"learning_rate": 1})
    batch = mx.io.DataBatch([nd.ones((1, 1))], bucket_key=1, provide_data=[("data", (1, 1))])
    for rate in (1, 0.5):
        module._curr_module._optimizer.lr = rate
        module.forward_backward(batch)
        module.update()
    assert module.get_params()[0]["fc_bias"].asscalar() == -1.5
    single = module._curr_module
    assert (single._updater is None) == bool(single._update_on_kvstore)
    assert single._update_on_kvstore is False or single._kvstore is not None

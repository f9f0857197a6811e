"""Executors on several devices for loops of one's own; slices and values are MXNet's."""

import logging

import numpy as np
import pytest

import ferromix as mx

MANAGER = mx.executor_manager
TWO = [mx.cpu(0), mx.cpu(1)]
PARAMS = ["fc_weight", "fc_bias"]


def network():
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def batches():
    return mx.io.NDArrayIter(np.arange(12.0).reshape(4, 3), np.array([0.0, 1.0, 1.0, 0.0]), 4)


def managed(context=TWO, data=None, **more):
    net = network()
    names = net.list_arguments()
    data = data or batches()
    return MANAGER.DataParallelExecutorManager(net, context, data, names, PARAMS, [], **more)


@pytest.mark.parametrize(
    ("size", "shares", "ends"),
    [
        (10, [1, 1, 1], [3, 6, 10]),
        (10, [3, 1], [8, 10]),
        (10, [1, 2, 3], [2, 5, 10]),
        (8, [1, 1, 1], [3, 6, 8]),
        (5, [1, 1], [2, 5]),
        (3, [1, 1], [2, 3]),
        (100, [0.3, 0.7], [30, 100]),
        (16, [1] * 5, [3, 6, 9, 12, 16]),
    ],
)
def test_batches_are_cut_by_shares(size, shares, ends):
    found = MANAGER._split_input_slice(size, shares)
    assert found == [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(("size", "shares"), [(1, [1, 1]), (4, [1, 100]), (0, [1])])
def test_no_device_goes_without(size, shares):
    with pytest.raises(ValueError, match="too small"):
        MANAGER._split_input_slice(size, shares)


def test_names_must_differ():
    assert MANAGER._check_arguments(network()) is None
    with pytest.raises(ValueError, match="each argument a name of its own"):
        MANAGER._check_arguments(mx.sym.Variable("a") + mx.sym.Variable("a"))
    net = mx.sym.Variable("data")
    for name in "ab":
        net = mx.sym.BatchNorm(net, moving_mean=mx.sym.Variable("m"), name=name)
    with pytest.raises(ValueError, match="each auxiliary state a name of its own"):
        MANAGER._check_arguments(net)


def test_arrays_are_copied_whole_or_in_slices():
    whole, halves = mx.nd.zeros(4), [mx.nd.zeros(2), mx.nd.zeros(2)]
    MANAGER._load_general([mx.nd.arange(4)], [whole])
    assert whole.asnumpy().tolist() == [0, 1, 2, 3]
    targets = [[(slice(0, 2), halves[0]), (slice(2, 4), halves[1])]]
    batch = mx.io.DataBatch([mx.nd.arange(4)], [mx.nd.arange(4) + 1])
    MANAGER._load_data(batch, targets)
    assert [half.asnumpy().tolist() for half in halves] == [[0, 1], [2, 3]]
    MANAGER._load_label(batch, targets)
    assert [half.asnumpy().tolist() for half in halves] == [[1, 2], [3, 4]]
    with pytest.raises(mx.MXNetError, match="a batch of 6, bound for 4"):
        MANAGER._load_general([mx.nd.arange(6)], targets)


def test_a_manager_trains(caplog):
    data = batches()
    with caplog.at_level(logging.INFO):
        manager = managed(data=data)
    assert "Start training with [cpu(0), cpu(1)]" in caplog.text
    weight, bias = mx.nd.ones((2, 3)) * 0.1, mx.nd.zeros(2)
    manager.set_params({"fc_weight": weight, "fc_bias": bias}, {})
    batch = next(data)
    with pytest.raises(mx.MXNetError, match="load_data_batch"):
        manager.forward()
    manager.load_data_batch(batch)
    group = manager.curr_execgrp
    assert group is manager.execgrp
    assert (group.param_idx, group.slices) == ([1, 2], [slice(0, 2), slice(2, 4)])
    assert group.data_arrays[0][1][1].asnumpy().tolist() == [[6, 7, 8], [9, 10, 11]]
    manager.forward(is_train=True)
    manager.backward()
    halves = [[[1.5] * 3, [-1.5] * 3], [[-1.5] * 3, [1.5] * 3]]
    for found, wanted in zip(manager.grad_arrays[0], halves, strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6)
    accuracy = mx.metric.create("acc")
    manager.update_metric(accuracy, batch.label)
    assert accuracy.get() == ("accuracy", 0.5)
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    mx.model._update_params(manager.param_arrays, manager.grad_arrays, updater, 2)
    manager.copy_to({"fc_weight": weight, "fc_bias": bias}, {})
    np.testing.assert_allclose(weight.asnumpy(), np.full((2, 3), 0.1), rtol=1e-5)
    assert manager.aux_arrays == []


def test_a_manager_is_monitored():
    data = batches()
    manager = managed(data=data)
    monitor = mx.mon.Monitor(1, pattern="fc_output")
    manager.install_monitor(monitor)
    manager.load_data_batch(next(data))
    monitor.tic()
    manager.forward()
    assert [name for _, name, _ in monitor.toc()] == ["fc_output"] * 2


def test_buckets_share_parameters():
    def batch(key, count):
        shapes = [("data", (count, 3))], [("softmax_label", (count,))]
        arrays = [mx.nd.ones((count, 3))], [mx.nd.zeros(count)]
        return mx.io.DataBatch(*arrays, 0, None, key, *shapes)

    data = batches()
    data.default_bucket_key = "long"
    manager = managed(data=data, sym_gen=lambda key: network())
    manager.set_params({"fc_weight": mx.nd.ones((2, 3)), "fc_bias": mx.nd.zeros(2)}, {})
    manager.load_data_batch(batch("short", 4))
    short = manager.curr_execgrp
    assert short is not manager.execgrp
    assert manager.execgrp_bucket == {"long": manager.execgrp, "short": short}
    assert short.param_arrays[0][1].asnumpy().tolist() == [[1, 1, 1]] * 2
    manager.param_arrays[0][1][:] = 2
    assert short.param_arrays[0][1].asnumpy().tolist() == [[2, 2, 2]] * 2
    manager.load_data_batch(batch("long", 4))
    assert manager.curr_execgrp is manager.execgrp
    with pytest.raises(mx.MXNetError, match="buckets"):
        manager.install_monitor(mx.mon.Monitor(1))


def test_each_device_has_a_share():
    with pytest.raises(mx.MXNetError, match="1 shares for 2 devices"):
        managed(work_load_list=[1])
    assert managed(work_load_list=[3, 1]).slices == [slice(0, 3), slice(3, 4)]

"""Monitors: which statistics come, when, and as which text; MXNet 1.9.1 gave the expected ones."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S
from ferromix.error import ArgumentTypeError, DTypeError, InvalidArgumentError


def bound():
    y = S.square(S.Variable("x"), name="y")
    return y.bind(mx.cpu(), {"x": mx.nd.array([3, 4])}, {"x": mx.nd.zeros((2,))})


def watched(executor, batches=1, **kwargs):
    """What a monitor says of each batch."""
    monitor = mx.mon.Monitor(kwargs.pop("interval", 1), **kwargs)
    monitor.install(executor)
    found = []
    for _ in range(batches):
        monitor.tic()
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((2,)))
        found.append(monitor.toc())
    return found


def test_outputs_gradients_and_arguments_every_so_many_batches():
    first, second, third = watched(bound(), 3, interval=2)
    expected = [("y_output", 12.980755), ("y_backward_output", 7.071068), ("x", 3.535534)]
    for step, found in ((1, first), (3, third)):
        assert [entry[0] for entry in found] == [step] * len(found)
        texts = {name: text for _, name, text in found}
        assert next(iter(texts)) == "y_output"
        assert list(texts)[-1] == "x"
        for name, value in expected:
            assert texts[name].endswith("\t")
            assert float(texts[name]) == pytest.approx(value, rel=1e-6)
    assert second == []


def test_arrays_of_several_elements_and_lists_of_arrays():
    (found,) = watched(bound(), stat_func=lambda a: [a, a + 1], pattern="y_output|x")
    assert found == [(1, "y_output", "[ 9. 16.]\t[10. 17.]\t"), (1, "x", "[3. 4.]\t[4. 5.]\t")]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("y", ["y_output"]),
        (".*put$", ["y_output"]),
        ("x", ["x"]),
        ("put", []),
        ("", ["y_output", "x"]),
    ],
)
def test_the_pattern_matches_from_the_beginning(pattern, names):
    monitor, executor = mx.monitor.Monitor(1, pattern=pattern), bound()
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert [name for _, name, _ in monitor.toc()] == names


def test_inputs_and_order_by_name():
    monitor, executor = mx.mon.Monitor(1, sort=True, monitor_all=True), bound()
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert [name for _, name, _ in monitor.toc()] == ["x", "x", "y_data", "y_output"]


def test_several_executors_and_their_states():
    net = S.BatchNorm(S.Variable("x"), name="bn")
    monitor = mx.mon.Monitor(1, pattern=".*moving_var|bn_output")
    executors = [net.simple_bind(mx.cpu(), x=(2, n)) for n in (1, 3)]
    for executor in executors:
        executor.aux_dict["bn_moving_var"][:] = 4
        monitor.install(executor)
    monitor.tic()
    for executor in executors:
        executor.forward()
    found = [(name, float(text)) for _, name, text in monitor.toc()]
    names = ["bn_output", "bn_output", "bn_moving_var", "bn_moving_var"]
    assert [name for name, _ in found] == names
    assert [value for _, value in found] == [0, 0, 4, 4]


def test_a_loop_of_training_is_not_disturbed():
    net = S.SoftmaxOutput(S.FullyConnected(S.Variable("data"), num_hidden=2, name="fc"), name="sm")
    results = []
    for monitor in (None, mx.mon.Monitor(2)):
        executor = net.simple_bind(mx.cpu(), data=(3, 4))
        executor.arg_dict["data"][:] = np.arange(12).reshape(3, 4) / 12
        executor.arg_dict["sm_label"][:] = [0, 1, 0]
        if monitor:
            monitor.install(executor)
        for _ in range(4):
            if monitor:
                monitor.tic()
            executor.forward(is_train=True)
            executor.backward()
            for name in ("fc_weight", "fc_bias"):
                weight, gradient = executor.arg_dict[name], executor.grad_dict[name]
                mx.nd.sgd_update(weight, gradient, lr=0.1, out=weight)
            if monitor:
                monitor.toc()
        results.append(executor.arg_dict["fc_weight"].asnumpy())
    np.testing.assert_array_equal(*results)
    assert results[0].any()


def test_toc_print_logs_a_line_for_each(caplog):
    monitor, executor = mx.mon.Monitor(1), bound()
    monitor.install(executor)
    with caplog.at_level(logging.INFO):
        monitor.tic()
        executor.forward()
        monitor.toc_print()
    assert caplog.messages == [
        "Batch:       1 y_output                       12.980755\t",
        "Batch:       1 x                              3.535534\t",
    ]


def test_mistakes():
    with pytest.raises(InvalidArgumentError, match="above 0"):
        mx.mon.Monitor(0)
    with pytest.raises(ArgumentTypeError, match="interval"):
        mx.mon.Monitor("2")
    with pytest.raises(ArgumentTypeError, match="an Executor"):
        mx.mon.Monitor(1).install(S.Variable("x"))
    with pytest.raises(DTypeError, match=r"stat_func.*int for 'y_output'"):
        watched(bound(), stat_func=lambda a: 3)

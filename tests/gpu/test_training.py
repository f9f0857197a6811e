"""A network trains on one GPU, and on two, to the losses of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import HOST, RANDOM, races, schedule

BATCH, STEPS, SIDE = 8, 5, 16
TWO = [mx.gpu(0), mx.gpu(1 if HOST else 0)]


def lenet() -> mx.sym.Symbol:
    """LeNet, with few channels."""
    net = mx.sym.Variable("data")
    for name, side, filters in (("c1", 5, 4), ("c2", 3, 6)):
        net = mx.sym.Convolution(net, kernel=(side, side), num_filter=filters, name=name)
        net = mx.sym.Activation(net, act_type="tanh")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=20, name="f1")
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=10, name="f2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


class Trainer:
    """An executor on each device, whose gradients a store of type ``device`` sums."""

    def __init__(self, devices: list[mx.Context]) -> None:
        self.devices, self.each = devices, BATCH // len(devices)
        self.rng = np.random.default_rng(0)
        net = lenet()
        shapes = {"data": (self.each, 1, SIDE, SIDE), "softmax_label": (self.each,)}
        self.executors = [net.simple_bind(d, **shapes) for d in devices]
        self.names = [name for name in net.list_arguments() if name not in shapes]
        self.store = mx.kv.create("device")
        sgd = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, rescale_grad=1 / BATCH)
        self.store.set_optimizer(sgd)
        for key, name in enumerate(self.names):
            start = self.rng.standard_normal(self.executors[0].arg_dict[name].shape) * 0.2
            for executor in self.executors:
                executor.arg_dict[name][:] = start.astype(np.float32)
            self.store.init(key, self.executors[0].arg_dict[name])

    def step(self) -> float:
        """The loss of a batch, before its step."""
        data = self.rng.standard_normal((BATCH, 1, SIDE, SIDE)).astype(np.float32)
        labels = self.rng.integers(0, 10, BATCH)
        for i, (device, executor) in enumerate(zip(self.devices, self.executors, strict=True)):
            part = slice(i * self.each, (i + 1) * self.each)
            executor.forward(
                is_train=True,
                data=mx.nd.array(data[part], ctx=device),
                softmax_label=mx.nd.array(labels[part], ctx=device),
            )
            executor.backward()
        for key, name in enumerate(self.names):
            self.store.push(key, [e.grad_dict[name] for e in self.executors])
            self.store.pull(key, [e.arg_dict[name] for e in self.executors])
        found = np.concatenate([e.outputs[0].asnumpy() for e in self.executors])
        return float(-np.log(found[np.arange(BATCH), labels]).mean())


@pytest.fixture(scope="module")
def expected() -> list[float]:
    trainer = Trainer([mx.cpu()])
    return [trainer.step() for _ in range(STEPS)]


@pytest.mark.parametrize("devices", [TWO[:1], TWO], ids=["one", "two"])
def test_losses_are_those_of_the_cpu(devices, expected):
    schedule(RANDOM, 7)
    trainer = Trainer(devices)
    np.testing.assert_allclose([trainer.step() for _ in range(STEPS)], expected, rtol=1e-4)
    assert races() == ""


@pytest.mark.parametrize("groups", [(mx.gpu(0), TWO[-1]), (mx.cpu(), mx.gpu(0))], ids=str)
def test_parts_of_a_graph_on_several_devices(groups):
    outputs = []
    for first, second in (groups, (mx.cpu(), mx.cpu())):
        with mx.AttrScope(ctx_group="a"):
            net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, name="f1")
        with mx.AttrScope(ctx_group="b"):
            net = mx.sym.FullyConnected(mx.sym.relu(net), num_hidden=2, name="f2")
        executor = net.simple_bind(first, group2ctx={"a": first, "b": second}, x=(4, 5))
        for number, array in enumerate(executor.arg_dict.values()):
            array[:] = np.linspace(-number, 1, array.size).reshape(array.shape)
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones((4, 2), ctx=second))
        assert executor.outputs[0].context == second
        outputs.append([executor.outputs[0], *executor.grad_dict.values()])
    for found, expected in zip(*outputs, strict=True):
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)


@pytest.mark.parametrize(("request_", "expected"), [("write", 3), ("add", 4)])
def test_gradients_of_what_is_on_another_device(request_, expected):
    with mx.AttrScope(ctx_group="b"):
        net = mx.sym.Variable("x") * 3
    arrays, grads = ({"x": mx.nd.ones((3,), ctx=mx.cpu())} for _ in range(2))
    executor = net.bind(mx.cpu(), arrays, grads, request_, group2ctx={"b": mx.gpu(0)})
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3,), mx.gpu(0)))
    assert grads["x"].context == mx.cpu()
    np.testing.assert_array_equal(grads["x"].asnumpy(), np.full(3, expected))

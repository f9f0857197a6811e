"""What builds the networks of `zoo` in each package, and steps of training and inference of them.

Every function here gives a call that does one step and returns when its result is there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from zoo import NETWORKS, Layer

Call = Callable[[], Any]
RATE, MOMENTUM, DECAY = 1e-3, 0.9, 1e-4
NORM = {"eps": 1e-5, "momentum": 0.9}


class Symbols:
    """Layers as symbols of MXNet or Ferromix."""

    def __init__(self, sym: Any, dtype: str = "float32") -> None:
        self.sym, self.dtype = sym, dtype

    def conv(self, x, filters, kernel, stride=1, pad=0, *, groups=1, bias=False):
        sizes = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2}
        return self.sym.Convolution(
            x, num_filter=filters, num_group=groups, no_bias=not bias, **sizes
        )

    def dense(self, x, width):
        return self.sym.FullyConnected(x, num_hidden=width)

    def norm(self, x):
        return self.sym.BatchNorm(x, fix_gamma=False, **NORM)

    def act(self, x, kind="relu"):
        return self.sym.Activation(x, act_type=kind)

    def pool(self, x, kind, kernel, stride, pad=0):
        sizes = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "pad": (pad,) * 2}
        return self.sym.Pooling(x, pool_type=kind, **sizes)

    def mean(self, x):
        return self.sym.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg")

    def flat(self, x):
        return self.sym.Flatten(x)

    def add(self, x, y):
        return x + y

    def concat(self, *xs):
        return self.sym.Concat(*xs, dim=1)

    def lstm(self, x, width, layers):
        zeros = [self.sym.zeros((layers, 32, width), dtype=self.dtype) for _ in range(2)]
        weights = self.sym.Variable("rnn_parameters")
        x = self.sym.RNN(x, weights, *zeros, state_size=width, num_layers=layers, mode="lstm")
        return self.sym.Flatten(self.sym.SequenceLast(x))


def bound(
    mx: Any, name: str, batch: int, train: bool, dtype: str = "float32"
) -> tuple[Any, list[str]]:
    """An executor of MXNet or Ferromix with numbers in its arrays, and the names of its weights."""
    network = NETWORKS[name]
    net = network.build(Symbols(mx.sym, dtype), mx.sym.Variable("data"))
    inputs = {"data": network.shape(batch)}
    if train:
        net = mx.sym.SoftmaxOutput(net, mx.sym.Variable("label"), normalization="batch")
        inputs["label"] = (batch,)
    names = [n for n in net.list_arguments() if n not in inputs]
    wanted = {n: "write" if train and n in names else "null" for n in net.list_arguments()}
    types = dict.fromkeys(inputs, dtype)
    executor = net.simple_bind(mx.cpu(), grad_req=wanted, type_dict=types, **inputs)
    fill(executor, names, network.classes)
    return executor, names


def symbol_step(package: str, name: str, batch: int, train: bool) -> Call:
    """A step of MXNet or Ferromix by an executor."""
    mx = import_module(package)
    executor, names = bound(mx, name, batch, train)
    moments = {n: mx.nd.zeros(executor.arg_dict[n].shape) for n in names} if train else {}

    def step() -> None:
        executor.forward(is_train=train)
        if train:
            executor.backward()
        for n, moment in moments.items():
            weight, rule = executor.arg_dict[n], {"lr": RATE, "momentum": MOMENTUM, "wd": DECAY}
            mx.nd.sgd_mom_update(weight, executor.grad_dict[n], moment, out=weight, **rule)
        mx.nd.waitall()

    return step


def fill(executor: Any, names: list[str], classes: int) -> None:
    """Numbers in all arrays, the same in each package."""
    rng = np.random.default_rng(0)
    for name, array in executor.arg_dict.items():
        if name == "label":
            array[:] = rng.integers(0, classes, array.shape).astype("float32")
        elif name.endswith("gamma"):
            array[:] = 1
        else:
            spread = 1.0 if name not in names else (2 / max(np.prod(array.shape[1:]), 64)) ** 0.5
            array[:] = rng.uniform(-spread, spread, array.shape).astype("float32")
    for name, array in executor.aux_dict.items():
        array[:] = 1 if name.endswith("var") else 0


class Tensors:
    """Layers on torch's tensors; parameters are made at the first pass and kept in order."""

    def __init__(self) -> None:
        self.torch = import_module("torch")
        self.parameters: list[Any] = []
        self.buffers: list[Any] = []
        self.cells: list[Any] = []
        self.train = False
        self.start()

    def start(self) -> None:
        """Before a pass."""
        self.used, self.norms, self.recurrent = 0, 0, 0

    def _parameter(self, *shape: int, value: float | None = None) -> Any:
        if self.used == len(self.parameters):
            spread = (2 / max(np.prod(shape[1:]), 64)) ** 0.5
            made = self.torch.empty(shape).uniform_(-spread, spread)
            made = made if value is None else made.fill_(value)
            self.parameters.append(made.requires_grad_())
        self.used += 1
        return self.parameters[self.used - 1]

    def conv(self, x, filters, kernel, stride=1, pad=0, *, groups=1, bias=False):
        weight = self._parameter(filters, x.shape[1] // groups, kernel, kernel)
        offset = self._parameter(filters, value=0) if bias else None
        call = self.torch.nn.functional.conv2d
        return call(x, weight, offset, stride, pad, groups=groups)

    def dense(self, x, width):
        weight, offset = self._parameter(width, x.shape[1]), self._parameter(width, value=0)
        return self.torch.nn.functional.linear(x, weight, offset)

    def norm(self, x):
        width = x.shape[1]
        gamma, beta = self._parameter(width, value=1), self._parameter(width, value=0)
        if self.norms == len(self.buffers):
            self.buffers.append((self.torch.zeros(width), self.torch.ones(width)))
        mean, var = self.buffers[self.norms]
        self.norms += 1
        call = self.torch.nn.functional.batch_norm
        return call(x, mean, var, gamma, beta, self.train, 0.1, 1e-5)

    def act(self, x, kind="relu"):
        return getattr(self.torch, kind)(x)

    def pool(self, x, kind, kernel, stride, pad=0):
        call = getattr(self.torch.nn.functional, f"{kind}_pool2d")
        return call(x, kernel, stride, pad)

    def mean(self, x):
        return self.torch.nn.functional.adaptive_avg_pool2d(x, 1)

    def flat(self, x):
        return x.flatten(1)

    def add(self, x, y):
        return x + y

    def concat(self, *xs):
        return self.torch.cat(xs, 1)

    def lstm(self, x, width, layers):
        if self.recurrent == len(self.cells):
            self.cells.append(self.torch.nn.LSTM(x.shape[2], width, layers))
            self.parameters += list(self.cells[-1].parameters())
        self.used += 4 * layers
        self.recurrent += 1
        return self.cells[self.recurrent - 1](x)[0][-1]


def torch_step(name: str, batch: int, train: bool) -> Call:
    """A step of torch."""
    torch, network, build = import_module("torch"), NETWORKS[name], Tensors()
    data = torch.rand(network.shape(batch)) * 2 - 1
    label = torch.randint(0, network.classes, (batch,))
    build.train = train

    def forward() -> Any:
        build.start()
        return network.build(build, data)

    def infer() -> None:
        with torch.inference_mode():
            forward()

    with torch.no_grad():
        forward()
    if not train:
        return infer
    rule = {"lr": RATE, "momentum": MOMENTUM, "weight_decay": DECAY}
    optimizer = torch.optim.SGD(build.parameters, **rule)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(forward(), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def runtime_step(name: str, batch: int, threads: int) -> Call:
    """Inference by ONNX Runtime, of the network as Ferromix exports it."""
    runtime, mx = import_module("onnxruntime"), import_module("ferromix")
    network = NETWORKS[name]
    net = network.build(Symbols(mx.sym), mx.sym.Variable("data"))
    shape = network.shape(batch)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=shape)
    fill(executor, [n for n in net.list_arguments() if n != "data"], network.classes)
    arrays = {**executor.arg_dict, **executor.aux_dict}
    data = arrays.pop("data").asnumpy()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "network.onnx")
        mx.onnx.export_model(net, arrays, [shape], np.float32, path)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"data": data})


def symbol_layer(package: str, layer: Layer, gradient: str) -> Call:
    """One layer of MXNet or Ferromix: forward alone, bound, or a gradient by `data` or `weight`."""
    mx = import_module(package)
    if gradient:
        return _layer_gradient(mx, layer, gradient)
    build, x = Symbols(mx.sym), mx.sym.Variable("data")
    if layer.kernel:
        sizes = (layer.filters, layer.kernel, layer.stride, layer.pad)
        net = build.conv(x, *sizes, groups=layer.groups)
    else:
        net = build.dense(x, layer.filters)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=layer.shape)
    fill(executor, net.list_arguments()[1:], 1)
    return lambda: (executor.forward(), mx.nd.waitall())


def _layer_gradient(mx: Any, layer: Layer, gradient: str) -> Call:
    """Recorded once and gone back from again and again: executors copy the gradient of a head."""
    x = mx.nd.random.uniform(-1, 1, layer.shape)
    window = [layer.kernel] * 2 if layer.kernel else []
    columns = layer.shape[1] // layer.groups
    weight = mx.nd.random.uniform(-1, 1, (layer.filters, columns, *window))
    (x if gradient == "data" else weight).attach_grad()
    with mx.autograd.record():
        if layer.kernel:
            sizes = {"stride": (layer.stride,) * 2, "pad": (layer.pad,) * 2, "kernel": window}
            sizes |= {"num_filter": layer.filters, "num_group": layer.groups}
            out = mx.nd.Convolution(x, weight, no_bias=True, **sizes)
        else:
            out = mx.nd.FullyConnected(x, weight, no_bias=True, num_hidden=layer.filters)
    head = mx.nd.ones(out.shape)
    return lambda: (out.backward(head, retain_graph=True), mx.nd.waitall())


def torch_layer(layer: Layer, gradient: str) -> Call:
    """The same of torch."""
    torch = import_module("torch")
    x = torch.rand(layer.shape) * 2 - 1
    if layer.kernel:
        weight = torch.rand(layer.filters, layer.shape[1] // layer.groups, *[layer.kernel] * 2)
        steps = {"stride": layer.stride, "padding": layer.pad, "groups": layer.groups}

        def forward(x, weight):
            return torch.nn.functional.conv2d(x, weight, **steps)
    else:
        weight = torch.rand(layer.filters, layer.shape[1])
        forward = torch.nn.functional.linear

    def alone() -> None:
        with torch.inference_mode():
            forward(x, weight)

    if not gradient:
        return alone
    by = (x if gradient == "data" else weight).requires_grad_()
    out = forward(x, weight)
    head = torch.ones_like(out)
    return lambda: torch.autograd.grad(out, by, head, retain_graph=True)

"""Networks of the benches, each written once for whatever builds its layers.

A builder has the methods of `Builder`; values are whatever it makes of them: symbols, tensors, or
shapes. `layers_of` walks a network with shapes and gives its convolutions and dense layers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol


class Builder(Protocol):
    """Layers on values that are images (N, C, H, W), rows (N, C), or sequences (T, N, C)."""

    def conv(
        self,
        x: Any,
        filters: int,
        kernel: int,
        stride: int = 1,
        pad: int = 0,
        *,
        groups: int = 1,
        bias: bool = False,
    ) -> Any: ...
    def dense(self, x: Any, width: int) -> Any: ...
    def norm(self, x: Any) -> Any: ...
    def act(self, x: Any, kind: str = "relu") -> Any: ...
    def pool(self, x: Any, kind: str, kernel: int, stride: int, pad: int = 0) -> Any: ...
    def mean(self, x: Any) -> Any: ...
    def flat(self, x: Any) -> Any: ...
    def add(self, x: Any, y: Any) -> Any: ...
    def concat(self, *xs: Any) -> Any: ...
    def lstm(self, x: Any, width: int, layers: int) -> Any: ...


def _conv(b: Builder, x: Any, *sizes: int, groups: int = 1, act: str = "relu") -> Any:
    x = b.norm(b.conv(x, *sizes, groups=groups))
    return b.act(x, act) if act else x


def mlp(b: Builder, x: Any) -> Any:
    for width in (512, 256):
        x = b.act(b.dense(x, width))
    return b.dense(x, 10)


def lenet(b: Builder, x: Any) -> Any:
    for filters in (20, 50):
        x = b.pool(b.act(b.conv(x, filters, 5, bias=True), "tanh"), "max", 2, 2)
    return b.dense(b.act(b.dense(b.flat(x), 500), "tanh"), 10)


def _residual(b: Builder, x: Any, widths: list[int], units: list[int], deep: bool) -> Any:
    for stage, (width, count) in enumerate(zip(widths, units, strict=True)):
        for unit in range(count):
            stride = 2 if unit == 0 and stage > 0 else 1
            if deep:
                y = _conv(b, _conv(b, x, width // 4, 1), width // 4, 3, stride, 1)
                y = _conv(b, y, width, 1, act="")
            else:
                y = _conv(b, _conv(b, x, width, 3, stride, 1), width, 3, 1, 1, act="")
            first = unit == 0 and (stage > 0 or deep)
            x = b.act(b.add(y, _conv(b, x, width, 1, stride, act="") if first else x))
    return b.flat(b.mean(x))


def resnet20(b: Builder, x: Any) -> Any:
    x = _conv(b, x, 16, 3, 1, 1)
    return b.dense(_residual(b, x, [16, 32, 64], [3, 3, 3], False), 10)


def _stem(b: Builder, x: Any) -> Any:
    return b.pool(_conv(b, x, 64, 7, 2, 3), "max", 3, 2, 1)


def resnet18(b: Builder, x: Any) -> Any:
    x = _residual(b, _stem(b, x), [64, 128, 256, 512], [2, 2, 2, 2], False)
    return b.dense(x, 1000)


def resnet50(b: Builder, x: Any) -> Any:
    x = _residual(b, _stem(b, x), [256, 512, 1024, 2048], [3, 4, 6, 3], True)
    return b.dense(x, 1000)


def _vgg(b: Builder, x: Any, counts: list[int]) -> Any:
    for width, count in zip((64, 128, 256, 512, 512), counts, strict=True):
        for _ in range(count):
            x = b.act(b.conv(x, width, 3, 1, 1, bias=True))
        x = b.pool(x, "max", 2, 2)
    x = b.flat(x)
    for _ in range(2):
        x = b.act(b.dense(x, 4096))
    return b.dense(x, 1000)


def vgg11(b: Builder, x: Any) -> Any:
    return _vgg(b, x, [1, 1, 2, 2, 2])


def vgg16(b: Builder, x: Any) -> Any:
    return _vgg(b, x, [2, 2, 3, 3, 3])


def mobilenet1(b: Builder, x: Any) -> Any:
    x, width = _conv(b, x, 32, 3, 2, 1), 32
    steps = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5]
    for to, stride in [*steps, (1024, 2), (1024, 1)]:
        x = _conv(b, _conv(b, x, width, 3, stride, 1, groups=width), to, 1)
        width = to
    return b.dense(b.flat(b.mean(x)), 1000)


def mobilenet2(b: Builder, x: Any) -> Any:
    x, width = _conv(b, x, 32, 3, 2, 1), 32
    blocks = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1)]
    for wider, to, count, first in [*blocks, (6, 160, 3, 2), (6, 320, 1, 1)]:
        for unit in range(count):
            stride, inner = first if unit == 0 else 1, width * wider
            y = _conv(b, x, inner, 1) if wider > 1 else x
            y = _conv(b, _conv(b, y, inner, 3, stride, 1, groups=inner), to, 1, act="")
            x, width = (b.add(y, x) if stride == 1 and width == to else y), to
    return b.dense(b.flat(b.mean(_conv(b, x, 1280, 1))), 1000)


def googlenet(b: Builder, x: Any) -> Any:
    def block(x: Any, one: int, three: tuple[int, int], five: tuple[int, int], last: int) -> Any:
        pooled = b.pool(x, "max", 3, 1, 1)
        return b.concat(
            _conv(b, x, one, 1),
            _conv(b, _conv(b, x, three[0], 1), three[1], 3, 1, 1),
            _conv(b, _conv(b, x, five[0], 1), five[1], 5, 1, 2),
            _conv(b, pooled, last, 1),
        )

    x = b.pool(_conv(b, x, 64, 7, 2, 3), "max", 3, 2, 1)
    x = b.pool(_conv(b, _conv(b, x, 64, 1), 192, 3, 1, 1), "max", 3, 2, 1)
    x = block(x, 64, (96, 128), (16, 32), 32)
    x = b.pool(block(x, 128, (128, 192), (32, 96), 64), "max", 3, 2, 1)
    x = block(x, 192, (96, 208), (16, 48), 64)
    x = block(x, 160, (112, 224), (24, 64), 64)
    x = block(x, 128, (128, 256), (24, 64), 64)
    x = block(x, 112, (144, 288), (32, 64), 64)
    x = b.pool(block(x, 256, (160, 320), (32, 128), 128), "max", 3, 2, 1)
    x = block(x, 256, (160, 320), (32, 128), 128)
    x = block(x, 384, (192, 384), (48, 128), 128)
    return b.dense(b.flat(b.mean(x)), 1000)


def densenet121(b: Builder, x: Any) -> Any:
    x, width = _stem(b, x), 64
    for stage, count in enumerate((6, 12, 24, 16)):
        for _ in range(count):
            y = b.conv(b.act(b.norm(x)), 128, 1)
            y = b.conv(b.act(b.norm(y)), 32, 3, 1, 1)
            x, width = b.concat(x, y), width + 32
        if stage < 3:
            width //= 2
            x = b.pool(b.conv(b.act(b.norm(x)), width, 1), "avg", 2, 2)
    return b.dense(b.flat(b.mean(b.act(b.norm(x)))), 1000)


def lstm(b: Builder, x: Any) -> Any:
    return b.dense(b.lstm(x, 256, 2), 1000)


@dataclass(frozen=True)
class Network:
    """How a network is built, the shape of a sample, and how many a step has."""

    build: Callable[[Builder, Any], Any]
    sample: tuple[int, ...]
    batch: int
    classes: int = 1000

    def shape(self, batch: int) -> tuple[int, ...]:
        """Of a batch: that of sequences has the steps first."""
        if self.build is lstm:
            return (self.sample[0], batch, *self.sample[1:])
        return (batch, *self.sample)


IMAGE = (3, 224, 224)
NETWORKS = {
    "mlp": Network(mlp, (784,), 64, 10),
    "lenet": Network(lenet, (1, 28, 28), 64, 10),
    "resnet20": Network(resnet20, (3, 32, 32), 32, 10),
    "resnet18": Network(resnet18, IMAGE, 8),
    "resnet50": Network(resnet50, IMAGE, 8),
    "vgg11": Network(vgg11, IMAGE, 4),
    "vgg16": Network(vgg16, IMAGE, 4),
    "mobilenet1": Network(mobilenet1, IMAGE, 8),
    "mobilenet2": Network(mobilenet2, IMAGE, 8),
    "googlenet": Network(googlenet, IMAGE, 8),
    "densenet121": Network(densenet121, IMAGE, 8),
    "lstm": Network(lstm, (50, 256), 32),
}


@dataclass(frozen=True)
class Layer:
    """A convolution (`kernel` > 0) or a dense layer of an input of a shape."""

    shape: tuple[int, ...]
    filters: int
    kernel: int = 0
    stride: int = 1
    pad: int = 0
    groups: int = 1

    @property
    def result(self) -> tuple[int, ...]:
        if not self.kernel:
            return (self.shape[0], self.filters)
        sides = ((n + 2 * self.pad - self.kernel) // self.stride + 1 for n in self.shape[2:])
        return (self.shape[0], self.filters, *sides)

    @property
    def flops(self) -> int:
        """Of the forward pass: two for each multiplication."""
        flops = 2
        for n in (*self.result, self.shape[1] // self.groups):
            flops *= n
        return flops * max(self.kernel, 1) ** 2

    def __str__(self) -> str:
        if not self.kernel:
            return f"{self.shape[1]} to {self.filters}"
        kind = "" if self.groups == 1 else ", depthwise"
        size = f"{self.kernel}x{self.kernel}" + (f"/{self.stride}" if self.stride > 1 else "")
        return f"{size}, {self.shape[1]} to {self.filters} at {self.shape[2]}{kind}"


class _Shapes:
    """A builder of shapes, which keeps the layers that it met."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []

    def _met(self, layer: Layer) -> tuple[int, ...]:
        self.layers.append(layer)
        return layer.result

    def conv(self, x, filters, kernel, stride=1, pad=0, *, groups=1, bias=False):
        return self._met(Layer(x, filters, kernel, stride, pad, groups))

    def dense(self, x, width):
        return self._met(Layer((x[0], _product(x[1:])), width))

    def norm(self, x):
        return x

    def act(self, x, kind="relu"):
        return x

    def pool(self, x, kind, kernel, stride, pad=0):
        return (*x[:2], *((n + 2 * pad - kernel) // stride + 1 for n in x[2:]))

    def mean(self, x):
        return (*x[:2], 1, 1)

    def flat(self, x):
        return (x[0], _product(x[1:]))

    def add(self, x, y):
        return x

    def concat(self, *xs):
        return (xs[0][0], sum(x[1] for x in xs), *xs[0][2:])

    def lstm(self, x, width, layers):
        return (x[1], width)


def _product(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def layers_of(name: str, batch: int) -> list[Layer]:
    """The convolutions and dense layers of a network, in order."""
    shapes = _Shapes()
    network = NETWORKS[name]
    network.build(shapes, network.shape(batch))
    return shapes.layers

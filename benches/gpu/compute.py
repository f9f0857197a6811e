"""Rows that compute: TFLOP/s, a multiplication and an addition counted as two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import bound
from .row import Make, Row, function, operator
from .timing import Call

SIZES = {
    "large": {
        "side": 8192,
        "layer": (1024, 4096, 4096),
        "batch": 32,
        "part": 1,
        "lstm": (50, 32, 256, 2),
    },
    "small": {"side": 16, "layer": (4, 16, 16), "batch": 1, "part": 8, "lstm": (3, 2, 8, 2)},
}
LAYERS = (
    (3, 64, 224, 7, 2),
    (64, 64, 56, 3, 1),
    (128, 128, 28, 3, 1),
    (128, 256, 28, 3, 2),
    (256, 256, 14, 3, 1),
    (512, 512, 7, 3, 1),
    (256, 64, 56, 1, 1),
    (64, 256, 56, 1, 1),
    (1024, 256, 14, 1, 1),
    (512, 2048, 7, 1, 1),
)
"""Channels before and after, extent, kernel and stride of layers of resnet18 and resnet50."""


def matmul(size: str) -> Row:
    """The row whose best figure is the ceiling of all others."""
    side = SIZES[size]["side"]
    return Row(
        f"dot, {side}",
        [(side, side)] * 2,
        2 * side**3,
        operator("dot"),
        function("matmul"),
        function("matmul"),
    )


def rows(size: str) -> Iterator[Row]:
    """All others."""
    sizes = SIZES[size]
    yield from connected(*sizes["layer"])
    for layer in LAYERS:
        yield from convolution(sizes["batch"], sizes["part"], *layer)
    yield from lstm(*sizes["lstm"])


def connected(batch: int, inputs: int, outputs: int) -> Iterator[Row]:
    for both in (False, True):
        yield Row(
            f"FullyConnected, {batch}x{inputs} to {outputs}{' and gradients' * both}",
            [(batch, inputs), (outputs, inputs), (outputs,)],
            2 * batch * inputs * outputs * (3 if both else 1),
            bound.symbol("FullyConnected", both, num_hidden=outputs),
            bound.torch(lambda functional, *tensors: lambda: functional.linear(*tensors), both),
        )


def convolution(
    batch: int, part: int, before: int, after: int, extent: int, kernel: int, stride: int
) -> Iterator[Row]:
    """A layer, smaller by `part` in channels and extent where it is larger than that."""
    before, after, extent = (n // part if n > part else n for n in (before, after, extent))
    out = (extent + 2 * (kernel // 2) - kernel) // stride + 1
    work = 2 * batch * out * out * before * after * kernel * kernel
    attributes = {
        "kernel": (kernel, kernel),
        "stride": (stride, stride),
        "pad": (kernel // 2, kernel // 2),
        "num_filter": after,
        "no_bias": True,
    }

    def conv(functional: Any, x: Any, w: Any) -> Any:
        return lambda: functional.conv2d(x, w, None, stride, kernel // 2)

    for both in (False, True):
        name = f"Convolution, {kernel}x{kernel}/{stride}, {before} to {after}, {extent}"
        yield Row(
            f"{name}{' and gradients' * both}",
            [(batch, before, extent, extent), (after, before, kernel, kernel)],
            work * (3 if both else 1),
            bound.symbol("Convolution", both, **attributes),
            bound.torch(conv, both),
        )


def lstm(steps: int, batch: int, units: int, layers: int) -> Iterator[Row]:
    """A recurrent network whose data have as many features as a cell has units."""
    weights, state = layers * 8 * units * (units + 1), (layers, batch, units)
    attributes = {"mode": "lstm", "state_size": units, "num_layers": layers}

    def torch_with(both: bool) -> Make:
        def make(torch: Any, data: Any, _: Any, *states: Any) -> Call:
            net = torch.nn.LSTM(units, units, layers).to(data.device, data.dtype)

            def forward() -> Any:
                with torch.set_grad_enabled(both):
                    return net(data, states)[0]

            read = [*(x.requires_grad_(both) for x in (data, *states)), *net.parameters()]
            head = torch.ones_like(forward())
            return lambda: torch.autograd.grad(forward(), read, head) if both else forward()

        return make

    for both in (False, True):
        yield Row(
            f"RNN, lstm, {steps}x{batch}, {layers} of {units}{' and gradients' * both}",
            [(steps, batch, units), (weights,), state, state],
            2 * steps * batch * layers * 8 * units * units * (3 if both else 1),
            bound.symbol("RNN", both, **attributes),
            torch_with(both),
        )

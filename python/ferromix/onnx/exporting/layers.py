"""Products with weights, convolutions and activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .elementwise import FORMULAS
from .site import Site, Value, translates

__all__: list[str] = []

_ACTIVATIONS = {
    **{"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"},
    **{"softrelu": "Softplus", "softsign": "Softsign"},
}


@translates("Activation")
def _activation(at: Site) -> str:
    kind = at.attrs["act_type"]
    if kind in _ACTIVATIONS:
        return at.op(_ACTIVATIONS[kind], at.inputs[0])
    return FORMULAS[kind](at, at.inputs[0])


@translates("LeakyReLU")
def _leaky_relu(at: Site) -> str:
    x, kind, slope = at.inputs[0], at.attrs["act_type"], at.attrs["slope"]
    if kind == "prelu":
        gamma, rank = at.inputs[1], at.rank()
        if rank > 2 and at.rank(1) == 1:
            gamma = at.reshape(gamma, [-1, *[1] * (rank - 2)])
        return at.op("PRelu", x, gamma)
    if kind == "gelu":
        half = at.op("Mul", x, at.number(0.5))
        error = at.op("Erf", at.op("Mul", x, at.number(math.sqrt(0.5))))
        return at.op("Mul", half, at.op("Add", error, at.number(1)))
    if kind == "selu":
        return at.op("Selu", x)
    if kind == "elu":
        return at.op("Elu", x, alpha=slope)
    if kind == "rrelu":  # outside of training the mean of the slopes
        slope = (at.attrs["lower_bound"] + at.attrs["upper_bound"]) / 2
    return at.op("LeakyRelu", x, alpha=slope)


@translates("FullyConnected")
def _fully_connected(at: Site) -> str:
    x, weight, *bias = at.inputs
    if at.attrs["flatten"]:
        if at.rank() != 2:
            x = at.op("Flatten", x, axis=1)
        return at.op("Gemm", x, weight, *bias, transB=1)
    product = at.op("MatMul", x, at.transpose(weight, 1, 0))
    return at.op("Add", product, bias[0]) if bias else product


def _window(at: Site) -> dict[str, Any]:
    kernel = at.attrs["kernel"]
    count = len(kernel)
    layout = at.attrs["layout"]
    if layout not in (None, "NCW", "NCHW", "NCDHW"):
        raise at.error(f"layout {layout}; ONNX has channels in axis 1")
    return {
        "kernel_shape": list(kernel),
        "strides": list(at.attrs["stride"]) or [1] * count,
        "dilations": list(at.attrs["dilate"]) or [1] * count,
        "pads": list(at.attrs["pad"] or [0] * count) * 2,
        "group": at.attrs["num_group"],
    }


def _is_channels_last(at: Site) -> bool:
    return (at.attrs["layout"] or "").endswith("C")


@translates("Convolution")
def _convolution(at: Site) -> str | None:
    if _is_channels_last(at):
        return None  # Its parts are said.
    return at.op("Conv", *at.inputs, **_window(at))


@translates("Deconvolution")
def _deconvolution(at: Site) -> str | None:
    if _is_channels_last(at):
        return None
    window = _window(at)
    if any(at.attrs["target_shape"]):
        out, pads, more = at.out_image(), [], []
        for i, kernel in enumerate(window["kernel_shape"]):
            whole = (at.extent(i + 2) - 1) * window["strides"][i]
            cut = whole + (kernel - 1) * window["dilations"][i] + 1 - out[i]
            more.append(cut % 2)
            pads.append((cut + 1) // 2)
        window["pads"] = pads * 2
    else:
        more = list(at.attrs["adj"])
    return at.op("ConvTranspose", *at.inputs, output_padding=more or None, **window)


@translates("dot")
def _dot(at: Site) -> str:
    (a, b), ranks = at.inputs, (at.rank(0), at.rank(1))
    if ranks in ((2, 1), (1, 2)) and at.attrs["transpose_a" if ranks[1] == 1 else "transpose_b"]:
        return at.op("MatMul", b, a)  # a vector needs no transposed matrix
    if at.attrs["transpose_a"]:
        a = at.transpose(a, *range(1, ranks[0]), 0)
    if at.attrs["transpose_b"]:
        b = at.transpose(b, ranks[1] - 1, *range(ranks[1] - 1))
    if ranks[0] <= 2 and ranks[1] <= 2:
        product = at.op("MatMul", a, b)
        return at.reshape(product, [1]) if ranks == (1, 1) else product
    inner = at.extent(0 if at.attrs["transpose_a"] else -1)
    product = at.op("MatMul", at.reshape(a, [-1, inner]), at.reshape(b, [inner, -1]))
    return at.reshape(product, at.out_partial())


def _product(at: Site, a: str, b: str) -> str:
    """Of stacks of matrices, either of which may be transposed."""
    if at.attrs["transpose_a"]:
        a = at.swapped(a, at.rank(0))
    if at.attrs["transpose_b"]:
        b = at.swapped(b, at.rank(1))
    return at.op("MatMul", a, b)


def _scaled(at: Site, value: str, factor: float) -> str:
    return value if factor == 1 else at.op("Mul", value, at.number(factor))


@translates("batch_dot")
def _batch_dot(at: Site) -> str:
    return _product(at, *at.inputs)


@translates("_linalg_gemm2")
def _gemm2(at: Site) -> str:
    if at.attrs["axis"] not in (-2, at.rank() - 2):
        raise at.error("matrices must lie in the last two axes")
    return _scaled(at, _product(at, *at.inputs), at.attrs["alpha"])


@translates("_linalg_syrk")
def _syrk(at: Site) -> str:
    x = at.inputs[0]
    pair = (x, at.swapped(x, at.rank()))
    product = at.op("MatMul", *(pair[::-1] if at.attrs["transpose"] else pair))
    return _scaled(at, product, at.attrs["alpha"])


@translates("Dropout")
def _dropout(at: Site) -> list[str]:
    if at.attrs["mode"] == "always":
        raise at.error("mode 'always' draws numbers in prediction, too")
    return [at.op("Identity", at.inputs[0])]


@translates("Embedding", "_contrib_SparseEmbedding")
def _embedding(at: Site) -> str:
    return at.op("Gather", at.inputs[1], at.indices(0), axis=0)


def bounded(at: Site, i: int, size: int, mode: str = "clip") -> str:
    """Input `i` as indices below `size`, what lies beyond taken as MXNet does."""
    found = at.indices(i)
    if mode == "wrap":
        return at.op("Mod", found, np.int64(size))
    return at.op("Clip", found, np.int64(0), np.int64(size - 1)) if mode == "clip" else found


def mean(at: Site, x: Value, *axes: int) -> str:
    """The mean over some axes, which stay with an extent of 1."""
    return at.op("ReduceMean", x, axes=list(axes), keepdims=1)

"""Initial weights whose spread, or form, follows from their shape."""

from __future__ import annotations

import math

import numpy as np

from .. import ndarray as nd
from .. import random
from ..error import InvalidArgumentError
from ..ndarray import NDArray
from .base import InitDesc, Initializer, register

__all__ = ["Bilinear", "MSRAPrelu", "Orthogonal", "Xavier"]


@register
class Xavier(Initializer):
    r"""Draws weights whose spread keeps the variance of activations alike in all layers.

    The scale is :math:`c = \sqrt{magnitude / n}`, where n follows from a weight of shape
    ``(out, in, *kernel)``: ``in * prod(kernel)`` for ``"in"``, ``out * prod(kernel)`` for
    ``"out"``, and their mean for ``"avg"``. (X. Glorot and Y. Bengio, 2010; ``"in"`` with
    magnitude 2 is that of K. He et al., 2015.)

    Parameters
    ----------
    rnd_type
        ``"uniform"`` draws from [-c, c), ``"gaussian"`` from the normal distribution of standard
        deviation c.
    factor_type
        ``"in"``, ``"out"`` or ``"avg"``.
    magnitude
        The constant above.
    """

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        for what, word, words in (
            ("rnd_type", rnd_type, ("uniform", "gaussian")),
            ("factor_type", factor_type, ("in", "out", "avg")),
        ):
            if word not in words:
                raise InvalidArgumentError(f"Xavier: {what} must be one of {words}, got {word!r}")
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        if len(arr.shape) < 2:
            raise InvalidArgumentError(
                f"Xavier needs a weight of 2 dimensions or more, but '{desc}' has shape "
                f"{arr.shape}; give the variable another initializer"
            )
        kernel = math.prod(arr.shape[2:])
        fan_in, fan_out = arr.shape[1] * kernel, arr.shape[0] * kernel
        factor = {"in": fan_in, "out": fan_out, "avg": (fan_in + fan_out) / 2}[self.factor_type]
        scale = math.sqrt(self.magnitude / factor) if factor else 0.0
        if self.rnd_type == "uniform":
            random.uniform(-scale, scale, out=arr)
        else:
            random.normal(0, scale, out=arr)


@register
class MSRAPrelu(Xavier):
    """:class:`Xavier` for layers before a leaky ReLU (K. He et al., 2015).

    Parameters
    ----------
    factor_type
        As in :class:`Xavier`.
    slope
        The slope below zero.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Orthogonal(Initializer):
    """Draws matrices with orthogonal rows, or columns where there are fewer (A. Saxe et al., 2013).

    Weights of more dimensions are matrices of what belongs to each output.

    Parameters
    ----------
    scale
        The length of a row, or column.
    rand_type
        ``"uniform"`` or ``"normal"``: what is orthogonalised.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        if rand_type not in ("uniform", "normal"):
            raise InvalidArgumentError(
                f"Orthogonal: rand_type must be 'uniform' or 'normal', got {rand_type!r}"
            )
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        rows, columns = arr.shape[0], math.prod(arr.shape[1:])
        drawn = nd.empty((rows, columns), dtype="float64")
        if self.rand_type == "uniform":
            random.uniform(-1.0, 1.0, out=drawn)
        else:
            random.normal(0.0, 1.0, out=drawn)
        left, _, right = np.linalg.svd(drawn.asnumpy(), full_matrices=False)
        chosen = left if left.shape == (rows, columns) else right
        arr[:] = nd.array(self.scale * chosen.reshape(arr.shape), dtype=arr.dtype)


@register
class Bilinear(Initializer):
    """Sets weights of a transposed convolution such that it interpolates."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        if len(arr.shape) != 4:
            raise InvalidArgumentError(
                f"Bilinear needs a weight of 4 dimensions, but '{desc}' has shape {arr.shape}"
            )
        height, width = arr.shape[2:]
        # One factor, that of the width, for both axes, as in MXNet.
        factor = math.ceil(width / 2.0)
        center = (2 * factor - 1 - factor % 2) / (2.0 * factor) if factor else 0.0
        rows, columns = (
            1 - np.abs(np.arange(n) / max(factor, 1) - center) for n in (height, width)
        )
        arr[:] = nd.array(np.broadcast_to(np.outer(rows, columns), arr.shape), dtype=arr.dtype)

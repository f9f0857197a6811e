"""Initial values that do not depend on a weight's shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import random
from ..error import InvalidArgumentError
from ..ndarray import NDArray, array
from .base import InitDesc, Initializer, alias, register

__all__ = ["Constant", "LSTMBias", "Normal", "One", "Uniform", "Zero"]


@register
@alias("zeros")
class Zero(Initializer):
    """Sets weights to 0."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0


@register
@alias("ones")
class One(Initializer):
    """Sets weights to 1."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 1.0


@register
class Constant(Initializer):
    """Sets weights to `value`.

    Parameters
    ----------
    value
        A number, or an array (or nested list) of the weight's own shape, or that broadcasts to it.
    """

    def __init__(self, value: Any) -> None:
        if isinstance(value, NDArray):
            value = value.asnumpy()
        plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        super().__init__(value=plain)

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        value = self._kwargs["value"]
        if not isinstance(value, list):
            arr[:] = value
            return
        given = np.asarray(value)
        try:
            spread = np.broadcast_to(given, arr.shape)
        except ValueError:
            raise InvalidArgumentError(
                f"Constant: value of shape {given.shape} does not fit the parameter '{desc}' "
                f"of shape {arr.shape}"
            ) from None
        arr[:] = array(spread, dtype=arr.dtype)


@register
class Uniform(Initializer):
    """Draws weights evenly from [-scale, scale).

    Parameters
    ----------
    scale
        The bound.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        random.uniform(-self.scale, self.scale, out=arr)


@register
class Normal(Initializer):
    """Draws weights from the normal distribution of mean 0.

    Parameters
    ----------
    sigma
        The standard deviation.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        random.normal(0, self.sigma, out=arr)


@register
class LSTMBias(Initializer):
    """Sets the biases of an LSTM to 0, but those of the forget gate, the second quarter.

    Parameters
    ----------
    forget_bias
        The bias of the forget gate.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        size = arr.shape[0] // 4
        arr[:] = 0.0
        arr[size : 2 * size] = self.forget_bias

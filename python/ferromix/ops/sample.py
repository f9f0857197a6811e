"""Operators that draw random numbers.

The numbers depend on the seed and on how many draws came before, never on the number of threads.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .card import register
from .family import FLOATS
from .init import CTX, SHAPE, Source
from .param import Param, Params

__all__ = ["RandomNormal", "RandomUniform"]

DTYPE = Param("dtype", None, "The type of the output; float32 where None.", optional=True)


@register
class RandomUniform(Source):
    """Numbers drawn uniformly from an interval, its upper end excluded.

    Formula: ``low <= out < high``. Shapes: ``shape``. Types: floats.
    Gradient: none, there is no input.

    Examples
    --------
    >>> mx.nd.random_uniform(low=2, high=3, shape=(4,)).shape
    (4,)
    """

    name = "_random_uniform"
    aliases = ("uniform", "random_uniform")
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "low": Param("float", 0.0, "The lower end."),
        "high": Param("float", 1.0, "The upper end."),
        "shape": SHAPE,
        "ctx": CTX,
        "dtype": DTYPE,
    }

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The interval."""
        return {k: self.attrs[k] for k in ("low", "high")}


@register
class RandomNormal(Source):
    """Numbers drawn from a normal distribution.

    Formula: ``out ~ N(loc, scale ** 2)``. Shapes: ``shape``. Types: floats.
    Gradient: none, there is no input.

    Examples
    --------
    >>> mx.nd.random_normal(loc=0, scale=2, shape=(4,)).shape
    (4,)
    """

    name = "_random_normal"
    aliases = ("normal", "random_normal")
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "loc": Param("float", 0.0, "The mean."),
        "scale": Param("float", 1.0, "The standard deviation.", low=0),
        "shape": SHAPE,
        "ctx": CTX,
        "dtype": DTYPE,
    }

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The distribution."""
        return {k: self.attrs[k] for k in ("loc", "scale")}

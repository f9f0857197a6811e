"""Initial values of parameters, chosen by the name of the parameter.

A symbol's variables carry names such as ``conv1_weight`` or ``bn_moving_var``; an initializer
sets weights in its own way, and everything else to what its name calls for. A variable that has
an initializer of its own (attribute ``__init__``) is set by that one.

All random numbers come from :mod:`ferromix.random`, so ``mx.random.seed`` fixes them, whatever
the number of threads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from . import random
from .error import ArgumentTypeError, InvalidArgumentError
from .ndarray import NDArray, array
from .registry import Registry

__all__ = [
    "Constant",
    "InitDesc",
    "Initializer",
    "Normal",
    "One",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]


class InitDesc(str):
    """The name of a parameter together with what is known of it.

    Parameters
    ----------
    name
        The name of the variable.
    attrs
        The variable's attributes, as in ``Symbol.attr_dict()[name]``.
    global_init
        The initializer that a wrapping initializer may fall back to.

    Examples
    --------
    >>> import ferromix as mx
    >>> desc = mx.init.InitDesc("fc_weight", {"__init__": mx.init.One().dumps()})
    >>> weight = mx.nd.empty((2, 3))
    >>> mx.init.Zero()(desc, weight)
    >>> float(weight.asnumpy().sum())
    6.0
    """

    attrs: Mapping[str, str]
    global_init: Initializer | None

    def __new__(
        cls,
        name: str,
        attrs: Mapping[str, str] | None = None,
        global_init: Initializer | None = None,
    ) -> InitDesc:
        """A string with attributes."""
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        desc.global_init = global_init
        return desc


class Initializer:
    """The base of all initializers: sorts parameters by the ending of their names.

    ====================================================  =====================
    ending                                                value
    ====================================================  =====================
    ``weight``                                            :meth:`_init_weight`
    ``bias``, ``beta``, ``min``                           0
    ``gamma``, ``max``                                    1
    ``moving_mean``, ``running_mean``, ``moving_avg``     0
    ``moving_var``, ``running_var``                       1
    ====================================================  =====================

    A subclass overrides :meth:`_init_weight`, and any other method for another rule.

    Parameters
    ----------
    **kwargs
        The arguments of the subclass, which :meth:`dumps` writes.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __call__(self, desc: InitDesc | str, arr: NDArray) -> None:
        """Sets the parameter `arr` whose name is `desc`.

        Raises
        ------
        ArgumentTypeError
            For what is no array.
        InvalidArgumentError
            For a name with an unknown ending, unless the variable has its own initializer.
        """
        if not hasattr(arr, "shape"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: arr must be an NDArray, got {type(arr).__name__}"
            )
        if not isinstance(desc, InitDesc):
            desc = InitDesc(desc)
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            return
        for ending, method in _BY_ENDING:
            if desc.endswith(ending):
                getattr(self, method)(desc, arr)
                return
        self._init_default(desc, arr)

    def dumps(self) -> str:
        """The initializer as JSON, as kept in a variable's attribute ``__init__``.

        Examples
        --------
        >>> import ferromix as mx
        >>> mx.init.Normal(0.5).dumps()
        '["normal", {"sigma": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.dumps() == other.dumps()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.dumps())

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({given})"

    def _init_weight(self, desc: InitDesc, arr: NDArray) -> None:
        raise NotImplementedError(f"{type(self).__name__} must override _init_weight")

    def _init_bias(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_beta(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_gamma(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_zero(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, desc: InitDesc, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_default(self, desc: InitDesc, arr: NDArray) -> None:
        endings = ", ".join(ending for ending, _ in _BY_ENDING)
        raise InvalidArgumentError(
            f"no rule sets the parameter '{desc}' of shape {arr.shape}: its name ends in none of "
            f"{endings}; give the variable its own initializer, "
            f"as in mx.sym.Variable('{desc}', init=mx.init.Zero())"
        )


_BY_ENDING = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("moving_mean", "_init_zero"),
    ("running_mean", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("moving_var", "_init_one"),
    ("running_var", "_init_one"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
)

_registry = Registry(Initializer, "initializer")
register = _registry.register
"""Decorator that makes a class known by its name."""
alias: Callable[..., Callable[[type], type]] = _registry.alias
"""Decorator that makes a class known by further names."""


def create(init: Initializer | str, *args: Any, **kwargs: Any) -> Initializer:
    """An initializer from its name, or from what :meth:`Initializer.dumps` wrote.

    Examples
    --------
    >>> import ferromix as mx
    >>> mx.init.create("xavier", magnitude=2)
    Xavier(rnd_type='uniform', factor_type='avg', magnitude=2)
    """
    return _registry.create(init, *args, **kwargs)


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
        A number, or an array (or nested list) of the weight's own shape.
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
        if given.shape != arr.shape:
            raise InvalidArgumentError(
                f"Constant: value of shape {given.shape} does not fit the parameter '{desc}' "
                f"of shape {arr.shape}"
            )
        arr[:] = array(given, dtype=arr.dtype)


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

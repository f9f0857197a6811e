"""Initializers that choose: among others by name, or from what was saved."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ndarray as nd
from ..error import FileFormatError, InvalidArgumentError
from ..ndarray import NDArray
from .base import InitDesc

__all__ = ["Load", "Mixed"]

Init = Callable[[InitDesc | str, NDArray], Any]


class Load:
    """Sets parameters to saved arrays of the same name.

    Parameters
    ----------
    param
        Arrays by name, or a file of them; ``arg:`` and ``aux:`` before names do not count.
    default_init
        Sets parameters that were not saved.
    verbose
        Whether to log where each parameter comes from.

    Examples
    --------
    >>> import ferromix as mx
    >>> init = mx.init.Load({"arg:fc_weight": mx.nd.array([[1, 2]])}, mx.init.Zero())
    >>> weight = mx.nd.empty((1, 2))
    >>> init("fc_weight", weight)
    >>> print(weight.asnumpy())
    [[1. 2.]]
    """

    def __init__(
        self,
        param: Mapping[str, NDArray] | str | os.PathLike[str],
        default_init: Init | None = None,
        verbose: bool = False,
    ) -> None:
        loaded = param if isinstance(param, Mapping) else nd.load(param)
        if not isinstance(loaded, Mapping):
            raise FileFormatError(f"Load: {param!r} has no arrays with names")
        self.param = {
            name.split(":", 1)[1] if name.startswith(("arg:", "aux:")) else name: array
            for name, array in loaded.items()
        }
        self.default_init, self.verbose = default_init, verbose

    def __call__(self, name: InitDesc | str, arr: NDArray) -> None:
        """Sets a parameter.

        Raises
        ------
        InvalidArgumentError
            A parameter of another shape than the saved one, or one that was not saved, without
            `default_init`.
        """
        saved = self.param.get(str(name))
        if saved is None and self.default_init is None:
            raise InvalidArgumentError(
                f"Load: the parameter '{name}' was not saved; give default_init to set it"
            )
        if saved is None:
            assert self.default_init is not None
            self.default_init(name, arr)
        elif saved.shape != arr.shape:
            raise InvalidArgumentError(
                f"Load: the parameter '{name}' has shape {arr.shape}, the saved one {saved.shape}"
            )
        else:
            arr[:] = saved
        if self.verbose:
            how = "by the default initializer" if saved is None else "from what was saved"
            logging.info("%s is set %s", name, how)


class Mixed:
    """Sets each parameter by the first initializer whose pattern its name begins with.

    Parameters
    ----------
    patterns
        Regular expressions, such as ``".*bias"``; ``".*"`` last is for all others.
    initializers
        An initializer for each.

    Examples
    --------
    >>> import ferromix as mx
    >>> init = mx.init.Mixed(["fc1", ".*"], [mx.init.One(), mx.init.Zero()])
    >>> weight = mx.nd.empty((2,))
    >>> init("fc2_weight", weight)
    >>> print(weight.asnumpy())
    [0. 0.]
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Init]) -> None:
        if len(patterns) != len(initializers):
            raise InvalidArgumentError(
                f"Mixed: {len(patterns)} patterns for {len(initializers)} initializers"
            )
        self.map = [(re.compile(p), i) for p, i in zip(patterns, initializers, strict=True)]

    def __call__(self, name: InitDesc | str, arr: NDArray) -> None:
        """Sets a parameter.

        Raises
        ------
        InvalidArgumentError
            No pattern fits.
        """
        for pattern, init in self.map:
            if pattern.match(str(name)):
                init(name, arr)
                return
        raise InvalidArgumentError(
            f"Mixed: no pattern fits the parameter '{name}'; add '.*' with a default as the last"
        )

"""Indexing on autograd's tape: the operators that record ``a[key]``, and their gradients.

They run on the core's arrays, as views are no kernels, and each is the gradient of the other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _core, dispatch
from ..dispatch.python_operator import PythonOperator
from ..ops.card import Entry, GradientGraph, Shape, make
from . import indexing, values

__all__ = ["record"]


class Select(PythonOperator):
    """``data[key]``.

    Parameters
    ----------
    key
        The index.
    shape, dtype
        Of ``data``.
    reusable
        Whether it may record many runs, as where the index is a basic one.
    """

    name = "_select"

    def __init__(self, key: Any, shape: Shape, dtype: str, reusable: bool) -> None:
        super().__init__()
        self.key = key
        self.shape = shape
        self.dtype = dtype
        self.reusable = reusable

    def run(self, inputs: Any) -> list[_core.Array]:
        """A view, or a copy for an index with arrays."""
        (data,) = inputs
        found = data.index(self.key)
        if found is None:
            picked = values.read(data)[indexing.to_numpy(self.key)]
            found = _core.Array(picked.shape, data.dtype, *data.context)
            values.write(found, picked)
        return [found]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The gradient of the output at its place, and 0 elsewhere."""
        back = Spread(self.key, self.shape, self.dtype, self.reusable)
        return [graph.op(back, graph.out_grad[0])[0]]


class Spread(Select):
    """Zeros, to whose elements at the index the input is added."""

    name = "_spread"

    def run(self, inputs: Any) -> list[_core.Array]:
        """A new array."""
        attrs = {"shape": self.shape, "value": 0.0, "dtype": self.dtype}
        result = _core.Array(self.shape, self.dtype, *inputs[0].context)
        dispatch.invoke(make("_full", attrs), [], [result])
        target = result.index(self.key)
        if target is not None:
            target.copy_from(inputs[0])
            return [result]
        sums = values.read(result)
        np.add.at(sums, indexing.to_numpy(self.key), values.read(inputs[0]))
        values.write(result, sums)
        return [result]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """What is at the index."""
        back = Select(self.key, self.shape, self.dtype, self.reusable)
        return [graph.op(back, graph.out_grad[0])[0]]


def record(data: _core.Array, key: Any, result: _core.Array, is_view: bool) -> None:
    """Appends ``result = data[key]`` to the tape, where the thread records and `data` is on it."""
    if is_view:
        card = _view(_frozen(key), data.shape, data.dtype)
    else:
        card = Select(key, data.shape, data.dtype, reusable=False)
    card.record([data], [result])


@lru_cache(maxsize=1024)
def _view(key: tuple[Any, ...], shape: Shape, dtype: str) -> Select:
    thawed = tuple(slice(*k) if isinstance(k, tuple) else k for k in key)
    return Select(thawed, shape, dtype, reusable=True)


def _frozen(key: Any) -> tuple[Any, ...]:
    """A basic index with its slices as tuples, which can be hashed in every Python."""
    keys = key if isinstance(key, tuple) else (key,)
    return tuple((k.start, k.stop, k.step) if isinstance(k, slice) else k for k in keys)

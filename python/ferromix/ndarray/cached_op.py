"""Symbols called as functions of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .. import _core
from ..dispatch.storage import conform
from ..error import ArgumentTypeError, DTypeError, InvalidArgumentError
from ..graph.node import Entry
from ..graph.operator import GraphOperator
from ..literal import names_of
from .ndarray import NDArray, invoke

__all__ = ["CachedOp"]


class CachedOp:
    """A symbol as a function of arrays, prepared once for each combination of shapes and types.

    A call runs in the core: it pushes the operators of the graph one after another, and lets go of
    each intermediate result after its last use. Where autograd records, it records them all, so
    that results can be differentiated any number of times. It may be called by several threads at
    once.

    Parameters
    ----------
    sym
        The symbol.
    flags
        Pairs of a name and a value: ``static_alloc``, ``static_shape``, ``inline_limit``,
        ``forward_bulk_size``, ``backward_bulk_size``, ``data_indices``, ``param_indices``,
        ``subgraph``, ``is_dynamic``. They are checked, and change nothing: memory always comes from
        the pool, and what depends on shapes is always remembered.

    Attributes
    ----------
    handle
        The call in the core.
    is_np_sym
        False: there are no NumPy symbols.

    Raises
    ------
    DTypeError
        For something that is no symbol, or flags that are no pairs.
    InvalidArgumentError
        For an unknown flag, or a value that it does not take.

    Examples
    --------
    >>> import ferromix as mx
    >>> x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    >>> op = mx.nd.CachedOp(mx.sym.dot(x, w) + 1)
    >>> op(mx.nd.ones((1, 2)), mx.nd.array([[1], [2]])).asnumpy().tolist()
    [[4.0]]
    """

    __slots__ = ("_card", "handle", "is_np_sym")

    def __init__(self, sym: Any, flags: Iterable[tuple[str, Any]] = ()) -> None:
        heads = getattr(sym, "entries", None)
        if not isinstance(heads, list) or not all(isinstance(h, Entry) for h in heads):
            raise DTypeError(f"CachedOp: sym must be a Symbol, got {type(sym).__name__}")
        try:
            given = {str(key): value for key, value in flags}
        except (TypeError, ValueError):
            raise DTypeError(
                f"CachedOp: flags must be pairs of a name and a value, got {flags!r}"
            ) from None
        self._card = GraphOperator(heads, **given)
        self.handle = _core.Call(self._card, self._card.name, False, len(heads))
        self.is_np_sym = False

    def __call__(self, *args: NDArray, out: Any = None, **kwargs: Any) -> Any:
        """Pushes the computation, and returns its result at once.

        Parameters
        ----------
        *args
            The arrays of the variables, in the order of ``sym.list_inputs()``.
        out
            An array, or a list of one for each output, to be overwritten.

        Returns
        -------
        NDArray or list of NDArray
            A list if the symbol has several outputs; `out`, where it was given.

        Raises
        ------
        ArgumentTypeError
            For another keyword.
        DTypeError
            For something that is no NDArray.
        InvalidArgumentError
            For another number of arrays, or shapes or types that do not fit; names the input.
        """
        if kwargs:
            raise ArgumentTypeError(f"CachedOp: unexpected arguments: {', '.join(kwargs)}")
        names = self._card.list_arguments()
        if len(args) != len(names):
            raise InvalidArgumentError(
                f"CachedOp: takes {len(names)} inputs ({names_of(names)}), got {len(args)}"
            )
        for name, value in zip(names, args, strict=True):
            _require_array(f"input '{name}'", value)
        targets = self._targets(out)
        if self._card.by_values:
            arrays = self._one_by_one(args)
            for array, target in zip(arrays, targets, strict=False):
                array.copyto(NDArray(target))
        else:
            results = self.handle([a.handle for a in conform(self._card, args)], targets)
            arrays = [NDArray(r) for r in results]
        if out is not None:
            return out
        return arrays[0] if len(arrays) == 1 else arrays

    def _one_by_one(self, args: Sequence[NDArray]) -> list[NDArray]:
        """The outputs where shapes depend on values: nothing is known before an operator runs."""
        table = dict(enumerate(args))
        for part in self._card.composition.parts:
            found = invoke(part.card, [table[i] for i in part.inputs])
            table.update(zip(part.outputs, found, strict=False))
        return [table[i] for i in self._card.composition.outputs]

    def _targets(self, out: Any) -> list[_core.Array]:
        """The arrays of `out`, one for each output, or none."""
        if out is None:
            return []
        targets = [out] if isinstance(out, NDArray) else list(out)
        names = self._card.list_outputs()
        if len(targets) != len(names):
            raise InvalidArgumentError(
                f"CachedOp: out: got {len(targets)} arrays for {len(names)} outputs "
                f"({names_of(names)})"
            )
        for name, value in zip(names, targets, strict=True):
            _require_array(f"out: '{name}'", value)
        return [a.handle for a in targets]


def _require_array(what: str, value: object) -> None:
    if not isinstance(value, NDArray):
        raise DTypeError(f"CachedOp: {what} must be an NDArray, got {type(value).__name__}")

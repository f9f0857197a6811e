"""What to do with arrays whose storage type an operator does not take: convert them, and say so."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Protocol, Self, TypeVar

from ..ops.card import OperatorProperty
from ..ops.storage import DENSE

__all__ = ["conform"]


class _Stored(Protocol):
    @property
    def stype(self) -> str: ...

    def tostype(self, stype: str) -> Self: ...


_Array = TypeVar("_Array", bound=_Stored)
_warned: set[tuple[str, tuple[str, ...]]] = set()


def conform(card: OperatorProperty, inputs: Sequence[_Array]) -> list[_Array]:
    """The inputs in the storage types that the operator takes.

    Where it does not take what is given, the array is converted, and a warning says so, once for
    each operator and storage types; ``MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0`` silences it.

    Parameters
    ----------
    inputs
        Arguments, then auxiliary states.
    """
    given = tuple(a.stype for a in inputs)
    if all(stype == DENSE for stype in given):
        return list(inputs)
    count = len(card.list_arguments())
    arguments, _, states = card.infer_storage_type(given[:count])
    wanted = (*arguments, *states)
    if wanted == given:
        return list(inputs)
    _warn(card.name, given, wanted)
    return [
        a if a.stype == stype else a.tostype(stype) for a, stype in zip(inputs, wanted, strict=True)
    ]


def _warn(operator: str, given: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    if (operator, given) in _warned or os.environ.get("MXNET_STORAGE_FALLBACK_LOG_VERBOSE") == "0":
        return
    _warned.add((operator, given))
    warnings.warn(
        f"{operator}: storage type fallback: it does not take inputs stored as "
        f"{', '.join(given)}, which are converted to {', '.join(wanted)}. The result is right, but "
        "needs the memory of dense arrays. MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 silences this.",
        stacklevel=2,
    )

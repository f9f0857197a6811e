"""Which operators give the same for the same inputs, as some passes require."""

from __future__ import annotations

from functools import lru_cache

from .. import _core
from ..graph.node import Node
from ..ops.card import OperatorProperty
from ..ops.own_backward import PythonRun

__all__ = ["PURE", "is_builtin", "is_pure", "repeats"]

PURE = frozenset(_core.kernel_names()) - frozenset(_core.random_kernels())
"""Kernels that draw no numbers."""


def is_pure(card: OperatorProperty) -> bool:
    """Whether nodes give the same for the same inputs, in every mode, and do nothing else."""
    if card.uses_train_mode or card.private_outputs or card.few_kept or card.mutated_inputs():
        return False
    return card.kernel_name() in PURE and is_builtin(type(card))


@lru_cache(maxsize=1024)
def is_builtin(kind: type[OperatorProperty]) -> bool:
    """Whether the package's operators are meant, not those that run code of a user's."""
    return kind.__module__.startswith(OperatorProperty.__module__.rpartition(".")[0])


def repeats(node: Node, is_train: bool = False) -> bool:
    """Whether a pass, run again on the same inputs, gives the same, by no user's function."""
    card = node.op
    if card is None:
        return True
    if isinstance(card, PythonRun) or not is_builtin(type(card)):
        return False
    # Others that draw numbers in training alone know the mode.
    still = card.uses_train_mode and card.attrs.get("mode") != "always" and not is_train
    return still or card.kernel_name() in PURE

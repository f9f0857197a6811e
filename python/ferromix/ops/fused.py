"""The card of several operators that run as one kernel; graphs get it by a pass, never by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from .card import OperatorProperty

__all__ = ["MOST_INPUTS", "MOST_PARTS", "Fused", "Part", "fused"]

Part = tuple[OperatorProperty, tuple[int, ...]]
"""A card and the values that it reads: first the inputs are counted, then the parts' results."""

MOST_INPUTS = 8
"""Each takes registers, and room among the arguments of the kernel."""
MOST_PARTS = 32


class Fused(OperatorProperty):
    """Operators that compute element by element, each from inputs and the results of those before.

    Parameters
    ----------
    parts
        The operators, the last of which gives the output.
    inputs
        How many inputs there are.
    """

    name = "_fused"
    hidden = True
    differentiable = False
    open_inputs: ClassVar[bool] = True

    def __init__(self, parts: Sequence[Part], inputs: int) -> None:
        super().__init__()
        self.parts = tuple(parts)
        self.inputs = inputs
        # What errors call it: the operators in their order.
        self.label = "+".join(card.label for card, _ in self.parts)

    def list_arguments(self) -> list[str]:
        """A name for each input."""
        return [f"arg{i}" for i in range(self.inputs)]

    def inplace_options(self) -> list[tuple[int, int]]:
        """Any input: every element is read before it is written."""
        return [(i, 0) for i in range(self.inputs)]


@lru_cache(maxsize=1024)
def fused(parts: tuple[Part, ...], inputs: int) -> Fused:
    """The card of these parts, the same object for the same ones."""
    return Fused(parts, inputs)

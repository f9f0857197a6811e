"""Operators of the tape that Python runs, where there is no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from .. import _core
from .._core import Array
from ..ops.card import OperatorProperty

__all__ = ["PythonOperator"]


class PythonOperator(OperatorProperty):
    """A card that runs itself, on the core's arrays, when a backward pass comes to it.

    The tape keeps no values for it, so its gradient rule reads gradients of outputs only. An
    instance may serve many runs if it is `reusable`; otherwise it belongs to one, and is freed with
    its record.
    """

    hidden: ClassVar[bool] = True
    reusable: bool = False

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs, not recorded."""
        raise NotImplementedError

    def record(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Appends a run to the tape, where the thread records and an input is on it."""
        _core.record_python(self, self.name, inputs, outputs)

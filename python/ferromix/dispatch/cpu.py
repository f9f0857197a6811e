"""Runs cards on the CPU, by the kernels of the Rust core."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..error import InvalidArgumentError
from ..ops.card import OperatorProperty
from ..ops.remembered import remembered
from . import backend
from .backend import Desc, Device

__all__ = ["CpuBackend"]


class CpuBackend:
    """The kernel table of the core."""

    def maker(self, card: OperatorProperty, is_train: bool) -> _core.Maker:
        """What makes the kernels of a card.

        Raises
        ------
        InvalidArgumentError
            Numbers that no kernel can have.
        """
        return _maker(card, is_train)

    def prepare(
        self,
        card: OperatorProperty,
        inputs: Sequence[Desc],
        outputs: Sequence[Desc],
        is_train: bool,
        device: Device,
    ) -> _core.Prepared:
        """The kernel for a card and the arrays described.

        Raises
        ------
        InvalidArgumentError
            Numbers that no kernel can have.
        """
        try:
            return _maker(card, is_train).prepare(inputs, outputs)
        except OverflowError as error:
            raise _beyond(card, error) from error


@remembered(4096)
def _maker(card: OperatorProperty, is_train: bool) -> _core.Maker:
    try:
        return _core.Maker(
            card.label,
            card.kernel_name(),
            card.kernel_attrs(is_train),
            card.mutated_inputs(),
            card,
            card.dynamic_params(),
        )
    except OverflowError as error:
        raise _beyond(card, error) from error


def _beyond(card: OperatorProperty, error: OverflowError) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{card.name}: a number in the attributes or the shapes is beyond 64 bits: {error}"
    )


backend.install("cpu", CpuBackend())

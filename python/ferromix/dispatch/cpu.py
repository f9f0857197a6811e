"""Runs cards on the CPU, by the kernels of the Rust core."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from ..error import InvalidArgumentError
from ..ops.card import OperatorProperty
from . import backend
from .backend import Desc, Device

__all__ = ["CpuBackend"]


class CpuBackend:
    """The kernel table of the core."""

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
        changed = [inputs[i] for i in card.mutated_inputs()]
        try:
            return _core.Prepared(
                card.label,
                card.kernel_name(),
                card.kernel_attrs(is_train),
                list(inputs),
                [*outputs, *changed],
                len(changed),
                card,
                card.dynamic_params(),
            )
        except OverflowError as error:
            raise InvalidArgumentError(
                f"{card.name}: a number in the attributes or the shapes is beyond 64 bits: {error}"
            ) from error


backend.install("cpu", CpuBackend())

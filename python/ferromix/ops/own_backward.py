"""Gradients of operators of one's own: cards that run a property's backward in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..error import InvalidArgumentError
from . import card
from .card import MaybeShape
from .own_storage import infer_backward
from .param import DTYPES

if TYPE_CHECKING:
    from .own import OwnOperator

__all__ = ["OwnBackward", "PythonRun"]


class PythonRun(card.OperatorProperty):
    """A card whose runs are Python's, on the lane; see ``dispatch/python_lane.py``."""

    few_kept: ClassVar[bool] = True


class OwnBackward(PythonRun):
    """The gradient of an operator of one's own.

    Its inputs are the gradients of outputs that the property declares, then the operator's inputs
    and outputs, of which those that it does not declare count by shape alone, its auxiliary states,
    and its state.
    """

    hidden: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = DTYPES

    def __init__(self, forward: OwnOperator) -> None:
        super().__init__()
        self.name = f"_backward_{forward.name}"  # type: ignore[misc] - one for each operator
        self.label = f"backward of {forward.label}"
        self.forward = forward
        self.out_grads = [i for i in range(forward.visible) if i in forward.dependencies]

    def operator_of(self, attached: Any) -> Any:
        """The operator object that is attached to the state.

        Raises
        ------
        InvalidArgumentError
            None, as where nothing ran forward.
        """
        if attached is None:
            raise InvalidArgumentError(f"{self.label}: nothing ran forward before it")
        return attached

    def list_arguments(self) -> list[str]:
        """What it reads, and what it may change."""
        own = self.forward
        grads = [f"{own.output_list[i]}_grad" for i in self.out_grads]
        return [*grads, *own.argument_list, *own.output_list, *own.state_list, "__state__"]

    def list_outputs(self) -> list[str]:
        """The gradients of the inputs."""
        return [f"{n}_grad" for n in self.forward.argument_list]

    def mutated_inputs(self) -> list[int]:
        """The auxiliary states and the state, which are last, and what forward changes."""
        count, first = len(self.list_arguments()), len(self.out_grads)
        arguments = range(first, first + len(self.forward.argument_list))
        changed = [arguments[i] for i in self.forward.mutated_inputs() if i < len(arguments)]
        return [*changed, *range(count - len(self.forward.state_list) - 1, count)]

    def ignored_inputs(self) -> list[int]:
        """What the property does not declare."""
        own, first = self.forward, len(self.out_grads)
        ids = range(own.visible, own.visible + len(own.argument_list) + len(own.output_list))
        return [first + k for k, i in enumerate(ids) if i not in own.dependencies]

    def inplace_options(self) -> list[tuple[int, int]]:
        """What the property declares, by the places of the inputs here."""
        own = self.forward
        outs, args = own.visible, len(own.argument_list)
        ids = list(range(outs + args + len(own.output_list)))
        asked = (ids[:outs], ids[outs : outs + args], ids[outs + args :], list(range(args)))
        found = own.pairs("backward_inplace_option", len(ids), args, *asked)
        first = len(self.out_grads) - outs
        grads = {i: place for place, i in enumerate(self.out_grads)}
        ignored = set(self.ignored_inputs())
        placed = [(grads.get(i) if i < outs else i + first, o) for i, o in found]
        return [(i, o) for i, o in placed if i is not None and i not in ignored]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The gradients have the shapes of the inputs."""
        first = len(self.out_grads)
        return list(in_shapes), list(in_shapes[first : first + len(self.list_outputs())]), []

    def infer_storage_type(
        self, in_stypes: Sequence[str], wanted: Sequence[str] | None = None
    ) -> tuple[list[str], list[str], list[str]]:
        """What the property says, which may depend on what is `wanted` of the gradients."""
        return infer_backward(self, in_stypes, wanted)

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """The gradients have the types of the inputs."""
        first = len(self.out_grads)
        return list(in_types), list(in_types[first : first + len(self.list_outputs())]), []

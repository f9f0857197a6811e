"""Operators that are made of others, and so need no kernel.

Such a card gives its `forward` as a rule over other operators, as gradients are given. Everything
else follows from the parts. A kernel of its own may replace the rule later: names, attributes and
saved graphs stay.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ..error import InternalError, InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, make
from .inference import infer_shapes_of, infer_types_of
from .term import Term

__all__ = ["Composed", "Composition", "Part"]


_OF_PARTS = (
    *("kernel", "kernel_name", "kernel_attrs", "gradient", "needs_out_grad"),
    *("inplace_options", "ignored_inputs", "mutated_inputs", "auxiliary_states"),
)
"""What a card of such an operator must leave alone, as nobody asks it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the operators that make up another: its card, and the numbers of the values that it
    reads and gives."""

    card: OperatorProperty
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Composition:
    """An operator written out in others.

    Attributes
    ----------
    parts
        The operators, in an order in which they can run. Values are numbered: the inputs first,
        then what the parts give, in turn.
    outputs
        The numbers of the outputs, each given by a part, and none twice.
    size
        How many values there are.
    """

    parts: tuple[Part, ...]
    outputs: tuple[int, ...]
    size: int


class Composed(OperatorProperty):
    """The base of operators that are made of others.

    A subclass says so by a method ``forward``, which takes a :class:`Term` for each input and
    returns the output, or a list of outputs. It may use other composed operators. Attributes are
    known there, shapes are not. Inputs that change (auxiliary states) and dynamic attributes need
    a kernel.

    Examples
    --------
    >>> class Swish(Composed):
    ...     name = "swish"
    ...     def forward(self, data: Term) -> Term:
    ...         return data * data.op("sigmoid")
    """

    forward: ClassVar[Callable[..., Term | Sequence[Term]]]
    """The rule."""
    operands: ClassVar[str] = "broadcast"
    """What arithmetic in the rule does: ``"broadcast"``, or ``"elemwise"`` where shapes are always
    equal, so that an unknown one follows from the others."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        idle = [name for name in _OF_PARTS if name in vars(cls)]
        if idle:
            raise InternalError(f"{cls.name}: the parts decide on {', '.join(idle)}")

    @cached_property
    def composition(self) -> Composition:
        """The operator written out.

        Raises
        ------
        InternalError
            A rule that gives another number of outputs than the card, or a part that changes its
            inputs.
        """
        recorder = _Recorder(self)
        inputs = [Term(recorder, i, self.operands) for i in range(recorder.size)]
        found = self.forward(*inputs)
        entries = [t.entry for t in ([found] if isinstance(found, Term) else found)]
        if len(entries) != len(self.output_names):
            raise InternalError(
                f"{self.name}: forward gives {len(entries)} outputs, list_outputs "
                f"{len(self.output_names)}"
            )
        outputs: list[int] = []
        for entry in entries:
            own = entry < len(inputs) or entry in outputs
            outputs.append(recorder.op("_copy", entry)[0] if own else entry)
        return Composition(tuple(recorder.parts), tuple(outputs), recorder.size)

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What follows from the parts, each of which is asked until nothing new is learned."""
        table = self._shapes(in_shapes, [None] * len(self.composition.outputs))
        return self._arguments(table), [table[i] for i in self.composition.outputs], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """What follows from the parts."""
        return self._arguments(self._shapes(in_shapes, out_shapes))

    def infer_type(
        self, in_types: Sequence[str | None]
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """What follows from the parts."""
        table: dict[int, str | None] = dict.fromkeys(range(self.composition.size))
        table.update(enumerate(in_types))
        self._sweep(infer_types_of, table)
        return self._arguments(table), [table[i] for i in self.composition.outputs], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The parts have gradients: :mod:`ferromix.graph.compose` puts them in its place before."""
        raise InternalError(f"{self.name}: its parts are differentiated, not the operator")

    def _shapes(
        self, inputs: Sequence[MaybeShape], outputs: Sequence[MaybeShape]
    ) -> dict[int, MaybeShape]:
        table: dict[int, MaybeShape] = dict.fromkeys(range(self.composition.size))
        table.update(enumerate(inputs))
        table.update(zip(self.composition.outputs, outputs, strict=True))
        self._sweep(infer_shapes_of, table)
        return table

    def _sweep(self, infer: Callable[..., None], table: MutableMapping[int, Any]) -> None:
        """Asks all parts, to and fro, until the table stays as it is."""
        parts = self.composition.parts
        before = None
        while before != table:
            before, parts = dict(table), parts[::-1]
            for part in parts[::-1]:
                try:
                    infer(part.card, part.inputs, part.outputs, table)
                except InvalidArgumentError as error:
                    raise InvalidArgumentError(self._own_words(part, str(error))) from None

    def _own_words(self, part: Part, message: str) -> str:
        """What a part says of a value, with this operator's name for it where that is an input."""
        own = self.list_arguments()
        names = part.card.list_arguments() + part.card.list_auxiliary_states()
        for name, value in zip(names, part.inputs, strict=True):
            found = f"{part.card.name}: argument '{name}'"
            if value < len(own) and message.startswith(found):
                return f"{self.name}: argument '{own[value]}'{message.removeprefix(found)}"
        return f"{self.name}: {message}"

    def _arguments(self, table: MutableMapping[int, Any]) -> list[Any]:
        return [table[i] for i in range(len(self.list_arguments()))]


class _Recorder:
    """The graph that a rule adds its operators to; an entry is the number of a value."""

    in_data: Sequence[Entry] = ()
    out_data: Sequence[Entry] = ()
    out_grad: Sequence[Entry] = ()

    def __init__(self, owner: OperatorProperty) -> None:
        self.owner = owner
        self.size = len(owner.list_arguments())
        self.parts: list[Part] = []

    def op(self, name: str | OperatorProperty, *inputs: Entry, **attrs: Any) -> list[Entry]:
        """Adds a part and returns the numbers of its outputs."""
        card = copy.copy(make(name, attrs) if isinstance(name, str) else name)
        names = card.list_arguments()
        if len(inputs) != len(names):
            raise InvalidArgumentError(
                f"{self.owner.name}: its part {card.name} takes {len(names)} inputs "
                f"({', '.join(names)}), got {len(inputs)}"
            )
        if card.mutated_inputs():
            raise InternalError(
                f"{self.owner.name}: its part {card.name} changes inputs; that needs a kernel"
            )
        card.__dict__.pop("composition", None)
        card.label = f"{self.owner.label}/{card.name}"
        outputs = tuple(range(self.size, self.size + len(card.output_names)))
        self.size += len(outputs)
        self.parts.append(Part(card, inputs, outputs))
        return list(outputs)

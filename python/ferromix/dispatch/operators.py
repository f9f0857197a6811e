"""Runs of cards on any device: inferred and prepared once, pushed again and again."""

from __future__ import annotations

from collections.abc import Sequence

from .. import _core
from .._core import Array
from ..context import placement
from ..error import InvalidArgumentError
from ..literal import names_of
from ..ops.card import MaybeShape, OperatorProperty, make
from ..ops.composed import Composed
from ..ops.own_backward import PythonRun
from ..ops.remembered import remembered
from ..ops.shapes import require_countable
from . import python_lane
from .backend import CPU, Desc, Device, backend_of

__all__ = [
    "ADD",
    "INPLACE",
    "NULL",
    "WRITE",
    "Desc",
    "answer",
    "call",
    "infer",
    "invoke",
    "prepare",
    "record_view",
    "require_fit",
    "state_request",
]

NULL, WRITE, INPLACE, ADD = range(4)


def require_fit(
    card: OperatorProperty, inputs: Sequence[Desc]
) -> tuple[list[MaybeShape], list[str | None]]:
    """What the card says of its outputs, if these are shapes and types that it takes.

    Raises
    ------
    InvalidArgumentError
        Inputs that do not fit; names the operator, the argument and both shapes.
    """
    names = card.list_arguments() + card.list_auxiliary_states()
    if len(inputs) != len(names):
        raise InvalidArgumentError(
            f"{card.label}: takes {len(names)} inputs ({names_of(names)}), got {len(inputs)}"
        )
    count = len(card.list_arguments())
    arg_shapes, out_shapes, aux_shapes = card.infer_shape([s for s, _ in inputs[:count]])
    arg_types, out_types, aux_types = card.infer_type([t for _, t in inputs[:count]])
    expected = zip([*arg_shapes, *aux_shapes], [*arg_types, *aux_types], inputs, names, strict=True)
    for shape, dtype, given, name in expected:
        if shape != given[0]:
            raise InvalidArgumentError(
                f"{card.label}: argument '{name}' has shape {given[0]}, expected {shape}"
            )
        if dtype != given[1]:
            raise InvalidArgumentError(
                f"{card.label}: argument '{name}' is {given[1]}, expected {dtype}"
            )
        card.check_dtype(given[1], name)
    return out_shapes, out_types


@remembered(8192)
def infer(card: OperatorProperty, inputs: tuple[Desc, ...]) -> tuple[Desc, ...]:
    """Shapes and types of all outputs from those of all inputs, auxiliary states included.

    Raises
    ------
    InvalidArgumentError
        As :func:`require_fit`; or a shape or a type does not follow.
    """
    out_shapes, out_types = require_fit(card, inputs)
    if card.by_values:
        raise InvalidArgumentError(
            f"{card.label}: shapes of outputs depend on values, and what surrounds it needs them "
            "before it runs; keep the shape by where, or call the operator by itself"
        )
    outputs = []
    for shape, dtype, name in zip(out_shapes, out_types, card.list_outputs(), strict=True):
        if shape is None or any(d < 0 for d in shape) or dtype is None:
            unknown = f"element type {dtype}" if dtype is None else f"shape {shape}"
            raise InvalidArgumentError(
                f"{card.label}: the {unknown} of '{name}' does not follow from the inputs; give it "
                "as an attribute, or, of an operator of one's own, have its "
                f"infer_{'type' if dtype is None else 'shape'} return it"
            )
        require_countable(card.label, name, shape)
        outputs.append((shape, dtype))
    return tuple(outputs)


@remembered(8192)
def prepare(
    card: OperatorProperty,
    inputs: tuple[Desc, ...],
    outputs: tuple[Desc, ...],
    is_train: bool,
    device: Device = CPU,
) -> _core.Prepared:
    """The kernel for a card and the arrays described.

    Its outputs are those of the card, then the inputs that the operator changes.

    Parameters
    ----------
    inputs
        Arguments, then auxiliary states.
    outputs
        The card's outputs, hidden ones included.
    is_train
        Whether to train or to predict, for operators that tell the two apart.
    device
        Where it runs.

    Raises
    ------
    InvalidArgumentError
        A device on which no operators run, or what its kernels cannot take.
    """
    if isinstance(card, PythonRun):
        return python_lane.prepare(card, inputs, outputs, is_train)
    return backend_of(device).prepare(card, inputs, outputs, is_train, device)


def state_request(card: OperatorProperty, is_train: bool) -> int:
    """What a run does with the inputs that :meth:`OperatorProperty.mutated_inputs` names."""
    if card.changed_by_gradient:
        return NULL
    always = not card.uses_train_mode or isinstance(card, PythonRun)
    return INPLACE if is_train or always else NULL


def invoke(
    card: OperatorProperty,
    inputs: Sequence[Array],
    out: Sequence[Array] | None = None,
    is_train: bool | None = None,
) -> list[Array]:
    """Pushes one run of a card and returns its outputs at once, hidden ones included.

    Parameters
    ----------
    inputs
        Arguments, then auxiliary states.
    out
        Arrays for the first outputs, to be overwritten; new ones are made for the rest.
    is_train
        Whether to train or to predict; what autograd says of this thread where None.

    Raises
    ------
    InvalidArgumentError
        Inputs or outputs that do not fit.
    """
    return call(card)(inputs, out or [], is_train)


@remembered(8192)
def call(card: OperatorProperty) -> _core.Call:
    """What runs a card: it asks :func:`answer` once for each combination of shapes and types."""
    visible = card.num_visible_outputs()
    place = card.attrs.get("ctx")
    device = placement(place) if place else None
    return _core.Call(card, card.name, card.uses_train_mode, visible, device)


Answer = tuple[
    _core.Prepared | _core.Composite, tuple[Desc, ...], list[int], int, list[tuple[int, int]]
]


def answer(
    card: OperatorProperty, inputs: tuple[Desc, ...], is_train: bool, device: Device
) -> Answer:
    """The kernel for a card and inputs on a device, and how to run it.

    Returns
    -------
    The prepared operator, or the calls of what it is made of; shapes and types of its outputs; the
    inputs that it changes, and what to do with those; pairs of input and output that may share
    memory.
    """
    outputs = infer(card, inputs)
    if isinstance(card, Composed):
        return _composite(card, inputs, outputs), outputs, [], NULL, []
    prepared = prepare(card, inputs, outputs, is_train, device)
    request = state_request(card, is_train)
    return prepared, outputs, card.mutated_inputs(), request, card.inplace_options()


def _composite(
    card: Composed, inputs: tuple[Desc, ...], outputs: tuple[Desc, ...]
) -> _core.Composite:
    """What runs the parts of a card one after another."""
    made = card.composition
    parts = [(call(part.card), part.inputs, part.outputs) for part in made.parts]
    copy = call(make("_copy", {}))
    return _core.Composite(card.label, inputs, outputs, parts, made.outputs, copy)


def record_view(card: OperatorProperty, source: Array, view: Array) -> None:
    """Appends a run that gave a view, where this thread records and `source` is on the tape."""
    if _core.is_recording() and source.is_recorded:
        desc = (source.shape, source.dtype)
        prepare(card, (desc,), ((view.shape, view.dtype),), False).record([source], [view])

"""Runs cards on the CPU by kernels of the Rust core, prepared once per attributes and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .. import _core
from .._core import Array
from ..error import InvalidArgumentError
from ..graph.gradient import reads
from ..literal import names_of
from ..ops.card import OperatorProperty, Shape
from ..ops.shapes import require_countable

__all__ = [
    "Array",
    "Desc",
    "call",
    "changes_states",
    "infer",
    "invoke",
    "prepare",
    "record_view",
    "run",
]

Desc = tuple[Shape, str]
"""Shape and name of the element type of one array."""

NULL, WRITE, INPLACE, ADD = range(4)


def changes_states(card: OperatorProperty, is_train: bool) -> bool:
    """Whether a run writes the inputs that :meth:`OperatorProperty.mutated_inputs` names."""
    return is_train or not card.uses_train_mode


@lru_cache(maxsize=8192)
def infer(card: OperatorProperty, inputs: tuple[Desc, ...]) -> tuple[Desc, ...]:
    """Shapes and types of all outputs from those of all inputs, auxiliary states included.

    Raises
    ------
    InvalidArgumentError
        Inputs that do not fit; names the operator, the argument and both shapes.
    """
    names = card.list_arguments() + card.list_auxiliary_states()
    if len(inputs) != len(names):
        raise InvalidArgumentError(
            f"{card.name}: takes {len(names)} inputs ({names_of(names)}), got {len(inputs)}"
        )
    count = len(card.list_arguments())
    arg_shapes, out_shapes, aux_shapes = card.infer_shape([s for s, _ in inputs[:count]])
    arg_types, out_types, aux_types = card.infer_type([t for _, t in inputs[:count]])
    expected = zip([*arg_shapes, *aux_shapes], [*arg_types, *aux_types], inputs, names, strict=True)
    for shape, dtype, given, name in expected:
        if shape != given[0]:
            raise InvalidArgumentError(
                f"{card.name}: argument '{name}' has shape {given[0]}, expected {shape}"
            )
        if dtype != given[1]:
            raise InvalidArgumentError(
                f"{card.name}: argument '{name}' is {given[1]}, expected {dtype}"
            )
        card.check_dtype(given[1])
    outputs = []
    for shape, dtype, name in zip(out_shapes, out_types, card.list_outputs(), strict=True):
        if shape is None or any(d < 0 for d in shape) or dtype is None:
            raise InvalidArgumentError(
                f"{card.name}: shape {shape} or type {dtype} of '{name}' does not follow from "
                "the inputs; give it as an attribute"
            )
        require_countable(card.name, name, shape)
        outputs.append((shape, dtype))
    return tuple(outputs)


@lru_cache(maxsize=8192)
def prepare(
    card: OperatorProperty,
    inputs: tuple[Desc, ...],
    outputs: tuple[Desc, ...],
    is_train: bool,
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

    Raises
    ------
    InvalidArgumentError
        Numbers that no kernel can have.
    """
    changed = [inputs[i] for i in card.mutated_inputs()]
    try:
        return _core.Prepared(
            card.name,
            card.kernel_name(),
            card.kernel_attrs(is_train),
            list(inputs),
            [*outputs, *changed],
            len(changed),
            card,
            reads,
            card.dynamic_params(),
        )
    except OverflowError as error:
        raise InvalidArgumentError(
            f"{card.name}: a number in the attributes or the shapes is beyond 64 bits: {error}"
        ) from error


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


@lru_cache(maxsize=8192)
def call(card: OperatorProperty) -> _core.Call:
    """What runs a card: it asks :func:`answer` once for each combination of shapes and types."""
    visible = card.num_visible_outputs()
    return _core.Call(card, card.name, card.uses_train_mode, visible, answer)


def answer(
    card: OperatorProperty, inputs: tuple[Desc, ...], is_train: bool
) -> tuple[_core.Prepared, tuple[Desc, ...], list[int], int, list[tuple[int, int]]]:
    """The kernel for a card and inputs, and how to run it.

    Returns
    -------
    The prepared operator; shapes and types of its outputs; the inputs that it changes, and what to
    do with those; pairs of input and output that may share memory.
    """
    outputs = infer(card, inputs)
    prepared = prepare(card, inputs, outputs, is_train)
    request = INPLACE if changes_states(card, is_train) else NULL
    return prepared, outputs, card.mutated_inputs(), request, card.inplace_options()


def run(
    card: OperatorProperty,
    inputs: Sequence[Array],
    wanted: Sequence[tuple[Array | None, int]],
) -> list[Array | None]:
    """Pushes one run of a card for some of its outputs, and returns those.

    Parameters
    ----------
    inputs
        Arguments, then auxiliary states.
    wanted
        For each output the array for it, or None for a new one; and what to do: ``NULL``, for which
        no array is made, ``WRITE`` or ``ADD``.
    """
    described = tuple((a.shape, a.dtype) for a in inputs)
    out_descs = infer(card, described)
    outputs = [
        None if req == NULL else array or Array(*desc)
        for (array, req), desc in zip(wanted, out_descs, strict=True)
    ]
    _push(card, inputs, (described, out_descs), outputs, [req for _, req in wanted], None)
    return outputs


def record_view(card: OperatorProperty, source: Array, view: Array) -> None:
    """Appends a run that gave a view, where this thread records and `source` is on the tape."""
    if _core.is_recording() and source.is_recorded:
        desc = (source.shape, source.dtype)
        prepare(card, (desc,), ((view.shape, view.dtype),), False).record([source], [view])


def _push(
    card: OperatorProperty,
    inputs: Sequence[Array],
    descs: tuple[tuple[Desc, ...], tuple[Desc, ...]],
    outputs: Sequence[Array | None],
    reqs: Sequence[int],
    is_train: bool | None,
) -> None:
    if is_train is None:
        is_train = card.uses_train_mode and _core.is_training()
    prepared = prepare(card, *descs, is_train)
    changed = [inputs[i] for i in card.mutated_inputs()]
    state_req = INPLACE if changes_states(card, is_train) else NULL
    prepared.invoke(list(inputs), [*outputs, *changed], [*reqs, *[state_req] * len(changed)])

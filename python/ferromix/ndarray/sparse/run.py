"""Runs of operators of which an input, a result or a gradient is sparse, or whose shapes depend on
values."""

from __future__ import annotations

from collections.abc import Sequence

from ... import _core, dispatch
from ...dispatch.storage import conform
from ...dispatch.tape import modes
from ...ops.card import OperatorProperty
from ...ops.composed import Composed
from ...ops.own_backward import PythonRun
from ...ops.remembered import remembered
from ...ops.storage import DENSE, Rule, rule_of
from ..masks import by_values
from ..ndarray import NDArray
from . import compute, convert, own, taped
from .base import BaseSparseNDArray

__all__ = ["evaluate", "run"]


def run(
    card: OperatorProperty,
    inputs: Sequence[NDArray],
    out: Sequence[NDArray] = (),
    is_train: bool | None = None,
) -> list[NDArray]:
    """The visible outputs of one run, recorded where the thread records; see `ndarray.invoke`."""
    if card.by_values:
        return by_values(card, conform(card, inputs), out)
    train = _core.is_training() if is_train is None else is_train
    if isinstance(card, Composed) and _rule(card, tuple(a.stype for a in inputs)) is None:
        return _deliver_all(_by_parts(card, inputs, train), out)
    with modes(False, None):
        results = evaluate(card, inputs, train, out[0] if out else None)
    taped.record(card, inputs, results, train)
    return _deliver_all(results, out)[: card.num_visible_outputs()]


def _by_parts(card: Composed, inputs: Sequence[NDArray], is_train: bool) -> list[NDArray]:
    """Runs what an operator is made of, part by part, each recorded for itself."""
    made = card.composition
    values = dict(enumerate(inputs))
    for part in made.parts:
        found = run(part.card, [values[i] for i in part.inputs], is_train=is_train)
        values.update(zip(part.outputs, found, strict=False))
    return [values[i] for i in made.outputs[: card.num_visible_outputs()]]


def _deliver_all(results: list[NDArray], out: Sequence[NDArray]) -> list[NDArray]:
    """Puts results where they are wanted; gives them where they are."""
    delivered = [_deliver(result, target) for result, target in zip(results, out, strict=False)]
    return delivered + results[len(delivered) :]


@remembered(4096)
def _rule(card: OperatorProperty, stypes: tuple[str, ...]) -> Rule | None:
    return rule_of(card.name, card.attrs, stypes[: len(card.list_arguments())])


def _deliver(result: NDArray, target: NDArray) -> NDArray:
    """Puts a result where it is wanted, in the storage type that is there."""
    if result is target:
        return target
    if isinstance(target, BaseSparseNDArray):
        found = result if result.stype == target.stype else convert.dense(result)
        found.copyto(target)
    else:
        convert.dense(result).copyto(target)
    return target


def evaluate(
    card: OperatorProperty,
    inputs: Sequence[NDArray],
    is_train: bool,
    out: NDArray | None = None,
    state: NDArray | None = None,
    wanted: Sequence[str] | None = None,
) -> list[NDArray]:
    """All outputs of one run, hidden ones included, in the storage types that the rule says.

    `state` and `wanted` are for operators of one's own; see :func:`own.run`.
    """
    if card.by_values:
        return by_values(card, conform(card, inputs))
    if isinstance(card, PythonRun):
        return own.run(card, inputs, is_train, state, wanted)
    rule = _rule(card, tuple(a.stype for a in inputs))
    if rule is not None:
        dispatch.infer(card, tuple((a.shape, a.dtype_name) for a in inputs))
        found = compute.IMPLEMENTATIONS[rule.how](card, inputs, out)
        return found if isinstance(found, list) else [found]
    dense = conform(card, inputs)
    handles = dispatch.invoke(card, [a.handle for a in dense], None, is_train)
    for i in card.mutated_inputs():
        if dense[i] is not inputs[i]:
            convert.cast(dense[i], inputs[i].stype).copyto(inputs[i])
    results = [NDArray(h) for h in handles]
    asked = card.attrs.get("forward_stype")
    if asked not in (None, DENSE) and any(a.stype != DENSE for a in inputs):
        results[0] = convert.cast(results[0], asked)
    return results

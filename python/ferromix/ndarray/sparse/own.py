"""Runs of operators of one's own where an array is sparse.

How much an array stores is known when the function has returned. So these runs are no operations of
the engine: the function is called at once, on the calling thread, when its inputs are there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ... import dispatch
from ...context import current_context
from ...dispatch.python_lane import Undeclared, scoped
from ...ops.own import OwnOperator, Run
from ...ops.own_backward import OwnBackward, PythonRun
from ..ndarray import NDArray
from . import convert, create

__all__ = ["run"]


def run(
    card: PythonRun,
    inputs: Sequence[NDArray],
    is_train: bool,
    state: NDArray | None = None,
    wanted: Sequence[str] | None = None,
) -> list[NDArray]:
    """All outputs of one run, of which some may be sparse.

    Parameters
    ----------
    state
        Of a run forward: the array that stands for the operator object, in which that is kept.
    wanted
        Of a run backward: the storage types of the arrays that the gradients go to.

    Raises
    ------
    Exception
        What the function raises.
    """
    for array in inputs:
        array.wait_to_read()
    if isinstance(card, OwnBackward):
        return _backward(card, inputs, wanted)
    assert isinstance(card, OwnOperator)
    return _forward(card, inputs, is_train, state)


def _forward(
    card: OwnOperator, inputs: Sequence[NDArray], is_train: bool, state: NDArray | None
) -> list[NDArray]:
    count = len(card.argument_list)
    arguments, stypes, states = card.infer_storage_type([a.stype for a in inputs[:count]])
    given = _stored(inputs, (*arguments, *states))
    descs = tuple((a.shape, a.dtype_name) for a in given)
    outputs = dispatch.infer(card, descs)
    context = given[0].context if given else current_context()
    made = card.new_property()
    card.shapes_by(made, [shape for shape, _ in descs[:count]])
    card.types_by(made, [dtype for _, dtype in descs[:count]])
    results = [
        create.zeros(stype, shape, context, dtype)
        for stype, (shape, dtype) in zip(stypes, outputs, strict=True)
    ]
    if state is not None:
        results[-1] = state
    holder = results[-1].handle
    operator = holder.attached
    if operator is None:
        operator = card.create(made, context, descs[:count], descs[count:])
        holder.attach(operator)
    outs = results[:-1]
    requested = card.resources(made, context, [shape for shape, _ in descs[:count]], False)
    work = Run(
        context,
        is_train,
        ["write"] * len(outs),
        given[:count],
        outs,
        given[count:],
        [],
        [],
        requested,
    )
    what = f"forward of {card.label}"
    scoped(lambda: card.run_forward(operator, work), context, is_train, what)()
    _give_back(inputs[count:], given[count:])
    return results


def _backward(
    card: OwnBackward, inputs: Sequence[NDArray], wanted: Sequence[str] | None
) -> list[NDArray]:
    own, first = card.forward, len(card.out_grads)
    args, outs = len(own.argument_list), len(own.output_list)
    taken, stypes, _ = card.infer_storage_type([a.stype for a in inputs], wanted)
    stored = _stored(inputs, taken)
    given: list[object] = list(stored)
    operator = card.operator_of(stored[-1].handle.attached)
    descs = [(a.shape, a.dtype_name) for a in stored]
    for place in card.ignored_inputs():
        given[place] = Undeclared(card, place, descs[place])
    tops: list[object] = [
        Undeclared(card, i, descs[first + args + i], True) for i in range(own.visible)
    ]
    for place, i in enumerate(card.out_grads):
        tops[i] = given[place]
    context = stored[0].context
    data = stored[first : first + args]
    results = [
        create.zeros(stype, a.shape, context, a.dtype_name)
        for stype, a in zip(stypes, data, strict=True)
    ]
    requested = own.resources(own.own, context, [a.shape for a in data], True)
    work = Run(
        context,
        True,
        ["write"] * args,
        given[first : first + args],
        given[first + args : first + args + outs],
        given[first + args + outs : -1],
        tops,
        list(results),
        requested,
    )
    scoped(lambda: own.run_backward(operator, work), context, True, card.label)()
    _give_back(inputs[first + args + outs : -1], stored[first + args + outs : -1])
    return results


def _stored(arrays: Sequence[NDArray], stypes: Sequence[str]) -> list[NDArray]:
    """The arrays in these storage types."""
    return [
        a if a.stype == stype else convert.cast(convert.dense(a), stype)
        for a, stype in zip(arrays, stypes, strict=True)
    ]


def _give_back(states: Sequence[NDArray], used: Sequence[NDArray]) -> None:
    """Writes what a function did to the auxiliary states back, where it had copies of them."""
    for state, copy in zip(states, used, strict=True):
        if copy is not state:
            convert.cast(convert.dense(copy), state.stype).copyto(state)

"""Autograd with sparse arrays.

The tape of the core has dense values. So a run with a sparse input is recorded as a card that has
its inputs and outputs itself, and a backward pass that meets one, or a variable whose gradient is
sparse, is run here, over the graph that serves every backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ... import _core
from ..._core import Array
from ...dispatch import tape
from ...dispatch.python_operator import PythonOperator
from ...error import InvalidArgumentError
from ...graph.node import Entry
from ...ops.card import OperatorProperty
from ...ops.storage import DENSE
from ..ndarray import NDArray
from .base import BaseSparseNDArray
from .plan import Row, planned

__all__ = ["backward", "gradient_of", "gradients", "keep_gradient", "record"]

_ADD = 3
_gradients: WeakKeyDictionary[Array, BaseSparseNDArray] = WeakKeyDictionary()
"""The sparse gradients of variables, by the handles of these."""
_seen = False
"""Whether there ever was a run or a gradient that is sparse: most programs have none."""


class SparseRun(PythonOperator):
    """A run on the tape, with constants for what went in and came out."""

    reusable = True

    def __init__(
        self, card: OperatorProperty, inputs: Sequence[NDArray], outputs: Sequence[NDArray]
    ) -> None:
        super().__init__()
        self.name = card.name  # type: ignore[misc]
        self.card = card
        self.values = [a.detach() for a in inputs], [a.detach() for a in outputs]

    def list_arguments(self) -> list[str]:
        """Those of the operator."""
        return self.card.list_arguments() + self.card.list_auxiliary_states()

    def list_outputs(self) -> list[str]:
        """Those of the operator."""
        return self.card.list_outputs()


def record(
    card: OperatorProperty,
    inputs: Sequence[NDArray],
    outputs: Sequence[NDArray],
    is_train: bool,
) -> None:
    """Appends a run to the tape, where the thread records and an input is on it."""
    global _seen
    if not _core.is_recording() or not any(a.handle.is_recorded for a in inputs):
        return
    _seen = True
    made = SparseRun(card, inputs, outputs)
    made.record([a.handle for a in inputs], [a.handle for a in outputs])


def keep_gradient(variable: NDArray, gradient: NDArray) -> None:
    """Notes that a variable has a sparse gradient, or a dense one."""
    global _seen
    if isinstance(gradient, BaseSparseNDArray):
        _seen = True
        _gradients[variable.handle] = gradient
    else:
        _gradients.pop(variable.handle, None)


def gradient_of(variable: NDArray, handle: Array) -> NDArray:
    """The gradient of a variable, whose handle it is."""
    found = _gradients.get(variable.handle)
    if found is not None and found.handle.chunk == handle.chunk:
        return found
    return NDArray(handle)


def _traced(heads: Sequence[NDArray]) -> tuple[Any, list[Any], dict[int, BaseSparseNDArray]] | None:
    """The trace of heads, if something on the way is sparse; all sparse gradients by memory."""
    if not _seen:
        return None
    trace = _core.Trace([h.handle for h in heads])
    rows = list(trace.structure())
    targets = {g.handle.chunk: g for g in list(_gradients.values())}
    if any(isinstance(card, SparseRun) for card, _ in rows):
        return trace, rows, targets
    if targets and any(trace.target(i).chunk in targets for i, _ in trace.requests):
        return trace, rows, targets
    return None


def backward(
    heads: Sequence[NDArray], seeds: Sequence[NDArray | None], retain: bool, train: bool
) -> bool:
    """A backward pass, if something on the way is sparse; otherwise False, and nothing done.

    Raises
    ------
    InvalidArgumentError
        As :func:`ferromix.autograd.backward`.
    """
    found = _traced(heads)
    if found is None:
        return False
    trace, rows, targets = found
    requests = trace.requests
    if not requests:
        raise InvalidArgumentError(
            "backward: the heads depend on no array that needs a gradient; call attach_grad() on "
            "it before autograd.record(), with a grad_req other than 'null'"
        )
    with tape.modes(False, train):
        results = _Pass(trace, rows, heads, seeds, train).run(
            [i for i, _ in requests], _stypes(trace, targets, [i for i, _ in requests])
        )
        for (node, request), result in zip(requests, results, strict=True):
            handle = trace.target(node)
            target = targets.get(handle.chunk)
            _deliver(result, NDArray(handle) if target is None else target, request == _ADD)
    if not retain:
        trace.release()
    return True


def gradients(
    heads: Sequence[NDArray],
    seeds: Sequence[NDArray | None],
    variables: Sequence[NDArray],
    retain: bool,
    create_graph: bool,
    train: bool,
) -> list[NDArray] | None:
    """As :func:`backward`, for gradients as new arrays; None if nothing on the way is sparse."""
    found = _traced(heads)
    if found is None:
        return None
    trace, rows, _ = found
    if create_graph:
        raise InvalidArgumentError(
            "grad: create_graph is for dense arrays; convert sparse ones by tostype('default')"
        )
    wanted = [trace.variable(v.handle) for v in variables]
    for i, node in enumerate(wanted):
        if node is None:
            raise InvalidArgumentError(
                f"grad: the heads do not depend on variable {i} of shape {variables[i].shape}"
            )
    with tape.modes(False, train):
        results = _Pass(trace, rows, heads, seeds, train).run(wanted)
        zeros = [
            v.detach() * 0 if r is None else r for v, r in zip(variables, results, strict=True)
        ]
    if not retain:
        trace.release()
    return [r.copy() for r in zeros]


def _stypes(trace: Any, targets: dict[int, BaseSparseNDArray], nodes: Sequence[int]) -> list[str]:
    """The storage types of the gradients of variables."""
    found = [targets.get(trace.target(node).chunk) for node in nodes]
    return [DENSE if target is None else target.stype for target in found]


def _deliver(result: NDArray | None, target: NDArray, add: bool) -> None:
    """Writes or adds a gradient, in the storage type of its array."""
    if result is None:
        if not add:
            (target * 0).copyto(target)
        return
    found = result
    if add:
        found = found if found.stype == target.stype else found.tostype(DENSE)
        found = found + target
    if found.stype not in (DENSE, target.stype):
        found = found.tostype(DENSE)
    found.copyto(target)


class _Pass:
    """One backward pass."""

    def __init__(
        self,
        trace: Any,
        rows: Sequence[Any],
        heads: Sequence[NDArray],
        seeds: Sequence[NDArray | None],
        is_train: bool,
    ) -> None:
        self._trace = trace
        self._train = is_train
        self._heads = heads
        self._seeds = seeds
        self._cards = [card for card, _ in rows]
        self._rows = tuple(
            Row(card.card, True, tuple(sources))
            if isinstance(card, SparseRun)
            else Row(card, False, tuple(sources))
            for card, sources in rows
        )

    def run(self, wanted: Sequence[int], stypes: Sequence[str] = ()) -> list[NDArray | None]:
        """The gradients of the variables of these nodes; None where they are zero.

        `stypes` are the storage types of the arrays that they go to, where these are known.
        """
        from .run import evaluate

        plan = planned(self._rows, tuple(self._trace.heads), wanted)
        table: dict[Entry, NDArray] = {}
        for i, inputs, outputs in plan.kept:
            values = self._cards[i].values
            table.update(zip(inputs, values[0], strict=True))
            table.update(zip(outputs, values[1], strict=False))
        for entry, head, seed in zip(plan.seeds, self._heads, self._seeds, strict=True):
            if entry is not None:
                table[entry] = _seed(head, seed)

        def value(entry: Entry) -> NDArray:
            found = table.get(entry)
            if found is None:
                found = NDArray(self._trace.value(*plan.places[entry]).detach())
                table[entry] = found
            return found

        stored = dict(zip(plan.results, stypes, strict=False))
        for step in plan.steps:
            inputs = [value(e) for e in step.inputs]
            if isinstance(step.card, PythonOperator):
                made = [NDArray(h) for h in tape.run_card(step.card, [a.handle for a in inputs])]
            else:
                kinds = [stored.get(e, "undefined") for e in step.outputs]
                made = evaluate(step.card, inputs, self._train, wanted=kinds)
            table.update(zip(step.outputs, made, strict=False))
            for entry in step.done:
                table.pop(entry, None)
        return [None if e is None else value(e) for e in plan.results]


def _seed(head: NDArray, seed: NDArray | None) -> NDArray:
    """What the gradient of a head starts from.

    Raises
    ------
    InvalidArgumentError
        For one of another shape.
    """
    if seed is None:
        from ..creation import ones

        return ones(head.shape, head.context, head.dtype_name)
    if seed.shape != head.shape:
        raise InvalidArgumentError(
            f"backward: a head gradient has shape {seed.shape}, the head {head.shape}"
        )
    return seed

"""Gradients of what was recorded: the core's tape becomes a graph, and the cards' rules run on it.

The tape (``rust/py/src/tape``) says which operators were run and has the values that their gradient
rules read. Here the same pass that serves symbols differentiates their graph, and the nodes of the
gradients run one by one, as any operator does; so they are recorded too where that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

from .. import _core
from .._core import Array
from ..error import InvalidArgumentError
from ..graph.gradient import MissingRuleError
from ..graph.node import Entry
from ..ops.card import make
from . import cpu
from .python_operator import PythonOperator
from .tape_plan import Step, TapePlan, graph_of, make_plan

__all__ = ["backward", "entries", "gradients", "modes"]

_CACHEABLE = 5000
"""Nodes of the longest tape whose plan is kept for the next time."""


@contextmanager
def modes(recording: bool | None, training: bool | None) -> Iterator[None]:
    """Whether the thread records and trains, for a while; None leaves it as it is."""
    old = (
        None if recording is None else _core.set_recording(recording),
        None if training is None else _core.set_training(training),
    )
    try:
        yield
    finally:
        if old[0] is not None:
            _core.set_recording(old[0])
        if old[1] is not None:
            _core.set_training(old[1])


def backward(
    heads: Sequence[Array],
    head_grads: Sequence[Array | None],
    retain_graph: bool,
    train_mode: bool,
) -> None:
    """Writes or adds the gradients of `heads` to those of the variables that they depend on.

    Parameters
    ----------
    heads
        Results on the tape.
    head_grads
        The gradient of each head; ones for None.
    retain_graph
        Whether the tape stays, to be differentiated again.
    train_mode
        Whether the gradients' operators train or predict.

    Raises
    ------
    InvalidArgumentError
        A head that is not on the tape, or whose graph was freed; nothing that needs a gradient; a
        value that was overwritten; an operator without a gradient rule.
    """
    trace = _core.Trace(heads)
    structure = trace.structure()
    wanted = [i for i, row in enumerate(structure) if isinstance(row, int) and row]
    if not wanted:
        raise InvalidArgumentError(
            "backward: the heads depend on no array that needs a gradient; call attach_grad() on "
            "it before autograd.record(), with a grad_req other than 'null'"
        )
    adds = tuple(structure[i] == cpu.ADD for i in wanted)
    plan = _plan(trace, structure, tuple(wanted), adds)
    targets = [_target(trace, i) for i in wanted]
    with modes(False, train_mode):
        runner = _Runner(trace, plan, _seeds(plan, heads, head_grads))
        direct = runner.use(targets)
        found = runner.run()
        for i, (add, target) in enumerate(zip(adds, targets, strict=True)):
            if i not in direct:
                _deliver(found[i], target, add)
    if not retain_graph:
        trace.free()


def gradients(
    heads: Sequence[Array],
    head_grads: Sequence[Array | None],
    variables: Sequence[Array],
    retain_graph: bool,
    create_graph: bool,
    train_mode: bool,
) -> list[Array]:
    """The gradients of `heads` with respect to `variables`, as new arrays.

    Parameters
    ----------
    variables
        Marked arrays.
    create_graph
        Whether the gradients are recorded, to be differentiated in turn.

    Raises
    ------
    InvalidArgumentError
        As for :func:`backward`; also a variable that was not marked, or on which no head depends.
    """
    trace = _core.Trace(heads)
    wanted = [trace.find(v) for v in variables]
    for i, position in enumerate(wanted):
        if position is None:
            known = variables[i].is_recorded
            problem = "no head depends on it" if known else "it does not require a gradient"
            raise InvalidArgumentError(
                f"grad: cannot differentiate with respect to variable {i} of shape "
                f"{variables[i].shape}: {problem}; call attach_grad() on it before "
                "autograd.record(), and compute the heads from it"
            )
    positions = tuple(p for p in wanted if p is not None)
    plan = _plan(trace, trace.structure(), positions, (False,) * len(positions))
    with modes(create_graph, train_mode):
        runner = _Runner(trace, plan, _seeds(plan, heads, head_grads), whole=create_graph)
        found = [
            cpu.invoke(make("zeros_like", {}), [variable])[0] if gradient is None else gradient
            for gradient, variable in zip(runner.run(), variables, strict=True)
        ]
        # Two variables may have got the same memory, or that of a value or of a head's gradient.
        taken = runner.borrowed
        for i, array in enumerate(found):
            if array.chunk in taken:
                found[i] = cpu.invoke(make("_copy", {}), [array])[0]
            taken.add(array.chunk)
    if not retain_graph:
        trace.free()
    return found


def entries(heads: Sequence[Array]) -> list[Entry]:
    """The recorded graph of `heads`, with variables for everything that was not computed."""
    trace = _core.Trace(heads)
    nodes = graph_of(trace.structure())
    return [Entry(nodes[i], output) for i, output in trace.heads]


def _plan(
    trace: _core.Trace, structure: tuple, wanted: tuple[int, ...], adds: tuple[bool, ...]
) -> TapePlan:
    cards = {row[0] for row in structure if not isinstance(row, int)}
    passing = any(isinstance(c, PythonOperator) and not c.reusable for c in cards)
    make_it = make_plan if passing or len(structure) > _CACHEABLE else _cached_plan
    try:
        return make_it(structure, tuple(trace.heads), wanted, adds)
    except MissingRuleError as error:
        position = int(error.node.name)
        raise InvalidArgumentError(
            f"backward: {error}; it was recorded at {trace.line(position)}"
        ) from None


_cached_plan = lru_cache(maxsize=64)(make_plan)


def _target(trace: _core.Trace, variable: int) -> Array:
    target = trace.gradient(variable)
    assert target is not None  # marking sees to it
    return target


def _seeds(
    plan: TapePlan, heads: Sequence[Array], head_grads: Sequence[Array | None]
) -> dict[int, Array]:
    """The gradients of the heads whose gradients are read; those of losses are not."""
    seeds = {}
    for i in dict.fromkeys(head for _, head in plan.seeds):
        head, grad = heads[i], head_grads[i]
        if grad is None:
            grad = cpu.invoke(make("ones_like", {}), [head])[0]
        elif grad.shape != head.shape or grad.dtype != head.dtype:
            raise InvalidArgumentError(
                f"backward: the gradient of head {i} is {grad.dtype} {grad.shape}, but the head is "
                f"{head.dtype} {head.shape}"
            )
        seeds[i] = grad
    return seeds


def _deliver(gradient: Array | None, target: Array, add: bool) -> None:
    """Writes or adds a gradient, zeros for None, where it is wanted."""
    if gradient is not None:
        cpu.run(make("_copy", {}), [gradient], [(target, cpu.ADD if add else cpu.WRITE)])
    elif not add:
        cpu.run(make("zeros_like", {}), [target], [(target, cpu.WRITE)])


class _Runner:
    """One run of a plan: the values of its slots, which are let go of after their last use."""

    def __init__(
        self, trace: _core.Trace, plan: TapePlan, seeds: Mapping[int, Array], whole: bool = False
    ) -> None:
        self._plan = plan
        self._whole = whole
        self._targets: dict[int, tuple[Array, int]] = {}
        self._values: list[Array | None] = [None] * plan.size
        for slot, places in plan.loads:
            # All places hold the same array; each says whether it was overwritten since.
            for place in places:
                self._values[slot] = _load(trace, *place)
        for slot, head in plan.seeds:
            self._values[slot] = seeds[head]
        self.borrowed = {v.chunk for v in self._values if v is not None}

    def use(self, targets: Sequence[Array]) -> set[int]:
        """Has gradients written where they are wanted, without a copy; gives those so written.

        It cannot where something that is still to be read shares memory with a target.
        """
        chunks = {t.chunk for t in targets}
        if len(chunks) < len(targets) or self.borrowed & chunks:
            return set()
        for slot, (wanted, add) in self._plan.direct.items():
            self._targets[slot] = (targets[wanted], cpu.ADD if add else cpu.WRITE)
        return {wanted for wanted, _ in self._plan.direct.values()}

    def run(self) -> list[Array | None]:
        """Runs all steps, and gives the gradients."""
        for step in self._plan.steps:
            inputs = [self._take(slot) for slot in step.inputs]
            for slot, value in zip(step.outputs, self._step(step, inputs), strict=True):
                if slot is not None:
                    self._values[slot] = value
            for slot in step.last:
                self._values[slot] = None
        return [None if s is None else self._values[s] for s in self._plan.gradients]

    def _step(self, step: Step, inputs: list[Array]) -> Sequence[Array | None]:
        card = step.card
        if isinstance(card, PythonOperator):
            with modes(False, None):
                outputs = card.run(inputs)
            card.record(inputs, outputs)
            return outputs
        if self._whole:
            return cpu.invoke(card, inputs)
        wanted = [
            (None, cpu.NULL) if slot is None else self._targets.get(slot, (None, cpu.WRITE))
            for slot in step.outputs
        ]
        return cpu.run(card, inputs, wanted)

    def _take(self, slot: int) -> Array:
        value = self._values[slot]
        assert value is not None
        return value


def _load(trace: _core.Trace, node: int, is_input: bool, number: int) -> Array:
    return trace.input(node, number) if is_input else trace.output(node, number)

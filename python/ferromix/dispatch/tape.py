"""Programs of backward passes: what was recorded, as a graph, on which the cards' rules run.

The tape (``rust/py/src/tape``) says which operators were run, and has the values that their
gradient rules read. Here the pass that serves symbols differentiates their graph, once for each
structure; the core runs the program that comes of it, again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from .. import _core
from .._core import Array
from ..error import InvalidArgumentError
from ..graph.gradient import Gradients, MissingRuleError, differentiate, reads
from ..graph.liveness import last_uses
from ..graph.node import Entry, Node
from ..ops.card import OperatorProperty, make
from .operators import call
from .python_operator import PythonOperator

__all__ = ["backward_program", "entries", "modes", "run_card"]

Place = tuple[int, bool, int]
"""Where the tape has a value: the node, whether it is an input of it, and its number."""


@dataclass(frozen=True, slots=True)
class Step:
    """One run of an operator.

    Attributes
    ----------
    work
        The call, or a card that Python runs.
    inputs, outputs
        Slots; None for outputs that nobody reads.
    last
        Slots that no later step reads.
    dying
        The numbers of the inputs whose memory the outputs may take.
    """

    work: _core.Call | PythonOperator
    inputs: list[int]
    outputs: list[int | None]
    last: list[int]
    dying: list[int]


@dataclass(frozen=True, slots=True)
class BackwardProgram:
    """A backward pass, as ``rust/py/src/tape/program.rs`` reads it.

    Attributes
    ----------
    slots
        The number of slots, each of which holds a value while it is needed.
    loads
        Slots of values that the tape has, and where it has them.
    seeds
        Slots of gradients of heads, and the number of the head.
    steps
        What runs, in order.
    gradients
        The slot of the gradient of each wanted variable; None where it is zero.
    direct
        Which of those steps can write, or add, to where they are wanted.
    copy, zeros, ones
        The calls of ``_copy``, ``zeros_like`` and ``ones_like``.
    reusable
        Whether another tape of the same structure can be differentiated by it.
    few_kept
        Whether it has cards that hold objects of a user's, so that few such are remembered.
    """

    slots: int
    loads: list[tuple[int, list[Place]]]
    seeds: list[tuple[int, int]]
    steps: list[Step]
    gradients: list[int | None]
    direct: list[bool]
    copy: _core.Call
    zeros: _core.Call
    ones: _core.Call
    reusable: bool
    few_kept: bool


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


def entries(heads: Sequence[Array]) -> list[Entry]:
    """The recorded graph of `heads`, with variables for everything that was not computed."""
    trace = _core.Trace(heads)
    nodes = _graph(trace)
    return [Entry(nodes[i], output) for i, output in trace.heads]


def run_card(card: PythonOperator, inputs: Sequence[Array]) -> list[Array]:
    """Runs a card that is Python's to run, and records the run where the thread records."""
    with modes(False, None):
        outputs = card.run(inputs)
    card.record(inputs, outputs)
    return outputs


def backward_program(
    trace: _core.Trace, wanted: Sequence[int], adds: Sequence[bool], create_graph: bool
) -> BackwardProgram:
    """A backward pass from the heads of a trace.

    Parameters
    ----------
    wanted
        The nodes of the variables whose gradients are asked for.
    adds
        For each of them whether its gradient is added to what its array holds.
    create_graph
        Whether the pass is recorded: then a rule may read any output of any step.

    Raises
    ------
    InvalidArgumentError
        An operator on the way has no gradient rule; names it and the line that recorded it.
    """
    nodes = _graph(trace)
    heads = [Entry(nodes[i], k) for i, k in trace.heads]
    try:
        found = differentiate(heads, [nodes[i] for i in wanted])
    except MissingRuleError as error:
        position = int(error.node.name)
        raise InvalidArgumentError(
            f"backward: {error}; it was recorded at {trace.line(position)}"
        ) from None
    cards = [node.op for node in nodes if node.op is not None]
    reusable = all(c.reusable for c in cards if isinstance(c, PythonOperator))
    return _Maker(nodes, found, create_graph).make(adds, reusable)


def _graph(trace: _core.Trace) -> list[Node]:
    """The nodes of the tape as nodes of a graph, each named by its position.

    An input that was no result becomes a variable of its own.
    """
    nodes: list[Node] = []
    for i, (card, sources) in enumerate(trace.structure()):
        inputs = [
            Entry(Node(None, f"{i}.{j}"), 0)
            if source is None
            else Entry(nodes[source[0]], source[1])
            for j, source in enumerate(sources)
        ]
        nodes.append(Node(card, str(i), inputs))
    return nodes


class _Maker:
    """Gives slots to entries."""

    def __init__(self, nodes: Sequence[Node], found: Gradients, create_graph: bool) -> None:
        self._nodes = nodes
        self._found = found
        self._all = create_graph
        # Python's cards may give views of what they read.
        self._viewed = {
            e for n in found.nodes if isinstance(n.op, PythonOperator) for e in n.inputs
        }
        self._made = {n for n in found.nodes if not isinstance(n.op, PythonOperator)}
        self._slots: dict[Entry, int] = {}
        self._results = {e for e in found.entries if e is not None}
        self._last = last_uses(found.nodes)
        self._needed = self._results | self._last.keys()

    def make(self, adds: Sequence[bool], reusable: bool) -> BackwardProgram:
        """The program."""
        seeds = [
            (self._slot(Entry(node, 0)), i)
            for i, node in enumerate(self._found.head_grads)
            if node is not None
        ]
        loads = [(self._slot(entry), places) for entry, places in self._places().items()]
        steps = [self._step(number, node) for number, node in enumerate(self._found.nodes)]
        gradients = [None if e is None else self._slot(e) for e in self._found.entries]
        return BackwardProgram(
            slots=len(self._slots),
            loads=loads,
            seeds=seeds,
            steps=steps,
            gradients=gradients,
            direct=self._direct(adds),
            copy=call(make("_copy", {})),
            zeros=call(make("zeros_like", {})),
            ones=call(make("ones_like", {})),
            reusable=reusable,
            few_kept=any(n.op is not None and n.op.few_kept for n in self._nodes),
        )

    def _slot(self, entry: Entry) -> int:
        return self._slots.setdefault(entry, len(self._slots))

    def _places(self) -> dict[Entry, list[Place]]:
        """Where the tape has the values that are needed."""
        places: dict[Entry, list[Place]] = {}
        rest: dict[Entry, Place] = {}
        kept: dict[OperatorProperty | None, tuple[list[bool], list[bool]]] = {None: ([], [False])}
        for i, node in enumerate(self._nodes):
            if node.op is not None and node.op not in kept:
                kept[node.op] = reads(node.op)
            inputs, outputs = kept[node.op]
            for j, (entry, is_kept) in enumerate(zip(node.inputs, inputs, strict=True)):
                if entry in self._needed and is_kept:
                    places.setdefault(entry, []).append((i, True, j))
                rest.setdefault(entry, (i, True, j))
            for k, (entry, is_kept) in enumerate(zip(node.outputs(), outputs, strict=True)):
                if entry in self._needed and is_kept:
                    places.setdefault(entry, []).append((i, False, k))
                rest[entry] = (i, False, k)
        # Of the others only the shape matters.
        for entry in rest.keys() & self._needed - places.keys():
            places[entry] = [rest[entry]]
        return places

    def _step(self, number: int, node: Node) -> Step:
        assert node.op is not None
        work = node.op if isinstance(node.op, PythonOperator) else call(node.op)
        outputs = [
            self._slot(e) if self._all or e in self._needed else None for e in node.outputs()
        ]
        ending = {e for e in node.inputs if self._last[e] == number and e not in self._results}
        dying = [i for i, e in enumerate(node.inputs) if e in ending and self._is_own(e, node)]
        inputs = [self._slot(e) for e in node.inputs]
        return Step(work, inputs, outputs, [self._slot(e) for e in ending], dying)

    def _is_own(self, entry: Entry, user: Node) -> bool:
        """Whether nothing but the one input of `user` refers to the memory of a result."""
        made = entry.node in self._made and entry not in self._viewed
        return not self._all and made and user.inputs.count(entry) == 1

    def _direct(self, adds: Sequence[bool]) -> list[bool]:
        """Where kernels can write; what is needed afterwards must not be added to something."""
        free = {e for n in self._made for e in n.outputs()}
        direct = []
        for entry, add in zip(self._found.entries, adds, strict=True):
            needed = entry in self._last or self._found.entries.count(entry) > 1
            fits = entry in free and not (add and needed)
            direct.append(fits)
            if fits:
                free.discard(entry)
        return direct

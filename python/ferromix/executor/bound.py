"""The bound graph under an executor: the arrays of its entries, and the programs that fill them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..error import InvalidArgumentError
from ..graph.node import Entry, Node, cards, first_entries
from ..ndarray import NDArray, empty, zeros
from ..ops.storage import DENSE
from .arrays import contexts_of
from .inferred import Inferred
from .interpreted import Interpreted, makes_sparse, storage_types
from .network import Placement
from .program import BufferPool, Program
from .structures import network_of

__all__ = ["BoundGraph", "Monitor"]

Monitor = Callable[[str, NDArray], object]


class BoundGraph:
    """A graph with arrays for its variables, run pass by pass or step by step.

    The training programs keep what the backward pass reads; the prediction program reuses the
    same buffers, so that predicting discards what training forward left behind. A program that
    is monitored has an array for each result instead.

    Parameters
    ----------
    heads
        The outputs.
    placement
        Where nodes run.
    args, grads, states
        The arrays of arguments, of their gradients and of auxiliary states.
    requests
        What is to be done with the gradient of each argument.
    pool
        Where buffers for intermediate results come from.
    order
        All nodes of the graph, where they are known.
    inferred
        The shapes and types of all entries, where they are known already.
    """

    def __init__(
        self,
        heads: Sequence[Entry],
        placement: Placement,
        args: Mapping[Node, NDArray],
        grads: Mapping[Node, NDArray],
        requests: Mapping[Node, str],
        states: Mapping[Node, NDArray],
        pool: BufferPool,
        order: list[Node] | None = None,
        inferred: Inferred | None = None,
    ) -> None:
        self.placement = placement
        self.pool = pool
        wanted = {n: r for n, r in requests.items() if r != "null"}
        given = {**args, **states}
        if inferred is None:
            descs = {n: (a.shape, a.dtype_name) for n, a in given.items()}
        else:
            shapes, types = inferred
            descs = {e[0]: (shapes[e], types[e]) for e in first_entries(given)}
        devices = contexts_of(given)
        self.network, same = network_of(heads, descs, wanted, placement, devices, order, inferred)
        self.requests = {same[n]: r for n, r in wanted.items()}
        if any(n is not own for own, n in same.items()):
            args = {same[n]: a for n, a in args.items()}
            grads = {same[n]: a for n, a in grads.items()}
            states = {same[n]: a for n, a in states.items()}
        self.arg_arrays = [args[n] for n in self.network.arguments]
        self.grad_arrays = [grads.get(n) for n in self.network.arguments]
        self.aux_arrays = [states[n] for n in self.network.states]
        self.arrays = dict(
            zip(first_entries((*args, *states)), [*args.values(), *states.values()], strict=True)
        )
        self._make_outputs(grads)
        self.outputs = [self.arrays[e] for e in self.network.heads]
        self._monitor: Monitor | None = None
        self._monitors_inputs = False
        self._programs: dict[tuple[bool, bool, bool], Program | Interpreted] = {}
        # The program and the mode of the last forward pass, and how many of its steps ran.
        self._last: Program | Interpreted | None = None
        self._trained = False
        # Whether the last forward pass kept what the backward pass reads.
        self._keeps = False
        # Whether a backward pass ran since.
        self._went_back = False
        self._steps_done = 0
        self.main_program()

    def _make_outputs(self, grads: Mapping[Node, NDArray]) -> None:
        """Finds or makes the arrays of outputs, of their gradients, and of the gradients."""
        network = self.network
        heads = [*network.heads, *(Entry(n, 0) for n in network.head_grads if n is not None)]
        # What stands for the state of an operator outlives a pass.
        own = {card for card in cards(network.forward) if card.private_outputs}
        if not network.gradients:
            own = {card for card in own if not card.private_for_gradient}
        if own:
            private = [n for n in network.forward if n.op in own]
            heads += [e for n in private for e in n.outputs()[n.num_public_outputs :]]
        known = {e: a.stype for e, a in self.arrays.items() if a.stype != DENSE}
        sparse = bool(known) or makes_sparse(network.forward)
        stored = storage_types(network, known) if sparse else {}
        stypes = [*stored.values(), *(a.stype for a in grads.values())]
        self._interpreted = bool(network.open) or any(stype != DENSE for stype in stypes)
        for entry in heads:
            if entry not in self.arrays:
                self.arrays[entry] = self._new(entry, stored.get(entry))
        self.arrays.update({e: grads[n] for n, e in network.gradients.items()})

    def _new(self, entry: Entry, stype: str | None = None) -> NDArray:
        """A new array for an entry, where its node runs; empty where a pass finds the shape."""
        network = self.network
        place = network.devices[entry.node]
        shape = tuple(max(extent, 0) for extent in network.shapes[entry])
        return empty(shape, place, network.types[entry], stype=stype)

    # -- running -------------------------------------------------------------------------------

    def forward(self, is_train: bool) -> None:
        """Launches the forward pass."""
        self._begin(is_train)
        if self._monitor is None:
            assert self._last is not None
            self._last.forward()
        else:
            for number in range(len(self.network.operators)):
                self._run_step(number)
        self._steps_done = len(self.network.operators)
        self._find_outputs()

    def step(self, is_train: bool, number: int) -> int:
        """Launches one step of the forward pass, and says how many are left.

        Raises
        ------
        InvalidArgumentError
            For a step whose predecessors did not run.
        """
        count = len(self.network.operators)
        if number >= count:
            return 0
        if number == 0:
            self._begin(is_train)
        elif number != self._steps_done or is_train != self._trained or self._last is None:
            raise InvalidArgumentError(
                f"partial_forward: step {number} with is_train={is_train} needs the steps before "
                "it; begin with step 0, and count up"
            )
        self._require_memory("partial_forward")
        self._run_step(number)
        self._steps_done = number + 1
        self._find_outputs()
        return count - self._steps_done

    def _find_outputs(self) -> None:
        """Takes the outputs from where a pass left new arrays, whose shapes it found."""
        if self.network.open:
            self.outputs[:] = [self.arrays[e] for e in self.network.heads]

    def _begin(self, is_train: bool) -> None:
        """Gets ready for a forward pass; what the last one left is no longer there."""
        self._steps_done = 0
        self._went_back = False
        # What prediction drops can be computed again, unless it was drawn, or users' functions
        # gave it.
        network = self.network
        self._keeps = bool(network.backward) and (is_train or not network.repeats)
        self._last = self._program(is_train, self._keeps)
        self._trained = is_train
        self.pool.user = self

    def _run_step(self, number: int) -> None:
        """Launches one operator, and shows it to the monitor."""
        steps = self.network.steps
        step, start = steps[number], steps[number - 1].end if number else 0
        program = self._last
        assert program is not None
        monitor = self._monitor if program.monitored else None
        card = step.node.op
        assert card is not None
        if monitor is not None and self._monitors_inputs:
            names = [*card.list_arguments(), *card.list_auxiliary_states()]
            for name, entry in zip(names, step.inputs, strict=True):
                array = program.array(entry)
                if entry.node.op is None and array is not None:
                    monitor(entry.node.name, array)
                self._show(monitor, program, step.node, [name], [entry])
        program.forward(start, step.end)
        if monitor is not None:
            # Not what stands for the state of an operator.
            shown = step.node.num_public_outputs
            names = card.output_names[:shown]
            self._show(monitor, program, step.node, names, step.outputs[:shown])

    def _show(
        self,
        monitor: Monitor,
        program: Program | Interpreted,
        node: Node,
        names: Sequence[str],
        entries: Sequence[Entry | None],
    ) -> None:
        """Calls the monitor with what belongs to a node."""
        for name, entry in zip(names, entries, strict=True):
            array = None if entry is None else program.array(entry)
            if array is not None:
                monitor(f"{node.name}_{name}", array)

    def require_forward(self) -> None:
        """Checks that there are results to go back from.

        Raises
        ------
        InvalidArgumentError
            If no forward pass ran to its end, or its results are gone.
        """
        if self._last is None or self._steps_done < len(self.network.operators):
            raise InvalidArgumentError("backward needs a forward pass before it; call forward")
        self._require_memory("backward")

    def head_gradient(self, node: Node) -> NDArray:
        """The array of an output's gradient; a new one where its shape is that of the last pass."""
        entry = Entry(node, 0)
        if entry in self.network.open:
            output = self.outputs[self.network.head_grads.index(node)]
            self.arrays[entry] = zeros(output.shape, output.context, output.dtype_name)
        return self.arrays[entry]

    def backward(self, is_train: bool) -> None:
        """Launches the backward pass."""
        program = self._last
        if not self._keeps:
            program = self._program(False, True)
            program.forward()
        assert program is not None
        if self._went_back and self._keeps and program.overwrites:
            self._repeat(program)
        self._went_back = True
        if self._monitor is None or not program.monitored:
            program.backward(is_train)
            return
        monitor, network, start = self._monitor, self.network, 0
        unread = {Entry(n, 0): n for n in network.head_grads if n is not None}
        for step in network.back_steps:
            read = [e for n in network.backward[start : step.end] for e in n.inputs]
            for entry in (*read, *step.outputs):
                # In MXNet a node of its own takes what the user gave.
                if entry is not None and unread.pop(entry, None):
                    self._show(monitor, program, entry.node, ["id_output"], [entry])
            program.backward(is_train, start, step.end)
            start = step.end
            several = len(step.outputs) > 1
            names = [f"backward_output{i if several else ''}" for i in range(len(step.outputs))]
            self._show(monitor, program, step.node, names, step.outputs)
        program.backward(is_train, start)

    def _repeat(self, program: Program | Interpreted) -> None:
        """Computes once more what a backward pass reads, and the last one wrote over.

        Raises
        ------
        InvalidArgumentError
            Where it would be something else: random numbers, or a user's function.
        """
        network = self.network
        if not (network.repeats_in_training if self._trained else network.repeats):
            raise InvalidArgumentError(
                "backward: the last backward pass wrote over what this one needs, and the forward "
                "pass drew random numbers or ran functions of yours, which are not run twice; call "
                "forward again"
            )
        program.forward()

    def _require_memory(self, what: str) -> None:
        if self.pool.user is not self:
            raise InvalidArgumentError(
                f"{what}: another executor that shares this one's memory ran since forward; "
                "call forward again"
            )

    # -- monitoring ----------------------------------------------------------------------------

    @property
    def monitor(self) -> tuple[Monitor | None, bool]:
        """The function that is shown results, and whether it is shown inputs, too."""
        return self._monitor, self._monitors_inputs

    @monitor.setter
    def monitor(self, value: tuple[Monitor | None, bool]) -> None:
        self._monitor, self._monitors_inputs = value
        if self._monitor is None:
            for key in [k for k in self._programs if k[2]]:
                del self._programs[key]

    # -- programs ------------------------------------------------------------------------------

    def _program(self, is_train: bool, backward: bool) -> Program | Interpreted:
        monitored = self._monitor is not None
        program = self._programs.get((is_train, backward, monitored))
        if program is None:
            adds = {e for n, e in self.network.gradients.items() if self.requests[n] == "add"}
            mode = {"backward": backward, "is_train": is_train, "monitored": monitored}
            if self._interpreted:
                program = Interpreted(self.network, self.arrays, adds, **mode)
            else:
                program = Program(self.network, self._handles(mode), adds, self.pool, **mode)
            self._programs[is_train, backward, monitored] = program
        return program

    def _handles(self, mode: Mapping[str, bool]) -> dict[Entry, Any]:
        """The core's arrays for a program."""
        arrays = {e: a.handle for e, a in self.arrays.items()}
        if mode["monitored"]:
            # Nothing is overwritten, so that the monitor may look at it at any time.
            network = self.network
            nodes = [*network.forward, *(network.backward if mode["backward"] else ())]
            entries = (e for n in nodes for e in n.outputs())
            arrays |= {e: self._new(e).handle for e in entries if e not in arrays}
        return arrays

    def main_program(self) -> Program | Interpreted:
        """The program that training uses, or prediction where there is nothing to train."""
        training = bool(self.network.backward)
        return self._program(training, training)

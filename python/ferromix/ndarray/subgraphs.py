"""How operators run that have graphs: a call of the graph for each step, on a tape of its own.

Every step begins with fresh variables, so that the gradients of all steps have one structure, for
which the tape has one program. States are handed on, and their gradients back, from step to step.
A run that is not to be differentiated records nothing; a backward pass that comes yet runs it once
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from ..graph.control_flow import Cond, ControlFlow, ForEach, WhileLoop, run_by
from ..ops.family import FLOATS
from ..ops.own import Run
from .gradients import backward, mark
from .ndarray import NDArray

__all__: list[str] = []

Arrays = list[NDArray]


class _Runner:
    """The base: the inputs of one run as variables, and their gradients."""

    def __init__(self, card: ControlFlow) -> None:
        self.card = card
        self.calls = [
            _core.Call(g.operator, g.operator.name, False, len(g.heads)) for g in card.subgraphs
        ]
        self.places = [places for _, places in card.readings()]
        self.recorded = False
        self.trained = False
        self.values: Arrays = []
        self.grads: list[NDArray | None] = []
        self.steps: list[Arrays] = []

    # -- forward -------------------------------------------------------------------------------

    def forward(self, run: Run) -> None:
        """Runs the graphs, and keeps what the gradient needs in training."""
        self._start(run.in_data, run.is_train, run.is_train)
        self._run(run.out_data, run.req)
        if run.is_train:
            self._give_states(run.in_data)

    def _give_states(self, inputs: Arrays) -> None:
        """Writes what the graphs changed to where it came from."""
        for place in self.card.changed:
            inputs[place][:] = self.values[place]

    def _start(self, inputs: Arrays, record: bool, trained: bool) -> None:
        """Makes variables of the inputs."""
        self.recorded, self.trained, self.steps = record, trained, []
        self.grads = [None] * len(inputs)
        if not record:
            self.values = list(inputs)
            return
        # Copies, as the memory may have other contents when the backward pass comes.
        self.values = [a.copy() for a in inputs]
        for place, value in enumerate(self.values):
            if value.dtype_name in FLOATS and place not in self.card.changed:
                self.grads[place] = value.zeros_like()
        for place in self._shared():
            grad = self.grads[place]
            if grad is not None:
                mark(self.values[place], grad, "add")

    def _shared(self) -> Sequence[int]:
        """The places of inputs that are the same in every step."""
        raise NotImplementedError

    def _run(self, out_data: Arrays | None, req: Sequence[str]) -> None:
        """Runs the steps; the outputs go to `out_data`, if it is given."""
        raise NotImplementedError

    def _call(self, graph: int, inputs: Arrays) -> Arrays:
        """The outputs of a graph, recorded if the run is."""
        modes = _core.set_recording(self.recorded), _core.set_training(self.trained)
        try:
            found = self.calls[graph]([a.handle for a in inputs], [])
        finally:
            _core.set_recording(modes[0])
            _core.set_training(modes[1])
        return [NDArray(a) for a in found]

    def _is_true(self, value: NDArray) -> bool:
        """What a condition gave, which is one number."""
        if value.size != 1:
            raise self.card.unfit(
                f"the condition must be one number, got an array of shape {value.shape}"
            )
        return bool(value.asnumpy().reshape(()))

    # -- backward ------------------------------------------------------------------------------

    def backward(self, run: Run) -> None:
        """Goes back through the steps."""
        if not self.recorded:
            self._start(run.in_data, True, False)
            self._run(None, ())
        for place in self._shared():
            grad = self.grads[place]
            if grad is not None:
                grad[:] = 0
        for place in self.card.changed:
            self.values[place][:] = run.in_data[place]
        self._back(run.out_grad)
        if self.trained:
            self._give_states(run.in_data)
        for target, req, grad in zip(run.in_grad, run.req, self.grads, strict=True):
            if grad is not None:
                put(target, req, grad)
            elif req in ("write", "inplace"):
                target[:] = 0

    def _back(self, out_grad: Arrays) -> None:
        """Has the gradients of all inputs written."""
        raise NotImplementedError

    def _back_step(self, heads: Arrays, seeds: Sequence[NDArray | None]) -> None:
        """Goes back through one step."""
        pairs = [
            (head, seed)
            for head, seed in zip(heads, seeds, strict=True)
            if seed is not None and head.handle.is_recorded
        ]
        if pairs:
            backward([h for h, _ in pairs], [s for _, s in pairs], True, self.trained)


class _Loop(_Runner):
    """Steps that hand states on."""

    def __init__(self, card: Any) -> None:
        super().__init__(card)
        body = self.places[-1]
        self.state_places = [body[place] for place in card.state_places]
        self.sliced = list(card.sliced())
        self.joined: int = card.attrs["num_out_data"]
        # Gradients of states, of this step and the next.
        self.state_grads: list[list[NDArray | None]] = []

    def _shared(self) -> Sequence[int]:
        apart = {*self.state_places, *self.sliced}
        return [place for place in range(self.card.input_count) if place not in apart]

    def _goes_on(self, step: int, states: Arrays) -> bool:
        """Whether there is another step."""
        raise NotImplementedError

    def _given(self, graph: int, states: Arrays, step: int) -> Arrays:
        """The inputs of a graph in a step."""
        values = list(self.values)
        for place, state in zip(self.state_places, states, strict=True):
            values[place] = state
        for place in self.sliced:
            values[place] = self._row(place, step)
        return [values[place] for place in self.places[graph]]

    def _row(self, place: int, step: int) -> NDArray:
        """A step's row of the data, a variable in a run that is recorded."""
        row, grads = self.values[place][step], self.grads[place]
        if grads is not None:
            mark(row, grads[step], "write")
        return row

    def _run(self, out_data: Arrays | None, req: Sequence[str]) -> None:
        states = [self.values[place] for place in self.state_places]
        grads = [self.grads[place] for place in self.state_places]
        self.state_grads = [
            [None if g is None else g.zeros_like() for g in grads] for _ in range(2)
        ]
        step = 0
        while self._goes_on(step, states):
            if self.recorded:
                states = [s.detach() for s in states]
                for state, grad in zip(states, self.state_grads[step % 2], strict=True):
                    if grad is not None:
                        mark(state, grad, "write")
            found = self._call(-1, self._given(-1, states, step))
            if self.recorded:
                self.steps.append(found)
            if out_data is not None:
                for i in range(self.joined):
                    put_row(out_data[i], step, req[i], found[i])
            states = found[self.joined :]
            step += 1
        if out_data is not None:
            for i in range(self.joined):
                if req[i] in ("write", "inplace") and step < out_data[i].shape[0]:
                    out_data[i][step:] = 0
            for i, state in enumerate(states, self.joined):
                put(out_data[i], req[i], state)

    def _back(self, out_grad: Arrays) -> None:
        seeds: list[NDArray | None] = list(out_grad[self.joined :])
        for step in reversed(range(len(self.steps))):
            for grad in self.state_grads[step % 2]:
                if grad is not None:
                    grad[:] = 0
            rows = [grad[step] for grad in out_grad[: self.joined]]
            self._back_step(self.steps[step], [*rows, *seeds])
            seeds = list(self.state_grads[step % 2])
        for place, seed in zip(self.state_places, seeds, strict=True):
            if self.grads[place] is not None:
                self.grads[place] = seed


class _ForEach(_Loop):
    """A step for each row of the data."""

    def _goes_on(self, step: int, states: Arrays) -> bool:
        return step < self.values[self.sliced[0]].shape[0]


class _WhileLoop(_Loop):
    """Steps as long as the condition says so."""

    def _goes_on(self, step: int, states: Arrays) -> bool:
        if step >= self.card.attrs["max_iterations"]:
            return False
        recorded, self.recorded = self.recorded, False
        try:
            return self._is_true(self._call(0, self._given(0, states, step))[0])
        finally:
            self.recorded = recorded


class _Cond(_Runner):
    """One step, of the branch that the condition chooses."""

    def _shared(self) -> Sequence[int]:
        return range(self.card.input_count)

    def _branch(self, graph: int) -> Arrays:
        return self._call(graph, [self.values[place] for place in self.places[graph]])

    def _run(self, out_data: Arrays | None, req: Sequence[str]) -> None:
        recorded, self.recorded = self.recorded, False
        try:
            chosen = 1 if self._is_true(self._branch(0)[0]) else 2
        finally:
            self.recorded = recorded
        found = self._branch(chosen)
        if self.recorded:
            self.steps.append(found)
        if out_data is not None:
            for target, request, value in zip(out_data, req, found, strict=False):
                put(target, request, value)

    def _back(self, out_grad: Arrays) -> None:
        self._back_step(self.steps[0], out_grad)


def put(target: NDArray, req: str, value: NDArray) -> None:
    """Writes, or adds, as a request says."""
    if req == "add":
        target += value
    elif req != "null":
        target[:] = value


def put_row(target: NDArray, row: int, req: str, value: NDArray) -> None:
    """As :func:`put`, to one row."""
    if req != "null":
        put(target[row], req, value)


run_by({ForEach.name: _ForEach, WhileLoop.name: _WhileLoop, Cond.name: _Cond})

"""Sizes of recurrent networks, and where numbers of a layer are, as kernels for GPUs want them."""

from __future__ import annotations

import struct as packing
from collections.abc import Callable
from dataclasses import dataclass

from ..recipe import (
    WRITE,
    Arg,
    Job,
    Launch,
    Recipe,
    Step,
    behind,
    req,
)
from ..recipe_folds import flat_walk, packed_walk
from ..recipe_indices import OUTSIDE, places
from ..recipe_room import Room
from .dot import Operand, product
from .gemm import WIDTH

__all__ = ["GATES", "GRU", "LSTM", "Net", "Plan", "planned"]

LSTM, GRU = "lstm", "gru"
GATES = {"rnn_relu": 1, "rnn_tanh": 1, LSTM: 4, GRU: 3}
CELL_ROWS, CELL_UNITS = 32, 8
"""Rows and units of a block, as ``include/cells.cuh`` has them."""


@dataclass(frozen=True)
class Weights:
    """Where the parameters of a layer and direction begin."""

    input: int
    state: int
    projection: int
    bias: int


class Net:
    """A network's sizes, for data of ``(steps, batch, features)``.

    Parameters and what is kept for the gradient lie as ``rust/kernels/src/ops/nn/rnn/net.rs`` says.
    """

    def __init__(self, job: Job, data: int) -> None:
        attrs = job.attrs
        self.steps, self.batch, self.features = job.inputs[data][0]
        self.mode, self.hidden = attrs["mode"], attrs["state_size"]
        self.layers, self.directions = attrs["num_layers"], 1 + attrs["bidirectional"]
        self.projects = attrs.get("projection_size") is not None
        self.out = attrs["projection_size"] if self.projects else self.hidden
        self.wide, self.across = GATES[self.mode] * self.hidden, self.directions * self.out
        self.rows = self.steps * self.batch
        self.factors = attrs["p"] > 0 and self.layers > 1
        low, high = (attrs.get(f"lstm_state_clip_{end}") for end in ("min", "max"))
        bounded = self.mode == LSTM and low is not None and high is not None
        self.bounds = (float(low or 0), float(high or 0)) if bounded else (0.0, 0.0)
        self.clipped = (1 + attrs["lstm_state_clip_nan"]) if bounded else 0

    @property
    def entry(self) -> str:
        """The mode, as entry points name it."""
        return self.mode.removeprefix("rnn_")

    def width(self, layer: int) -> int:
        """Numbers of a layer's input."""
        return self.across if layer else self.features

    def _weights_before(self, layer: int) -> int:
        return sum(self.directions * self._weights(below) for below in range(layer))

    def _weights(self, layer: int) -> int:
        return self.wide * (self.width(layer) + self.out) + self.projects * self.out * self.hidden

    def weights(self, layer: int, d: int) -> Weights:
        """All weights come first, then all biases."""
        first = self._weights_before(layer) + d * self._weights(layer)
        state = first + self.wide * self.width(layer)
        bias = self._weights_before(self.layers)
        bias += (layer * self.directions + d) * 2 * self.wide
        return Weights(first, state, state + self.wide * self.out, bias)

    def kept_cell(self) -> tuple[int, int, int]:
        """Numbers that a layer keeps of each direction: gates, those and the further ones, all."""
        gates = self.rows * self.wide
        more = gates + (self.mode in (LSTM, GRU)) * self.rows * self.hidden
        return gates, more, more + self.projects * self.rows * self.hidden

    def kept_outputs(self, layer: int) -> int:
        """Where the outputs of a layer that is not the last are kept; factors are behind them."""
        cells = self.layers * self.directions * self.kept_cell()[2]
        return cells + layer * self.rows * self.across * (1 + self.factors)

    def of_layer(self, layer: int, seen: int) -> Arg:
        """An ``fm::Net``; `seen` is where the outputs of the layer begin in their array."""
        own, (gates, more, cell) = self.weights(layer, 0), self.kept_cell()
        sizes = self.steps, self.batch, self.hidden, self.out, self.directions
        places = own.state, own.projection, own.bias, self._weights(layer)
        kept = layer * self.directions * cell, gates, more, cell
        numbers = *sizes, *places, *kept, seen, self.projects, self.clipped
        return "bytes", packing.pack("=16q2d", *numbers, *self.bounds)


class Plan:
    """Launches in order, and temporary memory, of which products share the first bytes."""

    def __init__(self, job: Job, shared: int) -> None:
        self.job, self.dtype = job, job.inputs[0][1]
        self.launches: list[Step] = []
        self.shared, self.room = 0, Room()
        self.room.bytes = shared
        self.refusals: tuple[tuple[str, str], ...] = ()

    def take(self, count: int) -> Arg:
        """Temporary memory for so many elements."""
        return self.room.take(count, self.bytes(1))

    def bytes(self, count: int) -> int:
        """Those of so many elements."""
        return count * WIDTH[self.dtype]

    def at(self, array: Arg, place: int) -> Arg:
        """The address of an element."""
        return behind(array, self.bytes(place))

    def lengths(self, number: int, steps: int) -> Arg:
        """An input, as int64; no length is more than `steps`."""
        found = self.room.take(self.job.inputs[number][0][0], 8)
        given = [steps + 1], OUTSIDE["raise"]
        self.launches.append(places(self.job, number, *given, refused=True, to=found))
        text = f"must be from 0 to {steps}, the steps of the data, got {{}}"
        self.refusals = (("value", f"RNN: sequence_length of a sequence {text}"),)
        return found

    def product(
        self, a: Operand, b: Operand, to: Arg, number: int | None = None, adds: bool = False
    ) -> None:
        """A product for a place, by the request for an output if one is given."""
        launches, shared = product(self.job, a, b, number, to=to, adds=adds)
        self.add(launches, shared)

    def add(self, launches: list[Step], shared: int = 0) -> None:
        """Launches that use the first bytes of the temporary memory."""
        self.launches += launches
        self.shared = max(self.shared, -(-shared // 256) * 256)

    def copy(self, source: Arg, to: Arg, count: int, number: int) -> None:
        """Elements to an output, by its request."""
        given = source, to, flat_walk(count), req(number)
        self.launches.append(
            self.job.spread("elemwise", f"elemwise_copy_{self.dtype}", count, *given)
        )

    def multiply(self, a: Arg, b: Arg, to: Arg, count: int) -> None:
        """Products of elements; `to` may be one of the factors."""
        layout = packed_walk((count,), [1], [1], [1])
        assert layout is not None, "one axis is not too many"
        given = a, b, to, layout, WRITE
        self.launches.append(self.job.spread("binary", f"binary_mul_{self.dtype}", count, *given))

    def cells(self, stem: str, word: str, net: Net, units: int, *args: Arg) -> None:
        """A thread for each row, unit and direction."""
        blocks = -(-net.batch // CELL_ROWS) * -(-units // CELL_UNITS)
        if blocks:
            entry, block = f"{stem}_{word}_{self.dtype}", (CELL_ROWS * CELL_UNITS, 1, 1)
            self.launches.append(Launch(stem, entry, (blocks, 1, net.directions), block, args))


def planned(job: Job, make: Callable[[Plan], None]) -> Recipe:
    """The recipe that `make` plans, once to see how much products share, and once behind that."""
    first = Plan(job, 0)
    make(first)
    plan = Plan(job, first.shared)
    make(plan)
    return Recipe(tuple(plan.launches), plan.room.bytes, refusals=plan.refusals)

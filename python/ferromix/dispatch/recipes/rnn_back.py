"""Recipes of the gradients of recurrent networks."""

from __future__ import annotations

from ..recipe import (
    WRITE,
    Arg,
    Job,
    Recipe,
    float64,
    input_at,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_folds import fold
from .dot import Operand
from .recurrent import GRU, LSTM, Net, Plan, planned

__all__: list[str] = []


@recipe("_backward_RNN")
def rnn(job: Job) -> Recipe | None:
    """For each layer from the last its steps back, and then products of all of them."""
    states = 1 + (job.attrs["mode"] == LSTM)
    heads = 1 + job.attrs["state_outputs"] * states
    net = Net(job, heads)
    return planned(job, lambda plan: Backward(plan, net, heads, states).run())


class Backward:
    """Where everything is, and the launches."""

    def __init__(self, plan: Plan, net: Net, heads: int, states: int) -> None:
        self.plan, self.net, self.heads = plan, net, heads
        ends = plan.job.attrs["use_sequence_length"]
        self.data, self.parameters, self.state = (input_at(heads + i) for i in range(3))
        self.cell = input_at(heads + 3) if states == 2 else nothing()
        self.output, self.kept = (input_at(heads + 2 + states + ends + i) for i in range(2))
        self.lengths = plan.lengths(heads + 2 + states, net.steps) if ends else nothing()
        d, rows, batch = net.directions, net.rows, net.batch
        self.sums = plan.take(d * rows * net.wide)
        self.gates = plan.take(d * rows * net.wide) if net.mode == GRU else self.sums
        self.projected = plan.take(d * rows * net.out) if net.projects else nothing()
        self.old = plan.take(d * rows * net.out)
        self.states, self.cells = plan.take(d * batch * net.out), plan.take(d * batch * net.hidden)
        self.flow = plan.take(rows * max(net.across, net.features))
        self.dropped = plan.take(rows * net.across) if net.factors else nothing()

    def run(self) -> None:
        """All layers."""
        for layer in reversed(range(self.net.layers)):
            self.steps(layer)
            self.first_states(layer)
            self.of_parameters(layer)
            self.of_inputs(layer)

    def outputs_of(self, layer: int) -> Arg:
        """What forward gave."""
        if layer + 1 == self.net.layers:
            return self.output
        return self.plan.at(self.kept, self.net.kept_outputs(layer))

    def head(self, layer: int, number: int) -> Arg:
        """The gradient of the last states of a layer."""
        if number >= self.heads:
            return nothing()
        units = self.net.out if number == 1 else self.net.hidden
        return self.plan.at(input_at(number), layer * self.net.directions * self.net.batch * units)

    def back(self, layer: int, grads: tuple[Arg, Arg, int], *flow: Arg) -> Arg:
        """An ``fm::Back``.

        Parameters
        ----------
        grads
            Gradients that weights multiply, what gets those of projected outputs, or nothing, and
            the number of their step; the weights are the projection's where both are one.
        flow
            The gradients of the states and cell states after the step, and of the outputs.
        """
        plan, net = self.plan, self.net
        first = layer * net.directions * net.batch
        cell = plan.at(self.cell, first * net.hidden) if net.mode == LSTM else nothing()
        given = self.kept, self.outputs_of(layer), plan.at(self.state, first * net.out), cell
        weights, (taken, projected, step) = net.weights(layer, 0), grads
        own = net.projects and taken == projected
        place = (weights.projection, net.out) if own else (weights.state, net.wide)
        states, cells, outputs = flow
        moves = taken, states, self.states, cells, self.cells, outputs
        to = self.sums, self.gates, projected
        return struct(*moves, *given, *to, *map(int64, (*place, step)))

    def steps(self, layer: int) -> None:
        """The steps back, which give the gradients of all gates' sums."""
        plan, net, none = self.plan, self.net, nothing()
        sizes = net.of_layer(layer, 0)
        outputs = input_at(0) if layer + 1 == net.layers else self.flow
        grads, states, cells = none, self.head(layer, 1), self.head(layer, 2)
        for s in reversed(range(net.steps)):
            back = self.back(layer, (grads, self.projected, s + 1), states, cells, outputs)
            if net.projects:
                given = sizes, int64(s), self.parameters, back, self.states, WRITE
                plan.cells("rnn_back", "carry", net, net.out, *given, self.lengths)
                back = self.back(layer, (self.projected, self.projected, s), none, cells, none)
            given = sizes, int64(s), self.parameters, back, self.lengths
            plan.cells("rnn_back", net.entry, net, net.hidden, *given)
            grads, states, cells = self.gates, self.states, self.cells

    def first_states(self, layer: int) -> None:
        """The gradients of the states that the steps began with."""
        plan, net, none = self.plan, self.net, nothing()
        grads, states, cells = self.gates, self.states, self.cells
        if not net.steps:
            grads, states, cells = none, self.head(layer, 1), self.head(layer, 2)
        back = self.back(layer, (grads, none, 0), states, none, none)
        of_layer = net.directions * net.batch
        to = plan.at(output_at(2), layer * of_layer * net.out), req(2), self.lengths
        given = net.of_layer(layer, 0), int64(0), self.parameters, back, *to
        plan.cells("rnn_back", "carry", net, net.out, *given)
        if net.mode != LSTM:
            return
        count = of_layer * net.hidden
        cell = plan.at(output_at(3), layer * count)
        if cells != none:
            plan.copy(cells, cell, count, 3)
            return
        given = cell, int64(count), float64(0), req(3)
        plan.add([plan.job.spread("init", f"init_full_{plan.dtype}", count, *given)])

    def of_parameters(self, layer: int) -> None:
        """The gradients of a layer's parameters: products of all steps, and sums for the biases."""
        plan, net = self.plan, self.net
        x, rows, first = (
            self.input_of(layer),
            net.rows,
            layer * net.directions * net.batch * net.out,
        )
        given = self.outputs_of(layer), plan.at(self.state, first), self.lengths, self.old
        sizes, count = net.of_layer(layer, 0), net.directions * rows * net.out
        entry = f"rnn_back_history_{plan.dtype}"
        plan.add([plan.job.spread("rnn_back", entry, count, sizes, *given)])
        for d in range(net.directions):
            own, bias = net.weights(layer, d), net.weights(layer, d).bias
            sums, gates = (plan.at(a, d * rows * net.wide) for a in (self.sums, self.gates))
            old = Operand(plan.at(self.old, d * rows * net.out), rows, net.out)
            self.product(sums, net.wide, Operand(x, rows, net.width(layer)), own.input)
            self.product(gates, net.wide, old, own.state)
            self.sum(sums, bias)
            self.sum(gates, bias + net.wide)
            if net.projects:
                projected = plan.at(self.projected, d * rows * net.out)
                cell = net.kept_cell()
                at = (layer * net.directions + d) * cell[2] + cell[1]
                from_here = Operand(plan.at(self.kept, at), rows, net.hidden)
                self.product(projected, net.out, from_here, own.projection)

    def product(self, grads: Arg, wide: int, x: Operand, place: int) -> None:
        """The gradient of weights, at a place among the parameters."""
        turned = Operand(grads, wide, self.net.rows, flip=True)
        self.plan.product(turned, x, self.plan.at(output_at(1), place), 1)

    def sum(self, grads: Arg, place: int) -> None:
        """The gradient of biases."""
        plan, shape = self.plan, (self.net.rows, self.net.wide)
        to, entry = plan.at(output_at(1), place), f"reduce_sum_{plan.dtype}"
        found = fold(plan.job, "reduce", entry, shape, [True, False], 1, grads, to)
        assert found is not None, "two axes are not too many"
        plan.add(list(found.launches), found.temporary)

    def input_of(self, layer: int) -> Arg:
        """What a layer's weights were multiplied by."""
        plan, net = self.plan, self.net
        if layer == 0:
            return self.data
        outputs, count = self.outputs_of(layer - 1), net.rows * net.across
        if not net.factors:
            return outputs
        plan.multiply(outputs, plan.at(outputs, count), self.dropped, count)
        return self.dropped

    def of_inputs(self, layer: int) -> None:
        """The gradient of a layer's input: of the data, or of the outputs of the layer below."""
        plan, net = self.plan, self.net
        width, alone = net.width(layer), layer == 0 and net.directions == 1
        to, number = (output_at(0), 0) if alone else (self.flow, None)
        for d in range(net.directions):
            sums = Operand(plan.at(self.sums, d * net.rows * net.wide), net.rows, net.wide)
            weight = plan.at(self.parameters, net.weights(layer, d).input)
            plan.product(sums, Operand(weight, net.wide, width), to, number, adds=d > 0)
        if layer == 0 and not alone:
            plan.copy(self.flow, output_at(0), net.rows * width, 0)
        if layer > 0 and net.factors:
            count = net.rows * width
            factors = plan.at(self.outputs_of(layer - 1), count)
            plan.multiply(self.flow, factors, self.flow, count)

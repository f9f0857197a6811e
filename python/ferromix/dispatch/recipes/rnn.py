"""Recipes of recurrent networks."""

from __future__ import annotations

from ..recipe import (
    Arg,
    Job,
    Recipe,
    draws,
    input_at,
    int32,
    int64,
    nothing,
    output_at,
    recipe,
    req,
    struct,
)
from ..recipe_folds import words
from .dot import Operand
from .dropout import coin
from .recurrent import LSTM, Net, Plan, planned

__all__: list[str] = []


@recipe("RNN")
def rnn(job: Job) -> Recipe | None:
    """For each layer the products of all its inputs, and then its steps."""
    net = Net(job, 0)
    return planned(job, lambda plan: network(plan, net))


def network(plan: Plan, net: Net) -> None:
    """All layers."""
    ends = plan.job.attrs["use_sequence_length"]
    lengths = plan.lengths(3 + (net.mode == LSTM), net.steps) if ends else nothing()
    sums = plan.take(net.directions * net.rows * net.wide)
    outputs = [plan.take(net.rows * net.across) for _ in range(min(2, net.layers - 1))]
    steps = Steps(plan, net, lengths, sums)
    x = input_at(0)
    for layer in range(net.layers):
        last = layer + 1 == net.layers
        for d in range(net.directions):
            weight = plan.at(input_at(1), net.weights(layer, d).input)
            width = net.width(layer)
            factors = Operand(x, net.rows, width), Operand(weight, width, net.wide, flip=True)
            plan.product(*factors, plan.at(sums, d * net.rows * net.wide))
        steps.run(layer, nothing() if last else outputs[layer % 2])
        if not last:
            x = outputs[layer % 2]
            if net.factors:
                drop(plan, net, layer, x)


def drop(plan: Plan, net: Net, layer: int, outputs: Arg) -> None:
    """Factors of a layer's outputs, which are 1 outside of training."""
    job, count = plan.job, net.rows * net.across
    hidden, at = len(job.outputs) - 1, net.kept_outputs(layer) + count
    first, tosses = layer * -(-count // 4) * 4, bool(job.attrs["__is_train__"])
    kept = output_at(hidden), req(hidden), int64(at), int64(count), int64(first)
    toss = coin(float(job.attrs["p"])), int32(tosses), draws() if tosses else words(0, 0)
    entry = f"rnn_drop_{plan.dtype}"
    plan.add([job.spread("rnn", entry, count, outputs, *kept, *toss)])


class Steps:
    """Temporary memory of steps, and their launches."""

    def __init__(self, plan: Plan, net: Net, lengths: Arg, sums: Arg) -> None:
        self.plan, self.net, self.lengths, self.sums = plan, net, lengths, sums
        of_layer = net.directions * net.batch
        self.states = [plan.take(of_layer * net.out) for _ in range(2)]
        self.cells = plan.take(of_layer * net.hidden)
        self.unprojected = plan.take(of_layer * net.hidden) if net.projects else nothing()

    def first(self, layer: int) -> tuple[Arg, Arg]:
        """The states that a layer begins with."""
        plan, net = self.plan, self.net
        number = layer * net.directions * net.batch
        cells = plan.at(input_at(3), number * net.hidden) if net.mode == LSTM else nothing()
        return plan.at(input_at(2), number * net.out), cells

    def run(self, layer: int, outputs: Arg) -> None:
        """The steps of a layer; its outputs are also left where another layer finds them."""
        plan, net = self.plan, self.net
        last, hidden = layer + 1 == net.layers, len(plan.job.outputs) - 1
        sizes = net.of_layer(layer, 0 if last else net.kept_outputs(layer))
        seen = 0 if last else hidden
        old, cells = self.first(layer)
        for s in range(net.steps):
            fresh = self.states[s % 2]
            memory = old, fresh, cells, self.cells, self.unprojected
            to = output_at(hidden), output_at(seen), outputs, req(hidden), req(seen)
            states = struct(*memory, *to)
            given = sizes, int64(s), self.sums, input_at(1), states, self.lengths
            plan.cells("rnn", f"step_{net.entry}", net, net.hidden, *given)
            if net.projects:
                given = sizes, int64(s), input_at(1), states, self.lengths
                plan.cells("rnn", "project", net, net.out, *given)
            old, cells = fresh, self.cells
        if plan.job.attrs["state_outputs"]:
            self.put(layer, 1, old, net.out)
            if net.mode == LSTM:
                self.put(layer, 2, cells, net.hidden)

    def put(self, layer: int, number: int, states: Arg, units: int) -> None:
        """Last states, as outputs."""
        count = self.net.directions * self.net.batch * units
        to = self.plan.at(output_at(number), layer * count)
        self.plan.copy(states, to, count, number)

"""Runs operators on arrays of the core, without symbols or executors."""

import numpy as np

import ferromix as mx
from ferromix.dispatch import cpu
from ferromix.ndarray import NDArray
from ferromix.ops.card import make

NULL, WRITE, INPLACE, ADD = range(4)


def to_array(values, dtype):
    """A new array of the core."""
    return mx.nd.array(np.asarray(values), dtype=dtype).handle


def to_numpy(array):
    """The values as float64, or as they are where they are no reals."""
    values = NDArray(array).asnumpy()
    return values.astype("float64") if values.dtype.kind == "f" else values


def forward(case, arrays):
    """All outputs of a case, hidden ones included."""
    return cpu.invoke(case.card, arrays, None, case.train)


class Graph:
    """A graph whose nodes run at once, for gradient rules; `calls` keeps what was run."""

    def __init__(self, case, in_data, out_data, out_grad):
        self.in_data, self.out_data, self.out_grad = in_data, out_data, out_grad
        self.train = case.train
        self.calls = []

    def op(self, name, *inputs, **attrs):
        """Runs the operator `name` and returns all its outputs."""
        card = make(name, attrs)
        outputs = cpu.invoke(card, inputs, None, self.train)
        self.calls.append((card, list(inputs)))
        return outputs


def backward(case, arrays, heads):
    """The gradients of the arguments by the card's rule, and the graph that computed them."""
    outputs = forward(case, arrays)
    graph = Graph(case, arrays, outputs, heads)
    return case.card.gradient(graph), graph


def second_order(case, calls):
    """What the gradients of the hidden operators among `calls` run: cards with their inputs."""
    for card, inputs in calls:
        if card.hidden and card.differentiable:
            outputs = cpu.invoke(card, inputs, None, case.train)
            graph = Graph(case, inputs, outputs, outputs)
            card.gradient(graph)
            yield from graph.calls


class Call:
    """One run of a card with requests of its own; random numbers start over for each run."""

    def __init__(self, card, inputs, train):
        self.card, self.inputs, self.train = card, inputs, train
        self.descs = tuple((a.shape, a.dtype) for a in inputs)
        self.outs = cpu.infer(card, self.descs)

    def run(self, reqs, presets=None, shared=None):
        """Values of the outputs, states included, after a run.

        `presets` are what outputs hold before; `shared` is a pair (input, output) that is one
        array.
        """
        inputs = [copy(a) for a in self.inputs]
        outputs = [mx.nd.zeros(s, dtype=t).handle for s, t in self.outs]
        if presets is not None:
            outputs = [copy(p) for p in presets]
        if shared is not None:
            outputs[shared[1]] = inputs[shared[0]].reshape(outputs[shared[1]].shape)
        states = [inputs[i] for i in self.card.mutated_inputs()]
        changes = INPLACE if cpu.changes_states(self.card, self.train) else NULL
        prepared = cpu.prepare(self.card, self.descs, self.outs, self.train)
        mx.random.seed(3)
        prepared.invoke(inputs, [*outputs, *states], [*reqs, *[changes] * len(states)])
        return [NDArray(o).asnumpy() for o in (*outputs, *states)]


def copy(array):
    """A new array with the same contents."""
    return NDArray(array).copy().handle

"""Runs operators on arrays of the core, without symbols or executors."""

from types import SimpleNamespace

import numpy as np

import ferromix as mx
from ferromix import dispatch
from ferromix.ndarray import NDArray
from ferromix.ops.card import make
from ferromix.ops.composed import Composed

NULL, WRITE, INPLACE, ADD = range(4)


def to_array(values, dtype):
    """A new array of the core."""
    return mx.nd.array(np.asarray(values), dtype=dtype).handle


def to_arrays(case, inputs, dtype, make=to_array):
    """New arrays for the inputs of a case where `dtype` is tried."""
    return [make(x, t) for x, t in zip(inputs, case.input_types(dtype), strict=True)]


def to_numpy(array):
    """The values as float64, or as they are where they are no reals."""
    values = NDArray(array).asnumpy()
    return values.astype("float64") if values.dtype.kind == "f" else values


def forward(case, arrays):
    """All outputs of a case, hidden ones included."""
    return dispatch.invoke(case.card, arrays, None, case.train)


class Graph:
    """A graph whose nodes run at once, for gradient rules; `calls` keeps what was run."""

    def __init__(self, case, in_data, out_data, out_grad):
        self.in_data, self.out_data, self.out_grad = in_data, out_data, out_grad
        self.train = case.train
        self.calls = []

    def op(self, name, *inputs, **attrs):
        """Runs the operator `name` and returns all its outputs."""
        card = make(name, attrs)
        outputs = dispatch.invoke(card, inputs, None, self.train)
        self.calls.append((card, list(inputs)))
        return outputs


def backward(case, arrays, heads):
    """The gradients of the arguments by the card's rule, and the graph that computed them."""
    if isinstance(case.card, Composed):
        return _through_parts(case, arrays, heads)
    outputs = forward(case, arrays)
    graph = Graph(case, arrays, outputs, heads)
    return case.card.gradient(graph), graph


def parts(card, arrays, train):
    """The kernels that a run of a card consists of, with their inputs."""
    if not isinstance(card, Composed):
        yield card, arrays
        return
    values = dict(enumerate(arrays))
    for part in card.composition.parts:
        inputs = [values[i] for i in part.inputs]
        values.update(
            zip(part.outputs, dispatch.invoke(part.card, inputs, None, train), strict=True)
        )
        yield from parts(part.card, inputs, train)


def kernel_rows(card):
    """The rows of the kernel table that a card runs."""
    if not isinstance(card, Composed):
        return {card.kernel_name()}
    return {row for part in card.composition.parts for row in kernel_rows(part.card)}


def _through_parts(case, arrays, heads):
    """The gradients of a composed operator: the rules of its parts from the last to the first."""
    made, values = case.card.composition, dict(enumerate(arrays))
    whole = Graph(case, arrays, (), heads)
    for part in made.parts:
        outputs = dispatch.invoke(part.card, [values[i] for i in part.inputs], None, case.train)
        values.update(zip(part.outputs, outputs, strict=True))
    found = dict(zip(made.outputs, heads, strict=True))
    for part in reversed(made.parts):
        visible = part.outputs[: part.card.num_visible_outputs()]
        reached = any(o in found for o in visible) or not part.card.needs_out_grad()
        if not (part.card.differentiable and reached):
            continue
        given = [found[o] if o in found else whole.op("zeros_like", values[o])[0] for o in visible]
        own = SimpleNamespace(card=part.card, train=case.train)
        gradients, graph = backward(own, [values[i] for i in part.inputs], given)
        whole.calls += graph.calls
        for i, gradient in zip(part.inputs, gradients, strict=True):
            if gradient is not None:
                summed = [found[i], gradient] if i in found else [gradient]
                found[i] = whole.op("add_n", *summed, num_args=len(summed))[0]
    return [found.get(i) for i in range(len(arrays))], whole


def second_order(case, calls):
    """What the gradients of the hidden operators among `calls` run: cards with their inputs."""
    for card, inputs in calls:
        if card.hidden and card.differentiable:
            outputs = dispatch.invoke(card, inputs, None, case.train)
            graph = Graph(case, inputs, outputs, outputs)
            card.gradient(graph)
            yield from graph.calls


class Call:
    """One run of a card with requests of its own; random numbers start over for each run."""

    def __init__(self, card, inputs, train):
        self.card, self.inputs, self.train = card, inputs, train
        self.descs = tuple((a.shape, a.dtype) for a in inputs)
        self.outs = dispatch.infer(card, self.descs)

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
        changes = dispatch.state_request(self.card, self.train)
        device = dispatch.device_of(mx.current_context())
        prepared = dispatch.prepare(self.card, self.descs, self.outs, self.train, device)
        mx.random.seed(3)
        prepared.invoke(inputs, [*outputs, *states], [*reqs, *[changes] * len(states)])
        return [NDArray(o).asnumpy() for o in (*outputs, *states)]


def copy(array):
    """A new array with the same contents."""
    return NDArray(array).copy().handle

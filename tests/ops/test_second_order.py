"""Gradients of gradients against finite differences of the gradients."""

import numpy as np

from ferromix import dispatch
from ferromix.graph.compose import expand
from ferromix.graph.gradient import differentiate
from ferromix.graph.node import Entry, Node, topological

from .by_operator import by_operator
from .run import to_array, to_arrays, to_numpy
from .table import CASES
from .tolerance import FINITE_DIFFERENCES

STEP = 1e-5


def evaluate(entries, values, train):
    """The values of entries of a graph whose variables have the arrays `values`."""
    found = {Entry(node, 0): array for node, array in values.items()}
    for node in topological(entries):
        if node.op is not None:
            outputs = dispatch.invoke(node.op, [found[e] for e in node.inputs], None, train)
            found |= {Entry(node, i): o for i, o in enumerate(outputs)}
    return [found[e] for e in entries]


class Twice:
    """The gradients of a case, and the gradients of those along random directions."""

    def __init__(self, case):
        self.case = case
        self.inputs = case.inputs("float64")
        self.train = case.train
        names = (*case.card.list_arguments(), *case.card.list_auxiliary_states())
        self.variables = [Node(None, name) for name in names]
        node = Node(case.card, "node", [Entry(v, 0) for v in self.variables])
        graph = expand(node.outputs())
        outputs = [graph[Entry(node, i)] for i in range(case.heads)]
        arguments = self.variables[: len(case.card.list_arguments())]
        first = differentiate(outputs, arguments)
        self.seeds = [seed for seed in first.head_grads if seed is not None]
        self.grads = [e for e in first.entries if e is not None]
        random = np.random.default_rng(3)
        shapes = [o.shape for o in evaluate(outputs, self._arrays(self.inputs, []), self.train)]
        wanted = [s for s, seed in zip(shapes, first.head_grads, strict=True) if seed is not None]
        self.heads = [random.standard_normal(s) for s in wanted]
        self.wanted = [*arguments, *self.seeds]
        self.second = differentiate(self.grads, self.wanted)
        self.along = [random.standard_normal(g.shape) for g in self.gradients(self.point())]
        self.random = random

    def point(self):
        return [*self.inputs, *self.heads]

    def gradients(self, point):
        """The first gradients at a point."""
        count = len(self.variables)
        values = self._arrays(point[:count], point[count:])
        return [to_numpy(g) for g in evaluate(self.grads, values, self.train)]

    def seconds(self):
        """The gradients of the first ones, weighted, by every variable and every head."""
        values = self._arrays(self.inputs, self.heads)
        for seed, along in zip(self.second.head_grads, self.along, strict=True):
            if seed is not None:
                values[seed] = to_array(along, "float64")
        known = [e for e in self.second.entries if e is not None]
        found = iter(evaluate(known, values, self.train))
        return [None if e is None else to_numpy(next(found)) for e in self.second.entries]

    def _arrays(self, inputs, heads):
        arrays = to_arrays(self.case, inputs, "float64")
        arrays += [to_array(head, "float64") for head in heads]
        return dict(zip((*self.variables, *self.seeds), arrays, strict=False))


def is_smooth(case):
    plain = case.card.differentiable and case.gradient is None and case.smooth
    plain = plain and case.orders > 1 and case.attrs.get("dtype", "float64") == "float64"
    return plain and "float64" in case.types()


SECOND = list(filter(is_smooth, CASES))


@by_operator(SECOND)
def test_second_order(case):
    twice = Twice(case)

    def objective(point):
        found = twice.gradients(point)
        return sum((g * a).sum() for g, a in zip(found, twice.along, strict=True))

    places = {node: i for i, node in enumerate((*twice.variables, *twice.seeds))}
    for node, grad in zip(twice.wanted, twice.seconds(), strict=True):
        if node.name in case.fixed:
            assert grad is None, f"{node.name} has a gradient"
            continue
        point, k = twice.point(), places[node]
        direction = twice.random.standard_normal(point[k].shape)
        ends = []
        for step in (STEP, -STEP):
            moved = [*point[:k], point[k] + step * direction, *point[k + 1 :]]
            ends.append(objective(moved))
        slope = (ends[0] - ends[1]) / (2 * STEP)
        value = 0.0 if grad is None else (grad * direction).sum()
        scale = 1 + (0.0 if grad is None else np.abs(grad * direction).sum())
        assert abs(value - slope) < 10 * FINITE_DIFFERENCES * scale, node.name

"""Symbols with loops and branches, for the `mx` of Ferromix and that of MXNet."""

LIMIT = 4.2


def cells(mx):
    """A recurrent network, whose weights are read from around the loop."""
    x, h, w = map(mx.sym.Variable, ("x", "h", "w"))
    scaled = mx.sym.Variable("b") * 2

    def step(row, states):
        new = mx.sym.tanh(mx.sym.FullyConnected(row, w, num_hidden=3, no_bias=True) + states[0])
        return [new * scaled, [row]], [new]

    (outputs, (rows,)), states = mx.sym.contrib.foreach(step, x, [h], name="cells")
    return mx.sym.Group([outputs, rows, *states])


def nested(mx):
    """A loop within a loop, over the columns of each row."""
    x, total, w = map(mx.sym.Variable, ("x", "total", "w"))

    def column(element, state):
        return element * w, state + element * w

    def row(elements, state):
        outputs, last = mx.sym.contrib.foreach(column, elements, state, name="column")
        return outputs, last * 0.5

    outputs, last = mx.sym.contrib.foreach(row, x, total, name="row")
    return mx.sym.Group([outputs, last])


def powers(mx):
    """Powers as long as they are small."""
    i, a, w = map(mx.sym.Variable, ("i", "a", "w"))
    outputs, states = mx.sym.contrib.while_loop(
        lambda i, a: i < LIMIT, lambda i, a: ([i + a, a], [i + 1, a * w]), [i, a], max_iterations=6
    )
    return mx.sym.Group([*outputs, *states])


def branches(mx):
    """One of two functions."""
    p, a, b = map(mx.sym.Variable, ("p", "a", "b"))
    return mx.sym.contrib.cond(p * 2 > 1.1, lambda: a * a + b, lambda: b - a)


NETWORKS = {f.__name__: f for f in (cells, nested, powers, branches)}
SHAPES = {
    "cells": {"x": (4, 2, 5), "h": (2, 3), "w": (3, 5), "b": (2, 3)},
    "nested": {"x": (2, 3, 2), "total": (2,), "w": (2,)},
    "powers": {"i": (1,), "a": (1,), "w": (1,)},
    "branches": {"p": (1,), "a": (2, 3), "b": (2, 3)},
}

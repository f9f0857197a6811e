"""Recipes of the products of attention with many heads, on projections that lie side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt

from ...ops.family import FLOATS
from ..recipe import (
    Arg,
    Job,
    Launch,
    Recipe,
    Shape,
    Step,
    input_at,
    int64,
    output_at,
    recipe,
    req,
)
from .dot import Matrices, products

__all__: list[str] = []

PREFIXES = ("_contrib_", "_backward_")
SELF, OTHER = "interleaved_matmul_selfatt", "interleaved_matmul_encdec"


@dataclass(frozen=True)
class Heads:
    """How many products; heads, lengths and depth; whether all projections are one array."""

    count: int
    heads: int
    queries: int
    keys: int
    depth: int
    together: bool

    def projections(self, at: Arg, what: str) -> Matrices:
        """Queries, keys or values, or the output, by their first letter: rows for each head."""
        parts = 1 if what == "o" or (what == "q" and not self.together) else 2 + self.together
        part = 0 if parts == 1 else "qkv".index(what) - (not self.together)
        wide = parts * self.depth
        return Matrices(at, self.count * wide, 1, wide, part * self.depth)

    def weights(self, at: Arg) -> Matrices:
        """A number for each query and key."""
        return Matrices(at, self.keys, 1, self.queries * self.keys)


def heads_of(job: Job, projections: int, weights: Shape) -> Heads | None:
    """From the input with the projections of keys, and the shape of the weights."""
    shape, dtype = job.inputs[projections]
    if dtype not in FLOATS or any(t != dtype for _, t in (*job.inputs, *job.outputs)):
        return None
    together, heads = "selfatt" in job.name, job.attrs["heads"]
    depth = shape[2] // (heads * (2 + together))
    return Heads(weights[0], heads, weights[1], weights[2], depth, together)


def cleared(job: Job, number: int) -> Launch:
    """Zeros where a gradient has none of its own."""
    shape, dtype = job.outputs[number]
    given = output_at(number), int64(prod(shape)), req(number)
    return job.spread("affine", f"affine_clear_{dtype}", prod(shape), *given)


@recipe(f"_contrib_{SELF}_qk", f"_contrib_{OTHER}_qk")
def scores(job: Job) -> Recipe | None:
    """Queries by keys."""
    keys = len(job.inputs) - 1
    h = heads_of(job, keys, job.outputs[0][0])
    if h is None:
        return None
    q, k = h.projections(input_at(0), "q"), h.projections(input_at(keys), "k")
    sizes = h.count, h.queries, h.keys, h.depth
    out = h.weights(output_at(0))
    return Recipe(tuple(products(job, 0, sizes, q, k.flipped(), out, 1 / sqrt(max(1, h.depth)))))


@recipe(f"_contrib_{SELF}_valatt", f"_contrib_{OTHER}_valatt")
def weighted(job: Job) -> Recipe | None:
    """Weights by values."""
    h = heads_of(job, 0, job.inputs[1][0])
    if h is None:
        return None
    sizes = h.count, h.queries, h.depth, h.keys
    v, out = h.projections(input_at(0), "v"), h.projections(output_at(0), "o")
    return Recipe(tuple(products(job, 0, sizes, h.weights(input_at(1)), v, out)))


@recipe(f"_backward_{SELF}_qk", f"_backward_{OTHER}_qk")
def scores_back(job: Job) -> Recipe | None:
    """The gradients of queries and keys; none of values."""
    keys = len(job.inputs) - 1
    h = heads_of(job, keys, job.inputs[0][0])
    if h is None:
        return None
    grad, scale = h.weights(input_at(0)), 1 / sqrt(max(1, h.depth))
    q, k = h.projections(input_at(1), "q"), h.projections(input_at(keys), "k")
    to_q, to_k = (h.projections(output_at(n), w) for n, w in ((0, "q"), (keys - 1, "k")))
    first, second = (
        (h.count, h.queries, h.depth, h.keys),
        (h.count, h.keys, h.depth, h.queries),
    )
    made: list[Step] = [cleared(job, keys - 1)]
    made += products(job, 0, first, grad, k, to_q, scale)
    made += products(job, keys - 1, second, grad.flipped(), q, to_k, scale)
    return Recipe(tuple(made))


@recipe(f"_backward_{SELF}_valatt", f"_backward_{OTHER}_valatt")
def weighted_back(job: Job) -> Recipe | None:
    """The gradients of values and weights; none of queries and keys."""
    h = heads_of(job, 1, job.inputs[2][0])
    if h is None:
        return None
    grad, v = h.projections(input_at(0), "o"), h.projections(input_at(1), "v")
    weights, to_v = h.weights(input_at(2)), h.projections(output_at(0), "v")
    first, second = (
        (h.count, h.keys, h.depth, h.queries),
        (h.count, h.queries, h.keys, h.depth),
    )
    made: list[Step] = [cleared(job, 0)]
    made += products(job, 0, first, weights.flipped(), grad, to_v)
    made += products(job, 1, second, grad, v.flipped(), h.weights(output_at(1)))
    return Recipe(tuple(made))

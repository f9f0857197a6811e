"""Products of attention with many heads, on projections that lie side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import (
    Entry,
    GradientGraph,
    MaybeShape,
    OperatorProperty,
    Shape,
    merge_shapes,
    register,
)
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import require_countable

__all__ = ["EncDecQK", "EncDecValAtt", "SelfAttQK", "SelfAttValAtt"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]
_PARAMS: Params = {"heads": Param("int", doc="The number of heads.", low=1)}
_OPEN = (-1, -1, -1)


class Interleaved(OperatorProperty):
    """The base: ``(length, batch, heads * parts * depth)`` are projections of `parts` matrices for
    each head, ``(batch * heads, length, length)`` are weights."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = _PARAMS
    places: ClassVar[Sequence[str]]
    """For each input, then the output, its extents: lengths by a letter, ``w`` before those of
    weights."""

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """All lengths, the batch and the depth from wherever they are known."""
        shapes = self._solve([*in_shapes, None])
        require_countable(self.name, "output", shapes[-1] or ())
        return list(shapes[:-1]), [shapes[-1]], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """As forward, with the output known, too."""
        return list(self._solve([*in_shapes, *out_shapes])[:-1])

    def _solve(self, given: Sequence[MaybeShape]) -> list[Shape]:
        names, heads, known = [*self.list_arguments(), "output"], self.attrs["heads"], {}
        shapes = [
            merge_shapes(self.name, name, shape, _OPEN) or _OPEN
            for name, shape in zip(names, given, strict=True)
        ]
        for name, shape, place in zip(names, shapes, self.places, strict=True):
            for letter, extent in self._extents(name, shape, place, heads):
                if extent >= 0 and known.setdefault(letter, extent) != extent:
                    raise InvalidArgumentError(
                        f"{self.name}: argument '{name}' of shape {shape} does not fit the others "
                        f"for heads={heads}: {dict(zip(names, shapes, strict=True))}"
                    )
        return [self._shape(place, known, heads) for place in self.places]

    def _extents(self, name: str, shape: Shape, place: str, heads: int) -> list[tuple[str, int]]:
        if place[0] == "w":
            share, found = heads, [("b", shape[0]), (place[1], shape[1]), (place[2], shape[2])]
        else:
            share, found = heads * int(place[1]), [("d", shape[2]), (place[0], shape[0])]
        (letter, whole), *rest = found
        if whole >= 0 and whole % share:
            raise InvalidArgumentError(
                f"{self.name}: argument '{name}' of shape {shape}: {whole} is no multiple of "
                f"{share}, which heads={heads} asks for"
            )
        batch = [] if place[0] == "w" else [("b", shape[1])]
        return [(letter, whole // share if whole >= 0 else -1), *rest, *batch]

    def _shape(self, place: str, known: dict[str, int], heads: int) -> Shape:
        def product(letter: str, share: int) -> int:
            return known[letter] * share if letter in known else -1

        if place[0] == "w":
            return product("b", heads), product(place[1], 1), product(place[2], 1)
        return product(place[0], 1), product("b", 1), product("d", heads * int(place[1]))

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        back = f"_backward_{self.name.removeprefix('_contrib_')}"
        return list(graph.op(back, graph.out_grad[0], *graph.in_data, **self.attrs))


@register
class SelfAttQK(Interleaved):
    """The scores of self attention: of each position with each, in every head.

    Formula: ``out[b * heads + h, i, j] = q[i] . k[j] / sqrt(depth)``, where ``q[i]`` and ``k[i]``
    are the first and the second ``depth`` numbers of head ``h`` of ``queries_keys_values[i, b]``,
    which has queries, keys and values of the first head, then of the next. Shapes:
    ``queries_keys_values`` is ``(n, batch, heads * 3 * depth)``, ``out`` ``(batch * heads, n, n)``.
    Types: floats.
    Gradient: ``out_grad . k / sqrt(depth)`` for queries, ``transpose(out_grad) . q / sqrt(depth)``
    for keys, 0 for values.

    Examples
    --------
    >>> qkv = mx.nd.array([[[1, 2, 0]], [[3, 4, 0]]])
    >>> print(mx.nd.contrib.interleaved_matmul_selfatt_qk(qkv, heads=1).asnumpy())
    [[[ 2.  4.]
      [ 6. 12.]]]
    """

    name = "_contrib_interleaved_matmul_selfatt_qk"
    arguments = ("queries_keys_values",)
    places = ("n3", "wnn")


@register
class SelfAttValAtt(Interleaved):
    """The values of self attention, weighted: for each position, in every head.

    Formula: ``out[i, b]`` has for head ``h`` the sum over ``j`` of ``attention[b * heads + h, i, j]
    * v[j]``, where ``v[j]`` are the third ``depth`` numbers of head ``h`` of
    ``queries_keys_values[j, b]``. Shapes: ``queries_keys_values`` is ``(n, batch, heads * 3 *
    depth)``, ``attention`` ``(batch * heads, n, n)``, ``out`` ``(n, batch, heads * depth)``. Types:
    floats.
    Gradient: ``transpose(attention) . out_grad`` for values, 0 for queries and keys;
    ``attention_grad = out_grad . transpose(v)``.

    Examples
    --------
    >>> qkv, weights = mx.nd.array([[[1, 2, 5]], [[3, 4, 7]]]), mx.nd.array([[[1, 0], [0.5, 0.5]]])
    >>> print(mx.nd.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=1).asnumpy())
    [[[5.]]
    <BLANKLINE>
     [[6.]]]
    """

    name = "_contrib_interleaved_matmul_selfatt_valatt"
    arguments = ("queries_keys_values", "attention")
    places = ("n3", "wnn", "n1")


@register
class EncDecQK(Interleaved):
    """The scores of attention to other positions: of each query with each key, in every head.

    Formula: ``out[b * heads + h, i, j] = q[i] . k[j] / sqrt(depth)``, where ``q[i]`` is head ``h``
    of ``queries[i, b]``, and ``k[j]`` the first half of head ``h`` of ``keys_values[j, b]``.
    Shapes: ``queries`` is ``(m, batch, heads * depth)``, ``keys_values`` ``(n, batch, heads * 2 *
    depth)``, ``out`` ``(batch * heads, m, n)``. Types: floats, all alike.
    Gradient: ``out_grad . k / sqrt(depth)`` for ``queries``, ``transpose(out_grad) . q /
    sqrt(depth)`` for keys, 0 for values.

    Examples
    --------
    >>> q, kv = mx.nd.array([[[3]]]), mx.nd.array([[[1, 0]], [[2, 0]]])
    >>> print(mx.nd.contrib.interleaved_matmul_encdec_qk(q, kv, heads=1).asnumpy())
    [[[3. 6.]]]
    """

    name = "_contrib_interleaved_matmul_encdec_qk"
    arguments = ("queries", "keys_values")
    places = ("m1", "n2", "wmn")


@register
class EncDecValAtt(Interleaved):
    """The values of other positions, weighted: for each query, in every head.

    Formula: ``out[i, b]`` has for head ``h`` the sum over ``j`` of ``attention[b * heads + h, i, j]
    * v[j]``, where ``v[j]`` is the second half of head ``h`` of ``keys_values[j, b]``. Shapes:
    ``keys_values`` is ``(n, batch, heads * 2 * depth)``, ``attention`` ``(batch * heads, m, n)``,
    ``out`` ``(m, batch, heads * depth)``. Types: floats, all alike.
    Gradient: ``transpose(attention) . out_grad`` for values, 0 for keys; ``attention_grad =
    out_grad . transpose(v)``.

    Examples
    --------
    >>> kv, weights = mx.nd.array([[[0, 1]], [[0, 2]]]), mx.nd.array([[[0.5, 0.25]]])
    >>> print(mx.nd.contrib.interleaved_matmul_encdec_valatt(kv, weights, heads=1).asnumpy())
    [[[1.]]]
    """

    name = "_contrib_interleaved_matmul_encdec_valatt"
    arguments = ("keys_values", "attention")
    places = ("n2", "wmn", "m1")


def _backward(forward: type[Interleaved]) -> type[Backward]:
    """Registers the hidden operator of gradients."""
    names = forward.arguments
    variables = {
        "__module__": __name__,
        "__doc__": f"The gradients of {forward.name}.",
        "name": f"_backward_{forward.name.removeprefix('_contrib_')}",
        "arguments": ("out_grad", *names),
        "gradients": {f"{name}_grad": name for name in names},
        "dtypes": FLOATS,
        "params": _PARAMS,
    }
    return register(type(f"Backward{forward.__name__}", (Backward,), variables))


for _forward in (SelfAttQK, SelfAttValAtt, EncDecQK, EncDecValAtt):
    _backward(_forward)

"""Count sketches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import Entry, GradientGraph, MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .family import NUMBERS, REALS
from .param import Param, Params

__all__: list[str] = []

_OWN: Mapping[str, tuple[str, ...]] = {"h": NUMBERS, "s": NUMBERS}


class Table(OperatorProperty):
    """The base of the sketch and of the way back: ``h`` and ``s`` are for each column."""

    dtypes = REALS
    argument_dtypes = _OWN
    params: ClassVar[Params] = {
        "out_dim": Param("int", doc="How many places there are.", low=1),
        "processing_batch_size": Param("int", 32, "How many rows MXNet takes at a time; not used."),
    }

    def tables(self, in_shapes: Sequence[MaybeShape], width: int) -> tuple[Shape, int]:
        """The shape of ``h`` and ``s``."""
        shape: MaybeShape = (1, width)
        for name, given in zip(("h", "s"), in_shapes[1:], strict=True):
            shape = merge_shapes(self.name, name, given, shape)
        assert shape is not None
        return shape, shape[1]

    def require_rows(self, shape: Shape) -> None:
        """Refuses a tensor without an axis."""
        if not shape:
            raise InvalidArgumentError(
                f"{self.name}: argument '{self.arguments[0]}' has shape (), expected at least one "
                "dimension"
            )


@register
class CountSketch(Table):
    """The elements of rows with signs, added up in fewer places, which a table gives.

    Formula: ``out[..., j]`` is the sum of ``data[..., i] * s[0, i]`` over the ``i`` with
    ``h[0, i] = j``. Shapes: ``data`` is ``(..., d)``, ``h`` and ``s`` are ``(1, d)``, ``out`` is
    ``(..., out_dim)``. Types: float32, float64; ``h`` and ``s`` any. A place outside raises.
    Gradient: ``data_grad[..., i] = s[0, i] * out_grad[..., h[0, i]]``; none for ``h`` and ``s``.

    Examples
    --------
    >>> data, h, s = mx.nd.array([[1, 2, 3]]), mx.nd.array([[0, 3, 0]]), mx.nd.array([[1, -1, 1]])
    >>> print(mx.nd.contrib.count_sketch(data, h, s, out_dim=4).asnumpy())
    [[ 4.  0.  0. -2.]]
    """

    name = "_contrib_count_sketch"
    arguments = ("data", "h", "s")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """As many elements as places."""
        data = in_shapes[0]
        if data is not None:
            self.require_rows(data)
        table, width = self.tables(in_shapes, -1 if data is None else data[-1])
        if data is None:
            return [None, table, table], [None], []
        data = (*data[:-1], width)
        return [data, table, table], [(*data[:-1], self.attrs["out_dim"])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The rows."""
        data, h, s = in_shapes
        (out,) = out_shapes
        if out is not None:
            self.require_rows(out)
            merge_shapes(self.name, "output", out, (*out[:-1], self.attrs["out_dim"]))
            data = merge_shapes(self.name, "data", data, (*out[:-1], -1))
        return [data, h, s]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """What each place has goes back to those who are in it."""
        g, (_, h, s) = graph.out_grad[0], graph.in_data
        return [graph.op("_backward_count_sketch", g, h, s, **self.attrs)[0], None, None]


@register
class BackwardCountSketch(Table):
    """The gradient of count_sketch."""

    name = "_backward_count_sketch"
    hidden = True
    arguments = ("out_grad", "h", "s")

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """As many elements as in the tables."""
        table, width = self.tables(in_shapes, -1)
        grad = in_shapes[0]
        if grad is None:
            return [None, table, table], [None], []
        self.require_rows(grad)
        found = (*grad[:-1], self.attrs["out_dim"])
        grad = merge_shapes(self.name, "out_grad", grad, found)
        return [grad, table, table], [(*found[:-1], width)], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The sketch."""
        g, (_, h, s) = graph.out_grad[0], graph.in_data
        return [graph.op("_contrib_count_sketch", g, h, s, **self.attrs)[0], None, None]

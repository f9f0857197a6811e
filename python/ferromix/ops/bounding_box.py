"""Overlaps of boxes, offsets from anchors to boxes and back, and pairs of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, Shape, merge_shapes, register
from .family import FLOATS
from .param import Param, Params
from .shapes import require_rank

__all__ = ["BipartiteMatching", "BoxDecode", "BoxEncode", "BoxIou", "Boxes", "Shapes", "form"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]
FORMATS = ("center", "corner")


def form(default: str, what: str = "What the four numbers of a box are") -> Param:
    """The attribute that says how boxes are given."""
    doc = f"{what}: corners (left, top, right, bottom), or the center (x, y, width, height)."
    return Param("str", default, doc, choices=FORMATS)


class Boxes(OperatorProperty):
    """The base of operators on boxes, through which nothing flows back."""

    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def rows(self, argument: str, shape: MaybeShape) -> MaybeShape:
        """A shape whose last axis is known to have four numbers."""
        if shape is None:
            return None
        if len(shape) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument '{argument}' has shape {shape}, expected two dimensions or "
                "more, the last of extent 4"
            )
        return merge_shapes(self.name, argument, shape, (*shape[:-1], 4))

    def merged(self, argument: str, given: MaybeShape, known: Shape) -> Shape:
        """What is known of a shape whose rank is."""
        return merge_shapes(self.name, argument, given, known) or known


@register
class BoxIou(Boxes):
    """The overlap of each box on the left with each on the right: intersection over union.

    Formula: ``out[i, j] = shared / (area(lhs[i]) + area(rhs[j]) - shared)``, where ``shared`` is
    the area that both have; 0 where there is no union. Shapes: ``lhs`` is ``(..., 4)``, ``rhs``
    ``(***, 4)``, ``out`` ``(..., ***)``. Types: floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> lhs, rhs = mx.nd.array([[0, 0, 2, 2], [4, 4, 5, 5]]), mx.nd.array([[1, 0, 3, 2]])
    >>> print(mx.nd.contrib.box_iou(lhs, rhs).asnumpy().round(4))
    [[0.3333]
     [0.    ]]
    """

    name = "_contrib_box_iou"
    arguments = ("lhs", "rhs")
    params: ClassVar[Params] = {"format": form("corner")}

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """All boxes of the one by all of the other."""
        lhs, rhs = (self.rows(*row) for row in zip(self.arguments, in_shapes, strict=True))
        out = None if lhs is None or rhs is None else (*lhs[:-1], *rhs[:-1])
        return [lhs, rhs], [out], []


@register
class BoxEncode(Boxes):
    """Offsets from anchors to the boxes that they are matched with, for samples that count.

    Formula: where ``samples > 0.5``, with the box ``r = refs[matches]`` and the anchor ``a`` by
    center and extents, ``out0 = ((r_x - a_x) / a_w, (r_y - a_y) / a_h, log(r_w / a_w), log(r_h /
    a_h))``, less ``means``, over ``stds``, and ``out1 = 1``; both are 0 elsewhere.
    Shapes: ``samples`` and ``matches`` are ``(b, n)``, ``anchors`` ``(b, n, 4)`` and ``refs``
    ``(b, m, 4)`` by corners, ``means`` and ``stds`` ``(4,)``, both outputs ``(b, n, 4)``.
    Types: floats, all alike. A match of a sample that is no index of a box is refused.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> one, zero = mx.nd.ones((1, 1)), mx.nd.zeros((1, 1))
    >>> anchor, box = mx.nd.array([[[0, 0, 2, 2]]]), mx.nd.array([[[1, 0, 3, 2]]])
    >>> given = [one, zero, anchor, box, mx.nd.zeros((4,)), mx.nd.ones((4,))]
    >>> offsets, mask = mx.nd.contrib.box_encode(*given)
    >>> print(offsets.asnumpy()[0], mask.asnumpy()[0])
    [[0.5 0.  0.  0. ]] [[1. 1. 1. 1.]]
    """

    name = "_contrib_box_encode"
    arguments = ("samples", "matches", "anchors", "refs", "means", "stds")

    def list_outputs(self) -> list[str]:
        """Offsets and mask."""
        return ["output0", "output1"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Batches and anchors from each argument that has them."""
        found: Shape = (-1, -1)
        for k, rank in ((0, 2), (1, 2), (2, 3)):
            given = in_shapes[k]
            if given is not None:
                require_rank(self.name, self.arguments[k], given, rank, "b, n, and 4 of a box")
                found = self.merged(self.arguments[k], given[:2], found)
        refs = self.merged("refs", in_shapes[3], (found[0], -1, 4))
        found = self.merged("samples", found, (refs[0], -1))
        boxes = (*found, 4)
        shapes = [found, found, boxes, refs, (4,), (4,)]
        rows = zip(self.arguments, in_shapes, shapes, strict=True)
        return [merge_shapes(self.name, *row) for row in rows], [boxes, boxes], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The anchors have the shape of the outputs."""
        known = merge_shapes(self.name, "anchors", out_shapes[0], out_shapes[1])
        anchors = merge_shapes(self.name, "anchors", in_shapes[2], known)
        return self.infer_shape([*in_shapes[:2], anchors, *in_shapes[3:]])[0]


@register
class BoxDecode(Boxes):
    """The boxes, by corners, to which offsets move anchors.

    Formula: with the anchor by center and extents, the center is ``(data_0 * std0 * a_w + a_x,
    data_1 * std1 * a_h + a_y)``, and the extents are ``exp(data_2 * std2) * a_w`` and
    ``exp(data_3 * std3) * a_h``; the exponents are at most ``clip`` where that is above 0.
    Shapes: ``data`` and ``out`` are ``(b, n, 4)``, ``anchors`` ``(1, n, 4)``. Types: floats, all
    alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, anchors = mx.nd.array([[[0.5, 0, 0, 0]]]), mx.nd.array([[[1, 1, 2, 2]]])
    >>> print(mx.nd.contrib.box_decode(data, anchors).asnumpy()[0])
    [[1. 0. 3. 2.]]
    """

    name = "_contrib_box_decode"
    arguments = ("data", "anchors")
    params: ClassVar[Params] = {
        **{f"std{k}": Param("float", 1.0, f"What offset {k} is multiplied by.") for k in range(4)},
        "clip": Param("float", -1.0, "The most that an exponent may be; no limit where negative."),
        "format": form("center", "What the four numbers of an anchor are"),
    }

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """As many anchors as rows of each batch."""
        data = self.merged("data", in_shapes[0], (-1, -1, 4))
        anchors = self.merged("anchors", in_shapes[1], (1, data[1], 4))
        data = (data[0], anchors[1], 4)
        return [data, anchors], [data], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0]), in_shapes[1]]


@register
class BipartiteMatching(Boxes):
    """Pairs of rows and columns, each in one pair at most, by their scores, the best ones first.

    Formula: of all pairs in the order of their scores, equal ones in that of their places, one is
    made where neither has a partner, until a score is not above ``threshold`` (not below it with
    ``is_ascend``), or ``topk + 1`` pairs are made where ``topk > 0``, as in MXNet. ``out0`` is the
    column of each row, ``out1`` the row of each column; -1 where there is none.
    Shapes: ``data`` is ``(..., n, m)``, ``out0`` ``(..., n)``, ``out1`` ``(..., m)``. Types:
    floats, all alike.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> scores = mx.nd.array([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]])
    >>> rows, columns = mx.nd.contrib.bipartite_matching(scores, threshold=1e-12)
    >>> print(rows.asnumpy(), columns.asnumpy())
    [ 1. -1.  0.] [2. 0.]
    """

    name = "_contrib_bipartite_matching"
    params: ClassVar[Params] = {
        "is_ascend": Param("bool", False, "Whether the least score is the best."),
        "threshold": Param("float", doc="The score from which on no pair is made."),
        "topk": Param("int", -1, "One less than the most pairs that are made; no limit below 1."),
    }

    def list_outputs(self) -> list[str]:
        """Columns of rows, and rows of columns."""
        return ["output0", "output1"]

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Without one of the last two axes."""
        (data,) = in_shapes
        if data is None:
            return [None], [None, None], []
        if len(data) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected two dimensions or more"
            )
        return [data], [data[:-1], (*data[:-2], data[-1])], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Rows from the one, columns from the other."""
        (data,), (rows, columns) = in_shapes, out_shapes
        if rows is not None:
            data = merge_shapes(self.name, "data", data, (*rows, -1))
        if columns is not None and columns:
            data = merge_shapes(self.name, "data", data, (*columns[:-1], -1, columns[-1]))
        return [data]

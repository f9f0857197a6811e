"""Images read at the points of a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

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
from .composed import Composed
from .family import FLOATS, Backward
from .param import Param, Params
from .shapes import require_countable
from .term import Term

__all__ = ["BilinearSampler", "GridGenerator", "SpatialTransformer"]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]

_TARGET = Param("shape", (0, 0), "The rows and columns of the grid, for an affine one.")
_CUDNN = Param("bool", None, "Whether cuDNN is not used; of no effect.", optional=True)
_GRID_PARAMS = {
    "transform_type": Param(
        "str",
        doc="Whether the data are affine maps or distances by which points move.",
        choices=("affine", "warp"),
    ),
    "target_shape": _TARGET,
}
_FLOW = (-1, 2, -1, -1)


def _require_scale(operator: str, name: str, extents: Sequence[int]) -> None:
    if len(extents) != 2 or any(0 <= n < 2 for n in extents):
        raise InvalidArgumentError(
            f"{operator}: {name} of {tuple(extents)} has no scale; coordinates go from -1 to 1, so "
            "there must be two extents of at least 2"
        )


@register
class GridGenerator(OperatorProperty):
    """The points at which BilinearSampler reads an image.

    Formula: ``out[n, 0, i, j]`` and ``out[n, 1, i, j]`` are the x and the y of a point; -1 is the
    first pixel and 1 the last one. With ``transform_type="affine"`` they are
    ``data[n, :3] . (x, y, 1)`` and ``data[n, 3:] . (x, y, 1)`` of the evenly spaced grid
    ``x = 2 * j / (w - 1) - 1``, ``y = 2 * i / (h - 1) - 1``. With ``"warp"``,
    ``2 * (data[n, 0, i, j] + j) / (w - 1) - 1`` and ``2 * (data[n, 1, i, j] + i) / (h - 1) - 1``.
    Shapes: affine, ``data`` is ``(n, 6)`` and ``out`` ``(n, 2, *target_shape)``; warp, both are
    ``(n, 2, h, w)``. Extents are at least 2. Types: floats, all alike.
    Gradient: affine, ``data_grad[n, :3]`` is the sum of ``out_grad[n, 0] * (x, y, 1)`` over the
    points, and the rest likewise; warp, ``out_grad`` times the factors.

    Examples
    --------
    >>> turn = mx.nd.array([[0, 1, 0, -1, 0, 0]])
    >>> grid = mx.nd.GridGenerator(turn, transform_type="affine", target_shape=(2, 2))
    >>> print(grid.asnumpy())
    [[[[-1. -1.]
       [ 1.  1.]]
    <BLANKLINE>
      [[ 1. -1.]
       [ 1. -1.]]]]
    """

    name = "GridGenerator"
    dtypes = FLOATS
    params: ClassVar[Params] = _GRID_PARAMS

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self.attrs["transform_type"] == "affine":
            _require_scale(self.name, "attribute 'target_shape'", self.attrs["target_shape"])
            if min(self.attrs["target_shape"]) < 0:
                raise InvalidArgumentError(
                    f"{self.name}: attribute 'target_shape' must not be negative, got "
                    f"{self.attrs['target_shape']}"
                )

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """An affine grid has the target's extents, a warped one those of the data."""
        (data,) = in_shapes
        if self.attrs["transform_type"] == "affine":
            data = merge_shapes(self.name, "data", data, (-1, 6))
            out = ((data or (-1,))[0], 2, *self.attrs["target_shape"])
            require_countable(self.name, "output", out)
            return [data], [out], []
        data = merge_shapes(self.name, "data", data, _FLOW)
        _require_scale(self.name, f"argument 'data' of shape {data}", (data or _FLOW)[2:])
        return [data], [data], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The batch, and of a warped grid everything."""
        (data,), (out,) = in_shapes, out_shapes
        if out is None:
            return [data]
        out = merge_shapes(self.name, "output", out, _FLOW) or _FLOW
        affine = self.attrs["transform_type"] == "affine"
        return [merge_shapes(self.name, "data", data, (out[0], 6) if affine else out)]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        back = "_backward_GridGenerator"
        return [graph.op(back, graph.out_grad[0], graph.in_data[0], **self.attrs)[0]]


@register
class BackwardGridGenerator(Backward):
    """The gradient of GridGenerator, which is linear in ``out_grad``; ``data`` give their shape."""

    name = "_backward_GridGenerator"
    differentiable = True
    dtypes = FLOATS
    params: ClassVar[Params] = _GRID_PARAMS

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The grid of affine maps, which is linear in them; the factors of warps once more."""
        (given,), affine = graph.out_grad, self.attrs["transform_type"] == "affine"
        inputs = (given,) if affine else (given, given)
        name = "GridGenerator" if affine else self.name
        return [graph.op(name, *inputs, **self.attrs)[0], None]


@register
class BilinearSampler(OperatorProperty):
    """Images read between their pixels.

    Formula: ``out[n, c, i, j]`` is ``data[n, c]`` at the point ``x = grid[n, 0, i, j]``, ``y =
    grid[n, 1, i, j]``, where -1 is the first pixel and 1 the last one: the mean of the four pixels
    around it, by their nearness; pixels outside are zeros. Shapes: ``data`` is ``(n, c, h, w)``,
    ``grid`` ``(n, 2, h', w')``, ``out`` ``(n, c, h', w')``. Types: floats, all alike.
    Gradient: to the pixels by the same weights; to ``grid`` the slope of what is read there, of
    both sides on a pixel that of the larger coordinate.

    Examples
    --------
    >>> data = mx.nd.array([[[[0, 2], [4, 6]]]])
    >>> grid = mx.nd.array([[[[-1, 0, 1, 2]], [[-1, 0, 0, 1]]]])
    >>> print(mx.nd.BilinearSampler(data, grid).asnumpy())
    [[[[0. 3. 4. 3.]]]]
    """

    name = "BilinearSampler"
    arguments = ("data", "grid")
    dtypes = FLOATS
    params: ClassVar[Params] = {"cudnn_off": _CUDNN}

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Channels of the data at the points of the grid."""
        data, grid = (
            merge_shapes(self.name, name, given, like)
            for name, given, like in zip(self.arguments, in_shapes, ((-1,) * 4, _FLOW), strict=True)
        )
        data, grid = data or (-1,) * 4, grid or _FLOW
        grid = merge_shapes(self.name, "grid", grid, (data[0], 2, -1, -1)) or grid
        data = (grid[0], *data[1:])
        out = (*data[:2], *grid[2:])
        require_countable(self.name, "output", out)
        return [data, grid], [out], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Batch and channels of the data, and all of the grid."""
        (data, grid), (out,) = in_shapes, out_shapes
        if out is None:
            return [data, grid]
        out = merge_shapes(self.name, "output", out, (-1,) * 4) or (-1,) * 4
        return [
            merge_shapes(self.name, "data", data, (*out[:2], -1, -1)),
            merge_shapes(self.name, "grid", grid, (out[0], 2, *out[2:])),
        ]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The hidden operator's."""
        return list(graph.op("_backward_BilinearSampler", graph.out_grad[0], *graph.in_data))


@register
class BackwardBilinearSampler(Backward):
    """The gradients of BilinearSampler."""

    name = "_backward_BilinearSampler"
    arguments = ("out_grad", "data", "grid")
    gradients: ClassVar[Mapping[str, str]] = {"data_grad": "data", "grid_grad": "grid"}
    dtypes = FLOATS


@register
class SpatialTransformer(Composed):
    """Images turned, scaled, sheared and moved by affine maps.

    Formula: ``BilinearSampler(data, GridGenerator(loc, "affine", target_shape))``. Shapes: ``data``
    is ``(n, c, h, w)``, ``loc`` ``(n, 6)``, ``out`` ``(n, c, *target_shape)``. Types: floats, all
    alike. Gradient: that of the two.

    Examples
    --------
    >>> data, flip = mx.nd.array([[[[1, 2], [3, 4]]]]), mx.nd.array([[-1, 0, 0, 0, 1, 0]])
    >>> kinds = {"transform_type": "affine", "sampler_type": "bilinear"}
    >>> print(mx.nd.SpatialTransformer(data, flip, target_shape=(2, 2), **kinds).asnumpy())
    [[[[2. 1.]
       [4. 3.]]]]
    """

    name = "SpatialTransformer"
    arguments = ("data", "loc")
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "target_shape": _TARGET,
        "transform_type": Param("str", doc="The kind of maps.", choices=("affine",)),
        "sampler_type": Param("str", doc="How pixels are mixed.", choices=("bilinear",)),
        "cudnn_off": _CUDNN,
    }

    def forward(self, data: Term, loc: Term) -> Term:
        """Where to look, and what is there."""
        shape: Shape = self.attrs["target_shape"]
        grid = loc.op("GridGenerator", transform_type="affine", target_shape=shape)
        return data.op("BilinearSampler", grid)

"""Operators that make tensors out of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, register
from .family import ALL_TYPES, NUMBERS, Elementwise, Types
from .param import Param, Params
from .shapes import normal_axis

__all__ = [
    "Arange",
    "ArangeLike",
    "Eye",
    "Full",
    "IndexArray",
    "Linspace",
    "Ones",
    "OnesLike",
    "Source",
    "Zeros",
    "ZerosLike",
]

SHAPE = Param(
    "shape", (), "The shape of the output; -1 where others decide.", low=-1, optional=True
)
CTX = Param("str", "", "Where the output lives; read by imperative calls only.")
DTYPE = Param("dtype", "float32", "The type of the output.")


class Source(OperatorProperty):
    """The base of operators without inputs, whose attributes give shape and type."""

    arguments: ClassVar[tuple[str, ...]] = ()
    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The attribute; what others decide where it is missing."""
        return [], [self.given.get("shape")], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The attribute."""
        dtype = self.attrs["dtype"] or "float32"
        self.check_dtype(dtype)
        return [], [dtype], []


class Constant(Source):
    """The base of operators that fill a tensor with one number."""

    kernel: ClassVar[str | None] = "_full"
    params: ClassVar[Params] = {"shape": SHAPE, "ctx": CTX, "dtype": DTYPE}
    value: ClassVar[float] = 0.0

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The number."""
        return {"value": self.value}


@register
class Zeros(Constant):
    """Zeros.

    Formula: ``out = 0``. Shapes: ``shape``. Types: all.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._zeros(shape=(2,)).asnumpy())
    [0. 0.]
    """

    name = "_zeros"


@register
class Ones(Constant):
    """Ones.

    Formula: ``out = 1``. Shapes: ``shape``. Types: all.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._ones(shape=(2,)).asnumpy())
    [1. 1.]
    """

    name = "_ones"
    value = 1.0


@register
class Full(Source):
    """One number everywhere.

    Formula: ``out = value``. Shapes: ``shape``. Types: all.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._full(shape=(2,), value=3).asnumpy())
    [3. 3.]
    """

    name = "_full"
    params: ClassVar[Params] = {
        "shape": SHAPE,
        "ctx": CTX,
        "dtype": DTYPE,
        "value": Param("float", doc="The number."),
    }


@register
class Arange(Source):
    """Numbers at equal distances.

    Formula: ``out[i] = start + (i // repeat) * step``. Shapes: one dimension, as long as ``out``
    stays below ``stop``; without ``stop`` the numbers go from 0 to ``start``. Types: numbers.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._arange(start=1, stop=6, step=2, repeat=2).asnumpy())
    [1. 1. 3. 3. 5. 5.]
    """

    name = "_arange"
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "start": Param("float", doc="The first number, or the end where `stop` is None."),
        "stop": Param("float", None, "The end, which is not reached.", optional=True),
        "step": Param("float", 1.0, "The distance."),
        "repeat": Param("int", 1, "How often each number comes.", low=1),
        "infer_range": Param("bool", False, "Whether others decide the length."),
        "ctx": CTX,
        "dtype": DTYPE,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The number of steps from start to stop, times `repeat`."""
        if self.attrs["infer_range"] and self.attrs["stop"] is None:
            return [], [(-1,)], []
        start, stop = self._range()
        step = self.attrs["step"]
        steps = (stop - start) / step if step != 0 else math.inf
        if not all(map(math.isfinite, (start, stop, step, steps))):
            raise InvalidArgumentError(
                f"{self.name}: start={start}, stop={stop}, step={step} make no range; they must be "
                "finite, and step not 0 nor so small that there are more steps than numbers"
            )
        return [], [(max(0, math.ceil(steps)) * self.attrs["repeat"],)], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The start after MXNet's rule for a missing stop."""
        return {
            "start": self._range()[0],
            "step": self.attrs["step"],
            "repeat": self.attrs["repeat"],
        }

    def _range(self) -> tuple[float, float]:
        start, stop = self.attrs["start"], self.attrs["stop"]
        if stop is None and not self.attrs["infer_range"]:
            return 0.0, start
        return start, start if stop is None else stop


@register
class Linspace(Source):
    """A number of numbers at equal distances between two ends.

    Formula: ``out[i] = start + i * (stop - start) / (num - 1)``; divided by ``num`` without
    ``endpoint``. Shapes: ``(num,)``. Types: numbers.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._linspace(start=1, stop=2, num=3).asnumpy())
    [1.  1.5 2. ]
    """

    name = "_linspace"
    kernel = "_arange"
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "start": Param("float", doc="The first number."),
        "stop": Param("float", doc="The last number, or the one after it without `endpoint`."),
        "num": Param("int", doc="How many.", low=0),
        "endpoint": Param("bool", True, "Whether `stop` is the last number."),
        "ctx": CTX,
        "dtype": DTYPE,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """As many as are asked for."""
        return [], [(self.attrs["num"],)], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The start and the distance."""
        start, stop = self.attrs["start"], self.attrs["stop"]
        gaps = max(1, self.attrs["num"] - self.attrs["endpoint"])
        return {"start": start, "step": (stop - start) / gaps, "repeat": 1}


@register
class Eye(Source):
    """Ones on a diagonal of a matrix, zeros elsewhere.

    Formula: ``out[i, i + k] = 1``, all others are 0. Shapes: ``(N, M)``; square where ``M`` is 0.
    Types: numbers.
    Gradient: none, there is no input.

    Examples
    --------
    >>> print(mx.nd._eye(N=2, M=3, k=1).asnumpy())
    [[0. 1. 0.]
     [0. 0. 1.]]
    """

    name = "_eye"
    dtypes = NUMBERS
    params: ClassVar[Params] = {
        "N": Param("int", doc="The number of rows.", low=0),
        "M": Param("int", 0, "The number of columns; that of the rows if 0.", low=0),
        "k": Param("int", 0, "How far above the main diagonal; below it where negative."),
        "ctx": CTX,
        "dtype": DTYPE,
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """Rows and columns."""
        return [], [(self.attrs["N"], self.attrs["M"] or self.attrs["N"])], []


@register
class ArangeLike(OperatorProperty):
    """Numbers at equal distances, as many as another tensor has elements.

    Formula: ``out[i] = start + (i // repeat) * step``, ``i`` counting the elements in order.
    Shapes: that of ``data``; with ``axis``, one dimension of that axis's extent. Types: numbers.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.contrib.arange_like(mx.nd.zeros((2, 3)), start=1).asnumpy())
    [[1. 2. 3.]
     [4. 5. 6.]]
    >>> print(mx.nd.contrib.arange_like(mx.nd.zeros((2, 3)), axis=0).asnumpy())
    [0. 1.]
    """

    name = "_contrib_arange_like"
    kernel = "_arange"
    dtypes = NUMBERS
    differentiable = False
    params: ClassVar[Params] = {
        "start": Param("float", 0.0, "The first number."),
        "step": Param("float", 1.0, "The distance."),
        "repeat": Param("int", 1, "How often each number comes.", low=1),
        "ctx": CTX,
        "axis": Param(
            "int", None, "The axis whose extent counts; all of them if None.", optional=True
        ),
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The shape of the data, or the extent of one axis."""
        (data,), axis = in_shapes, self.attrs["axis"]
        if data is None or axis is None:
            return [data], [data], []
        return [data], [(data[normal_axis(self.name, axis, len(data))],)], []

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape and type only."""
        return [0]


@register
class IndexArray(OperatorProperty):
    """The indices of every element.

    Formula: ``out[i, j, 0] = i``, ``out[i, j, 1] = j`` for data of two dimensions; ``axes`` picks
    some of them, in its order. Shapes: the shape of ``data``, and then the number of axes.
    Types: all; the output is int64.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.contrib.index_array(mx.nd.zeros((2, 2)), axes=(1,)).asnumpy().tolist())
    [[[0], [1]], [[0], [1]]]
    """

    name = "_contrib_index_array"
    dtypes = ALL_TYPES
    differentiable = False
    params: ClassVar[Params] = {
        "axes": Param("shape", None, "The axes; all of them if None.", optional=True)
    }

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One axis more."""
        (data,), axes = in_shapes, self.attrs["axes"]
        if data is None:
            return [None], [None], []
        if axes is None:
            return [data], [(*data, len(data))], []
        for axis in axes:
            normal_axis(self.name, axis, len(data))
        return [data], [(*data, len(axes))], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Indices."""
        return list(in_types), ["int64"], []

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape only."""
        return [0]


class ConstantLike(Elementwise):
    """The base of operators that fill a tensor of the shape and type of another."""

    kernel: ClassVar[str | None] = "_full"
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES
    differentiable: ClassVar[bool] = False
    value: ClassVar[float] = 0.0

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The number."""
        return {"value": self.value}

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape and type only."""
        return [0]


@register
class ZerosLike(ConstantLike):
    """Zeros in the shape and type of another tensor.

    Formula: ``out = 0``. Shapes: ``out`` has the shape of ``data``. Types: all.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.zeros_like(mx.nd.array([5, 6])).asnumpy())
    [0. 0.]
    """

    name = "zeros_like"


@register
class OnesLike(ConstantLike):
    """Ones in the shape and type of another tensor.

    Formula: ``out = 1``. Shapes: ``out`` has the shape of ``data``. Types: all.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> print(mx.nd.ones_like(mx.nd.array([5, 6])).asnumpy())
    [1. 1.]
    """

    name = "ones_like"
    value = 1.0

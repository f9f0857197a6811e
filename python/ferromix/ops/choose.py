"""Random choices: whole numbers, classes by their probabilities, and orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .composed import Composed
from .family import ALL_TYPES, FLOATS, NUMBERS, Backward, Types
from .init import CTX, SHAPE, Source
from .param import Param, Params
from .term import Term

__all__ = ["RandomRandint", "SampleMultinomial", "SampleUniqueZipfian", "Shuffle"]


@register
class RandomRandint(Source):
    """Whole numbers drawn evenly from an interval, its upper end excluded.

    Formula: ``low <= out < high``. Shapes: ``shape``. Types: int32, int64.
    Gradient: none, there is no input.

    Examples
    --------
    >>> mx.nd.random_randint(low=2, high=5, shape=(4,)).shape
    (4,)
    """

    name = "_random_randint"
    aliases = ("random_randint",)
    dtypes: ClassVar[tuple[str, ...]] = ("int32", "int64")
    params: ClassVar[Params] = {
        "low": Param("int", doc="The least number."),
        "high": Param("int", doc="The first number that is too large."),
        "shape": SHAPE,
        "ctx": CTX,
        "dtype": Param("dtype", None, "The type of the output; int32 where None.", optional=True),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        low, high = self.attrs["low"], self.attrs["high"]
        if low >= high:
            raise InvalidArgumentError(
                f"{self.name}: low must be below high, got low={low}, high={high}"
            )

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """The attribute."""
        dtype = self.attrs["dtype"] or "int32"
        self.check_dtype(dtype)
        return [], [dtype], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The interval."""
        return {k: self.attrs[k] for k in ("low", "high")}


@register
class SampleMultinomial(OperatorProperty):
    """Classes drawn by their probabilities.

    Formula: ``P(out[..., j] = i) = data[..., i] / sum(data[..., :])``; with ``get_prob`` a second
    output has ``log(data[..., out])``. Shapes: the last axis of ``data`` has the classes; ``out``
    has the other axes, and then those of ``shape``, ``(1,)`` where there are none at all.
    Types: floats; ``out`` is int32, or what ``dtype`` says.
    Gradient: of the logarithms, ``data_grad[..., i]`` is the sum of ``out_grad / data[..., i]``
    where ``out == i``; none of the classes.

    Examples
    --------
    >>> data = mx.nd.array([[0, 1, 0], [0.5, 0, 0.5]])
    >>> mx.nd.sample_multinomial(data, shape=(4,))[0].asnumpy().tolist()
    [1, 1, 1, 1]
    """

    name = "_sample_multinomial"
    aliases = ("sample_multinomial",)
    dtypes = FLOATS
    params: ClassVar[Params] = {
        "shape": Param("shape", (), "The shape of what each distribution gives.", low=0),
        "get_prob": Param("bool", False, "Whether to give the logarithms of probabilities, too."),
        "dtype": Param("dtype", "int32", "The type of the classes."),
    }
    kinds: ClassVar[tuple[str, ...]] = ("int32", "uint8", "float32", "float64", "float16")

    def list_outputs(self) -> list[str]:
        """The classes, and their logarithms where they are wanted."""
        return ["output0", "output1"] if self.attrs["get_prob"] else ["output"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The leading axes of the data, then the attribute."""
        (data,), count = in_shapes, len(self.list_outputs())
        if data is None:
            return [None], [None] * count, []
        out = (*data[:-1], *self.attrs["shape"]) or (1,)
        if not data or (data[-1] == 0 and 0 not in out):
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} has no classes to draw from"
            )
        return [data], [out] * count, []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """All extents but the number of classes; of one draw alone, nothing."""
        (data,), own = in_shapes, self.attrs["shape"]
        out = next((shape for shape in out_shapes if shape is not None), None)
        if data is not None or out is None or (not own and out == (1,)):
            return [data]
        return [(*out[: len(out) - len(own)], -1)]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Classes have the attribute, logarithms the type of the data."""
        dtype = self.attrs["dtype"]
        if dtype not in self.kinds:
            raise InvalidArgumentError(
                f"{self.name}: dtype must be one of {', '.join(self.kinds)}, got {dtype}"
            )
        return list(in_types), [dtype, in_types[0]][: len(self.list_outputs())], []

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """That of the logarithms."""
        if not self.attrs["get_prob"]:
            return [None]
        inputs = graph.out_grad[1], graph.in_data[0], graph.out_data[0]
        return [graph.op("_backward_sample_multinomial", *inputs)[0]]


@register
class BackwardSampleMultinomial(Backward):
    """The gradient of the logarithms of sample_multinomial."""

    name = "_backward_sample_multinomial"
    dtypes = FLOATS
    arguments: ClassVar[tuple[str, ...]] = ("out_grad", "data", "classes")
    argument_dtypes: ClassVar[Claims] = {"classes": NUMBERS}


@register
class SampleUniqueZipfian(Source):
    """Different classes in each row, by a law in which small ones come more often.

    Formula: a try is ``round(exp(u * log(range_max))) - 1`` for ``u`` drawn evenly from [0, 1),
    that is, about ``P(i) = log((i + 2) / (i + 1)) / log(range_max + 1)``; a class that the row has
    is tried again. The second output counts the tries. Shapes: ``shape``, ``(rows, classes)``; the
    second output is ``(rows,)``. Types: int64.
    Gradient: none, there is no input.

    Examples
    --------
    >>> classes, tries = mx.nd._sample_unique_zipfian(range_max=4, shape=(1, 4))
    >>> sorted(classes[0].asnumpy().tolist())
    [0, 1, 2, 3]
    """

    name = "_sample_unique_zipfian"
    dtypes: ClassVar[tuple[str, ...]] = ("int64",)
    params: ClassVar[Params] = {
        "range_max": Param("int", doc="The number of classes.", low=1, high=2**31 - 1),
        "shape": Param("shape", (), "How many rows, and how many classes in each.", low=0),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        shape, most = self.attrs["shape"], self.attrs["range_max"]
        if len(shape) != 2 or shape[1] > most:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'shape' must be (rows, classes) with at most "
                f"range_max={most} classes, which all differ, got {shape}"
            )

    def list_outputs(self) -> list[str]:
        """The classes and the numbers of tries."""
        return ["output0", "output1"]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The attribute, and its rows."""
        shape = self.attrs["shape"]
        return [], [shape, shape[:1]], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Whole numbers."""
        return [], ["int64", "int64"], []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """The number of classes."""
        return {"range_max": self.attrs["range_max"]}


@register
class ShuffledPlaces(OperatorProperty):
    """The numbers of the slices along the first axis, in a random order."""

    name = "_shuffled_places"
    hidden = True
    differentiable = False
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """One number for each slice."""
        (data,) = in_shapes
        if data == ():
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' must have an axis, got shape ()"
            )
        return [data], [None if data is None else data[:1]], []

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Whole numbers."""
        return list(in_types), ["int64"], []

    def ignored_inputs(self) -> list[int]:
        """The input gives its shape only."""
        return [0]


@register
class Shuffle(Composed):
    """The slices along the first axis in a random order, each order as likely as any other.

    Formula: ``out[i] = data[order[i]]``. Shapes: ``out`` has the shape of ``data``. Types: all.
    Gradient: ``data_grad[order[i]] = out_grad[i]``.

    Examples
    --------
    >>> out = mx.nd.shuffle(mx.nd.array([1, 2, 3]))
    >>> sorted(out.asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """

    name = "_shuffle"
    aliases = ("shuffle",)
    dtypes: ClassVar[tuple[str, ...]] = ALL_TYPES

    def forward(self, data: Term) -> Term:
        """An order, and the slices in it."""
        return data.op("take", data.op("_shuffled_places"))

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0])]

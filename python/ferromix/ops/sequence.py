"""Sequences of different lengths, whose steps are along one axis of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from .card import Claims, Entry, GradientGraph, MaybeShape, OperatorProperty, merge_shapes, register
from .family import ALL_TYPES, NUMBERS, Types
from .linear import Back
from .param import Param, Params

__all__ = ["SequenceLast", "SequenceMask", "SequenceReverse"]

_PARAMS = {
    "use_sequence_length": Param("bool", False, "Whether there are lengths."),
    "axis": Param("int", 0, "The axis of the steps.", low=0, high=1),
}
_LENGTHS: Claims = {"sequence_length": ALL_TYPES}


class SequenceFamily(OperatorProperty):
    """The base: data, then perhaps a length for each member of the batch."""

    arguments: ClassVar[tuple[str, ...]] = ("data", "sequence_length")
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    argument_dtypes: ClassVar[Claims] = _LENGTHS
    params: ClassVar[Params] = _PARAMS

    def list_arguments(self) -> list[str]:
        """The lengths may be missing."""
        return ["data", *["sequence_length"] * self.attrs["use_sequence_length"]]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """A length for each member of the batch."""
        data, lengths = in_shapes[0], list(in_shapes[1:])
        batch = -1
        if data is not None:
            if len(data) < 2:
                raise InvalidArgumentError(
                    f"{self.name}: argument 'data' has shape {data}, expected at least 2 "
                    "dimensions (steps and batch)"
                )
            batch = data[1 - self.attrs["axis"]]
        lengths = [merge_shapes(self.name, "sequence_length", n, (batch,)) for n in lengths]
        if data is not None and lengths and lengths[0] is not None:
            known = [-1] * len(data)
            known[1 - self.attrs["axis"]] = lengths[0][0]
            data = merge_shapes(self.name, "data", data, tuple(known))
        return [data, *lengths], [self.result(data)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0]), *in_shapes[1:]]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Lengths have the type of the data where nothing says another."""
        data, *lengths = in_types
        return super().infer_type([data, *[t or data for t in lengths]])

    def result(self, data: MaybeShape) -> MaybeShape:
        """The shape of the output."""
        return data

    def back(self, graph: GradientGraph, name: str, *more: Entry, **attrs: Any) -> list[Any]:
        """An operator of the gradient and the lengths, which have no gradient."""
        lengths = graph.in_data[1:]
        found = graph.op(name, graph.out_grad[0], *more, *lengths, **{**self.attrs, **attrs})
        return [found[0], *[None] * len(lengths)]


@register
class SequenceMask(SequenceFamily):
    """The steps of each sequence, and a number in place of those behind its end.

    Formula: ``out[t, b] = data[t, b]`` for ``t < sequence_length[b]``, and ``value`` elsewhere; a
    copy without lengths. With ``axis=1`` it is ``[b, t]``. Shapes: ``data`` and ``out`` have one
    shape of at least two dimensions; ``sequence_length`` is ``(batch,)``, and may say more or less
    than there is. Types: numbers; ``sequence_length`` is of any type, fractions are cut.
    Gradient: ``out_grad`` where data are kept, and 0 elsewhere; none for the lengths.

    Examples
    --------
    >>> data, length = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([1, 2])
    >>> print(mx.nd.SequenceMask(data, length, use_sequence_length=True, value=-1).asnumpy())
    [[ 1.  2.]
     [-1.  4.]]
    """

    name = "SequenceMask"
    params: ClassVar[Params] = {
        "use_sequence_length": _PARAMS["use_sequence_length"],
        "value": Param("float", 0.0, "What stands behind the end."),
        "axis": _PARAMS["axis"],
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same with zeros."""
        return self.back(graph, self.name, value=0.0)


@register
class SequenceReverse(SequenceFamily):
    """The steps of each sequence in reverse order; those behind its end stay.

    Formula: ``out[t, b] = data[sequence_length[b] - 1 - t, b]`` for ``t < sequence_length[b]``, and
    ``data[t, b]`` elsewhere; without lengths all steps are reversed. Shapes: ``data`` and ``out``
    have one shape of at least two dimensions; ``sequence_length`` is ``(batch,)``, of 0 to all
    steps. Types: numbers; ``sequence_length`` is of any type, fractions are cut.
    Gradient: ``out_grad``, reversed; none for the lengths.

    Examples
    --------
    >>> data, length = mx.nd.array([[1, 2], [3, 4], [5, 6]]), mx.nd.array([2, 3])
    >>> print(mx.nd.SequenceReverse(data, length, use_sequence_length=True).asnumpy())
    [[3. 6.]
     [1. 4.]
     [5. 2.]]
    """

    name = "SequenceReverse"
    params: ClassVar[Params] = {
        **_PARAMS,
        "axis": Param("int", 0, "The axis of the steps, which must be 0.", low=0, high=0),
    }

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The same again."""
        return self.back(graph, self.name)


@register
class SequenceLast(SequenceFamily):
    """The last step of each sequence.

    Formula: ``out[b] = data[sequence_length[b] - 1, b]``, and ``data[-1, b]`` without lengths. With
    ``axis=1`` it is ``[b, t]``. Shapes: ``data`` has at least two dimensions, ``out`` lacks the one
    of the steps; ``sequence_length`` is ``(batch,)``, of 1 to all steps. Types: numbers;
    ``sequence_length`` is of any type, fractions are cut.
    Gradient: ``out_grad`` at the last steps, and 0 elsewhere; none for the lengths.

    Examples
    --------
    >>> data, length = mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([1, 2])
    >>> print(mx.nd.SequenceLast(data, length, use_sequence_length=True).asnumpy())
    [1. 4.]
    """

    name = "SequenceLast"

    def result(self, data: MaybeShape) -> MaybeShape:
        """Without the steps, of which there must be one."""
        if data is None:
            return None
        axis = self.attrs["axis"]
        if data[axis] == 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected at least one step along "
                f"axis {axis}"
            )
        return (*data[:axis], *data[axis + 1 :])

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """All but the number of steps."""
        (out,), axis = out_shapes, self.attrs["axis"]
        if not out:
            return list(in_shapes)
        data = (*out[:axis], -1, *out[axis:])
        return [merge_shapes(self.name, "data", in_shapes[0], data), *in_shapes[1:]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """Back to the last steps."""
        return self.back(graph, "_backward_SequenceLast", graph.in_data[0])


@register
class BackwardSequenceLast(Back):
    """The gradient of SequenceLast."""

    name = "_backward_SequenceLast"
    forward = "SequenceLast"
    arguments = ("out_grad", "data", "sequence_length")
    dtypes: ClassVar[tuple[str, ...]] = NUMBERS
    argument_dtypes: ClassVar[Claims] = _LENGTHS
    params: ClassVar[Params] = _PARAMS

    def list_arguments(self) -> list[str]:
        """The lengths may be missing."""
        return ["out_grad", "data", *["sequence_length"] * self.attrs["use_sequence_length"]]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The last steps again."""
        lengths = graph.in_data[2:]
        found = graph.op(self.forward, graph.out_grad[0], *lengths, **self.attrs)
        return [found[0], None, *[None] * len(lengths)]

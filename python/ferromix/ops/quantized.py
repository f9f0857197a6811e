"""Functions of numbers of eight bits with ranges, element by element or of whole tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from ..literal import MOST
from .batch_norm import BatchNorm
from .card import Claims, MaybeShape, make, merge_shapes, register
from .embedding import Embedding
from .family import ALL_TYPES
from .param import Param, Params
from .quantize import BYTES, CALIBRATED, Quantized, calibration
from .shapes import count

__all__ = [
    "QuantizedAct",
    "QuantizedBatchNorm",
    "QuantizedConcat",
    "QuantizedElemwiseAdd",
    "QuantizedElemwiseMul",
    "QuantizedEmbedding",
    "QuantizedFlatten",
]


@register
class QuantizedAct(Quantized):
    """Numbers that are not negative, in the range that there was.

    Formula: ``out = max(data, 0)``, the range as it is. Shapes: ``out`` has the shape of ``data``,
    the ends of ranges are ``(1,)``. Types: int8.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, low, high = mx.nd.array([-3, 5], dtype="int8"), mx.nd.array([-1]), mx.nd.array([1])
    >>> print(mx.nd.contrib.quantized_act(data, low, high, act_type="relu")[0].asnumpy())
    [0 5]
    """

    name = "_contrib_quantized_act"
    arguments = ("data", "min_data", "max_data")
    dtypes: ClassVar[tuple[str, ...]] = ("int8",)
    params: ClassVar[Params] = {
        "act_type": Param("str", doc="The function; there is no other.", choices=("relu",))
    }


@register
class QuantizedFlatten(Quantized):
    """Data with all axes behind the first one as one, in the range that there was.

    Formula: ``out[n, k]`` is element ``k`` of ``data[n]``, the range as it is. Shapes: ``out`` is
    ``(n, k)``, the ends of ranges are ``(1,)``. Types: int8, uint8, int32 or float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, low, high = mx.nd.ones((2, 3, 2), dtype="int8"), mx.nd.array([-1]), mx.nd.array([1])
    >>> print(mx.nd.contrib.quantized_flatten(data, low, high)[0].shape)
    (2, 6)
    """

    name = "_contrib_quantized_flatten"
    arguments = ("data", "min_data", "max_data")
    dtypes: ClassVar[tuple[str, ...]] = (*BYTES, "int32", "float32")

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """Two axes."""
        (data,) = known
        if data is None:
            return known, (-1, -1)
        if not data:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape (), expected one dimension or more"
            )
        return known, (data[0], count(data[1:]))

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The first extent."""
        data, out = in_shapes[0], out_shapes[0]
        if data and out:
            data = merge_shapes(self.name, "data", data, (out[0], *[-1] * (len(data) - 1)))
        return [data, *in_shapes[1:]]


_PAIR = ("lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max")


class QuantizedPair(Quantized):
    """The base of functions of two."""

    arguments: ClassVar[tuple[str, ...]] = _PAIR
    params: ClassVar[Params] = CALIBRATED

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Both have the shape of the output."""
        return [merge_shapes(self.name, "lhs", in_shapes[0], out_shapes[0]), *in_shapes[1:]]


@register
class QuantizedElemwiseAdd(QuantizedPair):
    """The sums of numbers of two ranges, in one of their own.

    Formula: the number that stands for ``lhs * r / l + rhs * s / m`` in the range of the output,
    rounded as in `quantize`, with the larger magnitudes ``r`` and ``s`` and the levels ``l`` and
    ``m`` of both (127.5 for int8, 255.5 for uint8, 2 ** 31 for int32). The range is
    ``min_calib_range`` to ``max_calib_range`` if both are given, else ``-(r + s)`` to ``r + s``.
    Shapes: ``lhs``, ``rhs`` and ``out`` are alike, the ends of ranges are ``(1,)``. Types: int8 or
    uint8, each its own; ``out`` is int32, or in eight bits with a given range, without sign if both
    are. Gradient: none, nothing flows back.

    Examples
    --------
    >>> lhs, rhs = mx.nd.array([10, 20], dtype="int8"), mx.nd.array([3, 4], dtype="int8")
    >>> ends = [mx.nd.array([x]) for x in (-1, 1, -1, 1)]
    >>> given = {"min_calib_range": -1, "max_calib_range": 1}
    >>> print(mx.nd.contrib.quantized_elemwise_add(lhs, rhs, *ends, **given)[0].asnumpy())
    [13 24]
    """

    name = "_contrib_quantized_elemwise_add"

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """Eight bits with a given range."""
        if calibration(self) is None:
            return "int32"
        if "int8" in in_types[:2]:
            return "int8"
        return None if None in in_types[:2] else "uint8"


@register
class QuantizedElemwiseMul(QuantizedPair):
    """The products of numbers of two ranges.

    Formula: ``out = lhs * rhs``, in the range ``-t`` to ``t`` with ``t = r / 127 * s / 127 * 2 **
    31``, ``r`` and ``s`` the larger magnitudes of both; with ``min_calib_range`` and
    ``max_calib_range`` the number that stands for the product in that range, cut to a whole one
    that int8 holds; with ``enable_float_output`` the product of the real numbers, and no range.
    Shapes: ``lhs``, ``rhs`` and ``out`` are alike, the ends of ranges are ``(1,)``. Types: int8;
    ``out`` is int32, int8 with a given range, or float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> lhs, rhs = mx.nd.array([10, 20], dtype="int8"), mx.nd.array([3, 4], dtype="int8")
    >>> ends = [mx.nd.array([x]) for x in (-1, 1, -1, 1)]
    >>> print(mx.nd.contrib.quantized_elemwise_mul(lhs, rhs, *ends)[0].asnumpy())
    [30 80]
    """

    name = "_contrib_quantized_elemwise_mul"
    dtypes: ClassVar[tuple[str, ...]] = ("int8",)
    params: ClassVar[Params] = {
        **CALIBRATED,
        "enable_float_output": Param("bool", False, "Whether the output is of real numbers."),
    }

    def list_outputs(self) -> list[str]:
        """Real numbers have no range."""
        return ["output"] if self.attrs["enable_float_output"] else super().list_outputs()

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """By the attributes."""
        if self.attrs["enable_float_output"]:
            return "float32"
        return "int32" if calibration(self) is None else "int8"


@register
class QuantizedConcat(Quantized):
    """Tensors joined along an axis, in the widest of their ranges.

    Formula: ``out = [arg0 | arg1 | ...]``, each number as the one that stands for the same in the
    range from the least to the greatest end of all, rounded as in `quantize`.
    Shapes: those of the first ``num_args`` inputs are alike except along ``dim``, where the extents
    add up; the others, the ends of the range of each in turn, are ``(1,)``. Types: int8 or uint8,
    each its own; ``out`` is uint8 if all are.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> a, b = mx.nd.array([[100]], dtype="int8"), mx.nd.array([[100]], dtype="int8")
    >>> ends = [mx.nd.array([x]) for x in (-1, 1, -2, 2)]
    >>> print(mx.nd.contrib.quantized_concat(a, b, *ends, num_args=2)[0].asnumpy())
    [[ 50 100]]
    """

    name = "_contrib_quantized_concat"
    variadic = "num_args"
    params: ClassVar[Params] = {
        "num_args": Param("int", doc="The number of tensors that are joined.", low=1, high=MOST),
        "dim": Param("int", 1, "The axis along which they are joined."),
    }

    @classmethod
    def count_inputs(cls, inputs: int) -> int:
        """Two of three inputs are ends of ranges."""
        return inputs // 3

    def list_arguments(self) -> list[str]:
        """The tensors, then the ends of each range."""
        numbers = range(self.attrs["num_args"])
        ends = [f"arg{i}_{end}" for i in numbers for end in ("min", "max")]
        return [*(f"arg{i}" for i in numbers), *ends]

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """As of tensors without ranges."""
        inferred, outs, _ = self._plain().infer_shape(known)
        return inferred, outs[0]

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """As of tensors without ranges."""
        n = self.attrs["num_args"]
        found = self._plain().infer_shape_backward(in_shapes[:n], out_shapes[:1])
        return [*found, *in_shapes[n:]]

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """Without sign if all are."""
        given = in_types[: self.attrs["num_args"]]
        if "int8" in given:
            return "int8"
        return None if None in given else "uint8"

    def _plain(self) -> Any:
        return make("Concat", self.attrs)


@register
class QuantizedEmbedding(Quantized):
    """The rows of a table with given numbers, in the range of the table.

    Formula: ``out[..., :] = weight[data[...], :]``; numbers are cut to ``0 ... input_dim - 1``.
    Shapes: ``weight`` is ``(input_dim, output_dim)``, ``out`` the shape of ``data`` and
    ``output_dim``, the ends of ranges are ``(1,)``. Types: int8; ``data`` any.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> table, ends = mx.nd.array([[0, 1], [2, 3]], dtype="int8"), [mx.nd.ones(1), mx.nd.ones(1)]
    >>> data, attrs = mx.nd.array([1]), {"input_dim": 2, "output_dim": 2}
    >>> print(mx.nd.contrib.quantized_embedding(data, table, *ends, **attrs)[0].asnumpy())
    [[2 3]]
    """

    name = "_contrib_quantized_embedding"
    arguments = ("data", "weight", "min_weight", "max_weight")
    dtypes: ClassVar[tuple[str, ...]] = ("int8",)
    argument_dtypes: ClassVar[Claims] = {"data": ALL_TYPES}
    params: ClassVar[Params] = Embedding.params

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """A vector for each number."""
        inferred, outs, _ = make("Embedding", self.attrs).infer_shape(known)
        return inferred, outs[0]

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output without its last axis."""
        out = out_shapes[0]
        data = merge_shapes(self.name, "data", in_shapes[0], out[:-1] if out else None)
        return [data, *in_shapes[1:]]

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """The type of the table."""
        return "int8"


@register
class QuantizedBatchNorm(Quantized):
    """Normalization of each channel by running statistics, then a learned scale and shift.

    Formula: the number that stands for ``gamma * (data - moving_mean) / sqrt(moving_var + eps) +
    beta``, of the real numbers that the data stand for, in the range ``min_calib_range`` to
    ``max_calib_range``, which must be given; rounded as in `quantize`. As in MXNet, the data count
    ``1 / sqrt(1 + eps)`` times, ``gamma`` whatever ``fix_gamma`` says, and channels are on axis 1.
    Shapes: ``data`` and ``out`` are ``(n, c, ...)``, the statistics ``(c,)``, the ends of ranges
    ``(1,)``. Types: int8 or uint8; ``out`` is int8, the statistics are float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, one, zero = mx.nd.array([[51]], dtype="int8"), mx.nd.ones((1,)), mx.nd.zeros((1,))
    >>> ends, given = [-one, one], {"min_calib_range": -2, "max_calib_range": 2, "eps": 0}
    >>> out = mx.nd.contrib.quantized_batch_norm(data, one, zero, zero, one, *ends, **given)
    >>> print(out[0].asnumpy())
    [[26]]
    """

    name = "_contrib_quantized_batch_norm"
    arguments = ("data", "gamma", "beta", "moving_mean", "moving_var", "min_data", "max_data")
    argument_dtypes: ClassVar[Claims] = dict.fromkeys(arguments[1:5], ("float32",))
    initializers: ClassVar[Mapping[str, str]] = BatchNorm.initializers
    params: ClassVar[Params] = BatchNorm.params

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if calibration(self) is None:
            raise InvalidArgumentError(
                f"{self.name}: attributes 'min_calib_range' and 'max_calib_range' must be given"
            )
        if self.attrs["axis"] != 1:
            raise InvalidArgumentError(
                f"{self.name}: attribute 'axis' must be 1, got {self.attrs['axis']}"
            )

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """A number of each kind for each channel."""
        data = known[0]
        if data is not None and len(data) < 2:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' has shape {data}, expected two dimensions or more"
            )
        channels: MaybeShape = None if data is None else (data[1],)
        for name, given in zip(self.arguments[1:5], known[1:], strict=True):
            channels = merge_shapes(self.name, name, given, channels)
        if data is not None and channels is not None:
            data = (data[0], channels[0], *data[2:])
        return [data, *[channels] * 4], data

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """With sign."""
        return "int8"

"""Numbers of eight bits for real ones, with the range that they stand for, and back.

A range is two tensors of one number, the least and the greatest real number; what counts is the
larger magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ..error import InvalidArgumentError
from .card import MaybeShape, OperatorProperty, merge_shapes, register
from .family import Types
from .param import Param, Params

__all__ = [
    "BYTES",
    "CALIBRATED",
    "CalibrateEntropy",
    "Dequantize",
    "Quantize",
    "QuantizeAsym",
    "QuantizeV2",
    "Quantized",
    "Requantize",
    "calibration",
]

Shapes = tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]
BYTES = ("int8", "uint8")
REAL = ("float32",)
CALIBRATED: Mapping[str, Param] = {
    f"{end}_calib_range": Param("float", None, f"The {word} real number, if known.", optional=True)
    for end, word in (("min", "least"), ("max", "greatest"))
}
_OUT_TYPE = Param("str", "int8", "The type of the numbers.", choices=("auto", *BYTES))


def calibration(card: OperatorProperty) -> tuple[float, float] | None:
    """The range that attributes say, if both ends do."""
    low, high = card.attrs["min_calib_range"], card.attrs["max_calib_range"]
    return None if low is None or high is None else (low, high)


class Quantized(OperatorProperty):
    """The base of operators on numbers with ranges, through which nothing flows back.

    Inputs that are ends of ranges have one number, in single precision, as the outputs behind the
    first one have.
    """

    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = BYTES

    def list_outputs(self) -> list[str]:
        """Numbers and their range."""
        return ["output", "min_output", "max_output"]

    def is_end(self, argument: str) -> bool:
        """Whether an argument is an end of a range."""
        return argument.startswith(("min_", "max_")) or argument.endswith(("_min", "_max"))

    def infer_shape(self, in_shapes: Sequence[MaybeShape]) -> Shapes:
        """Ends of ranges are one number each; the rest is :meth:`shapes`."""
        names = self.list_arguments()
        found = list(in_shapes)
        for i, name in enumerate(names):
            if self.is_end(name):
                found[i] = merge_shapes(self.name, name, found[i], (1,))
        data = [i for i, name in enumerate(names) if not self.is_end(name)]
        inferred, out = self.shapes([found[i] for i in data])
        for i, shape in zip(data, inferred, strict=True):
            found[i] = shape
        return found, [out, *[(1,)] * (len(self.list_outputs()) - 1)], []

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """The shapes of the arguments that are no ranges, and of the output."""
        shape: MaybeShape = None
        for name, given in zip(self.list_arguments(), known, strict=False):
            shape = merge_shapes(self.name, name, given, shape)
        return [shape] * len(known), shape

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The data have the shape of the output."""
        return [merge_shapes(self.name, "data", in_shapes[0], out_shapes[0]), *in_shapes[1:]]

    def infer_type(self, in_types: Sequence[str | None]) -> Types:
        """Types that can be no other; those of outputs as :meth:`made` says."""
        named = zip(self.list_arguments(), in_types, strict=True)
        found = [self._only(name, given) for name, given in named]
        return found, [self.made(found), *["float32"] * (len(self.list_outputs()) - 1)], []

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """The type of the output."""
        return in_types[0]

    def _claimed(self, argument: str) -> tuple[str, ...]:
        return REAL if self.is_end(argument) else super()._claimed(argument)

    def _only(self, name: str, given: str | None) -> str | None:
        claimed = self._claimed(name)
        return claimed[0] if given is None and len(claimed) == 1 else given


class Numbered(Quantized):
    """The base of those that make numbers of a range; MXNet numbers their outputs."""

    dtypes: ClassVar[tuple[str, ...]] = REAL

    def list_outputs(self) -> list[str]:
        """Numbers and their range."""
        return ["output0", "output1", "output2"]

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """What ``auto`` stands for depends on the range."""
        if self.attrs["out_type"] != "auto":
            return self.attrs["out_type"]
        known = calibration(self)
        return "uint8" if known is not None and known[0] >= 0 else "int8"


@register
class Quantize(Numbered):
    """Real numbers as whole ones in eight bits, for a range.

    Formula: ``out0 = data * levels / max(|min_range|, |max_range|)``, rounded to the nearest whole
    number, halves to even, and cut to what the type holds, with 127 levels for int8 and 255 for
    uint8, as MXNet with oneDNN; 0 where that is not defined. ``out1`` and ``out2`` are the range:
    of int8 the larger magnitude on both sides.
    Shapes: ``out0`` has the shape of ``data``, all others are ``(1,)``. Types: float32; ``out0``
    has ``out_type``.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, low, high = mx.nd.array([-1, 0.25, 2]), mx.nd.array([-2]), mx.nd.array([2])
    >>> out = mx.nd.contrib.quantize(data, low, high, out_type="int8")
    >>> print(out[0].asnumpy(), out[1].asnumpy(), out[2].asnumpy())
    [-64  16 127] [-2.] [2.]
    """

    name = "_contrib_quantize"
    arguments = ("data", "min_range", "max_range")
    params: ClassVar[Params] = {
        "out_type": Param("str", "uint8", "The type of the numbers.", choices=BYTES)
    }


@register
class QuantizeV2(Numbered):
    """Real numbers as whole ones in eight bits, for a range that is given or that they have.

    Formula: that of `quantize`, with the range ``min_calib_range`` to ``max_calib_range`` if both
    are given, else that of the data, and 127.5 or 255.5 levels. ``out_type="auto"`` is uint8 for a
    given range without negative numbers, else int8. Data in eight bits stay as they are, bit by
    bit, with the range that is given, or all that their type holds.
    Shapes: ``out0`` has the shape of ``data``, all others are ``(1,)``. Types: float32, int8 or
    uint8; ``out0`` has ``out_type``.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> out = mx.nd.contrib.quantize_v2(mx.nd.array([-1, 0.25, 2]))
    >>> print(out[0].asnumpy(), out[1].asnumpy(), out[2].asnumpy())
    [-64  16 127] [-2.] [2.]
    """

    name = "_contrib_quantize_v2"
    dtypes: ClassVar[tuple[str, ...]] = (*REAL, *BYTES)
    params: ClassVar[Params] = {"out_type": _OUT_TYPE, **CALIBRATED}


@register
class QuantizeAsym(Quantized):
    """Real numbers as whole ones from 0 to 255, by a factor and a shift.

    Formula: ``out = data * scale + shift + 0.5``, cut to a whole number that uint8 holds, with
    ``scale = 255 / (max - min)`` and ``shift = 255 - max * scale``, for the range that both
    attributes say, else that of the data.
    Shapes: ``out`` has the shape of ``data``, ``scale`` and ``shift`` are ``(1,)``. Types: float32;
    ``out`` is uint8.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> out = mx.nd.contrib.quantize_asym(mx.nd.array([-1, 0, 4]))
    >>> print(out[0].asnumpy(), out[1].asnumpy(), out[2].asnumpy())
    [  0  51 255] [51.] [51.]
    """

    name = "_contrib_quantize_asym"
    dtypes: ClassVar[tuple[str, ...]] = REAL
    params: ClassVar[Params] = CALIBRATED

    def list_outputs(self) -> list[str]:
        """Numbers, factor and shift."""
        return ["output", "scale", "shift"]

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """Numbers from 0 on."""
        return "uint8"


@register
class Dequantize(Quantized):
    """The real numbers that whole ones of a range stand for.

    Formula: ``out = data * max(|min_range|, |max_range|) / levels``, with 127.5 levels for int8 and
    255.5 for uint8. Shapes: ``out`` has the shape of ``data``, the others are ``(1,)``. Types: int8
    or uint8; ``out`` and the range are float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data = mx.nd.array([-51, 102], dtype="int8")
    >>> print(mx.nd.contrib.dequantize(data, mx.nd.array([-2.5]), mx.nd.array([2.5])).asnumpy())
    [-1.  2.]
    """

    name = "_contrib_dequantize"
    arguments = ("data", "min_range", "max_range")
    params: ClassVar[Params] = {
        "out_type": Param("str", "float32", "The type of the real numbers.", choices=REAL)
    }

    def list_outputs(self) -> list[str]:
        """Real numbers."""
        return ["output"]

    def made(self, in_types: Sequence[str | None]) -> str | None:
        """Real numbers."""
        return "float32"


@register
class Requantize(Numbered):
    """Whole numbers in 32 bits of one range as those in eight bits of another one.

    Formula: ``out0 = data * (r / 2 ** 31) * most / s``, rounded and cut as in `quantize`, where
    ``r`` is the larger magnitude of the range of the data and ``s`` that of ``min_calib_range`` and
    ``max_calib_range`` if both are given, else that of the real numbers that the data stand for;
    ``most`` is 127 for int8 and 255 for uint8. The range is ``-s`` to ``s``, without sign 0 to
    ``s``.
    Shapes: ``out0`` has the shape of ``data``, all others are ``(1,)``. Types: int32; ``out0`` has
    ``out_type``.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> data, low, high = mx.nd.array([-3, 6], dtype="int32"), mx.nd.array([-1]), mx.nd.array([1])
    >>> print(mx.nd.contrib.requantize(data, low, high)[0].asnumpy())
    [-64 127]
    """

    name = "_contrib_requantize"
    arguments = ("data", "min_range", "max_range")
    dtypes: ClassVar[tuple[str, ...]] = ("int32",)
    params: ClassVar[Params] = {"out_type": _OUT_TYPE, **CALIBRATED}


@register
class CalibrateEntropy(Quantized):
    """The threshold that loses least when numbers with a histogram are put into few bins.

    Formula: for each number of bins around the middle one, the counts beyond are added to the ends,
    and those bins are merged into ``num_quantized_bins`` and spread again over the bins that have
    any. The least divergence ``sum(p * log(p / q))`` of both, smoothed, is the second output, and
    the edge of those bins the first one.
    Shapes: ``hist`` is ``(n,)``, ``hist_edges`` ``(n + 1,)``, the outputs ``(1,)``. Types: float32.
    Gradient: none, nothing flows back.

    Examples
    --------
    >>> hist, edges = mx.nd.array([0, 4, 9, 4, 0]), mx.nd.array([-5, -3, -1, 1, 3, 5])
    >>> print(mx.nd.contrib.calibrate_entropy(hist, edges, num_quantized_bins=3)[0].asnumpy())
    [3.]
    """

    name = "_contrib_calibrate_entropy"
    arguments = ("hist", "hist_edges")
    dtypes: ClassVar[tuple[str, ...]] = REAL
    params: ClassVar[Params] = {
        "num_quantized_bins": Param("int", 255, "The bins of the result.", low=1)
    }

    def list_outputs(self) -> list[str]:
        """Both numbers."""
        return ["threshold", "divergence"]

    def shapes(self, known: Sequence[MaybeShape]) -> tuple[Sequence[MaybeShape], MaybeShape]:
        """One edge more than bins."""
        hist, edges = known
        if hist is not None and hist[:1] not in ((), (-1,)):
            edges = merge_shapes(self.name, "hist_edges", edges, (hist[0] + 1,))
        edges = merge_shapes(self.name, "hist_edges", edges, (-1,)) or (-1,)
        bins = edges[0] - 1 if edges[0] > 0 else -1
        hist = merge_shapes(self.name, "hist", hist, (bins,))
        least = self.attrs["num_quantized_bins"]
        if 0 <= bins < least or edges[0] == 0:
            raise InvalidArgumentError(
                f"{self.name}: argument 'hist' has {bins} bins, fewer than "
                f"num_quantized_bins={least}"
            )
        return [hist, edges], (1,)

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """The outputs are one number each, whatever the histogram."""
        return list(in_shapes)

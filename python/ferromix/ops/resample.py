"""Images of another size, made of weighted sums of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ..error import InvalidArgumentError
from ..literal import MOST
from .card import Entry, GradientGraph, MaybeShape, Shape, merge_shapes, register
from .composed import Composed
from .family import FLOATS, Backward
from .linear import Back, Linear
from .param import Param, Params
from .shapes import require_rank
from .term import Term

__all__ = ["AdaptiveAvgPooling2D", "BilinearResize2D", "UpSampling"]

_LAYOUT = "NCHW"


class Resampling(Linear):
    """The base of operators that give images another size, which `_extents` says."""

    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The images and channels of the data, with other extents."""
        data = in_shapes[0]
        if data is None:
            return list(in_shapes), [(-1, -1, *self._extents((-1, -1), in_shapes))], []
        require_rank(self.name, "data", data, 4, _LAYOUT)
        extents = self._extents(data[2:], in_shapes)
        if 0 in data[2:] and 0 not in extents:
            raise InvalidArgumentError(
                f"{self.name}: argument 'data' of shape {data} has nothing to make images of"
            )
        return list(in_shapes), [(*data[:2], *extents)], []

    def infer_shape_backward(
        self, in_shapes: Sequence[MaybeShape], out_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        """Images and channels from the output."""
        out = out_shapes[0]
        if out is None or len(out) != 4:
            return list(in_shapes)
        known = (*out[:2], *self._extents_before(out))
        return [merge_shapes(self.name, "data", in_shapes[0], known), *in_shapes[1:]]

    def _extents(self, data: Shape, in_shapes: Sequence[MaybeShape]) -> Shape:
        """Height and width of the output, from those of the data."""
        raise NotImplementedError

    def _extents_before(self, out: Shape) -> Shape:
        """Height and width of the data, from the output."""
        return (-1, -1)


_SCALE = Param("int", doc="How many times as high and as wide the first input becomes.", low=1)


@register
class UpSampling(Composed):
    """Images several times as high and as wide.

    Formula: ``out[n, c, y, x] = data[n, c, y // scale, x // scale]`` for ``"nearest"``;
    ``"bilinear"`` is the Deconvolution of each channel with its ``weight``, of stride ``scale``,
    kernel ``2 * scale - scale % 2`` and padding ``scale // 2``. Further inputs, of
    ``"nearest"`` alone, become as large as the first, and follow in the channels, or are added.
    Shapes: inputs are ``(n, c, h, w)``, ``out`` is ``(n, c', scale * h, scale * w)`` with the
    first one's extents; the others' divide these. ``weight`` is ``(c, 1, kernel, kernel)``.
    Types: floats; for ``"bilinear"``, float32 and float64.
    Gradient: ``out_grad`` summed over what an element has become; that of Deconvolution.

    Examples
    --------
    >>> data = mx.nd.array([[[[1, 2]]]])
    >>> print(mx.nd.UpSampling(data, scale=2, sample_type="nearest").asnumpy())
    [[[[1. 1. 2. 2.]
       [1. 1. 2. 2.]]]]
    """

    name = "UpSampling"
    variadic = "num_args"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    operands = "elemwise"
    initializers: ClassVar[Mapping[str, str]] = {"weight": '["bilinear", {}]'}
    params: ClassVar[Params] = {
        "scale": _SCALE,
        "num_filter": Param("int", 0, "The number of channels, for bilinear.", low=0),
        "sample_type": Param("str", doc="How samples are made.", choices=("nearest", "bilinear")),
        "multi_input_mode": Param(
            "str", "concat", "What becomes of several inputs.", choices=("concat", "sum")
        ),
        "num_args": Param("int", 1, "The number of inputs.", low=1, high=MOST),
        "workspace": Param("int", 512, "A bound on scratch memory in MB; of no effect.", low=0),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        if self._bilinear() and not self.attrs["num_filter"]:
            raise InvalidArgumentError(
                f"{self.name}: sample_type=bilinear needs the attribute 'num_filter': the number "
                "of channels"
            )

    def _bilinear(self) -> bool:
        return self.attrs["sample_type"] == "bilinear"

    def list_arguments(self) -> list[str]:
        """The data, and the weights of a bilinear kernel."""
        if self._bilinear():
            return ["data", "weight"]
        count = self.attrs["num_args"]
        return ["data"] if count == 1 else [f"arg{i}" for i in range(count)]

    def forward(self, data: Term, *rest: Term) -> Term:
        """A Deconvolution, or every input enlarged."""
        scale, channels = self.attrs["scale"], self.attrs["num_filter"]
        if self._bilinear():
            sizes = {"kernel": 2 * scale - scale % 2, "stride": scale, "pad": scale // 2}
            pairs = {name: (n, n) for name, n in sizes.items()}
            groups = {"num_filter": channels, "num_group": channels}
            return data.op("Deconvolution", *rest, **pairs, **groups, no_bias=True)
        first = data.op("_nearest_upsampling", scale=scale)
        if not rest:
            return first
        whole = [first, *(t.op("_nearest_upsampling", first, scale=0) for t in rest)]
        if self.attrs["multi_input_mode"] == "sum":
            return first.op("add_n", *whole[1:], num_args=len(whole))
        return first.op("Concat", *whole[1:], dim=1, num_args=len(whole))


@register
class NearestUpsampling(Resampling):
    """Images of which each sample is repeated: `scale` times, or to the size of others."""

    name = "_nearest_upsampling"
    hidden = True
    back = "_backward_nearest_upsampling"
    params: ClassVar[Params] = {"scale": Param("int", doc="How many times; 0: `like` says.", low=0)}

    def list_arguments(self) -> list[str]:
        """The data, and what they shall be as large as."""
        return ["data"] if self.attrs["scale"] else ["data", "like"]

    def _extents(self, data: Shape, in_shapes: Sequence[MaybeShape]) -> Shape:
        scale = self.attrs["scale"]
        if scale:
            return tuple(-1 if n < 0 else n * scale for n in data)
        like = in_shapes[1]
        if like is None:
            return (-1, -1)
        require_rank(self.name, "like", like, 4, _LAYOUT)
        for n, m in zip(data, like[2:], strict=True):
            if n == 0 or (n > 0 and m >= 0 and m % n):
                raise InvalidArgumentError(
                    f"UpSampling: inputs of {data} rows and columns do not divide {like[2:]}"
                )
        return like[2:]

    def _extents_before(self, out: Shape) -> Shape:
        scale = self.attrs["scale"]
        return tuple(-1 if n < 0 or not scale or n % scale else n // scale for n in out[2:])

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The way back; the size has none."""
        found = graph.op(self.back, graph.out_grad[0], graph.in_data[0])
        return [found[0], *[None] * (len(graph.in_data) - 1)]


@register
class BackwardNearestUpsampling(Back):
    """``out_grad`` summed over what each sample has become."""

    name = "_backward_nearest_upsampling"
    forward = "_nearest_upsampling"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The repetition, to the size of what flowed back."""
        pair = (graph.out_grad[0], graph.in_data[0])
        return [graph.op(self.forward, *pair, scale=0)[0], None]


@register
class AdaptiveAvgPooling2D(Resampling):
    """The means over as many windows as are wanted, which cover images evenly.

    Formula: ``out[n, c, y, x]`` is the mean of the rows ``floor(y * h / h')`` to
    ``ceil((y + 1) * h / h')``, the latter excluded, and of the columns likewise.
    Shapes: ``data`` is ``(n, c, h, w)``, ``out`` ``(n, c, h', w')``; ``output_size`` is one number
    for both, or ``(h', w')``, or otherwise 1. Types: floats; halves are computed in float32.
    Gradient: ``out_grad`` divided by the size of its window, summed over the windows with an
    element.

    Examples
    --------
    >>> data = mx.nd.array([[[[1, 2, 3, 4]]]])
    >>> print(mx.nd.contrib.AdaptiveAvgPooling2D(data, output_size=(1, 2)).asnumpy())
    [[[[1.5 3.5]]]]
    """

    name = "_contrib_AdaptiveAvgPooling2D"
    back = "_backward_contrib_AdaptiveAvgPooling2D"
    params: ClassVar[Params] = {
        "output_size": Param("axis", (), "Height and width of the output, or one number for both.")
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        size = self.attrs["output_size"]
        size = (size,) if isinstance(size, int) else size
        self.attrs["output_size"] = size * 2 if len(size) == 1 else size
        if any(n < 0 for n in size):
            raise InvalidArgumentError(
                f"{self.name}: attribute 'output_size' must be ints >= 0, got {size}"
            )

    def _extents(self, data: Shape, in_shapes: Sequence[MaybeShape]) -> Shape:
        size = self.attrs["output_size"]
        return size if len(size) == 2 else (1, 1)


@register
class BackwardAdaptiveAvgPooling2D(Back):
    """The gradient of AdaptiveAvgPooling2D."""

    name = "_backward_contrib_AdaptiveAvgPooling2D"
    forward = "_contrib_AdaptiveAvgPooling2D"
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = AdaptiveAvgPooling2D.params


def _scaled(n: int, scale: float) -> int:
    return int(n * scale)


_MODES: Mapping[str, Callable[[int, float], int]] = {
    "odd_scale": lambda n, scale: int((n - 1) * scale) + 1 if n % 2 else _scaled(n, scale),
    "to_even_down": lambda n, _: n - n % 2,
    "to_even_up": lambda n, _: n + n % 2,
    "to_odd_down": lambda n, _: n - 1 + n % 2,
    "to_odd_up": lambda n, _: n + 1 - n % 2,
}


@register
class BilinearResize2D(Resampling):
    """Images of another size, with straight lines between samples.

    Formula: ``out[n, c, y, x]`` lies between the four samples around row ``y * (h - 1) /
    (h' - 1)`` of ``data``, or, without ``align_corners``, row ``(y + 0.5) * h / h' - 0.5`` or 0,
    and the column likewise; where ``h'`` is 1, row 0.
    Shapes: ``data`` is ``(n, c, h, w)``, ``out`` ``(n, c, h', w')``. ``"size"``: ``h'`` is
    ``height``, or ``h * scale_height`` where there are scales. ``"odd_scale"``: as scaled, but
    ``(h - 1) * scale_height + 1`` for an odd ``h``. ``"like"``: as high and wide as the second
    input. ``"to_even_down"`` and the like: the nearest such number. Types: floats; halves are
    computed in float32.
    Gradient: ``out_grad``, as far as an element has part in each sample; none for ``like``.

    Examples
    --------
    >>> data = mx.nd.array([[[[0, 1], [2, 3]]]])
    >>> print(mx.nd.contrib.BilinearResize2D(data, height=2, width=3).asnumpy())
    [[[[0.  0.5 1. ]
       [2.  2.5 3. ]]]]
    """

    name = "_contrib_BilinearResize2D"
    back = "_backward_contrib_BilinearResize2D"
    arguments = ("data", "like")
    params: ClassVar[Params] = {
        "height": Param("int", 1, "The height, unless scales or the mode decide.", low=1),
        "width": Param("int", 1, "The width, unless scales or the mode decide.", low=1),
        "scale_height": Param("float", None, "The factor of the height.", optional=True),
        "scale_width": Param("float", None, "The factor of the width.", optional=True),
        "mode": Param(
            "str", "size", "What decides on the size.", choices=("size", "like", *_MODES)
        ),
        "align_corners": Param("bool", True, "Whether corners stay where they are."),
    }

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        mode = self.attrs["mode"]
        missing = [s is None for s in self._scales()]
        wanted = mode == "odd_scale" or (mode == "size" and not all(missing))
        if wanted and any(missing):
            raise InvalidArgumentError(
                f"{self.name}: mode={mode} needs both attributes 'scale_height' and 'scale_width'"
            )

    def list_arguments(self) -> list[str]:
        """The second input is for one mode."""
        return ["data", "like"] if self.attrs["mode"] == "like" else ["data"]

    def _scales(self) -> tuple[Any, Any]:
        return self.attrs["scale_height"], self.attrs["scale_width"]

    def _extents(self, data: Shape, in_shapes: Sequence[MaybeShape]) -> Shape:
        mode, scales = self.attrs["mode"], self._scales()
        if mode == "like":
            like = in_shapes[1]
            if like is None:
                return (-1, -1)
            require_rank(self.name, "like", like, 4, _LAYOUT)
            return like[2:]
        if mode == "size" and scales[0] is None:
            return (self.attrs["height"], self.attrs["width"])
        rule = _MODES.get(mode, _scaled)
        found = tuple(-1 if n < 0 else rule(n, s) for n, s in zip(data, scales, strict=True))
        if any(n >= 0 > m for n, m in zip(data, found, strict=True)):
            raise InvalidArgumentError(
                f"{self.name}: mode={mode} with scales {scales} of {data} rows and columns gives "
                f"{found}"
            )
        return found


@register
class BackwardBilinearResize2D(Backward):
    """The gradient of BilinearResize2D."""

    name = "_backward_contrib_BilinearResize2D"
    differentiable = True
    dtypes: ClassVar[tuple[str, ...]] = FLOATS
    params: ClassVar[Params] = BilinearResize2D.params

    def ignored_inputs(self) -> list[int]:
        """The data give their shape only."""
        return [1]

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The operator, to the size of what flowed back."""
        attrs = {"mode": "like", "align_corners": self.attrs["align_corners"]}
        pair = (graph.out_grad[0], graph.in_data[0])
        return [graph.op("_contrib_BilinearResize2D", *pair, **attrs)[0], None]

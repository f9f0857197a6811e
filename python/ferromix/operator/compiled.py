"""Operators of compiled functions, by address: the engine's workers call them, without Python.

An address comes from ``ctypes`` (:func:`address_of`), or is the ``.address`` of a Numba ``cfunc``.
What a function must look like is in docs/custom-operators.md; that it does, is the user's word.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from ..base import as_int
from ..error import ArgumentTypeError, InvalidArgumentError
from ..literal import brief, integer, members
from ..ops import card
from ..ops.card import Entry, GradientGraph, MaybeShape
from ..ops.param import DTYPES, Param
from .checks import names_of, require_attributes, require_name

__all__ = ["CompiledOp", "ScalarFunction", "address_of", "mapped_card"]

_MOST = 4
_NUMBERS = ("float32", "float64", "float16", "uint8", "int8", "int32", "int64")


def address_of(function: Any) -> int:
    """The address of a compiled function.

    Parameters
    ----------
    function
        An address, something with an ``address`` such as a Numba ``cfunc``, or a function pointer
        of ctypes.

    Raises
    ------
    ArgumentTypeError
        For anything else, Python functions included.

    Examples
    --------
    >>> import ctypes, ctypes.util
    >>> from ferromix.operator import address_of
    >>> libm = ctypes.CDLL(ctypes.util.find_library("m"))
    >>> address_of(libm.cos) > 0
    True
    """
    address = getattr(function, "address", function)
    if isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        address = ctypes.cast(function, ctypes.c_void_p).value
    if isinstance(address, bool) or not isinstance(address, int):
        raise ArgumentTypeError(
            "expected the address of a compiled function, a Numba cfunc or a function pointer of "
            f"ctypes, got {brief(function)}"
        )
    return as_int("an address", address, 1, 2**63 - 1)


@dataclass(frozen=True)
class ScalarFunction:
    """A compiled function of numbers, to be called for each element.

    Parameters
    ----------
    function
        What :func:`address_of` takes: ``double f(double, ...)``, or of floats. Whoever makes it has
        to keep it.
    dtype
        ``"float64"`` or ``"float32"``: the type of its arguments and of its result. Elements of
        other types are converted.
    """

    function: Any
    dtype: Literal["float32", "float64"] = "float64"
    address: int = field(init=False)

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float64"):
            raise InvalidArgumentError(
                f"ScalarFunction: dtype must be float32 or float64, got {brief(self.dtype)}"
            )
        object.__setattr__(self, "address", address_of(self.function))


class _Mapped(card.OperatorProperty):
    """A function of numbers over elements."""

    function: ClassVar[ScalarFunction]
    kernel: ClassVar[str | None] = "_map_address"
    dtypes: ClassVar[tuple[str, ...]] = _NUMBERS
    inplace: ClassVar[Sequence[tuple[int, int]]] = ()

    def scalars(self) -> list[float]:
        """The numbers after those of the inputs."""
        return [float(value) for value in self.attrs.values()]

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """What the kernel reads."""
        single = self.function.dtype == "float32"
        return {
            "address": self.function.address,
            "scalars": tuple(self.scalars()),
            "single": single,
        }

    def inplace_options(self) -> list[tuple[int, int]]:
        """As it was said."""
        return list(self.inplace)


def mapped_card(
    name: str,
    arguments: tuple[str, ...],
    function: ScalarFunction,
    gradients: tuple[ScalarFunction, ...] | None,
    kind: str | None,
    params: Mapping[str, Param],
    doc: str,
    forward_inplace: Sequence[tuple[int, int]],
    backward_inplace: Sequence[tuple[int, int]],
) -> type[card.OperatorProperty]:
    """The card of a simple operator whose function is compiled.

    Raises
    ------
    InvalidArgumentError
        More numbers for a call than a function may take, or gradients of another number of inputs.
    """
    numbers = [p for p in params.values() if p.kind not in ("int", "float", "bool")]
    if numbers:
        raise InvalidArgumentError(f"{name}: attributes of a compiled function must be numbers")
    _require_count(name, "function", len(arguments) + len(params))
    reads = 1 + {"T1": 1, "T2": len(arguments)}.get(kind or "", 0)
    backs: list[type[_Mapped]] = []
    for i, one in enumerate(gradients or ()):
        _require_count(name, "gradient", reads + len(params))
        fields = {
            "name": f"_backward_{name}{i or ''}",
            "function": one,
            "params": params,
            "arguments": tuple(f"arg{k}" for k in range(reads)),
            "inplace": backward_inplace if i == 0 else (),
            "hidden": True,
            "differentiable": False,
        }
        backs.append(type(f"{name}Backward{i}", (_Mapped,), fields))
    if gradients is not None and len(backs) != len(arguments):
        raise InvalidArgumentError(
            f"{name}: needs a gradient for each of its {len(arguments)} inputs, got {len(backs)}"
        )

    def gradient(self: Any, graph: GradientGraph) -> list[Entry | None]:
        rest = {"T1": graph.out_data[:1], "T2": graph.in_data}.get(kind or "", ())
        inputs = [graph.out_grad[0], *rest]
        return [graph.op(back(**self.given), *inputs)[0] for back in backs]

    fields = {
        "name": name,
        "function": function,
        "params": params,
        "arguments": arguments,
        "inplace": forward_inplace,
        "differentiable": gradients is not None,
        "gradient": gradient,
        "__doc__": doc,
    }
    return type(name, (_Mapped,), fields)


def _require_count(name: str, what: str, count: int) -> None:
    if not 1 <= count <= _MOST:
        raise InvalidArgumentError(
            f"{name}: a compiled {what} takes 1 to {_MOST} numbers, attributes included, "
            f"got {count}"
        )


class CompiledOp:
    """An operator of a compiled function over whole arrays.

    The function is ``int64_t f(void **data, const int64_t *ndim, const int64_t **shape, const
    double *scalars)``: the addresses of the inputs, then of the outputs, their numbers of axes and
    their extents, in C order, and the attributes. It writes the outputs, and returns 0, or a number
    that the error will tell.

    Parameters
    ----------
    name
        What the functions of ``mx.nd`` and ``mx.sym`` are called.
    function
        What :func:`address_of` takes.
    arguments, outputs
        The names of the inputs and of the outputs.
    dtype
        The element type of all of them.
    infer_shape
        The shapes of the outputs, a list, from those of the inputs; by default that of the first.
    scalars
        Attributes that are numbers, with their defaults; the function gets them in this order.
    gradient
        Another function, of the gradients of the outputs, then the inputs, then the outputs, which
        writes the gradients of the inputs.
    doc
        The documentation of the functions.

    Raises
    ------
    InvalidArgumentError
        A name that is taken, or no identifier; an unknown type.
    """

    def __init__(
        self,
        name: str,
        function: Any,
        arguments: Sequence[str] = ("data",),
        outputs: Sequence[str] = ("output",),
        dtype: str = "float32",
        infer_shape: Callable[..., Sequence[Sequence[int]]] | None = None,
        scalars: Mapping[str, float] | None = None,
        gradient: Any = None,
        doc: str = "",
    ) -> None:
        require_name("CompiledOp", name)
        if dtype not in DTYPES:
            raise InvalidArgumentError(
                f"CompiledOp {name}: dtype must be one of {', '.join(DTYPES)}, got {brief(dtype)}"
            )
        where = f"CompiledOp {name}"
        self.name = name
        self.outputs = list(names_of(where, "outputs", outputs, 1))
        arguments = names_of(where, "arguments", arguments, 1)
        if infer_shape is not None and not callable(infer_shape):
            raise ArgumentTypeError(
                f"{where}: infer_shape must be callable, got {brief(infer_shape)}"
            )
        self.shapes = infer_shape
        self.address = address_of(function)
        self.kept = (function, gradient)
        params = _scalars(where, scalars, arguments)
        fields: dict[str, Any] = {
            "of": self,
            "name": name,
            "arguments": tuple(arguments),
            "dtypes": (dtype,),
            "params": params,
            "differentiable": gradient is not None,
            "__doc__": str(doc) or f"The compiled operator {name}.",
        }
        self.back = None if gradient is None else address_of(gradient)
        card.register(type(name, (_Whole,), fields))


def _scalars(where: str, scalars: Any, arguments: Sequence[str]) -> dict[str, Param]:
    """The attributes of a compiled function, from names and defaults."""
    if scalars is not None and not isinstance(scalars, Mapping):
        raise ArgumentTypeError(f"{where}: scalars must be a dict of numbers, got {brief(scalars)}")
    found = {}
    for name, value in (scalars or {}).items():
        if not isinstance(value, (int, float, np.number)):
            raise InvalidArgumentError(
                f"{where}: scalars must be numbers, got {brief(name)}: {brief(value)}"
            )
        found[name] = Param("float", float(value), "A number.")
    require_attributes(where, "scalars", found, arguments)
    return found


class _Whole(card.OperatorProperty):
    """A compiled function over whole arrays."""

    of: ClassVar[CompiledOp]
    kernel: ClassVar[str | None] = "_call_address"

    def list_outputs(self) -> list[str]:
        """As it was said."""
        return self.of.outputs

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """What the user's function says."""
        unknown = any(s is None or min(s, default=0) < 0 for s in in_shapes)
        if unknown or not in_shapes:
            return list(in_shapes), [None] * len(self.of.outputs), []
        if self.of.shapes is None:
            return list(in_shapes), [in_shapes[0]] * len(self.of.outputs), []
        return list(in_shapes), self._asked(self.of.shapes, in_shapes), []

    def _asked(
        self, infer: Callable[..., Any], in_shapes: Sequence[MaybeShape]
    ) -> list[MaybeShape]:
        count = len(self.of.outputs)
        try:
            given = infer(*in_shapes)
        except Exception as error:
            raise InvalidArgumentError(
                f"{self.name}: infer_shape raised {type(error).__name__}: {error}"
            ) from error
        try:
            found = [members(list(shape), integer) for shape in given]
        except (TypeError, ValueError, OverflowError):
            found = []
        if len(found) != count or any(extent < 0 for shape in found for extent in shape):
            raise InvalidArgumentError(
                f"{self.name}: infer_shape must return a list of {count} shapes, tuples of ints, "
                f"returned {brief(given)}"
            )
        return list(found)

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """What the kernel reads."""
        return {"address": self.of.address, "scalars": tuple(self.attrs.values())}

    def gradient(self, graph: GradientGraph) -> list[Entry | None]:
        """The user's other function."""
        inputs = [*graph.out_grad, *graph.in_data, *graph.out_data]
        return list(graph.op(_WholeBackward(self), *inputs))


class _WholeBackward(card.OperatorProperty):
    """The gradient of a compiled function."""

    hidden: ClassVar[bool] = True
    differentiable: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = DTYPES
    kernel: ClassVar[str | None] = "_call_address"

    def __init__(self, forward: _Whole) -> None:
        super().__init__()
        self.name = f"_backward_{forward.name}"  # type: ignore[misc] - one for each operator
        self.forward = forward

    def list_arguments(self) -> list[str]:
        """Gradients of the outputs, inputs, outputs."""
        outs = self.forward.list_outputs()
        return [*(f"{n}_grad" for n in outs), *self.forward.list_arguments(), *outs]

    def list_outputs(self) -> list[str]:
        """The gradients of the inputs."""
        return [f"{n}_grad" for n in self.forward.list_arguments()]

    def infer_shape(
        self, in_shapes: Sequence[MaybeShape]
    ) -> tuple[list[MaybeShape], list[MaybeShape], list[MaybeShape]]:
        """The gradients have the shapes of the inputs."""
        first = len(self.forward.list_outputs())
        return list(in_shapes), list(in_shapes[first : first + len(self.list_outputs())]), []

    def kernel_attrs(self, is_train: bool) -> dict[str, Any]:
        """What the kernel reads."""
        return {"address": self.forward.of.back, "scalars": tuple(self.forward.attrs.values())}

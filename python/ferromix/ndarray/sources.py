"""Functions of the operators without inputs, whose results `out` and `ctx` tell more about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..context import current_context, spelled
from ..error import ArgumentTypeError
from ..ops import call
from ..ops.card import OperatorProperty, make
from .ndarray import NDArray, invoke

__all__ = ["fill", "source", "target"]


def source(
    name: str, operator: type[OperatorProperty], plain: Callable[..., Any]
) -> Callable[..., Any]:
    """The function of an operator without inputs.

    Parameters
    ----------
    name
        What the function is called.
    operator
        The card.
    plain
        The core's function, which knows neither `out` nor `ctx`, but is fast.
    """
    before = list(operator.params).index("ctx")

    def run(*args: Any, **kwargs: Any) -> Any:
        out, context = kwargs.get("out"), kwargs.get("ctx")
        if out is None and len(args) <= before and _is_common(context):
            kwargs.pop("ctx", None)
            return plain(*args, **kwargs)
        kwargs.pop("out", None)
        kwargs.pop("name", None)
        given = [
            "" if value is None and place == before else value for place, value in enumerate(args)
        ]
        made, _ = call.bind(operator, *spelled(given, kwargs), _no_array)
        if out is None:
            return invoke(made, [])[0]
        return fill(made, target(operator.name, out))

    run.__name__ = run.__qualname__ = name
    run.__module__ = "ferromix.ndarray"
    run.__doc__ = call.describe(operator)
    run.__signature__ = call.signature(operator, extra=("out", "name"))  # type: ignore[attr-defined]
    return run


def target(name: str, out: Any) -> NDArray:
    """The one array that `out` is, or holds.

    Raises
    ------
    ArgumentTypeError
        For anything else.
    """
    (found,) = out if isinstance(out, (list, tuple)) and len(out) == 1 else (out,)
    if not isinstance(found, NDArray):
        raise ArgumentTypeError(f"{name}: out must be an NDArray, got {type(out).__name__}")
    return found


def fill(card: OperatorProperty, out: NDArray) -> NDArray:
    """Runs an operator without inputs into `out`, which gives what the attributes leave open.

    Raises
    ------
    InvalidArgumentError
        Where the attributes say something else than `out`.
    """
    attrs = dict(card.given)
    if "shape" in card.params:
        attrs["shape"] = _completed(card.given.get("shape"), out.shape)
    if card.attrs.get("dtype") is None:
        attrs["dtype"] = out.dtype_name
    return invoke(make(card.name, attrs), [], out)[0]


def _is_common(context: Any) -> bool:
    """Whether it is certain, and quickly found out, that the result lies on the current device."""
    return context is None or context == current_context()


def _completed(shape: Sequence[int] | None, known: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with what is open, as 0 and -1 are in MXNet, from the shape that is there."""
    if not shape:
        return known
    if len(shape) != len(known):
        return tuple(shape)
    return tuple(
        there if extent in (0, -1) else extent for extent, there in zip(shape, known, strict=True)
    )


def _no_array(_: object) -> bool:
    return False

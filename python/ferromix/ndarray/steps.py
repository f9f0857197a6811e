"""The steps of optimizers that MXNet has in ``mx.nd.contrib`` with signatures of their own: AdamW's
scale of the gradient may be a number, and steps of several weights take a list of each input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..error import ArgumentTypeError
from ..ops.steps import adamw_steps
from .creation import full
from .function import function
from .ndarray import NDArray

__all__ = [
    "adamw_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]

Arrays = Sequence[NDArray]


def scale(rescale_grad: NDArray | float, like: NDArray) -> NDArray:
    """The factor of the gradient as an array of one float32, where `like` is."""
    if not isinstance(like, NDArray):
        raise ArgumentTypeError(f"weights must be NDArrays, got {type(like).__name__}")
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return full((1,), rescale_grad, ctx=like.context)


def in_turn(name: str, lists: dict[str, Arrays]) -> list[NDArray]:
    """The first of each list, the second of each, and so on.

    Raises:
        ValueError: The lists differ in length, or are empty.
    """
    lengths = {what: len(arrays) for what, arrays in lists.items()}
    if len(set(lengths.values())) != 1 or not min(lengths.values()):
        told = ", ".join(f"{n} {what}" for what, n in lengths.items())
        raise ValueError(f"{name}: lists of as many arrays each, at least one, not {told}")
    return [array for group in zip(*lists.values(), strict=True) for array in group]


adamw_update, mp_adamw_update = adamw_steps(function, scale)


def multi_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    **attributes: Any,
) -> list[NDArray]:
    """Steps of AdamW for several weights at once, each with its own rates."""
    inputs = {"weights": weights, "grads": grads, "mean": mean, "var": var}
    return several_adamw("_multi_adamw_update", inputs, rescale_grad, (lrs, wds, etas), attributes)


def multi_mp_adamw_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    **attributes: Any,
) -> list[NDArray]:
    """As :func:`multi_adamw_update`, in float32 from copies of weights in half precision."""
    inputs = {
        "weights": weights,
        "grads": grads,
        "mean": mean,
        "var": var,
        "weights32": weights32,
    }
    return several_adamw(
        "_multi_mp_adamw_update", inputs, rescale_grad, (lrs, wds, etas), attributes
    )


def several_adamw(
    name: str,
    inputs: dict[str, Arrays],
    rescale_grad: NDArray | float,
    rates: tuple[Sequence[float], ...],
    attributes: dict[str, Any],
) -> list[NDArray]:
    """Steps for several weights; MXNet's ``size``, which the lists tell, is not needed."""
    attributes.pop("size", None)
    arrays = in_turn(name, inputs)
    factor = scale(rescale_grad, arrays[0])
    lrs, wds, etas = rates
    count = len(inputs["weights"])
    step = function(name)
    return step(*arrays, factor, lrs=lrs, wds=wds, etas=etas, num_weights=count, **attributes)


def multi_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    **attributes: Any,
) -> list[NDArray]:
    """Steps of LAMB for several weights at once, each with its own rates and number of steps."""
    inputs = {"weights": weights, "grads": grads, "mean": mean, "var": var}
    return several_lamb("_multi_lamb_update", inputs, (step_count, lrs, wds), attributes)


def multi_mp_lamb_update(
    weights: Arrays,
    grads: Arrays,
    mean: Arrays,
    var: Arrays,
    weights32: Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    **attributes: Any,
) -> list[NDArray]:
    """As :func:`multi_lamb_update`, in float32 from copies of weights in half precision."""
    inputs = {
        "weights": weights,
        "grads": grads,
        "mean": mean,
        "var": var,
        "weights32": weights32,
    }
    return several_lamb("_multi_mp_lamb_update", inputs, (step_count, lrs, wds), attributes)


def several_lamb(
    name: str,
    inputs: dict[str, Arrays],
    numbers: tuple[Sequence[int], Sequence[float], Sequence[float]],
    attributes: dict[str, Any],
) -> list[NDArray]:
    """Steps for several weights; MXNet's ``num_tensors``, which the lists tell, is not needed."""
    attributes["num_tensors"] = len(inputs["weights"])
    steps, lrs, wds = numbers
    step = function(name)
    return step(*in_turn(name, inputs), step_count=steps, learning_rates=lrs, wds=wds, **attributes)

"""Reductions and rearrangements for the table of `kernels.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from beside import Row, cube, square

Function = Callable[..., Any]


def reduction(name: str, axis: int | None) -> Row:
    """NumPy's and torch's functions of the same name; those that find places return new arrays."""
    keys: dict[str, Any] = {} if axis is None else {"axis": axis}
    axes = (0, 1) if axis is None else axis

    def whole(out: Any) -> Any:
        return out.reshape(()) if axis is None else out

    def numpy(x: np.ndarray, out: np.ndarray) -> Any:
        if name == "argmax":
            return np.argmax(x, axis)
        return getattr(np, name)(x, axis=axis, out=whole(out))

    def torchs(torch: Any, x: Any, out: Any) -> Any:
        if name == "argmax":
            return torch.argmax(x, axis)
        return getattr(torch, "amax" if name == "max" else name)(x, axes, out=whole(out))

    title = f"{name} all" if axis is None else f"{name} axis {axis}"
    return Row(title, name, lambda n: [square(n)], numpy, torchs, keys)


def norm(x: np.ndarray, out: np.ndarray) -> None:
    flat = x.reshape(-1)
    np.sqrt(np.dot(flat, flat), out=out.reshape(()))


def rearrangement(
    title: str,
    operator: str,
    attributes: dict[str, Any],
    shape: Callable[[int], tuple[int, ...]],
    view: Function,
    torch: Function | None = None,
) -> Row:
    """A copy from a view; `torch` where views are written otherwise there."""
    of = torch or view
    return Row(
        title,
        operator,
        lambda n: [shape(n)],
        lambda x, out: np.copyto(out, view(x)),
        lambda _, x, out: out.copy_(of(x)),
        attributes,
    )


def transposition(*axes: int) -> Row:
    return rearrangement(
        f"transpose {axes}",
        "transpose",
        {"axes": axes},
        square if len(axes) == 2 else cube,
        lambda x: x.transpose(axes),
        lambda x: x.permute(axes),
    )


ROWS = [
    *(reduction(n, None) for n in ("sum", "max", "mean", "argmax")),
    *(reduction(n, 0) for n in ("sum", "max", "mean", "argmax", "prod")),
    *(reduction(n, 1) for n in ("sum", "max", "mean", "argmax", "prod")),
    Row(
        "norm all",
        "norm",
        lambda n: [square(n)],
        norm,
        lambda torch, x, out: torch.linalg.vector_norm(x, out=out.reshape(())),
    ),
    transposition(1, 0),
    transposition(0, 2, 1),
    transposition(1, 0, 2),
    transposition(2, 0, 1),
    rearrangement(
        "flip axis 1", "reverse", {"axis": 1}, square, lambda x: x[:, ::-1], lambda x: x.flip(1)
    ),
    rearrangement(
        "slice step 2",
        "slice",
        {"begin": (None, None), "end": (None, None), "step": (1, 2)},
        square,
        lambda x: x[:, ::2],
    ),
    Row(
        "repeat axis 1",
        "repeat",
        lambda n: [square(n)],
        lambda x, out: np.copyto(out.reshape(*x.shape, 2), x[:, :, None]),
        lambda _, x, out: out.view(*x.shape, 2).copy_(x[:, :, None]),
        {"repeats": 2, "axis": 1},
    ),
]

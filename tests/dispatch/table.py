"""The rows of the Rust table as the CUDA sources name them, and which types each takes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ferromix import _core
from ferromix.dispatch.source import CODES as DTYPES
from ferromix.error import DTypeError
from ferromix.ops.card import find

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = {"clip": [(-1.5, 2.5), (0.0, 1e30), (3.0, -3.0)]}
"""Values of attributes besides those that fit any operator."""
ANY = (2.5, -0.75, 0.5, 3.0)


class Row(NamedTuple):
    """An entry point: its operator, the types that it is for, its name by the sources' rule."""

    operator: str
    dtype: str
    out_dtype: str
    entry: str


def operators(stem: str) -> list[str]:
    """The operators that the Rust file of the same stem has kernels for."""
    paths = (ROOT / "rust" / "kernels" / "src").rglob(f"{stem}.rs")
    text = "".join(path.read_text() for path in paths)
    return [name for name in _core.kernel_names() if f'"{name}"' in text]


OWN = {"add_n", "allclose", "select", "transformer"}
"""Elementwise families whose entry points do not follow the rule of the others."""
INPUTS = {
    path.stem: len(find(operators(path.stem)[0]).arguments)
    for path in sorted((ROOT / "kernels").glob("*.cu"))
    if (ROOT / "rust" / "kernels" / "src" / "ops" / "elementwise" / f"{path.stem}.rs").exists()
    and path.stem not in OWN
}
"""How many inputs the operators of an elementwise family with CUDA sources have."""


def numbers(stem: str, operator: str) -> list[dict[str, float]]:
    """Values for the attributes that an entry point takes, in the order of the card."""
    names = [n for n, p in find(operator).params.items() if p.kind == "float"]
    if stem == "scalar":
        return [{"scalar": x} for x in (2.0, -3.0, 2.5, 0.0, 1.0, -0.75)]
    if not names:
        return [{}]
    if operator in NUMBERS:
        return [dict(zip(names, row, strict=True)) for row in NUMBERS[operator]]
    default = {n: find(operator).params[n].default for n in names}
    return [default, dict(zip(names, ANY, strict=False))]


def takes(stem: str, operator: str, dtype: str, out_dtype: str) -> bool:
    described = [((2,), dtype)] * INPUTS[stem]
    try:
        attrs = numbers(stem, operator)[0]
        _core.Prepared(operator, operator, attrs, described, [((2,), out_dtype)])
    except DTypeError:
        return False
    return True


def rows(stem: str) -> list[Row]:
    found = []
    for operator in operators(stem):
        word = operator.removeprefix("broadcast_").removesuffix("_scalar").lstrip("_")
        for dtype in DTYPES:
            for out in DTYPES if operator == "Cast" else [dtype]:
                types = f"{dtype}_{out}" if operator == "Cast" else dtype
                if takes(stem, operator, dtype, out):
                    found.append(Row(operator, dtype, out, f"{stem}_{word}_{types}"))
    return found

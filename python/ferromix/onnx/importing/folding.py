"""What follows from constants alone is worked out while a model is read: shapes, mostly."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ...error import FileFormatError
from ..package import onnx_package

__all__ = ["fold"]

_LIKE_SHAPES = (
    *("Add", "Sub", "Mul", "Div", "Mod", "Pow", "Neg", "Abs", "Floor", "Ceil", "Sqrt", "Exp"),
    *("Min", "Max", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"),
    *("And", "Or", "Not", "Where", "Cast", "Identity", "Reciprocal", "Sign"),
    *("Concat", "Gather", "Slice", "Split", "Squeeze", "Unsqueeze", "Reshape", "Flatten"),
    *("Transpose", "ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin", "Trilu"),
    *("ConstantOfShape", "Expand", "Range", "Tile", "EyeLike", "Shape", "Size", "OneHot"),
)
_MOST = 1 << 26
"""Numbers that a constant may have which a few make."""


def fold(node: Any, values: Sequence[np.ndarray], opset: int) -> list[np.ndarray] | None:
    """The outputs of a node of constants; None where it is none of those that make shapes.

    Raises
    ------
    FileFormatError
        A constant of more numbers than any network needs.
    """
    if node.op_type not in _LIKE_SHAPES:
        return None
    size = _size(node.op_type, values)
    if size > _MOST:
        raise FileFormatError(f"a constant of {size} numbers, more than {_MOST}")
    onnx = onnx_package()
    names = [n for n in dict.fromkeys(node.input) if n]
    value = onnx.helper.make_empty_tensor_value_info
    graph = onnx.helper.make_graph(
        [node], "constants", [value(n) for n in names], [value(n) for n in node.output if n]
    )
    imports = [onnx.helper.make_operatorsetid("", opset)]
    model = onnx.helper.make_model(graph, opset_imports=imports)
    given = dict(zip((n for n in node.input if n), values, strict=True))
    with np.errstate(all="ignore"):
        found = onnx.reference.ReferenceEvaluator(model).run(None, given)
    return [np.asarray(one) for one in found]


def _size(kind: str, values: Sequence[np.ndarray]) -> int:
    """At most so many numbers come out."""
    given = [int(n) for n in values[-1].reshape(-1)[:64]] if values else []
    most = max((v.size for v in values), default=1)
    if kind in ("ConstantOfShape", "Expand"):
        return prod(map(abs, given)) * (values[0].size if kind == "Expand" else 1)
    if kind == "Tile":
        return values[0].size * prod(map(abs, given))
    if kind == "OneHot":
        return values[0].size * abs(int(values[1].reshape(-1)[0]))
    if kind == "Range":
        start, limit, step = (float(v.reshape(-1)[0]) for v in values)
        return int(abs(limit - start) / abs(step)) if step else 0
    if kind in ("Gather", "EyeLike"):
        return prod(v.size for v in values) if most > 1024 else most**2
    shapes = [v.shape for v in values]
    return prod(max(c) for c in zip(*_aligned(shapes), strict=True)) if shapes else 1


def _aligned(shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    rank = max(map(len, shapes))
    return [(1,) * (rank - len(s)) + s for s in shapes]

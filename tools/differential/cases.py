"""Random calls of operators, by family: name, inputs and attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ferromix.ops import card

FLOATS = ("float32", "float64", "float16")
NUMBERS = (*FLOATS, "uint8", "int8", "int32", "int64")


@dataclass
class Case:
    """One call."""

    name: str
    inputs: list[np.ndarray]
    attrs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        arrays = ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in self.inputs)
        attrs = "".join(f", {k}={v!r}" for k, v in self.attrs.items())
        return f"{self.name}({arrays}{attrs})"


class Draw:
    """Random shapes, arrays and choices from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one(self, options: Any) -> Any:
        return options[int(self.random.integers(len(options)))]

    def maybe(self, chance: float = 0.5) -> bool:
        return bool(self.random.random() < chance)

    def int(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def shape(self, low: int = 1, high: int = 4, most: int = 6) -> tuple[int, ...]:
        return tuple(self.int(1, most) for _ in range(self.int(low, high)))

    def array(self, shape: tuple[int, ...], dtype: str, low: float = -3, high: float = 3) -> Any:
        if dtype.startswith(("int", "uint")):
            low, high = (0, 6) if dtype == "uint8" else (-6, 6)
            return self.random.integers(int(low), int(high) + 1, shape).astype(dtype)
        return self.random.uniform(low, high, shape).astype(dtype)

    def axis(self, ndim: int) -> Any:
        """None, an axis, or some axes."""
        kind = self.int(0, 3)
        if kind == 0:
            return None
        if kind == 1:
            return self.int(-ndim, ndim - 1)
        some = self.random.permutation(ndim)[: self.int(1, ndim)]
        return tuple(int(a) - (ndim if self.maybe(0.3) else 0) for a in some)


DOMAINS = {
    **dict.fromkeys(("arcsin", "arccos", "arctanh", "erfinv"), (-0.95, 0.95)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt", "rsqrt", "rcbrt", "gammaln"), (0.1, 4)),
    **dict.fromkeys(("arccosh", "gamma"), (1.1, 4)),
    **dict.fromkeys(("log1p",), (-0.9, 3)),
    **dict.fromkeys(("reciprocal",), (0.3, 3)),
}
UNARY = [
    "abs",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "fix",
    "floor",
    "gamma",
    "gammaln",
    "hard_sigmoid",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "radians",
    "rcbrt",
    "reciprocal",
    "relu",
    "rint",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "softsign",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "identity",
    "BlockGrad",
    "zeros_like",
    "ones_like",
    "size_array",
    "shape_array",
]
ARITHMETIC = ["add", "sub", "mul", "div", "mod", "power", "maximum", "minimum", "hypot"]
COMPARISONS = ["equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
SCALAR = [
    "plus",
    "minus",
    "rminus",
    "mul",
    "div",
    "rdiv",
    "mod",
    "rmod",
    "power",
    "rpower",
    "maximum",
    "minimum",
    "hypot",
    "equal",
    "not_equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
]


def unary(draw: Draw) -> Case:
    name = draw.one(UNARY)
    data = draw.array(draw.shape(), draw.one(NUMBERS), *DOMAINS.get(name, (-3, 3)))
    return Case(name, [data])


def binary(draw: Draw) -> Case:
    name, dtype = draw.one(ARITHMETIC + COMPARISONS + LOGIC), draw.one(NUMBERS)
    shape = draw.shape()
    positive = name in ("power", "div", "mod")
    range_ = (0.3, 3) if positive else (-3, 3)
    elementwise = name in ("add", "sub", "mul", "div") and draw.maybe(0.3)
    shapes = [shape, shape]
    if not elementwise:
        shapes = [tuple(1 if draw.maybe(0.25) else d for d in shape) for _ in range(2)]
    arrays = [draw.array(s, dtype, *range_) for s in shapes]
    if dtype.startswith(("int", "uint")) and name in ("div", "mod", "power"):
        arrays = [np.abs(a) % 4 + 1 for a in arrays]
        arrays = [a.astype(dtype) for a in arrays]
    return Case(("elemwise_" if elementwise else "broadcast_") + name, arrays)


def scalar(draw: Draw) -> Case:
    name, dtype = draw.one(SCALAR), draw.one(NUMBERS)
    number = draw.int(1, 4) if draw.maybe() else round(float(draw.random.uniform(0.3, 3)), 3)
    if dtype.startswith(("int", "uint")):
        number = draw.int(1, 3)
    low = 0.3 if name in ("power", "rpower", "div", "rdiv", "mod", "rmod") else -3
    data = draw.array(draw.shape(), dtype, low)
    if dtype.startswith(("int", "uint")) and low > 0:
        data = (np.abs(data) % 4 + 1).astype(dtype)
    return Case(f"_{name}_scalar", [data], {"scalar": number})


def reduction(draw: Draw) -> Case:
    name = draw.one(
        ["sum", "nansum", "prod", "nanprod", "mean", "max", "min", "norm", "argmax", "argmin"]
    )
    shape = draw.shape()
    attrs: dict[str, Any] = {}
    axis = draw.axis(len(shape))
    if name in ("argmax", "argmin", "norm") and isinstance(axis, tuple):
        axis = axis[0]
    if axis is not None:
        attrs["axis"] = axis
    if draw.maybe():
        attrs["keepdims"] = True
    if draw.maybe(0.3) and name not in ("argmax", "argmin", "norm"):
        attrs["exclude"] = True
    if name == "norm" and draw.maybe():
        attrs["ord"] = draw.int(1, 2)
    dtypes = FLOATS if name in ("norm", "argmax", "argmin", "mean") else NUMBERS
    data = draw.array(shape, draw.one(dtypes), 0.5, 1.5)
    if name.startswith("nan") and data.dtype.kind == "f":
        data[draw.random.random(shape) < 0.2] = np.nan
    return Case(name, [data], attrs)


def moments(draw: Draw) -> Case:
    shape = draw.shape(2, 4)
    if draw.maybe():
        axes = tuple(sorted({draw.int(0, len(shape) - 1) for _ in range(2)}))
        attrs = {"axes": axes, "keepdims": draw.maybe()}
        return Case("moments", [draw.array(shape, "float32")], attrs)
    attrs = {"mode": draw.one(("instance", "channel", "spatial"))}
    shape = draw.shape(3, 4) if attrs["mode"] == "spatial" else shape
    return Case("L2Normalization", [draw.array(shape, draw.one(FLOATS))], attrs)


def shape_of(draw: Draw) -> Case:
    shape = draw.shape(1, 4)
    ndim, data = len(shape), draw.array(shape, draw.one(NUMBERS))
    axis = draw.int(-ndim, ndim - 1)
    order = tuple(int(a) for a in draw.random.permutation(ndim))
    begin = tuple(draw.int(0, d - 1) for d in shape)
    end = tuple(draw.int(b + 1, d) for b, d in zip(begin, shape, strict=True))
    pads = (0, 0, 0, 0, *(draw.int(0, 2) for _ in range(4)))
    image = draw.array(tuple(draw.int(3, 5) for _ in range(4)), "float32")
    blocks = draw.array((1, 4 * draw.int(1, 2), 2 * draw.int(1, 2), 2 * draw.int(1, 2)), "float32")
    parts = draw.one([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0])
    return draw.one(
        [
            Case("transpose", [data], {"axes": order}),
            Case("transpose", [data]),
            Case("expand_dims", [data], {"axis": draw.int(-ndim - 1, ndim)}),
            Case("Flatten", [data]),
            Case("flip", [data], {"axis": draw.int(0, ndim - 1)}),
            Case("repeat", [data], {"repeats": draw.int(1, 3), "axis": axis}),
            Case("repeat", [data], {"repeats": draw.int(1, 3)}),
            Case("tile", [data], {"reps": draw.shape(1, ndim, 3)}),
            Case("stack", [data, data], {"axis": draw.int(-ndim - 1, ndim)}),
            Case("Concat", [data, data, data], {"dim": axis}),
            Case("SliceChannel", [data], {"num_outputs": parts, "axis": axis}),
            Case("slice", [data], {"begin": begin, "end": end}),
            Case("slice_axis", [data], {"axis": axis, "begin": begin[axis], "end": end[axis]}),
            Case("slice_like", [data, draw.array(end, data.dtype.name)]),
            Case(
                "swapaxes", [data], {"dim1": draw.int(0, ndim - 1), "dim2": draw.int(0, ndim - 1)}
            ),
            Case("depth_to_space", [blocks], {"block_size": 2}),
            Case("space_to_depth", [blocks], {"block_size": 2}),
            Case("Pad", [image], {"mode": "constant", "pad_width": pads, "constant_value": 2.5}),
            Case("Pad", [image], {"mode": draw.one(("edge", "reflect")), "pad_width": pads}),
            Case("diag", [draw.array(draw.shape(1, 2), "float32")], {"k": draw.int(-1, 1)}),
            Case("reshape", [data], {"shape": draw.one(((-1,), (0, -1), (-2,), (-3, -2)))}),
            Case("reshape_like", [data, data.reshape(-1)]),
            Case("squeeze", [data[:1]]),
            Case("broadcast_like", [data[:1], data]),
            Case("broadcast_axis", [data[:1]], {"axis": 0, "size": draw.int(1, 4)}),
            Case("Cast", [data], {"dtype": draw.one(NUMBERS)}),
            Case("clip", [data], {"a_min": -1.0, "a_max": 1.5}),
            Case("smooth_l1", [data.astype("float32")], {"scalar": draw.one((0.5, 1.0, 2.0))}),
            Case("where", [(data > 0).astype("float32"), data, -data]),
            Case("add_n", [data, data, data]),
        ]
    )


def dot(draw: Draw) -> Case:
    n, k, m, batch = (draw.int(1, 7) for _ in range(4))
    left, right, dtype = draw.maybe(), draw.maybe(), draw.one(FLOATS[:2])
    a, b = ((k, n) if left else (n, k)), ((m, k) if right else (k, m))
    attrs = {"transpose_a": left, "transpose_b": right}
    if draw.maybe():
        return Case("dot", [draw.array(a, dtype), draw.array(b, dtype)], attrs)
    arrays = [draw.array((batch, *s), dtype) for s in (a, b)]
    return Case("batch_dot", arrays, attrs)


def update(draw: Draw) -> Case:
    shape = draw.shape()
    weight, grad, state, other = (draw.array(shape, "float32", 0.1, 1) for _ in range(4))
    common = {"wd": draw.one((0.0, 0.01)), "rescale_grad": draw.one((1.0, 0.5))}
    bound = draw.one((-1.0, 0.4))
    attrs = {"lr": 0.1, **common, "clip_gradient": bound}
    heavy, step = {**attrs, "momentum": 0.9}, {"t": draw.int(1, 9)}
    norms = [draw.array((1,), "float32", 0, 1) for _ in range(2)]
    return draw.one(
        [
            Case("sgd_update", [weight, grad], attrs),
            Case("sgd_mom_update", [weight, grad, state], heavy),
            Case("adam_update", [weight, grad, state, other], attrs),
            Case("signsgd_update", [weight, grad], attrs),
            Case("signum_update", [weight, grad, state], {**heavy, "wd_lh": 0.1}),
            Case(
                "ftml_update",
                [weight, grad, state, other, state],
                {"lr": 0.1, **common, **step, "clip_grad": bound},
            ),
            Case("ftrl_update", [weight, grad, state, other], {**attrs, "lamda1": 0.5}),
            Case("rmsprop_update", [weight, grad, state], {**attrs, "clip_weights": bound}),
            Case("rmspropalex_update", [weight, grad, state + 1, other, state], attrs),
            Case(
                "lamb_update_phase1",
                [weight, grad, state, other],
                {**common, **step, "bias_correction": draw.maybe(), "clip_gradient": bound},
            ),
            Case("lamb_update_phase2", [weight, grad, *norms], {"lr": 0.1, "upper_bound": bound}),
            Case("multi_sum_sq", [weight, grad], {"num_arrays": 2}),
            Case("multi_lars", [weight, grad, state, other], {"eta": 0.1, "eps": 0.01}),
            Case("MakeLoss", [weight], {"grad_scale": 2.0}),
        ]
    )


def various(draw: Draw) -> Case:
    """Running sums, tensors from numbers, assignment to ranges, and small operators of contrib."""
    shape, dtype = draw.shape(), draw.one(NUMBERS)
    data, ndim = draw.array(shape, dtype), len(shape)
    begin = tuple(draw.int(0, d - 1) for d in shape)
    end = tuple(draw.int(b + 1, d) for b, d in zip(begin, shape, strict=True))
    ranges = {"begin": begin, "end": end, "step": tuple(draw.int(1, 2) for _ in shape)}
    part = tuple(-(-(e - b) // s) for b, e, s in zip(*ranges.values(), strict=True))
    factors = {n: draw.int(-8, 8) / 4 for n in "abc"}
    made = {"dtype": draw.one(NUMBERS), "num": draw.int(0, 9), "endpoint": draw.maybe()}
    other = data + (draw.random.random(shape) < 0.1).astype(dtype)
    axis = {"axis": draw.one((None, draw.int(0, ndim - 1)))}
    axes = tuple(int(a) for a in draw.random.permutation(ndim)[: draw.int(1, ndim)])
    return draw.one(
        [
            Case("cumsum", [data], axis),
            Case("cumsum", [data], {**axis, "dtype": draw.one(NUMBERS[:3] + NUMBERS[5:])}),
            Case("_contrib_quadratic", [data], factors),
            Case("_contrib_round_ste", [data]),
            Case("_contrib_sign_ste", [data]),
            Case("_contrib_gradientmultiplier", [data], {"scalar": 2.0}),
            Case("_contrib_div_sqrt_dim", [data]),
            Case("_contrib_allclose", [data, draw.one((data, other))], {"atol": 0.01}),
            Case("_contrib_arange_like", [data], {**axis, "start": draw.int(0, 5)}),
            Case("_contrib_index_array", [data], draw.one(({}, {"axes": axes}))),
            Case("_linspace", [], {"start": draw.int(0, 5), "stop": draw.int(6, 9), **made}),
            Case(
                "_eye",
                [],
                {"N": draw.int(1, 5), "M": draw.int(0, 5), "k": draw.int(-4, 4), "dtype": dtype},
            ),
            Case("_slice_assign", [data, draw.array(part, dtype)], ranges),
            Case("_slice_assign_scalar", [data], {"scalar": draw.int(0, 5), **ranges}),
        ]
    )


def indexing(draw: Draw) -> Case:
    """Indices inside and outside, and orders of elements that differ."""
    shape, dtype, index = draw.shape(), draw.one(NUMBERS), draw.one(NUMBERS[3:] + NUMBERS[:2])
    data, ndim = draw.array(shape, dtype), len(shape)
    axis = draw.int(-ndim, ndim - 1)
    rest = tuple(n for a, n in enumerate(shape) if a != axis % ndim)
    attrs = {"axis": axis, "mode": draw.one(("clip", "wrap"))}
    chosen, numbers = draw.shape(1, 2), {"on_value": 2.5, "off_value": draw.int(-1, 1)}
    depth = draw.int(1, ndim)
    inside = [draw.random.integers(0, n, chosen) for n in shape[:depth]]
    places = np.array(inside).astype(index)
    differing = draw.random.permutation(data.size).reshape(shape).astype(draw.one(FLOATS[:2]))
    up = {"axis": draw.one((None, axis)), "is_ascend": draw.maybe()}
    k = draw.int(0, differing.size if up["axis"] is None else shape[axis])
    kind = {"k": k, "ret_typ": draw.one(("value", "indices", "mask"))}
    return draw.one(
        [
            Case("take", [data, draw.array(chosen, index)], attrs),
            Case("pick", [data, draw.array(rest or (1,), index)], {**attrs, "keepdims": not rest}),
            Case("one_hot", [draw.array(chosen, index)], {"depth": draw.int(1, 4), **numbers}),
            Case("gather_nd", [data, places]),
            Case("sort", [differing], up),
            Case("argsort", [differing], {**up, "dtype": draw.one(("int32", "float64"))}),
            Case("topk", [differing], {**up, **kind}),
        ]
    )


FAMILIES: dict[str, Callable[[Draw], Case]] = {
    "unary": unary,
    "binary": binary,
    "scalar": scalar,
    "reduction": reduction,
    "normalization": moments,
    "shape": shape_of,
    "dot": dot,
    "indexing": indexing,
    "optimizer": update,
    "various": various,
}


def known(case: Case) -> bool:
    """Whether Ferromix has the operator."""
    return card.exists(case.name)

"""Rows that move memory: GB/s of what must be read and written at least.

Reductions read everything once. BatchNorm in training and LayerNorm read twice, for the statistics
and for the result, and so do their gradients, from two arrays. Dropout and pooling count arrays
only, not masks or places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import bound
from .row import Make, Row, function, operator, step

OTHER = {"float32": "float16", "float16": "float32"}
SIZES = {
    "large": {"flat": 1 << 26, "side": 8192, "wide": (512, 1 << 17), "narrow": (1 << 20, 64)}
    | {"images": (64, 256, 56, 56), "table": (1 << 16, 512)},
    "small": {"flat": 1 << 12, "side": 64, "wide": (4, 2048), "narrow": (64, 16)}
    | {"images": (2, 4, 10, 10), "table": (64, 32)},
}


def calling(work: Any) -> Make:
    """A function of the module and the arrays, as it is."""
    return lambda module, *arrays: lambda: work(module, *arrays)


def copy(size: str) -> Row:
    """The row whose best figure is the ceiling of all others."""
    flat = (SIZES[size]["flat"],)
    return Row(
        "copy",
        [flat, flat],
        2 * flat[0],
        calling(lambda mx, x, y: x.copyto(y)),
        calling(lambda torch, x, y: y.copy_(x)),
        calling(lambda cupy, x, y: cupy.copyto(y, x)),
    )


def rows(size: str) -> Iterator[Row]:
    """All of them."""
    sizes = SIZES[size]
    yield from elementwise((sizes["flat"],))
    yield from reductions(sizes["side"])
    yield from lines(sizes["wide"], sizes["narrow"])
    yield from images(sizes["images"])
    yield from moves(sizes["side"], sizes["table"])
    yield from updates(sizes["flat"])


def elementwise(shape: tuple[int]) -> Iterator[Row]:
    n = shape[0]
    yield Row(
        "add", [shape] * 2, 3 * n, operator("broadcast_add"), function("add"), function("add")
    )
    yield Row(
        "relu",
        [shape],
        2 * n,
        operator("relu"),
        calling(lambda torch, x: torch.relu(x)),
        calling(lambda cupy, x: cupy.maximum(x, 0)),
    )
    yield Row("tanh", [shape], 2 * n, operator("tanh"), function("tanh"), function("tanh"))


def cast(size: str, dtype: str) -> Row:
    """To half of the width, or to the double; counted in elements of the type it starts from."""
    n = SIZES[size]["flat"]
    other = OTHER[dtype]
    return Row(
        f"cast to {other}",
        [(n,)],
        1.5 * n if dtype == "float32" else 3 * n,
        operator("cast", dtype=other),
        calling(lambda torch, x: x.to(getattr(torch, other))),
        calling(lambda cupy, x: x.astype(other)),
    )


def reductions(side: int) -> Iterator[Row]:
    for name, what, axis in (
        ("sum all", "sum", None),
        ("sum of rows", "sum", 1),
        ("sum of columns", "sum", 0),
        ("mean all", "mean", None),
        ("mean of rows", "mean", 1),
    ):
        yield Row(
            name,
            [(side, side)],
            side * side,
            operator(what, axis=axis),
            calling(lambda torch, x, f=what, a=axis: getattr(x, f)(dim=a)),
            calling(lambda cupy, x, f=what, a=axis: getattr(x, f)(axis=a)),
        )


def lines(wide: tuple[int, int], narrow: tuple[int, int]) -> Iterator[Row]:
    for name, shape in (("wide", wide), ("narrow", narrow)):
        yield Row(
            f"softmax, {name} rows",
            [shape],
            2 * shape[0] * shape[1],
            operator("softmax", axis=-1),
            calling(lambda torch, x: torch.softmax(x, -1)),
        )
        yield from layers(name, shape)


def layers(name: str, shape: tuple[int, int]) -> Iterator[Row]:
    n, width = shape[0] * shape[1], shape[1]

    def norm(functional: Any, x: Any) -> Any:
        gamma, beta = (bound.ones(x, width) for _ in range(2))
        return lambda: functional.layer_norm(x, (width,), gamma, beta, 1e-5)

    for both in (False, True):
        yield Row(
            f"LayerNorm, {name} rows{', and gradient' * both}",
            [shape],
            3 * n + both * 5 * n,
            bound.symbol("LayerNorm", both, eps=1e-5),
            bound.torch(norm, both),
        )


def images(shape: tuple[int, int, int, int]) -> Iterator[Row]:
    batch, channels, height, width = shape
    n = batch * channels * height * width

    def norm(functional: Any, x: Any) -> Any:
        gamma, beta, mean, var = (bound.ones(x, channels) for _ in range(4))
        return lambda: functional.batch_norm(x, mean, var, gamma, beta, True, 0.1, 1e-5)

    def drop(functional: Any, x: Any) -> Any:
        return lambda: functional.dropout(x, 0.5)

    def pool(functional: Any, x: Any) -> Any:
        return lambda: functional.max_pool2d(x, 3, 2, 1)

    def mean(functional: Any, x: Any) -> Any:
        return lambda: functional.adaptive_avg_pool2d(x, 1)

    three = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "max"}
    every = {"global_pool": True, "kernel": (1, 1), "pool_type": "avg"}
    shrunk = batch * channels * -(-height // 2) * -(-width // 2)
    kinds = (
        ("BatchNorm", {"fix_gamma": False, "eps": 1e-5}, norm, 3 * n, 5 * n),
        ("Dropout", {"p": 0.5}, drop, 2 * n, 2 * n),
        ("max-pooling, 3x3/2", three, pool, n + shrunk, n + shrunk),
        ("average of images", every, mean, n, n),
    )
    for name, attributes, peer, forward, backward in kinds:
        kind = name if name in ("BatchNorm", "Dropout") else "Pooling"
        for both in (False, True):
            yield Row(
                f"{name}, {'and gradient' if both else 'training'}",
                [shape],
                forward + both * backward,
                bound.symbol(kind, both, **attributes),
                bound.torch(peer, both),
            )


def moves(side: int, table: tuple[int, int]) -> Iterator[Row]:
    def transpose(torch: Any, x: Any) -> Any:
        out = torch.empty_like(x)
        return lambda: out.copy_(x.T)

    def transposed(cupy: Any, x: Any) -> Any:
        out = cupy.empty_like(x)
        return lambda: cupy.copyto(out, x.T)

    count, width = table
    yield Row(
        "transpose", [(side, side)], 2 * side * side, operator("transpose"), transpose, transposed
    )
    yield Row(
        "take of rows",
        [table, (count,)],
        2 * count * width,
        operator("take"),
        calling(lambda torch, x, i: torch.index_select(x, 0, i)),
        calling(lambda cupy, x, i: cupy.take(x, i, axis=0)),
        indices={1: count},
    )
    yield Row(
        "Embedding",
        [(count,), table],
        2 * count * width,
        operator("Embedding", input_dim=count, output_dim=width),
        calling(lambda torch, i, x: torch.nn.functional.embedding(i, x)),
        indices={0: count},
    )


def updates(n: int) -> Iterator[Row]:
    def steps(make: Any) -> Make:
        def called(torch: Any, weight: Any, gradient: Any, *_: Any) -> Any:
            weight.grad = gradient
            return make(torch.optim, [weight]).step

        return called

    yield Row(
        "sgd_mom_update",
        [(n,)] * 3,
        5 * n,
        step("sgd_mom_update", lr=1e-4, momentum=0.9, wd=1e-4),
        steps(lambda o, w: o.SGD(w, 1e-4, momentum=0.9, weight_decay=1e-4, fused=True)),
    )
    yield Row(
        "adam_update",
        [(n,)] * 4,
        7 * n,
        step("adam_update", lr=1e-4),
        steps(lambda o, w: o.Adam(w, 1e-4, fused=True)),
    )

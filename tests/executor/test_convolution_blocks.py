"""Convolutions that are one node with what follows them in inference."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import ferromix as mx
from ferromix import sym as S

SWITCH = "FERROMIX_FUSE_CONVOLUTION"
BLOCK = "_convolution_block"
# Batch, channels, filters, groups; extents, kernel, stride, dilation, padding of each axis.
SIZES = {
    "3x3 by Winograd": ((2, 32, 48, 1), [(9, 3, 1, 1, 1), (11, 3, 1, 1, 1)]),
    "3x3 of few channels": ((2, 3, 5, 1), [(7, 3, 1, 1, 1), (9, 3, 1, 1, 1)]),
    "3x3 of every other": ((3, 3, 33, 1), [(9, 3, 2, 1, 1), (40, 3, 2, 1, 1)]),
    "1x1": ((2, 40, 70, 1), [(7, 1, 1, 1, 0), (9, 1, 1, 1, 0)]),
    "1x1, deep": ((1, 300, 20, 1), [(5, 1, 1, 1, 0), (3, 1, 1, 1, 0)]),
    "1x1 of every other": ((2, 6, 8, 1), [(7, 1, 2, 1, 0), (8, 1, 2, 1, 0)]),
    "1x1 of every third, padded": ((2, 4, 6, 2), [(7, 1, 3, 1, 1), (8, 1, 3, 1, 2)]),
    "depthwise": ((2, 9, 9, 9), [(7, 3, 1, 1, 1), (30, 3, 1, 1, 1)]),
    "depthwise, every other": ((2, 9, 9, 9), [(14, 3, 2, 1, 1), (35, 3, 2, 1, 1)]),
    "depthwise, one element": ((2, 4, 4, 4), [(6, 1, 2, 1, 0), (5, 1, 2, 1, 0)]),
    "groups": ((2, 8, 12, 4), [(6, 3, 1, 1, 0), (7, 3, 1, 1, 1)]),
    "dilated": ((1, 4, 6, 1), [(12, 3, 1, 2, 2), (13, 3, 2, 2, 1)]),
    "7x7 of every other": ((1, 3, 8, 1), [(19, 7, 2, 1, 3), (23, 7, 2, 1, 3)]),
    "one of all": ((1, 1, 1, 1), [(1, 1, 1, 1, 0), (1, 1, 1, 1, 0)]),
    "a line": ((2, 3, 4, 1), [(20, 5, 3, 1, 2)]),
    "a volume": ((2, 2, 3, 1), [(5, 3, 1, 1, 1), (4, 2, 2, 1, 0), (6, 3, 1, 1, 1)]),
}


def attributes(sizes, bias):
    (_, _, filters, groups), axes = sizes
    names = ("kernel", "stride", "dilate", "pad")
    columns = dict(zip(names, list(zip(*axes, strict=True))[1:], strict=True))
    return {**columns, "num_filter": filters, "num_group": groups, "no_bias": not bias}


def block(sizes, follows, bias=True):
    """A convolution and what follows; all that is read is no variable."""
    x = S.Convolution(S.identity(S.Variable("x")), name="conv", **attributes(sizes, bias))
    if "norm" in follows:
        x = S.BatchNorm(x, name="bn", fix_gamma="fixed" in follows, eps=1e-3)
    if "sum" in follows:
        y = S.Variable("y")
        x = S.identity(y) + x if "relu" in follows else x + y
    return S.Activation(x, act_type="relu") if "relu" in follows else x


def bound(net, dtype="float32", seed=1, **shapes):
    """An executor for prediction with numbers in all its arrays."""
    types = dict.fromkeys(net.list_arguments(), dtype)
    executor = net.simple_bind(mx.cpu(), "null", type_dict=types, **shapes)
    draw = np.random.RandomState(seed)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        low = 0.5 if name.endswith("var") else -1
        array[:] = draw.uniform(low, 1.5, array.shape)
    return executor


def kinds(executor):
    return [n.op.name for n in executor.handle.main_program().order]


def values(executor):
    return {n: a.asnumpy() for n, a in {**executor.arg_dict, **executor.aux_dict}.items()}


def convolved(x, weight, sizes):
    """The convolution by its definition."""
    (batch, channels, filters, groups), axes = sizes
    x = np.pad(x, [(0, 0), (0, 0), *((a[4], a[4]) for a in axes)])
    extents = [
        (n - (a[1] - 1) * a[3] - 1) // a[2] + 1 for n, a in zip(x.shape[2:], axes, strict=True)
    ]
    out = np.zeros((batch, filters, *extents))
    per, of = filters // groups, channels // groups
    for tap in product(*(range(a[1]) for a in axes)):
        starts = [t * a[3] for t, a in zip(tap, axes, strict=True)]
        cut = [
            slice(s, s + (n - 1) * a[2] + 1, a[2])
            for s, n, a in zip(starts, extents, axes, strict=True)
        ]
        seen = x[(slice(None), slice(None), *cut)]
        for g in range(groups):
            w = weight[(slice(g * per, (g + 1) * per), slice(None), *tap)]
            out[:, g * per : (g + 1) * per] += np.einsum(
                "fc,nc...->nf...", w, seen[:, g * of : (g + 1) * of]
            )
    return out


def expected(sizes, follows, given):
    """What a block gives, in double precision."""
    given = {n: v.astype("float64") for n, v in given.items()}
    line = (1, -1, *[1] * len(sizes[1]))
    out = convolved(given["x"], given["conv_weight"], sizes)
    if "conv_bias" in given:
        out += given["conv_bias"].reshape(line)
    if "norm" in follows:
        gamma = 1 if "fixed" in follows else given["bn_gamma"].reshape(line)
        mean, var = (given[f"bn_moving_{n}"].reshape(line) for n in ("mean", "var"))
        out = gamma * (out - mean) / np.sqrt(var + 1e-3) + given["bn_beta"].reshape(line)
    if "sum" in follows:
        out += given["y"]
    return np.maximum(out, 0) if "relu" in follows else out


FOLLOWS = ["norm", "norm fixed relu", "norm sum relu", "relu", "sum", "norm sum"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("follows", FOLLOWS)
@pytest.mark.parametrize("name", SIZES)
def test_blocks_give_what_their_parts_give(name, follows, dtype, monkeypatch):
    sizes = SIZES[name]
    shape = (*sizes[0][:2], *(a[0] for a in sizes[1]))
    net = S.identity(block(sizes, follows, bias="fixed" not in follows), name="last")
    executor = bound(net, dtype, x=shape)
    assert kinds(executor).count(BLOCK) == 1
    assert not {"Convolution", "BatchNorm", "Activation"} & set(kinds(executor))
    found = executor.forward()[0].asnumpy()
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), found)
    exact = expected(sizes, follows, values(executor))
    most = np.abs(exact).max(initial=0)
    error = np.abs(found - exact).max(initial=0)
    assert error <= (3e-5 if "Winograd" in name else 5e-6 if dtype == "float32" else 1e-12) * most
    monkeypatch.setenv(SWITCH, "0")
    plain = bound(net, dtype, x=shape)
    assert BLOCK not in kinds(plain)
    assert executor.memory_planned() <= plain.memory_planned()
    parts = plain.forward()[0].asnumpy()
    if "norm" in follows:
        np.testing.assert_allclose(found, parts, rtol=0, atol=1e-5 * most)
    else:
        np.testing.assert_array_equal(found, parts)


def test_statistics_may_change_between_passes():
    sizes = SIZES["1x1"]
    executor = bound(block(sizes, "norm relu"), x=(2, 40, 7, 9))
    for seed in range(3):
        draw = np.random.RandomState(seed)
        for name in ("bn_gamma", "bn_beta"):
            executor.arg_dict[name][:] = draw.randn(70)
        executor.aux_dict["bn_moving_var"][:] = draw.uniform(0.1, 3, 70)
        exact = expected(sizes, "norm relu", values(executor))
        before = executor.aux_dict["bn_moving_mean"].asnumpy()
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), exact, atol=1e-4)
        np.testing.assert_array_equal(executor.aux_dict["bn_moving_mean"].asnumpy(), before)


def test_what_is_not_a_number_stays_none_as_in_parts(monkeypatch):
    found = []
    for value in ("1", "0"):
        monkeypatch.setenv(SWITCH, value)
        executor = bound(block(SIZES["1x1"], "sum relu"), x=(2, 40, 7, 9))
        executor.arg_dict["x"][0, 3, 2, 1] = np.nan
        executor.arg_dict["y"][1, 2, 3, 4] = -np.inf
        executor.arg_dict["y"][1, 2, 3, 5] = np.inf
        found.append(executor.forward()[0].asnumpy())
    np.testing.assert_array_equal(*found)


def conv(x, name, filters=4, **attrs):
    return S.Convolution(
        x, kernel=(3, 3), pad=(1, 1), num_filter=filters, no_bias=True, name=name, **attrs
    )


def relu(x):
    return S.Activation(x, act_type="relu")


def norm(x, name, **attrs):
    return S.BatchNorm(x, name=name, fix_gamma=False, **attrs)


def two(x):
    return relu(norm(conv(x, "a"), "na") + norm(conv(x, "b"), "nb"))


def twice(x):
    y = norm(conv(x, "a"), "na")
    return relu(y) + y


def to_itself(x):
    y = conv(x, "a")
    return y + y


def seen(x):
    y = conv(x, "a")
    return S.Group([relu(y), y])


def statistics(x):
    return S.Group(list(norm(conv(x, "a"), "na", output_mean_var=True)))


def long_lives(x):
    """The convolution reads more than it gives, and its addend comes late."""
    y = conv(S.sin(x), "a", filters=1)
    return S.sin(y + S.cos(S.tanh(S.sum(x, axis=1, keepdims=True))))


@pytest.mark.parametrize(
    ("made", "blocks", "left"),
    [
        (two, 2, []),
        (twice, 1, ["Activation", "elemwise_add"]),
        (to_itself, 0, ["Convolution", "elemwise_add"]),
        (seen, 0, ["Convolution", "Activation"]),
        (statistics, 0, ["Convolution", "BatchNorm"]),
        (lambda x: relu(norm(conv(x, "a"), "na", axis=3)), 0, ["Convolution", "BatchNorm"]),
        (lambda x: S.Activation(conv(x, "a"), act_type="tanh"), 0, ["Convolution", "Activation"]),
        (lambda x: S.broadcast_add(conv(x, "a"), S.Variable("line", shape=(1, 4, 1, 1))), 0, []),
        (lambda x: relu(S.Deconvolution(x, kernel=(1, 1), num_filter=4, name="a")), 0, []),
        (lambda x: relu(relu(conv(x, "a"))), 1, ["Activation"]),
        (lambda x: S.broadcast_add(x, norm(conv(x, "a"), "na")), 1, []),
        (long_lives, 0, ["Convolution"]),
    ],
)
def test_which_are_blocks(made, blocks, left, monkeypatch):
    monkeypatch.setenv("FERROMIX_FUSION", "0")
    net = made(S.Variable("x"))
    executor = bound(net, x=(2, 4, 6, 5))
    order = kinds(executor)
    assert order.count(BLOCK) == blocks
    assert set(left) <= set(order)
    monkeypatch.setenv(SWITCH, "0")
    plain = bound(net, x=(2, 4, 6, 5))
    assert BLOCK not in kinds(plain)
    for found, parts in zip(executor.forward(), plain.forward(), strict=True):
        np.testing.assert_allclose(found.asnumpy(), parts.asnumpy(), atol=2e-5)
    assert executor.memory_planned() <= plain.memory_planned()


def test_training_has_none_and_halves_neither():
    net = two(S.Variable("x"))
    executor = net.simple_bind(mx.cpu(), x=(2, 4, 6, 5))
    assert BLOCK not in kinds(executor)
    types = {n: "float32" if n[0] == "n" else "float16" for n in net.list_arguments()}
    halves = net.simple_bind(mx.cpu(), "null", type_dict=types, x=(2, 4, 6, 5))
    assert BLOCK not in kinds(halves)


def test_a_convolution_is_added_to_what_it_reads():
    """There a result over the addend would change what is still to be read."""
    for attrs in ({"kernel": (1, 1)}, {"kernel": (3, 3), "pad": (1, 1)}):
        x = S.sin(S.Variable("x"))
        net = S.cos(x + S.Convolution(x, num_filter=40, no_bias=True, name="conv", **attrs))
        executor = bound(net, x=(2, 40, 9, 7))
        assert BLOCK in kinds(executor)
        given = mx.nd.sin(executor.arg_dict["x"])
        weight = executor.arg_dict["conv_weight"]
        out = mx.nd.Convolution(given, weight, num_filter=40, no_bias=True, **attrs)
        np.testing.assert_array_equal(
            executor.forward()[0].asnumpy(), mx.nd.cos(given + out).asnumpy()
        )


SCRIPT = """
import hashlib, sys
sys.path.insert(0, {folder!r})
import test_convolution_blocks as t
print(t.digest())
"""


def digest():
    """Of the results of large blocks, several times."""
    known = hashlib.sha256()
    for name, follows in product(
        ("3x3 by Winograd", "3x3 of every other", "1x1", "1x1, deep", "depthwise, every other"),
        ("norm sum relu", "norm"),
    ):
        (batch, channels, filters, groups), axes = SIZES[name]
        if groups > 1:
            channels = filters = groups = 128
        sizes = ((8 * batch, channels, filters, groups), [(2 * n, *rest) for n, *rest in axes])
        shape = (8 * batch, channels, *(2 * a[0] for a in axes))
        executor = bound(S.identity(block(sizes, follows)), x=shape)
        first = executor.forward()[0].asnumpy()
        for _ in range(10):
            assert np.array_equal(executor.forward()[0].asnumpy(), first)
        known.update(first.tobytes())
    return known.hexdigest()


def test_bits_do_not_depend_on_threads():
    script = SCRIPT.format(folder=os.path.dirname(__file__))
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "FERROMIX_NUM_THREADS": str(threads)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in (1, 2, 3, 5)
    }
    assert len(found) == 1

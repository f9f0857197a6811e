"""Recipes of sums, choices, extremes and orders, on the host, give what the Rust kernels give."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import check, launch, on_the_cpu
from table import DTYPES
from test_cuda_values import draw, numpy_dtype

from ferromix import dispatch
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
NUMBERS = [dtype for dtype in DTYPES if dtype != "bool"]


def whole(rng, dtype, shape) -> np.ndarray:
    """Small whole numbers, of which sums have no roundings."""
    low = 0 if dtype in ("uint8", "bool") else -3
    return np.asarray(rng.integers(low, 4, shape)).astype(numpy_dtype(dtype))


def special(rng, dtype, shape) -> np.ndarray:
    return draw(rng, dtype, shape, 0)


def outputs(rng, card, inputs) -> list[np.ndarray]:
    """What outputs hold before."""
    given = tuple((x.shape, x.dtype.name) for x in inputs)
    return [whole(rng, dtype, shape) for shape, dtype in dispatch.infer(card, given)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2, 8, 9, 20])
def test_sums_of_tensors(sources, count, dtype):
    rng = np.random.default_rng(count)
    card = make("add_n", {"num_args": count})
    if dtype in card.dtypes:
        for shape in [(3, 50), (0,), (1,)]:
            given = [draw(rng, dtype, shape, 0) for _ in range(count)]
            check(sources, card, given, [draw(rng, dtype, shape, 0)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_choices(sources, dtype):
    rng = np.random.default_rng(1)
    for shape, condition in [((4, 5), (4, 5)), ((4, 5, 2), (4,)), ((0, 2), (0,)), ((7,), (7,))]:
        for kind in ("float32", dtype):
            given = whole(rng, kind, condition)
            a, b, out = (draw(rng, dtype, shape, 0) for _ in range(3))
            check(sources, make("where", {}), [given, a, b], [out])


def test_casts_of_several_tensors(sources):
    rng = np.random.default_rng(2)
    given = [draw(rng, t, (3, 4), 0) for t in ("float16", "float32", "float16")]
    card = make("amp_multicast", {"num_outputs": 3})
    check(sources, card, given, outputs(rng, card, given))
    check(sources, card, given, outputs(rng, card, given), [0, 1, 3])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_division_by_the_root_of_the_last_extent(sources, dtype):
    rng = np.random.default_rng(3)
    card = make("_contrib_div_sqrt_dim", {})
    for shape in [(5, 7), (9,), (2, 0), (0, 3)]:
        x = draw(rng, dtype, shape, 0)
        check(sources, card, [x], [draw(rng, dtype, shape, 0)])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["instance", "channel", "spatial"])
def test_lines_divided_by_their_norms(sources, mode, dtype):
    rng = np.random.default_rng(4)
    card = make("L2Normalization", {"mode": mode, "eps": 1e-3})
    for shape in [(2, 5, 7), (3, 70, 2, 2), (1, 1, 1), (2, 0, 3), (40, 3, 90)]:
        check(sources, card, [whole(rng, dtype, shape)], [whole(rng, dtype, shape)])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_means_and_variances(sources, dtype):
    rng = np.random.default_rng(5)
    for shape, axes in [
        ((4, 6, 5), (1,)), ((4, 70), (1,)), ((70, 4), (0,)), ((2, 3, 4), (0, 2)), ((5, 3), None),
    ]:  # fmt: skip
        for keepdims in (False, True):
            card = make("moments", {"axes": axes, "keepdims": keepdims})
            x = whole(rng, dtype, shape)
            for reqs in ([1, 1], [3, 0], [0, 3]):
                out = outputs(rng, card, [x])
                want = on_the_cpu(card, [x], out, reqs)
                assert launch(sources, card, [x], out, reqs)
                for found, wanted in zip(out, want, strict=True):
                    near(found, wanted)


def near(found: np.ndarray, wanted: np.ndarray) -> None:
    """Alike but for the order in which reals were added."""
    real = found.dtype.kind not in "iub"
    eps = float(ml_dtypes.finfo(found.dtype).eps) if real else 0
    got, want = found.astype(np.float64), wanted.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=4 * eps, atol=4 * eps)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(sources, name, dtype):
    rng = np.random.default_rng(6)
    for shape, axis in [
        ((4, 6, 5), 1), ((4, 70), -1), ((70, 4), 0), ((5, 300), None), ((1,), 0), ((2, 0, 3), 2),
    ]:  # fmt: skip
        for make_data in (whole, special):
            x = make_data(rng, dtype, shape)
            card = make(name, {"axis": axis})
            check(sources, card, [x], outputs(rng, card, [x]))
    x = draw(rng, dtype, (3, 50, 2), 0)
    channel = make("argmax_channel", {})
    check(sources, channel, [x], outputs(rng, channel, [x]))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_running_sums(sources, dtype):
    rng = np.random.default_rng(7)
    for shape, axis in [
        ((3, 100), 1), ((3, 4, 5), 1), ((2, 3), None), ((300, 2), 0), ((2000, 1, 2), 0),
        ((0, 2), 0),
    ]:  # fmt: skip
        x = whole(rng, dtype, shape)
        card = make("cumsum", {"axis": axis})
        out = outputs(rng, card, [x])
        check(sources, card, [x], out)
        back = make("_backward_cumsum", {"axis": axis})
        given = [out[0], x][: len(back.list_arguments())]
        check(sources, back, given, [whole(rng, dtype, shape)])


@pytest.mark.parametrize("dtype", FLOATS)
def test_squared_norms(sources, dtype):
    rng = np.random.default_rng(8)
    for count in (1, 3, 65):
        given = [whole(rng, dtype, (k % 7, 40)) for k in range(count)]
        card = make("multi_sum_sq", {"num_arrays": count})
        check(sources, card, given, outputs(rng, card, given))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("init", [False, True])
def test_whether_all_is_finite(sources, init, dtype):
    rng = np.random.default_rng(9)
    for count in (1, 66):
        for bad in (None, np.nan, np.inf, -np.inf):
            given = [whole(rng, dtype, (k % 5, 30)) for k in range(1, count + 1)]
            if bad is not None:
                given[-1][-1, -1] = bad
            name, attrs = ("multi_all_finite", {"num_arrays": count})
            card = make(name, {**attrs, "init_output": init})
            check(sources, card, given, outputs(rng, card, given))
            one = make("all_finite", {"init_output": init})
            check(sources, one, given[-1:], outputs(rng, one, given[-1:]))


def test_zeros_in_each(sources):
    rng = np.random.default_rng(10)
    given = [draw(rng, t, (3, k), 0) for k, t in enumerate(DTYPES)]
    card = make("reset_arrays", {"num_arrays": len(given)})
    assert launch(sources, card, given, given, [1] * len(given))
    assert all(not x.astype(bool).any() for x in given)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("ascending", [False, True])
def test_orders(sources, ascending, dtype):
    rng = np.random.default_rng(11)
    for shape, axis in [
        ((3, 33), 1), ((4, 5, 2), 1), ((2, 3), None), ((1,), 0), ((2, 0), 1), ((1, 300), -1),
    ]:  # fmt: skip
        for make_data in (whole, special):
            x = make_data(rng, dtype, shape)
            for name in ("sort", "argsort"):
                card = make(name, {"axis": axis, "is_ascend": ascending})
                check(sources, card, [x], outputs(rng, card, [x]))
            for kind in ("value", "indices", "mask", "both"):
                for k in (0, 1, min(2, x.shape[axis] if axis is not None else x.size)):
                    attrs = {"axis": axis, "is_ascend": ascending, "ret_typ": kind, "k": k}
                    if k <= (x.shape[axis] if axis is not None else x.size):
                        card = make("topk", attrs)
                        check(sources, card, [x], outputs(rng, card, [x]))


@pytest.mark.parametrize("dtype", ["float16", "float64", "uint8"])
@pytest.mark.parametrize("name", ["sort", "argsort", "topk"])
def test_lines_that_shared_memory_does_not_hold(sources, name, dtype):
    rng = np.random.default_rng(8)
    for shape, axis, ascends in (((2049,), 0, False), ((4100, 2), 0, True)):
        more = {"k": 3, "ret_typ": "mask"} if name == "topk" else {}
        card = make(name, {"axis": axis, "is_ascend": ascends, **more})
        x = whole(rng, dtype, shape)
        check(sources, card, [x], outputs(rng, card, [x]))

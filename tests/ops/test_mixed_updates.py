"""Steps whose weight has another type than its states: all types, and what is changed in place."""

from itertools import product

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError
from ferromix.ops.card import make

from .by_operator import by_operator
from .case import numpy_type
from .cases.optimizer import WIDE
from .run import to_numpy
from .table import CASES
from .tolerance import assert_close

MIXED = [c for c in CASES if "weight" in str(c.card.list_arguments()) and c.dtypes == WIDE]
TYPES = ("float32", "float64", "float16", "bfloat16")


def types(card, dtype):
    return card.infer_type([dtype] + [None] * (len(card.list_arguments()) - 1))


@by_operator(product(MIXED, TYPES))
def test_step(case, dtype):
    given, (made, *_), _ = types(case.card, dtype)
    assert given[1] in (dtype, "float32")
    inputs = case.inputs("bfloat16")
    arrays = [mx.nd.array(x, dtype=t) for x, t in zip(inputs, given, strict=True)]
    found = getattr(mx.nd, case.op)(*arrays, **case.attrs)
    found = found if isinstance(found, list) else [found]
    for out, wanted in zip(found, case.expected(inputs, made), strict=True):
        assert out.dtype_name == made
        # From a copy in float32 a weight of float64 gets that precision.
        precision = "float32" if "mp_" in case.op and made == "float64" else made
        assert_close(to_numpy(out.handle), wanted, precision, 4, case.id)


@by_operator(product(MIXED, TYPES))
def test_what_is_changed(case, dtype):
    given, _, _ = types(case.card, dtype)
    inputs = case.inputs("bfloat16")
    arrays = [mx.nd.array(x, dtype=t) for x, t in zip(inputs, given, strict=True)]
    outs = getattr(mx.nd, case.op)(*arrays, **case.attrs)
    outs = outs if isinstance(outs, list) else [outs]
    names, changed = case.card.list_arguments(), case.card.mutated_inputs()
    copies = [i for i in changed if "weight32" in names[i]]
    for i, (array, before) in enumerate(zip(arrays, inputs, strict=True)):
        if i not in changed:
            np.testing.assert_array_equal(to_numpy(array.handle), before, err_msg=names[i])
        assert array.dtype_name == given[i]
    for out, i in zip(outs, copies, strict=False):
        cast = arrays[i].astype(dtype)
        assert to_numpy(out.handle).tobytes() == to_numpy(cast.handle).tobytes()


def test_small_steps_add_up_in_the_copy():
    weight, grad = (mx.nd.array([x], dtype="float16") for x in (1, 2**-13))
    copy = weight.astype("float32")
    for _ in range(16):
        mx.nd.mp_sgd_update(weight, grad, copy, lr=1, out=weight)
    assert weight.asnumpy() == 1 - 2**-9
    assert weight.dtype == numpy_type("float16")


@pytest.mark.parametrize("scale", [0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("op", ["_adamw_update", "_mp_adamw_update"])
def test_adamw_skips_a_step_whose_scale_is_unfit(op, scale):
    values = [[1.0, -2.0], [3.0, 4.0], [0.5, 0.25], [0.125, 0.75], [1.0, -2.0]]
    arrays = [mx.nd.array(v) for v in values[: 4 + ("mp" in op)]]
    out = getattr(mx.nd, op)(*arrays, mx.nd.array([scale]), lr=0.1, eta=1)
    assert out.asnumpy().tolist() == values[0]
    assert [a.asnumpy().tolist() for a in arrays] == values[: len(arrays)]


@pytest.mark.parametrize("op", ["_multi_adamw_update", "_multi_mp_adamw_update"])
def test_adamw_of_several_weights_skips_too(op):
    arrays = [mx.nd.array([x, 2.0]) for x in range(5 if "mp" in op else 4)] * 2
    before = [a.asnumpy().tolist() for a in arrays]
    attrs = {"lrs": (0.1, 0.1), "wds": (1, 1), "etas": (1, 1)}
    outs = getattr(mx.nd, op)(*arrays, mx.nd.array([np.inf]), **attrs)
    assert [o.asnumpy().tolist() for o in outs] == [before[0]] * 2
    assert [a.asnumpy().tolist() for a in arrays] == before


def test_wrong_types_and_sizes_are_named():
    half, single = mx.nd.ones((2,), dtype="float16"), mx.nd.ones((2,))
    with pytest.raises(InvalidArgumentError, match="'weight32' is float16, expected float32"):
        mx.nd.mp_sgd_update(half, half, half, lr=1)
    with pytest.raises(InvalidArgumentError, match="'grad' is float32, but 'weight' is float16"):
        mx.nd.mp_sgd_update(half, single, single, lr=1)
    with pytest.raises(InvalidArgumentError, match=r"'r2' has shape \(2,\), expected \(1,\)"):
        mx.nd.lamb_update_phase2(single, single, mx.nd.ones((1,)), single, lr=1)


def test_wrong_numbers_of_weights_and_rates_are_named():
    a, b = mx.nd.ones((2,)), mx.nd.ones((3,))
    with pytest.raises(InvalidArgumentError, match=r"'lrs' must have a number for each of 2.*0\.1"):
        mx.nd.multi_sgd_update(a, a, b, b, lrs=(0.1,), wds=(0, 0))
    with pytest.raises(InvalidArgumentError, match=r"takes 2 inputs \(weight_0, grad_0\).*got 4"):
        mx.nd.multi_sgd_update(a, a, b, b, lrs=(0.1,), wds=(0,), num_weights=1)
    with pytest.raises(InvalidArgumentError, match=r"'grad_1' has shape \(2,\), expected \(3,\)"):
        mx.nd.multi_sgd_update(a, a, b, a, lrs=(0.1, 1), wds=(0, 0))
    one, two = mx.nd.ones((1,)), mx.nd.ones((2,))
    with pytest.raises(InvalidArgumentError, match=r"'lrs' has shape \(1,\), expected \(2,\)"):
        mx.nd.preloaded_multi_sgd_update(a, a, b, b, one, two, num_weights=2)
    with pytest.raises(InvalidArgumentError, match="'lrs' must be a tuple of floats, got 'fast'"):
        mx.nd.multi_sgd_update(a, a, lrs="fast", wds=0)


def test_a_rate_may_be_one_number():
    weight = mx.nd.ones((2,))
    mx.nd.multi_sgd_update(weight, weight.copy(), lrs=0.5, wds=0, out=weight)
    assert weight.asnumpy().tolist() == [0.5, 0.5]


def test_rates_in_a_saved_graph():
    names = ("w", "g", "v", "h")
    symbol = mx.sym.multi_sgd_update(
        *map(mx.sym.Variable, names), lrs=(0.5, 0.25), wds=(0, 0.5), name="step"
    )
    loaded = mx.sym.load_json(symbol.tojson())
    assert loaded.list_arguments() == list(names)
    assert loaded.list_outputs() == ["step_output0", "step_output1"]
    args = {n: mx.nd.array([x]) for n, x in zip(names, (1, 2, 4, 8), strict=True)}
    outputs = loaded.bind(mx.cpu(), args).forward()
    assert [o.asnumpy().tolist() for o in outputs] == [[0], [1.5]]


LARGE = {
    "ftml_update": {"lr": 0.1, "t": 2},
    "ftrl_update": {"lr": 0.1},
    "lamb_update_phase1": {"t": 2, "wd": 0.1},
    "multi_all_finite": {"num_arrays": 2},
    "multi_sum_sq": {"num_arrays": 2},
    "rmspropalex_update": {"lr": 0.1},
    "signum_update": {"lr": 0.1, "momentum": 0.9},
}


@pytest.mark.parametrize("op", LARGE)
def test_bits_do_not_depend_on_the_threads(op):
    attrs, random = LARGE[op], np.random.default_rng(2)
    names = make(op, attrs).list_arguments()
    values = [random.uniform(0.1, 1, 300_001) for _ in names]
    found = []
    for threads in (1, 8):
        with mx.engine.threads(threads):
            arrays = [mx.nd.array(v) for v in values]
            out = getattr(mx.nd, op)(*arrays, **attrs)
            found.append([a.asnumpy().tobytes() for a in (out, *arrays)])
    assert found[0] == found[1]

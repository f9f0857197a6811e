"""The CUDA sources of optimizers, run on the host, step as the CPU does."""

from __future__ import annotations

import ctypes
import re

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels, build
from table import ROOT
from test_cuda_values import numpy_dtype

import ferromix as mx

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

FLOATS = ["float32", "float64", "float16", "bfloat16"]
BASIC = {"lr": 0.3, "wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.25}
MOMENTUM = {**BASIC, "momentum": 0.9}
ROWS = {
    "sgd_update": (BASIC, 0),
    "sgd_mom_update": (MOMENTUM, 1),
    "nag_mom_update": (MOMENTUM, 1),
    "signsgd_update": ({"lr": 0.3, "wd": 0.1}, 0),
    "signum_update": ({**MOMENTUM, "wd_lh": 0.2}, 1),
    "mp_sgd_update": (BASIC, 1),
    "mp_sgd_mom_update": (MOMENTUM, 2),
    "mp_nag_mom_update": (MOMENTUM, 2),
}
"""Rates in the order of each kernel, and how many states it has."""


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return build("optimizer")


class Rates(ctypes.Structure):
    """As many as a kernel takes; it does not look behind them."""

    _fields_ = (("at", ctypes.c_double * 8),)


def step(out, weight, grad, states):
    pointers = [a.ctypes.data for a in (out, weight, grad)]
    pointers += [a.ctypes.data for a in states] or [0]
    words = ctypes.c_uint64 * (len(pointers) + 1)
    kind = type("Step", (ctypes.Structure,), {"_fields_": [("at", words)]})
    return kind(words(*pointers, out.size))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("clip", [0.25, -1.0])
def test_steps_are_those_of_the_cpu(kernels, name, dtype, clip):
    rates, count = ROWS[name]
    rates = {**rates, **({"clip_gradient": clip} if "clip_gradient" in rates else {})}
    rng = np.random.default_rng(3)
    kind = numpy_dtype(dtype)
    for size, req in ((0, 1), (1, 1), (1000, 1), (77, 3), (5, 0)):
        weight, grad = (rng.standard_normal(size).astype(kind) for _ in range(2))
        state_kind = np.dtype(np.float32) if name.startswith("mp_") else kind
        states = [rng.standard_normal(size).astype(state_kind) for _ in range(count)]
        if name.startswith("mp_"):
            states[-1] = weight.astype(np.float32)
        types = [dtype] * 2 + (["float32"] if name.startswith("mp_") else [dtype]) * count
        arrays = [
            mx.nd.array(a, dtype=t) for a, t in zip((weight, grad, *states), types, strict=True)
        ]
        wanted = getattr(mx.nd, name)(*arrays, **rates)
        wanted = (wanted[0] if isinstance(wanted, list) else wanted).asnumpy().astype(np.float64)
        out = np.ones(size, kind)
        given = step(out, weight, grad, states)
        numbers = Rates((ctypes.c_double * 8)(*rates.values()))
        kernels.launch(f"optimizer_{name}_{dtype}", (2,), (32,), given, numbers, ctypes.c_int(req))
        precision = dtype if dtype in ("float16", "bfloat16") or "mp_" not in name else "float32"
        eps = float(ml_dtypes.finfo(numpy_dtype(precision)).eps)
        wanted = {0: np.ones(size), 1: wanted, 3: 1 + wanted}[req]
        np.testing.assert_allclose(
            out.astype(np.float64), wanted, rtol=4 * eps, atol=8 * eps, err_msg=name
        )
        for state, array in zip(states, arrays[2:], strict=True):
            small = float(ml_dtypes.finfo(state.dtype).eps)
            np.testing.assert_allclose(
                state.astype(np.float64),
                array.asnumpy().astype(np.float64),
                rtol=4 * small,
                atol=8 * small,
            )


def test_rows_are_those_of_the_rust_table(kernels):
    path = ROOT / "rust" / "kernels" / "src" / "ops" / "optimizer" / "optimizer.rs"
    assert set(re.findall(r'Row::new\("(\w+)"', path.read_text())) == set(ROWS)
    assert set(kernels.entries) == {f"optimizer_{n}_{t}" for n in ROWS for t in FLOATS}

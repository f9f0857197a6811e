"""What tests of the CUDA sources of products share: one run beside the Rust kernel's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
from launches import Run, Sources, described, job_of, on_the_cpu

from ferromix.dispatch import infer
from ferromix.dispatch.recipe import Limits, find
from ferromix.ops.card import make


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    return rng.standard_normal(shape).astype(kind)


def rounded(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of 10 bits after the first, of two as near the one farther from zero."""
    fraction, exponent = np.frexp(x.astype(np.float64))
    steps = np.trunc(np.abs(fraction) * 2.0**11 + 0.5)
    return np.copysign(np.ldexp(steps, exponent - 11), x).astype(x.dtype)


def check(
    sources: Sources,
    name: str,
    attrs: dict[str, Any],
    inputs: Sequence[np.ndarray],
    reqs: Sequence[int],
    processors: int = 1,
    terms: float = 1.0,
    tf32: bool = False,
) -> set[str]:
    """Compares all outputs; `terms` is how large sums may become. Gives the entries that ran.

    With `tf32` the CPU gets factors that are rounded to it.
    """
    card = make(name, attrs)
    rng = np.random.default_rng(9)
    outputs = [numbers(rng, s, t) for s, t in infer(card, tuple(described(inputs)))]
    factors = [rounded(x) for x in inputs] if tf32 else inputs
    wanted = on_the_cpu(card, factors, outputs, reqs)
    limits = Limits(processors, threads=32, tf32=tf32)
    job = replace(job_of(card, inputs, outputs), limits=limits)
    maker = find(job.name)
    made = maker and maker(job)
    assert made, name
    found = [out.copy() for out in outputs]
    Run(made, inputs, found, reqs).launch(sources, seed=3)
    for got, want, old, req in zip(found, wanted, outputs, reqs, strict=True):
        eps = float(ml_dtypes.finfo(got.dtype).eps)
        g, w = got.astype(np.float64), (want if req else old).astype(np.float64)
        np.testing.assert_allclose(g, w, rtol=4 * eps, atol=4 * eps * terms, err_msg=str(attrs))
    return {one.entry for one in made.launches}

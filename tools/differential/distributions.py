"""Random calls of operators on distributions: densities, and draws that leave nothing to chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cases import FLOATS, NUMBERS, Case, Draw


def density(draw: Draw) -> Case:
    """Densities at samples of any number of axes more than the parameters have."""
    dtype, rows, own = draw.one(FLOATS), draw.shape(1, 2), draw.shape(0, 2)
    sample, law = (*rows, *own), draw.one(sorted(DOMAINS))
    low, *params = DOMAINS[law]
    if law == "dirichlet":
        classes = draw.int(1, 4)
        rows, sample = (*rows, classes), (*sample, classes)
    counts = "binomial" in law or law == "poisson"
    x = draw.int(0, 6) + np.zeros(sample) if counts else draw.random.uniform(low, 3, sample)
    arrays = [draw.random.uniform(*ends, rows).astype(dtype) for ends in params]
    attrs = draw.one(({}, {"is_log": draw.maybe()}))
    return Case(f"_random_pdf_{law}", [x.astype(dtype), *arrays], attrs)


DOMAINS = {
    # Where samples begin, and the ends of each parameter.
    "uniform": (-3, (-3, 0), (1, 3)),
    "normal": (-3, (-3, 3), (0.5, 3)),
    "gamma": (0.3, (0.5, 4), (0.5, 3)),
    "exponential": (0, (0.5, 3)),
    "poisson": (0, (0.5, 5)),
    "negative_binomial": (0, (0.5, 5), (0.2, 0.8)),
    "generalized_negative_binomial": (0, (0.5, 5), (0.3, 2)),
    "dirichlet": (0.1, (0.5, 3)),
}


def certain(draw: Draw) -> Case:
    """Draws from distributions with one outcome."""
    rows, own = draw.shape(1, 2), draw.shape(0, 2)
    shape = draw.one(({}, {"shape": own}, {"shape": 3}))
    dtype = draw.one(({}, {"dtype": draw.one((*FLOATS, "int32"))}))
    kind = draw.one(NUMBERS)
    zeros, ones = np.zeros(rows, kind), np.ones(rows, kind)
    classes = np.eye(4, dtype=draw.one((*FLOATS, "int32")))[draw.random.integers(0, 4, rows)]
    fixed = {**draw.one(({"shape": rows}, {"shape": 4})), **dtype}
    like = [draw.array(rows, draw.one(NUMBERS))]
    low = draw.int(-5, 5)
    wide = {"dtype": draw.one(("int32", "int64", "float32"))}
    some = draw.one((1.0, -1.0, 0.0))
    return draw.one(
        [
            Case("sample_uniform", [ones, ones], {**shape, **dtype}),
            Case("sample_poisson", [zeros], {**shape, **dtype}),
            Case("sample_negative_binomial", [ones, ones], {**shape, **dtype}),
            Case("sample_generalized_negative_binomial", [zeros, ones], {**shape, **dtype}),
            Case("sample_uniform", [ones, ones[:1]], shape),
            Case("random_uniform", [], {"low": some, "high": some, **fixed}),
            Case("random_poisson", [], {"lam": min(some, 0.0), **fixed}),
            Case("random_negative_binomial", [], {"k": int(some), "p": 1.0, **fixed}),
            Case("random_generalized_negative_binomial", [], {"mu": 0.0, "alpha": some, **fixed}),
            Case("random_randint", [], {"low": low, "high": low + 1, "shape": rows, **wide}),
            Case("sample_multinomial", [classes], {**shape, "get_prob": draw.maybe()}),
            Case("sample_multinomial", [classes], {**shape, "dtype": draw.one(NUMBERS)}),
            Case("shuffle", [np.ones(draw.shape(), draw.one(NUMBERS))]),
            Case("_random_poisson_like", like, {"lam": min(some, 0.0)}),
            Case("_random_uniform_like", like, {"low": some, "high": some}),
        ]
    )


FAMILIES: dict[str, Callable[[Draw], Case]] = {"density": density, "certain": certain}

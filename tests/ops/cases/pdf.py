"""Densities, against SciPy's."""

import numpy as np
from scipy import stats

from ..case import Case, Refused


def oracle(law, is_log, discrete):
    """The density of samples whose parameters are leading axes."""

    def density(x, *params):
        rows = [p.reshape(*p.shape, *[1] * (x.ndim - p.ndim)) for p in params]
        frozen = law(*rows)
        names = ("logpmf", "pmf") if discrete else ("logpdf", "pdf")
        return getattr(frozen, names[0 if is_log else 1])(x)

    return density


def uniform(x, low, high, is_log):
    shape = (*low.shape, *[1] * (x.ndim - low.ndim))
    found = np.broadcast_to(1 / (high - low).reshape(shape), x.shape)
    return np.log(found) if is_log else found


def dirichlet(is_log):
    def density(x, alpha):
        between = [1] * (x.ndim - alpha.ndim)
        rows = alpha.reshape(*alpha.shape[:-1], *between, alpha.shape[-1])
        alpha = np.broadcast_to(rows, x.shape)
        logs = stats.gamma.logpdf(1, alpha) + 1 + (alpha - 1) * np.log(x)
        total = logs.sum(-1) - stats.gamma.logpdf(1, alpha.sum(-1)) - 1
        return total if is_log else np.exp(total)

    return density


LAWS = (
    # Of the parameters; where samples and parameters are drawn from; which have no gradient.
    ("normal", stats.norm, ("normal", "normal", "positive"), False),
    ("gamma", lambda a, b: stats.gamma(a, scale=1 / b), ("positive",) * 3, False),
    ("exponential", lambda r: stats.expon(scale=1 / r), ("positive",) * 2, False),
    ("poisson", stats.poisson, ("below5", "positive"), True),
    ("negative_binomial", stats.nbinom, ("below5", "positive", "share"), True),
    (
        "generalized_negative_binomial",
        lambda m, a: stats.nbinom(1 / a, 1 / (1 + a * m)),
        ("below5", "positive", "positive"),
        True,
    ),
)
SHAPES = (((3, 4), (3,)), ((2, 3), (2, 3)), ((2, 0), (2,)))
CASES = []
for name, law, domain, discrete in LAWS:
    for is_log, (sample, params) in zip((True, False, False), SHAPES, strict=True):
        CASES.append(
            Case(
                f"_random_pdf_{name}",
                oracle(law, is_log, discrete),
                (sample, *[params] * (len(domain) - 1)),
                {"is_log": is_log},
                domain,
                steps=16,
                orders=1,
                fixed=("sample",) if discrete else (),
            )
        )
CASES += [
    Case(
        "_random_pdf_uniform",
        lambda x, low, high, is_log=is_log: uniform(x, low, high, is_log),
        (sample, params, params),
        {"is_log": is_log},
        ("normal", "unit", "above1"),
        steps=16,
        orders=1,
        fixed=("sample",),
    )
    for is_log, (sample, params) in zip((True, False, False), SHAPES, strict=True)
]
CASES += [
    Case(
        "_random_pdf_dirichlet",
        dirichlet(is_log),
        (sample, alpha),
        {"is_log": is_log},
        "positive",
        steps=32,
        orders=1,
    )
    for is_log, sample, alpha in (
        (True, (2, 4, 3), (2, 3)),
        (False, (2, 3), (3,)),
        (False, (4,), (4,)),
        (False, (0, 2), (0, 2)),
    )
]
REFUSED = [
    Refused("_random_pdf_normal", ("'mu'", "(2,)", "(3,)"), ((3, 4), (2,), (2,))),
    Refused("_random_pdf_normal", ("'sigma'", "(1,)"), ((3, 4), (3,), (1,))),
    Refused("_random_pdf_poisson", ("'lam'", "more axes"), ((3,), (3, 1))),
    Refused("_random_pdf_dirichlet", ("'alpha'", "(2,)"), ((3, 4), (2,))),
    Refused("_random_pdf_dirichlet", ("'alpha'", "more axes"), ((3,), (1, 3))),
    Refused("_random_pdf_dirichlet", ("'sample'", "()"), ((), (3,))),
]

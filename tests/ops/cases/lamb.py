"""Steps of LAMB and the rates of LARS, as MXNet's documentation defines them."""

import numpy as np

from ..case import Case
from .adaptive import moments
from .optimizer import OPTIONS, SHAPES, WIDE, clipped


def phase1(t, wd, bias_correction=True, epsilon=1e-6, rescale_grad=1.0, **rest):
    def oracle(w, g, m, v):
        m, v = moments(m, v, clipped(rescale_grad * g, **rest))
        if bias_correction:
            m, v = m / (1 - 0.9**t), v / (1 - 0.999**t)
        return m / (np.sqrt(v) + epsilon) + wd * w

    return oracle


def phase2(lr, lower_bound=-1.0, upper_bound=-1.0):
    def oracle(w, g, r1, r2):
        r1, r2 = r1.item(), r2.item()
        size = max(r1, lower_bound) if lower_bound >= 0 else r1
        size = min(size, upper_bound) if upper_bound >= 0 else size
        return w - (lr if size == 0 or r2 == 0 else lr * size / r2) * g

    return oracle


def from_copy(rule):
    """The rule for the copy of the weight, which is the last input."""
    return lambda _, g, *rest: rule(rest[-1], g, *rest[:-1])


def lars(eta, eps, rescale_grad=1.0):
    def oracle(lrs, w, g, wds):
        w, g = np.sqrt(w), np.sqrt(g) * rescale_grad
        return np.where((w > 0) & (g > 0), lrs * eta * w / (g + wds * w + eps), lrs)

    return oracle


REAL = ("normal", "normal", "normal", "positive")
BOUNDS = ({}, {"lower_bound": 5.0}, {"upper_bound": 0.1}, {"lower_bound": 0.0, "upper_bound": 0.0})
CASES = [
    *[
        case
        for s, options in zip(SHAPES, OPTIONS, strict=True)
        for correct in (True, False)
        for a in [{"t": 3, "wd": 0.2, **options, "bias_correction": correct}]
        for case in (
            Case("lamb_update_phase1", phase1(**a), (s,) * 4, a, REAL, steps=4),
            Case(
                "mp_lamb_update_phase1",
                from_copy(phase1(**a)),
                (s,) * 5,
                a,
                (*REAL, "normal"),
                WIDE,
                steps=4,
            ),
        )
    ],
    *[
        case
        for s, bounds in zip(SHAPES, BOUNDS, strict=True)
        for norms in ("positive", "below1")
        for a in [{"lr": 0.1, **bounds}]
        for domain in [("normal", "normal", norms, norms)]
        for case in (
            Case("lamb_update_phase2", phase2(**a), (s, s, (1,), (1,)), a, domain, steps=4),
            Case(
                "mp_lamb_update_phase2",
                from_copy(phase2(**a)),
                (s, s, (1,), (1,), s),
                a,
                (*domain, "normal"),
                WIDE,
                steps=4,
            ),
        )
    ],
    *[
        Case("multi_lars", lars(**a), (s,) * 4, a, domain, steps=4)
        for a in ({"eta": 0.5, "eps": 0.1}, {"eta": 0.1, "eps": 0.0, "rescale_grad": 0.25})
        for s, domain in (
            ((5,), "positive"),
            ((6,), ("positive", "below2", "positive", "positive")),
            ((6,), ("positive", "positive", "below2", "positive")),
            ((0,), "positive"),
        )
    ],
]

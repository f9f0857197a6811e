"""Likelihoods of points in time, by the definition."""

import numpy as np

from ..case import Case, Refused

N, K, T = 3, 2, 4
SHAPES = ((N, K), (K,), (K,), (N, K), (N, T), (N, T), (N,), (N,))
DOMAINS = (*["positive"] * 5, f"below{K}", f"below{T + 2}", "positive")


def likelihood(lda, alpha, beta, state, lags, marks, valid, end):
    found = np.zeros(len(lda))
    after = np.zeros(lda.shape)
    for n, k in np.ndindex(*lda.shape):
        count = min(int(valid[n]), lags.shape[1])
        all_times = np.cumsum(lags[n, :count])
        times = all_times[marks[n, :count] == k]

        def excited(t, n=n, k=k, times=times):
            """What is left of the state and of earlier points."""
            before = times[times < t]
            return state[n, k] * np.exp(-beta[k] * t) + np.exp(-beta[k] * (t - before)).sum()

        found[n] += sum(np.log(lda[n, k] + alpha[k] * beta[k] * excited(t)) for t in times)
        # Each decays from its time to the end, or past it where that comes first.
        spent = [state[n, k] * (1 - np.exp(-beta[k] * end[n]))]
        spent += [1 - np.exp(-beta[k] * (end[n] - t)) for t in times]
        found[n] -= lda[n, k] * end[n] + alpha[k] * sum(spent)
        after[n, k] = state[n, k] * np.exp(-beta[k] * end[n])
        after[n, k] += np.exp(-beta[k] * (end[n] - times)).sum()
    return found, after


FIXED = ("state", "lags", "marks", "valid_length", "max_time")
MIXED = (*[None] * 5, "int32", None, None)


def case(shapes, **rest):
    return Case(
        "_contrib_hawkesll",
        likelihood,
        shapes,
        {},
        DOMAINS,
        mixed=MIXED,
        fixed=FIXED,
        orders=1,
        steps=512,
        **rest,
    )


CASES = [
    case(SHAPES),
    case(((0, K), (K,), (K,), (0, K), (0, T), (0, T), (0,), (0,))),
    case(((N, K), (K,), (K,), (N, K), (N, 0), (N, 0), (N,), (N,))),
]
REFUSED = [
    Refused(
        "_contrib_hawkesll",
        ("'state'", "(3, 3)"),
        (*SHAPES[:3], (N, K + 1), *SHAPES[4:]),
        dtypes=(*["float32"] * 5, "int32", "float32", "float32"),
    ),
    Refused("_contrib_hawkesll", ("'marks'", "int32"), SHAPES, dtypes=("float32",) * 8),
]

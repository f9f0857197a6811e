"""Products of heads, by the sums that they are."""

import numpy as np

from ..case import Case, Refused

SELF, OTHER = "_contrib_interleaved_matmul_selfatt_", "_contrib_interleaved_matmul_encdec_"


def split(projection, heads, parts):
    """Batch, heads, parts, positions, depth."""
    length, batch, wide = projection.shape
    return projection.reshape(length, batch, heads, parts, wide // heads // parts).transpose(
        1, 2, 3, 0, 4
    )


def score(queries, keys):
    found = np.einsum("bhid,bhjd->bhij", queries, keys) / np.sqrt(queries.shape[-1])
    return found.reshape(found.shape[0] * found.shape[1], *found.shape[2:])


def weigh(attention, values):
    batch, heads, _, depth = values.shape
    weights = attention.reshape(batch, heads, *attention.shape[1:])
    found = np.einsum("bhij,bhjd->ibhd", weights, values)
    return found.reshape(len(found), batch, heads * depth)


def own_scores(heads):
    def oracle(projections):
        parts = split(projections, heads, 3)
        return score(parts[:, :, 0], parts[:, :, 1])

    return oracle


def own_values(heads):
    return lambda projections, weights: weigh(weights, split(projections, heads, 3)[:, :, 2])


def scores(heads):
    return lambda q, kv: score(split(q, heads, 1)[:, :, 0], split(kv, heads, 2)[:, :, 0])


def values(heads):
    return lambda kv, weights: weigh(weights, split(kv, heads, 2)[:, :, 1])


def case(name, oracle, heads, *shapes):
    return Case(name, oracle(heads), shapes, {"heads": heads}, steps=32, orders=1)


CASES = [
    case(SELF + "qk", own_scores, 2, (4, 3, 18)),
    case(SELF + "qk", own_scores, 1, (70, 1, 120)),
    case(SELF + "qk", own_scores, 2, (0, 3, 18)),
    case(SELF + "qk", own_scores, 2, (4, 0, 18)),
    case(SELF + "valatt", own_values, 2, (4, 3, 18), (6, 4, 4)),
    case(SELF + "valatt", own_values, 2, (0, 3, 18), (6, 0, 0)),
    case(OTHER + "qk", scores, 2, (4, 3, 6), (5, 3, 12)),
    case(OTHER + "qk", scores, 2, (4, 3, 6), (0, 3, 12)),
    case(OTHER + "valatt", values, 2, (5, 3, 12), (6, 4, 5)),
    case(OTHER + "valatt", values, 2, (0, 3, 12), (6, 4, 0)),
]
TWO = {"heads": 2}
REFUSED = [
    Refused(SELF + "qk", ("heads", "required")),
    Refused(SELF + "qk", ("queries_keys_values", "(4, 3, 20)", "6"), ((4, 3, 20),), TWO),
    Refused(SELF + "valatt", ("'attention'", "(5, 4, 4)"), ((4, 3, 18), (5, 4, 4)), TWO),
    Refused(SELF + "valatt", ("'attention'", "(6, 4, 5)"), ((4, 3, 18), (6, 4, 5)), TWO),
    Refused(OTHER + "qk", ("'keys_values'", "(5, 3, 16)"), ((4, 3, 6), (5, 3, 16)), TWO),
    Refused(OTHER + "valatt", ("'attention'", "(4, 4, 5)"), ((5, 3, 12), (4, 4, 5)), TWO),
]

"""Storage types: how the elements of an array are stored, and which operators keep them.

:data:`RULES` is the one place that says what an operator does with sparse arrays. What it does not
name is converted to dense arrays (:mod:`ferromix.dispatch.storage`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

__all__ = [
    "CSR",
    "DENSE",
    "ROW_SPARSE",
    "RULES",
    "STORAGE_TYPES",
    "Rule",
    "makes_sparse",
    "rule_of",
]

DENSE = "default"
"""The storage type of arrays that have every element; the only one that kernels take."""
ROW_SPARSE = "row_sparse"
"""The storage type of arrays of which some rows are stored, and the others are zero."""
CSR = "csr"
"""The storage type of matrices that store the elements of each row that are not zero."""
STORAGE_TYPES = (DENSE, ROW_SPARSE, CSR)
"""The storage types by MXNet's numbers, which ``__storage_type__`` holds."""


class Rule(NamedTuple):
    """What an operator does with arguments in certain storage types.

    Attributes
    ----------
    output
        The storage type of the result.
    how
        The function of :mod:`ferromix.ndarray.sparse.compute` that makes it.
    when
        Whether the rule holds for attributes.
    """

    output: str
    how: str
    when: Callable[[Mapping[str, Any]], bool] = lambda _: True


Table = dict[str, dict[tuple[str, ...], list[Rule]]]
D, R, C = STORAGE_TYPES


def _table() -> Table:
    table: Table = {}

    def add(names: str, stypes: Sequence[str], output: str, how: str, when: Any = None) -> None:
        rule = Rule(output, how) if when is None else Rule(output, how, when)
        for name in names.split():
            table.setdefault(name, {}).setdefault(tuple(stypes), []).append(rule)

    for stype in (R, C):
        add(
            "abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p make_loss "
            "negative radians relu rint round sign sin sinh sqrt square tan tanh trunc BlockGrad "
            "_copy _mul_scalar _div_scalar _scatter_plus_scalar _scatter_minus_scalar",
            [stype],
            stype,
            "on_values",
        )
        add("zeros_like", [stype], stype, "zeros_like")
        add("_plus_scalar _minus_scalar _not_equal_scalar", [stype], stype, "on_values", _is_zero)
        add("_equal_scalar", [stype], stype, "on_values", lambda a: a["scalar"] != 0)
        add("_greater_scalar", [stype], stype, "on_values", lambda a: a["scalar"] >= 0)
        add("_lesser_scalar", [stype], stype, "on_values", lambda a: a["scalar"] <= 0)
        add("_greater_equal_scalar", [stype], stype, "on_values", lambda a: a["scalar"] > 0)
        add("_lesser_equal_scalar", [stype], stype, "on_values", lambda a: a["scalar"] < 0)
        add("clip", [stype], stype, "on_values", lambda a: a["a_min"] <= 0 <= a["a_max"])
        add("elemwise_add elemwise_sub elemwise_mul", [stype, stype], stype, "merge")
        add("elemwise_mul", [stype, D], stype, "sample")
        add("elemwise_mul", [D, stype], stype, "sample_right")
        if stype == R:
            add("_scatter_elemwise_div", [R, D], R, "sample")
        add("norm", [stype], D, "norm", lambda a: a.get("axis") is None and a.get("ord", 2) == 2)
        add("reshape_like", [stype, D], stype, "same")
        for other in STORAGE_TYPES:
            add("_dot_fold", [D, stype, other], D, "fold")
        add("_dot_fold", [D, D, stype], D, "fold")
    for name, stypes in product(("broadcast_mul", "broadcast_div"), [[C, D]]):
        add(name, stypes, C, "sample")
    add("_rows_mul", [R, R], R, "rows_mul")
    add("_rows_mul", [R, D], R, "sample")
    add("_rows_mul", [D, R], R, "sample_right")
    for other in (D, R):
        add("_broadcast_back", [R, other], R, "spread_rows", _keeps_rows)
    add("_broadcast_back", [D, R], D, "spread")
    add("sum", [R], D, "sum_rows")
    add("_matrix", [C], C, "same")
    add("_matrix", [R], R, "same")
    add("reshape_like", [R, R], R, "same")
    add("sum mean", [C], D, "sum_csr", lambda a: a.get("axis") in _AXES and not a.get("exclude"))
    _add_dot(add)
    add("slice", [C], C, "slice_csr", lambda a: all(s in (None, 1) for s in a["step"] or ()))
    add("take", [C, D], C, "take_csr", lambda a: a["axis"] == 0 and a["mode"] != "raise")
    add("Embedding _contrib_SparseEmbedding", [D, R], D, "embedding")
    add("_backward_Embedding", [D, D], R, "embedding_rows", lambda a: a["sparse_grad"])
    add("_sparse_retain", [R, D], R, "retain")
    add("_contrib_getnnz", [C], D, "stored_csr")
    _add_updates(add)
    return table


_AXES = (None, (), 0, 1, -1, -2, (0,), (1,), (-1,), (-2,))


def _is_zero(attrs: Mapping[str, Any]) -> bool:
    return attrs["scalar"] == 0


def _keeps_rows(attrs: Mapping[str, Any]) -> bool:
    """Whether a reduction is over the second axis, and leaves it there."""
    along = attrs["axis"] in (1, (1,)) and not attrs["exclude"]
    return along and attrs["keepdims"] and not attrs["mean"]


def _add_dot(add: Callable[..., None]) -> None:
    def plain(transposed: bool, *stypes: str | None) -> Callable[[Mapping[str, Any]], bool]:
        return lambda a: (
            a["transpose_a"] == transposed
            and not a["transpose_b"]
            and a["forward_stype"] in (None, *stypes)
        )

    for other in (D, R):
        add("dot", [C, other], D, "dot", plain(False, D))
        add("dot", [C, other], R, "dot_rows", plain(True, R))
        add("dot", [C, other], D, "dot", lambda a: plain(True, D)(a) and a["forward_stype"] == D)
    add("dot", [D, C], D, "dot_right", lambda a: plain(False, D)(a) and a["forward_stype"] == D)
    add("dot", [D, C], C, "dot_csr", plain(False, C))


def _add_updates(add: Callable[..., None]) -> None:
    """Steps of optimizers on the rows of a gradient."""
    rows = {
        "sgd_update": 0,
        "sgd_mom_update": 1,
        "adam_update": 2,
        "ftrl_update": 2,
        "_sparse_adagrad_update": 1,
        "_contrib_group_adagrad_update": 1,
    }
    for name, states in rows.items():
        for weight, state in product((D, R), (D, R)):
            stypes = [weight, R, *[state] * states]
            # Of a dense weight every element changes in MXNet's step of FTRL.
            if (states or state == D) and (name, weight) != ("ftrl_update", D):
                add(name, stypes, weight, "update_rows", lambda a: a.get("lazy_update", True))


RULES: Final[Table] = _table()
"""By operator and storage types of its arguments, what it does; the first rule that holds."""


GRAPHS: Final[Mapping[str, str]] = {
    "_contrib_dgl_adjacency": "adjacency",
    "_contrib_dgl_csr_neighbor_non_uniform_sample": "neighbors",
    "_contrib_dgl_csr_neighbor_uniform_sample": "neighbors",
    "_contrib_dgl_graph_compact": "compact",
    "_contrib_dgl_subgraph": "subgraph",
    "_contrib_edge_id": "edge_id",
}
"""What is done with graphs, which are csr arrays, and any number of dense ones behind them."""


def makes_sparse(name: str, attrs: Mapping[str, Any]) -> bool:
    """Whether an operator makes sparse arrays of dense ones, as its attributes say."""
    made = attrs["stype"] if name == "cast_storage" else attrs.get("forward_stype")
    return made in (R, C)


def rule_of(name: str, attrs: Mapping[str, Any], stypes: Sequence[str]) -> Rule | None:
    """The rule for an operator with these attributes and storage types, if there is one."""
    if name == "cast_storage":
        return Rule(attrs["stype"], "cast")
    if set(stypes) == {DENSE} and makes_sparse(name, attrs):
        return Rule(attrs["forward_stype"], "dot_cast")
    if name == "Concat" and attrs["dim"] == 0 and all(s == C for s in stypes):
        return Rule(C, "concat_csr")
    if name == "add_n" and all(s == R for s in stypes):
        return Rule(R, "add_rows")
    if name in GRAPHS and C in stypes and set(stypes[stypes.count(C) :]) <= {D}:
        return Rule(C, GRAPHS[name])
    found = RULES.get(name, {}).get(tuple(stypes), ())
    return next((rule for rule in found if rule.when(attrs)), None)

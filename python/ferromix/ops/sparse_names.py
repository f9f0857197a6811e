"""The second names ``_sparse_X`` of operators, which ``mx.nd.sparse`` and ``mx.sym.sparse`` have.

They are the operators themselves, which look at the storage of what they get. Which operators have
such a name is MXNet's choice, so it is a list.
"""

from __future__ import annotations

from .card import alias

__all__ = ["SPARSE", "enter"]

SPARSE = """
ElementWiseSum Embedding FullyConnected LinearRegressionOutput LogisticRegressionOutput
MAERegressionOutput _contrib_round_ste _contrib_sign_ste abs adam_update add_n arccos arccosh arcsin
arcsinh arctan arctanh broadcast_add broadcast_div broadcast_minus broadcast_mul broadcast_plus
broadcast_sub cast_storage cbrt ceil clip concat cos cosh degrees dot elemwise_add elemwise_div
elemwise_mul elemwise_sub exp expm1 fix floor ftrl_update gamma gammaln log log10 log1p log2
make_loss mean negative norm radians relu rint round rsqrt sgd_mom_update sgd_update sigmoid sign
sin sinh slice sqrt square stop_gradient sum tan tanh trunc where zeros_like
"""
"""Names of operators that have a second one; ``retain`` and ``adagrad_update`` have no other."""


def enter() -> None:
    """Enters the second names, once all cards are there."""
    for name in SPARSE.split():
        alias(name, f"_sparse_{name}")

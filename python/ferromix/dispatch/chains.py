"""Which operators may be parts of one pass over memory on the CPU (see ``rust/kernels``,
``chain.rs``)."""

from __future__ import annotations

import os

from .. import _core
from ..graph.plan_memory import VIEWS
from ..ops.card import OperatorProperty
from ..ops.remembered import remembered

__all__ = ["LEAST", "is_on", "may_be_part"]

POINTWISE = frozenset(_core.pointwise_kernels()) - frozenset(VIEWS)
LEAST = 1 << 16
"""Elements from which it pays: smaller results stay in caches anyhow."""


def is_on() -> bool:
    """Whether graphs on the CPU are fused; ``FERROMIX_FUSION=0`` says no."""
    return os.environ.get("FERROMIX_FUSION") != "0"


@remembered(4096)
def may_be_part(card: OperatorProperty) -> bool:
    """Whether an operator goes element by element through arrays that are all of one shape."""
    if card.kernel_name() not in POINTWISE or card.dynamic_params() or card.mutated_inputs():
        return False
    return len(card.output_names) == 1

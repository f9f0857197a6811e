"""Measures of how well predictions fit labels, accumulated over batches.

Each metric keeps two accounts: a local one, which callbacks may reset to see recent batches only,
and a global one over everything since :meth:`EvalMetric.reset`.
"""

from .base import EvalMetric, alias, register
from .classification import Accuracy, CrossEntropy, TopKAccuracy
from .composite import CompositeEvalMetric, create
from .custom import CustomMetric

__all__ = [
    "Accuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "TopKAccuracy",
    "alias",
    "create",
    "register",
]

"""Measures of how well predictions fit labels, accumulated over batches.

Each metric keeps two accounts: a local one, which callbacks may reset to see recent batches only,
and a global one over everything since :meth:`EvalMetric.reset`.
"""

from .. import ndarray, registry
from .agreement import F1, MCC, PCC
from .arrays import check_label_shapes
from .base import EvalMetric, alias, register
from .classification import (
    Accuracy,
    CrossEntropy,
    NegativeLogLikelihood,
    Perplexity,
    TopKAccuracy,
)
from .composite import CompositeEvalMetric, create
from .custom import CustomMetric
from .custom import np_metric as np
from .regression import MAE, MSE, RMSE, Caffe, Loss, PearsonCorrelation, Torch

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "ndarray",
    "np",
    "register",
    "registry",
]

"""Metrics over batches, for Ferromix and MXNet alike."""

from __future__ import annotations

from typing import Any

import numpy as np


def pairs(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions of a batch."""
    random = np.random.RandomState(seed)
    count, classes = 7, 2 if kind == "binary" else 4
    if kind == "numbers":
        return random.rand(count, 2), random.rand(count, 2)
    scores = random.rand(count, classes)
    return random.randint(0, classes, count), scores / scores.sum(1, keepdims=True)


CASES = [
    *[(name, "binary", {"average": a}) for name in ("F1", "MCC") for a in ("macro", "micro")],
    *[("PCC", kind, {}) for kind in ("binary", "classes")],
    *[(name, "numbers", {}) for name in ("MAE", "MSE", "RMSE", "PearsonCorrelation", "Loss")],
    ("PearsonCorrelation", "numbers", {"average": "micro"}),
    *[("Perplexity", "classes", {"ignore_label": label}) for label in (None, 1)],
    *[(name, "classes", {}) for name in ("NegativeLogLikelihood", "CrossEntropy", "Accuracy")],
    ("TopKAccuracy", "classes", {"top_k": 2}),
]


def values(mx: Any, name: str, kind: str, attrs: dict[str, Any]) -> list[float]:
    """The value after each batch, and what is local after that account was forgotten."""
    metric, found = getattr(mx.metric, name)(**attrs), []
    # Of this one MXNet keeps no account of everything, and does not forget the local one.
    one_account = (name, attrs.get("average")) == ("PearsonCorrelation", "micro")
    for seed in range(4):
        if seed == 2 and not one_account:
            metric.reset_local()
        label, pred = pairs(kind, seed)
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
        found.append(float(metric.get()[1]))
        if not one_account:
            found.append(float(metric.get_global()[1]))
    return found


SCHEDULES = [
    ("PolyScheduler", {"max_update": 10, "base_lr": 0.5, "pwr": 2, "final_lr": 0.1}),
    ("PolyScheduler", {"max_update": 9, "pwr": 1, "warmup_steps": 3, "warmup_begin_lr": 0.001}),
    ("CosineScheduler", {"max_update": 10, "base_lr": 0.5, "final_lr": 0.1}),
    ("CosineScheduler", {"max_update": 10, "warmup_steps": 4, "warmup_mode": "constant"}),
]


def rates(mx: Any, name: str, attrs: dict[str, Any]) -> list[float]:
    """The learning rate of each update."""
    schedule = getattr(mx.lr_scheduler, name)(**attrs)
    return [float(schedule(n)) for n in range(13)]

"""Metrics and schedules say what those of MXNet 1.9.1 do."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from measured import CASES, SCHEDULES, pairs, rates, values

import ferromix as mx
from ferromix.error import InvalidArgumentError

GOLDEN = json.loads(
    (Path(__file__).resolve().parent.parent / "golden" / "metrics.json").read_text()
)


@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda i: "-".join(map(str, CASES[i])))
def test_values_are_those_of_mxnet(number):
    found, expected = values(mx, *CASES[number]), GOLDEN["metrics"][number]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("number", range(len(SCHEDULES)))
def test_rates_are_those_of_mxnet(number):
    np.testing.assert_allclose(
        rates(mx, *SCHEDULES[number]), GOLDEN["schedules"][number], rtol=1e-12
    )


def test_a_schedule_with_nothing_after_its_warm_up_ends_at_the_last_rate():
    schedule = mx.lr_scheduler.CosineScheduler(4, 0.5, 0.1, warmup_steps=4)
    assert [schedule(n) for n in (2, 4, 5)] == [0.25, 0.1, 0.1]
    for wrong in (0, 2.5, "4"):
        with pytest.raises(InvalidArgumentError, match="whole number >= 1"):
            mx.lr_scheduler.PolyScheduler(wrong)


def test_pearson_over_parts_is_that_of_all():
    metric, random = mx.metric.PearsonCorrelation(average="micro"), np.random.default_rng(0)
    parts = [(random.random(n) + 100, random.random(n)) for n in (1, 5, 0, 9)]
    for label, pred in parts:
        metric.update([label], [pred])
    whole = np.corrcoef(*(np.concatenate(side) for side in zip(*parts, strict=True)))[0, 1]
    assert metric.get()[1] == pytest.approx(whole)
    assert metric.get_global()[1] == pytest.approx(whole)


def test_labels_that_do_not_count_may_be_no_classes():
    metric = mx.metric.Perplexity(ignore_label=-1)
    metric.update([np.array([-1, 0])], [np.array([[0.5, 0.5], [0.25, 0.75]])])
    assert metric.get()[1] == pytest.approx(4)
    metric.reset()
    metric.update([np.array([-1])], [np.array([[0.5, 0.5]])])
    assert math.isnan(metric.get()[1])


def test_pcc_counts_updates():
    metric = mx.metric.PCC()
    for seed in range(3):
        if seed == 2:
            metric.reset_local()
        label, pred = pairs("binary", seed)
        metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    # MXNet 1.9.1 gives these numbers.
    assert (metric.num_inst, metric.global_num_inst) == (1, 3)
    sums = (metric.sum_metric, metric.global_sum_metric)
    assert sums == pytest.approx((-0.7303, 0.0833), abs=5e-5)


def test_what_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"1 or one other number, got \[0, 1, 2\]"):
        mx.metric.F1().update([np.array([0, 2, 1])], [np.array([0, 1, 1])])
    with pytest.raises(InvalidArgumentError, match="not be negative"):
        mx.metric.PCC().update([np.array([-1])], [np.array([0])])
    with pytest.raises(InvalidArgumentError, match=r"\(6,\) do not fit"):
        mx.metric.MAE().update([np.zeros(6)], [np.zeros(5)])
    with pytest.raises(InvalidArgumentError, match="Shape of labels 1"):
        mx.metric.check_label_shapes([1], [1, 2])
    label, pred = mx.metric.check_label_shapes(mx.nd.ones(2), mx.nd.ones(2), wrap=True, shape=True)
    assert isinstance(label, list)
    assert isinstance(pred, list)


def test_functions_may_leave_outputs_out():
    metric = mx.metric.np(lambda label, pred: float((label == pred).sum()), "hits", True)
    metric.update([np.ones(3)], [np.ones(3), np.zeros(3)])
    assert metric.get() == ("hits", 3.0)
    strict = mx.metric.np(lambda label, pred: 0.0)
    with pytest.raises(InvalidArgumentError, match="1 arrays of labels"):
        strict.update([np.ones(3)], [np.ones(3), np.zeros(3)])


def test_names_create_them():
    names = ["f1", "mcc", "pcc", "mae", "mse", "rmse", "pearsonr", "nll_loss", "loss", "torch"]
    found = mx.metric.create(names).get()[0]
    assert found == [*names[:7], "nll-loss", "loss", "torch"]
    assert mx.metric.create("perplexity", ignore_label=None).get_config()["ignore_label"] is None


TWO = [[0.2, 0.8], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]]
THREE = [[0.2, 0.7, 0.1], [0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.4, 0.35, 0.25]]


@pytest.mark.parametrize(
    ("name", "label", "scores", "value"),
    [
        ("ce", [-1, 1, 0, 1], TWO, 0.299),
        ("nll_loss", [-2, -1, 0, 1], TWO, 0.645575),
        ("f1", [1, -1, -1, 1], TWO, 0.8),
        ("f1", [0, 5, 0, 5], TWO, 0.0),
        ("f1", [2, 1, 2, 1], THREE, 0.0),
        ("mcc", [1, -1, -1, 1], TWO, 0.57735),
        ("mcc", [2, 1, 2, 1], THREE, -0.57735),
        ("top_k_accuracy", [-1, 1, 0, 1], THREE, 0.75),
        ("top_k_accuracy", [0, 1, 2, 3], THREE, 0.5),
        ("perplexity", [-1, 1, 0, 1], THREE, 3.45721),
    ],
)
def test_labels_that_are_no_classes_are_mxnets(name, label, scores, value):
    more = {"top_k_accuracy": {"top_k": 2}, "perplexity": {"ignore_label": None}}
    metric = mx.metric.create(name, **more.get(name, {}))
    metric.update([mx.nd.array(label)], [mx.nd.array(scores)])
    assert metric.get()[1] == pytest.approx(value, abs=2e-5)


class Own(mx.metric.EvalMetric):
    def update(self, labels, preds):
        self.sum_metric += np.float32(0.1)
        self.num_inst += 1


@pytest.mark.parametrize("metric", [mx.metric.np(lambda a, b: np.float32(0.1)), Own("own")])
def test_sums_of_singles_are_doubles(metric):
    label = [np.zeros(1)]
    for _ in range(20000):
        metric.update(label, label)
    value = metric.get()[1]
    assert value == pytest.approx(float(np.float32(0.1)), abs=1e-12)
    assert type(value) is float

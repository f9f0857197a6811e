"""Metrics against NumPy, and against what MXNet 1.9.1 says of the same batches."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

PRED = mx.nd.array([[0.3, 0.7], [0, 1.0], [0.4, 0.6]])
LABEL = mx.nd.array([0, 1, 1])


def updated(metric, label=LABEL, pred=PRED):
    metric.update([label], [pred])
    return metric


def test_accuracy_of_scores():
    metric = updated(mx.metric.Accuracy())
    assert metric.get() == ("accuracy", 2 / 3)
    assert (metric.sum_metric, metric.num_inst) == (2.0, 3)
    assert str(metric) == "EvalMetric: {'accuracy': 0.6666666666666666}"


@pytest.mark.parametrize(
    ("label", "pred", "value"),
    [
        ([0, 1, 1], [0, 1, 0], 2 / 3),
        ([[0, 1], [1, 1]], [[0, 1], [0, 1]], 3 / 4),
        ([[0, 1]], [[[0.1, 0.8], [0.9, 0.2]]], 0.0),
        ([[1, 0]], [[[0.1, 0.8], [0.9, 0.2]]], 1.0),
    ],
)
def test_accuracy_of_classes_and_of_images(label, pred, value):
    metric = updated(mx.metric.Accuracy(), mx.nd.array(label), mx.nd.array(pred))
    assert metric.get()[1] == value


def test_arrays_need_no_list_and_may_be_numpy():
    metric = mx.metric.Accuracy()
    metric.update(LABEL, PRED)
    metric.update(LABEL.asnumpy(), PRED.asnumpy())
    assert (metric.sum_metric, metric.num_inst) == (4.0, 6)


def test_several_outputs():
    metric = mx.metric.Accuracy()
    metric.update([LABEL, LABEL], [PRED, PRED])
    assert metric.num_inst == 6


def test_an_empty_batch():
    metric = updated(mx.metric.Accuracy(), mx.nd.zeros((0,)), mx.nd.zeros((0, 3)))
    assert math.isnan(metric.get()[1])


@pytest.mark.parametrize("top_k", [2, 3, 5, 9])
def test_top_k_against_sorting(top_k):
    rng = np.random.default_rng(top_k)
    pred, label = rng.random((40, 5)).astype(np.float32), rng.integers(0, 5, 40)
    best = np.argsort(-pred, axis=1)[:, :top_k]
    metric = mx.metric.TopKAccuracy(top_k=top_k)
    metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    assert metric.get() == (f"top_k_accuracy_{top_k}", (best == label[:, None]).any(axis=1).mean())


def test_top_k_breaks_ties_by_class():
    metric = mx.metric.TopKAccuracy(top_k=2)
    metric.update([mx.nd.array([0, 1, 2])], [mx.nd.ones((3, 3))])
    assert metric.get()[1] == 2 / 3


@pytest.mark.parametrize(
    ("top_k", "label", "pred", "found"),
    [  # of MXNet 1.9.1
        (2, [0, 1, 2], [0, 1, 1], 1),
        (3, [0, 1, 1, 2], [0.3, 1.2, 1, 2], 0.5),
        (2, [[0], [1], [2]], [0, 1, 0], 1 / 3),
    ],
)
def test_top_k_of_one_axis(top_k, label, pred, found):
    metric = updated(mx.metric.TopKAccuracy(top_k), mx.nd.array(label), mx.nd.array(pred))
    assert metric.get()[1] == found


def test_cross_entropy():
    metric = updated(mx.metric.CrossEntropy())
    expected = -np.log(np.array([0.3, 1.0, 0.6]) + 1e-12).mean()
    assert metric.get() == ("cross-entropy", pytest.approx(expected, rel=1e-6))
    assert metric.get()[1] == pytest.approx(0.5715994834899902, rel=1e-6)  # MXNet 1.9.1
    metric = updated(mx.metric.CrossEntropy(), mx.nd.array([0, 0]), mx.nd.array([[0, 1], [1, 0]]))
    assert metric.get()[1] == pytest.approx(-math.log(1e-12) / 2, rel=1e-6)


def test_local_and_global_accounts():
    metric = updated(mx.metric.Accuracy())
    metric.reset_local()
    assert math.isnan(metric.get()[1])
    updated(metric, mx.nd.array([0, 0, 0]))
    assert metric.get_name_value() == [("accuracy", 0.0)]
    assert metric.get_global_name_value() == [("accuracy", 2 / 6)]
    metric.reset()
    assert math.isnan(metric.get_global()[1])


def test_metrics_of_users_without_a_global_account():
    class Tasks(mx.metric.EvalMetric):
        def __init__(self):
            super().__init__("tasks", has_global_stats=False)

        def reset(self):
            self.num_inst, self.sum_metric = [0, 0], [0.0, 0.0]

        def update(self, labels, preds):
            for i, label in enumerate(labels):
                self.sum_metric[i] += label.sum().asscalar()
                self.num_inst[i] += label.size

        def get(self):
            values = [a / b for a, b in zip(self.sum_metric, self.num_inst, strict=True)]
            return ["first", "second"], values

    metric = Tasks()
    metric.update([mx.nd.array([1, 2]), mx.nd.array([6])], [])
    assert metric.get_global_name_value() == [("first", 1.5), ("second", 6.0)]
    assert "has_global_stats" not in metric.get_config()

    class Summed(mx.metric.EvalMetric):
        def update(self, labels, preds):
            self.num_inst += 1
            self.sum_metric += 3

    metric = Summed("summed")
    metric.update([], [])
    assert metric.get_global() == ("summed", 3.0)
    metric.reset_local()
    assert math.isnan(metric.get_global()[1])


def test_composite():
    metric = mx.metric.CompositeEvalMetric(["acc"])
    metric.add(mx.metric.CrossEntropy())
    updated(metric)
    names, values = metric.get()
    assert names == ["accuracy", "cross-entropy"]
    assert values == [2 / 3, pytest.approx(0.5715995, rel=1e-6)]
    assert dict(metric.get_name_value()) == dict(zip(names, values, strict=True))
    assert metric.get_metric(0).name == "accuracy"
    metric.reset_local()
    assert all(math.isnan(v) for v in metric.get()[1])
    assert metric.get_global()[1][0] == 2 / 3
    metric.reset()
    assert all(math.isnan(v) for v in metric.get_global()[1])
    with pytest.raises(InvalidArgumentError, match="index 7 is out of range: there are 2"):
        metric.get_metric(7)


def test_choice_by_name():
    metric = mx.metric.Accuracy(output_names=["o"], label_names=["l"])
    metric.update_dict({"l": LABEL, "k": LABEL}, {"o": PRED, "z": PRED})
    assert metric.num_inst == 3
    metric = mx.metric.CompositeEvalMetric([mx.metric.Accuracy(), "ce"], output_names=["o"])
    metric.update_dict({"l": LABEL}, {"o": PRED, "z": PRED})
    assert metric.get()[1][0] == 2 / 3


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("acc", mx.metric.Accuracy),
        ("accuracy", mx.metric.Accuracy),
        ("ce", mx.metric.CrossEntropy),
        ("CrossEntropy", mx.metric.CrossEntropy),
        (["acc", "ce"], mx.metric.CompositeEvalMetric),
    ],
)
def test_creation(name, kind):
    assert type(mx.metric.create(name)) is kind


def test_creation_with_arguments_and_from_functions():
    assert mx.metric.create("top_k_accuracy", top_k=3).name == "top_k_accuracy_3"
    same = mx.metric.Accuracy(name="mine")
    assert mx.metric.create(same) is same

    def misses(label, pred):
        return float((label != pred.argmax(axis=1)).sum())

    assert updated(mx.metric.create(misses)).get() == ("misses", 1.0)
    share = mx.metric.create(lambda label, pred: (misses(label, pred), len(label)))
    assert updated(share).get() == ("custom(<lambda>)", 1 / 3)


def test_configuration():
    assert mx.metric.Accuracy().get_config() == {
        "axis": 1,
        "metric": "Accuracy",
        "name": "accuracy",
        "output_names": None,
        "label_names": None,
    }


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: mx.metric.create("acuracy"), "unknown metric 'acuracy'; did you mean accuracy"),
        (lambda: mx.metric.create(5), "metric must be a name or a EvalMetric, got 5"),
        (lambda: mx.metric.TopKAccuracy(), "top_k must be >= 2, got 1; use Accuracy"),
        (lambda: mx.metric.Accuracy().update([LABEL], [PRED, PRED]), "1 arrays .* but 2 of pred"),
        (lambda: updated(mx.metric.Accuracy(), mx.nd.zeros((2,))), "got 2 labels, but 3 pred"),
        (lambda: updated(mx.metric.CrossEntropy(), mx.nd.zeros((2,))), "2 labels, but 3 pred"),
        (
            lambda: updated(mx.metric.CrossEntropy(), mx.nd.array([0, 2, 1])),
            r"labels must be in \[0, 2\), got 0 to 2",
        ),
        (lambda: updated(mx.metric.TopKAccuracy(2), LABEL, LABEL[:2]), r"\(batch, classes\)"),
        (lambda: updated(mx.metric.TopKAccuracy(5), LABEL, LABEL), "at least 5"),
        (lambda: mx.metric.create(lambda a, b: 0.0).get_config(), "cannot be saved"),
    ],
)
def test_errors(act, message):
    with pytest.raises(InvalidArgumentError, match=message):
        act()

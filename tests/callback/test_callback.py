"""Callbacks say what happened, when they should."""

from __future__ import annotations

import io
import logging
import re

import pytest

import ferromix as mx
from ferromix.model import BatchEndParam


@pytest.fixture
def metric():
    made = mx.metric.Accuracy()
    made.update([mx.nd.array([0, 1])], [mx.nd.array([0, 0])])
    return made


def test_a_bar_of_characters_is_mxnets(caplog):
    bar = mx.callback.ProgressBar(7, length=20)
    with caplog.at_level(logging.INFO):
        for i in (0, 1, 3, 7, 8):
            bar(BatchEndParam(0, i, None, None))
    assert caplog.messages == [
        "[--------------------] 0%\r",
        "[===-----------------] 15%\r",
        "[=========-----------] 43%\r",
        "[====================] 100%\r",
        "[=======================] 115%\r",
    ]


def test_hundredths_of_a_bar_are_whole(caplog):
    with caplog.at_level(logging.INFO):
        mx.callback.ProgressBar(10, length=10)(BatchEndParam(0, 11, None, None))
    assert caplog.messages == ["[===========] 110%\r"]


def test_a_bar_of_tqdm_counts_samples_and_shows_the_metric(metric):
    out = io.StringIO()
    bar = mx.callback.TqdmBar(3, batch_size=4, file=out, mininterval=0, ncols=90)
    for epoch in (1, 2):
        for i in range(3):
            bar(BatchEndParam(epoch, i, metric, None))
    lines = out.getvalue()
    for text in ("epoch 1", "epoch 2", "12/12", "samples/s", "accuracy=0.5000"):
        assert text in lines


def test_a_bar_of_an_epoch_cut_short():
    out = io.StringIO()
    bar = mx.callback.TqdmBar(5, file=out, mininterval=0)
    bar(BatchEndParam(0, 1, None, None))
    bar.close()
    bar.close()
    assert "2/5" in out.getvalue()
    assert "batches/s" in out.getvalue()


def test_speedometer(metric, caplog):
    meter = mx.callback.Speedometer(batch_size=10, frequent=2)
    with caplog.at_level(logging.INFO):
        for i in range(5):
            meter(BatchEndParam(3, i, metric if i < 4 else None, None))
    assert len(caplog.messages) == 2
    assert re.fullmatch(
        r"Epoch\[3\] Batch \[0-2\]\tSpeed: [\d.]+ samples/sec\taccuracy=0\.500000",
        caplog.messages[0],
    )
    assert re.fullmatch(r"Iter\[3\] Batch \[4\]\tSpeed: [\d.]+ samples/sec", caplog.messages[1])
    assert metric.num_inst == 0
    assert metric.get_global()[1] == 0.5


def test_speedometer_starts_over_with_each_epoch(metric, caplog):
    meter = mx.callback.Speedometer(batch_size=10, frequent=2, auto_reset=False)
    with caplog.at_level(logging.INFO):
        for epoch in range(2):
            for i in range(3):
                meter(BatchEndParam(epoch, i, metric, None))
    assert [m[:20] for m in caplog.messages] == ["Epoch[0] Batch [0-2]", "Epoch[1] Batch [0-2]"]
    assert metric.num_inst == 2


def test_log_train_metric(metric, caplog):
    log = mx.callback.log_train_metric(2, auto_reset=True)
    with caplog.at_level(logging.INFO):
        for i in range(1, 3):
            log(BatchEndParam(0, i, metric, None))
        log(BatchEndParam(0, 4, None, None))
    assert caplog.messages == ["Iter[0] Batch[2] Train-accuracy=0.500000"]
    assert metric.num_inst == 0


def test_checkpoints_every_period(tmp_path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    save = mx.callback.do_checkpoint(tmp_path / "net", period=2)
    for epoch in range(5):
        save(epoch, net, {"fc_weight": mx.nd.full((2, 2), epoch)}, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "net-0002.params",
        "net-0004.params",
        "net-symbol.json",
    ]
    args, aux = mx.model.load_params(tmp_path / "net", 4)
    assert (args["fc_weight"].asnumpy() == 3).all()
    assert aux == {}


def test_module_checkpoints_every_period():
    calls = []

    class Module:
        def save_checkpoint(self, *args):
            calls.append(args)

    save = mx.callback.module_checkpoint(Module(), "net", 2, True)
    for epoch in range(5):
        save(epoch, None, {}, {})
    assert calls == [("net", 2, True), ("net", 4, True)]


def test_validation_metrics_are_logged(metric, caplog):
    log = mx.callback.LogValidationMetricsCallback()
    with caplog.at_level(logging.INFO):
        log(BatchEndParam(3, 0, metric, None))
        log(BatchEndParam(3, 0, None, None))
    assert caplog.messages == ["Epoch[3] Validation-accuracy=0.500000"]

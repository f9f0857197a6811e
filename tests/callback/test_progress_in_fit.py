"""Progress of whole trainings: a bar, curves as a picture, event files that are read back."""

from __future__ import annotations

import io
import struct
import sys

import numpy as np
import pytest

import ferromix as mx

PNG = b"\x89PNG\r\n\x1a\n"


def train(epochs=2, samples=22, validate=True, **words):
    """Trains a little; six batches of four an epoch."""
    random = np.random.default_rng(0)
    data = random.normal(size=(samples, 3)).astype("float32")
    label = (data[:, 0] > 0).astype("float32")
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.fit(
        mx.io.NDArrayIter(data, label, 4),
        mx.io.NDArrayIter(data, label, 4) if validate else None,
        num_epoch=epochs,
        eval_metric=["acc", "ce"],
        **words,
    )


def test_a_bar_in_fit_knows_how_long_an_epoch_is():
    out = io.StringIO()
    bar = mx.callback.TqdmBar(file=out, mininterval=0, ncols=120)
    train(batch_end_callback=bar)
    lines = out.getvalue()
    for text in ("epoch 0", "epoch 1", "22/24", "samples/s", "accuracy=", "cross-entropy="):
        assert text in lines


def test_a_bar_learns_how_long_an_epoch_is():
    """Of a source that does not say it."""

    class Source(mx.io.DataIter):
        def __init__(self, inner):
            super().__init__(inner.batch_size)
            self.inner = inner
            self.provide_data, self.provide_label = inner.provide_data, inner.provide_label

        provide_data = provide_label = None

        def reset(self):
            self.inner.reset()

        def next(self):
            return self.inner.next()

    out = io.StringIO()
    bar = mx.callback.TqdmBar(file=out, mininterval=0, ncols=120)
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax"
    )
    module = mx.mod.Module(net)
    data = mx.io.NDArrayIter(np.ones((8, 3)), np.ones(8), 4)
    module.fit(Source(data), num_epoch=2, batch_end_callback=bar)
    bar.close()
    first, second = out.getvalue().split("epoch 1")[0], out.getvalue().split("epoch 1")[-1]
    assert "8samples" in first.replace(" ", "")
    assert "8/8" in second


def test_curves_as_a_picture(tmp_path):
    path = tmp_path / "curves.png"
    curves = mx.callback.Curves(path, frequent=4)
    train(**curves.callback_args())
    written = path.read_bytes()
    assert written.startswith(PNG)
    assert struct.unpack(">II", written[16:24]) == (800, 600)
    assert set(curves.train) == set(curves.validation) == {"accuracy", "cross-entropy"}
    for name in curves.train:
        assert curves.train[name][0] == [4, 6, 8, 12]
        assert curves.validation[name][0] == [6, 12]
        assert np.isfinite(curves.train[name][1] + curves.validation[name][1]).all()
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_before_there_is_anything(tmp_path):
    curves = mx.callback.Curves(tmp_path / "curves.png")
    curves.draw()
    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)


def test_curves_say_what_to_install(monkeypatch):
    monkeypatch.setattr("ferromix.callback.curves.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"ferromix\[plot\]"):
        mx.callback.Curves("curves.png")


# -- event files -----------------------------------------------------------------------------------


def records(path):
    """The records of an event file: length, checksum, bytes, checksum."""
    content = path.read_bytes()
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield content[12 : 12 + length]
        content = content[16 + length :]


def scalars(folder):
    """Tag, step and value of all that was written."""
    event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")
    found = []
    for path in sorted(folder.iterdir()):
        for record in records(path):
            event = event_pb2.Event.FromString(record)
            found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
    return found


def test_metrics_in_event_files(tmp_path):
    pytest.importorskip("tensorboardX")
    log = mx.contrib.tensorboard.LogMetricsCallback(tmp_path / "train")
    check = mx.contrib.tensorboard.LogMetricsCallback(tmp_path / "check", prefix="validation")
    seen = []
    train(
        batch_end_callback=[log, lambda p: seen.append((p.epoch, p.eval_metric.get_name_value()))],
        eval_end_callback=check,
    )
    log(mx.model.BatchEndParam(0, 0, None, None))
    for one in (log, check):
        one.summary_writer.close()
    expected = [(name, epoch, value) for epoch, values in seen for name, value in values]
    found = scalars(tmp_path / "train")
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose([r[2] for r in found], [r[2] for r in expected], rtol=1e-6)
    tags = [row[:2] for row in scalars(tmp_path / "check")]
    names = ("validation-accuracy", "validation-cross-entropy")
    assert tags == [(name, epoch) for epoch in range(2) for name in names]


def test_event_files_say_what_to_install(monkeypatch):
    for name in ("tensorboardX", "mxboard", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"ferromix\[tensorboard\]"):
        mx.contrib.tensorboard.LogMetricsCallback("logs")

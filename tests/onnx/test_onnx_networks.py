"""Networks of users' kinds give the same results in ONNX Runtime, and when they are read again."""

from __future__ import annotations

import numpy as np
import pytest
from exported import NETWORKS, inputs, outputs, parameters

import ferromix as mx

onnx = pytest.importorskip("onnx", reason="models are written by onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="models are run by onnxruntime")


def run(path, given):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return session.run(None, {i.name: given[i.name] for i in session.get_inputs()})


def assert_all_close(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_a_network_there_and_back(make, tmp_path):
    net, shapes = make()
    args, auxs = parameters(net, shapes)
    given = inputs(shapes, make.__name__ in ("lstm", "language_model"))
    expected = outputs(net, args, auxs, given)
    path = str(tmp_path / "net.onnx")
    assert mx.onnx.export_model(net, [args, auxs], shapes, np.float32, path) == path
    onnx.checker.check_model(onnx.load(path), full_check=True)
    assert_all_close(run(path, given), expected)
    assert_all_close(outputs(*mx.onnx.import_model(path), given), expected)


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
def test_what_a_read_network_is_can_be_saved(make, tmp_path):
    net, shapes = make()
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(net, list(parameters(net, shapes)), shapes, onnx_file_path=path)
    net, args, auxs = mx.onnx.import_model(path)
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, net, args, auxs)
    again, more, states = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    assert again.tojson() == net.tojson()
    assert [*more] == [*args]
    assert [*states] == [*auxs]


def first_of_many(shapes):
    """The shapes with any number of images in front."""
    return {n: (None, *shape[1:]) for n, shape in shapes.items()}


@pytest.mark.parametrize(
    "make",
    [m for m in NETWORKS if m.__name__ not in ("lstm", "gru", "language_model", "transformer")],
    ids=lambda make: make.__name__,
)
def test_any_number_of_images(make, tmp_path):
    net, shapes = make()
    args, auxs = parameters(net, shapes)
    path = str(tmp_path / "net.onnx")
    mx.onnx.export_model(
        *(net, [args, auxs], shapes, np.float32, path),
        dynamic=True,
        dynamic_input_shapes=first_of_many(shapes),
    )
    given = inputs({n: (5, *shape[1:]) for n, shape in shapes.items()}, False)
    assert_all_close(run(path, given), outputs(net, args, auxs, given))
    assert mx.onnx.get_model_metadata(path)["input_tensor_data"] == [
        ("data", ("data_0", *shapes["data"][1:]))
    ]

"""Operators as older versions of ONNX had them, with attributes in place of inputs."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

onnx = pytest.importorskip("onnx", reason="models are made by onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

X = np.random.default_rng(3).standard_normal((2, 4, 3, 5)).astype("float32")
WEIGHT = np.arange(30, dtype="float32").reshape(5, 3, 2) / 30
ROWS = {
    "Slice-1": (7, {"axes": [1, 3], "starts": [1, -2], "ends": [3, 99]}, (), X[:, 1:3, :, -2:]),
    "Slice-10": (10, {}, ([4, 9], [0, -9], [3, 2], [-2, -1]), X[:, :, ::-1, 4:0:-2][..., :2]),
    "Squeeze-1": (9, {"axes": [0]}, (), None),
    "Softmax-1": (9, {"axis": 2}, (), None),
    "Clip-6": (9, {"min": -0.5, "max": 0.25}, (), X.clip(-0.5, 0.25)),
    "Clip-11": (11, {}, (None, np.float32(0.25)), X.clip(None, 0.25)),
    "Pad-2": (9, {"pads": [0, 0, 1, 0, 0, 0, 0, 2], "value": 1.5}, (), None),
    "ReduceMean-1": (9, {"axes": [1, -1], "keepdims": 0}, (), X.mean((1, 3))),
    "ReduceSum-13": (13, {"keepdims": 1}, ([2],), X.sum(2, keepdims=True)),
    "ReduceMax-18": (18, {"noop_with_empty_axes": 1}, (), X),
    "Split-2": (9, {"axis": 1, "split": [1, 3]}, (), X[:, :1]),
    "Split-18": (18, {"axis": 3, "num_outputs": 2}, (), X[..., :3]),
    "Upsample-7": (8, {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 2.0]}, (), None),
    "Dropout-7": (9, {"ratio": 0.4}, (), X),
    "TopK-1": (9, {"axis": 1, "k": 2}, (), -np.sort(-X, axis=1)[:, :2]),
    "LpNormalization-1": (9, {"axis": 1}, (), X / np.linalg.norm(X, axis=1, keepdims=True)),
    "DepthToSpace-11": (11, {"blocksize": 2, "mode": "CRD"}, (), None),
    "Round-11": (11, {}, (), np.round(X)),
    "Gelu-20": (20, {"approximate": "tanh"}, (), None),
    "HardSwish-14": (14, {}, (), X * np.clip(X / 6 + 0.5, 0, 1)),
    "Einsum-12": (
        *(12, {"equation": "bchw,whk->kbc"}, (WEIGHT,)),
        np.einsum("bchw,whk->kbc", X, WEIGHT),
    ),
    "Trilu-14": (14, {"upper": 0}, (np.int64(1),), np.tril(X, 1)),
    "IsInf-10": (10, {}, (), np.isinf(X)),
    "LayerNormalization-17": (17, {"axis": 2}, (np.ones((3, 5), "float32"),), None),
    "Where-16": (16, {}, (X, np.float32(2)), np.where(X > 0, X, 2)),
    "Flatten-9": (9, {"axis": 2}, (), X.reshape(8, 15)),
    "ReduceLogSumExp-18": (18, {}, ([1],), np.log(np.exp(X).sum(1, keepdims=True))),
}
OVER = X - X.mean((2, 3), keepdims=True)
UNTOLD = {
    "LayerNormalization-17": (X, OVER / np.sqrt((OVER**2).mean((2, 3), keepdims=True) + 1e-5)),
    "Where-16": (X > 0, np.where(X > 0, X, 2)),
    "Squeeze-1": (X[:1], X[0]),
    "Softmax-1": (X, np.exp(X) / np.exp(X).sum((2, 3), keepdims=True)),
    "Pad-2": (X, np.pad(X, [(0, 0), (0, 0), (1, 0), (0, 2)], constant_values=1.5)),
    "Upsample-7": (X, X.repeat(2, 2).repeat(2, 3)),
    "DepthToSpace-11": (
        X,
        X.reshape(2, 1, 2, 2, 3, 5).transpose(0, 1, 4, 2, 5, 3).reshape(2, 1, 6, 10),
    ),
    "Gelu-20": (X, 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3)))),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_version_of_an_operator(name, tmp_path):
    opset, attrs, more, expected = ROWS[name]
    x, expected = UNTOLD.get(name, (X, expected))
    kind = name.partition("-")[0]
    constants = {
        f"c{i}": np.asarray(v, getattr(v, "dtype", np.int64))
        for i, v in enumerate(more)
        if v is not None
    }
    inputs = ["x", *(f"c{i}" if v is not None else "" for i, v in enumerate(more))]
    outputs = ["y", "z"] if kind in ("Split", "TopK") else ["y"]
    node = helper.make_node(kind, inputs, outputs, name="n", **attrs)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node],
        "net",
        [value("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [value("y", TensorProto.FLOAT, [None] * expected.ndim)],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    path = tmp_path / "net.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", opset)])
    made.ir_version = 8
    path.write_bytes(made.SerializeToString())
    net, args, _ = mx.onnx.import_model(str(path))
    found = net.eval(x=mx.nd.array(x, dtype=x.dtype), **args)[0].asnumpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_shapes_that_follow_from_open_ones(tmp_path):
    """What is worked out from a shape is known once the shape of the input is given."""
    make, value = helper.make_node, helper.make_tensor_value_info
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["first"], axis=0),
        make("Concat", ["first", "rest"], ["wanted"], axis=0),
        make("Reshape", ["x", "wanted"], ["y"], name="n"),
    ]
    constants = {"zero": np.array([0]), "rest": np.array([2, -1])}
    graph = helper.make_graph(
        nodes,
        "net",
        [value("x", TensorProto.FLOAT, ["n", 6])],
        [value("y", TensorProto.FLOAT, [None] * 3)],
        [numpy_helper.from_array(v, n) for n, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 17)])
    made.ir_version = 8
    path = tmp_path / "net.onnx"
    path.write_bytes(made.SerializeToString())
    net, args, _ = mx.onnx.import_model(str(path), {"x": (4, 6)})
    assert net.eval(x=mx.nd.ones((4, 6)), **args)[0].shape == (4, 2, 3)
    for shapes, words in (
        (None, "part of a shape|shapes of the model's inputs"),
        ({"x": (4, 7)}, "'x' has shape"),
        ({"z": (4, 6)}, "'z', which is no input"),
    ):
        with pytest.raises(InvalidArgumentError, match=words):
            mx.onnx.import_model(str(path), shapes)

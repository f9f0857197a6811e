"""What is no model, or none that can be said, gives an error that names file, node and operator."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MissingFileError, MXNetError

onnx = pytest.importorskip("onnx", reason="models are made by onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None])


def saved(tmp_path, nodes, constants=(), inputs=(X,), opset=17, domains=()):
    initializers = [numpy_helper.from_array(v, n) for n, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "net", list(inputs), [Y], initializers)
    imports = [helper.make_operatorsetid("", opset)]
    imports += [helper.make_operatorsetid(d, 1) for d in domains]
    path = tmp_path / "net.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    )
    return str(path)


def node(kind, *inputs, outputs=("y",), **attrs):
    return helper.make_node(kind, inputs, outputs, name="n1", **attrs)


FULL = np.ones((4, 3), "float32")
UNSAYABLE = {
    "no such operator here": (node("Det", "x"), {}, "'n1' (Det): this operator cannot"),
    "another domain": (node("Foo", "x", domain="acme"), {}, "operators 'acme'"),
    "an input that nothing gives": (node("Reshape", "x", "x2"), {}, "'x2'"),
    "a mode": (node("Pad", "x", "p", mode="wrap"), {"p": np.zeros(4, "int64")}, "Pad"),
    "weights of a wrong shape": (
        node("Gemm", "x", "w", transB=1),
        {"w": np.ones((4, 7), "f")},
        "3",
    ),
    "an axis": (node("Softmax", "x", axis=5), {}, "'n1' (Softmax): there is no axis 5"),
    "a shape of no use": (node("Reshape", "x", "s"), {"s": np.array([7, 11])}, "'n1'"),
    "an enormous constant": (
        node("ConstantOfShape", "s"),
        {"s": np.array([1 << 40, 1 << 20])},
        "numbers, more than",
    ),
    "a type that there is not": (node("Cast", "x", to=TensorProto.COMPLEX64), {}, "complex64"),
    "a step of nothing": (
        node("Slice", "x", "a", "b", "c", "d"),
        {n: np.array([v]) for n, v in zip("abcd", (0, 2, 0, 0), strict=True)},
        "'n1' (Slice)",
    ),
    "another number of ends": (
        node("Slice", "x", "a", "b", "c"),
        {"a": np.array([0]), "b": np.array([1, 2]), "c": np.array([0])},
        "'n1' (Slice)",
    ),
    "peepholes": (
        node("LSTM", "s", "w", "r", "", "", "", "", "p", hidden_size=2),
        {
            "s": np.ones((2, 1, 3), "float32"),
            "w": np.ones((1, 8, 3), "float32"),
            "r": np.ones((1, 8, 2), "float32"),
            "p": np.ones((1, 6), "float32"),
        },
        "peepholes",
    ),
}


@pytest.mark.parametrize("what", UNSAYABLE)
def test_a_node_that_cannot_be_read(what, tmp_path):
    made, constants, words = UNSAYABLE[what]
    path = saved(tmp_path, [made], constants, domains=("acme",))
    with pytest.raises((InvalidArgumentError, FileFormatError), match=re.escape(words)):
        mx.onnx.import_model(path)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 64, b"not a model", b"\x08\x08:\x80\x80\x80\x80\x08", b"\x0a" * 999]
)
def test_a_file_that_is_no_model(data, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(data)
    for function in (mx.onnx.import_model, mx.onnx.get_model_metadata):
        with pytest.raises(FileFormatError, match=r"net\.onnx: not an ONNX model"):
            function(str(path))


def test_a_file_that_there_is_not(tmp_path):
    with pytest.raises(MissingFileError, match="none"):
        mx.onnx.import_model(str(tmp_path / "none"))


def test_damaged_models_give_errors(tmp_path):
    """Bytes changed, and ends cut off: an error or a network, nothing else."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.softmax(mx.sym.Reshape(net, shape=(3, -1)), name="soft")
    path = tmp_path / "net.onnx"
    weights = {"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.zeros(3)}
    mx.onnx.export_model(net, weights, [(2, 4)], onnx_file_path=str(path))
    whole = path.read_bytes()
    random = np.random.default_rng(5)
    errors = 0
    for round_ in range(300):
        data = bytearray(whole)
        for place in random.integers(0, len(data), 1 + round_ % 4):
            data[place] = random.integers(256)
        path.write_bytes(data[: random.integers(1, len(data))] if round_ % 5 == 0 else data)
        try:
            mx.onnx.import_model(str(path))
        except (MXNetError, OSError) as error:
            errors += 1
            assert str(error)  # noqa: PT017
    assert errors > 100


def test_data_outside_of_the_folder_is_not_read(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(48))
    graph = helper.make_graph([node("Add", "x", "w")], "net", [X], [Y])
    tensor = graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[4, 3])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../secret")
    (folder / "net.onnx").write_bytes(helper.make_model(graph, ir_version=8).SerializeToString())
    with pytest.raises(FileFormatError, match="not an ONNX model"):
        mx.onnx.import_model(str(folder / "net.onnx"))


def test_what_cannot_be_written_names_node_and_operator(tmp_path):
    x = mx.sym.Variable("data")
    path = str(tmp_path / "net.onnx")
    with pytest.raises(InvalidArgumentError, match=r"node 'g' \(gamma\): cannot be said in ONNX"):
        mx.onnx.export_model(mx.sym.gamma(x, name="g"), {}, [(2, 3)], onnx_file_path=path)
    fc = mx.sym.FullyConnected(x, num_hidden=3, name="fc")
    weights = {"arg:fc_weight": mx.nd.ones((3, 4)), "arg:fc_bias": mx.nd.zeros(3)}
    with pytest.raises(InvalidArgumentError, match="the inputs data, got 2"):
        mx.onnx.export_model(fc, weights, [(2, 4), (1,)], onnx_file_path=path)
    with pytest.raises(InvalidArgumentError, match="fc_weight"):
        mx.onnx.export_model(fc, weights, [(2, 5)], onnx_file_path=path)
    with pytest.raises(InvalidArgumentError, match="data, fc_bias"):
        mx.onnx.export_model(fc, {"fc_weight": mx.nd.ones((3, 4))}, [(2, 4)], onnx_file_path=path)
    with pytest.raises(InvalidArgumentError, match="'date', which is no input"):
        mx.onnx.export_model(fc, weights, {"date": (2, 4)}, onnx_file_path=path)
    with pytest.raises(InvalidArgumentError, match="must be an NDArray, got float"):
        mx.onnx.export_model(fc, {"fc_weight": 1.0}, [(2, 4)], onnx_file_path=path)
    assert not (tmp_path / "net.onnx").exists()

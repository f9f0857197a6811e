"""Checkpoints as text, and in other forms; by the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix import checkpoints
from ferromix.error import InvalidArgumentError

MODELS = Path(__file__).resolve().parent.parent / "golden" / "models"


def run(*words):
    command = [sys.executable, "-m", "ferromix", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_what_a_checkpoint_is():
    _, args, auxs = mx.model.load_checkpoint(str(MODELS / "mxnet-convnet"), 1)
    text = checkpoints.describe(str(MODELS / "mxnet-convnet"), 1)
    lines = text.splitlines()
    assert lines[0].endswith("mxnet-convnet-symbol.json, of MXNet 1.9.1")
    assert "inputs      data, softmax_label" in lines
    numbers = sum(a.size for a in args.values())
    assert f"parameters  {len(args)} arrays, {numbers} numbers, {4 * numbers} bytes" in lines
    for name, array in {**args, **auxs}.items():
        assert any(line.split()[:1] == [name] and str(array.shape) in line for line in lines)
    assert lines[-1].split(maxsplit=1) == ["softmax_output", "(?, 5)"]


def test_shapes_of_outputs_follow_from_those_of_inputs(tmp_path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    args = {"fc_weight": mx.nd.ones((3, 5), dtype="bfloat16"), "other": mx.nd.ones(2)}
    mx.model.save_checkpoint(str(tmp_path / "net"), 4, net, args, {})
    text = checkpoints.describe(str(tmp_path / "net"), 4, {"data": (7, 5)})
    assert "inputs      data, fc_bias" in text
    assert "parameters  2 arrays, 17 numbers, 38 bytes" in text
    assert "8 bytes  (not in the graph)" in text
    assert "(7, 3)" in text


@pytest.mark.parametrize("form", ["mxnet", "safetensors"])
def test_the_same_checkpoint_in_another_form(tmp_path, form):
    done = run("convert", MODELS / "mxnet-convnet", 1, tmp_path / "new", "--format", form)
    assert done.returncode == 0, done.stderr
    ending = "params" if form == "mxnet" else "safetensors"
    weights = tmp_path / f"new-0001.{ending}"
    assert done.stdout.splitlines() == [str(tmp_path / "new-symbol.json"), str(weights)]
    net, args, auxs = mx.model.load_checkpoint(str(MODELS / "mxnet-convnet"), 1)
    assert mx.sym.load(str(tmp_path / "new-symbol.json")).tojson() == net.tojson()
    found = mx.nd.load(str(weights))
    prefixes = ("arg:", "aux:") if form == "mxnet" else ("", "")
    for start, part in zip(prefixes, (args, auxs), strict=True):
        for name, array in part.items():
            assert np.array_equal(found[start + name].asnumpy(), array.asnumpy())
    assert len(found) == len(args) + len(auxs)


def test_an_onnx_model_of_a_checkpoint_and_back(tmp_path):
    pytest.importorskip("onnx", reason="models are written by onnx")
    words = (MODELS / "mxnet-convnet", 1, tmp_path / "net", "--format", "onnx")
    done = run("convert", *words, "--shape", "data=0,2,9,9")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'net'}.onnx\n"), done.stderr
    written = checkpoints.convert(f"{tmp_path}/net.onnx", 7, f"{tmp_path}/back")
    assert [p.name for p in written] == ["back-symbol.json", "back-0007.params"]
    net, args, auxs = mx.model.load_checkpoint(str(tmp_path / "back"), 7)
    golden = np.load(MODELS / "mxnet-convnet.npz")
    bound = net.simple_bind(mx.cpu(), grad_req="null", data=golden["data"].shape)
    bound.copy_params_from(args, auxs)
    (found,) = bound.forward(data=mx.nd.array(golden["data"]))
    np.testing.assert_allclose(found.asnumpy(), golden["output"], atol=1e-5)
    unknown = run("convert", *words)
    assert unknown.returncode == 1
    assert "no shape for input 'data'" in unknown.stderr


OLD = """{"nodes": [
  {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1},
  {"op": "null", "param": {}, "name": "bn_gamma", "inputs": [], "backward_source_id": -1},
  {"op": "null", "param": {}, "name": "bn_beta", "inputs": [], "backward_source_id": -1},
  {"op": "BatchNorm", "param": {"eps": "0.001"}, "name": "bn", "inputs": [[0, 0], [1, 0], [2, 0]],
   "backward_source_id": -1, "attr": {"gamma_lr_mult": "2"}},
  {"op": "argmax", "param": {"axis": "-1"}, "name": "best", "inputs": [[3, 0]],
   "backward_source_id": -1}
], "arg_nodes": [0, 1, 2], "heads": [[4, 0]]}"""


def test_what_was_upgraded(tmp_path, caplog):
    (tmp_path / "old-symbol.json").write_text(OLD)
    params = {"arg:bn_gamma": mx.nd.ones(3), "arg:bn_beta": mx.nd.zeros(3)}
    params |= {"aux:bn_moving_mean": mx.nd.zeros(3), "aux:bn_moving_var": mx.nd.ones(3)}
    mx.nd.save(str(tmp_path / "old-0001.params"), params)
    text = checkpoints.describe(str(tmp_path / "old"), 1, {"data": (2, 3)})
    lines = [line.split(maxsplit=1)[1] for line in text.splitlines() if line[:8] == "upgraded"]
    assert lines == [
        "inputs added: bn_moving_mean, bn_moving_var",
        "attributes moved to variables: gamma_lr_mult to 'bn_gamma'",
        "axis=-1 left out, which meant all axes, of: best",
    ]
    with caplog.at_level("INFO"):
        net = mx.sym.load(str(tmp_path / "old-symbol.json"))
    assert "upgraded: inputs added: bn_moving_mean, bn_moving_var; " in caplog.text
    assert net.infer_shape(data=(2, 3))[1] == [(1,)]


@pytest.mark.parametrize(("version", "shape"), [(None, (1,)), (904, (1,)), (905, (2,))])
def test_an_axis_of_minus_one_meant_all_axes_before(version, shape):
    net = mx.sym.argmax(mx.sym.Variable("data"), axis=-1)
    text = net.tojson().replace("10901", str(version or 800))
    if version is None:
        text = text.replace('"mxnet_version"', '"other"')
    assert mx.sym.load_json(text).infer_shape(data=(2, 3))[1] == [shape]


def test_the_command_line_says_what_is_wrong(tmp_path):
    done = run("inspect", MODELS / "mxnet-convnet", 1, "--shape", "data=2,2,8,8")
    assert done.returncode == 0
    assert "(2, " in done.stdout.splitlines()[-1]
    missing = run("inspect", tmp_path / "none", 1)
    assert missing.returncode == 1
    assert "none-symbol.json" in missing.stderr
    assert "Traceback" not in missing.stderr
    wrong = run("inspect", MODELS / "mxnet-convnet", 1, "--shape", "data")
    assert wrong.returncode == 2
    assert "NAME=EXTENT" in wrong.stderr
    (tmp_path / "bad-symbol.json").write_text("{")
    broken = run("inspect", tmp_path / "bad", 1)
    assert broken.returncode == 1
    assert "not JSON" in broken.stderr
    with pytest.raises(InvalidArgumentError, match="'mxnet', 'safetensors', 'onnx'"):
        checkpoints.convert(str(MODELS / "mxnet-mlp"), 1, str(tmp_path / "x"), "zip")

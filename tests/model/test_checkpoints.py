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
    assert "float32  (not in the graph)" in text
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
    with pytest.raises(InvalidArgumentError, match="'mxnet' or 'safetensors'"):
        checkpoints.convert(str(MODELS / "mxnet-mlp"), 1, str(tmp_path / "x"), "zip")

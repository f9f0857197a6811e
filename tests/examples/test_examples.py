"""The examples run as printed, learn, and leave the files they promise."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def run(name, *options, cwd, env=None, fails=False):
    command = [sys.executable, str(EXAMPLES / name), *map(str, options)]
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert (done.returncode != 0) == fails, done.stderr
    return done.stderr if fails else done.stdout


def numbers(pattern, text):
    return [float(found) for found in re.findall(pattern, text)]


def write_mnist(folder, stem, images, labels, zipped=False):
    for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
        path = folder / f"{stem}-{kind}"
        mx.io.write_idx(path, array)
        if zipped:
            path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()


def striped(count, seed):
    """Noisy images whose class shows as a bright row."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count, np.uint8)
    images = rng.integers(0, 40, (count, 28, 28), np.uint8)
    rows = 4 + 2 * labels.astype(int)
    images[np.arange(count), rows] += 150
    return images, labels


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """LeNet on the UCI digits, as the example does it by default."""
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("lenet")
    return folder, run("train_digits.py", cwd=folder)


@pytest.mark.slow
def test_lenet_reads_held_out_digits(trained):
    folder, said = trained
    history = json.loads((folder / "digits-run" / "digits-history.json").read_text())
    assert [row["epoch"] for row in history] == list(range(1, 11))
    assert history[-1]["val_accuracy"] >= 0.97
    assert history[-1]["loss"] < history[0]["loss"] / 10
    assert numbers(r"([\d.]+) held out", said)[-1] == round(history[-1]["val_accuracy"], 4)
    assert len(re.findall(r"[\d,]+ samples/s\n", said)) == 10


@pytest.mark.slow
def test_lenet_leaves_checkpoints_and_a_picture(trained):
    folder, _ = trained
    names = {path.name for path in (folder / "digits-run").iterdir() if path.is_file()}
    assert names == {
        *(f"digits-{epoch:04d}.params" for epoch in range(1, 11)),
        "digits-symbol.json",
        "digits-history.json",
        "digits.png",
    }
    assert (folder / "digits-run" / "digits.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.slow
def test_a_loaded_network_scores_the_same(trained):
    folder, said = trained
    scores = numbers(r"([\d.]+) held out", said)
    for options, epoch in (([], 10), (["--epoch", 3], 3)):
        loaded = run("train_digits.py", "--load", "digits-run/digits", *options, cwd=folder)
        assert loaded == f"epoch {epoch}: accuracy {scores[epoch - 1]:.4f} held out\n"


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--optimizer", "adam", "--kv-store", "device")], ids=str)
def test_perceptron_on_files_of_mnist(tmp_path, options):
    write_mnist(tmp_path, "train", *striped(600, 0), zipped=True)
    write_mnist(tmp_path, "t10k", *striped(150, 1))
    common = ("--data", tmp_path, "--network", "mlp", "--epochs", 5, "--output", tmp_path / "out")
    said = run("train_digits.py", *common, *options, cwd=tmp_path)
    assert numbers(r"([\d.]+) held out", said)[-1] > 0.95


@pytest.mark.slow
def test_the_seed_fixes_every_parameter(tmp_path):
    write_mnist(tmp_path, "t10k", *striped(2200, 0))

    def parameters(name, seed):
        options = ("--data", tmp_path, "--output", tmp_path / name, "--seed", seed)
        run("train_digits.py", *options, "--epochs", 1, "--batches", 4, cwd=tmp_path)
        return (tmp_path / name / "digits-0001.params").read_bytes()

    first = parameters("a", 3)
    assert parameters("b", 3) == first
    assert parameters("c", 4) != first


def test_unfit_options(tmp_path):
    said = run("train_digits.py", "--data", tmp_path, cwd=tmp_path, fails=True)
    assert "has no t10k-images-idx3-ubyte[.gz]" in said
    said = run("train_digits.py", "--load", "nothing/here", cwd=tmp_path, fails=True)
    assert "there is no checkpoint nothing/here-*.params" in said


def losses_of_mlp_bind(steps, lr=0.001, start=0.01):
    """The losses of the example, from its five distinct numbers per layer.

    All hidden units are alike, so each layer is replayed by one unit, or one row per class.
    """
    x = np.arange(128) % 10
    target = np.eye(10)[x]
    w1, b1, w2, b2 = start, 0.0, np.full(10, start), np.zeros(10)
    for _ in range(steps + 1):
        z = 28 * w1 * x + b1
        slope = np.where(z > 0, 1, 0.25)
        scores = np.outer(z * slope, 512 * w2) + b2
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        yield -np.log((p * target).sum(axis=1)).mean()
        d = p - target
        dz = d @ w2 * slope
        w2, b2 = w2 - lr * (z * slope) @ d, b2 - lr * d.sum(axis=0)
        w1, b1 = w1 - lr * (dz @ x), b1 - lr * dz.sum()


@pytest.mark.slow
def test_mlp_bind(tmp_path):
    said = run("mlp_bind.py", "--steps", 400, cwd=tmp_path)
    found = numbers(r"cross-entropy ([\d.]+)", said)
    np.testing.assert_allclose(found, list(losses_of_mlp_bind(400))[::40], atol=2e-3)
    assert numbers(r"accuracy ([\d.]+)", said)[-1] >= 0.5


@pytest.mark.parametrize("store", ["local", "device"])
@pytest.mark.parametrize("devices", [2, 4])
def test_kvstore_updater(tmp_path, store, devices):
    options = ("--kv-store", store, "--devices", devices)
    said = run("kvstore_updater.py", *options, cwd=tmp_path).splitlines()
    updated = devices + 2 * devices
    assert said[:-1] == [
        "first value: 2 on cpu(0)",
        "pushed: 8 on cpu(0)",
        f"sum over {devices} devices: {devices} on cpu(0)",
        "update on key 3",
        *(f"after the update: {updated} on cpu({i})" for i in range(devices)),
        *(f"update on key {key}" for key in (5, 7, 9)),
        f"the last of three keys: {1 + 2 * devices} on cpu({devices - 1})",
    ]
    assert float(said[-1].split()[-1]) < 1e-3


ENGINE_SAID = """A is gone
B=3 C=4 D=11
weight after {rounds} steps: {weight:.6f}
{overtook}failed: no such page
refused: the engine is stopped and takes no operations; call mx.engine.start() first
started again
"""


@pytest.mark.parametrize("kind", ["ThreadedEnginePerDevice", "NaiveEngine"])
@pytest.mark.parametrize("rounds", [10, 0])
def test_engine_push(tmp_path, kind, rounds):
    said = run("engine_push.py", "--rounds", rounds, cwd=tmp_path, env={"MXNET_ENGINE_TYPE": kind})
    overtook = "" if kind == "NaiveEngine" else "before the ordinary ones: started, urgent\n"
    weight = 1 - 0.5 * sum(0.5**k for k in range(rounds))
    assert said == ENGINE_SAID.format(rounds=rounds, weight=weight, overtook=overtook)


@pytest.mark.slow
def test_mnist_simple_bind(tmp_path):
    pytest.importorskip("sklearn")
    said = run("mnist_simple_bind.py", cwd=tmp_path)
    scores = numbers(r"([\d.]+) held out", said)
    assert len(scores) == 20
    assert scores[-1] > 0.85 > 0.2 > scores[0]


def test_smooth_l1_op(tmp_path):
    said = run("smooth_l1_op.py", cwd=tmp_path)
    x = np.array([-3.0, -0.3, -0.1, 0.0, 0.2, 0.24, 0.3, 5.0])
    near = np.abs(x) < 0.25
    found = {line[:8]: np.array(numbers(r"(-?\d+\.\d*)", line)) for line in said.splitlines()[:2]}
    wanted = np.where(near, 2 * x * x, np.abs(x) - 0.125)
    np.testing.assert_allclose(found["values  "], wanted, atol=6e-5)
    np.testing.assert_allclose(found["gradient"], np.where(near, 4 * x, np.sign(x)), atol=6e-5)
    assert "the symbol gives the same: True" in said
    assert numbers(r"central differences: (\S+)", said)[0] < 1e-6
    assert said.endswith("documented as: The smooth L1 loss of each element.\n")


def test_loss_operator(tmp_path):
    said = run("loss_operator.py", cwd=tmp_path)
    losses, scores = numbers(r"loss ([\d.]+)", said), numbers(r"accuracy ([\d.]+)", said)
    assert len(losses) == 6
    assert losses[0] == pytest.approx(np.log(2), abs=1e-4)
    assert losses == sorted(losses, reverse=True)
    assert scores[-1] > 0.9


@pytest.mark.slow
def test_custom_softmax(tmp_path):
    pytest.importorskip("sklearn")
    said = run("custom_softmax.py", cwd=tmp_path)
    scores = numbers(r"([\d.]+) held out", said)
    assert len(scores) == 3
    assert scores[-1] > 0.85


@pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")),
    reason="no C++ compiler stands in for a GPU",
)
def test_rtc_axpy(tmp_path):
    options = ("--size", 1000, "--alpha", 0.5)
    env = {"FERROMIX_GPU_DRIVER": "host"}
    said = run("rtc_axpy.py", *options, cwd=tmp_path, env=env).splitlines()
    found = [re.fullmatch(r"(\w+): 1000 elements, .* is (\S+)", line) for line in said[:2]]
    assert [match and match[1] for match in found] == ["saxpy", "daxpy"]
    errors = [float(match[2]) for match in found if match]
    assert errors[0] < 1e-6
    assert errors[1] < 4e-15
    assert said[2:] == ["refused: the text has no kernel 'caxpy'"]


def test_rtc_axpy_says_what_it_needs(tmp_path):
    hidden = {"FERROMIX_GPU_DRIVER": "cuda", "CUDA_VISIBLE_DEVICES": ""}
    assert "needs a GPU" in run("rtc_axpy.py", cwd=tmp_path, env=hidden)


def test_export_onnx(tmp_path):
    pytest.importorskip("onnxruntime", reason="the example compares with onnxruntime")
    text = run("export_onnx.py", cwd=tmp_path)
    assert "stripes.onnx: [('data', ('batch', 1, 8, 8))]" in text
    (accuracy,) = numbers(r"accuracy ([\d.]+)", text)
    (difference,) = numbers(r"difference in ONNX Runtime (\S+)", text)
    assert accuracy > 0.95
    assert difference < 1e-4

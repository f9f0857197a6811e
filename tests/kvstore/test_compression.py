"""Gradients in fewer bits: MXNet's results, and what errors leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError, MXNetError
from ferromix.kvstore.compression import GradientCompression

GOLDEN = np.load(Path(__file__).resolve().parents[1] / "golden" / "kvstore.npz")


def compressed(**params):
    kv = mx.kv.create("device")
    kv.set_gradient_compression(params)
    return kv


@pytest.mark.parametrize("name", ["0.5 1", "0.5 3", "0.2 2"])
def test_sums_in_two_bits_are_those_of_mxnet(name):
    threshold, devices = name.split()
    gradients, results = GOLDEN[f"{name} gradients"], GOLDEN[f"{name} results"]
    kv = compressed(type="2bit", threshold=threshold)  # a string, as MXNet takes it
    kv.init("w", mx.nd.zeros(results.shape[1:]))
    out = mx.nd.empty(results.shape[1:])
    for step, expected in zip(gradients, results, strict=True):
        arrays = [mx.nd.array(g, ctx=mx.cpu(i)) for i, g in enumerate(step)]
        assert len(arrays) == int(devices)
        kv.push("w", arrays)
        kv.pull("w", out=out)
        np.testing.assert_array_equal(out.asnumpy(), expected)
        for array, g in zip(arrays, step, strict=True):
            np.testing.assert_array_equal(array.asnumpy(), g)


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 5), (0,), (8, 8), ()])
@pytest.mark.parametrize("kind", ["2bit", "1bit", "fp16"])
def test_what_is_sent_and_what_is_left_are_the_gradient(kind, shape):
    how = GradientCompression({"type": kind, "threshold": 0.25})
    size = int(np.prod(shape))
    random, left = np.random.default_rng(size), np.zeros(size, "float32")
    sent, pushed = np.zeros(size, "float32"), np.zeros(size, "float64")
    packed = np.empty(how.packed_size(size), "uint8")
    for _ in range(5):
        gradient = random.uniform(-1, 1, size).astype("float32")
        how.pack(gradient, left, packed)
        how.add_unpacked(packed, sent)
        pushed += gradient
    if kind == "fp16":
        assert not left.any()
    np.testing.assert_allclose(sent + left, pushed, rtol=1e-3, atol=2e-3)
    assert packed.nbytes <= {"2bit": size / 4, "1bit": size / 8, "fp16": 2 * size}[kind] + 1


def test_an_updater_gets_the_compressed_sum():
    kv = compressed(type="2bit", threshold=0.5)
    kv.init(3, mx.nd.ones((2,)))
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=1))
    kv.push(3, [mx.nd.array([0.7, -0.1]), mx.nd.array([0.6, -0.6])])
    out = mx.nd.zeros((2,))
    kv.pull(3, out=out)
    np.testing.assert_array_equal(out.asnumpy(), [0, 1.5])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"type": "3bit"}, "type must be one of 2bit, 1bit, fp16, got '3bit'"),
        ({}, "got None"),
        ({"type": "2bit", "threshold": 0}, "threshold must be a number above 0, got 0"),
        ({"type": "2bit", "threshold": "high"}, "threshold must be a number above 0, got 'high'"),
        ("2bit", "expected a dict, got str"),
    ],
)
def test_wrong_parameters(params, words):
    with pytest.raises(InvalidArgumentError, match=words):
        mx.kv.create("device").set_gradient_compression(params)


def test_what_cannot_be_compressed():
    with pytest.raises(MXNetError, match="not supported for this type of kvstore: local"):
        mx.kv.create("local").set_gradient_compression({"type": "2bit"})
    kv = compressed(type="2bit")
    kv.init("w", mx.nd.zeros((2,), dtype="float64"))
    with pytest.raises(InvalidArgumentError, match=r"key 'w' has one that is default of float64"):
        kv.push("w", mx.nd.zeros((2,), dtype="float64"))

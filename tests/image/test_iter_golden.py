"""ImageIter and ImageDetIter beside MXNet 1.9.1; ``tools/golden/make_image_iter.py`` wrote this."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "image_iter"
CASES = json.loads((FOLDER / "cases.json").read_text())
BATCHES, AUGMENTERS = CASES["batches"], CASES["augmenters"]
RESULTS = dict(np.load(FOLDER / "batches.npz"))
PATHS = ("path_imgrec", "path_imgidx", "path_imglist")


def iterator(case):
    options = dict(case["options"])
    for name in PATHS:
        if name in options:
            options[name] = str(FOLDER / options[name])
    if options.pop("path_root", False):
        options["path_root"] = str(FOLDER)
    options["data_shape"] = tuple(options["data_shape"])
    return getattr(mx.image, case["iterator"])(**options)


def ids(group, kind):
    return [f"{i}-{row[kind]}-{'-'.join(row['options'])}" for i, row in enumerate(group)]


def seeded(number):
    random.seed(number)
    np.random.seed(number)


def assert_batch_is(batch, name, kept, atol):
    for found, kind in ((batch.data[0], "data"), (batch.label[0], "label")):
        expected = RESULTS[f"{name} {kind}"]
        assert (found.shape[1:], found.dtype) == (expected.shape[1:], expected.dtype)
        most = atol if kind == "data" else 1e-6
        np.testing.assert_allclose(found.asnumpy()[:kept], expected, rtol=1e-5, atol=most)
        apart = np.abs(found.asnumpy()[:kept] - expected)
        # Few samples are; resizing twice, and gray, which spreads over the channels, add some.
        assert (apart > most / 10).mean() <= 0.03


@pytest.mark.parametrize("number", range(len(BATCHES)), ids=ids(BATCHES, "iterator"))
def test_batches_are_those_of_mxnet(number):
    case = BATCHES[number]
    seeded(number)
    it = iterator(case)
    if "reshape" in case:
        it.reshape(label_shape=tuple(case["reshape"]))
    # A sample may differ by 1 of 255 after resizing; then colours vary, and it is divided by 57.
    atol = 0.05 if "std" in case["options"] else 1
    for epoch in range(case.get("epochs", 2)):
        found = list(it)
        assert [batch.pad for batch in found] == RESULTS[f"{number} {epoch} pads"].tolist()
        for i, batch in enumerate(found):
            # Where one more round does not fill a batch, MXNet has what was in memory.
            kept = it.batch_size - batch.pad if case.get("short") else it.batch_size
            assert_batch_is(batch, f"{number} {epoch} {i}", kept, atol)
        ends = case.get("ends", "reset")
        if ends != "goes on":
            getattr(it, ends)()
    assert [random.random(), np.random.rand()] == RESULTS[f"{number} drawn"].tolist()


def boxes(number):
    """The objects that the script drew for this number."""
    drawn = np.random.RandomState(number)
    found = []
    for i in range(1 + number % 4):
        corner, size = drawn.uniform(0, 0.5, 2), drawn.uniform(0.2, 0.5, 2)
        found.append([i, *np.round(np.concatenate([corner, corner + size]), 3)])
    return np.array(found, "float32")


@pytest.mark.parametrize("number", range(len(AUGMENTERS)), ids=ids(AUGMENTERS, "name"))
def test_augmenters_for_detection_are_those_of_mxnet(number):
    call = AUGMENTERS[number]
    seeded(number)
    augmenter = getattr(mx.image, call["name"])(**call["options"])
    image = mx.nd.array(np.arange(20 * 28 * 3).reshape(20, 28, 3) % 251, dtype="uint8")
    images, labels = [], []
    for turn in range(call["turns"]):
        found, label = augmenter(image, boxes(turn + 5))
        samples = found.asnumpy().astype(int)
        images.append([*samples.shape, samples.sum(), samples[0, 0, 0], len(label)])
        labels.append(label)
    np.testing.assert_array_equal(images, RESULTS[f"aug {number} images"])
    np.testing.assert_allclose(
        np.concatenate(labels), RESULTS[f"aug {number} labels"], rtol=1e-6, atol=1e-6
    )
    assert [random.random(), np.random.rand()] == RESULTS[f"aug {number} drawn"].tolist()

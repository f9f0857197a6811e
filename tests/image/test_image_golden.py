"""Images beside MXNet 1.9.1; ``tools/golden/make_image.py`` wrote what it gives."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "image"
RESULTS = dict(np.load(FOLDER / "results.npz"))
SAMPLE = np.random.default_rng(1).integers(0, 256, (37, 53, 3), dtype="uint8")
# Where colours have fewer pixels than brightness, decoders differ in how they spread them.
SUBSAMPLED = ("420", "422", "progressive", "turned")


def results(kind):
    return [name for name in RESULTS if name.startswith(kind + " ")]


@pytest.mark.parametrize("name", results("decode"))
def test_decoding(name):
    _, file, flag = name.split()
    expected = RESULTS[name].astype(int)
    found = mx.image.imread(FOLDER / file, int(flag))
    assert (found.shape, found.dtype) == (expected.shape, np.uint8)
    apart = np.abs(found.asnumpy() - expected)
    if file.startswith(SUBSAMPLED) and flag == "1":
        assert apart.mean() <= 1
        assert apart.max() <= 4
    else:
        assert apart.max() <= (0 if file.endswith("png") else 2)


@pytest.mark.parametrize("name", results("resize"))
def test_resizing(name):
    _, dtype, width, height, interp = name.split()
    image = mx.nd.array(SAMPLE, dtype=dtype)
    found = mx.image.imresize(image, int(width), int(height), int(interp))
    assert found.dtype == np.dtype(dtype)
    apart = np.abs(found.asnumpy().astype(float) - RESULTS[name])
    if dtype == "uint8":
        assert apart.max() <= (interp != "1")
        assert (apart > 0).mean() < 0.01
    else:
        assert apart.max() < 1e-3


@pytest.mark.parametrize("interp", [1, 2, 9])
def test_augmenters_draw_as_in_mxnet(interp):
    random.seed(interp)
    np.random.seed(interp)
    augmenters = mx.image.CreateAugmenter(
        (3, 16, 24),
        resize=30,
        rand_crop=True,
        rand_resize=interp == 9,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.3,
        contrast=0.3,
        saturation=0.3,
        hue=0.2,
        pca_noise=0.1,
        rand_gray=0.3,
        inter_method=interp,
    )
    for turn in range(4):
        image = mx.nd.array(SAMPLE, dtype="uint8")
        for augmenter in augmenters:
            image = augmenter(image)
        # A sample may differ by 1 of 255 after resizing, which is divided by the deviation.
        np.testing.assert_allclose(
            image.asnumpy(), RESULTS[f"augment {interp} {turn}"], atol=0.05, rtol=1e-3
        )


@pytest.mark.parametrize("name", results("turn"))
def test_turning(name):
    angle, zoom = name.split(" ")[1:]
    options = {f"zoom_{zoom}": True} if zoom else {}
    image = mx.nd.array(SAMPLE[:9, :13].transpose(2, 0, 1), dtype="float32")
    found = mx.image.imrotate(image, int(angle), **options)
    np.testing.assert_allclose(found.asnumpy(), RESULTS[name], atol=0.02)


@pytest.mark.parametrize("name", results("border"))
def test_borders(name):
    image = mx.nd.array(SAMPLE[:2, :3], dtype="uint8")
    found = mx.image.copyMakeBorder(image, 2, 1, 2, 1, type=int(name.split()[1]), value=9)
    np.testing.assert_array_equal(found.asnumpy(), RESULTS[name])

"""Images are prepared on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)
TYPES = ["float32", "float64", "uint8"]


def both(name, image, dtype, seed=0, **attrs):
    """The results of a GPU and of the CPU, of the same random numbers."""
    found = []
    for ctx in (GPU, mx.cpu()):
        mx.random.seed(seed)
        data = mx.nd.array(image, ctx=ctx, dtype=dtype)
        out = getattr(mx.nd.image, name)(data, **attrs)
        assert out.context == ctx
        found.append(out.astype("float64").asnumpy())
    assert races() == ""
    return found


def drawn(shape, seed=1):
    return np.random.default_rng(seed).integers(0, 256, shape)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("interp", range(6))
@pytest.mark.parametrize("size", [(7, 5), (14, 10), (28, 20), (9, 31), (40, 3), (1, 1), (14, 20)])
def test_other_sizes(interp, size, dtype):
    """The same samples, halved, shrunk, enlarged, and one of each."""
    pair = both("resize", drawn((2, 20, 28, 3)), dtype, size=size, interp=interp)
    np.testing.assert_allclose(*pair, rtol=1e-6 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "bfloat16"])
@pytest.mark.parametrize("word", ["left_right", "top_bottom"])
def test_flips(word, dtype):
    image = drawn((5, 4, 3))
    turned = set()
    for seed in range(8):
        pair = both(f"random_flip_{word}", image, dtype, seed)
        np.testing.assert_array_equal(*pair)
        turned.add(pair[0].tobytes())
    assert len(turned) == 2


CHANGES = {
    "random_brightness": {"min_factor": 0.5, "max_factor": 1.75},
    "random_contrast": {"min_factor": 0.25, "max_factor": 1.75},
    "random_saturation": {"min_factor": 0.25, "max_factor": 1.75},
    "random_hue": {"min_factor": 0.25, "max_factor": 1.75},
    "random_color_jitter": {"brightness": 0.5, "contrast": 0.5, "saturation": 0.5, "hue": 0.5},
    "random_lighting": {"alpha_std": 0.5},
    "adjust_lighting": {"alpha": (0.5, -0.25, 1)},
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int32", "float16"])
@pytest.mark.parametrize("name", CHANGES)
def test_colours(name, dtype):
    """Also of images whose gray many blocks add up."""
    for seed, shape in enumerate([(3, 5, 3), (97, 91, 3), (4, 3, 1), (90, 95, 1)]):
        found, expected = both(name, drawn(shape, seed) / 1.3, dtype, seed, **CHANGES[name])
        if np.dtype(dtype).kind == "f":
            rtol, atol = (2e-3, 0.2) if dtype == "float16" else (1e-5, 1e-3)
            np.testing.assert_allclose(found, expected, rtol, atol)
        else:
            # A whole number that is cut just below it is one less.
            assert np.abs(found - expected).max() <= 1
            assert (found != expected).mean() < 0.001

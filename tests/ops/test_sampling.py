"""What cases cannot say of the operators that read feature maps."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import MXNetError

SETTINGS = {"pooled_size": (2, 2), "spatial_scale": 1}


def gradients():
    """The bits of gradients to which many points of a pixel add, on problems of many tasks."""
    random = np.random.default_rng(5)

    def draw(*shape, low=-1.0, high=1.0):
        found = mx.nd.array(random.uniform(low, high, shape), dtype="float32")
        found.attach_grad()
        return found

    data, grid = draw(2, 5, 9, 8), draw(2, 2, 60, 50)
    rois = mx.nd.array(np.column_stack([np.arange(90) % 2, random.uniform(0, 9, (90, 4))]))
    trans, offset, mask = draw(90, 2, 2, 2), draw(2, 18, 9, 8, low=-3, high=3), draw(2, 9, 9, 8)
    weight, wide = draw(6, 5, 3, 3), {"kernel": (3, 3), "num_filter": 6, "pad": (1, 1)}
    four = draw(2, 4, 9, 8)
    moved = {"spatial_scale": 1, "output_dim": 1, "pooled_size": 2, "group_size": 2}
    with mx.autograd.record():
        outs = [
            mx.nd.BilinearSampler(data, grid),
            mx.nd.contrib.ROIAlign(data, rois, **SETTINGS),
            mx.nd.contrib.DeformablePSROIPooling(four, rois, trans, trans_std=0.5, **moved),
            mx.nd.contrib.ModulatedDeformableConvolution(
                data, offset, mask, weight, no_bias=True, **wide
            ),
        ]
    mx.autograd.backward(outs)
    found = [*outs, *(x.grad for x in (data, grid, four, trans, offset, mask, weight))]
    return hashlib.sha256(b"".join(x.asnumpy().tobytes() for x in found)).hexdigest()


def test_bits_do_not_depend_on_threads():
    found = set()
    for threads in ("1", "3"):
        run = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import gradients; print(gradients())"],
            env={
                **os.environ,
                "FERROMIX_NUM_THREADS": threads,
                "PYTHONPATH": str(Path(__file__).parents[1]),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(run.stdout)
    assert len(found) == 1


IMAGES = np.ones((2, 4, 6, 6))
FIVE, SIX = [1, 1, 4, 4], [3, 3, 2, 2, 0]


@pytest.mark.parametrize("number", [2, 1e30, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("name", "rest", "attrs"),
    [
        ("ROIAlign", FIVE, SETTINGS),
        ("RROIAlign", SIX, SETTINGS),
        ("PSROIPooling", FIVE, {"spatial_scale": 1, "output_dim": 1, "pooled_size": 2}),
    ],
)
def test_regions_of_images_that_there_are_not(name, rest, attrs, number):
    rois = mx.nd.array([[0, *rest], [number, *rest]])
    with pytest.raises(MXNetError, match=f"{name}: region 1 is of image"):
        getattr(mx.nd.contrib, name)(mx.nd.array(IMAGES), rois, **attrs).wait_to_read()


@pytest.mark.parametrize("far", [1e30, float("inf"), -float("inf"), float("nan")])
def test_regions_that_have_no_end(far):
    rois = mx.nd.array([[0, 1, 1, far, 4], [0, far, 1, 3, 4], [1, 1, 1, 4, 4], [-1, 1, 1, 4, 4]])
    found = mx.nd.contrib.ROIAlign(mx.nd.array(IMAGES), rois, **SETTINGS).asnumpy()
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[2], 1)
    np.testing.assert_array_equal(found[3], 0)


def test_regions_without_an_extent_are_refused_where_that_is_asked_for():
    rois = mx.nd.array([[0, 1, 1, 4, 4], [0, 1, 4, 4, 1]])
    with pytest.raises(MXNetError, match=r"region 1 .* aligned=True"):
        mx.nd.contrib.ROIAlign(mx.nd.array(IMAGES), rois, aligned=True, **SETTINGS).wait_to_read()
    rois = mx.nd.array([[0, 3, 3, 1e6, 2, 0]])
    with pytest.raises(MXNetError, match="points in each bin"):
        mx.nd.contrib.RROIAlign(mx.nd.array(IMAGES), rois, **SETTINGS).wait_to_read()


def test_what_is_no_number_stays_at_its_pixel():
    data = mx.nd.array([[[[float("nan"), 1], [2, 3]]]])
    grid = mx.nd.array([[[[-1, 1, 0, 5]], [[-1, 1, 1, 5]]]])
    found = mx.nd.BilinearSampler(data, grid).asnumpy().ravel()
    np.testing.assert_array_equal(found, [np.nan, 3, 2.5, 0])
    image = np.ones((1, 1, 6, 6), np.float32)
    image[0, 0, 2, 2] = np.nan
    rois, two = mx.nd.array([[0, 0, 0, 5, 5], [0, 0, 0, 1, 1]]), {**SETTINGS, "sample_ratio": 2}
    found = mx.nd.contrib.ROIAlign(mx.nd.array(image), rois, **two).asnumpy()
    assert np.isnan(found[0, 0, 0, 0])
    assert np.isnan(found).sum() == 1
    nowhere = mx.nd.array([[[[float("nan"), float("inf")]], [[0, 0]]]])
    found = mx.nd.BilinearSampler(mx.nd.ones((1, 1, 2, 2)), nowhere).asnumpy().ravel()
    np.testing.assert_array_equal(found, [np.nan, 0])


def test_marks_of_no_kind():
    one, marks = mx.nd.ones((1, 1)), mx.nd.array([[-1]], dtype="int32")
    row = mx.nd.ones((1,))
    with pytest.raises(MXNetError, match=r"mark -1 of .* is out of bounds for 1 kinds"):
        mx.nd.contrib.hawkesll(one, row, row, one, one, marks, row, row)[0].wait_to_read()


@pytest.mark.parametrize("index", [[-1, 0], [0, 4]])
def test_slices_for_no_index(index):
    args = mx.nd.zeros((4, 2)), mx.nd.array(index), mx.nd.ones((2, 2))
    with pytest.raises(MXNetError, match=r"index_copy: index (-1|4) is out of bounds"):
        mx.nd.contrib.index_copy(*args).wait_to_read()


def test_the_last_of_several_slices_stays():
    args = mx.nd.zeros((3, 1)), mx.nd.array([1, 1, 0]), mx.nd.array([[5], [6], [7]])
    assert mx.nd.contrib.index_copy(*args).asnumpy().ravel().tolist() == [7, 6, 0]

"""Boxes of detectors, more than shared memory sorts and a block compares at once, are the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx

from .device import races

GPU = mx.gpu(0)


def same(operator, inputs, dtype="float32", **attrs):
    """Each output on the GPU is that of the CPU."""
    found = [
        operator(*[mx.nd.array(x, ctx=c, dtype=dtype) for x in inputs], **attrs)
        for c in (GPU, mx.cpu())
    ]
    ours, wanted = [x if isinstance(x, list) else [x] for x in found]
    for a, b in zip(ours, wanted, strict=True):
        assert a.ctx == GPU
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-6, atol=1e-6)
    assert races() == ""


def corners(rng, *shape):
    middle, half = rng.uniform(0, 1, (*shape, 2)), rng.uniform(0.02, 0.1, (*shape, 2))
    return np.concatenate([middle - half, middle + half], -1)


def scored(rng, images, count, kinds):
    """Rows of class, score and corners, with equal scores among them, and NaN."""
    rows = np.empty((images, count, 6))
    rows[..., 0] = rng.integers(0, kinds, (images, count))
    rows[..., 1] = rng.integers(-3, 60, (images, count)) / 64
    rows[..., 1].reshape(-1)[::97] = np.nan
    rows[..., 2:] = corners(rng, images, count)
    return rows


@pytest.mark.parametrize("attrs", [{}, {"id_index": 0}, {"topk": 70}, {"out_format": "center"}])
def test_suppression(attrs):
    rows = scored(np.random.default_rng(1), 2, 2500, 3)
    same(mx.nd.contrib.box_nms, [rows], overlap_thresh=0.2, **attrs)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_suppression_of_other_types(dtype):
    rows = np.nan_to_num(scored(np.random.default_rng(2), 3, 90, 2))
    same(mx.nd.contrib.box_nms, [rows], dtype, overlap_thresh=0.1, id_index=0, background_id=1)


def test_gradients_go_back_to_the_rows_that_stay():
    rows, found = scored(np.random.default_rng(3), 2, 300, 2), []
    for ctx in (GPU, mx.cpu()):
        x = mx.nd.array(rows, ctx=ctx)
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.contrib.box_nms(x, overlap_thresh=0.1)
        y.backward(mx.nd.arange(y.size, ctx=ctx).reshape(y.shape))
        found.append(x.grad.asnumpy())
    np.testing.assert_array_equal(*found)
    assert races() == ""


@pytest.mark.parametrize("attrs", [{}, {"nms_topk": 20}, {"nms_threshold": -1.0}])
def test_detections(attrs):
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 40, (2, 4, 2300)) / 40
    moves, anchors = rng.uniform(-1, 1, (2, 9200)), corners(rng, 1, 2300)
    same(mx.nd.contrib.MultiBoxDetection, [scores, moves, anchors], threshold=0.5, **attrs)


def test_more_kinds_of_anchors_than_a_launch_makes():
    sizes, ratios = tuple(np.linspace(0.1, 1, 40)), (1.0, 2.0, 0.5)
    same(mx.nd.contrib.MultiBoxPrior, [np.zeros((1, 1, 3, 5))], sizes=sizes, ratios=ratios)


@pytest.mark.parametrize("scales", [(2.0, 4.0), tuple(np.linspace(1, 4, 17))])
def test_regions(scales):
    rng, kinds = np.random.default_rng(5), 2 * len(scales)
    scores = rng.integers(0, 50, (2, 2 * kinds, 9, 11)) / 50
    moves = rng.uniform(-0.5, 0.5, (2, 4 * kinds, 9, 11))
    info = [[140.0, 170.0, 1.0], [90.0, 176.0, 1.5]]
    given = {"scales": scales, "ratios": (0.5, 2.0), "output_score": True}
    given |= {"rpn_pre_nms_top_n": 300, "rpn_post_nms_top_n": 40, "rpn_min_size": 4}
    same(mx.nd.contrib.MultiProposal, [scores, moves, info], **given)


@pytest.mark.parametrize("ascending", [False, True])
def test_pairs(ascending):
    rng = np.random.default_rng(6)
    scores = rng.integers(-50, 50, (3, 40, 70)) / 8
    scores.reshape(-1)[::31] = np.nan
    scores.reshape(-1)[::37] = np.inf if ascending else -np.inf
    found = {"threshold": 2.0 if ascending else -2.0, "is_ascend": ascending}
    same(mx.nd.contrib.bipartite_matching, [scores], **found)
    same(mx.nd.contrib.bipartite_matching, [scores], topk=9, **found)

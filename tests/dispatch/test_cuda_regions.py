"""Recipes of operators that read feature maps between pixels and in regions, with many points for
each pixel: values are the CPU's, and bits the same in whatever order threads run."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import Run
from ops.run import Call, backward
from test_recipe_cases import WIDE, Runner

import ferromix as mx
from ferromix import dispatch
from ferromix.ops.card import make
from ferromix.ops.family import FLOATS

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

BINS = {"pooled_size": (3, 2), "spatial_scale": 0.5}
SMALL, LARGE, ROIS = (2, 5, 9, 8), (2, 18, 9, 8), (60, 5)
GROUPS = {"spatial_scale": 0.5, "output_dim": 4, "pooled_size": 5, "group_size": 2}
MOVES = {**GROUPS, "part_size": 3, "sample_per_part": 2, "trans_std": 0.5}
KERNEL = {"kernel": (3, 3), "num_filter": 6, "pad": (1, 1), "num_deformable_group": 2}
WINDOWS = {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 1), "dilate": (1, 2)}
PATCHES = {"kernel_size": 3, "max_displacement": 4, "stride1": 2, "stride2": 2, "pad_size": 4}
CALLS = [
    ("GridGenerator", {"transform_type": "affine", "target_shape": (30, 40)}, [(3, 6)]),
    ("GridGenerator", {"transform_type": "warp"}, [(3, 2, 30, 40)]),
    ("BilinearSampler", {}, [SMALL, (2, 2, 30, 25)]),
    ("ROIPooling", BINS, [SMALL, ROIS]),
    ("_contrib_ROIAlign", {**BINS, "position_sensitive": True}, [LARGE, ROIS]),
    ("_contrib_ROIAlign", {**BINS, "sample_ratio": 3, "aligned": True}, [SMALL, ROIS]),
    ("_contrib_RROIAlign", BINS, [SMALL, (60, 6)]),
    ("_contrib_PSROIPooling", GROUPS, [LARGE, ROIS]),
    ("_contrib_DeformablePSROIPooling", MOVES, [LARGE, ROIS, (60, 4, 3, 3)]),
    ("im2col", WINDOWS, [(3, 4, 20, 11)]),
    ("Correlation", PATCHES, [(2, 5, 14, 11)] * 2),
    (
        "_contrib_ModulatedDeformableConvolution",
        KERNEL,
        [(2, 20, 9, 8), (2, 36, 9, 8), (2, 18, 9, 8), (6, 20, 3, 3), (6,)],
    ),
    ("_contrib_count_sketch", {"out_dim": 7}, [(5, 90), (1, 90), (1, 90)]),
]
"""Operators, attributes and shapes."""
IDS = [f"{name}-{i}" for i, (name, _, _) in enumerate(CALLS)]
STEPS = 64


def drawn(name: str, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Inputs; some regions are of no image, and some leave it."""
    rng = np.random.default_rng(len(name))
    arrays = [rng.uniform(-1.2, 1.2, shape) for shape in shapes]
    if "ROI" in name:
        ends = np.sort(rng.uniform(-4, 22, (len(arrays[1]), 2, 2)), axis=1)
        arrays[1][:, 1:5] = ends.reshape(-1, 4)
        arrays[1][:, 0] = np.arange(len(ends)) % 3 - 1
    if "sketch" in name:
        arrays[1] = rng.integers(0, 7, shapes[1])
    return arrays


def runs(name: str, attrs: dict, shapes: list, dtype: str) -> Iterator[Call]:
    """That of the operator, and that of its gradient."""
    given = [mx.nd.array(x, dtype=dtype).handle for x in drawn(name, shapes)]
    call = Call(make(name, attrs), given, False)
    yield call
    if call.card.differentiable:
        shape, dtype = call.outs[0]
        head = np.random.default_rng(9).standard_normal(shape)
        case = SimpleNamespace(card=call.card, train=False)
        _, graph = backward(case, given, [mx.nd.array(head, dtype=dtype).handle])
        for card, inputs in graph.calls:
            yield Call(card, inputs, False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("row", CALLS, ids=IDS)
def test_values(sources, row, dtype):
    if dtype in make(*row[:2]).dtypes:
        for call in runs(*row, dtype):
            Runner(sources, call, WIDE).check(STEPS)


@pytest.mark.parametrize("row", CALLS, ids=IDS)
def test_bits_do_not_depend_on_the_order_of_threads(sources, row):
    for call in runs(*row, "float32"):
        runner, found = Runner(sources, call, WIDE), set()
        for seed in range(4):
            given, outs = runner.arrays()
            made = runner.made(given, outs)[1]
            assert made is not None
            Run(made, given, outs, [dispatch.WRITE] * len(outs)).launch(sources, seed)
            found.add(b"".join(out.tobytes() for out in outs))
        assert len(found) == 1, call.card.name


FAR = [1e30, float("inf"), -float("inf"), float("nan")]
ON_REGIONS = [
    ("ROIPooling", BINS, SMALL),
    ("_contrib_ROIAlign", {**BINS, "sample_ratio": 2}, SMALL),
    ("_contrib_ROIAlign", BINS, SMALL),
    ("_contrib_RROIAlign", {**BINS, "sampling_ratio": 2}, SMALL),
    ("_contrib_PSROIPooling", GROUPS, LARGE),
    ("_contrib_DeformablePSROIPooling", {**GROUPS, "no_trans": True}, LARGE),
]


def on_regions(
    name: str, attrs: dict, shape: tuple[int, ...], rois: list, dtype: str
) -> list[Call]:
    """The operator's run, and that of its gradient, on some regions of images of such a shape."""
    data = np.random.default_rng(3).standard_normal(shape)
    turned = [[*roi, 30] for roi in rois] if "RROI" in name else rois
    given = [mx.nd.array(x, dtype=dtype).handle for x in (data, turned)]
    call = Call(make(name, attrs), given, False)
    head = mx.nd.ones(call.outs[0][0], dtype=dtype).handle
    if not call.card.differentiable:
        return [call]
    _, graph = backward(SimpleNamespace(card=call.card, train=False), given, [head])
    return [call, *(Call(card, inputs, False) for card, inputs in graph.calls)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize("row", ON_REGIONS, ids=lambda row: row[0])
def test_regions_that_have_no_end(sources, row, far, dtype):
    rois = [[0, 1, 1, far, 4], [0, far, 1, 3, 4], [1, -far, -far, far, far], [1, 1, 1, 4, 4]]
    for call in on_regions(*row, rois, dtype):
        Runner(sources, call, WIDE).check(STEPS)


def test_regions_of_negative_images_give_zeros(sources):
    for row in ON_REGIONS:
        places = [[n, 1, 1, 4, 4] for n in (1, -1, -7.5)]
        for call in on_regions(*row, places, "float32"):
            Runner(sources, call, WIDE).check(STEPS)


def refused(sources, call: Call, wrong) -> None:
    """The recipe raises what the CPU does, when `wrong` has changed the regions."""
    runner = Runner(sources, call, WIDE)
    given, outs = runner.arrays()
    wrong(next(x for x in given if x.shape[1] in (5, 6) and x.ndim == 2))
    reqs = [dispatch.WRITE] * len(outs)
    with pytest.raises((IndexError, ValueError)) as theirs:
        runner.wanted(given, outs, reqs)
    with pytest.raises((IndexError, ValueError)) as ours:
        runner.launch(given, outs, reqs)
    assert issubclass(theirs.type, ours.type)
    name = call.card.kernel_name().split("_")[-1]
    assert name in str(ours.value)


@pytest.mark.parametrize("number", [2, *FAR[:2]])
@pytest.mark.parametrize("row", ON_REGIONS, ids=lambda row: row[0])
def test_regions_of_images_that_there_are_not(sources, row, number):
    for call in on_regions(*row, [[n, 1, 1, 4, 4] for n in (1, 0)], "float32"):
        refused(sources, call, lambda rois: rois.__setitem__((1, 0), number))


@pytest.mark.parametrize("row", ON_REGIONS[1:], ids=lambda row: row[0])
def test_regions_of_no_image(sources, row):
    for call in on_regions(*row, [[0, 1, 1, 4, 4]], "float32"):
        refused(sources, call, lambda rois: rois.__setitem__((0, 0), np.nan))


@pytest.mark.parametrize("end", [3, 4])
def test_regions_without_an_extent(sources, end):
    attrs = {**BINS, "aligned": True}
    for call in on_regions("_contrib_ROIAlign", attrs, SMALL, [[0, 1, 1, 4, 4]] * 2, "float32"):
        refused(sources, call, lambda rois: rois.__setitem__((1, end), 1))


@pytest.mark.parametrize("attrs", [{}, {"sampling_ratio": 1024}, {"sampling_ratio": 1025}])
def test_bins_of_too_many_points(sources, attrs):
    extent = 1 if attrs else 2e4
    rois = [[0, 1, 1, 4, 4]]
    (call,) = on_regions("_contrib_RROIAlign", {**BINS, **attrs}, SMALL, rois, "float32")
    if attrs == {"sampling_ratio": 1024}:
        runner = Runner(sources, call, WIDE)
        given, outs = runner.arrays()
        runner.launch(given, outs, [dispatch.WRITE])
    else:
        refused(sources, call, lambda rois: rois.__setitem__((0, 3), extent))

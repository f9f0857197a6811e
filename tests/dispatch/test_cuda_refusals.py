"""What kernels refuse: recipes, run on the host, raise what the Rust kernels do, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import check, described, launch, on_the_cpu

from ferromix.dispatch import infer
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]


def like(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    """Quarters, so that sums have no rounding."""
    return ((np.arange(np.prod(shape)) - 3) / 4).reshape(shape).astype(dtype)


TABLE, PART = like((3, 2)), like((4, 2))
PLACES = np.array([2.0, 0, 1, 2])
NAN = float("nan")
RAISE = {"mode": "raise"}
INDICES: list[tuple[str, dict[str, Any], list[np.ndarray], list[np.ndarray], int, Any]] = [
    ("take", RAISE, [TABLE, PLACES], [PART], 1, 3),
    ("take", RAISE, [TABLE, PLACES], [PART], 1, -1),
    ("take", {"axis": 1, **RAISE}, [TABLE.T.copy(), PLACES], [PART.T.copy()], 1, 3),
    ("_backward_take", RAISE, [PART, PLACES, TABLE], [TABLE.copy()], 1, -3),
    ("gather_nd", {}, [TABLE, PLACES[None]], [PART], 1, 3),
    ("gather_nd", {}, [TABLE, np.ones((2, 4), int)], [like((4,))], 1, (1, 0, 2)),
    ("scatter_nd", {"shape": (3, 2)}, [PART, PLACES[None]], [TABLE], 1, -4),
    ("_scatter_set_nd", {"shape": (3, 2)}, [TABLE, PART, PLACES[None]], [TABLE.copy()], 2, 5),
    ("_backward_gather_nd", {"shape": (3, 2)}, [PART, PLACES[None]], [TABLE], 1, 3),
    ("_contrib_index_copy", {}, [TABLE, PLACES, PART], [TABLE.copy()], 1, 4),
    (
        "_contrib_count_sketch",
        {"out_dim": 3},
        [PART.T.copy(), PLACES[None], like((1, 4))],
        [TABLE.T.copy()],
        1,
        3,
    ),
    (
        "_backward_count_sketch",
        {"out_dim": 3},
        [TABLE.T.copy(), PLACES[None], like((1, 4))],
        [PART.T.copy()],
        1,
        -1,
    ),
    (
        "SequenceReverse",
        {"use_sequence_length": True},
        [PART, np.array([4, 0])],
        [PART.copy()],
        1,
        5,
    ),
    (
        "SequenceReverse",
        {"use_sequence_length": True},
        [PART, np.array([4, 0])],
        [PART.copy()],
        1,
        -1,
    ),
    ("SequenceLast", {"use_sequence_length": True}, [PART, np.array([4, 1])], [like((2,))], 1, 0),
    (
        "_backward_SequenceLast",
        {"use_sequence_length": True},
        [like((2,)), PART, np.array([4, 1])],
        [PART.copy()],
        2,
        5,
    ),
    (
        "_backward_sample_multinomial",
        {},
        [like((2, 3)), np.ones((2, 2), "float32"), np.zeros((2, 3), int)],
        [like((2, 2))],
        2,
        2,
    ),
]
"""Operator, attributes, inputs, outputs, which input is changed, and how it becomes wrong."""


def raised(run) -> tuple[type[Exception], str]:
    with pytest.raises((IndexError, ValueError)) as found:
        run()
    return found.type, str(found.value)


def refused_alike(sources, card, inputs, outputs, same_words: bool = True) -> str:
    reqs = [1] * len(outputs)
    ours = raised(lambda: launch(sources, card, inputs, [x.copy() for x in outputs], reqs))
    theirs = raised(lambda: on_the_cpu(card, inputs, outputs, reqs))
    assert issubclass(theirs[0], ours[0])
    assert not same_words or ours[1] in theirs[1]
    return ours[1]


@pytest.mark.parametrize("row", INDICES, ids=lambda row: row[0])
def test_indices_lengths_and_classes(sources, row):
    name, attrs, inputs, outputs, number, wrong = row
    card = make(name, attrs)
    check(sources, card, inputs, outputs)
    bad = [x.copy() for x in inputs]
    at, value = (wrong[:-1], wrong[-1]) if isinstance(wrong, tuple) else (-1, wrong)
    bad[number][at if isinstance(wrong, tuple) else (0,) * (bad[number].ndim - 1) + (at,)] = value
    assert f"{value}" in refused_alike(sources, card, bad, outputs)


def learned(anchors: int, labels: int) -> list[np.ndarray]:
    """Anchors, labels of which the last ones are none, and scores, of two images."""
    rng = np.random.default_rng(anchors)
    corners = rng.integers(0, 8, (2 * labels + anchors, 2)) / 8
    boxes = np.hstack([corners, corners + rng.integers(1, 9, corners.shape) / 16])
    label = np.insert(boxes[anchors:].reshape(2, labels, 4), 0, 2, axis=2)
    label[1, labels // 2 :] = -1
    scores = rng.integers(-2, 3, (2, 3, anchors)).astype(float)
    scores[0, :, ::7] = np.nan
    return [x.astype(np.float32) for x in (boxes[None, :anchors], label, scores)]


TARGETS = [{}, {"overlap_threshold": 0.25}, {"overlap_threshold": -1.0}]
MINED = [{"negative_mining_ratio": x, "negative_mining_thresh": 0.5} for x in (0.5, 1.0)]


@pytest.mark.parametrize("attrs", [*TARGETS, *MINED])
@pytest.mark.parametrize(("anchors", "labels"), [(90, 9), (2100, 3), (5, 8), (7, 0)])
def test_what_a_detector_is_to_learn(sources, attrs, anchors, labels):
    card, given = make("_contrib_MultiBoxTarget", attrs), learned(anchors, labels)
    if anchors < 10 and attrs in MINED:
        given[1] = given[1][:, :1].copy()
    outputs = [like((2, n * anchors)) for n in (4, 4, 1)]
    reqs = [1, 3, 1]
    want = on_the_cpu(card, given, outputs, reqs)
    assert launch(sources, card, given, outputs, reqs, seed=5)
    for found, wanted in zip(outputs, want, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)


def test_labels_without_an_end_and_too_few_negative_anchors(sources):
    given, outputs = learned(90, 9), [like((2, n * 90)) for n in (4, 4, 1)]
    given[1][1, 4, 3] = 0.5
    words = refused_alike(sources, make("_contrib_MultiBoxTarget", {}), given, outputs, False)
    assert words == (
        "_contrib_MultiBoxTarget: the label of class -1, which ends those of an image, must have "
        "-1 for each coordinate; that of image 1 has others"
    )
    attrs = {"negative_mining_ratio": 30.0, "negative_mining_thresh": 0.25}
    given[1][1, 4:] = -1
    card = make("_contrib_MultiBoxTarget", attrs)
    words = refused_alike(sources, card, given, outputs, False)
    assert "negative anchors are wanted" in words
    assert "negative_mining_thresh=0.25" in words


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("wrong", [5, -1, -3])
def test_matches_without_a_box(sources, dtype, wrong):
    rng = np.random.default_rng(4)
    boxes = [rng.uniform(0.25, 1, (2, n, 4)).cumsum(axis=2) for n in (6, 5)]
    matches = rng.integers(0, 5, (2, 6)) + 0.5
    samples = np.array([[1, 0, 1, -1, 1, 0.75]] * 2)
    given = [samples, matches, *boxes, np.full(4, 0.5), np.array([0.5, 0.25, 2, 1])]
    given = [x.astype(dtype) for x in given]
    card, outputs = make("_contrib_box_encode", {}), [like((2, 6, 4), dtype) for _ in range(2)]
    # A match of what is no sample counts for nothing.
    given[1][0, 1] = 70
    want = on_the_cpu(card, given, outputs, [3, 1])
    assert launch(sources, card, given, outputs, [3, 1])
    for found, wanted in zip(outputs, want, strict=True):
        rtol = 2 * np.finfo(dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)
    given[1][1, 2] = wrong
    assert f"match {wrong} of" in refused_alike(sources, card, given, outputs)


def definite(n: int, dtype: str) -> np.ndarray:
    """Two matrices, of which the upper triangle is something else."""
    rng = np.random.default_rng(n)
    a = rng.normal(size=(2, n, n))
    a = a @ a.transpose(0, 2, 1) + n * np.eye(n)
    return (np.tril(a) + np.triu(rng.normal(size=(n, n)), 1)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [1, 32, 75])
@pytest.mark.parametrize("name", ["_linalg_potrf", "_linalg_potri", "_linalg_inverse"])
def test_matrices_without_a_factor_or_inverse(sources, name, n, lower, dtype):
    card = make(name, {} if name == "_linalg_inverse" else {"lower": lower})
    given = definite(n, dtype)
    given = given if lower else given.transpose(0, 2, 1).copy()
    for req in (1, 3):
        out = np.ones_like(given)
        (want,) = on_the_cpu(card, [given], [out], [req])
        assert launch(sources, card, [given], [out], [req], seed=2)
        rtol = 64 * n * np.finfo(dtype).eps
        np.testing.assert_allclose(out, want, rtol=rtol, atol=rtol)
    row = 2 * n // 3
    given[1, row, row] = 0
    if name == "_linalg_inverse":
        given[1, row] = 0
    words = refused_alike(sources, card, [given], [out])
    assert f"{row}" in words or name == "_linalg_inverse"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "int64"])
@pytest.mark.parametrize(("wrong", "told"), [(-0.25, -1), (4.5, 5), (5, 5), (-7, -7), (NAN, 0)])
def test_numbers_that_no_row_has(sources, dtype, wrong, told):
    card, real = make("_row_numbers", {"height": 5}), "float" in dtype
    given, out = np.array([0, 4, 3.75, 1]).astype(dtype), np.zeros(4, np.int64)
    check(sources, card, [given], [out], reqs=[1])
    if real or wrong in (5, -7):
        given[2] = wrong
        words = refused_alike(sources, card, [given], [out], same_words=told == wrong and not real)
        assert f"number {told} is" in words or wrong != wrong


LENGTHS = {"use_data_lengths": True, "use_label_lengths": True}


@pytest.mark.parametrize(
    ("number", "wrong", "words"),
    [
        (1, 4, "label 4 of"),
        (1, -1, "label -1 of"),
        (2, 6, "data_lengths has a length of 6, expected 0 to 5"),
        (3, -1, "label_lengths has a length of -1, expected 0 to 2"),
    ],
)
def test_labels_and_lengths_of_sequences(sources, number, wrong, words):
    given = [like((5, 2, 4)), np.array([[3.0, 2], [0, 9]]), np.array([5, 4.0]), np.array([2, 1.0])]
    outputs = [like((2,)), like((5, 2, 4))]
    for attrs, count in (({}, 2), (LENGTHS, 4)):
        card, some = make("CTCLoss", attrs), [x.copy() for x in given[:count]]
        if not attrs:
            some[1][1, 1] = 0
        want = on_the_cpu(card, some, outputs, [1, 1])
        got = [x.copy() for x in outputs]
        assert launch(sources, card, some, got, [1, 1])
        for found, wanted in zip(got, want, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)
        if number < count and (attrs or wrong > 0):
            some[number].flat[0] = wrong
            same = number > 1
            assert words in refused_alike(sources, card, some, outputs, same)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_lengths_of_recurrent_networks(sources, wrong):
    attrs = {"mode": "rnn_tanh", "state_size": 2, "num_layers": 1, "use_sequence_length": True}
    given = [like((3, 2, 2)), like((12,)), like((1, 2, 2)), np.array([3, 0])]
    card = make("RNN", attrs)
    outputs = [like(shape) for shape, _ in infer(card, tuple(described(given)))]
    reqs = [1] * len(outputs)
    want = on_the_cpu(card, given, outputs, reqs)
    got = [x.copy() for x in outputs]
    assert launch(sources, card, given, got, reqs)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5, atol=1e-6)
    given[3][1] = wrong
    assert f"got {wrong}" in refused_alike(sources, card, given, outputs, same_words=False)


@pytest.mark.parametrize("mark", [3, -1])
def test_points_of_no_kind(sources, mark):
    rng = np.random.default_rng(1)
    shapes = [(2, 3), (3,), (3,), (2, 3), (2, 4)]
    given = [rng.uniform(0.5, 1, shape).astype(np.float32) for shape in shapes]
    marks = rng.integers(0, 3, (2, 4)).astype(np.int32)
    given += [marks, np.full(2, 4, np.float32), np.full(2, 9, np.float32)]
    card, outputs = make("_contrib_hawkesll", {}), [like((2,)), like((2, 3))]
    assert launch(sources, card, given, outputs, [1, 1])
    marks[1, 3] = mark
    assert f"mark {mark} of" in refused_alike(sources, card, given, outputs, same_words=False)
    # What comes after the valid points is not looked at.
    given[6][1] = 3
    assert launch(sources, card, given, outputs, [1, 1])


@pytest.mark.parametrize("row", [[0, 0], [-1, 2], [NAN, 1], [float("inf"), 1]])
def test_rows_without_probabilities(sources, row):
    card = make("_sample_multinomial", {"shape": (7,)})
    given, outputs = np.array([[0.0, 1], [1, 0], [0.5, 0]]), [np.zeros((3, 7), np.int32)]
    assert launch(sources, card, [given], outputs, [1])
    assert outputs[0].tolist() == [[1] * 7, [0] * 7, [0] * 7]
    given[1] = row
    words = refused_alike(sources, card, [given], outputs, same_words=False)
    assert words.startswith("row 1 of data holds no probabilities")

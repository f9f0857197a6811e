"""NDArrayIter reads the arrays that it shows, and takes another batch size; numbers are MXNet's."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

X = np.arange(14, dtype=np.float32).reshape(7, 2)
Y = np.arange(7, dtype=np.float32)
HANDLES = ("pad", "discard", "roll_over")


def labels(it, count=99):
    """The labels of the next batches, to the end of the epoch at most."""
    found = []
    while len(found) < count and it.iter_next():
        found.append(it.getlabel()[0].asnumpy().tolist())
    return found


# -- arrays that are written to --------------------------------------------------------------------

DOUBLE = [[0, 2, 4], [6, 8, 10]]

# Labels 0 to 6 by three; 40 for 4 is written after the first batch, 70 for 0 after the second.
WRITTEN = {
    "pad": (
        [[3, 40, 5], [6, 70, 1]],
        [[70, 1, 2], [3, 40, 5], [6, 70, 1]],
        [*DOUBLE, [12, 0, 2]],
    ),
    "discard": ([[3, 40, 5]], [[70, 1, 2], [3, 40, 5]], DOUBLE),
    "roll_over": ([[3, 40, 5]], [[6, 70, 1], [2, 3, 40]], None),
}


@pytest.mark.parametrize("kind", [np.array, mx.nd.array])
@pytest.mark.parametrize("handle", HANDLES)
def test_what_is_written_is_in_the_next_batch(handle, kind):
    given = kind(Y)
    it = mx.io.NDArrayIter(X, given, 3, last_batch_handle=handle)
    assert (it.label[0][1] is given) == (kind is mx.nd.array)
    assert it.label is it.label
    it.next().label[0][:] = -5  # a batch is a copy
    np.testing.assert_array_equal(it.label[0][1].asnumpy(), Y)
    it.label[0][1][4] = 40
    first = labels(it, 1)
    it.label[0][1][0] = 70
    rest, again, doubled = WRITTEN[handle]
    assert first + labels(it) == rest
    it.reset()
    assert labels(it) == again
    it.hard_reset()
    given[:] = 9
    assert (labels(it, 1) == [[9, 9, 9]]) == (kind is mx.nd.array)
    if doubled:
        it.reset()
        it.label[0] = ("other", mx.nd.array(Y * 2))
        assert it.provide_label == [("other", (3,))]
        assert labels(it) == doubled


@pytest.mark.parametrize("handle", HANDLES)
def test_a_shuffling_iterator_has_arrays_of_its_own(handle):
    data, label = mx.nd.array(X), mx.nd.array(Y)
    it = mx.io.NDArrayIter(data, label, 3, True, handle, seed=3)
    before = it.label
    own = before[0][1]
    own[:] = own * 2
    label[:] = 100
    first = it.next()
    rows = (first.label[0].asnumpy() / 2).astype(int)
    np.testing.assert_array_equal(rows, first.index)
    np.testing.assert_array_equal(first.data[0].asnumpy(), X[rows])
    labels(it)
    it.reset()
    assert it.label is not before
    own[:] = 0  # of the epoch before
    for batch in it:
        np.testing.assert_array_equal(batch.label[0].asnumpy(), 2 * batch.index)
        np.testing.assert_array_equal(batch.data[0].asnumpy(), X[batch.index])
        np.testing.assert_array_equal(it.label[0][1].asnumpy(), 2 * it.idx)
        np.testing.assert_array_equal(it.getlabel()[0].asnumpy(), 2 * batch.index)


@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_of_csr_arrays_may_be_exchanged(shuffle):
    it = mx.io.NDArrayIter(mx.nd.array(X).tostype("csr"), Y, 3, shuffle, "discard")
    it.next()
    it.data[0][1][:] = mx.nd.array(X[it.idx] + 1).tostype("csr")
    batch = it.next()
    assert batch.data[0].stype == "csr"
    np.testing.assert_array_equal(batch.data[0].asnumpy(), X[batch.index] + 1)


def test_datasets_beside_shuffled_arrays_stay_as_they_are(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = X
        it = mx.io.NDArrayIter(file["x"], Y, 3, shuffle=True)
        for _ in range(2):
            assert it.data[0][1] is not None
            for batch in it:
                rows = batch.label[0].asnumpy().astype(int)
                np.testing.assert_array_equal(batch.data[0].asnumpy(), X[rows])
            it.reset()


def test_an_epoch_of_half_precision_stays_so():
    it = mx.io.NDArrayIter(mx.nd.array(X, dtype="bfloat16"), Y, 3)
    assert it.next().data[0].dtype == mx.nd.array(X, dtype="bfloat16").dtype


# -- another batch size ----------------------------------------------------------------------------


def ten(size, handle):
    return mx.io.NDArrayIter(np.arange(10.0), np.arange(10.0), size, last_batch_handle=handle)


def epoch(it):
    found = [(b.label[0].asnumpy().astype(int).tolist(), b.pad, it.cursor) for b in it]
    end = it.cursor
    it.reset()
    return found, end


@pytest.mark.parametrize("when", ["before", "first", "last"])
@pytest.mark.parametrize("handle", ["pad", "discard"])
def test_after_a_reset_epochs_have_batches_of_the_size_that_was_assigned(handle, when):
    it = ten(3, handle)
    if when != "before":
        it.next()
    if when == "last":
        list(it)
    it.batch_size = 4
    it.reset()
    assert it.provide_data == [("data", (4,))]
    last = [([8, 9, 0, 1], 2, 8)] if handle == "pad" else []
    whole = [([0, 1, 2, 3], 0, 0), ([4, 5, 6, 7], 0, 4), *last]
    assert [epoch(it), epoch(it)] == [(whole, 12 if last else 8)] * 2


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (1, [[4], [5], [6], [7], [8], [9]]),
        (2, [[5, 6], [7, 8], [9, 0]]),
        (5, [[8, 9, 0, 1, 2]]),
        (7, []),
    ],
)
def test_without_one_the_next_batch_is_as_far_behind_the_cursor(size, wanted):
    it = ten(3, "pad")
    it.next()
    it.next()
    it.batch_size = size
    assert it.cursor == 3
    assert [found for found, _, _ in epoch(it)[0]] == wanted


def test_before_the_first_batch_an_epoch_does_not_begin_before_its_first_sample():
    it = ten(3, "pad")
    it.batch_size = 5
    assert [found for found, _, _ in epoch(it)[0]] == [[2, 3, 4, 5, 6], [7, 8, 9, 0, 1]]
    it = ten(3, "discard")
    it.batch_size = 2
    assert epoch(it)[0][0][0] == [0, 1]


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (1, [([n], 0, n) for n in range(10)]),
        (2, [([9, 0], 1, -1), *(([n, n + 1], 0, n) for n in (1, 3, 5, 7))]),
        (5, [([9, 0, 1, 2, 3], 1, -1), ([4, 5, 6, 7, 8], 0, 4)]),
        (7, [([9, 0, 1, 2, 3, 4, 5], 1, -1)]),
    ],
)
def test_samples_that_do_not_fill_a_batch_of_the_new_size_roll_over(size, wanted):
    it = ten(3, "roll_over")
    list(it)
    it.batch_size = size
    it.reset()
    assert epoch(it)[0] == wanted


@pytest.mark.parametrize("size", [0, -1, "3", 2.5, None])
def test_sizes_that_there_are_not(size):
    it = ten(3, "pad")
    with pytest.raises((InvalidArgumentError, TypeError), match="batch_size must be an int >= 1"):
        it.batch_size = size
    assert it.batch_size == 3
    assert it.next().label[0].shape == (3,)

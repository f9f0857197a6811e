"""NDArrayIter: batches, the three ways with the last one, names and types."""

from __future__ import annotations

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError

X = np.arange(14).reshape(7, 2)
Y = np.arange(7)


def epochs(iterator, count=3):
    found = []
    for _ in range(count):
        found.append([(b.label[0].asnumpy().tolist(), b.pad) for b in iterator])
        iterator.reset()
    return found


# Labels and pads of three epochs, as MXNet 1.9.1 gives them.
GOLDEN = {
    "pad": [[([0, 1, 2], 0), ([3, 4, 5], 0), ([6, 0, 1], 2)]] * 3,
    "discard": [[([0, 1, 2], 0), ([3, 4, 5], 0)]] * 3,
    "roll_over": [
        [([0, 1, 2], 0), ([3, 4, 5], 0)],
        [([6, 0, 1], 1), ([2, 3, 4], 0)],
        [([5, 6, 0], 2), ([1, 2, 3], 0), ([4, 5, 6], 0)],
    ],
}


@pytest.mark.parametrize("handle", GOLDEN)
def test_last_batch_as_in_mxnet(handle):
    assert epochs(mx.io.NDArrayIter(X, Y, 3, last_batch_handle=handle)) == GOLDEN[handle]


def test_data_follow_labels():
    it = mx.io.NDArrayIter(X, Y, 3, shuffle=True, seed=4)
    for batch in it:
        rows = batch.label[0].asnumpy().astype(int)
        np.testing.assert_array_equal(batch.data[0].asnumpy(), X[rows])
        np.testing.assert_array_equal(batch.index, rows)


@pytest.mark.parametrize("handle", ["pad", "discard"])
def test_shuffled_epochs_repeat_for_the_same_seed(handle):
    def orders(seed):
        return epochs(mx.io.NDArrayIter(X, Y, 7, True, handle, seed=seed))

    first = orders(1)
    assert first == orders(1)
    assert all(sorted(labels) == list(range(7)) for [(labels, _)] in first)
    assert len({tuple(labels) for [(labels, _)] in first + orders(2)}) > 4


def test_rolled_over_samples_are_seen_once():
    it = mx.io.NDArrayIter(X, Y, 3, shuffle=True, last_batch_handle="roll_over", seed=2)
    seen = [label for epoch in epochs(it, 6) for labels, _ in epoch for label in labels]
    counts = np.bincount(np.array(seen, int), minlength=7)
    assert len(seen) == 42
    assert counts.tolist() == [6] * 7


def test_reset_midway_and_hard_reset():
    it = mx.io.NDArrayIter(X, Y, 3, last_batch_handle="roll_over")
    it.next()
    it.reset()
    assert it.next().label[0].asnumpy().tolist() == [0, 1, 2]
    epochs(it, 0)
    list(it)
    it.hard_reset()
    assert it.next().label[0].asnumpy().tolist() == [0, 1, 2]


def test_names():
    it = mx.io.NDArrayIter({"b": X, "a": X[:, :1]}, {"y": Y}, 2)
    assert it.provide_data == [("a", (2, 1)), ("b", (2, 2))]
    assert it.provide_label == [("y", (2,))]
    assert [d.shape for d in it.next().data] == [(2, 1), (2, 2)]
    it = mx.io.NDArrayIter([X, X], None, 2)
    assert it.provide_data == [("_0_data", (2, 2)), ("_1_data", (2, 2))]
    assert it.provide_label == it.next().label == []
    assert mx.io.NDArrayIter([X], Y, 2).provide_data == [("data", (2, 2))]
    assert it.num_data == 7


def test_types():
    it = mx.io.NDArrayIter(X.astype("float64"), mx.nd.array(Y, dtype="int32"), 2)
    assert (it.provide_data[0].dtype, it.provide_label[0].dtype) == (np.float32, np.int32)
    batch = it.next()
    assert (batch.data[0].dtype, batch.label[0].dtype) == (np.float32, np.int32)


def test_a_batch_larger_than_the_data():
    assert epochs(mx.io.NDArrayIter(X, Y, 16), 1) == [[([*range(7), *range(7), 0, 1], 9)]]
    assert epochs(mx.io.NDArrayIter(X, Y, 16, last_batch_handle="discard"), 2) == [[], []]


def test_no_samples():
    assert epochs(mx.io.NDArrayIter(X[:0], Y[:0], 2), 2) == [[], []]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mx.io.NDArrayIter(X, Y[:3], 2), "'softmax_label' has 3 samples, but 'data' has 7"),
        (lambda: mx.io.NDArrayIter(X, Y, 2, last_batch_handle="x"), "one of pad, discard, roll_"),
        (lambda: mx.io.NDArrayIter(5, Y), "data must be an array, a list .* got int"),
        (lambda: mx.io.NDArrayIter(None, Y), "data has no arrays"),
        (
            lambda: mx.io.NDArrayIter([X, "x"]),
            "'_1_data' must be an NDArray, a dataset of h5py or what NumPy",
        ),
        (lambda: mx.io.NDArrayIter(np.array(3.0)), "needs a first axis"),
        (lambda: mx.io.NDArrayIter(X, Y, 0), "batch_size must be an int >= 1, got 0"),
        (lambda: mx.io.NDArrayIter(X, Y, "2"), "batch_size must be an int >= 1, got '2'"),
        (lambda: mx.io.NDArrayIter(X, Y, seed=1.5), "seed must be an int of 0 to .* got 1.5"),
    ],
)
def test_errors(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


def test_descriptions():
    desc = mx.io.DataDesc("x", [2, 3])
    name, shape = desc
    assert (name, shape, desc.dtype, desc.layout) == ("x", (2, 3), np.float32, "NCHW")
    assert repr(desc) == "DataDesc[x,(2, 3),<class 'numpy.float32'>,NCHW]"
    assert mx.io.DataDesc.get_batch_axis("TNC") == 1
    assert mx.io.DataDesc.get_batch_axis(None) == 0


def test_batches():
    batch = mx.io.DataBatch([mx.nd.zeros((2, 3))], [mx.nd.zeros((2,))])
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]"
    with pytest.raises(InvalidArgumentError, match="data must be a list of arrays, got NDArray"):
        mx.io.DataBatch(mx.nd.zeros((2, 3)))


def test_an_iterator_of_ones_own():
    class Countdown(mx.io.DataIter):
        left = 3

        def iter_next(self):
            self.left -= 1
            return self.left > 0

        def getdata(self):
            return [mx.nd.full((1,), self.left)]

        def getlabel(self):
            return []

    assert [b.data[0].asscalar() for b in Countdown(1)] == [2, 1]
    with pytest.raises(NotImplementedError, match="DataIter must override"):
        mx.io.DataIter().next()


def test_lists_of_numbers():
    it = mx.io.NDArrayIter({"b": [[1, 2], [3, 4]], "a": [5, 6]}, [[7, 8]], batch_size=np.int64(1))
    assert it.provide_data == [("a", (1,)), ("b", (1, 2))]
    assert type(it.provide_data[0].shape[0]) is int
    found = [[a.asnumpy().tolist() for a in (*b.data, *b.label)] for b in it]
    assert found == [[[5], [[1, 2]], [7]], [[6], [[3, 4]], [8]]]


def test_descriptions_from_pairs():
    shapes, types = [("x", (2, 3)), ("y", (2,))], [("y", "int32"), ("x", "float64")]
    assert mx.io.DataDesc.get_list(shapes, None) == shapes
    assert [d.dtype for d in mx.io.DataDesc.get_list(shapes, types)] == ["float64", "int32"]
    with pytest.raises(TypeError, match="layout must be a string, got 3"):
        mx.io.DataDesc.get_batch_axis(3)


@pytest.mark.parametrize(
    ("handle", "first", "second"),
    [
        # As MXNet 1.9.1 counts: before an epoch, at each batch, and behind the last one.
        ("pad", [-4, 0, 4, 8, 12], [-4, 0, 4, 8, 12]),
        ("discard", [-4, 0, 4, 8], [-4, 0, 4, 8]),
        ("roll_over", [-4, 0, 4, 8], [-6, -2, 2, 6, 10]),
    ],
)
def test_the_cursor_is_mxnets(handle, first, second):
    samples = mx.io.NDArrayIter(np.arange(10), batch_size=4, last_batch_handle=handle)
    for wanted in (first, second):
        found = [samples.cursor]
        found += [samples.cursor for _ in samples]
        assert [*found, samples.cursor] == wanted
        samples.reset()

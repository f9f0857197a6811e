"""What NDArrayIter takes, and going on from a saved state."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError, MXNetError

X = np.arange(28, dtype=np.float32).reshape(7, 4)
Y = np.arange(7, dtype=np.float32)
HANDLES = ("pad", "discard", "roll_over")


def batches(iterator, epochs=3):
    found = []
    for _ in range(epochs):
        found += [
            ([a.asnumpy().tolist() for a in (*b.data, *b.label)], b.pad, b.index.tolist())
            for b in iterator
        ]
        iterator.reset()
    return found


@pytest.fixture
def datasets(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["y"] = X.astype("float64"), Y
        yield file


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("handle", HANDLES)
def test_datasets_on_disk_give_what_arrays_give(datasets, handle, shuffle):
    args = {"batch_size": 3, "last_batch_handle": handle, "shuffle": shuffle, "seed": 3}
    found = mx.io.NDArrayIter(datasets["x"], datasets["y"], **args)
    expected = mx.io.NDArrayIter(X, Y, **args)
    assert found.provide_data == expected.provide_data
    assert found.provide_data[0].dtype == np.float32
    assert batches(found) == batches(expected)
    assert found.data[0][1] is not None
    assert found.data[0][1].shape == (7, 4)


def test_datasets_beside_arrays(datasets):
    it = mx.io.NDArrayIter({"b": datasets["x"], "a": X}, {"y": datasets["y"]}, 7)
    batch = it.next()
    np.testing.assert_array_equal(batch.data[0].asnumpy(), batch.data[1].asnumpy())
    it = mx.io.NDArrayIter([datasets["x"], X], batch_size=2)
    assert [d.name for d in it.provide_data] == ["_0_data", "_1_data"]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("handle", HANDLES)
def test_csr_arrays_give_csr_batches(handle, shuffle):
    values = np.where(X % 3 == 1, X, 0)
    values[2] = 0
    args = {"batch_size": 3, "last_batch_handle": handle, "shuffle": shuffle, "seed": 3}
    it = mx.io.NDArrayIter(mx.nd.array(values).tostype("csr"), Y, **args)
    assert it.next().data[0].stype == "csr"
    it.next().data[0].check_format()
    it.hard_reset()
    dense = mx.io.NDArrayIter(values, Y, **args)
    dense.next()
    dense.hard_reset()
    assert batches(it) == batches(dense)
    assert it.data[0][1].stype == "csr"


def test_row_sparse_arrays_give_dense_batches():
    it = mx.io.NDArrayIter(mx.nd.array(X).tostype("row_sparse"), batch_size=3)
    batch = it.next().data[0]
    assert batch.stype == "default"
    np.testing.assert_array_equal(batch.asnumpy(), X[:3])


def test_layouts():
    cube = np.arange(30, dtype=np.float32).reshape(2, 5, 3)
    it = mx.io.NDArrayIter(cube, np.arange(5), 2, layout="TNC")
    assert [d.shape for d in (*it.provide_data, *it.provide_label)] == [(2, 2, 3), (2,)]
    found = list(it)
    np.testing.assert_array_equal(found[1].data[0].asnumpy(), cube[:, 2:4])
    np.testing.assert_array_equal(found[2].data[0].asnumpy(), cube[:, [4, 0]])
    assert [b.pad for b in found] == [0, 0, 1]
    assert mx.io.NDArrayIter(X, layout=None).provide_data == [("data", (1, 4))]
    with pytest.raises(InvalidArgumentError, match=r"layout must have an N, .* got 'TC'"):
        mx.io.NDArrayIter(cube, layout="TC")
    with pytest.raises(InvalidArgumentError, match=r"csr array, .* but the layout has N at 1"):
        mx.io.NDArrayIter(mx.nd.array(X).tostype("csr"), layout="CN")


def test_what_users_look_at():
    it = mx.io.NDArrayIter({"b": X, "a": Y}, Y, 3, last_batch_handle="discard")
    assert [name for name, _ in it.data] == ["a", "b"]
    np.testing.assert_array_equal(it.data[1][1].asnumpy(), X)
    assert [name for name, _ in it.label] == ["softmax_label"]
    assert (it.num_data, it.num_source, len(it.data_list)) == (7, 3, 3)
    assert (it.shuffle, it.last_batch_handle, it.layout) == (False, "discard", "NCHW")
    assert it.idx.tolist() == list(range(7))


def labels(it):
    return [batch.label[0].asnumpy().tolist() for batch in it]


def test_what_users_assign():
    it = mx.io.NDArrayIter(X, Y, 3)
    it.data, it.label = [("other", 2 * X), ("a", X)], [("l", mx.nd.array(Y * 10))]
    assert [d.name for d in it.provide_data + it.provide_label] == ["other", "a", "l"]
    np.testing.assert_array_equal(it.next().data[0].asnumpy(), 2 * X[:3])
    it.cursor = 2
    assert labels(it) == [[50, 60, 0]]
    assert it.cursor == 8
    it.reset()
    it.num_data = 5
    assert labels(it) == [[0, 10, 20], [30, 40, 0]]
    it.reset()
    it.idx = np.arange(5)[::-1]  # which MXNet does not ask, either
    assert it.idx.tolist() == [4, 3, 2, 1, 0]
    assert labels(it) == [[0, 10, 20], [30, 40, 0]]
    it.num_source = 9
    assert it.num_source == 9
    with pytest.raises(InvalidArgumentError, match="'l' has 7 samples, but an epoch has 5"):
        it.label = [("l", Y)]
    with pytest.raises(InvalidArgumentError, match="num_data"):
        it.num_data = 6


def test_names_and_arrays_of_what_is_given():
    init = mx.io.io._init_data
    for given, names in (
        (X, ["data"]),
        ([X, Y], ["_0_data", "_1_data"]),
        ({"b": X, "a": Y}, ["a", "b"]),
    ):
        found = init(given, False, "data")
        assert [name for name, _ in found] == names
        assert all(isinstance(array, mx.nd.NDArray) for _, array in found)
    np.testing.assert_array_equal(init(X, False, "data")[0][1].asnumpy(), X)
    assert init(None, True, "data") == []
    with pytest.raises(InvalidArgumentError, match="there is no array in None"):
        init(None, False, "data")


@pytest.mark.parametrize("handle", HANDLES)
def test_wholes_are_in_the_order_of_the_epoch(handle):
    it = mx.io.NDArrayIter(X, Y, 3, shuffle=True, last_batch_handle=handle)
    orders = []
    for _ in range(2):
        order = it.idx.tolist()
        orders.append(order)
        assert it.label[0][1].asnumpy().tolist() == order
        np.testing.assert_array_equal(it.data[0][1].asnumpy(), X[order])
        labels(it)
        it.reset()
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(7))
    it.hard_reset()
    it.label = [("l", np.arange(7))]
    assert it.label[0][1].asnumpy().tolist() == list(range(7))
    assert labels(it)[:2] == [[0, 1, 2], [3, 4, 5]]


def test_there_is_no_batch_before_the_first_and_after_the_last():
    it = mx.io.NDArrayIter(X, Y, 3)
    for _ in range(2):
        for get in (it.getdata, it.getlabel, it.getindex):
            with pytest.raises(MXNetError, match="NDArrayIter: there is no batch yet"):
                get()
        while it.iter_next():
            it.getdata()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("handle", HANDLES)
def test_going_on_from_a_saved_state(handle, shuffle):
    def make():
        return mx.io.NDArrayIter(X, Y, 3, shuffle, handle, seed=5)

    it, states, found = make(), [], []
    for _ in range(3):
        for batch in it:
            found.append(batch.index.tolist())
            states.append(json.dumps(it.state_dict()))
        it.reset()
        states[-1] = json.dumps(it.state_dict())
    for number, state in enumerate(states):
        again = make()
        again.load_state_dict(json.loads(state))
        rest = []
        while len(rest) + number + 1 < len(found):
            rest += [batch.index.tolist() for batch in again]
            again.reset()
        assert rest == found[number + 1 :]


def test_states_of_others_are_refused():
    it = mx.io.NDArrayIter(X, Y, 3)
    state = it.state_dict()
    for other in (mx.io.NDArrayIter(X, Y, 2), mx.io.NDArrayIter(X, Y, 3, seed=1)):
        with pytest.raises(InvalidArgumentError, match=r"state is of an iterator with \w+="):
            other.load_state_dict(state)
    for change in ({"position": -1}, {"position": "x"}, {"carried": [9]}, {"epoch": None}):
        with pytest.raises(InvalidArgumentError, match="load_state_dict: no whole state"):
            it.load_state_dict(state | change)
    with pytest.raises(InvalidArgumentError, match=r"a state must be a dict, .* got list"):
        it.load_state_dict([])
    del state["epoch"]
    with pytest.raises(InvalidArgumentError, match="no whole state: 'epoch'"):
        it.load_state_dict(state)


def test_descriptions_survive_copies():
    desc = mx.io.DataDesc("x", (1, 2), "int8", "NT")
    for found in (copy.copy(desc), pickle.loads(pickle.dumps(desc))):
        assert (found, found.dtype, found.layout) == (desc, "int8", "NT")
    assert mx.io.DataDesc.get_batch_axis("TC") == -1


def test_batches_without_labels():
    batch = mx.io.DataBatch([mx.nd.zeros((2,))])
    assert batch.label is None
    assert str(batch) == "DataBatch: data shapes: [(2,)] label shapes: None"
    assert mx.io.DataBatch(None, [mx.nd.zeros((2,))]).data is None

    class Unlabelled(mx.io.DataIter):
        left = 2

        def iter_next(self):
            self.left -= 1
            return self.left >= 0

        def getdata(self):
            return [mx.nd.zeros((2,))]

    assert [(b.label, b.pad, b.index) for b in Unlabelled()] == [(None, 0, None)] * 2

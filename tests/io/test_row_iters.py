"""CSVIter and LibSVMIter: arguments, errors, saved states (batches: test_golden_batches)."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import (
    ArgumentTypeError,
    DTypeError,
    FileFormatError,
    InvalidArgumentError,
    MissingFileError,
    MXNetError,
)

N = 7


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("".join(f"{3 * i},{3 * i + 1},{3 * i + 2}\n" for i in range(N)))
    (tmp_path / "l.csv").write_text("".join(f"{i}\n" for i in range(N)))
    (tmp_path / "d.svm").write_text("".join(f"{i} {i % 3}:{i + 0.5}\n" for i in range(N)))
    return tmp_path


def csv(**args):
    given = {"data_csv": "d.csv", "data_shape": (3,), "label_csv": "l.csv", "batch_size": 3} | args
    return mx.io.CSVIter(**given)


def svm(**args):
    return mx.io.LibSVMIter(
        **({"data_libsvm": "d.svm", "data_shape": (3,), "batch_size": 3} | args)
    )


def labels(iterator):
    return [batch.label[0].asnumpy().astype(int).tolist() for batch in iterator]


def test_their_class(folder):
    for it in (csv(), svm()):
        assert isinstance(it, mx.io.MXDataIter)
        assert (it.batch_size, it.provide_data[0].shape) == (3, (3, 3))
    with pytest.raises(ArgumentTypeError, match="handle must be a feed of batches, got int"):
        mx.io.MXDataIter(5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", None])
def test_types_of_csv(folder, dtype):
    it = csv(dtype=dtype)
    batch = it.next()
    expected = np.dtype(dtype or "float32")
    for array, desc in ((batch.data[0], it.provide_data[0]), (batch.label[0], it.provide_label[0])):
        assert array.dtype == desc.dtype == expected
    np.testing.assert_array_equal(batch.data[0].asnumpy(), np.arange(9).reshape(3, 3))


def test_types_of_libsvm(folder):
    batch = svm(dtype="float64").next()
    assert (batch.data[0].dtype, batch.label[0].dtype) == (np.float64, np.float64)
    batch.data[0].check_format()


def test_batches_larger_than_the_file(folder):
    it = csv(batch_size=16)
    batch = it.next()
    assert labels([batch]) == [[*range(7), *range(7), 0, 1]]
    assert batch.pad == 9
    with pytest.raises(StopIteration):
        it.next()
    it.reset()
    assert labels(it) == [[2, 3, 4, 5, 6, *range(7), 0, 1, 2, 3]]
    it = csv(batch_size=14)
    for _ in range(3):
        assert labels(it) == [[*range(7), *range(7)]]
        it.reset()
    it = csv(batch_size=9, round_batch=False)
    for _ in range(2):
        assert labels(it) == [[*range(7), 0, 0]]
        it.reset()
    for batch in svm(batch_size=9, round_batch=False):
        assert batch.data[0].asnumpy()[7:].tolist() == [[0, 0, 0]] * 2
        batch.data[0].check_format()


def test_without_round_batch_sparse_rows_are_those_of_the_batch_before(folder):
    last = list(svm(round_batch=False))[-1]
    assert last.label[0].asnumpy().tolist() == [6, 4, 5]
    assert last.index.tolist() == [6, 4, 5]
    expected = np.zeros((3, 3))
    expected[0, 0], expected[1, 1], expected[2, 2] = 6.5, 4.5, 5.5
    np.testing.assert_array_equal(last.data[0].asnumpy(), expected)


def test_reset_in_the_middle_starts_over_and_at_the_start_does_nothing(folder):
    for it in (csv(), svm()):
        it.next()
        it.reset()
        it.reset()
        assert labels(it) == [[0, 1, 2], [3, 4, 5], [6, 0, 1]]
        it.reset()
        it.reset()
        assert labels(it)[0] == [2, 3, 4]
        it.reset()
        it.next()
        it.reset()
        assert labels(it)[0] == [0, 1, 2]


def test_the_protocol_of_getters(folder):
    it = csv()
    with pytest.raises(MXNetError, match="CSVIter: there is no batch yet"):
        it.getdata()
    found = []
    while it.iter_next():
        found.append((it.getlabel().asnumpy().tolist(), it.getpad(), it.getindex().tolist()))
        assert it.getdata().shape == (3, 3)
    assert found == [
        ([0, 1, 2], 0, [0, 1, 2]),
        ([3, 4, 5], 0, [3, 4, 5]),
        ([6, 0, 1], 2, [6, 0, 1]),
    ]
    it.reset()
    it.debug_skip_load()
    assert [labels([it.next()]) for _ in range(9)] == [[[2, 3, 4]]] * 9


def test_folders_and_lists(folder):
    os.mkdir("many")
    (folder / "many" / "b.csv").write_text("1,1,1\n")
    (folder / "many" / "a.csv").write_text("2,2,2\n3,3,3")
    (folder / "many" / "c.csv").write_text("")
    for uri in ("many", "many/", folder / "many", "many/a.csv;many/b.csv"):
        it = csv(data_csv=uri, label_csv="NULL")
        assert it.next().data[0].asnumpy()[:, 0].tolist() == [2, 3, 1]
    for it in (csv(label_csv=None), svm(label_libsvm=None)):
        assert it.next().pad == 0
    it = csv(data_csv=f"file://{folder}/d.csv")
    assert labels(it)[0] == [0, 1, 2]
    with pytest.raises(MissingFileError, match=r"nope\.csv"):
        csv(data_csv="d.csv;nope.csv")
    (folder / "empty.csv").write_text("")
    with pytest.raises(
        FileFormatError, match=r"empty\.csv: expected rows, found no file with a byte"
    ):
        csv(data_csv="empty.csv")
    with pytest.raises(InvalidArgumentError, match="s3://a: only files can be read"):
        csv(data_csv="s3://a")


@pytest.mark.parametrize(
    ("make", "args", "message"),
    [
        (csv, {"data_csv": None}, "CSVIter: data_csv must be given"),
        (csv, {"batch_size": None}, "CSVIter: batch_size must be given"),
        (csv, {"batch_size": 0}, "'batch_size' must be an int >= 1"),
        (csv, {"data_shape": (0,)}, r"data_shape \(0,\) has no elements"),
        (csv, {"data_shape": "x"}, "'data_shape' must be a tuple of ints"),
        (csv, {"round_batch": "x"}, "'round_batch' must be a bool"),
        (csv, {"ctx": "tpu"}, "'ctx' must be one of 'cpu', 'gpu', got 'tpu'"),
        (csv, {"data_csv": 5}, "a path must be text, got int"),
        (svm, {"data_libsvm": None}, "LibSVMIter: data_libsvm must be given"),
        (svm, {"data_shape": (3, 1)}, "data_shape must have one extent"),
        (svm, {"data_shape": ()}, "data_shape must have one extent"),
        (svm, {"label_shape": (2,)}, r"label_shape must be \(1,\) without label_libsvm"),
        (svm, {"num_parts": 0}, "'num_parts' must be an int >= 1"),
        (svm, {"num_parts": 2, "part_index": 2}, r"must be in \[0, num_parts\), got 2 of 2"),
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_unfit_arguments(folder, make, args, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make(**args)


def test_unfit_types_and_unknown_arguments(folder, caplog):
    with pytest.raises(DTypeError, match=r"CSVIter: dtype must be one of float32, .* got uint8"):
        csv(dtype="uint8")
    csv(num_parts=2)
    assert "CSVIter: has no parameters num_parts, ignored" in caplog.text


def test_errors_name_file_and_line_each_time(folder):
    text = (folder / "d.csv").read_text().splitlines()
    text[4] = "1,x,2"
    (folder / "d.csv").write_text("\n".join(text))
    it = csv()
    it.next()
    for _ in range(3):
        with pytest.raises(FileFormatError, match=r"d\.csv: in line 5 .* float32 as column 2"):
            it.next()
    (folder / "d.svm").write_text("1 0:1\n1 3:1\n")
    with pytest.raises(FileFormatError, match=r"d\.svm: in line 2 .* index of 0 to 2"):
        svm().next()
    (folder / "d.svm").write_text("\n\n# nothing\n")
    with pytest.raises(FileFormatError, match=r"d\.svm: expected rows, found none"):
        svm().next()
    with pytest.raises(FileFormatError, match="expected 2 numbers, as the shape has, found 3"):
        csv(data_shape=(2,)).next()


def test_labels_that_are_too_few_and_too_many(folder):
    (folder / "l.csv").write_text("0\n1\n")
    with pytest.raises(FileFormatError, match=r"l\.csv: has 2 rows, but d\.csv has more"):
        csv().next()
    (folder / "l.csv").write_text("".join(f"{i}\n" for i in range(20)))
    it = csv()
    assert labels(it) == [[0, 1, 2], [3, 4, 5], [6, 0, 1]]
    it.reset()
    assert labels(it) == [[2, 3, 4], [5, 6, 0]]


@pytest.mark.parametrize("make", [csv, svm], ids=["csv", "svm"])
def test_parent_and_child_of_a_fork_read_on_their_own(folder, make):
    for name in ("d.csv", "l.csv", "d.svm"):
        (folder / name).write_text((folder / name).read_text() * 3000)
    it = make(batch_size=700)
    expected = labels(make(batch_size=700))
    it.next()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if labels(it) == expected[1:] else 1)
    assert labels(it) == expected[1:]
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_files_that_vanish(folder):
    it = csv()
    it.next()
    os.unlink("d.csv")
    with pytest.raises(MissingFileError) as gone:
        list(it)
    assert gone.value.filename == "d.csv"
    it = svm(data_libsvm="d.svm;l.csv")
    os.unlink("l.csv")
    with pytest.raises(MissingFileError) as gone:
        list(it)
    assert gone.value.filename == "l.csv"


def test_batches_that_go_round_often(folder):
    for it in (csv(batch_size=100_000), svm(batch_size=100_000)):
        expected = np.arange(100_000) % N
        for first in (0, 100_000 % N):
            batch = it.next()
            np.testing.assert_array_equal(batch.label[0].asnumpy(), (expected + first) % N)
            np.testing.assert_array_equal(batch.index, (expected + first) % N)
            assert batch.pad == 100_000 - N + first
            it.reset()
    batch.data[0].check_format()
    rows = batch.data[0].asnumpy()
    np.testing.assert_array_equal(rows.max(axis=1), batch.label[0].asnumpy() + 0.5)


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_parts_and_labels_of_their_own(folder, parts):
    (folder / "l.svm").write_text("".join(f"0 {i % 2}:{i}\n" for i in range(N)))
    found = []
    for part in range(parts):
        it = svm(
            label_libsvm="l.svm",
            label_shape=(2,),
            num_parts=parts,
            part_index=part,
            batch_size=1,
        )
        for _ in range(2):
            epoch = [(b.data[0].asnumpy().max() - 0.5, b.label[0].asnumpy().max()) for b in it]
            it.reset()
        found += epoch
    assert found == [(i, i) for i in range(N)]


@pytest.mark.parametrize("round_batch", [True, False])
@pytest.mark.parametrize("make", [csv, svm], ids=["csv", "svm"])
def test_going_on_from_a_saved_state(folder, make, round_batch):
    it, states, found = make(round_batch=round_batch), [], []
    for _ in range(4):
        for batch in it:
            found.append((labels([batch]), batch.pad, batch.index.tolist()))
            states.append(json.dumps(it.state_dict()))
        it.reset()
        states[-1] = json.dumps(it.state_dict())
    for number, state in enumerate(states):
        again = make(round_batch=round_batch)
        again.load_state_dict(json.loads(state))
        rest = []
        while len(rest) + number + 1 < len(found):
            rest += [(labels([batch]), batch.pad, batch.index.tolist()) for batch in again]
            again.reset()
        assert rest == found[number + 1 :]


def test_states_of_others_are_refused(folder):
    state = csv().state_dict()
    with pytest.raises(InvalidArgumentError, match="with batch_size=3, but this one has 2"):
        csv(batch_size=2).load_state_dict(state)
    with pytest.raises(InvalidArgumentError, match=r"iterator='CSVIter', but .* 'LibSVMIter'"):
        svm().load_state_dict(state)
    for position in ({}, {"places": 5}, {"places": [[-1, 0], [0, 0]], "row": 0}, None):
        it = csv()
        with pytest.raises(InvalidArgumentError, match="load_state_dict: no whole state"):
            it.load_state_dict(state | {"position": position})
        assert labels(it)[0] == [0, 1, 2]

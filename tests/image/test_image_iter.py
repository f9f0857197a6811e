"""ImageIter: what is refused and how, and what is kept; batches are in test_iter_golden."""

from __future__ import annotations

import logging
import os
import random
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import FileFormatError, InvalidArgumentError, MissingFileError

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "image_iter"
REC, IDX, LST = (str(FOLDER / f"classes.{ending}") for ending in ("rec", "idx", "lst"))
ITEMS = [[i, f"{i}.png"] for i in range(5)]
PNG = (FOLDER / "0.png").read_bytes()


def iterator(batch_size=2, data_shape=(3, 8, 10), **options):
    if options.keys().isdisjoint({"imglist", "path_imglist", "path_imgrec"}):
        options["imglist"] = ITEMS
    if "imglist" in options or "path_imglist" in options:
        options.setdefault("path_root", str(FOLDER))
    return mx.image.ImageIter(batch_size, data_shape, **options)


def labels(it):
    return [batch.label[0].asnumpy().ravel().tolist() for batch in it]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 0}, "ImageIter: attribute 'batch_size' must be .* got 0"),
        ({"batch_size": "two"}, "'batch_size' must be .* got 'two'"),
        ({"data_shape": (8, 10)}, r"data_shape must be \(3, height, width\), got \(8, 10\)"),
        ({"data_shape": (1, 8, 10)}, r"data_shape must be \(3, height, width\)"),
        ({"data_shape": (3, 0, 10)}, "'data_shape' must be"),
        ({"data_shape": None}, "'data_shape' must be"),
        ({"label_width": 0}, "'label_width' must be .* got 0"),
        ({"last_batch_handle": "drop"}, "last_batch_handle must be one of .* got 'drop'"),
        ({"dtype": "float16"}, "dtype must be one of .* got 'float16'"),
        ({"shuffle": "maybe"}, "'shuffle' must be .* got 'maybe'"),
        ({"imglist": None}, "path_imgrec, path_imglist or imglist must be given"),
        ({"imglist": "0.png"}, "imglist be a list"),
        ({"imglist": ["0.png"]}, "item 1 of imglist must be a label and a path, got '0.png'"),
        ({"imglist": [*ITEMS, [3]]}, "item 6 of imglist must be a label and a path"),
        ({"imglist": [["one", "0.png"]]}, "label of item 1 of imglist: .* got 'one'"),
        ({"imglist": [[[1, [2, 3]], "0.png"]]}, "label of item 1 of imglist: "),
        ({"part_index": 2, "num_parts": 2}, "part_index must be 0 to 1 as num_parts is 2, got 2"),
        ({"part_index": -1, "num_parts": 2}, "part_index must be 0 to 1"),
        ({"num_parts": 0}, "'num_parts' must be .* got 0"),
        ({"path_imgrec": REC, "shuffle": True}, "shuffle needs path_imgidx"),
        ({"path_imgrec": REC, "num_parts": 2}, "num_parts needs path_imgidx"),
        ({"rand_resize": True}, "rand_resize needs rand_crop"),
    ],
)
def test_arguments_that_are_wrong(options, said):
    with pytest.raises(InvalidArgumentError, match=said):
        iterator(**options)


def test_arguments_as_texts_and_of_other_kinds():
    it = iterator("2", "(3, 8, 10)", imglist=ITEMS, shuffle="False", num_parts="1", dtype=np.int64)
    assert (it.provide_data, it.provide_label) == (
        [("data", (2, 3, 8, 10))],
        [("softmax_label", (2,))],
    )
    it = iterator(np.int64(2), [3, 8, 10], imglist=tuple(ITEMS), data_name="x", label_name="y")
    assert (it.provide_data, it.provide_label) == ([("x", (2, 3, 8, 10))], [("y", (2,))])
    assert labels(it) == [[0, 1], [2, 3], [4, 0]]
    with pytest.raises(TypeError, match="colour"):
        iterator(imglist=ITEMS, colour=1)


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
def test_nothing_gives_no_batches(tmp_path, handle):
    (tmp_path / "empty.lst").write_text("\n  \n")
    mx.recordio.MXRecordIO(str(tmp_path / "empty.rec"), "w").close()
    for options in (
        {"imglist": []},
        {"path_imglist": tmp_path / "empty.lst"},
        {"path_imgrec": tmp_path / "empty.rec"},
        {"imglist": ITEMS, "part_index": 3, "num_parts": 9},
    ):
        it = iterator(**options, last_batch_handle=handle)
        for _ in range(3):
            assert list(it) == []
            it.reset()


def test_files_that_are_not_there(tmp_path):
    missing = str(tmp_path / "missing")
    for name in ("path_imgrec", "path_imglist"):
        with pytest.raises(MissingFileError, match="missing"):
            iterator(**{name: missing})
    with pytest.raises(MissingFileError, match="missing"):
        iterator(path_imgrec=REC, path_imgidx=missing)
    it = iterator(imglist=[ITEMS[0], [9, "missing.png"], *ITEMS[1:4]])
    with pytest.raises(FileNotFoundError, match=r"missing\.png"):
        it.next()
    assert labels(it) == [[0, 1], [2, 3]]


def test_paths_start_from_the_folder_that_is_current(monkeypatch):
    monkeypatch.chdir(FOLDER)
    assert labels(mx.image.ImageIter(2, (3, 8, 8), imglist=ITEMS[:2])) == [[0, 1]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("2\tb.png", "expected a number, labels and a path"),
        ("2 1 b.png", "expected a number, labels and a path"),
        ("two\t1\tb.png", "invalid literal"),
        ("2\tone\tb.png", "could not convert"),
        ("2\t1\tone\tb.png", "could not convert"),
    ],
)
def test_lines_of_a_list_that_are_wrong(tmp_path, line, said):
    (tmp_path / "a.lst").write_text(f"1\t1\ta.png\n\n{line}\n")
    with pytest.raises(FileFormatError, match=rf"a\.lst, line 3: .*{said}"):
        iterator(path_imglist=str(tmp_path / "a.lst"))


def test_a_list_that_is_no_text(tmp_path):
    (tmp_path / "a.lst").write_bytes(b"\xff\xfe1\t1\ta.png\n")
    with pytest.raises(FileFormatError, match=r"a\.lst: not UTF-8"):
        iterator(path_imglist=tmp_path / "a.lst")


def test_a_list_with_ends_of_lines_of_windows(tmp_path):
    (tmp_path / "a.lst").write_bytes(b"1\t1.5\t0.png\r\n 7\t2.5\t1.png \r\n")
    it = iterator(path_imglist=tmp_path / "a.lst")
    assert it.seq == [1, 7]
    assert labels(it) == [[1.5, 2.5]]


def damaged(tmp_path, number=3):
    """A folder and a RecordIO file with an image that is cut off, and its index."""
    path = str(tmp_path / "a.rec")
    with mx.recordio.MXIndexedRecordIO(str(tmp_path / "a.idx"), path, "w") as record:
        for i in range(6):
            image = PNG[:60] if i == number else PNG
            (tmp_path / f"{i}.png").write_bytes(image)
            record.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, i, i, 0), image))
    return path


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("source", ["files", "index", "records"])
def test_a_damaged_image_is_named_and_no_other_lost(tmp_path, source, handle):
    path = damaged(tmp_path)
    options = {
        "files": {"imglist": [[i, f"{i}.png"] for i in range(6)], "path_root": tmp_path},
        "index": {"path_imgrec": path, "path_imgidx": str(tmp_path / "a.idx")},
        "records": {"path_imgrec": path},
    }[source]
    it = iterator(**options, last_batch_handle=handle)
    said = (
        r"ImageIter: image '3\.png': " if source == "files" else r"ImageIter: record 3 of .*a\.rec"
    )
    expected = {
        "pad": [[0, 1], [2, 4], [5, 0]],
        "discard": [[0, 1], [2, 4]],
        "roll_over": [[0, 1], [2, 4]],
    }[handle]
    found = labels(it.next() for _ in range(1))
    with pytest.raises(FileFormatError, match=said):
        it.next()
    assert found + labels(it) == expected
    it.reset()
    if handle == "roll_over":
        assert labels(it.next() for _ in range(2)) == [[5, 0], [1, 2]]
        with pytest.raises(FileFormatError, match=said):
            it.next()
        assert labels(it) == [[4, 5]]


def test_a_damaged_image_in_what_fills_up_a_batch(tmp_path):
    damaged(tmp_path, number=0)
    items = [[i, f"{i}.png"] for i in (1, 0, 2)]
    it = iterator(4, imglist=items, path_root=tmp_path)
    for _ in range(2):
        with pytest.raises(FileFormatError, match=r"image '0\.png'"):
            it.next()
    batch = it.next()
    assert (batch.pad, batch.label[0].asnumpy().tolist()) == (2, [1, 2, 1, 2])
    with pytest.raises(StopIteration):
        it.next()


def test_a_reset_while_what_rolled_over_is_filled_up(tmp_path):
    damaged(tmp_path, number=0)
    items = [[0, "0.png"], [1, "1.png"]]
    it = iterator(3, imglist=items, path_root=tmp_path, last_batch_handle="roll_over")

    def fails():
        with pytest.raises(FileFormatError, match=r"image '0\.png'"):
            it.next()

    fails()
    assert labels(it) == []
    for _ in range(2):
        it.reset()
        fails()
    it.reset()
    fails()
    assert labels(it) == []
    fails()
    assert labels(it) == [[1, 1, 1]]


def test_a_record_that_is_damaged_itself(tmp_path):
    shutil.copy(IDX, tmp_path / "a.idx")
    whole = Path(REC).read_bytes()
    (tmp_path / "a.rec").write_bytes(whole[:-100])
    it = iterator(7, path_imgrec=str(tmp_path / "a.rec"), path_imgidx=str(tmp_path / "a.idx"))
    with pytest.raises(FileFormatError, match=r"ImageIter: record 6 of .*a\.rec"):
        it.next()
    batch = it.next()
    assert batch.pad == 1
    it = iterator(1, path_imgrec=str(tmp_path / "a.rec"))
    assert len([it.next() for _ in range(6)]) == 6
    for _ in range(2):
        with pytest.raises(FileFormatError, match=r"a\.rec"):
            it.next()


def test_a_record_without_a_header(tmp_path):
    with mx.recordio.MXRecordIO(str(tmp_path / "a.rec"), "w") as record:
        record.write(b"short")
    it = iterator(1, path_imgrec=str(tmp_path / "a.rec"))
    with pytest.raises(FileFormatError, match=r"record 0 of .*a\.rec: unpack: a header has"):
        it.next()


def test_shapes_that_do_not_fit():
    it = iterator(1, imglist=[[1, 2, "0.png"]])
    with pytest.raises(InvalidArgumentError, match=r"'0\.png': label_width asks for .* \(2,\)"):
        it.next()
    it.next_sample = lambda: ([1, 2, 3], PNG)
    with pytest.raises(InvalidArgumentError, match=r"label_width asks for .*, got \(3,\): "):
        it.next()
    it = iterator(1, aug_list=[], imglist=ITEMS)
    with pytest.raises(
        InvalidArgumentError, match=r"'0\.png': data_shape asks for .* \(3, 14, 18\)"
    ):
        it.next()
    it = iterator(1, (3, 14, 18), aug_list=[], imglist=ITEMS)
    np.testing.assert_array_equal(
        it.next().data[0].asnumpy()[0].transpose(1, 2, 0), mx.image.imdecode(PNG).asnumpy()
    )


def test_a_label_that_the_list_lacks(tmp_path):
    (tmp_path / "a.lst").write_text("0\t7\ta.png\n")
    it = iterator(1, path_imgrec=REC, path_imgidx=IDX, path_imglist=tmp_path / "a.lst")
    assert it.next().label[0].item() == 7
    with pytest.raises(InvalidArgumentError, match=r"record 1 of .*classes\.rec: the list has no"):
        it.next()


def test_methods_that_a_subclass_overrides(caplog):
    class Every(mx.image.ImageIter):
        def read_image(self, fname):
            return fname

        def imdecode(self, s):
            return mx.nd.full((4, 4, 3), int(s[0]))

        def check_valid_image(self, data):
            if data[0, 0, 0].asscalar() == 2:
                raise RuntimeError("it is the second")

        def augmentation_transform(self, data):
            return data + 10

        def postprocess_data(self, datum):
            return datum.T * 2

    it = Every(2, (3, 4, 4), imglist=ITEMS)
    with caplog.at_level(logging.DEBUG):
        found = [batch.data[0].asnumpy()[:, 0, 0, 0].tolist() for batch in it]
    assert found == [[20, 22], [26, 28]]
    assert "image '2.png': skipped: it is the second" in caplog.text
    it.check_valid_image = lambda data: 1 / 0
    it.reset()
    with pytest.raises(ZeroDivisionError):
        it.next()


def test_an_image_must_have_axes():
    it = iterator()
    with pytest.raises(RuntimeError, match="height, width"):
        it.check_valid_image([np.float32(1)])
    it.check_valid_image(mx.nd.ones((2, 2, 3)))


def test_samples_and_their_end():
    it = iterator(last_batch_handle="discard")
    found = []
    for _ in range(5):
        label, data = it.next_sample()
        found.append((label.asnumpy().tolist(), label.dtype, type(data)))
    assert found == [([float(i)], np.float32, bytes) for i in range(5)]
    for _ in range(2):
        with pytest.raises(StopIteration):
            it.next_sample()
    it = iterator(path_imgrec=REC)
    for _ in range(2):
        assert [it.next_sample()[0] for _ in range(7)] == [i + 0.5 for i in range(7)]
        with pytest.raises(StopIteration):
            it.next_sample()


def test_what_rolls_over_is_less_than_a_batch_for_several_epochs():
    it = iterator(5, imglist=ITEMS[:2], last_batch_handle="roll_over")
    found = []
    for _ in range(5):
        found.append([(batch.label[0].asnumpy().tolist(), batch.pad) for batch in it])
        it.reset()
    assert found == [[], [], [([0, 1, 0, 1, 0], 1)], [], [([1, 0, 1, 0, 1], 2)]]


def test_an_epoch_that_is_broken_off_starts_again():
    for handle in ("pad", "discard", "roll_over"):
        it = iterator(last_batch_handle=handle)
        assert labels([it.next()]) == [[0, 1]]
        it.reset()
        assert labels([it.next()]) == [[0, 1]]
        it.hard_reset()
        assert labels([it.next()]) == [[0, 1]]


def test_batches_are_arrays_of_their_own():
    it = iterator(imglist=ITEMS)
    first, second = it.next(), it.next()
    assert not np.array_equal(first.data[0].asnumpy(), second.data[0].asnumpy())
    assert first.label[0].asnumpy().tolist() == [0, 1]


def test_wrapped_by_another_iterator():
    alone = labels(iterator())
    it = mx.io.PrefetchingIter(iterator())
    assert labels(it) == alone
    it.reset()
    assert labels(it) == alone
    it.close()
    assert labels(mx.io.ResizeIter(iterator(), 4)) == [*alone, alone[0]]


RUN = """
import hashlib, random, sys
import numpy as np
import ferromix as mx
random.seed(1), np.random.seed(1)
found = hashlib.sha256()
options = dict(rand_crop=True, rand_mirror=True, brightness=0.2, pca_noise=0.1, resize=9, hue=0.1)
it = mx.image.ImageIter(
    3, (3, 8, 8), path_imgrec=sys.argv[1], path_imgidx=sys.argv[2], shuffle=True, **options
)
for _ in range(3):
    for batch in it:
        found.update(batch.data[0].asnumpy().tobytes() + batch.label[0].asnumpy().tobytes())
    it.reset()
print(found.hexdigest())
"""


def test_batches_do_not_depend_on_the_engine():
    def run(**settings):
        done = subprocess.run(
            [sys.executable, "-c", RUN, REC, IDX],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return done.stdout

    found = {
        run(MXNET_ENGINE_TYPE="NaiveEngine"),
        run(MXNET_CPU_WORKER_NTHREADS="1"),
        run(MXNET_CPU_WORKER_NTHREADS="4"),
    }
    assert len(found) == 1


def test_a_thread_per_iterator():
    expected = labels(iterator(path_imgrec=REC))
    found = {}

    def read(number):
        found[number] = labels(iterator(path_imgrec=REC))

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == [expected] * 4


def test_orders_are_those_of_the_seed():
    def orders(seed):
        random.seed(seed)
        it = iterator(imglist=ITEMS, shuffle=True, last_batch_handle="discard")
        found = []
        for _ in range(3):
            found.append(labels(it))
            it.reset()
        return found

    assert orders(1) == orders(1)
    assert orders(1) != orders(2)

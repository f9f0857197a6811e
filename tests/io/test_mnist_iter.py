"""MNISTIter against the arrays that its files were written from."""

from __future__ import annotations

import gzip
import shutil

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import DTypeError, FileFormatError, InvalidArgumentError

COUNT, ROWS, COLUMNS = 23, 4, 3


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (COUNT, ROWS, COLUMNS), np.uint8)
    labels = np.arange(COUNT, dtype=np.uint8)
    paths = {"image": tmp_path / "images", "label": tmp_path / "labels"}
    mx.io.write_idx(paths["image"], images)
    mx.io.write_idx(paths["label"], labels)
    return paths, images, labels


def labels_of(iterator):
    return np.concatenate([b.label[0].asnumpy() for b in iterator] or [np.empty(0)]).astype(int)


def test_idx_files_survive(files, tmp_path):
    paths, images, labels = files
    np.testing.assert_array_equal(mx.io.read_idx(paths["image"]), images)
    np.testing.assert_array_equal(mx.io.read_idx(paths["label"]), labels)
    header = paths["image"].read_bytes()[:16]
    assert header == bytes([0, 0, 8, 3]) + np.array(images.shape, ">i4").tobytes()
    strided = tmp_path / "strided"
    mx.io.write_idx(strided, images[::2, :, ::-1])
    np.testing.assert_array_equal(mx.io.read_idx(strided), images[::2, :, ::-1])
    with pytest.raises(DTypeError, match="must be uint8, got int64; use astype"):
        mx.io.write_idx(strided, np.arange(3))


def test_batches_in_order(files):
    paths, images, labels = files
    it = mx.io.MNISTIter(**paths, batch_size=5, shuffle=False, silent=True)
    assert it.provide_data == [("data", (5, 1, ROWS, COLUMNS))]
    assert it.provide_label == [("softmax_label", (5,))]
    assert it.batch_size == 5
    batches = list(it)
    assert len(batches) == COUNT // 5
    for i, batch in enumerate(batches):
        rows = slice(5 * i, 5 * i + 5)
        np.testing.assert_array_equal(
            batch.data[0].asnumpy(), images[rows, None].astype(np.float32) / 256
        )
        assert batch.data[0].dtype == np.float32
        np.testing.assert_array_equal(batch.label[0].asnumpy(), labels[rows])
        assert batch.label[0].dtype == np.float32
        assert batch.pad == 0
        np.testing.assert_array_equal(batch.index, np.arange(COUNT)[rows])
    with pytest.raises(StopIteration):
        it.next()
    it.reset()
    np.testing.assert_array_equal(labels_of(it), labels[:20])


def test_gzipped_files(files, tmp_path):
    paths, images, _ = files
    zipped = {}
    for kind, path in paths.items():
        zipped[kind] = tmp_path / f"{path.name}.gz"
        with open(path, "rb") as source, gzip.open(zipped[kind], "wb") as target:
            shutil.copyfileobj(source, target)
    it = mx.io.MNISTIter(**zipped, batch_size=COUNT, shuffle=False, flat=True, silent=True)
    np.testing.assert_array_equal(
        it.next().data[0].asnumpy(), images.reshape(COUNT, -1).astype(np.float32) / 256
    )


def test_shapes_and_types(files):
    paths, images, _ = files
    it = mx.io.MNISTIter(**paths, batch_size=4, flat=True, silent=True)
    assert it.provide_data[0].shape == it.next().data[0].shape == (4, ROWS * COLUMNS)
    it = mx.io.MNISTIter(**paths, batch_size=4, input_shape=(COLUMNS, ROWS), silent=True)
    assert it.next().data[0].shape == (4, COLUMNS, ROWS)
    it = mx.io.MNISTIter(**paths, batch_size=4, dtype="float64", shuffle=False, silent=True)
    data = it.next().data[0]
    assert data.dtype == np.float64
    np.testing.assert_array_equal(data.asnumpy(), images[:4, None] / 256)


def test_shuffled_orders_depend_on_seed_and_epoch_only(files):
    paths, _, _ = files

    def orders(seed, epochs=3, batch_size=23):
        it = mx.io.MNISTIter(**paths, batch_size=batch_size, seed=seed, silent=True)
        found = []
        for _ in range(epochs):
            it.reset()  # before the first batch this does nothing
            found.append(tuple(labels_of(it)))
        return found

    first = orders(1)
    assert [sorted(order) for order in first] == [list(range(COUNT))] * 3
    assert len({*first, *orders(2)}) == 6
    assert first == orders(1)
    assert [order[:20] for order in first] == orders(1, batch_size=5)


def test_an_epoch_left_early_still_counts(files):
    paths, _, _ = files
    whole = mx.io.MNISTIter(**paths, batch_size=5, seed=1, silent=True)
    labels_of(whole)
    whole.reset()
    early = mx.io.MNISTIter(**paths, batch_size=5, seed=1, silent=True)
    early.next()
    early.reset()
    np.testing.assert_array_equal(labels_of(early), labels_of(whole))


def test_round_batch_covers_everything(files):
    paths, _, _ = files
    it = mx.io.MNISTIter(**paths, batch_size=5, shuffle=False, round_batch=True, silent=True)
    batches = list(it)
    assert [b.pad for b in batches] == [0, 0, 0, 0, 2]
    assert batches[-1].label[0].asnumpy().tolist() == [20, 21, 22, 0, 1]


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 23, 30])
def test_parts_cover_everything_once(files, parts):
    paths, _, labels = files
    found = []
    for part in range(parts):
        it = mx.io.MNISTIter(
            **paths, batch_size=1, shuffle=False, num_parts=parts, part_index=part, silent=True
        )
        found.append(labels_of(it))
        assert it.num_data in (COUNT // parts, COUNT // parts + 1)
    np.testing.assert_array_equal(np.concatenate(found), labels)


def test_logging(files, caplog):
    paths, _, _ = files
    with caplog.at_level("INFO"):
        mx.io.MNISTIter(**paths, batch_size=5, silent=True)
        assert not caplog.records
        mx.io.MNISTIter(**paths, batch_size=5)
    assert "23 images" in caplog.text


def test_unfit_arguments(files):
    paths, _, _ = files
    for options, message in (
        ({"part_index": 1}, r"part_index must be in \[0, num_parts\), got 1 of 1"),
        ({"input_shape": (5, 5)}, r"input_shape \(5, 5\) has 25 elements, but an image .* 12"),
        ({"batch_size": 0}, "MNISTIter: attribute 'batch_size' must be an int >= 1 .* got 0"),
        ({"batch_size": "x"}, "'batch_size' must be an int >= 1 .* got 'x'"),
        ({"batch_size": 2**31}, "'batch_size' must be an int >= 1 .* got 2147483648"),
        ({"seed": "3.5"}, "'seed' must be an int .* got '3.5'"),
        ({"flat": "yes"}, "'flat' must be a bool, got 'yes'"),
        ({"shuffle": None}, "'shuffle' must be a bool, got None"),
        ({"input_shape": "x"}, "'input_shape' must be a tuple of ints .* got 'x'"),
        ({"prefetch_buffer": "x"}, "'prefetch_buffer' must be an int .* got 'x'"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            mx.io.MNISTIter(**paths, **options, silent=True)


def test_extents_that_no_array_can_have(files, tmp_path):
    paths, _, _ = files
    broken = tmp_path / "broken"
    header = [bytes([0, 0, 8, 70]), bytes(4 * 70)]
    broken.write_bytes(b"".join(header))
    with pytest.raises(FileFormatError, match="broken: 70 dimensions"):
        mx.io.MNISTIter(image=broken, label=paths["label"], silent=True)
    broken.write_bytes(bytes([0, 0, 8, 3]) + b"\xff" * 12)
    with pytest.raises(FileFormatError, match=r"broken.*expected"):
        mx.io.MNISTIter(image=broken, label=paths["label"], silent=True)


def test_images_without_pixels(tmp_path):
    mx.io.write_idx(tmp_path / "image", np.zeros((4, 0, 3), np.uint8))
    mx.io.write_idx(tmp_path / "label", np.arange(4, dtype=np.uint8))
    it = mx.io.MNISTIter(tmp_path / "image", tmp_path / "label", batch_size=2, silent=True)
    assert next(it).data[0].shape == (2, 1, 0, 3)


def test_unfit_files(files, tmp_path):
    paths, images, _ = files
    with pytest.raises(FileFormatError, match=r"labels must be 1-dim.*shape \(23, 4, 3\)"):
        mx.io.MNISTIter(image=paths["image"], label=paths["image"])
    short = tmp_path / "short"
    mx.io.write_idx(short, images[:7])
    with pytest.raises(FileFormatError, match=r"short has 7 images, but .*labels has 23 labels"):
        mx.io.MNISTIter(image=short, label=paths["label"])
    cut = tmp_path / "cut"
    cut.write_bytes(paths["image"].read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="cut"):
        mx.io.MNISTIter(image=cut, label=paths["label"])


def batches_of(files, **options):
    """Shapes and values of the batches, in the order of the files unless told otherwise."""
    given = {"batch_size": 5, "shuffle": False, "silent": True} | options
    it = mx.io.MNISTIter(**files[0], **given)
    return it.provide_data, [(b.data[0].asnumpy().tolist(), b.pad) for b in it]


@pytest.mark.parametrize(
    ("spelled", "typed"),
    [
        ({"flat": "0"}, {"flat": False}),
        ({"flat": "False"}, {"flat": False}),
        ({"flat": "false"}, {"flat": False}),
        ({"flat": "1"}, {"flat": True}),
        ({"flat": "true"}, {"flat": True}),
        ({"flat": 1}, {"flat": True}),
        ({"batch_size": "4"}, {"batch_size": 4}),
        ({"batch_size": " +4 "}, {"batch_size": 4}),
        ({"batch_size": np.int64(4)}, {"batch_size": 4}),
        ({"batch_size": np.array(4)}, {"batch_size": 4}),
        ({"shuffle": "0"}, {"shuffle": False}),
        ({"shuffle": "True"}, {"shuffle": True}),
        ({"shuffle": "1", "seed": "3"}, {"shuffle": True, "seed": 3}),
        ({"shuffle": True, "seed": "-1"}, {"shuffle": True, "seed": 2**32 - 1}),
        ({"num_parts": "2", "part_index": "1"}, {"num_parts": 2, "part_index": 1}),
        ({"round_batch": "0"}, {"round_batch": False}),
        ({"round_batch": "1"}, {"round_batch": True}),
        ({"input_shape": "(1,4,3)"}, {}),
        ({"input_shape": "[12]"}, {"flat": True}),
        ({"input_shape": [1, 4, 3]}, {}),
        ({"input_shape": np.array([1, 4, 3])}, {}),
        ({"input_shape": ()}, {}),
        ({"dtype": None}, {}),
        ({"prefetch_buffer": "2"}, {}),
    ],
    ids=str,
)
def test_parameters_as_strings(files, spelled, typed):
    assert batches_of(files, **spelled) == batches_of(files, **typed)


def test_silent_as_a_string(files, caplog):
    with caplog.at_level("INFO"):
        batches_of(files, silent="1")
        assert not caplog.records
        batches_of(files, silent="0")
    assert "23 images" in caplog.text


def test_parameters_of_other_iterators_are_ignored_with_a_warning(files, caplog):
    assert batches_of(files, num_copies=2, device_id=0) == batches_of(files)
    assert "MNISTIter: has no parameters device_id, num_copies" in caplog.text

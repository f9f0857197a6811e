"""Lists and records beside those that MXNet's ``tools/im2rec.py`` made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.im2rec import main

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MADE = json.loads((GOLDEN / "im2rec" / "lists.json").read_text())


@pytest.fixture(scope="module")
def packed():
    with np.load(GOLDEN / "im2rec" / "records.npz") as arrays:
        return dict(arrays)


@pytest.fixture
def folder(tmp_path):
    for path, source in MADE["layout"].items():
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GOLDEN / "image" / source, tmp_path / "root" / path)
    (tmp_path / "out").mkdir()
    return tmp_path


def run(folder, *options):
    return main([str(folder / "out" / "x"), str(folder / "root"), *options])


def records(folder):
    paths = [str(folder / "out" / f"x.{end}") for end in ("idx", "rec")]
    with mx.recordio.MXIndexedRecordIO(*paths, "r") as reader:
        return [mx.recordio.unpack_img(reader.read_idx(key), -1) for key in reader.keys]


@pytest.mark.parametrize("row", MADE["lists"], ids=lambda row: row["options"])
def test_lists_are_those_of_mxnet(folder, row):
    assert run(folder, "--list", *row["options"].split()) == 0
    made = {p.name: p.read_text() for p in (folder / "out").iterdir()}
    assert made == row["lists"]


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("processes", [1, 2])
def test_files_as_they_are_make_the_same_bytes(folder, packed, row, processes):
    (folder / "out" / "x.lst").write_bytes(packed["list"].tobytes())
    options = MADE["records"][row].split()
    assert run(folder, *options, "--num-thread", str(processes)) == 0
    for end in ("rec", "idx"):
        written = (folder / "out" / f"x.{end}").read_bytes()
        assert written == packed[f"{row}.{end}"].tobytes()


@pytest.mark.parametrize("row", range(2, len(MADE["records"])), ids=MADE["records"].__getitem__)
def test_images_are_those_of_mxnet(folder, packed, row):
    """PNG exactly, JPEG as near as encoders of the same quality are."""
    (folder / "out" / "x.lst").write_bytes(packed["list"].tobytes())
    options = MADE["records"][row]
    assert run(folder, *options.split()) == 0
    made = records(folder)
    assert f"{row}.{len(made)}.head" not in packed
    for number, (header, image) in enumerate(made):
        expected = packed[f"{row}.{number}.image"]
        np.testing.assert_array_equal([header.id, header.label], packed[f"{row}.{number}.head"])
        assert image.shape == expected.shape
        # The decoders are the same, and so are the encoders of JPEG where Pillow has libjpeg-turbo.
        most = 0 if options.startswith("--encoding .png") else 8
        assert np.abs(image.astype(int) - expected).max() <= most

"""MXRecordIO and MXIndexedRecordIO: what they refuse, forks, pickles and damaged files."""

from __future__ import annotations

import errno
import os
import pickle
import threading
import time

import pytest

import ferromix as mx
from ferromix.error import (
    ArgumentTypeError,
    FileAccessError,
    FileFormatError,
    InvalidArgumentError,
    MissingFileError,
    MXNetError,
)
from ferromix.recordio import MXIndexedRecordIO, MXRecordIO

RECORDS = [b"record %d" % i for i in range(5)]


@pytest.fixture
def path(tmp_path):
    with MXRecordIO(tmp_path / "a.rec", "w") as record:
        for data in RECORDS:
            record.write(data)
    return str(tmp_path / "a.rec")


@pytest.fixture
def paths(tmp_path):
    found = str(tmp_path / "i.idx"), str(tmp_path / "i.rec")
    with MXIndexedRecordIO(*found, "w") as record:
        for i, data in enumerate(RECORDS):
            record.write_idx(i, data)
    return found


def in_child(act):
    """What `act` returns in the child of a fork, as text."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = str(act())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        return pipe.read()


def test_reading_and_starting_over(path):
    record = MXRecordIO(path, "r")
    assert (record.is_open, record.writable, record.flag, record.uri) == (True, False, "r", path)
    assert record.pid == os.getpid()
    assert [record.read() for _ in range(7)] == [*RECORDS, None, None]
    record.reset()
    assert record.read() == RECORDS[0]
    record.close()
    record.close()
    assert not record.is_open
    with pytest.raises(MXNetError, match=r"MXRecordIO.read: .*a\.rec is closed; reset\(\) opens"):
        record.read()
    record.reset()
    assert record.read() == RECORDS[0]


def test_places(path):
    assert MXRecordIO(f"file://{path}", "r").read() == RECORDS[0]
    with pytest.raises(InvalidArgumentError, match=r"s3://bucket/a\.rec: only files can be opened"):
        MXRecordIO("s3://bucket/a.rec", "r")
    with pytest.raises(ArgumentTypeError, match="a path must be text or a path, got int"):
        MXRecordIO(5, "r")
    with pytest.raises(InvalidArgumentError, match="flag must be 'r' or 'w', got 'rw'"):
        MXRecordIO(path, "rw")
    with pytest.raises(MissingFileError, match=r"nowhere\.rec"):
        MXRecordIO(f"{path}nowhere.rec", "r")
    with pytest.raises(MissingFileError, match="nodir"):
        MXRecordIO(f"{path}-nodir/a.rec", "w")
    with pytest.raises(FileAccessError) as refused:
        MXRecordIO(os.path.dirname(path), "r").read()
    assert refused.value.errno == errno.EISDIR


def test_writing(tmp_path):
    path = tmp_path / "b.rec"
    record = MXRecordIO(path, "w")
    assert record.writable
    record.write(bytearray(b"one"))
    record.write(memoryview(b"two"))
    for wrong in ("text", 5, None):
        with pytest.raises(TypeError, match="a record must be bytes, got"):
            record.write(wrong)
    with pytest.raises(MXNetError, match=r"MXRecordIO.read: .* was opened for writing"):
        record.read()
    record.close()
    with pytest.raises(MXNetError, match="is closed"):
        record.write(b"three")
    with MXRecordIO(path, "r") as read:
        assert [read.read(), read.read(), read.read()] == [b"one", b"two", None]
        with pytest.raises(MXNetError, match=r"MXRecordIO.write: .* was opened for reading"):
            read.write(b"three")
    record.reset()  # empties the file
    record.write(b"four")
    record.close()
    assert path.stat().st_size == 12


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk():
    record = MXRecordIO("/dev/full", "w")
    record.write(b"fits into the buffer")
    with pytest.raises(FileAccessError) as full:
        record.write(bytes(100_000))
    assert (full.value.errno, full.value.filename) == (errno.ENOSPC, "/dev/full")
    with pytest.raises(FileFormatError, match="an earlier record could not"):
        record.write(b"x")
    with pytest.raises(FileFormatError, match="an earlier record could not"):
        record.close()
    record = MXRecordIO("/dev/full", "w")
    record.write(b"fits into the buffer")
    with pytest.raises(FileAccessError):
        record.close()
    assert not record.is_open


def test_damage_names_file_and_offset_each_time(path):
    with open(path, "r+b") as file:
        file.seek(16)
        file.write(b"\x00")
    record = MXRecordIO(path, "r")
    assert record.read() == RECORDS[0]
    for _ in range(3):
        with pytest.raises(FileFormatError, match=r"a\.rec: at byte 16: expected the magic"):
            record.read()
    os.truncate(path, 15)
    record.reset()
    with pytest.raises(FileFormatError, match=r"at byte 8: expected 8 bytes of a record, .* 7$"):
        record.read()


def test_pickles_start_with_the_first_record(path, paths):
    record = MXRecordIO(path, "r")
    record.read()
    copy = pickle.loads(pickle.dumps(record))
    assert (record.read(), copy.read()) == (RECORDS[1], RECORDS[0])
    record.close()
    assert not pickle.loads(pickle.dumps(record)).is_open
    keys = pickle.loads(pickle.dumps(MXIndexedRecordIO(*paths, "r")))
    assert (keys.keys, keys.read_idx(3)) == ([0, 1, 2, 3, 4], RECORDS[3])


def test_an_open_writer_is_not_pickled(path):
    record = MXRecordIO(path, "w")
    with pytest.raises(MXNetError, match="open for writing, and a second writer would empty it"):
        pickle.dumps(record)
    record.write(b"kept")
    record.close()
    copy = pickle.loads(pickle.dumps(record))
    assert not copy.is_open
    assert MXRecordIO(path, "r").read() == b"kept"


def test_a_child_reads_only_what_it_opened(path, paths):
    record = MXRecordIO(path, "r")
    record.read()
    assert "was opened by another process" in in_child(record.read)
    assert in_child(lambda: (record.reset(), record.read())[1]) == str(RECORDS[0])
    assert record.read() == RECORDS[1]
    keys = MXIndexedRecordIO(*paths, "r")
    keys.read_idx(1)
    assert in_child(lambda: keys.read_idx(4)) == str(RECORDS[4])
    assert keys.read() == RECORDS[2]


@pytest.mark.parametrize(
    "act",
    [
        lambda record: record.write(b"child"),
        lambda record: record.reset(),
        lambda record: record.close(),
        lambda record: record.__del__(),
    ],
    ids=["write", "reset", "close", "del"],
)
def test_a_child_leaves_the_parents_file_alone(tmp_path, act):
    paths = tmp_path / "c.idx", tmp_path / "c.rec"
    record = MXIndexedRecordIO(*paths, "w")
    record.write_idx(0, b"one")
    in_child(lambda: act(record))
    record.write_idx(1, b"two")
    record.close()
    assert paths[1].stat().st_size == 24
    with MXIndexedRecordIO(*paths, "r") as read:
        assert (read.idx, read.read(), read.read()) == ({0: 0, 1: 12}, b"one", b"two")


def test_keys(paths):
    record = MXIndexedRecordIO(*paths, "r")
    assert record.keys == [0, 1, 2, 3, 4]
    assert record.idx == {i: 16 * i for i in range(5)}
    assert record.key_type is int
    assert [record.read_idx(i) for i in (4, 0, 2)] == [RECORDS[i] for i in (4, 0, 2)]
    assert record.read() == RECORDS[3]
    assert record.tell() == record.idx[4]
    record.seek(1)
    assert (record.tell(), record.read()) == (16, RECORDS[1])
    with pytest.raises(KeyError, match="7"):
        record.seek(7)
    with pytest.raises(MXNetError, match=r"write_idx: .* was opened for reading"):
        record.write_idx(5, b"")
    names = MXIndexedRecordIO(*paths, "r", key_type=str)
    assert (names.keys, names.read_idx("3")) == (["0", "1", "2", "3", "4"], RECORDS[3])


def test_keys_that_are_there_twice_and_without(tmp_path):
    paths = tmp_path / "i.idx", tmp_path / "i.rec"
    record = MXIndexedRecordIO(*paths, "w", str)
    record.write_idx("a", b"first")
    record.write(b"without a key")
    assert record.tell() == 40
    record.write_idx("a", b"second")
    assert (record.keys, record.idx) == (["a", "a"], {"a": 40})
    with pytest.raises(MXNetError, match="was opened for writing"):
        record.seek("a")
    for wrong in ("a\tb", "a\nb", "", " a"):
        with pytest.raises(InvalidArgumentError, match="must be text without tabs"):
            record.write_idx(wrong, b"")
    record.close()
    assert paths[0].read_text() == "a\t0\na\t40\n"
    assert MXIndexedRecordIO(*paths, "r", str).read_idx("a") == b"second"
    record = MXIndexedRecordIO(*paths, "w")
    with pytest.raises(ValueError, match="key 'k': invalid literal for int"):
        record.write_idx("k", b"")
    assert record.tell() == 0
    record.write_idx("3", b"x")
    record.reset()
    assert (record.keys, record.tell()) == ([], 0)
    record.close()
    assert paths[0].read_text() == ""


def test_index_files(paths):
    idx = paths[0]

    def opened(text):
        with open(idx, "w") as file:
            file.write(text)
        return MXIndexedRecordIO(*paths, "r")

    assert opened("0\t0\n 3 \t 16 \t9\n\n").idx == {0: 0, 3: 16}
    for text, message in (
        ("0\t0\nx\n", r"i\.idx: in line 2: expected a key, a tab and the offset"),
        ("0\t-4\n", r"i\.idx: in line 1: expected"),
        ("k\t0\n", r"i\.idx: key 'k': invalid literal for int"),
    ):
        with pytest.raises(FileFormatError, match=message):
            opened(text)
    with pytest.raises(FileFormatError, match=r"i\.rec: at byte 3: expected the magic"):
        opened("0\t3\n").read_idx(0)
    with pytest.raises(FileFormatError, match=r"at byte 1000: expected a record, found a file of"):
        opened("0\t1000\n").read_idx(0)
    os.unlink(idx)
    with pytest.raises(MissingFileError, match=r"i\.idx"):
        MXIndexedRecordIO(*paths, "r")


def test_threads_share_a_reader(path):
    with MXRecordIO(path, "w") as record:
        for i in range(2000):
            record.write(b"%d" % i * 50)
    record, found = MXRecordIO(path, "r"), []

    def read():
        while (data := record.read()) is not None:
            found.append(data)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(b"%d" % i * 50 for i in range(2000))


def test_a_gone_file_can_still_be_read(path):
    record = MXRecordIO(path, "r")
    os.unlink(path)
    assert record.read() == RECORDS[0]
    with pytest.raises(MissingFileError):
        record.reset()
    assert not record.is_open


@pytest.mark.slow
def test_reading_leaves_memory_and_files_as_they_are(path):
    with MXRecordIO(path, "w") as record:
        for _ in range(50):
            record.write(bytes(100_000))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    record = MXRecordIO(path, "r")
    for epoch in range(200):
        record.reset()
        while record.read() is not None:
            pass
        if epoch == 10:
            before, files = resident(), len(os.listdir("/proc/self/fd"))
    assert resident() - before < 4 << 20
    assert len(os.listdir("/proc/self/fd")) == files


def test_reading_is_not_slow(path):
    """A guard against reading byte by byte, with much room: 20 MB take some milliseconds."""
    with MXRecordIO(path, "w") as record:
        for _ in range(20_000):
            record.write(bytes(1000))
    began = time.perf_counter()
    with mx.recordio.MXRecordIO(path, "r") as record:
        assert sum(1 for _ in iter(record.read, None)) == 20_000
    assert time.perf_counter() - began < 2

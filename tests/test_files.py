"""Files that cannot be read or written: one kind of error, whoever meets it."""

import errno
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ferromix as mx
from ferromix import files
from ferromix.error import FileAccessError, MissingFileError, MXNetError


def store():
    kv = mx.kv.create("local")
    kv.set_optimizer(mx.optimizer.SGD())
    return kv


READERS = {
    "nd.load": mx.nd.load,
    "sym.load": mx.sym.load,
    "load_checkpoint": lambda path: mx.model.load_checkpoint(path, 1),
    "load_params": lambda path: mx.model.load_params(path, 1),
    "MNISTIter": lambda path: mx.io.MNISTIter(image=path, label=path),
    "load_optimizer_states": lambda path: store().load_optimizer_states(path),
}
WRITERS = {
    "nd.save": lambda path: mx.nd.save(path, [mx.nd.ones((1,))]),
    "sym.save": lambda path: mx.sym.Variable("x").save(path),
    "write_idx": lambda path: mx.io.write_idx(path, np.zeros(1, np.uint8)),
    "save_optimizer_states": lambda path: store().save_optimizer_states(path),
}


@pytest.mark.parametrize("name", READERS)
def test_a_missing_file(name, tmp_path):
    with pytest.raises(MissingFileError, match="missing") as found:
        READERS[name](tmp_path / "missing")
    error = found.value
    assert isinstance(error, FileNotFoundError)
    assert isinstance(error, MXNetError)
    assert error.errno == errno.ENOENT
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (MissingFileError, str(error))


@pytest.mark.parametrize("name", ["nd.load", "sym.load", "MNISTIter", "load_optimizer_states"])
def test_a_folder_is_no_file(name, tmp_path):
    with pytest.raises(FileAccessError) as found:
        READERS[name](tmp_path)
    assert found.value.errno == errno.EISDIR


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_not_there(name, tmp_path):
    with pytest.raises(MissingFileError, match="x"):
        WRITERS[name](tmp_path / "missing" / "x")
    assert not list(tmp_path.iterdir())


# -- drafts --------------------------------------------------------------------------------------

WRITER = """
import os, sys
from ferromix import files
sync = os.fsync

def wait(number):
    print("half done", flush=True)
    sys.stdin.readline()
    sync(number)

os.fsync = wait
files.write(sys.argv[1], b"of the other one")
"""


@pytest.fixture
def other(tmp_path):
    """Another process that is in the middle of writing a file."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "net.states"], **pipes)
    assert child.stdout.readline() == "half done\n"
    yield child
    child.kill()
    child.communicate()


def drafts(folder):
    return sorted(path.name for path in folder.glob("*.tmp"))


def test_a_draft_of_a_writer_that_was_killed_is_removed_by_the_next_one(tmp_path, other):
    path = tmp_path / "net.states"
    files.write(path, b"first")
    assert len(drafts(tmp_path)) == 1  # The other one lives.
    other.kill()
    other.wait()
    assert len(drafts(tmp_path)) == 1
    files.write(tmp_path / "net", b"another file")
    assert len(drafts(tmp_path)) == 1
    files.write(path, b"second")
    assert drafts(tmp_path) == []
    assert path.read_bytes() == b"second"


def test_a_writer_that_lives_ends_its_work(tmp_path, other):
    path = tmp_path / "net.states"
    for text in (b"first", b"second"):
        files.write(path, text)
        assert path.read_bytes() == text
    other.communicate("go on\n", timeout=60)
    assert other.returncode == 0
    assert path.read_bytes() == b"of the other one"
    assert drafts(tmp_path) == []


def test_what_is_no_draft_of_this_machine_stays(tmp_path):
    machine = files._machine()
    others = [
        *(
            "x.tmp",
            "x.7-0.tmp",
            "x.01234567-7-0.tmp",
            f"x.{machine}7-0.tmp.old",
            f"x.{machine}7.tmp",
        ),
        *(f"xx.{machine}7-0.tmp", f"x.{machine}7-b.tmp", f".x.{machine}7-0.tmp"),
    ]
    for name in others:
        (tmp_path / name).touch()
    (tmp_path / f"x.{machine}8-0.tmp").mkdir()
    (tmp_path / f"x.{machine}9-0.tmp").symlink_to("x.tmp")
    before = set(os.listdir(tmp_path))
    (tmp_path / f"x.{machine}7-0.tmp").touch()
    files.write(tmp_path / "x", b"1")
    assert set(os.listdir(tmp_path)) == {*before, "x"}


def test_a_draft_that_is_taken_for_abandoned_before_it_is_locked(tmp_path, monkeypatch):
    lock, calls = files.fcntl.flock, []

    def late(file, how):
        calls.append(file.name)
        if len(calls) == 1:
            os.unlink(file.name)  # as another writer does
        lock(file, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    files.write(tmp_path / "x", b"1")
    assert len(set(calls)) == 2
    assert (tmp_path / "x").read_bytes() == b"1"
    assert drafts(tmp_path) == []


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(file, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    seen = []
    monkeypatch.setattr(files.fcntl, "flock", refuse)
    monkeypatch.setattr(files.os, "fsync", lambda number: seen.extend(drafts(tmp_path)))
    files.write(tmp_path / "x", b"1")
    # Its name has no word of the machine, so that no other writer removes it.
    assert [name.count("-") for name in seen[:1]] == [1]
    assert (tmp_path / "x").read_bytes() == b"1"
    assert drafts(tmp_path) == []


def test_a_write_that_fails_leaves_no_draft(tmp_path, monkeypatch):
    def full(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "x").write_bytes(b"old")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(FileAccessError, match="No space"):
        files.write(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old"
    assert drafts(tmp_path) == []


def test_threads_that_write_one_file_do_not_take_each_others_drafts(tmp_path):
    path = tmp_path / "x"
    texts = [bytes([65 + i]) * 50_000 for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            list(pool.map(lambda text: files.write(path, text), texts))
            assert path.read_bytes() in texts
    assert drafts(tmp_path) == []

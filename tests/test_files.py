"""Files that cannot be read or written: one kind of error, whoever meets it."""

import errno
import os
import pickle
import stat
import subprocess
import sys
import threading
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


def access_of(path):
    found = path.stat()
    return oct(found.st_mode), found.st_uid, found.st_gid


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


@pytest.mark.parametrize("name", WRITERS)
def test_no_name_at_all(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingFileError, match="''"):
        WRITERS[name]("")
    assert not list(tmp_path.iterdir())


# -- what is no regular file ---------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_is_written_into(name, tmp_path):
    WRITERS[name](tmp_path / "file")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to("pipe")
    with subprocess.Popen(["timeout", "20", "cat", pipe], stdout=subprocess.PIPE) as reader:
        WRITERS[name](tmp_path / "link")
        got = reader.stdout.read()
    assert got == (tmp_path / "file").read_bytes()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["file", "link", "pipe"]


@pytest.mark.parametrize("name", ["nd.save", "sym.save"])
def test_the_standard_output_is_written_into(name, tmp_path):
    WRITERS[name](tmp_path / "file")
    # As /dev/stdout is, which no failure of this test may harm.
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    code = {
        "nd.save": "mx.nd.save('stdout', [mx.nd.ones((1,))])",
        "sym.save": "mx.sym.Variable('x').save('stdout')",
    }
    command = [sys.executable, "-c", f"import ferromix as mx; {code[name]}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=True)
    assert done.stdout == (tmp_path / "file").read_bytes()
    assert (tmp_path / "stdout").is_symlink()


def test_a_device_is_written_into(tmp_path):
    leader, follower = os.openpty()
    try:
        files.write(os.ttyname(follower), b"some words\n")
        assert os.read(leader, 100).split() == [b"some", b"words"]
        assert stat.S_ISCHR(os.stat(os.ttyname(follower)).st_mode)
    finally:
        os.close(leader)
        os.close(follower)


def test_a_file_without_a_name_is_written_into(tmp_path):
    with open(tmp_path / "x", "w+b") as file:
        file.write(b"what was there")
        file.flush()
        os.unlink(file.name)
        files.write(f"/proc/self/fd/{file.fileno()}", b"new")
        file.seek(0)
        assert file.read() == b"new"
    assert os.listdir(tmp_path) == []


def test_a_pipe_that_nobody_reads_any_more(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["timeout", "20", "head", "-c1", pipe], stdout=subprocess.DEVNULL)
    with reader, pytest.raises(FileAccessError) as found:
        files.write(pipe, bytes(1 << 20))
    assert found.value.errno == errno.EPIPE
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["nd", "safetensors", "sym", "idx", "states"])
def test_a_pipe_is_read_to_its_end(name, tmp_path):
    net, array = mx.sym.Variable("x") + 1, mx.nd.arange(100_000)
    save, load = {
        "nd": (lambda path: mx.nd.save(path, {"a": array}), mx.nd.load),
        "safetensors": (
            lambda path: mx.nd.save_safetensors(path, {"a": array}),
            mx.nd.load_safetensors,
        ),
        "sym": (net.save, mx.sym.load),
        "idx": (lambda path: mx.io.write_idx(path, np.arange(9, dtype=np.uint8)), mx.io.read_idx),
        "states": (store().save_optimizer_states, store().load_optimizer_states),
    }[name]
    save(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    data = (tmp_path / "file").read_bytes()
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,), daemon=True)
    writer.start()
    found = load(tmp_path / "pipe")
    writer.join()
    if name in ("nd", "safetensors"):
        assert np.array_equal(found["a"].asnumpy(), array.asnumpy())
    elif name == "sym":
        assert found.tojson() == net.tojson()
    elif name == "idx":
        assert found.tolist() == list(range(9))


# -- names of files ------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["file://{}", "file://localhost{}"])
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_may_be_written_by_its_uri(name, uri, tmp_path):
    WRITERS[name](uri.format(tmp_path / "a%20b"))
    WRITERS[name](tmp_path / "plain")
    assert (tmp_path / "a%20b").read_bytes() == (tmp_path / "plain").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a%20b", "plain"]


def test_a_checkpoint_may_be_read_by_its_uri(tmp_path):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="f")
    args = {"f_weight": mx.nd.ones((2, 3)), "f_bias": mx.nd.zeros((2,))}
    prefix = f"file://{tmp_path}/net"
    mx.model.save_checkpoint(prefix, 3, net, args, {})
    assert sorted(os.listdir(tmp_path)) == ["net-0003.params", "net-symbol.json"]
    again, found, _ = mx.model.load_checkpoint(prefix, 3)
    assert again.tojson() == net.tojson()
    assert sorted(found) == sorted(args)
    assert mx.model.latest_epoch(prefix) == 3
    mx.nd.save_safetensors(f"{prefix}.safetensors", args)
    assert sorted(mx.nd.load_safetensors(f"{prefix}.safetensors")) == sorted(args)
    with pytest.raises(MissingFileError, match=r"file://.*missing"):
        mx.nd.load(f"{prefix}-missing")


def test_what_looks_like_a_uri_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert files.resolve("file:/a") == "file:/a"
    assert files.resolve("a/file:///b") == "a/file:///b"
    assert files.resolve("file://localhosts/a") == "localhosts/a"
    assert files.resolve(b"file:///\xff") == "/\udcff"
    files.write(b"\xff", b"1")
    assert os.listdir(b".") == [b"\xff"]
    with pytest.raises(TypeError):
        files.read(0)


LONG = [
    ("x" * 255, "x" * 190 + "~3d66e3d9"),
    ("x" + "é" * 127, "x" + "é" * 94 + "~cab3fbda"),
    ("x" * 200, "x" * 200),
    (os.fsdecode(b"\xbf" * 201), os.fsdecode(b"\xbf" * 190) + "~ba569d9f"),
]


@pytest.mark.parametrize(("name", "begin"), LONG)
@pytest.mark.parametrize("writer", WRITERS)
def test_names_may_be_as_long_as_the_system_takes_them(writer, name, begin, tmp_path):
    (tmp_path / f"{begin}.{files._machine()}1-0.tmp").touch()
    WRITERS[writer](tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert (tmp_path / name).stat().st_size


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("mode", [0o640, 0o600, 0o444, 0o666])
def test_a_file_keeps_its_mode_and_owner(name, mode, tmp_path):
    path = tmp_path / "x"
    path.touch()
    path.chmod(mode)
    if os.getuid() == 0:
        os.chown(path, 1234, 4321)
    before, number = access_of(path), path.stat().st_ino
    WRITERS[name](path)
    assert access_of(path) == before
    assert path.stat().st_ino != number


def test_a_draft_is_for_those_who_may_read_the_file(tmp_path, monkeypatch):
    seen = []
    take = files._keep_access

    def look(number, old):
        seen.append(os.fstat(number).st_mode & 0o777)
        take(number, old)

    monkeypatch.setattr(files, "_keep_access", look)
    files.write(tmp_path / "x", b"1")
    files.write(tmp_path / "x", b"2")
    assert seen == [0o600]


def test_an_owner_who_cannot_be_kept_is_no_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    path = tmp_path / "x"
    path.touch(mode=0o640)
    monkeypatch.setattr(files.os, "fchown", refuse)
    files.write(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


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


def write_idx(path, data):
    """As ``files.write``, but by the core."""
    mx.io.write_idx(path, np.frombuffer(data, np.uint8))


def drafts(folder):
    return sorted(path.name for path in folder.glob("*.tmp"))


@pytest.mark.parametrize("writer", ["files", "core"])
def test_a_draft_of_a_writer_that_was_killed_is_removed_by_the_next_one(writer, tmp_path, other):
    path = tmp_path / "net.states"
    write = files.write if writer == "files" else write_idx
    write(path, b"first")
    assert len(drafts(tmp_path)) == 1  # The other one lives.
    other.kill()
    other.wait()
    assert len(drafts(tmp_path)) == 1
    files.write(tmp_path / "net", b"another file")
    assert len(drafts(tmp_path)) == 1
    write(path, b"second")
    assert drafts(tmp_path) == []
    assert path.read_bytes().endswith(b"second")


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

"""``python -m ferromix.im2rec`` in processes, interrupted, resumed, and with damaged images."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ferromix as mx
from ferromix.im2rec import main, parser

pytestmark = pytest.mark.slow

PIL = pytest.importorskip("PIL.Image")
COUNT = 24


@pytest.fixture
def folder(tmp_path):
    """Images of noise, and a list of them."""
    (tmp_path / "root").mkdir()
    rng = np.random.default_rng(0)
    for number in range(COUNT):
        pixels = rng.integers(0, 256, (8, 9, 3), np.uint8)
        PIL.fromarray(pixels).save(tmp_path / "root" / f"{number:02}.png")
    assert run(tmp_path, "--list") == 0
    return tmp_path


def run(folder, *options):
    return main([str(folder / "x"), str(folder / "root"), *options])


def files(folder):
    return [(folder / f"x.{end}").read_bytes() for end in ("rec", "idx")]


def entries(folder):
    lines = (folder / "x.lst").read_text().splitlines()
    return [line.split("\t") for line in lines]


def damaged(folder, *places):
    for place in places:
        (folder / "root" / entries(folder)[place][-1]).write_bytes(b"\x89PNG no image")


def stop_at(monkeypatch, count):
    """Has the command interrupted at the record of that number."""
    output = mx.im2rec.output.Output
    write = output.write

    def until(self, entry, record):
        if self.done >= count:
            raise KeyboardInterrupt
        write(self, entry, record)

    monkeypatch.setattr(output, "write", until)


@pytest.mark.parametrize("processes", [1, 2])
def test_images_that_cannot_be_read_are_left_out_and_counted(folder, capsys, processes):
    damaged(folder, 0, 5, COUNT - 1)
    os.unlink(folder / "root" / entries(folder)[7][-1])
    with open(folder / "x.lst", "a") as lst:
        lst.write("one\t0.0\tnothing.png\n12\tonly\n\n")
    assert run(folder, "--encoding", ".png", "--num-thread", str(processes)) == 1
    told = capsys.readouterr().err
    bad = [entries(folder)[place][-1] for place in (0, 5, 7, COUNT - 1)]
    for path in bad:
        assert f"im2rec: {path} is left out: " in told
    assert f"line {COUNT + 1} is left out: " in told
    assert f"line {COUNT + 2} is left out: it has 2 parts, not number, label and path" in told
    assert f"6 left out, {COUNT - 4} packed" in told
    with mx.recordio.MXIndexedRecordIO(str(folder / "x.idx"), str(folder / "x.rec"), "r") as reader:
        good = [row for row in entries(folder)[:COUNT] if row[-1] not in bad]
        assert reader.keys == [int(row[0]) for row in good]
        for key, _, path in good:
            header, image = mx.recordio.unpack_img(reader.read_idx(int(key)), 1)
            assert (header.id, header.label) == (int(key), 0)
            pixels = np.asarray(PIL.open(folder / "root" / path))
            np.testing.assert_array_equal(image[..., ::-1], pixels)
    assert not (folder / "x.rec.unfinished").exists()


@pytest.mark.parametrize("bad", [(), (3,), (0, 9, 10, 11), (10,), (COUNT - 1,)])
@pytest.mark.parametrize("at", [0, 1, 10])
def test_an_interrupted_run_goes_on_to_the_same_bytes(folder, monkeypatch, capsys, bad, at):
    damaged(folder, *bad)
    status = run(folder)
    whole = files(folder)
    with monkeypatch.context() as patch:
        stop_at(patch, at)
        assert run(folder) == 130
    assert (folder / "x.rec.unfinished").exists()
    capsys.readouterr()
    assert run(folder) == status
    told = capsys.readouterr().err
    assert ("going on with" in told) == (at > 0 and set(range(at)) - set(bad) != set())
    assert f"{len(bad)} left out" in told or not bad
    assert files(folder) == whole


def cut(count):
    return lambda data: data[:-count]


@pytest.mark.parametrize(
    ("end", "damage"),
    [
        ("rec", cut(1)),
        ("rec", cut(300)),
        ("rec", lambda data: b""),
        ("rec", lambda data: data + b"\n#\xd7\xcehalf a record"),
        ("rec", lambda data: data[:-200] + bytes(200)),
        ("idx", cut(1)),
        ("idx", cut(4)),
        ("idx", lambda data: b""),
        ("idx", lambda data: data + b"no line\n"),
        ("idx", lambda data: data + b"5\t-3\n6\t99999999999999999999999\n"),
        ("rec.unfinished", cut(1)),
        ("rec.unfinished", lambda data: b"\xff\n"),
    ],
)
def test_what_is_damaged_at_the_end_is_made_again(folder, monkeypatch, end, damage):
    damaged(folder, 2, 8)
    run(folder)
    whole = files(folder)
    with monkeypatch.context() as patch:
        stop_at(patch, 15)
        assert run(folder) == 130
    path = folder / f"x.{end}"
    path.write_bytes(damage(path.read_bytes()))
    assert run(folder) == 1
    assert files(folder) == whole


def test_other_options_or_another_list_start_over(folder, monkeypatch, capsys):
    def interrupted():
        with monkeypatch.context() as patch:
            stop_at(patch, 12)
            assert run(folder) == 130
        capsys.readouterr()

    interrupted()
    assert run(folder, "--resize", "4") == 0
    assert "going on" not in capsys.readouterr().err
    interrupted()
    lines = (folder / "x.lst").read_text().splitlines(keepends=True)
    (folder / "x.lst").write_text("".join(reversed(lines)))
    assert run(folder) == 0
    assert "going on" not in capsys.readouterr().err
    with mx.recordio.MXIndexedRecordIO(str(folder / "x.idx"), str(folder / "x.rec"), "r") as reader:
        assert reader.keys == [int(row[0]) for row in entries(folder)]


def test_a_complete_file_is_made_anew(folder, capsys):
    assert run(folder) == 0
    (folder / "x.rec").write_bytes(b"something else")
    assert run(folder) == 0
    assert "going on" not in capsys.readouterr().err
    assert len(files(folder)[0]) > 100


def test_labels_are_one_number_unless_they_are_packed(folder):
    (folder / "x.lst").write_text("5\t1.5\t2.5\t00.png\n6\t3\t01.png\n")
    for options, labels in (((), [1.5, 3]), (("--pack-label",), [[1.5, 2.5], 3])):
        assert run(folder, *options) == 0
        with mx.recordio.MXIndexedRecordIO(
            str(folder / "x.idx"), str(folder / "x.rec"), "r"
        ) as reader:
            found = [mx.recordio.unpack(reader.read_idx(key))[0].label for key in (5, 6)]
        assert [np.asarray(label).tolist() for label in found] == labels


def test_what_makes_no_sense_is_refused(folder, capsys):
    nowhere = [str(folder / "x"), str(folder / "nowhere")]
    for arguments, message in (
        (nowhere, "there is no folder"),
        ([str(folder / "x")], "root"),
        ([str(folder / "x"), str(folder), "--chunks", "0"], "must be at least 1"),
        ([str(folder / "x"), str(folder), "--train-ratio", "2"], "must be 0 to 1"),
        ([str(folder / "x"), str(folder), "--resize", "-1"], "must be at least 0"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert message in capsys.readouterr().err
    assert main([str(folder / "y"), str(folder / "root")]) == 2
    assert "no list begins with" in capsys.readouterr().err
    assert main([str(folder / "no" / "x"), str(folder / "root"), "--list"]) == 2
    assert "MissingFileError" in capsys.readouterr().err


def test_a_list_with_odd_names_survives(tmp_path, capsys):
    root = tmp_path / "root"
    root.mkdir()
    for name in ("plain.png", "with space.png", "tab\there.png", os.fsdecode(b"\xff.png")):
        PIL.fromarray(np.zeros((2, 2, 3), np.uint8)).save(tmp_path / "one.png")
        (root / name).write_bytes((tmp_path / "one.png").read_bytes())
    assert run(tmp_path, "--list") == 1
    assert "'tab\\there.png' is left out" in capsys.readouterr().err
    assert run(tmp_path, "--num-thread", "2") == 0
    assert len(files(tmp_path)[1].splitlines()) == 3


def test_without_codecs_nothing_is_left_out_but_refused(folder, monkeypatch, capsys):
    monkeypatch.setattr(mx.im2rec.command, "find_spec", lambda name: None)
    assert run(folder) == 2
    assert "OpenCV or Pillow must be installed" in capsys.readouterr().err
    assert not (folder / "x.rec").exists()
    assert run(folder, "--pass-through") == 0


def test_a_killed_worker_ends_the_command_which_can_go_on(folder, monkeypatch, capsys):
    """The process that has the third image ends as one does that runs out of memory."""
    run(folder)
    whole = files(folder)
    with monkeypatch.context() as patch:
        patch.setattr(mx.im2rec.command, "Encoder", Deadly)
        assert run(folder, "--num-thread", "2") == 2
    told = capsys.readouterr().err
    assert "was ended by signal 9" in told
    assert f"while it had {entries(folder)[2][-1]}" in told
    assert len(files(folder)[1].splitlines()) <= 2
    assert run(folder, "--num-thread", "2") == 0
    assert files(folder) == whole


class Deadly(mx.im2rec.encode.Encoder):
    """Ends the process at the third image of the list."""

    def __init__(self, options):
        super().__init__(options)
        self.path = Path(f"{options.prefix}.lst").read_text().splitlines()[2].split("\t")[-1]

    def __call__(self, entry):
        if entry.path == self.path:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(entry)


def test_help_says_how_it_resumes():
    text = " ".join(parser().format_help().split())
    assert "what is behind it is cut off" in text
    assert "Exit status" in text


def children_of(pid):
    """Processes that an end of the process would leave behind."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


def all_end(descriptors):
    """Whether the processes end, of which these are descriptors."""
    for descriptor in descriptors:
        if not select.select([descriptor], [], [], 60)[0]:
            return False
        os.close(descriptor)
    return True


# Jobs in the background ignore Ctrl-C.
COMMAND = """
import signal, sys
from ferromix.im2rec import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_process_is_left_and_the_next_run_goes_on(folder, how):
    """The list names a pipe, at which a worker waits; so the command is caught at work."""
    os.mkfifo(folder / "root" / "pipe.png")
    lines = (folder / "x.lst").read_text().splitlines(keepends=True)
    text = [*lines[:6], "99\t0.0\tpipe.png\n", *lines[6:]]
    (folder / "x.lst").write_text("".join(text))
    command = [sys.executable, "-c", COMMAND, "x", "root", "--num-thread", "2"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) as process:
        opened = os.open(folder / "root" / "pipe.png", os.O_WRONLY)  # waits for the worker
        children = [os.pidfd_open(pid) for pid in children_of(process.pid)]
        assert len(children) >= 2
        process.send_signal(how)
        process.communicate(timeout=60)
    assert process.returncode == (130 if how == signal.SIGINT else -signal.SIGKILL)
    assert all_end(children), "a process was left"
    os.close(opened)
    os.unlink(folder / "root" / "pipe.png")
    assert run(folder) == 1
    assert len(files(folder)[1].splitlines()) == COUNT
    resumed = files(folder)
    (folder / "x.rec").unlink()
    assert run(folder) == 1
    assert files(folder) == resumed

"""A training killed in the middle of a save goes on from the last complete checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ferromix as mx

PROGRAM = Path(__file__).with_name("checkpointed.py")
EPOCHS = 6


def command(prefix, epochs=EPOCHS):
    return [sys.executable, "-W", "ignore", PROGRAM, prefix, str(epochs)]


def run(prefix, epochs=EPOCHS):
    done = subprocess.run(command(prefix, epochs), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def kill_while_saving(folder, ending):
    """Kills a training while a file of this ending is written, from the second epoch on."""
    child = subprocess.Popen(command(folder / "net", 1000))
    deadline = time.monotonic() + 60
    try:
        while time.monotonic() < deadline and child.poll() is None:
            drafts = [e.name for e in os.scandir(folder) if e.name.endswith(".tmp")]
            if not any(ending in name and "0001" not in name for name in drafts):
                continue
            child.send_signal(signal.SIGSTOP)
            if any((folder / name).exists() for name in drafts):
                child.kill()  # It is stopped with a draft that is not done.
                return drafts
            child.send_signal(signal.SIGCONT)
        raise AssertionError(f"no draft of {ending} was seen; exit status {child.poll()}")
    finally:
        child.kill()
        child.wait()


def checkpoint(prefix, epoch):
    """All that a training goes on from, as bytes by name."""
    _, args, auxs = mx.model.load_checkpoint(prefix, epoch)
    updater = mx.optimizer.get_updater(mx.optimizer.Nadam())
    updater.set_states(Path(f"{prefix}-{epoch:04d}.states").read_bytes())
    states = {i: [a.asnumpy().tobytes() for a in state] for i, state in updater.states.items()}
    arrays = {name: a.asnumpy().tobytes() for name, a in {**args, **auxs}.items()}
    return arrays | states | updater.optimizer.progress()


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("straight") / "net"
    run(prefix)
    return prefix


@pytest.mark.parametrize("ending", [".params.", ".states."])
def test_a_killed_training_ends_with_the_bits_of_one_that_was_not(tmp_path, straight, ending):
    drafts = kill_while_saving(tmp_path, ending)
    assert drafts
    prefix = tmp_path / "net"
    last = mx.model.latest_epoch(prefix)
    assert last is not None
    assert not (tmp_path / f"net-{last + 1:04d}.params").exists()
    checkpoint(prefix, last)
    if last >= EPOCHS:
        run(straight, last + 1)
    run(prefix, max(last + 1, EPOCHS))
    for epoch in (last, last + 1):
        assert checkpoint(prefix, epoch) == checkpoint(straight, epoch)
    # The one that went on wrote the same file, and removed what was left of it.
    assert not list(tmp_path.glob("*.tmp"))


def test_the_last_checkpoint_is_the_last_complete_one(tmp_path):
    assert mx.model.latest_epoch(tmp_path / "net") is None
    for name in ("net-0003.params", "net-0012.params", "other-0020.params", "net-10000.params.tmp"):
        (tmp_path / name).touch()
    (tmp_path / "net-0013.params.01234567-7-0.tmp").touch()
    (tmp_path / "net-0014.states").touch()
    assert mx.model.latest_epoch(tmp_path / "net") == 12
    with pytest.raises(FileNotFoundError, match="missing"):
        mx.model.latest_epoch(tmp_path / "missing" / "net")

"""Hosts made of network namespaces of this machine: each has a name and an address of its own."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from processes import PROLOGUE, Ended, communicate, mpiexec


class Hosts:
    """Namespaces on a bridge that is in one more; all traffic stays within them.

    Parameters
    ----------
    folder
        Where the host file and the agent are written.
    count
        How many.
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self.count = folder, count
        self._prefix = f"fx{os.getpid()}"
        self._switch = f"{self._prefix}sw"

    def name(self, number: int) -> str:
        """The namespace of a host."""
        return f"{self._prefix}h{number}"

    def make(self) -> None:
        """Makes them; raises CalledProcessError where the machine does not allow it."""
        _ip(f"netns add {self._switch}")
        _ip(f"-n {self._switch} link add bridge0 type bridge")
        _ip(f"-n {self._switch} link set bridge0 up")
        for number in range(1, self.count + 1):
            host = self.name(number)
            _ip(f"netns add {host}")
            _ip(f"-n {host} link set lo up")
            _ip(f"-n {host} link add eth0 type veth peer name p{number} netns {self._switch}")
            _ip(f"-n {self._switch} link set p{number} master bridge0 up")
            _ip(f"-n {host} addr add 10.77.0.{number}/24 dev eth0")
            _ip(f"-n {host} link set eth0 up")
        self._inside(1, "true")
        addresses = [f"10.77.0.{number}\n" for number in range(1, self.count + 1)]
        (self._folder / "hosts").write_text("".join(addresses))
        agent = self._folder / "agent"
        # In the place of ssh: an address, and the words of a command.
        agent.write_text(
            f"#!/bin/sh\nnumber=${{1##*.}}\nshift\nname={self._prefix}h$number\n"
            'exec ip netns exec $name unshare --uts sh -c "hostname $name; $*"\n'
        )
        agent.chmod(0o755)

    def remove(self) -> None:
        """Removes what there is of them, with the daemons of MPI that hear from nobody."""
        for name in [self._switch, *(self.name(n + 1) for n in range(self.count))]:
            with contextlib.suppress(subprocess.CalledProcessError):
                for process in _ip(f"netns pids {name}").split():
                    os.kill(int(process), signal.SIGKILL)
                _ip(f"netns del {name}")

    def unplug(self, number: int) -> str:
        """The command that takes a host off the network."""
        return f"ip -n {self._switch} link set p{number} down"

    def run(self, ranks: int, source: str, timeout: float = 120, **variables: str) -> Ended:
        """Runs Python source as :func:`processes.run` does, on all hosts in turns."""
        words, script = self.command(ranks, source, **variables)
        return communicate(words, script, ranks, timeout, {})

    def command(self, ranks: int, source: str, **variables: str) -> tuple[list[str], str]:
        """The command that runs Python source on all hosts in turns, and its file."""
        script = self._folder / "script.py"
        script.write_text(PROLOGUE + textwrap.dedent(source))
        words = [sys.executable, "-m", "ferromix.launch", "-n", str(ranks)]
        words += ["-H", str(self._folder / "hosts")]
        for name, value in {"FERROMIX_DIST_TIMEOUT": "30", **variables}.items():
            words += ["--env-worker", f"{name}:{value}"]
        words += ["--env", "PYTHONPATH"] if "PYTHONPATH" in os.environ else []
        words += [sys.executable, str(script)]
        # A parameter of Open MPI, as a cluster without ssh has it.
        agent = f"PRTE_MCA_plm_ssh_agent={self._folder / 'agent'}"
        launch = f"hostname {self.name(1)}; export {agent}; exec {shlex.join(words)}"
        before = ["ip", "netns", "exec", self.name(1), "unshare", "--uts"]
        return [*before, "sh", "-c", launch], str(script)

    def _inside(self, number: int, command: str) -> None:
        words = ["ip", "netns", "exec", self.name(number), "unshare", "--uts", command]
        subprocess.run(words, check=True, capture_output=True)


def _ip(words: str) -> str:
    done = subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)
    return done.stdout


@contextlib.contextmanager
def hosts(folder: Path, count: int) -> Iterator[Hosts | None]:
    """Hosts, or None where the machine does not allow any; mpiexec must be there."""
    assert mpiexec()
    made: Hosts | None = Hosts(folder, count)
    assert made is not None
    try:
        try:
            made.make()
            usable = made
        except (OSError, subprocess.CalledProcessError):
            usable = None
        yield usable
    finally:
        made.remove()

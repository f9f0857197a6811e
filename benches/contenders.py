"""The programs that benches/engine.py compares: how they are built, and run on one shape."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benches" / "peers" / "engine.c"
CLANGS = ("clang", *(f"clang-{version}" for version in range(22, 12, -1)))
PUSH, REPLAY = "Ferromix", "Ferromix, replay"


def cargo_example(package: str, example: str) -> Path:
    """Build an example of a crate for measuring; say where it is."""
    command = ["cargo", "build", "--release", "--quiet", "-p", package, "--example", example]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / example


def environment_line() -> str:
    """Where and how busy: what a reader needs to judge the figures by."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "?")
    busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return f"{len(os.sched_getaffinity(0))} cores, {model}; load average {busy}"


@dataclass(frozen=True)
class Result:
    """Rounds of a process, nanoseconds per operation: the best, the mean; its most memory, MiB."""

    ns: float
    mean: float
    peak_mib: float


@dataclass(frozen=True)
class Contender:
    """A program that runs a shape: `command` up to the shape."""

    name: str
    command: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    shapes: Path | None = None

    def run(self, shape: str, operations: int, grain: int = 0, rounds: int = 3) -> Result:
        """Measure a shape of so many operations, of so many turns of a loop each."""
        if self.shapes is None:
            sizes = {"--operations": operations, "--grain": grain, "--rounds": rounds}
            arguments = [shape, *(str(part) for pair in sizes.items() for part in pair)]
        else:
            arguments = [str(self.shapes / shape), str(operations), str(grain)]
        threads = {"OMP_NUM_THREADS": "2", "MXNET_CPU_WORKER_NTHREADS": "2"}
        done = subprocess.run(
            [*self.command, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **threads, **self.env},
        )
        if done.returncode:
            raise SystemExit(f"{self.name}, {shape}: {done.stderr.strip()}")
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        times = [line["ns_per_op"] for line in lines if "ns_per_op" in line]
        peak = next((line["peak_mib"] for line in lines if "peak_mib" in line), 0.0)
        return Result(min(times), sum(times) / len(times), peak)


def ferromix() -> list[Contender]:
    """Pushing, and launching a program of 10,000 operations."""
    program = str(cargo_example("ferromix-engine", "patterns"))
    return [Contender(PUSH, (program, "push")), Contender(REPLAY, (program, "replay"))]


def peers(folder: Path, shapes: list[str], mxnet: str | None) -> tuple[list[Contender], list[str]]:
    """Build in `folder` the peers that can be; say of the others why not."""
    patterns = cargo_example("ferromix-engine", "patterns")
    for shape in shapes:
        with (folder / shape).open("w") as file:
            subprocess.run([patterns, "dump", shape], stdout=file, check=True)
    found, missing = [], []
    for name, compilers in {"libgomp": ("gcc",), "libomp": CLANGS}.items():
        program = compile_peers(folder / name, compilers)
        if program:
            found.append(Contender(name, (program, "omp"), shapes=folder))
        else:
            tried = "gcc" if name == "libgomp" else "clang with OpenMP (clang and libomp-dev)"
            missing.append(f"{name} was not run: no {tried} here.")
    if mxnet and found:
        library = {"LIBMXNET": str(mxnet_library(mxnet))}
        program = (found[0].command[0], "mxnet")
        found.append(Contender("MXNet", program, library, shapes=folder))
    else:
        missing.append("MXNet was not run: give --mxnet an interpreter that has it.")
    return found, missing


def compile_peers(target: Path, compilers: tuple[str, ...]) -> str | None:
    """The peers' program by the first compiler that is there and has OpenMP."""
    for compiler in filter(shutil.which, compilers):
        command = [compiler, "-O2", "-fopenmp", str(PEERS), "-o", str(target), "-ldl"]
        if subprocess.run(command, capture_output=True).returncode == 0:
            return str(target)
    return None


def mxnet_library(interpreter: str) -> Path:
    """MXNet's library, without importing it."""
    code = "import importlib.util as u; print(u.find_spec('mxnet').submodule_search_locations[0])"
    place = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True)
    return Path(place.stdout.strip()) / "libmxnet.so"

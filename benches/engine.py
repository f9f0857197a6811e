"""Nanoseconds per operation of the dependency engine beside its peers, in turn and in one run.

usage: python benches/engine.py [--mxnet PYTHON] [--operations N] [--rounds N]

Runs five dependency patterns on Ferromix (rust/engine/examples/patterns.rs), on GCC's OpenMP tasks
(`task depend`), on LLVM's where libomp.so.5 is installed, and on MXNet 1.9.1 if PYTHON is an
interpreter whose environment has it. Prints Markdown: the best time of each, and ratios.
Needs cargo and gcc.
"""

from __future__ import annotations

import argparse
import ctypes.util
import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ("independent", "chain", "fan", "random", "wide")


def build(folder: Path) -> tuple[Path, Path]:
    """The programs of Ferromix and of the peers."""
    cargo = ["cargo", "build", "--release", "--quiet", "-p", "ferromix-engine"]
    subprocess.run([*cargo, "--example", "patterns"], cwd=ROOT, check=True)
    peers = folder / "engine"
    source = ROOT / "benches" / "peers" / "engine.c"
    subprocess.run(["gcc", "-O2", "-fopenmp", source, "-o", peers, "-ldl"], check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "patterns", peers


def contenders(ours: Path, peers: Path, mxnet: str | None) -> dict[str, tuple[list, dict]]:
    """For each engine the command without its pattern, and the environment."""
    found: dict[str, tuple[list, dict]] = {
        "Ferromix": ([ours], {}),
        "libgomp": ([peers, "gomp"], {}),
    }
    libomp = ctypes.util.find_library("omp")
    if libomp:
        found["libomp"] = ([peers, "gomp"], {"LD_PRELOAD": libomp})
    if mxnet:
        code = (
            "import importlib.util as u; print(u.find_spec('mxnet').submodule_search_locations[0])"
        )
        place = subprocess.run([mxnet, "-c", code], capture_output=True, text=True, check=True)
        library = Path(place.stdout.strip()) / "libmxnet.so"
        found["MXNet"] = ([peers, "mxnet"], {"LIBMXNET": str(library)})
    return found


def measure(command: list, env: dict, pattern: str, operations: int) -> float:
    """The best round of one process, in nanoseconds per operation."""
    threads = {"OMP_NUM_THREADS": "2", "MXNET_CPU_WORKER_NTHREADS": "2"}
    done = subprocess.run(
        [*command, pattern, str(operations)],
        capture_output=True,
        text=True,
        env={**os.environ, **threads, **env},
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return min(json.loads(line)["ns_per_op"] for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", help="interpreter of an environment with MXNet 1.9.1")
    parser.add_argument("--operations", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        engines = contenders(*build(Path(folder)), options.mxnet)
        peers = [name for name in engines if name != "Ferromix"]
        head = ["pattern", "Ferromix", *(c for p in peers for c in (p, f"{p} / Ferromix"))]
        print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for pattern in PATTERNS:
            best = dict.fromkeys(engines, float("inf"))
            for _ in range(options.rounds):
                for name, (command, env) in engines.items():
                    best[name] = min(best[name], measure(command, env, pattern, options.operations))
            cells = [pattern, f"{best['Ferromix']:.0f}"]
            for peer in peers:
                cells += [f"{best[peer]:.0f}", f"{best[peer] / best['Ferromix']:.1f}"]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

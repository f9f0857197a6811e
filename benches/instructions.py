"""Instructions of engine operations, of calls and of networks, by callgrind; prints Markdown.

usage: python benches/instructions.py [--workers N] [--shapes NAME,NAME] [--calls [FOLDER]]
                                      [--networks NAME:BATCH:train|infer ... [--mxnet PYTHON]]
                                      [--layers BATCH,CHANNELS,SIDE,FILTERS,KERNEL,STRIDE:PASS ...
                                       [--mxnet PYTHON] [--torch PYTHON]]

With ``--calls``, instructions of small operations from Python, allocation, deallocation and the
interpreter's loop included; those of the package in FOLDER, if that is given.

With ``--networks``, those of a step of each network of `zoo`, in millions, and lines that miss a
first-level cache of 32 KB and a second-level one of 1 MB, which nothing is fetched into ahead of
its use; the same of MXNet, by an interpreter that has it. Valgrind knows no AVX-512, so both
packages run their code for AVX2. With ``--layers``, the same of single convolutions, of which PASS
is ``forward``, ``data`` or ``weight``, also of torch.

Otherwise runs rust/engine/examples/patterns.rs under valgrind twice for each shape, once with twice
as many operations, and divides what the second run takes more: set-up drops out. Counts are of all
threads, so those of workers that look for work are in; valgrind runs one thread at a time, hence no
misses that cores cause each other. Caches are those of the processor it runs on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from contenders import cargo_example
from zoo import Layer

SHAPES = "independent,chain,fan,random,wide"
# More operations than the shapes have different ones, so that none is made up in between.
OPERATIONS = 1 << 18


# What is done once for each operation, with `a`, `b`, `c` of shape (16, 16); `v` is a variable.
CALLS = {
    "`a + b`": "a + b",
    "`a + 1`": "a + 1",
    "`a > b`": "a > b",
    "`nd.add(a, b, out=c)`": "nd.broadcast_add(a, b, out=c)",
    "`a[3]`": "a[3]",
    "`nd.exp(a)`": "nd.exp(a)",
    "`nd.sum(a, axis=1)`": "nd.sum(a, axis=1)",
    "`v + b`, recorded": "v + b",
    "`nd.adam_update`, a new rate each": "nd.adam_update(a, b, m, s, lr=1 / (k + 1), out=a)",
    "node of a graph, forward (1/200)": "graph.forward(is_train=False)",
}
# Callgrind writes down what was done so far before each call of getppid.
PROGRAM = """
import os
import ferromix as mx
nd = mx.nd
a, b, c, m, s, v = (nd.ones((16, 16)) for _ in range(6))
v.attach_grad()
y = x = mx.sym.Variable("x")
for i in range(200):
    y = mx.sym.tanh(y) if i % 2 else y + 1
graph = y.simple_bind(mx.cpu(), x=(4, 4))
"""
LOOP = """
def loop(steps):
    for k in range(steps):
        {call}
with mx.autograd.{scope}():
    loop(100)
    nd.waitall()
    os.getppid()
    loop({count})
    os.getppid()
"""


def counts(program: Path, mode: str, shape: str, operations: int, workers: int) -> dict[str, int]:
    """Events of one run of operations of the engine alone, by callgrind's names."""
    run = [str(program), mode, shape, "--rounds", "1", "--workers", str(workers)]
    (found,) = callgrind([*run, "--operations", str(operations)], "--cache-sim=yes")
    return found


def callgrind(run: list[str], *options: str, package: str = "") -> list[dict[str, int]]:
    """Events of each part of a run, by callgrind's names."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "profile")
        tool = ["valgrind", "--tool=callgrind", "--fair-sched=yes", *options]
        command = [*tool, f"--callgrind-out-file={out}", *run]
        env = {**os.environ, "PYTHONPATH": package, "FERROMIX_CPU_WORKER_NTHREADS": "1"}
        env |= {"FERROMIX_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, capture_output=True, env=env)
        # Parts have a number; the last one, or the only one, has none.
        parts = sorted(Path(folder).glob("profile.*"), key=lambda f: int(f.suffix[1:]))
        return [events(part) for part in [*parts, out]]


def events(profile: Path) -> dict[str, int]:
    """The totals that callgrind wrote down."""
    lines = dict(line.split(": ", 1) for line in profile.read_text().splitlines() if ": " in line)
    return dict(zip(lines["events"].split(), map(int, lines["totals"].split()), strict=False))


def calls(package: str) -> None:
    """Prints the table of calls."""
    program, steps = PROGRAM, []
    for name, call in CALLS.items():
        steps.append(100 if "graph" in name else 2000)
        scope = "record" if "recorded" in name else "pause"
        program += LOOP.format(call=call, scope=scope, count=steps[-1])
    run = [sys.executable, "-c", program]
    parts = callgrind(run, "--dump-before=getppid", package=package)
    print("| call | instructions |\n|---|---|")
    # Every other part is a warm-up.
    for name, count, part in zip(CALLS, steps, parts[1::2], strict=True):
        print(f"| {name} | {part['Ir'] / count / (200 if 'graph' in name else 1):,.0f} |")


STEP = """
import os, sys
sys.path.insert(0, {folder!r})
from builders import symbol_layer, symbol_step, torch_layer
from zoo import Layer
step = {step}
step()
os.getppid()
step()
os.getppid()
"""
CACHES = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,8,64", "--dump-before=getppid"]


def steps(first: str, rows: dict[str, dict[str, str]], pythons: dict[str, str | None]) -> None:
    """Prints the table of a step of each row, by the expressions that make it for packages."""
    print(f"| {first} | package | instructions | first-level misses | second-level misses |")
    print("|---|---|---|---|---|")
    for label, by_package in rows.items():
        for package, step in by_package.items():
            python = pythons.get(package)
            if not python:
                continue
            program = STEP.format(folder=str(Path(__file__).parent), step=step)
            # The second part is the second step.
            found = callgrind([python, "-c", program], *CACHES)[1]
            near = sum(found[event] for event in ("D1mr", "D1mw", "I1mr"))
            far = sum(found[event] for event in ("DLmr", "DLmw", "ILmr"))
            figures = " | ".join(f"{n / 1e6:,.1f}" for n in (found["Ir"], near, far))
            print(f"| {label} | {package} | {figures} |", flush=True)


def networks(rows: list[str], pythons: dict[str, str | None]) -> None:
    """Prints the table of networks."""
    found = {}
    for row in rows:
        name, batch, mode = row.split(":")
        what = f"{name!r}, {int(batch)}, {mode == 'train'}"
        of = {p: f"symbol_step({p!r}, {what})" for p in ("ferromix", "mxnet")}
        found[f"{name}, {batch}, {mode}"] = of
    steps("network, batch", found, pythons)


def layers(rows: list[str], pythons: dict[str, str | None]) -> None:
    """Prints the table of layers."""
    found = {}
    for row in rows:
        sizes, kind = row.split(":")
        batch, channels, side, filters, kernel, stride = map(int, sizes.split(","))
        layer = Layer((batch, channels, side, side), filters, kernel, stride, kernel // 2)
        what = f"{layer!r}, {'' if kind == 'forward' else kind!r}"
        of = {p: f"symbol_layer({p!r}, {what})" for p in ("ferromix", "mxnet")}
        found[f"{layer}, {batch}, {kind}"] = of | {"torch": f"torch_layer({what})"}
    steps("layer, batch, pass", found, pythons)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--calls", nargs="?", const="", metavar="FOLDER")
    parser.add_argument("--networks", nargs="+")
    parser.add_argument("--layers", nargs="+")
    parser.add_argument("--mxnet")
    parser.add_argument("--torch")
    options = parser.parse_args()
    pythons = {"ferromix": sys.executable, "mxnet": options.mxnet, "torch": options.torch}
    if options.networks:
        return networks(options.networks, pythons)
    if options.layers:
        return layers(options.layers, pythons)
    if options.calls is not None:
        return calls(options.calls)
    program = cargo_example("ferromix-engine", "patterns")
    print("| shape | push: instructions | L1 misses | L3 misses |", end="")
    print(" replay: instructions | L1 misses | L3 misses |\n|" + "---|" * 7)
    for shape in options.shapes.split(","):
        cells = [shape]
        for mode in ("push", "replay"):
            once, twice = (
                counts(program, mode, shape, k * OPERATIONS, options.workers) for k in (1, 2)
            )
            per = {name: (twice[name] - once[name]) / OPERATIONS for name in once}
            cells += [
                f"{per['Ir']:.0f}",
                f"{per['D1mr'] + per['D1mw']:.2f}",
                f"{per['DLmr'] + per['DLmw']:.3f}",
            ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

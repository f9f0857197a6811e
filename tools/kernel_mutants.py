"""Breaks the kernels in places drawn at random, and sees that the operators' tests notice.

usage: python tools/kernel_mutants.py [--count N] [--seed S]

A place is an operator, a comparison or a constant in ``rust/kernels/src``, which is exchanged for
another one. Each mutant is built without optimization in the copy of the sources that
``tools/guide.py`` uses, and ``tests/ops`` must fail, crash or hang. A mutant that survives is an
error, unless ``tools/kernel_mutants.toml`` says why it computes the same.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass

from guide import COPY, LIBRARY, ROOT, build, sources, write

FOLDER = "rust/kernels/src/"
EQUIVALENT = ROOT / "tools/kernel_mutants.toml"
EXCHANGES = {
    " + ": " - ",
    " - ": " + ",
    " * ": " + ",
    " / ": " * ",
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " == ": " != ",
    " != ": " == ",
    " && ": " || ",
    " || ": " && ",
    ".min(": ".max(",
    ".max(": ".min(",
    "true": "false",
    "false": "true",
    "1.0": "2.0",
    "0.5": "0.25",
}
SIGNS = "|".join(re.escape(token) for token in EXCHANGES if not token.isalpha())
TOKEN = re.compile(SIGNS + r"|\b(?:true|false)\b")
# What decides how fast something is, and texts.
LEFT_OUT = re.compile(r"//|assert|cost|#\[|const |impl|fn |where|dyn |unreachable|Error::|format")
TESTS = re.compile(r"#\[cfg\((?:all\()?test")


@dataclass(frozen=True)
class Mutant:
    """A token of a line, to be exchanged."""

    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        token = self.text[self.column :]
        found = TOKEN.match(token)
        old = found[0] if found else ""
        return f"{self.file[len(FOLDER) :]}:{self.line} {old.strip()} -> {EXCHANGES[old].strip()}"

    def apply(self, whole: dict[str, str]) -> dict[str, str]:
        """The sources with the token exchanged."""
        lines = whole[self.file].splitlines(keepends=True)
        line = lines[self.line - 1]
        exchanged = TOKEN.sub(lambda found: EXCHANGES[found[0]], line[self.column :], count=1)
        lines[self.line - 1] = line[: self.column] + exchanged
        return {**whole, self.file: "".join(lines)}


def candidates(whole: dict[str, str]) -> list[Mutant]:
    """All places that can be broken, in the kernels of all operators."""
    found = []
    for file, text in whole.items():
        if not file.startswith(FOLDER) or file.endswith("tests.rs"):
            continue
        for number, line in enumerate(TESTS.split(text)[0].splitlines(), 1):
            if not LEFT_OUT.search(line):
                tokens = TOKEN.finditer(line)
                found += [Mutant(file, number, token.start(), line) for token in tokens]
    return found


def caught_by(mutant: Mutant, whole: dict[str, str]) -> str:
    """What noticed the mutant; empty where nothing did."""
    write(mutant.apply(whole), keep=[LIBRARY])
    try:
        build()
    except subprocess.CalledProcessError:
        return "the compiler, or the import"
    command = [sys.executable, "-m", "pytest", "-qx", "-n", "auto", "-p", "no:cacheprovider"]
    python = {**os.environ, "PYTHONPATH": str(COPY / "python")}
    try:
        done = subprocess.run(
            [*command, "--tb=no", "tests/ops", "tests/executor"],
            cwd=COPY,
            env=python,
            capture_output=True,
            text=True,
            timeout=600,
        )
    except subprocess.TimeoutExpired:
        return "time"
    if done.returncode == 0:
        return ""
    where = [n for n in done.stdout.splitlines() if n.startswith(("FAILED", "ERROR"))]
    return where[0] if where else f"exit {done.returncode}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    whole = sources()
    places = candidates(whole)
    known = {row["line"]: row["why"] for row in tomllib.loads(EQUIVALENT.read_text())["same"]}
    alive = []
    print(f"{options.count} of {len(places)} places", flush=True)
    for mutant in random.Random(options.seed).sample(places, options.count):
        begin = time.monotonic()
        why = known.get(mutant.text.strip())
        by = f"the same: {why}" if why else caught_by(mutant, whole)
        print(f"{mutant}: {by or 'SURVIVED'} ({time.monotonic() - begin:.0f} s)", flush=True)
        if not by:
            alive.append(str(mutant))
    write(whole, keep=[LIBRARY])
    print(f"{options.count - len(alive)} of {options.count} were noticed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

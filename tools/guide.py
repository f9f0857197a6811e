"""Follows docs/adding-an-operator.md in a copy of the sources, to see that it works.

usage: python tools/guide.py [--mutants]

A block of code goes where the line above it says: ``New file `PATH`:``, ``At the end of `PATH`:``
or ``In `PATH`, after the line with `TEXT`:``. Of the ``sh`` blocks, ``make dev`` builds the core
without optimization, as ``make quick`` does, and ``make gen`` writes what is generated; then the
checks are run. The copy stays in ``target/guide``, so that a second run builds what has changed.
Needs cargo, and the interpreter of the development environment.

With ``--mutants``, what the guide made, and some cards that there are, are then broken in one place
after the other, as ``tools/guide_mutants.toml`` says, and the tests must notice.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/adding-an-operator.md"
TARGET = ROOT / "target/guide"
COPY = TARGET / "sources"
FILES = ("Cargo.toml", "Cargo.lock", "pyproject.toml", "rustfmt.toml")
FOLDERS = ("rust", "kernels", "python", "tests", "tools", "docs", "examples", "benches")
LIBRARY = "python/ferromix/_core.abi3.so"
LEFT = {"__pycache__", Path(LIBRARY).name}
BLOCK = re.compile(r"^([^\n]*)\n\n```(\w+)\n(.*?)^```$", re.M | re.S)
PLACES = {
    "new": re.compile(r"New file `([^`]+)`:"),
    "end": re.compile(r"At the end of `([^`]+)`:"),
    "after": re.compile(r"In `([^`]+)`, after the line with `([^`]+)`:"),
}
TOOLS = ".venv/bin/"
BUILDS = ("make dev", "make quick")
COMMANDS = (*BUILDS, "make gen", "cargo fmt --all --check")
MUTANTS = ROOT / "tools/guide_mutants.toml"


class GuideError(Exception):
    """The guide cannot be followed."""


@dataclass(frozen=True)
class Edit:
    """A block of code with its place."""

    kind: str
    path: str
    anchor: str
    text: str

    def apply(self, sources: dict[str, str]) -> None:
        """Puts the text in its place.

        Raises
        ------
        GuideError
            If there is no such place, or more than one.
        """
        new = self.kind == "new"
        if (self.path in sources) == new:
            raise GuideError(f"{self.path} is {'there already' if new else 'absent'}")
        if new:
            sources[self.path] = self.text
        elif self.kind == "end":
            sources[self.path] += "\n\n" * self.path.endswith(".py") + self.text
        else:
            lines = sources[self.path].splitlines(keepends=True)
            found = [i for i, line in enumerate(lines) if self.anchor in line]
            if len(found) != 1:
                raise GuideError(f"{self.path} has {len(found)} lines with '{self.anchor}', not 1")
            lines.insert(found[0] + 1, self.text)
            sources[self.path] = "".join(lines)


def read(guide: str) -> tuple[list[Edit], list[str]]:
    """The edits and the commands of a guide; each command once, in the order of their first use.

    Raises
    ------
    GuideError
        For a block without a place, or a command that is not known.
    """
    edits, commands = [], []
    for where, language, text in BLOCK.findall(guide):
        if language == "sh":
            commands += text.splitlines()
            continue
        for kind, pattern in PLACES.items():
            if match := pattern.fullmatch(where):
                path, anchor = (*match.groups(), "")[:2]
                edits.append(Edit(kind, path, anchor, text))
                break
        else:
            raise GuideError(f"no place for the block below '{where}'")
    for command in commands:
        if command not in COMMANDS and not command.startswith(TOOLS):
            raise GuideError(f"unknown command '{command}'")
    return edits, list(dict.fromkeys(commands))


def sources() -> dict[str, str]:
    """The text files of the repository by path, without what is built."""
    found: dict[str, str] = {}
    for part in (*FILES, *(f"{folder}/**/*" for folder in FOLDERS)):
        for path in sorted(ROOT.glob(part)):
            name = path.relative_to(ROOT)
            if path.is_file() and not LEFT & set(name.parts):
                found[str(name)] = path.read_bytes().decode(errors="surrogateescape")
    return found


def write(wanted: dict[str, str], keep: Sequence[str] = ()) -> None:
    """Makes the copy what is wanted; what has not changed keeps its time, by which cargo goes."""
    there = {str(p.relative_to(COPY)): p for p in COPY.rglob("*") if p.is_file()}
    for name in set(there) - {*wanted, *keep}:
        there[name].unlink()
    for name, text in wanted.items():
        path, data = COPY / name, text.encode(errors="surrogateescape")
        if name not in there or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def run(*command: str, **environment: str) -> None:
    """Runs a command in the copy."""
    print("+", shlex.join(command), flush=True)
    python = {"PYTHONPATH": str(COPY / "python")}
    subprocess.run(command, cwd=COPY, env={**os.environ, **python, **environment}, check=True)


def build() -> None:
    """Builds the core and puts it into the copy's package."""
    quick = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_TARGET_DIR": str(TARGET)}
    run("cargo", "build", "--quiet", "--locked", "-p", "ferromix-py", **quick)
    library = next((TARGET / "debug").glob("*_core.[ds]*[obl]"))
    (COPY / LIBRARY).write_bytes(library.read_bytes())
    where = "import ferromix as mx; assert mx.__file__.startswith({!r}), mx.__file__"
    run(sys.executable, "-c", where.format(str(COPY)))


@dataclass(frozen=True)
class Mutant:
    """One way to break a card or a kernel: the text to replace in a file, and the tests, by a word
    of their names, that must fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: str

    def apply(self, sources: dict[str, str]) -> None:
        """Breaks the sources.

        Raises
        ------
        GuideError
            If the text is not there exactly once: the code has moved on.
        """
        count = sources.get(self.file, "").count(self.old)
        if count != 1:
            raise GuideError(f"mutant '{self.name}': its text is {count} times in {self.file}")
        sources[self.file] = sources[self.file].replace(self.old, self.new)


def mutants() -> list[Mutant]:
    """All mutants of the table."""
    return [Mutant(**row) for row in tomllib.loads(MUTANTS.read_text())["mutant"]]


def survivors(whole: dict[str, str]) -> list[str]:
    """The names of the mutants of the sources that no test notices."""
    found = []
    for mutant in mutants():
        broken, begin = dict(whole), time.monotonic()
        mutant.apply(broken)
        write(broken, keep=[LIBRARY])
        if mutant.file.endswith(".rs"):
            build()
        command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider"]
        command += ["--tb=no", "tests/ops", "-k", mutant.tests]
        python = {**os.environ, "PYTHONPATH": str(COPY / "python")}
        done = subprocess.run(command, cwd=COPY, env=python, capture_output=True, text=True)
        caught = done.returncode == 1 and "FAILED" in done.stdout
        where = next((n for n in done.stdout.splitlines() if n.startswith("FAILED")), "")
        print(
            f"{mutant.name}: {where if caught else 'SURVIVED'} ({time.monotonic() - begin:.0f} s)"
        )
        if not caught:
            print(done.stdout[-2000:])
            found.append(mutant.name)
    write(whole, keep=[LIBRARY])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutants", action="store_true", help="break what the guide made, too")
    breaks = parser.parse_args().mutants
    try:
        edits, commands = read(GUIDE.read_text())
        wanted = sources()
        for edit in edits:
            edit.apply(wanted)
        write(wanted)
        for command in commands:
            if command in BUILDS:
                build()
            elif command == "make gen":
                run(sys.executable, "tools/gen.py")
            else:
                run(*shlex.split(command.replace(TOOLS, f"{Path(sys.executable).parent}/")))
        if breaks and (alive := survivors(wanted)):
            print(f"no test notices: {', '.join(alive)}", file=sys.stderr)
            return 1
    except (GuideError, subprocess.CalledProcessError) as e:
        print(f"docs/adding-an-operator.md cannot be followed: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Follows docs/adding-an-operator.md in a copy of the sources, to see that it works.

usage: python tools/guide.py

A block of code goes where the line above it says: ``New file `PATH`:``, ``At the end of `PATH`:``
or ``In `PATH`, after the line with `TEXT`:``. Of the ``sh`` blocks, ``make dev`` builds the core
without optimization and ``make gen`` writes what is generated; then the checks are run. The copy
stays in ``target/guide``, so that a second run builds what has changed. Needs cargo, and the
interpreter of the development environment.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/adding-an-operator.md"
TARGET = ROOT / "target/guide"
COPY = TARGET / "sources"
FILES = ("Cargo.toml", "Cargo.lock", "pyproject.toml", "rustfmt.toml")
FOLDERS = ("rust", "kernels", "python", "tests", "tools", "docs", "examples", "benches")
LEFT = {"__pycache__", "_core.abi3.so"}
BLOCK = re.compile(r"^([^\n]*)\n\n```(\w+)\n(.*?)^```$", re.M | re.S)
PLACES = {
    "new": re.compile(r"New file `([^`]+)`:"),
    "end": re.compile(r"At the end of `([^`]+)`:"),
    "after": re.compile(r"In `([^`]+)`, after the line with `([^`]+)`:"),
}
TOOLS = ".venv/bin/"
COMMANDS = ("make dev", "make gen", "cargo fmt --all --check")


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


def write(wanted: dict[str, str]) -> None:
    """Makes the copy what is wanted; what has not changed keeps its time, by which cargo goes."""
    there = {str(p.relative_to(COPY)): p for p in COPY.rglob("*") if p.is_file()}
    for name in set(there) - set(wanted):
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
    (COPY / "python/ferromix/_core.abi3.so").write_bytes(library.read_bytes())
    where = "import ferromix as mx; assert mx.__file__.startswith({!r}), mx.__file__"
    run(sys.executable, "-c", where.format(str(COPY)))


def main() -> int:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    try:
        edits, commands = read(GUIDE.read_text())
        wanted = sources()
        for edit in edits:
            edit.apply(wanted)
        write(wanted)
        for command in commands:
            if command == "make dev":
                build()
            elif command == "make gen":
                run(sys.executable, "tools/gen.py")
            else:
                run(*shlex.split(command.replace(TOOLS, f"{Path(sys.executable).parent}/")))
    except (GuideError, subprocess.CalledProcessError) as e:
        print(f"docs/adding-an-operator.md cannot be followed: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

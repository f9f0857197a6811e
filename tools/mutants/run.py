"""Check the checks: break the code on purpose, one place at a time, and see that a test fails.

Each table ``tools/mutants/*.toml`` lists mutants: a file, the exact text to replace, the new text,
and the check that must catch it. The crates are copied to ``build/mutants`` and broken there. A
mutant that survives, or whose text is not found (the code has moved on), is an error.

``python tools/mutants/run.py [--all] [NAME...]`` runs the quick ones, all, or those named.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build" / "mutants"
CRATES = ("base", "engine", "storage")

# As in the Makefile: what the crates assert is part of the check.
ASSERT = [
    f"--config=profile.release.package.ferromix-{crate}.debug-assertions=true"
    for crate in ("engine", "storage")
]
# How each kind of check is run; a mutant names the test.
CHECKS = {
    "loom": ("loom", ["--release", *ASSERT]),
    "shuttle": ("shuttle", ["--release", *ASSERT]),
    "test": (None, []),
}


@dataclass(frozen=True)
class Mutant:
    """One way to break the code."""

    name: str
    breaks: str
    crate: str
    file: str
    old: str
    new: str
    check: str
    test: str
    # Where the test is: the library, or a file of tests.
    target: str = "lib"
    seconds: int = 600
    slow: bool = False
    # Running into the time limit is how this one shows.
    hangs: bool = False

    @property
    def path(self) -> Path:
        return COPY / "rust" / self.crate / self.file


def load() -> list[Mutant]:
    mutants = []
    for table in sorted(Path(__file__).parent.glob("*.toml")):
        content = tomllib.loads(table.read_text())
        mutants += [Mutant(crate=table.stem, **entry) for entry in content["mutant"]]
    return mutants


def copy() -> None:
    """Bring the copy up to date; files that did not change keep their times, for cargo's sake."""
    for crate in CRATES:
        target = COPY / "rust" / crate
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(ROOT / "rust" / crate, target)
    shutil.copy2(ROOT / "Cargo.lock", COPY)
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    text = (ROOT / "Cargo.toml").read_text()
    for member in manifest["workspace"]["members"]:
        if member.removeprefix("rust/") not in CRATES:
            text = text.replace(f'    "{member}",\n', "")
    # Another version, lest cargo take what is built of the copy for the real thing.
    version = manifest["workspace"]["package"]["version"]
    (COPY / "Cargo.toml").write_text(text.replace(f'"{version}"', f'"{version}-mutant"'))


def command(mutant: Mutant, *, build_only: bool) -> tuple[list[str], dict[str, str]]:
    model, flags = CHECKS[mutant.check]
    target = ["--lib"] if mutant.target == "lib" else ["--test", mutant.target]
    folder = ROOT / "target" / model if model else ROOT / "target"
    words = ["cargo", "test", "--quiet", "-p", f"ferromix-{mutant.crate}", *target, *flags]
    words += ["--target-dir", str(folder), "--no-run"] if build_only else []
    words += [] if build_only else ["--target-dir", str(folder), mutant.test]
    environment = {key: value for key, value in os.environ.items() if key != "RUSTFLAGS"}
    if model:
        environment["RUSTFLAGS"] = f"--cfg {model}"
    return words, environment


def run(mutant: Mutant, *, build_only: bool = False) -> tuple[str, str]:
    """Run the mutant's check: ``passed``, ``failed`` or ``hung``, and what it printed."""
    words, environment = command(mutant, build_only=build_only)
    with subprocess.Popen(
        words,
        cwd=COPY,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=600 if build_only else mutant.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return "hung", process.communicate()[0]
    return ("passed" if process.returncode == 0 else "failed"), output


def judge(mutant: Mutant) -> str | None:
    """Break the code, run the check; what is wrong with the outcome, if anything."""
    original = mutant.path.read_text()
    if original.count(mutant.old) != 1:
        return f"its text occurs {original.count(mutant.old)} times in {mutant.file}"
    mutant.path.write_text(original.replace(mutant.old, mutant.new))
    try:
        built, output = run(mutant, build_only=True)
        if built != "passed":
            return f"it does not compile:\n{output[-2000:]}"
        outcome, output = run(mutant)
    finally:
        mutant.path.write_text(original)
    if outcome == "passed":
        nothing = "0 passed" in output and "running 0 tests" in output
        return f"there is no test {mutant.test}" if nothing else "IT SURVIVED"
    if outcome == "hung" and not mutant.hangs:
        return f"the check took more than {mutant.seconds} s"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the slow ones, too")
    parser.add_argument("names", nargs="*", help="only these")
    options = parser.parse_args()
    mutants = load()
    unknown = set(options.names) - {mutant.name for mutant in mutants}
    if unknown:
        parser.error(f"there is no mutant {', '.join(sorted(unknown))}")
    COPY.mkdir(parents=True, exist_ok=True)
    copy()
    bad = 0
    print(f"{'mutant':34} {'caught by':58} seconds", flush=True)
    for mutant in mutants:
        chosen = mutant.name in options.names if options.names else options.all or not mutant.slow
        if not chosen:
            continue
        begin = time.monotonic()
        wrong = judge(mutant)
        bad += wrong is not None
        by = f"{mutant.check}: {mutant.test}" if wrong is None else f"NOT CAUGHT: {wrong}"
        print(f"{mutant.name:34} {by:58} {time.monotonic() - begin:7.1f}", flush=True)
    print(f"{bad} not caught" if bad else "all caught")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

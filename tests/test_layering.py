"""Dependencies point one way; each test names the edge that does not."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "ferromix"

# Each layer may use the layers above it in this list, and the members of a layer marked "apart"
# may not use each other.
LAYERS: list[tuple[str, ...]] = [
    (
        *("error", "base", "context", "attribute", "name", "registry", "files"),
        *("literal", "numeric"),
    ),
    ("ops",),
    ("graph",),
    ("dispatch",),
    ("ndarray", "symbol"),
    ("autograd", "random", "storage", "engine", "profiler", "executor"),
    ("lr_scheduler", "initializer", "metric", "optimizer", "kvstore", "io"),
    ("model", "callback"),
]
APART = {"ndarray", "symbol"}
USES_CORE = {
    "autograd",
    "dispatch",
    "ndarray",
    "random",
    "storage",
    "engine",
    "profiler",
    "executor",
    "io",
}

CRATES = {
    "ferromix-base": set(),
    "ferromix-engine": set(),
    "ferromix-storage": {"ferromix-base"},
    "ferromix-kernels": {"ferromix-base"},
    "ferromix-io": {"ferromix-base"},
    "ferromix-runtime": {
        "ferromix-base",
        "ferromix-engine",
        "ferromix-storage",
        "ferromix-kernels",
    },
    "ferromix-py": {
        "ferromix-base",
        "ferromix-engine",
        "ferromix-storage",
        "ferromix-kernels",
        "ferromix-io",
        "ferromix-runtime",
    },
}


def unit_of(path: Path) -> str:
    """The package or module of the top level that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """Top-level units of the package, and foreign packages, that a file imports."""
    found: set[str] = set()
    package = ("ferromix", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [(a.name.split("."), []) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            names = [(module, [a.name]) for a in node.names]
        else:
            continue
        for module, members in names:
            full = module + members
            found.add(full[1] if full[0] == "ferromix" and len(full) > 1 else full[0])
    return found


FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")
RANK = {unit: rank for rank, layer in enumerate(LAYERS) for unit in layer}


def test_every_unit_has_a_layer():
    assert {unit_of(p) for p in FILES} == set(RANK)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_python_imports_point_one_way(path):
    unit = unit_of(path)
    for used in imports_of(path) - {unit}:
        if used == "_core":
            assert unit in USES_CORE, f"{unit} must not import the Rust core"
        elif used in RANK:
            assert RANK[used] <= RANK[unit], f"{unit} -> {used} points up"
            assert not {unit, used} <= APART, f"{unit} -> {used}: these two stand apart"
        else:
            assert used not in {"ferromix", "cupy"}, f"{unit} must not import {used}"


def metadata() -> list[dict]:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["packages"]


def test_crates_depend_one_way():
    packages = metadata()
    assert {p["name"] for p in packages} == set(CRATES)
    for package in packages:
        for dependency in package["dependencies"]:
            name = dependency["name"]
            if name in CRATES and dependency["kind"] is None:
                assert name in CRATES[package["name"]], f"{package['name']} -> {name}"
            if name == "pyo3":
                assert package["name"] == "ferromix-py", f"{package['name']} names pyo3"

"""GPUs for the tests: the machine's, or those that a C++ compiler's stand-in has."""

from __future__ import annotations

import os
import shutil

import pytest

from .device import HOST

if HOST:
    os.environ["FERROMIX_GPU_DRIVER"] = "host"
os.environ.setdefault("FERROMIX_GPU_FALLBACK_LOG", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a GPU and without a compiler there is nothing to test with."""
    if not HOST or shutil.which("g++") or shutil.which("clang++"):
        return
    skip = pytest.mark.skip(reason="no GPU, and neither g++ nor clang++ to stand in for one")
    for item in items:
        if "/tests/gpu/" in str(item.path):
            item.add_marker(skip)

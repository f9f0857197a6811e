"""Limits for the whole suite."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Iterator

import pytest
from gpu.device import HOST

DEVICE = os.environ.get("FERROMIX_TEST_DEVICE", "")
"""Where the tests run, such as ``gpu(0)``; on the CPU where it is empty."""
if DEVICE.startswith("gpu"):
    # Without CUDA's driver something stands in for a GPU; what has no kernel there says so.
    if HOST:
        os.environ.setdefault("FERROMIX_GPU_DRIVER", "host")
    os.environ.setdefault("FERROMIX_GPU_FALLBACK_LOG", "0")

# A test that runs away in memory fails, rather than starve the machine. CUDA's driver takes far
# more addresses than it has memory.
_LIMIT = 12 << 30
if HOST:
    resource.setrlimit(resource.RLIMIT_AS, (_LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))


def pytest_collection_finish() -> None:
    """Tens of thousands of collected tests live as long as the run: no collection of garbage need
    look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _device() -> Iterator[None]:
    """Runs each test on the device that FERROMIX_TEST_DEVICE names, such as ``gpu(0)``."""
    if not DEVICE:
        yield
        return
    import ferromix as mx

    with mx.context.as_context(DEVICE):
        yield

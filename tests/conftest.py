"""Limits for the whole suite."""

from __future__ import annotations

import gc
import os
import resource
from collections.abc import Iterator

import pytest

# A test that runs away in memory fails, rather than starve the machine.
_LIMIT = 12 << 30
resource.setrlimit(resource.RLIMIT_AS, (_LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))


def pytest_collection_finish() -> None:
    """Tens of thousands of collected tests live as long as the run: no collection of garbage need
    look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _device() -> Iterator[None]:
    """Runs each test on the device that FERROMIX_TEST_DEVICE names, such as ``gpu(0)``."""
    name = os.environ.get("FERROMIX_TEST_DEVICE")
    if not name:
        yield
        return
    import ferromix as mx

    with mx.context.as_context(name):
        yield

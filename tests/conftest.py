"""Limits for the whole suite."""

from __future__ import annotations

import gc
import resource

# A test that runs away in memory fails, rather than starve the machine.
_LIMIT = 12 << 30
resource.setrlimit(resource.RLIMIT_AS, (_LIMIT, resource.getrlimit(resource.RLIMIT_AS)[1]))


def pytest_collection_finish() -> None:
    """Tens of thousands of collected tests live as long as the run: no collection of garbage need
    look at them again."""
    gc.collect()
    gc.freeze()

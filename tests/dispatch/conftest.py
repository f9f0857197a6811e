"""What the tests of the CUDA sources share."""

from __future__ import annotations

import pytest
from launches import Sources


@pytest.fixture(scope="session")
def sources() -> Sources:
    return Sources()

"""Modules come to what those of MXNet 1.9.1 do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scenarios import SCENARIOS

import ferromix as mx

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "module"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_values_are_those_of_mxnet(scenario):
    found = scenario(mx)
    with np.load(GOLDEN / f"{scenario.__name__}.npz") as expected:
        assert set(found) == set(expected)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=2e-4, atol=2e-5)

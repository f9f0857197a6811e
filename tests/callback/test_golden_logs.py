"""What trainings log is what MXNet 1.9.1 logs, from a file that tools/golden/make_logs.py wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from log_scenarios import SCENARIOS, logged

import ferromix as mx

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "logs.json").read_text())
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_lines_are_those_of_mxnet(scenario, tmp_path):
    expected = GOLDEN[scenario.__name__]
    lines = logged(scenario, mx, tmp_path)
    assert len(lines) == len(expected["lines"])
    for found, wanted in zip(lines, expected["lines"], strict=True):
        assert found[:2] == wanted[:2]
        # Monitors pad names, not numbers, so the text around a number is the same.
        assert NUMBER.sub("#", found[2]) == NUMBER.sub("#", wanted[2])
        numbers = [[float(n) for n in NUMBER.findall(line[2])] for line in (found, wanted)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-5, abs=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == expected["files"]

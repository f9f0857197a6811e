"""A short run of the load on operators of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "tools" / "stress" / "custom_operators.py"


@pytest.mark.timeout(120)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_load_on_all_kinds_of_operators():
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--runs", "2000", "--forks", "0.3"],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "MXNET_ENGINE_TYPE": "ThreadedEnginePerDevice"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "8 threads" in done.stdout

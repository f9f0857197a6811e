"""What docs/gpu.md shows, runs and prints what it says, with a GPU and without."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .device import HOST

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
SAID = [
    line
    for block in BLOCKS
    for line in re.findall(r"^(?:print\(.*\)  )?# (.*)", block, re.MULTILINE)
]


@pytest.mark.parametrize("gpus", [0, 2] if HOST else [1])
def test_the_page_runs(gpus, tmp_path):
    assert len(BLOCKS) == 4
    assert len(SAID) == 5
    program = "\n".join([*BLOCKS, f"assert mx.num_gpus() {'>=' if gpus else '=='} {gpus}"])
    driver = {"FERROMIX_GPU_DRIVER": "host" if HOST and gpus else "cuda"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env={**os.environ, **driver},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == SAID

"""LeNet on MNIST through the real path, when the data are there.

The folder that FERROMIX_DATA names must have ``mnist/`` with the ``t10k`` files; the first 8,000
images are for training and the last 2,000 are held out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "train_digits.py"
DATA = os.environ.get("FERROMIX_DATA")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA or not (Path(DATA) / "mnist").is_dir(),
        reason="FERROMIX_DATA names no folder with mnist/",
    ),
]


def train(output, *options, **env):
    subprocess.run(
        [sys.executable, EXAMPLE, "--data", Path(DATA or "") / "mnist", "--output", output]
        + [str(option) for option in options],
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        timeout=1800,
    )


def test_lenet_reads_98_percent_within_6_epochs(tmp_path):
    train(tmp_path, "--epochs", 6, "--batch-size", 64)
    history = json.loads((tmp_path / "digits-history.json").read_text())
    assert history[-1]["epoch"] == 6
    assert history[-1]["val_accuracy"] >= 0.98


def test_parameters_are_the_same_for_any_threads_and_engine(tmp_path):
    settings = [
        {"FERROMIX_CPU_WORKER_NTHREADS": workers, "FERROMIX_NUM_THREADS": threads}
        for workers, threads in (("1", "1"), ("2", "1"), ("4", "2"), ("1", "2"))
    ]
    settings.append({"FERROMIX_ENGINE_TYPE": "NaiveEngine"})
    found = []
    for number, env in enumerate(settings):
        folder = tmp_path / str(number)
        train(folder, "--epochs", 1, "--batches", 12, "--seed", 5, **env)
        found.append((folder / "digits-0001.params").read_bytes())
    assert [params == found[0] for params in found] == [True] * len(settings)

"""Networks learn digits as in MXNet: the same losses in the same order of images.

FERROMIX_DATA names a folder with ``mnist/``; tools/golden/make_curves.py writes what MXNet came to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from curves import NETWORKS, RUNS, curve

import ferromix as mx

DATA = Path(os.environ.get("FERROMIX_DATA", "none"))
GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "curves.json").read_text())
TOLERANCE = {"float64": 1e-6, "float32": 1e-3}

PROGRAM = """
import json, sys
from pathlib import Path
import curves, ferromix
folder, network, dtype, steps, run = sys.argv[1:]
print(json.dumps(curves.curve(ferromix, Path(folder), network, dtype, int(steps), int(run))))
"""

pytestmark = pytest.mark.skipif(
    not (DATA / "mnist").is_dir(), reason="FERROMIX_DATA names no folder with mnist/"
)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("network", "steps"), [("lenet", 20), ("resnet20", 3)])
def test_the_first_losses_are_those_of_mxnet(network, steps, dtype):
    losses, _ = curve(mx, DATA, network, dtype, steps, tested=False)
    wanted = GOLDEN[f"{network} {dtype}"]["losses"][:steps]
    np.testing.assert_allclose(losses, wanted, rtol=0, atol=TOLERANCE[dtype])


def trained(network, dtype, run=0, **environment):
    """Losses and accuracy of a training in a process that has made no kernels yet."""
    steps = GOLDEN[f"{network} {dtype}"]["steps"]
    command = [sys.executable, "-c", PROGRAM, str(DATA.absolute()), network, dtype]
    found = subprocess.run(
        [*command, str(steps), str(run)],
        cwd=Path(__file__).parent,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(found.stdout)


def worst_loss(network, dtype, losses):
    """How far a loss is from MXNet's."""
    wanted = GOLDEN[f"{network} {dtype}"]["losses"]
    return np.abs(np.subtract(losses[: len(wanted)], wanted)).max()


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_losses_and_the_accuracy_are_those_of_mxnet(network, dtype):
    # Without minimal filtering, so that convolutions round as MXNet's do.
    losses, accuracy = trained(network, dtype, FERROMIX_WINOGRAD="0")
    worst = worst_loss(network, dtype, losses)
    print(f"{network} {dtype}: losses differ by {worst:.2g}, accuracy {accuracy:.2%}")
    assert worst <= TOLERANCE[dtype]
    wanted = GOLDEN[f"{network} {dtype}"]["accuracies"]
    if len(wanted) == 1:  # Others rounding alone moves; their means are compared below.
        assert abs(accuracy - wanted[0]) <= 0.003


@pytest.mark.nightly
def test_the_mean_accuracy_of_trainings_that_differ_by_rounding_is_that_of_mxnet():
    # Rounding alone moves the accuracy of one training by 0.13 points, the standard deviation.
    # Both packages train from the same weights, which differ from run to run in the last bits.
    wanted = GOLDEN["resnet20 float32"]["accuracies"]
    runs = [trained("resnet20", "float32", run) for run in range(len(wanted))]
    worst = worst_loss("resnet20", "float32", runs[0][0])
    found = [accuracy for _, accuracy in runs]
    print(f"losses differ by {worst:.2g}; {found}, mean {np.mean(found):.2%}")
    assert len(wanted) == RUNS
    assert worst <= TOLERANCE["float32"]
    assert abs(np.mean(found) - np.mean(wanted)) <= 0.003

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
from curves import NETWORKS, curve

import ferromix as mx

DATA = Path(os.environ.get("FERROMIX_DATA", "none"))
GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "curves.json").read_text())
TOLERANCE = {"float64": 1e-6, "float32": 1e-3}

PROGRAM = """
import json, sys
from pathlib import Path
import curves, ferromix
folder, network, dtype, steps = sys.argv[1:]
print(json.dumps(curves.curve(ferromix, Path(folder), network, dtype, int(steps))))
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


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_losses_and_the_accuracy_are_those_of_mxnet(network, dtype):
    # Rounding alone moves the accuracy of resnet20 by 0.13 points (the standard deviation of ten
    # trainings), so this one computes as MXNet does; in a process that has made no kernels yet.
    wanted = GOLDEN[f"{network} {dtype}"]
    command = [sys.executable, "-c", PROGRAM, str(DATA.absolute()), network, dtype]
    environment = {**os.environ, "FERROMIX_WINOGRAD": "0"}
    found = subprocess.run(
        [*command, str(wanted["steps"])],
        cwd=Path(__file__).parent,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    losses, accuracy = json.loads(found.stdout)
    worst = np.abs(np.subtract(losses[: len(wanted["losses"])], wanted["losses"])).max()
    print(f"{network} {dtype}: losses differ by {worst:.2g}, accuracy {accuracy:.2%}")
    assert worst <= TOLERANCE[dtype]
    assert abs(accuracy - wanted["accuracy"]) <= 0.003


@pytest.mark.nightly
def test_minimal_filtering_learns_as_well():
    wanted = GOLDEN["resnet20 float32"]
    losses, accuracy = curve(mx, DATA, "resnet20", "float32", wanted["steps"])
    count = len(wanted["losses"])
    np.testing.assert_allclose(losses[:count], wanted["losses"], rtol=0, atol=TOLERANCE["float32"])
    # Four times the deviation of the difference of two trainings.
    assert abs(accuracy - wanted["accuracy"]) <= 0.008

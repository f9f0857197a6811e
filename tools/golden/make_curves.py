"""How MXNet 1.9.1 learns digits: tests/golden/curves.json, losses and accuracies.

usage: FERROMIX_DATA=FOLDER PYTHON tools/golden/make_curves.py, with one that has MXNet 1.9.1

The folder has MNIST's test images, as the tests want them. Some minutes.
"""

import json
import os
import sys
from pathlib import Path

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "module"))
from curves import BATCH, NETWORKS, RUNS, TRAINED, curve  # noqa: E402

EPOCHS = {"lenet": 1, "resnet20": 2}
folder = Path(os.environ["FERROMIX_DATA"])
found = {}
for network in NETWORKS:
    for dtype, steps in (("float64", 100), ("float32", EPOCHS[network] * TRAINED // BATCH)):
        several = RUNS if (network, dtype) == ("resnet20", "float32") else 1
        runs = [curve(mx, folder, network, dtype, steps, run) for run in range(several)]
        losses, accuracies = runs[0][0], [accuracy for _, accuracy in runs]
        kept = losses if dtype == "float64" else losses[:20]
        found[f"{network} {dtype}"] = {"steps": steps, "losses": kept, "accuracies": accuracies}
        print(network, dtype, losses[0], losses[-1], accuracies, flush=True)
target = ROOT / "tests" / "golden" / "curves.json"
target.write_text(json.dumps(found, indent=1) + "\n")

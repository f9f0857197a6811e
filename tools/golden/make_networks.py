"""Makes tests/golden/networks with MXNet 1.9.1.

usage: PYTHON_WITH_MXNET tools/golden/make_networks.py FOLDER_OF_FERROMIX [NAME...]

For each network of tests/networks/zoo: NAME.json, the symbol as MXNet saves it, and in
networks.json what MXNet says of it, the signatures of one training step, and how far the graph
that Ferromix saved, NAME.json in the folder that tools/golden/save_networks.py has filled, is from
it when MXNet loads it and runs the same step.

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own).
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
import mxnet as mx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "networks"))
from zoo import NETWORKS  # noqa: E402
from zoo.step import build, facts, step  # noqa: E402

TARGET = ROOT / "tests" / "golden" / "networks"


def distance(expected, found):
    """The largest difference of two steps, each number beside the norm of its array."""
    assert expected.keys() == found.keys()
    worst = 0.0
    for key, numbers in expected.items():
        norm = max(numbers[1], 1e-6)
        worst = max(worst, float(np.abs(np.subtract(numbers, found[key])).max()) / norm)
    return worst


def stepped(net, name, inputs):
    """One step, without MXNet's mistake with learned slopes: the gradient of their data is written
    over that of the output, unless an addition holds that one, before their own is made of it."""
    nodes = json.loads(net.tojson())["nodes"]
    readers = [[n["op"] for n in nodes if [i, 0, 0] in n["inputs"]] for i in range(len(nodes))]
    slopes = [
        nodes[n["inputs"][1][0]]["name"]
        for n, read in zip(nodes, readers)
        if n["op"] == "LeakyReLU"
        and n["attrs"]["act_type"] == "prelu"
        and set(read) != {"elemwise_add"}
    ]
    return step(mx, net, name, inputs, slopes)


def described(name, theirs):
    net, inputs = build(mx, name)
    net.save(str(TARGET / f"{name}.json"))
    known = facts(net, name, inputs)
    expected = stepped(net, name, inputs)
    loaded = mx.sym.load(str(theirs / f"{name}.json"))
    same = facts(loaded, name, inputs) == known
    away = distance(expected, stepped(loaded, name, inputs))
    if not same or not away <= 1e-6:
        sys.exit(f"{name}: Ferromix's JSON gives another network: {same=}, {away=}")
    return {**known, "step": expected, "ferromix_json": {"same_facts": same, "distance": away}}


def main(theirs, names):
    TARGET.mkdir(exist_ok=True)
    path = TARGET / "networks.json"
    found = json.loads(path.read_text()) if path.exists() and names else {}
    for name in names or NETWORKS:
        found[name] = described(name, theirs)
    rows = [f"{json.dumps(k)}: {json.dumps(found[k])}" for k in NETWORKS if k in found]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

"""Makes tests/golden/symbol/old.json: what MXNet 1.9.1 reads in files as older versions wrote them.

usage: PYTHON_WITH_MXNET tools/golden/make_old_symbols.py

The files are written by hand here, in the form of each time. Needs MXNet 1.9.1 (`pip install
mxnet==1.9.1 "numpy<1.24"` in an environment of its own).
"""

import json
from pathlib import Path

import mxnet as mx

TARGET = Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "symbol" / "old.json"
VERSIONS = (None, 800, 900, 903, 904, 905, 1000, 1100, 10000, 10200)


def node(op, name, inputs=(), **more):
    return {"op": op, "name": name, "inputs": [list(i) for i in inputs], **more}


def before_0_9():
    """Attributes apart, entries of two numbers, no auxiliary states."""
    last = {"backward_source_id": -1}
    return [
        node("null", "data", param={}, **last),
        node("null", "conv_weight", param={}, attr={"lr_mult": "2"}, **last),
        node("null", "conv_bias", param={}, **last),
        node(
            "Convolution",
            "conv",
            [[0, 0], [1, 0], [2, 0]],
            param={"kernel": "(3, 3)", "num_filter": "4", "workspace": "512", "no_bias": "False"},
            attr={"ctx_group": "dev1", "bias_wd_mult": "0", "weight_lr_mult": "5"},
            **last,
        ),
        node("null", "bn_gamma", param={}, **last),
        node("null", "bn_beta", param={}, **last),
        node(
            "BatchNorm",
            "bn",
            [[3, 0], [4, 0], [5, 0]],
            param={"eps": "0.001", "momentum": "0.9", "fix_gamma": "True"},
            **last,
        ),
        node(
            "Activation",
            "relu",
            [[6, 0]],
            param={"act_type": "relu"},
            attr={"force_mirroring": "True", "mirror_stage": "True"},
            **last,
        ),
        node("LeakyReLU", "slope", [[7, 0]], param={"act_type": "prelu"}, **last),
        node("_MulScalar", "half", [[8, 0]], param={"scalar": "0.5"}, **last),
        node("_Plus", "sum", [[9, 0], [7, 0]], param={}, **last),
        node("Flatten", "flat", [[10, 0]], param={}, **last),
        node("FullyConnected", "fc", [[11, 0]], param={"num_hidden": "3"}, **last),
        node("SoftmaxOutput", "softmax", [[12, 0]], param={"grad_scale": "1"}, **last),
    ]


def before_1_0():
    """All attributes in one place, and a version."""
    return [
        node("null", "data", attr={"__shape__": "(2, 3, 4, 4)", "ctx_group": "a"}),
        node("null", "w", attr={"__init__": '["zero", {}]', "lr_mult": "3", "__wd_mult__": "0"}),
        node("FullyConnected", "fc", [[0, 0, 0], [1, 0, 0]],
             attr={"num_hidden": "3", "no_bias": "True", "weight_lr_mult": "7", "lr_mult": "4"}),
        node("SliceChannel", "parts", [[2, 0, 0]], attr={"num_outputs": "3"}),
        node("ElementWiseSum", "sum", [[3, 0, 0], [3, 2, 0]], attr={"num_args": "2"}),
        node("argmax", "most", [[4, 0, 0]], attr={"axis": "-1"}),
        node("argmin", "least", [[4, 0, 0]], attr={"axis": "1", "keepdims": "True"}),
        node("broadcast_plus", "both", [[5, 0, 0], [6, 0, 0]], attr={}),
    ]  # fmt: skip


def text(nodes, version):
    graph = {
        "nodes": nodes,
        "arg_nodes": [i for i, n in enumerate(nodes) if n["op"] == "null"],
        "heads": [[len(nodes) - 1, 0]],
    }
    if version is not None:
        graph["attrs"] = {"mxnet_version": ["int", version]}
    return json.dumps(graph)


def read(written):
    net = mx.sym.load_json(written)
    return {
        "text": written,
        "nodes": [
            [n["op"], n["name"], n.get("attrs", {}), [i[:2] for i in n["inputs"]]]
            for n in json.loads(net.tojson())["nodes"]
        ],
        "arguments": net.list_arguments(),
        "states": net.list_auxiliary_states(),
    }


if __name__ == "__main__":
    found = {f"before_0_9 {v}": read(text(before_0_9(), v)) for v in (None, 800)}
    found.update({f"before_1_0 {v}": read(text(before_1_0(), v)) for v in VERSIONS})
    rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
    TARGET.write_text("{\n" + ",\n".join(rows) + "\n}\n")

"""Makes the golden symbols of tests/golden/symbol with MXNet 1.9.1.

usage: PYTHON_WITH_MXNET make_symbols.py FOLDER

For each network of networks.py in FOLDER: <name>.json, the symbol as MXNet saves it;
<name>.facts.json, what MXNet says of its lists, shapes and types; <name>.npz, arguments, outputs
and gradients of one training step.

Needs MXNet 1.9.1 (`pip install mxnet==1.9.1 "numpy<1.24"` in an environment of its own); nothing
else of Ferromix does.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
import mxnet as mx


def facts(net, shapes):
    internals = net.get_internals()
    args, outs, aux = net.infer_shape(**shapes)
    types = net.infer_type(**dict.fromkeys(shapes, "float64"))
    return {
        "shapes": shapes,
        "arguments": net.list_arguments(),
        "outputs": net.list_outputs(),
        "states": net.list_auxiliary_states(),
        "inputs": net.list_inputs(),
        "internals": internals.list_outputs(),
        "argument_shapes": args,
        "output_shapes": outs,
        "state_shapes": aux,
        "internal_shapes": internals.infer_shape(**shapes)[1],
        "types": [[np.dtype(t).name for t in group] for group in types],
    }


def value(name, shape, random):
    if name.endswith("label"):
        return random.randint(0, 3, shape)
    if name.endswith(("gamma", "var")):
        return random.uniform(0.5, 1.5, shape)
    return random.uniform(-1, 1, shape)


def step(net, shapes, random):
    """One training step: what went in and what came out."""
    executor = net.simple_bind(mx.cpu(), **shapes)
    found = {}
    for group, arrays in (("arg", executor.arg_dict), ("aux", executor.aux_dict)):
        for name, array in arrays.items():
            array[:] = value(name, array.shape, random)
            found[f"{group}:{name}"] = array.asnumpy()
    executor.forward(is_train=True)
    grads = [mx.nd.array(random.uniform(-1, 1, o.shape)) for o in executor.outputs]
    executor.backward(grads)
    for i, (output, grad) in enumerate(zip(executor.outputs, grads)):
        found[f"out:{i}"], found[f"head:{i}"] = output.asnumpy(), grad.asnumpy()
    for name, array in executor.grad_dict.items():
        found[f"grad:{name}"] = array.asnumpy()
    for name, array in executor.aux_dict.items():
        found[f"aux_after:{name}"] = array.asnumpy()
    for i, output in enumerate(executor.forward(is_train=False)):
        found[f"predicted:{i}"] = output.asnumpy()
    return found


def main(folder):
    sys.path.insert(0, str(folder))
    from networks import NETWORKS

    for name, network in NETWORKS.items():
        with mx.name.NameManager():
            net, shapes = network(mx.sym)
        net.save(str(folder / f"{name}.json"))
        text = json.dumps(facts(net, shapes), indent=1)
        (folder / f"{name}.facts.json").write_text(text + "\n")
        np.savez_compressed(folder / f"{name}.npz", **step(net, shapes, np.random.RandomState(7)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

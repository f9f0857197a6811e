"""One training step of a network in either package, and what is kept of its arrays.

An array is kept as its size, its Euclidean norm, and its products with directions that depend on
its name alone: an error in any element changes all of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import FLOAT32, NETWORKS
from .inputs import Input, draw, inputs_of, seeded

DIRECTIONS = 4


def build(mx: Any, name: str) -> tuple[Any, dict[str, Input]]:
    """A network's symbol, with names as if nothing had been made before, and its inputs."""
    with mx.name.NameManager():
        net, inputs = NETWORKS[name](mx.sym)
    return net, inputs_of(inputs)


def dtype_of(name: str) -> str:
    """The type in which a network is compared."""
    return "float32" if name in FLOAT32 else "float64"


def signature(array: Any, *words: str) -> list[float]:
    """The size, the norm and the products of an array."""
    flat = np.asarray(array, dtype="float64").ravel()
    products = [float(flat @ seeded(*words, str(i)).randn(flat.size)) for i in range(DIRECTIONS)]
    return [float(flat.size), float(np.linalg.norm(flat)), *products]


def _bound(mx: Any, net: Any, name: str, inputs: dict[str, Input]) -> Any:
    dtype = dtype_of(name)
    requests = {
        n: "null" if n in inputs and (inputs[n].count or inputs[n].stype != "default") else "write"
        for n in net.list_arguments()
    }
    executor = net.simple_bind(
        mx.cpu(),
        grad_req=requests,
        type_dict=dict.fromkeys(inputs, dtype),
        **{n: i.shape for n, i in inputs.items()},
    )
    for group in (executor.arg_dict, executor.aux_dict):
        for key, array in group.items():
            value = mx.nd.array(draw(name, key, array.shape, inputs.get(key)), dtype=dtype)
            value.tostype(array.stype).copyto(array)
    return executor


def step(
    mx: Any, net: Any, name: str, inputs: dict[str, Input], slopes: Sequence[str] = ()
) -> dict[str, list[float]]:
    """What one step of training, and a prediction after it, give: signatures by name.

    The gradients of `slopes` are divided by the slopes, with which MXNet has multiplied them.
    """
    executor = _bound(mx, net, name, inputs)
    outputs = executor.forward(is_train=True)
    heads = [draw(name, f"head{i}", o.shape, Input(o.shape)) for i, o in enumerate(outputs)]
    executor.backward([mx.nd.array(h, dtype=o.dtype) for h, o in zip(heads, outputs)])
    found = {f"output:{i}": o for i, o in enumerate(outputs)}
    found |= {f"grad:{k}": g for k, g in executor.grad_dict.items() if g is not None}
    found |= {f"state:{k}": a for k, a in executor.aux_dict.items()}
    values = {key: array.asnumpy() for key, array in found.items()}
    for slope in slopes:
        values[f"grad:{slope}"] = values[f"grad:{slope}"] / executor.arg_dict[slope].asnumpy()
    kept = {key: signature(value, name, key) for key, value in values.items()}
    for i, output in enumerate(executor.forward(is_train=False)):
        kept[f"predicted:{i}"] = signature(output.asnumpy(), name, f"predicted:{i}")
    return kept


def facts(net: Any, name: str, inputs: dict[str, Input]) -> dict[str, Any]:
    """What a package says of a network: lists, shapes and types."""
    shapes = net.infer_shape(**{n: i.shape for n, i in inputs.items()})
    types = net.infer_type(**dict.fromkeys(inputs, dtype_of(name)))
    return {
        "arguments": net.list_arguments(),
        "outputs": net.list_outputs(),
        "states": net.list_auxiliary_states(),
        "internals": net.get_internals().list_outputs(),
        "shapes": [[list(s) for s in group] for group in shapes],
        "types": [[np.dtype(t).name for t in group] for group in types],
    }

"""The ways in which an operator is called: with a gradient, with arrays that lie in one place.

Both sides of `run.py` import this, so it needs the package that it is given, and NumPy, alone.
"""

import numpy as np

WAYS = ("plain", "plain", "gradient", "gradient", "shared", "shared gradient", "out", "views")
"""What is drawn from.

`shared` gives one array for inputs of the same type and shape, `out` writes into the first input,
and `views` reads every second element. The last two are Ferromix's alone: MXNet must give the same
without them.
"""


def heads(outputs):
    """The outputs that a gradient comes from, and one for each that depends on its shape alone."""
    found = [(o, np.sin(np.arange(o.size) + 1.0).reshape(o.shape)) for o in outputs]
    return [(o, h) for o, h in found if np.dtype(o.dtype).kind == "f" and o.size]


def share(arrays):
    """The same arrays, with the first one of a type and shape in place of all of these."""
    first = {}
    return [first.setdefault((np.dtype(a.dtype).name, a.shape), a) for a in arrays]


def weights(name, arrays, attrs):
    """What a step of an optimizer writes to."""
    count = attrs.get("num_weights", attrs.get("num_tensors", 0))
    if not count:
        return arrays[0]
    rest = {"_": 1 if "adamw" in name else 0, "p": 2}.get(name[0], 0)
    size = (len(arrays) - rest) // count
    return [arrays[i * size] for i in range(count)]


def call(mx, name, function, arrays, attrs, way, count):
    """Outputs as NumPy arrays, then the gradients of the first `count` arrays that are floats."""
    if "shared" in way:
        arrays = share(arrays)
    if name.endswith("_update"):
        attrs = dict(attrs, out=weights(name, arrays, attrs))
    elif way == "out" and arrays:
        attrs = dict(attrs, out=arrays[0])
    if "gradient" not in way:
        return arrays, [o.asnumpy() for o in listed(function(*arrays, **attrs))]
    variables = []
    for array in arrays[:count]:
        if np.dtype(array.dtype).kind == "f" and all(array is not v for v in variables):
            variables.append(array)
            array.attach_grad()
    with mx.autograd.record():
        outputs = listed(function(*arrays, **attrs))
    pairs = heads(outputs)
    if variables and pairs:
        grads = [mx.nd.array(h, dtype=np.dtype(o.dtype).name) for o, h in pairs]
        mx.autograd.backward([o for o, _ in pairs], grads)
    return arrays, [a.asnumpy() for a in [*outputs, *(v.grad for v in variables)]]


def changed(name, arrays):
    """What operators that change their inputs leave there, and training leaves in states."""
    if not (name.endswith("_update") or name in ("reset_arrays", "BatchNorm")):
        return []
    # In MXNet, AdamW leaves the gradient rescaled.
    shown = [a for i, a in enumerate(arrays) if not (i == 1 and name.endswith("adamw_update"))]
    return [a.asnumpy() for a in shown]


def listed(found):
    """Several outputs, or the one."""
    return found if isinstance(found, (list, tuple)) else [found]

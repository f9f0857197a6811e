"""LayerNorm, InstanceNorm and GroupNorm, against NumPy's mean and variance."""

import numpy as np

from ..case import Case, Refused


def normal(x, axes, eps):
    """Normalized data, mean and deviation."""
    mean = x.mean(axes, keepdims=True)
    root = np.sqrt(x.var(axes, keepdims=True) + eps)
    return (x - mean) / root, mean, root


def layer_norm(axis=-1, eps=1e-5, output_mean_var=False):
    def oracle(x, gamma, beta):
        others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
        found, mean, root = normal(x, axis, eps)
        out = found * np.expand_dims(gamma, others) + np.expand_dims(beta, others)
        return (out, mean, root) if output_mean_var else out

    return oracle


def instance_norm(eps=1e-3):
    def oracle(x, gamma, beta):
        rest = tuple(range(1, x.ndim - 1))
        found = normal(x, tuple(range(2, x.ndim)), eps)[0]
        return found * np.expand_dims(gamma, rest) + np.expand_dims(beta, rest)

    return oracle


def group_norm(num_groups=1, eps=1e-5, output_mean_var=False):
    def oracle(x, gamma, beta):
        rows = x.reshape(len(x), num_groups, x[0, : x.shape[1] // num_groups].size)
        found, mean, root = normal(rows, 2, eps)
        out = (found * gamma[:, None] + beta[:, None]).reshape(x.shape)
        return (out, mean[..., 0], root[..., 0]) if output_mean_var else out

    return oracle


DOMAINS = ("normal", "positive", "normal")
ROWS = [
    ("LayerNorm", layer_norm, (3, 40), 40, {}),
    ("LayerNorm", layer_norm, (2, 3, 4), 4, {"eps": 0.01, "output_mean_var": True}),
    ("LayerNorm", layer_norm, (2, 3, 4), 3, {"axis": 1, "output_mean_var": True}),
    ("LayerNorm", layer_norm, (6, 5), 6, {"axis": 0}),
    ("LayerNorm", layer_norm, (300, 70), 70, {}),
    ("LayerNorm", layer_norm, (2, 5000), 5000, {}),
    ("LayerNorm", layer_norm, (4,), 4, {}),
    ("LayerNorm", layer_norm, (0, 4), 4, {}),
    ("InstanceNorm", instance_norm, (2, 3, 5), 3, {}),
    ("InstanceNorm", instance_norm, (2, 3, 50, 50), 3, {"eps": 0.1}),
    ("InstanceNorm", instance_norm, (0, 3, 5), 3, {}),
    ("GroupNorm", group_norm, (2, 4, 3), 2, {"num_groups": 2, "output_mean_var": True}),
    ("GroupNorm", group_norm, (3, 6, 2, 5), 3, {"num_groups": 3}),
    ("GroupNorm", group_norm, (2, 4, 30), 1, {}),
]
CASES = [
    Case(op, oracle(**a), (shape, (n,), (n,)), a, DOMAINS, steps=16, orders=1)
    for op, oracle, shape, n, a in ROWS
]
REFUSED = [
    Refused("LayerNorm", ("'gamma'", "(3,)", "(4,)"), ((2, 4), (3,), (3,))),
    Refused("LayerNorm", ("axis 2",), ((2, 4), (4,), (4,)), {"axis": 2}),
    Refused("InstanceNorm", ("(2, 4)", "3 dimensions"), ((2, 4), (4,), (4,))),
    Refused(
        "GroupNorm", ("4 channels", "num_groups=3"), ((2, 4, 3), (3,), (3,)), {"num_groups": 3}
    ),
    Refused("GroupNorm", ("3 dimensions",), ((2, 4), (1,), (1,))),
]

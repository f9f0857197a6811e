"""SoftmaxOutput: the gradient of the cross entropy against golden files is in test_golden.py."""

import numpy as np
from scipy import special

from ..case import Case


def forward(attrs):
    def oracle(x, label):
        if attrs.get("multi_output"):
            return special.softmax(x, axis=1)
        if attrs.get("preserve_shape"):
            return special.softmax(x, axis=-1)
        rows = x.reshape(len(x), -1) if x.size else x
        return special.softmax(rows, axis=1).reshape(x.shape)

    return oracle


def gradient(attrs):
    """The derivative of the cross entropy, divided by the number of positions of a sample."""

    def rule(x, label, head):
        out = forward(attrs)(x, label)
        axis = 1 if attrs.get("multi_output") else x.ndim - 1
        wanted = np.moveaxis(out, axis, -1)
        flat = x.ndim > 2 and not attrs.get("multi_output") and not attrs.get("preserve_shape")
        if flat:
            wanted = out.reshape(len(x), -1)
        classes = label.reshape(-1)[: wanted[..., 0].size].reshape(wanted.shape[:-1])
        hot = np.eye(wanted.shape[-1])[classes.astype(int)]
        positions = x[0, 0].size if attrs.get("multi_output") else 1
        if attrs.get("normalization") == "batch":
            positions *= label.size if flat else len(label)
        grad = (wanted - hot).reshape(x.shape) if flat else np.moveaxis(wanted - hot, -1, axis)
        grad = grad * attrs.get("grad_scale", 1.0) / positions
        return grad * head if attrs.get("out_grad") else grad, None

    return rule


FORMS = [
    ((6, 4), (6,), {}),
    ((6, 4), (6,), {"grad_scale": 0.5, "normalization": "batch"}),
    ((6, 4), (6,), {"out_grad": True}),
    ((2, 4, 3, 2), (2, 3, 2), {"multi_output": True}),
    ((2, 4, 3, 2), (2, 6), {"multi_output": True, "normalization": "batch"}),
    ((2, 4, 3, 2), (2, 1, 3, 2), {"multi_output": True}),
    ((2, 3, 4), (2, 3), {"preserve_shape": True}),
    ((2, 4, 3), (2, 3), {"preserve_shape": True, "multi_output": True}),
    ((2, 4), (2, 1), {"multi_output": True}),
    ((2, 4), (2,), {"multi_output": True}),
    ((3, 5, 4), (3, 5), {}),
    ((3, 2, 5, 4), (3, 2, 5), {"normalization": "batch", "grad_scale": 2.0}),
    ((3, 5, 4), (3,), {}),
    ((300, 4), (300,), {}),
]

CASES = [
    Case(
        "SoftmaxOutput",
        forward(a),
        (shape, label),
        a,
        ("normal", "below4"),
        gradient=gradient(a),
        steps=4,
    )
    for shape, label, a in FORMS
]

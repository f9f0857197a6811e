"""Steps with a rate for each element, as MXNet's documentation defines them."""

import numpy as np

from ..case import Case
from .optimizer import OPTIONS, SHAPES, WIDE, clipped


def moments(m, v, g, beta1=0.9, beta2=0.999):
    return beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g


def adam(lr, beta1, beta2, epsilon=1e-8, wd=0.0, rescale_grad=1.0, **rest):
    def oracle(w, g, m, v):
        g = clipped(rescale_grad * g + wd * w, **rest)
        m, v = moments(m, v, g, beta1, beta2)
        return w - lr * m / (np.sqrt(v) + epsilon)

    return oracle


def adamw(lr, eta, beta1, beta2, epsilon=1e-8, wd=0.0, **rest):
    def oracle(w, g, m, v, scale):
        m, v = moments(m, v, clipped(scale.item() * g, **rest), beta1, beta2)
        return w - eta * (lr * m / (np.sqrt(v) + epsilon) + wd * w)

    return oracle


def mp_adamw(**attrs):
    rule = adamw(**attrs)
    return lambda w, g, m, v, copy, scale: rule(copy, g, m, v, scale)


def ftml(lr, t, beta1=0.6, beta2=0.999, epsilon=1e-8, wd=0.0, rescale_grad=1.0, clip_grad=-1.0):
    def oracle(w, g, d, v, z):
        g = clipped(rescale_grad * g + wd * w, clip_grad)
        v = beta2 * v + (1 - beta2) * g * g
        new = (1 - beta1**t) / lr * (np.sqrt(v / (1 - beta2**t)) + epsilon)
        return -(beta1 * z + (1 - beta1) * g - (new - beta1 * d) * w) / new

    return oracle


def ftrl(lr, lamda1=0.01, beta=1.0, wd=0.0, rescale_grad=1.0, **rest):
    def oracle(w, g, z, n):
        g = clipped(rescale_grad * g, **rest)
        z = z + g - (np.sqrt(n + g * g) - np.sqrt(n)) * w / lr
        n = n + g * g
        return np.where(
            np.abs(z) > lamda1, (np.sign(z) * lamda1 - z) / ((beta + np.sqrt(n)) / lr + wd), 0
        )

    return oracle


def rmsprop(lr, gamma1=0.95, epsilon=1e-8, wd=0.0, rescale_grad=1.0, clip_weights=-1.0, **rest):
    def oracle(w, g, n):
        g = clipped(rescale_grad * g + wd * w, **rest)
        n = (1 - gamma1) * g * g + gamma1 * n
        return clipped(w - lr * g / np.sqrt(n + epsilon), clip_weights)

    return oracle


def rmspropalex(
    lr, gamma1=0.95, gamma2=0.9, epsilon=1e-8, wd=0.0, rescale_grad=1.0, clip_weights=-1.0, **rest
):
    def oracle(w, grad, n, g, delta):
        grad = clipped(rescale_grad * grad + wd * w, **rest)
        n = (1 - gamma1) * grad * grad + gamma1 * n
        g = (1 - gamma1) * grad + gamma1 * g
        delta = gamma2 * delta - lr * grad / np.sqrt(n - g * g + epsilon)
        return clipped(w + delta, clip_weights)

    return oracle


def adagrad(lr, epsilon=1e-7, rescale_grad=1.0, **rest):
    def oracle(w, g, h):
        g = clipped(rescale_grad * g, **rest)
        return w - lr * g / np.sqrt(h + g * g + epsilon)

    return oracle


def group_adagrad(lr, epsilon=1e-5, rescale_grad=1.0, **rest):
    def oracle(w, g, h):
        g = clipped(rescale_grad * g, **rest)
        h = h + (g * g).mean(axis=1, keepdims=True) if g.size else h
        return w - lr * g / np.sqrt(h + epsilon)

    return oracle


BETAS = {"beta1": 0.8, "beta2": 0.99}
REAL = ("normal", "normal")
RULES = (
    ("adam_update", adam, (*REAL, "normal", "positive"), {"lr": 0.01, **BETAS}),
    ("ftml_update", ftml, (*REAL, "positive", "positive", "normal"), {"lr": 0.1, "t": 3}),
    ("ftrl_update", ftrl, (*REAL, "normal", "positive"), {"lr": 0.1, "lamda1": 0.5, "beta": 1.5}),
    ("rmsprop_update", rmsprop, (*REAL, "positive"), {"lr": 0.1, "clip_weights": 0.75}),
    (
        "rmspropalex_update",
        rmspropalex,
        (*REAL, "above1", "unit", "normal"),
        {"lr": 0.1, "gamma1": 0.9, "gamma2": 0.8},
    ),
)
SCALED = (
    ("_adamw_update", adamw, (*REAL, "normal", "positive", "positive")),
    ("_mp_adamw_update", mp_adamw, (*REAL, "normal", "positive", "normal", "positive")),
)


def renamed(op, options):
    """FTML's bound has a name of its own."""
    names = {"clip_gradient": "clip_grad"} if op == "ftml_update" else {}
    return {names.get(k, k): v for k, v in options.items()}


CASES = [
    *[
        Case(op, rule(**a), (s,) * len(domain), a, domain, steps=8)
        for op, rule, domain, own in RULES
        for s, options in zip(SHAPES, OPTIONS, strict=True)
        for a in [{**own, **renamed(op, options)}]
    ],
    *[
        Case(op, rule(**a), (*(s,) * (len(domain) - 1), (1,)), a, domain, WIDE, steps=4)
        for op, rule, domain in SCALED
        for s, clip in zip(SHAPES, (-1.0, 0.3, 0.5, 0.0), strict=True)
        for a in [{"lr": 0.1, "eta": 0.5, **BETAS, "wd": 0.1, "clip_gradient": clip}]
    ],
    *[
        Case("_sparse_adagrad_update", adagrad(**a), (s,) * 3, a, (*REAL, "positive"), steps=8)
        for s in SHAPES
        for a in [{"lr": 0.1, "rescale_grad": 2.0, "clip_gradient": 0.5}]
    ],
    *[
        Case(
            "_contrib_group_adagrad_update",
            group_adagrad(**a),
            (s, s, (s[0], 1)),
            a,
            (*REAL, "positive"),
            steps=8,
        )
        for s in [(3, 4), (5, 1), (0, 2), (70, 9)]
        for a in [{"lr": 0.1, "rescale_grad": 2.0, "clip_gradient": 0.5, "epsilon": 0.01}]
    ],
]

"""A copy with a penalty: the running means, and the gradient that they give."""

from ..case import Case, Refused


def slope(sparseness_target=0.1, penalty=0.001, momentum=0.9):
    def rule(x, moving, head):
        others = tuple(i for i in range(x.ndim) if i != 1)
        mean = momentum * moving + (1 - momentum) * x.mean(others)
        found = (1 - sparseness_target) / (1 - mean) - sparseness_target / mean
        return (head + penalty * found.reshape(-1, *[1] * (x.ndim - 2)),)

    return rule


CASES = [
    Case(
        "IdentityAttachKLSparseReg",
        lambda x, moving: x,
        (shape, shape[1:2]),
        a,
        ("positive", "positive"),
        train=True,
        gradient=slope(**a),
        steps=64,
    )
    for shape, a in [
        ((4, 3), {}),
        ((4, 3), {"sparseness_target": 0.3, "penalty": 0.5, "momentum": 0.5}),
        ((2, 3, 4, 2), {"penalty": 1.0}),
    ]
]
REFUSED = [Refused("IdentityAttachKLSparseReg", ("'data'", "(3,)"), ((3,), (3,)))]

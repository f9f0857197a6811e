"""Steps of gradient descent for several weights at once."""

from ..case import Case
from .optimizer import OPTIONS, WIDE, mixed, sgd, sgd_mom

SHAPES = ((3, 4), (), (0, 2), (1000,))
LRS, WDS = (0.1, 0.2, 0.3, 0.4), (0.0, 0.1, 0.2, 0.3)


def several(rule, size, count, mp, options):
    """The rule for each weight, with the rates above, or those of the last two inputs."""

    def oracle(*inputs):
        lrs, wds = inputs[size * count :] or (LRS, WDS)
        results = []
        for i in range(count):
            step = rule(lr=lrs[i], wd=wds[i], **options)
            step = mixed(step, size - 1) if mp else step
            results.append(step(*inputs[size * i : size * (i + 1)]))
        return results

    return oracle


KINDS = (
    ("sgd_update", sgd, 2, False),
    ("sgd_mom_update", sgd_mom, 3, False),
    ("mp_sgd_update", sgd, 3, True),
    ("mp_sgd_mom_update", sgd_mom, 4, True),
)


def case(kind, count, options, preloaded):
    op, rule, size, mp = kind
    options = {k: v for k, v in options.items() if k != "wd"}
    options |= {"momentum": 0.9} if "mom" in op else {}
    shapes = [s for s in SHAPES[:count] for _ in range(size)]
    attrs = {**options, "num_weights": count}
    if preloaded:
        shapes += [(count,), (count,)]
    else:
        attrs |= {"lrs": LRS[:count], "wds": WDS[:count]}
    name = f"{'preloaded_' if preloaded else ''}multi_{op}"
    oracle = several(rule, size, count, mp, options)
    domain = ("normal",) * (size * count) + ("positive", "unit") * preloaded
    types = WIDE if mp or preloaded else None
    return Case(name, oracle, tuple(shapes), attrs, domain, types, steps=4)


CASES = [
    case(kind, count, options, preloaded)
    for kind in KINDS
    for preloaded in (False, True)
    for count, options in ((1, OPTIONS[0]), (2, OPTIONS[2]), (4, OPTIONS[3]))
]

"""Steps of AdamW and LAMB for several weights at once."""

import numpy as np

from ..case import Case
from .adaptive import BETAS, adamw
from .lamb import phase1, phase2
from .optimizer import WIDE

SHAPES = ((3, 4), (), (0, 2), (1000,))
LRS, WDS, ETAS, STEPS = (
    (0.1, 0.2, 0.3, 0.4),
    (0.0, 0.1, 0.2, 0.3),
    (1.0, 0.5, 2.0, 0.7),
    (1, 2, 5, 9),
)


def adamw_of_each(size, count, clip):
    """Each weight's step, from the copy where there is one."""

    def oracle(*inputs):
        results = []
        for i in range(count):
            own = inputs[size * i : size * (i + 1)]
            attrs = {"lr": LRS[i], "wd": WDS[i], "eta": ETAS[i], "clip_gradient": clip}
            step = adamw(**attrs, **BETAS)
            results.append(step(own[0 if size == 4 else 4], *own[1:4], inputs[-1]))
        return results

    return oracle


def lamb_of_each(size, count, options):
    """Both phases, with the norm of the weight itself."""
    bounds = {k: v for k, v in options.items() if k.endswith("bound")}
    rest = {k: v for k, v in options.items() if k not in bounds}

    def oracle(*inputs):
        results = []
        for i in range(count):
            own = inputs[size * i : size * (i + 1)]
            weight = own[0 if size == 4 else 4]
            g = phase1(t=STEPS[i], wd=WDS[i], **rest)(weight, *own[1:4])
            norms = (np.sqrt((x * x).sum()) for x in (own[0], g))
            results.append(phase2(LRS[i], **bounds)(weight, g, *norms))
        return results

    return oracle


def domains(size, count):
    return ("normal", "normal", "normal", "positive", "normal")[:size] * count


def adamw_case(name, size, count, clip):
    attrs = {"lrs": LRS[:count], "wds": WDS[:count], "etas": ETAS[:count], **BETAS}
    attrs |= {"clip_gradient": clip, "num_weights": count}
    shapes = (*(s for s in SHAPES[:count] for _ in range(size)), (1,))
    domain = (*domains(size, count), "positive")
    return Case(name, adamw_of_each(size, count, clip), shapes, attrs, domain, WIDE, steps=4)


def lamb_case(name, size, count, options):
    attrs = {"learning_rates": LRS[:count], "wds": WDS[:count], "step_count": STEPS[:count]}
    attrs |= {**options, "num_tensors": count}
    shapes = tuple(s for s in SHAPES[:count] for _ in range(size))
    types = None if size == 4 else WIDE
    oracle = lamb_of_each(size, count, options)
    return Case(name, oracle, shapes, attrs, domains(size, count), types, steps=8)


CASES = [
    *[
        adamw_case(name, size, count, clip)
        for name, size in (("_multi_adamw_update", 4), ("_multi_mp_adamw_update", 5))
        for count, clip in ((1, -1.0), (2, 0.3), (4, 0.5))
    ],
    *[
        lamb_case(name, size, count, options)
        for name, size in (("_multi_lamb_update", 4), ("_multi_mp_lamb_update", 5))
        for count, options in (
            (1, {}),
            (2, {"rescale_grad": 0.5, "clip_gradient": 0.3, "bias_correction": False}),
            (4, {"lower_bound": 2.0, "upper_bound": 5.0}),
        )
    ],
]

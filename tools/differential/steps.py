"""Random steps of optimizers that have a copy of single precision, or take several weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case, Draw


def mixed(draw: Draw) -> Case:
    """Steps of one weight of halves with its copy, and those that have no other family."""
    shape = draw.shape()
    copy, state, other = (draw.array(shape, "float32", 0.1, 1) for _ in range(3))
    weight, grad = copy.astype("float16"), draw.array(shape, "float16", -1, 1)
    common: dict[str, Any] = {"wd": draw.one((0.0, 0.0625)), "rescale_grad": draw.one((1.0, 0.5))}
    bound = draw.one((-1.0, 0.5))
    attrs = {"lr": 0.125, **common, "clip_gradient": bound}
    heavy = {**attrs, "momentum": 0.75}
    times = {"t": draw.int(1, 9), "bias_correction": draw.maybe(), "clip_gradient": bound}
    norms = [draw.array((1,), "float32", 0.1, 1) for _ in range(2)]
    rest = {k: v for k, v in attrs.items() if k != "rescale_grad"}
    decayed, scale = {**rest, "eta": draw.one((1.0, 0.5))}, np.full((1,), 0.5, "float32")
    single = grad.astype("float32")
    history = draw.array(shape[:1], "float32", 0.1, 1)
    grouped = {k: attrs[k] for k in ("lr", "rescale_grad", "clip_gradient")}
    return draw.one(
        [
            Case("mp_sgd_update", [weight, grad, copy], attrs),
            Case("mp_sgd_mom_update", [weight, grad, state, copy], heavy),
            Case("nag_mom_update", [copy, single, state], heavy),
            Case("mp_nag_mom_update", [weight, grad, state, copy], heavy),
            Case("mp_lamb_update_phase1", [weight, grad, state, other, copy], {**common, **times}),
            Case(
                "mp_lamb_update_phase2",
                [weight, single, *norms, copy],
                {"lr": 0.125, "upper_bound": bound},
            ),
            Case("_adamw_update", [copy, single, state, other, scale], decayed),
            Case("_mp_adamw_update", [weight, grad, state, other, copy, scale], decayed),
            Case("_contrib_group_adagrad_update", [copy, single, history[:, None]], grouped),
        ]
    )


def several(draw: Draw) -> Case:
    """Steps of several weights at once."""
    count, half = draw.int(1, 4), draw.maybe()
    lrs, wds = (tuple(draw.int(1, 4) / 16 for _ in range(count)) for _ in range(2))
    clip = draw.one((-1.0, 0.5))
    family = draw.one(("sgd", "sgd_mom", "adamw", "lamb"))
    states = {"sgd": 0, "sgd_mom": 1}.get(family, 2)
    dtype, inputs = "float16" if half else "float32", []
    for _ in range(count):
        shape = draw.shape()
        copy = draw.array(shape, "float32", 0.1, 1)
        inputs += [copy.astype(dtype), draw.array(shape, dtype, -1, 1)]
        inputs += [draw.array(shape, "float32", 0.1, 1) for _ in range(states)]
        inputs += [copy] if half else []
    attrs: dict[str, Any] = {"clip_gradient": clip}
    scale = np.full((1,), 0.5, "float32")
    mp = "mp_" if half else ""
    if family == "adamw":
        etas = tuple(draw.int(1, 4) / 4 for _ in range(count))
        attrs |= {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": count}
        return Case(f"_multi_{mp}adamw_update", [*inputs, scale], attrs)
    attrs["rescale_grad"] = 0.5
    if family == "lamb":
        counts = tuple(draw.int(1, 9) for _ in range(count))
        attrs |= {"learning_rates": lrs, "wds": wds, "step_count": counts, "num_tensors": count}
        attrs["bias_correction"] = draw.maybe()
        return Case(f"_multi_{mp}lamb_update", inputs, attrs)
    attrs |= {"momentum": 0.75} if states else {}
    attrs["num_weights"] = count
    if draw.maybe():
        rates = [np.array(r, "float32") for r in (lrs, wds)]
        return Case(f"preloaded_multi_{mp}{family}_update", [*inputs, *rates], attrs)
    return Case(f"multi_{mp}{family}_update", inputs, {**attrs, "lrs": lrs, "wds": wds})


def finite(draw: Draw) -> Case:
    """What looks at gradients before a step, and casts for mixed precision."""
    arrays = [draw.array(draw.shape(), draw.one(("float32", "float16"))) for _ in range(3)]
    for array in arrays:
        array[draw.random.random(array.shape) < draw.one((0, 0.1))] = draw.one((np.nan, np.inf))
    dtype = arrays[0].dtype
    typed = [a if a.dtype == dtype else a.astype(dtype) for a in arrays]
    flag = {"init_output": True}
    # MXNet's process dies where nothing is to be cast, and it lacks the narrow cast.
    other = {"dtype": "float32" if dtype == np.float16 else "float16"}
    return draw.one(
        [
            Case("all_finite", arrays[:1], flag),
            Case("multi_all_finite", typed, {"num_arrays": 3, **flag}),
            Case("amp_cast", arrays[:1], other),
            Case("amp_multicast", arrays, {"num_outputs": 3}),
            Case("reset_arrays", arrays, {"num_arrays": 3}),
        ]
    )


FAMILIES: dict[str, Callable[[Draw], Case]] = {"mixed": mixed, "several": several, "finite": finite}

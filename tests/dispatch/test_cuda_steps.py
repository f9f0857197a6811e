"""The CUDA sources of optimizers' steps, run on the host, step as the Rust kernels do."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from host import NEEDS_COMPILER
from launches import Run, described, job_of, on_the_cpu
from table import operators

from ferromix.dispatch import infer
from ferromix.dispatch.recipe import Limits, find
from ferromix.ops.card import make

pytestmark = [pytest.mark.slow, NEEDS_COMPILER]

NIGHTLY = pytest.mark.nightly
FLOATS = ["float32", "float64", "float16", "bfloat16"]
RATES = {"lr": 0.3, "wd": 0.1, "rescale_grad": 0.5}
BETAS = {"beta1": 0.75, "beta2": 0.5, "epsilon": 0.25}
POSITIVE = {"var", "v", "n", "history", "r1", "r2", "d", "weights_sum_sq", "grads_sum_sq"}
"""Arguments that are sums of squares, or norms."""
SINGLE = [
    ("adam_update", {**RATES, **BETAS}),
    ("_adamw_update", {"lr": 0.3, "wd": 0.1, "eta": 0.5, **BETAS}),
    ("_mp_adamw_update", {"lr": 0.3, "wd": 0.1, "eta": 0.5, **BETAS}),
    ("ftml_update", {**RATES, **BETAS, "t": 3}),
    ("ftrl_update", {**RATES, "lamda1": 0.5, "beta": 1.5}),
    ("_sparse_adagrad_update", {"lr": 0.3, "rescale_grad": 0.5, "epsilon": 0.25}),
    ("rmsprop_update", {**RATES, "gamma1": 0.75, "epsilon": 0.25, "clip_weights": 0.7}),
    ("rmspropalex_update", {**RATES, "gamma1": 0.75, "gamma2": 0.5, "epsilon": 2.0}),
    ("lamb_update_phase1", {"wd": 0.1, "rescale_grad": 0.5, **BETAS, "t": 2}),
    ("lamb_update_phase1", {"wd": 0.1, **BETAS, "t": 2, "bias_correction": False}),
    ("mp_lamb_update_phase1", {"wd": 0.1, **BETAS, "t": 5}),
    ("lamb_update_phase2", {"lr": 0.3}),
    ("mp_lamb_update_phase2", {"lr": 0.3, "lower_bound": 0.9, "upper_bound": 1.1}),
    ("multi_lars", {"eta": 0.5, "eps": 0.25, "rescale_grad": 0.5}),
]
SIZES = [(0,), (1,), (77,), (3, 400)]


def arrays_of(card, shapes, dtype, seed):
    """Inputs of a card, numbers of about 1; copies of weights are near to them."""
    rng = np.random.default_rng(seed)
    types, _, _ = card.infer_type([dtype, *[None] * (len(shapes) - 1)])
    inputs = []
    for name, shape, kind in zip(card.list_arguments(), shapes, types, strict=True):
        values = rng.uniform(-1.5, 1.5, shape)
        values = np.abs(values) if name.rstrip("_0123456789") in POSITIVE else values
        dtyped = ml_dtypes.bfloat16 if kind == "bfloat16" else kind
        inputs.append(np.asarray(values, dtyped))
    return inputs


def check(sources, card, inputs, req, processors=1, terms=4.0):
    """Compares the outputs and the states; `terms` is how large numbers on the way are."""
    shapes = infer(card, tuple(described(inputs)))
    changed = card.mutated_inputs()
    outs = [np.ones(s, ml_dtypes.bfloat16 if t == "bfloat16" else t) for s, t in shapes]
    reqs = [req] * len(outs) + [2] * len(changed)
    before = [*outs, *(inputs[i] for i in changed)]
    wanted = on_the_cpu(card, inputs, before, reqs)
    job = replace(job_of(card, inputs, before), limits=Limits(processors, threads=32))
    maker = find(job.name)
    made = maker and maker(job)
    assert made, card.name
    given = [x.copy() for x in inputs]
    found = [*(x.copy() for x in outs), *(given[i] for i in changed)]
    dynamic = [float(job.attrs[name]) for name in job.dynamic]
    Run(made, given, found, reqs, dynamic).launch(sources, seed=5)
    for got, want, old, asked in zip(found, wanted, before, reqs, strict=True):
        # What has a copy in float32 is computed so, whatever its own type.
        eps = max(float(ml_dtypes.finfo(got.dtype).eps), 2.0**-23 * ("mp_" in card.name))
        g, w = got.astype(np.float64), (want if asked else old).astype(np.float64)
        np.testing.assert_allclose(g, w, rtol=4 * eps, atol=2 * eps * terms, err_msg=card.name)
    return made


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "attrs"), SINGLE)
@pytest.mark.parametrize("clip", [0.25, -1.0])
def test_steps_of_one_weight(sources, name, attrs, dtype, clip):
    bound = "clip_grad" if name == "ftml_update" else "clip_gradient"
    card = make(name, {**attrs, **({bound: clip} if bound in make(name, attrs).params else {})})
    if dtype not in card.dtypes:
        pytest.skip("the card does not claim it")
    for size in SIZES:
        shapes = [
            (1,) if n in getattr(card, "scalars", ()) else size for n in card.list_arguments()
        ]
        inputs = arrays_of(card, shapes, dtype, size)
        for req in (0, 1, 3):
            check(sources, card, inputs, req)


MULTI = [
    *(
        (f"{loaded}multi_{step}", {} if loaded else {"lrs": 0.3, "wds": 0.1})
        for loaded in ("", "preloaded_")
        for step in ("sgd_update", "sgd_mom_update", "mp_sgd_update", "mp_sgd_mom_update")
    ),
    *((f"_multi_{mp}adamw_update", {"lrs": 0.3, "wds": 0.1, "etas": 0.5}) for mp in ("", "mp_")),
    *(
        (f"_multi_{mp}lamb_update", {"learning_rates": 0.3, "wds": 0.1, "step_count": 1})
        for mp in ("", "mp_")
    ),
]
"""Operators, and what each weight has of its own, times its number."""
WEIGHTS = [[(5,)], [(3, 4), (0, 2), (2100,), (1,)], [(1 + k % 3,) for k in range(70)]]


def many(name, own, shapes, dtype):
    """A card for some weights, and its inputs."""
    count = len(shapes)
    attrs = {k: tuple(x * (i + 1) / count for i in range(count)) for k, x in own.items()}
    if "step_count" in own:
        attrs["step_count"] = tuple(range(1, count + 1))
    params = make(name, {**attrs, **counted(name, count)}).params
    options = {"rescale_grad": 0.5, "clip_gradient": 0.25, "momentum": 0.75, **BETAS}
    attrs |= {k: x for k, x in options.items() if k in params}
    card = make(name, {**attrs, **counted(name, count)})
    each = len(card.each)
    given = [shapes[i // each] for i in range(each * count)]
    rest = len(card.list_arguments()) - len(given)
    given += [(count,) if card.rates else (1,)] * rest
    return card, arrays_of(card, given, dtype, count)


def counted(name, count):
    return {"num_tensors" if "lamb" in name else "num_weights": count}


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float16", *(pytest.param(t, marks=NIGHTLY) for t in ("float64", "bfloat16"))],
)
@pytest.mark.parametrize(("name", "own"), MULTI)
def test_steps_of_many_weights(sources, name, own, dtype):
    for shapes in WEIGHTS:
        card, inputs = many(name, own, shapes, dtype)
        for req in (0, 1, 3):
            made = check(sources, card, inputs, req)
            launches = 3 if "lamb" in name else 1
            assert len(made.launches) == launches * -(-len(shapes) // 32)


@pytest.mark.parametrize("rescale", [0.0, np.inf, -np.inf, np.nan, -2.0])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_adamw_makes_no_step_of_what_is_not_finite(sources, dtype, rescale):
    for name, own in MULTI:
        if "adamw" in name:
            card, inputs = many(name, own, WEIGHTS[1], dtype)
            inputs[-1][:] = rescale
            for req in (0, 1, 3):
                check(sources, card, inputs, req)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("clip", [0.25, -1.0])
def test_one_state_for_each_row(sources, dtype, clip):
    attrs = {"lr": 0.3, "rescale_grad": 0.5, "clip_gradient": clip, "epsilon": 0.25}
    card = make("_contrib_group_adagrad_update", attrs)
    for shape in [(1, 1), (5, 7), (3, 2, 200), (0, 4), (6,)]:
        states = (shape[0], *(1,) * (len(shape) - 1))
        inputs = arrays_of(card, [shape, shape, states], dtype, 2)
        for req in (0, 1, 3):
            check(sources, card, inputs, req)


@pytest.mark.parametrize("norms", [(0.0, 2.0), (2.0, 0.0), (0.5, 0.25), (4.0, 3.0)])
@pytest.mark.parametrize("bounds", [{}, {"lower_bound": 1.0}, {"upper_bound": 0.75}])
def test_norms_within_bounds(sources, norms, bounds):
    card = make("lamb_update_phase2", {"lr": 0.3, **bounds})
    inputs = arrays_of(card, [(9,), (9,), (1,), (1,)], "float32", 3)
    inputs[2][:], inputs[3][:] = norms
    check(sources, card, inputs, 1)
    for scale in (0.0, 1.0):
        attrs = {"learning_rates": (0.3,), "wds": (0.0,), "step_count": (1,), **bounds}
        card = make("_multi_lamb_update", {**attrs, "num_tensors": 1})
        inputs = arrays_of(card, [(9,)] * 4, "float32", 4)
        inputs[0] *= scale
        check(sources, card, inputs, 1)


@pytest.mark.parametrize("stem", ["adaptive", "lamb", "multi_sgd", "multi_adaptive"])
def test_all_rows_have_recipes(stem):
    assert operators(stem)
    assert not [name for name in operators(stem) if find(name) is None]

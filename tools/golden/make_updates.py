"""Writes tests/golden/updates/steps.npz: three steps of MXNet 1.9.1's optimizer operators.

Run it once with a Python that has MXNet 1.9.1; nothing else in Ferromix needs MXNet. ``cases`` is a
JSON list of operator, attributes, whether the output is new (else it is the weight), and rows of
part, name, type and shape for each array: the inputs before (``in``) and after the step, and the
outputs. ``values`` are the elements of all arrays, one after another.
"""

import json
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "updates"
OPTIONS = [
    {},
    {"wd": 0.1},
    {"rescale_grad": 0.5, "clip_gradient": 0.3},
    {"wd": 0.1, "rescale_grad": 2.0, "clip_gradient": 0.5},
]
STEPS = 3


class Recorder:
    """Runs operators and keeps what they were given and what they gave."""

    def __init__(self) -> None:
        self.cases: list[dict] = []
        self.values: list[np.ndarray] = []
        self.random = np.random.default_rng(7)

    def draw(self, name: str, shape: tuple) -> mx.nd.NDArray:
        """An input; states that are averages of squares are positive."""
        value = self.random.standard_normal(shape).astype(np.float32)
        if name.split("_")[0] in ("var", "n", "v", "d", "r1", "r2", "rescale", "lrs", "weights"):
            value = np.abs(value) + 0.5
        if name in ("g", "wds"):
            value = np.abs(value) / 10
        return mx.nd.array(value)

    def steps(self, op: str, attrs: dict, inputs: dict, count: int = 1) -> None:
        """Three steps from random states; `inputs` are shapes, ``weight`` or a copy of it first."""
        arrays = {name: self.draw(name, shape) for name, shape in inputs.items()}
        mixed = [n for n in arrays if n.startswith("weight32")]
        # MXNet squares weights in their own type; squares of a few eighths are exact in float16.
        exact = op == "_multi_mp_lamb_update"
        for copy in mixed:
            weight = copy.replace("weight32", "weight")
            if exact:
                arrays[copy] = mx.nd.round(arrays[copy] * 8) / 8
            arrays[weight] = arrays[copy].astype("float16")
        for t in range(1, 2 if exact else STEPS + 1):
            for name in [n for n in arrays if n.startswith("grad")]:
                half = mixed and name.startswith("grad")
                grad = self.draw(name, inputs[name])
                arrays[name] = grad.astype("float16") if half else grad
            self.step(op, {**attrs, **({"t": t} if "t" in attrs else {})}, arrays, count)

    def step(self, op: str, attrs: dict, arrays: dict, count: int) -> None:
        """One step, whose outputs are the weights; or new where there is no weight to change."""
        rows = [self.keep("in", name, array) for name, array in arrays.items()]
        function = getattr(mx.nd, op, None) or getattr(mx.nd._internal, op)
        weights = [a for n, a in arrays.items() if n.split("_")[0] == "weight"]
        new = op.endswith("phase1") or op in ("multi_lars", "multi_sum_sq")
        out = {} if new else {"out": weights if count > 1 else weights[0]}
        outputs = function(*arrays.values(), **attrs, **out)
        outputs = outputs if isinstance(outputs, list) else [outputs]
        # _adamw_update rescales the gradient where it is, and mp_lamb_update_phase2 leaves the copy
        # of the weight as it was; neither is followed.
        left = {"_adamw_update": "grad", "mp_lamb_update_phase2": "weight32"}.get(op)
        rows += [self.keep("after", n, a) for n, a in arrays.items() if n != left]
        rows += [self.keep("out", str(k), array) for k, array in enumerate(outputs)]
        words = {k: str(v) for k, v in attrs.items()}
        self.cases.append({"op": op, "attrs": words, "new": new, "arrays": rows})

    def keep(self, part: str, name: str, array: mx.nd.NDArray) -> tuple:
        """Stores the values of an array; returns its row."""
        value = array.asnumpy()
        self.values.append(value.astype(np.float32).ravel())
        return part, name, value.dtype.name, value.shape


def single(r: Recorder) -> None:
    """Steps for one weight."""
    heavy = {"lr": 0.1, "momentum": 0.9}
    moments = {"beta1": 0.8, "beta2": 0.99}
    rows = [
        ("mp_sgd_update", {"lr": 0.1}, "weight grad weight32"),
        ("mp_sgd_mom_update", heavy, "weight grad mom weight32"),
        ("signsgd_update", {"lr": 0.1}, "weight grad"),
        ("signum_update", {**heavy, "wd_lh": 0.2}, "weight grad mom"),
        ("nag_mom_update", heavy, "weight grad mom"),
        ("mp_nag_mom_update", heavy, "weight grad mom weight32"),
        ("ftml_update", {"lr": 0.1, "t": 1}, "weight grad d v z"),
        ("ftrl_update", {"lr": 0.1, "lamda1": 0.5, "beta": 1.5}, "weight grad z n"),
        ("rmsprop_update", {"lr": 0.1, "epsilon": 1e-3}, "weight grad n"),
        ("rmsprop_update", {"lr": 0.1, "clip_weights": 0.5}, "weight grad n"),
        ("rmspropalex_update", {"lr": 0.1, "gamma2": 0.8}, "weight grad n g delta"),
        ("rmspropalex_update", {"lr": 0.1, "clip_weights": 0.5}, "weight grad n g delta"),
        ("lamb_update_phase1", {"t": 1, "wd": 0.0, **moments}, "weight grad mean var"),
        (
            "lamb_update_phase1",
            {"t": 1, "wd": 0.0, "bias_correction": False},
            "weight grad mean var",
        ),
        ("mp_lamb_update_phase1", {"t": 1, "wd": 0.0}, "weight grad mean var weight32"),
    ]
    for op, attrs, names in rows:
        for options in OPTIONS:
            if op == "ftml_update":
                options = {k.replace("clip_gradient", "clip_grad"): v for k, v in options.items()}
            r.steps(op, {**attrs, **options}, dict.fromkeys(names.split(), (3, 4)))


def scaled(r: Recorder) -> None:
    """Steps with inputs of one element."""
    for names in ("weight grad mean var", "weight grad mean var weight32"):
        op = "_mp_adamw_update" if "32" in names else "_adamw_update"
        for clip in (-1.0, 0.3):
            inputs = {**dict.fromkeys(names.split(), (3, 4)), "rescale_grad": (1,)}
            r.steps(op, {"lr": 0.1, "eta": 0.5, "wd": 0.1, "clip_gradient": clip}, inputs)
    for bounds in ({}, {"lower_bound": 3.0}, {"upper_bound": 0.25}):
        inputs = {"weight": (3, 4), "g": (3, 4), "r1": (1,), "r2": (1,)}
        r.steps("lamb_update_phase2", {"lr": 0.1, **bounds}, inputs)
        r.steps("mp_lamb_update_phase2", {"lr": 0.1, **bounds}, {**inputs, "weight32": (3, 4)})
    names = ("lrs", "weights_sum_sq", "grads_sum_sq", "wds")
    attrs = {"eta": 0.1, "eps": 0.01, "rescale_grad": 0.5}
    arrays = [np.abs(r.random.standard_normal(4)).astype(np.float32) for _ in names]
    arrays[1][1] = arrays[2][2] = 0
    r.step("multi_lars", attrs, dict(zip(names, map(mx.nd.array, arrays))), 1)
    arrays = [mx.nd.array(r.random.standard_normal(s)) for s in ((3, 4), (5,), (2, 2, 2))]
    inputs = {f"array_{i}": a for i, a in enumerate(arrays)}
    r.step("multi_sum_sq", {"num_arrays": 3}, inputs, 1)


def several(r: Recorder) -> None:
    """Steps for several weights."""
    shapes = ((3, 4), (5,), (2, 2, 2))
    for each in ("weight grad", "weight grad mom"):
        for copy in ("", " weight32"):
            for preloaded in (False, True):
                for options in ({}, {"rescale_grad": 0.5, "clip_gradient": 0.3}):
                    names = (each + copy).split()
                    inputs = {f"{n}_{i}": s for i, s in enumerate(shapes) for n in names}
                    attrs = {"num_weights": 3, **options}
                    if preloaded:
                        inputs.update(lrs=(3,), wds=(3,))
                    else:
                        attrs.update(lrs=(0.1, 0.2, 0.3), wds=(0.0, 0.1, 0.2))
                    if "mom" in each:
                        attrs["momentum"] = 0.9
                    op = "preloaded_" * preloaded + "multi_" + "mp_" * bool(copy)
                    op += "sgd_mom_update" if "mom" in each else "sgd_update"
                    r.steps(op, attrs, inputs, 3)


def adaptive(r: Recorder) -> None:
    """Steps of AdamW and LAMB for several weights."""
    shapes = ((3, 4), (5,), (2, 2, 2))
    own = {"wds": (0.0, 0.1, 0.2), "beta1": 0.8, "beta2": 0.99}
    for names in ("weight grad mean var", "weight grad mean var weight32"):
        inputs = {f"{n}_{i}": s for i, s in enumerate(shapes) for n in names.split()}
        kind = "mp_" * ("32" in names)
        for clip in (-1.0, 0.3):
            attrs = {"lrs": (0.1, 0.2, 0.3), "etas": (1.0, 0.5, 2.0), "num_weights": 3}
            attrs = {**own, **attrs, "clip_gradient": clip}
            r.steps(f"_multi_{kind}adamw_update", attrs, {**inputs, "rescale_grad": (1,)}, 3)
        for options in (
            {},
            {"bias_correction": False, "clip_gradient": 0.3, "rescale_grad": 0.5},
            {"lower_bound": 3.0},
            {"upper_bound": 1.0},
        ):
            attrs = {"learning_rates": (0.1, 0.2, 0.3), "step_count": (1, 3, 7), "num_tensors": 3}
            r.steps(f"_multi_{kind}lamb_update", {**own, **attrs, **options}, inputs, 3)


def main() -> None:
    """Writes the file."""
    recorder = Recorder()
    single(recorder)
    scaled(recorder)
    several(recorder)
    adaptive(recorder)
    TARGET.mkdir(parents=True, exist_ok=True)
    cases, values = np.array(json.dumps(recorder.cases)), np.concatenate(recorder.values)
    np.savez_compressed(TARGET / "steps.npz", cases=cases, values=values)


if __name__ == "__main__":
    main()

"""Every operator that takes arrays, on large ones, beside MXNet: which are far behind.

    python benches/sweep.py --mxnet PYTHON [--below RATIO] [--only WORD] [--one-thread]

PYTHON is an interpreter with MXNet 1.9.1. Operators of one or two arrays are found in the registry;
those that need more are in a table, and what `operators.py` measures is left out. Each is called,
and differentiated where both packages do that. Prints how many there are, the geometric mean of
MXNet's times over Ferromix's, the rows whose ratio is below RATIO, and what could not be called.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from turns import Call, Package, serve

Row = dict[str, Any]
ROUNDS = 3
SQUARE, IMAGES, LARGE = [1000, 1000], [8, 32, 56, 56], [500, 200, 10]
DOMAINS = {"arccosh": (1.1, 1.9), "_random_pdf_dirichlet": (0.1, 0.9)}
MISSED = ("Custom", "_zeros", "_CachedOp")


def row(op: str, *shapes: Any, low: float = 0.1, high: float = 0.9, **attrs: Any) -> Row:
    """A call: shapes of float32, or (shape, type, values below)."""
    return {"op": op, "inputs": shapes, "ends": (low, high), "attrs": attrs}


def steps() -> Iterator[Row]:
    """Steps of optimizers, on one weight and on several."""
    counts = {"sgd": 2, "sgd_mom": 3, "signsgd": 2, "signum": 3, "nag_mom": 3, "adam": 4, "ftrl": 4}
    for name, count in {**counts, "rmsprop": 3, "rmspropalex": 5}.items():
        yield row(f"{name}_update", *[SQUARE] * count, lr=0.1)
    yield row("ftml_update", *[SQUARE] * 5, lr=0.1, t=2)
    yield row("lamb_update_phase1", *[SQUARE] * 4, t=2, wd=0.1)
    yield row("_adamw_update", *[SQUARE] * 4, [1], lr=0.1, eta=1.0)
    several = {"lrs": [0.1] * 4, "wds": [0.1] * 4, "num_weights": 4}
    yield row("multi_sgd_mom_update", *[[500, 500]] * 12, **several)
    yield row("multi_sum_sq", *[[500, 500]] * 4, num_arrays=4)
    yield row("multi_all_finite", *[[500, 500]] * 4, num_arrays=4)


def shapes() -> Iterator[Row]:
    """Operators that move elements."""
    yield row("transpose", LARGE, axes=[2, 0, 1])
    yield row("reshape", LARGE, shape=[-1])
    yield row("expand_dims", SQUARE, axis=0)
    yield row("repeat", SQUARE, repeats=2, axis=1)
    yield row("tile", [500, 500], reps=[2, 2])
    yield row("stack", SQUARE, SQUARE, axis=1)
    yield row("Concat", SQUARE, SQUARE, dim=1)
    yield row("SliceChannel", SQUARE, num_outputs=4, axis=1)
    yield row("_split_v2", SQUARE, indices=[0, 300], axis=1)
    yield row("slice", SQUARE, begin=[10, 10], end=[900, 900])
    yield row("slice", SQUARE, begin=[10, 900], end=[900, 10], step=[2, -2])
    yield row("slice_axis", SQUARE, axis=1, begin=10, end=900)
    yield row("slice_like", SQUARE, [900, 900])
    yield row("swapaxes", LARGE, dim1=0, dim2=1)
    yield row("flip", SQUARE, axis=1)
    yield row("depth_to_space", IMAGES, block_size=2)
    yield row("space_to_depth", IMAGES, block_size=2)
    for mode in ("constant", "edge", "reflect"):
        yield row("Pad", IMAGES, mode=mode, pad_width=[0, 0, 0, 0, 2, 2, 2, 2])
    yield row("broadcast_axis", [1, 1000], axis=0, size=1000)
    yield row("broadcast_to", [1000, 1], shape=SQUARE)
    yield row("broadcast_like", [1000, 1], SQUARE)
    yield row("Cast", SQUARE, dtype="float64")
    yield row("amp_cast", SQUARE, dtype="float16")
    yield row("clip", SQUARE, a_min=0.2, a_max=0.5)
    yield row("where", (SQUARE, "float32", 2), SQUARE, SQUARE)
    yield row("add_n", *[SQUARE] * 4)
    yield row("diag", SQUARE)
    yield row("_contrib_index_copy", SQUARE, ([1000], "int32", 0), SQUARE)
    yield row("_slice_assign_scalar", SQUARE, scalar=1.0, begin=[10, 10], end=[900, 900])
    yield row("cumsum", SQUARE, axis=0)
    yield row("cumsum", SQUARE, axis=1)
    yield row("Crop", IMAGES, num_args=1, offset=[2, 2], h_w=[40, 40])
    yield row("_contrib_arange_like", SQUARE)
    yield row("_contrib_index_array", [300, 300])


def indices() -> Iterator[Row]:
    """Operators that take numbers of elements."""
    yield row("pick", SQUARE, ([1000], "float32", 1000), axis=1)
    yield row("batch_take", SQUARE, ([1000], "int32", 1000))
    yield row("scatter_nd", [5000, 20], ([1, 5000], "int32", 5000), shape=[5000, 20])
    yield row("argsort", SQUARE)
    yield row("sort", [200_000])
    for name in ("argmax", "argmin"):
        yield row(name, SQUARE, axis=0)
        yield row(name, SQUARE, axis=1)
    yield row("ravel_multi_index", ([2, 100_000], "float32", 100), shape=[100, 100])
    yield row("unravel_index", ([100_000], "float32", 10_000), shape=[100, 100])
    yield row("_histogram", [1_000_000], bin_cnt=50, range=[0, 1])
    lengths = [500]  # below 2, so 1 where they are cut
    yield row("SequenceLast", [200, 500, 10], lengths, use_sequence_length=True, low=1, high=1.5)


def layers() -> Iterator[Row]:
    """Layers of networks and their outputs."""
    channels = [[32]] * 4
    for kind in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
        yield row("Activation", SQUARE, act_type=kind, low=-2, high=2)
    for kind in ("leaky", "elu", "selu", "gelu"):
        yield row("LeakyReLU", SQUARE, act_type=kind, low=-2, high=2)
    yield row("LeakyReLU", IMAGES, [32], act_type="prelu", low=-2, high=2)
    yield row("FullyConnected", [128, 512], [512, 512], [512], num_hidden=512)
    yield row("BatchNorm", IMAGES, *channels, fix_gamma=False)
    yield row("_contrib_SyncBatchNorm", IMAGES, *channels, key="a")
    for kind in ("max", "avg", "sum", "lp"):
        more = {"p_value": 2} if kind == "lp" else {}
        yield row("Pooling", IMAGES, kernel=[3, 3], stride=[2, 2], pool_type=kind, **more)
    yield row("Pooling", IMAGES, kernel=[1, 1], global_pool=True, pool_type="avg")
    yield row("Dropout", SQUARE, p=0.5, mode="always")
    for name in ("softmax", "log_softmax", "softmin"):
        yield row(name, SQUARE, axis=1)
        yield row(name, SQUARE, axis=0)
    yield row("SoftmaxOutput", SQUARE, ([1000], "float32", 1000))
    yield row("softmax_cross_entropy", SQUARE, ([1000], "float32", 1000))
    yield row("SVMOutput", SQUARE, ([1000], "float32", 1000))
    yield row("SoftmaxActivation", IMAGES, mode="channel")
    for mode in ("instance", "channel", "spatial"):
        yield row("L2Normalization", IMAGES, mode=mode)
    yield row("CTCLoss", [50, 16, 100], ([16, 20], "float32", 99))
    yield row("Correlation", [2, 16, 32, 32], [2, 16, 32, 32], max_displacement=4, pad_size=4)
    yield row("GridGenerator", [16, 6], transform_type="affine", target_shape=[64, 64])
    data, loc = [8, 16, 56, 56], {"transform_type": "affine", "sampler_type": "bilinear"}
    yield row("SpatialTransformer", data, [8, 6], target_shape=[56, 56], **loc)
    yield row("smooth_l1", SQUARE, scalar=1.0)
    yield row("MakeLoss", SQUARE)
    moved = {"kernel": [3, 3], "pad": [1, 1], "num_filter": 16, "no_bias": True}
    offsets = ([2, 18, 28, 28], "float32", 2)
    yield row("_contrib_DeformableConvolution", [2, 16, 28, 28], offsets, [16, 16, 3, 3], **moved)
    rois = ([64, 5], "float32", 2)
    grouped = {"spatial_scale": 1.0, "output_dim": 8, "pooled_size": 7}
    yield row("_contrib_PSROIPooling", [2, 392, 32, 32], rois, group_size=7, **grouped)
    for name, mode in (("rnn_tanh", 1), ("gru", 3)):
        size = 2 * mode * 128 * (128 + 128 + 2)
        states = {"state_size": 128, "num_layers": 2}
        yield row("RNN", [30, 16, 128], [size], [2, 16, 128], mode=name, **states, high=0.11)
    yield row("_contrib_quadratic", SQUARE, a=1.0, b=2.0, c=3.0)
    yield row("moments", SQUARE, axes=[0])
    for name in ("sum", "mean", "prod", "max", "min", "nansum", "nanprod", "norm"):
        yield row(name, SQUARE, axis=0)
        yield row(name, LARGE, axis=1)


def linear() -> Iterator[Row]:
    """Linear algebra and images."""
    yield row("dot", [512, 512], [512, 512])
    yield row("dot", [512, 512], [512, 512], transpose_b=True)
    yield row("batch_dot", [32, 64, 64], [32, 64, 64])
    yield row("khatri_rao", [100, 300], [100, 300], num_args=2)
    yield row("_linalg_gemm", *[[256, 256]] * 3)
    yield row("_linalg_trmm", [256, 256], [256, 256])
    yield row("_linalg_gelqf", [128, 256])
    for name in ("det", "slogdet", "sumlogdiag", "extractdiag", "extracttrian"):
        yield row(f"_linalg_{name}", [32, 64, 64])
    yield row("_linalg_makediag", [32, 64])
    yield row("_linalg_maketrian", [32, 2080])
    picture = ([256, 256, 3], "uint8", 255)
    yield row("_image_to_tensor", picture)
    yield row("_image_resize", picture, size=[224, 224])
    yield row("_image_crop", picture, x=10, y=10, width=200, height=200)
    yield row("_image_normalize", [3, 256, 256], mean=[0.5, 0.5, 0.5], std=[0.2, 0.2, 0.2])
    for way in ("left_right", "top_bottom"):
        yield row(f"_image_flip_{way}", picture)
    for what in ("brightness", "contrast", "saturation", "hue"):
        yield row(f"_image_random_{what}", picture, min_factor=0.5, max_factor=1.5)
    yield row("_image_adjust_lighting", picture, alpha=[0.1, 0.2, 0.3])


def chance() -> Iterator[Row]:
    """Distributions."""
    some = {"shape": [300, 300]}
    for name, attrs in {
        "negative_binomial": {"k": 3, "p": 0.4},
        "generalized_negative_binomial": {"mu": 2.0, "alpha": 0.3},
    }.items():
        yield row(f"_random_{name}", **some, **attrs)
    for name, count in {"uniform": 2, "normal": 2, "gamma": 2, "exponential": 1}.items():
        yield row(f"_sample_{name}", *[[100]] * count, shape=[500])
    yield row("_sample_poisson", [100], shape=[500])
    pdf = {"uniform": 2, "normal": 2, "gamma": 2, "exponential": 1, "poisson": 1}
    for name, count in {**pdf, "negative_binomial": 2}.items():
        yield row(f"_random_pdf_{name}", [100, 1000], *[[100]] * count)
    yield row("_random_pdf_dirichlet", [100, 100, 10], [100, 10])


def derived() -> Iterator[Row]:
    """Operators whose arguments alone say how they are called."""
    from ferromix.ops import card

    for name in sorted({card.find(n).name for n in card.names()}):
        found = card.find(name)
        needed = [k for k, p in found.params.items() if p.required]
        if found.hidden or found.variadic or found.auxiliary_states or name in MISSED:
            continue
        low, high = DOMAINS.get(name, (0.1, 0.9))
        if needed in ([], ["scalar"]) and 1 <= len(found.arguments) <= 2:
            attrs = {"scalar": 0.7} if needed else {}
            yield row(name, *[SQUARE] * len(found.arguments), low=low, high=high, **attrs)


def rows() -> list[Row]:
    """All of them; what the tables have is not derived."""
    table = [r for f in (steps, shapes, indices, layers, linear, chance) for r in f()]
    named = {r["op"] for r in table}
    return table + [r for r in derived() if r["op"] not in named]


def function(mx: Any, name: str) -> Any:
    """The operator's function, which each package has somewhere."""
    spaces = {
        "_contrib_": "contrib",
        "_linalg_": "linalg",
        "_image_": "image",
        "_random_": "random",
    }
    for prefix, space in spaces.items():
        found = getattr(getattr(mx.nd, space), name.removeprefix(prefix), None)
        if name.startswith(prefix) and found is not None:
            return found
    return getattr(mx.nd, name, None) or getattr(mx.nd._internal, name)


def values(given: Any, ends: Any) -> np.ndarray:
    """An input of a row."""
    random = np.random.RandomState(0)
    if len(given) == 3 and isinstance(given[1], str):
        shape, dtype, below = given
        if below == 0:
            return random.permutation(shape[0]).astype(dtype)
        return (random.random_sample(shape) * below).astype("int64").astype(dtype)
    return random.uniform(*ends, size=given).astype("float32")


def maker(package: str) -> Any:
    """What makes a call of a row."""
    mx = __import__(package)

    def find(row: Row) -> Call:
        run = function(mx, row["op"])
        inputs = [values(g, row["ends"]) for g in row["inputs"]]
        arrays = [mx.nd.array(v, dtype=v.dtype.name) for v in inputs]
        attrs = {k: tuple(v) if isinstance(v, list) else v for k, v in row["attrs"].items()}
        if row["op"].endswith("_update"):
            count = attrs.get("num_weights", 1)
            size = len(arrays) // count
            attrs["out"] = [arrays[i * size] for i in range(count)] if count > 1 else arrays[0]

        def call() -> None:
            found = run(*arrays, **attrs)
            for one in found if isinstance(found, (list, tuple)) else [found]:
                one.wait_to_read()

        def differentiated() -> None:
            with mx.autograd.record():
                found = run(*arrays, **attrs)
            head = found[0] if isinstance(found, (list, tuple)) else found
            head.backward()
            variables[0].grad.wait_to_read()

        if not row["gradient"]:
            return call
        variables = [a for a, v in zip(arrays, inputs) if v.dtype == np.float32]
        for variable in variables:
            variable.attach_grad()
        return differentiated

    return find


def text(row: Row) -> str:
    """A row in short."""
    attrs = {**row["attrs"], **({"gradient": True} if row["gradient"] else {})}
    return f"{row['op']}({', '.join(f'{k}={v}' for k, v in attrs.items())})"


def sweep(packages: list[Package], options: argparse.Namespace) -> None:
    """Measures, and prints what is behind."""
    ratios, refused = {}, []
    for each in rows():
        for gradient in (False, True):
            asked = {**each, "gradient": gradient}
            if options.only not in each["op"] or (gradient and each["op"].endswith("_update")):
                continue
            turns = [[p.turn(asked) for p in packages] for _ in range(ROUNDS)]
            times = [[t for t in pair if isinstance(t, float)] for pair in turns]
            if all(len(pair) == 2 for pair in times):
                ratios[text(asked)] = statistics.median(b / a for a, b in times), *times[0]
            elif not gradient:
                refused.append(f"{text(asked)}: {turns[0]}")
    mean = statistics.geometric_mean(r[0] for r in ratios.values())
    print(f"{len(ratios)} calls: geometric mean {mean:.2f}\n")
    print("| call | Ferromix, ms | MXNet, ms | ratio |\n|---|---|---|---|")
    for name, (ratio, own, other) in sorted(ratios.items(), key=lambda r: r[1][0]):
        if ratio < options.below:
            print(f"| {name} | {own:.3f} | {other:.3f} | {ratio:.2f} |")
    print("\n" + "\n".join(refused))


def main() -> None:
    """Prints what is behind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", help="an interpreter with MXNet")
    parser.add_argument("--below", type=float, default=0.7, help="the ratio from which on to print")
    parser.add_argument("--only", default="", help="operators with this word")
    parser.add_argument("--one-thread", action="store_true", help="of each, and times of it")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(maker(options.serve), options.one_thread)
        return
    given = {"ferromix": sys.executable, "mxnet": options.mxnet}
    commands = [[python, __file__, "--serve", name] for name, python in given.items()]
    sweep([Package(c, options.one_thread) for c in commands], options)


if __name__ == "__main__":
    main()

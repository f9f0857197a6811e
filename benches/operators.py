"""Operators in which networks spend time, beside MXNet and torch.

    python benches/operators.py [--mxnet PYTHON] [--torch PYTHON] [--only WORD] [--rounds N]
                                [--one-thread]

The interpreters have MXNet 1.9.1 (and NumPy before 1.24), and torch. Each package has a process of
its own. For each operator they take short turns, so that other work on the machine meets all of
them; a turn gives the shortest time of a call until its result is there. Prints a table of times,
and of the medians over the turns of how many times as fast as each peer Ferromix is, with geometric
means. Packages use all cores, for which the machine must have nothing else to do: threads wait for
each other. With `--one-thread` each uses one, and times are those of the processor, which other
work hardly changes, the means of turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from turns import Call, Package, serve

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def boxes(*shape: int) -> np.ndarray:
    """Corners of boxes within the unit square."""
    start, size = RNG.random((*shape, 2)) * 0.8, RNG.random((*shape, 2)) * 0.2
    return np.concatenate([start, start + size], -1).astype("float32")


def detections(batch: int, count: int, classes: int) -> np.ndarray:
    """Class, score and corners of boxes."""
    kinds = RNG.integers(0, classes, (batch, count, 1))
    return np.concatenate([kinds, RNG.random((batch, count, 1)), boxes(batch, count)], -1).astype(
        "float32"
    )


def definite(*shape: int) -> np.ndarray:
    """Symmetric matrices whose eigenvalues are above zero."""
    x = normal(*shape)
    return x @ x.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1], dtype="float32")


TABLE, IDS = normal(50_000, 128), RNG.integers(0, 50_000, (64, 50))
IMAGES, MAPS, TEXT = normal(8, 64, 56, 56), normal(2, 256, 50, 50), normal(32, 128, 512)
SCORES, SQUARE, MANY = normal(128, 10_000), definite(512, 512), definite(64, 32, 32)
BATCHES, HEADS = normal(16, 64, 64), normal(128, 16, 3 * 512)
LENGTHS = RNG.integers(1, 50, 64)
STEPS = normal(50, 64, 256)
ROIS = np.concatenate([RNG.integers(0, 2, (128, 1)), boxes(128) * 800], -1).astype("float32")
ANCHORS, LABELS = (
    boxes(1, 8732),
    np.concatenate([RNG.integers(0, 20, (8, 10, 1)), boxes(8, 10)], -1).astype("float32"),
)
PREDICTIONS, OFFSETS = normal(8, 21, 8732), normal(8, 8732 * 4)
PROBABILITIES = np.exp(PREDICTIONS) / np.exp(PREDICTIONS).sum(1, keepdims=True)
FOUND = detections(4, 5000, 20)
RATES = np.exp(normal(1000))
GRID = np.tanh(normal(8, 2, 56, 56))
WEIGHTS = normal(64, 32, 4, 4)
SEQUENCE = normal(50, 32, 256)


def of_mxnet(mx: Any) -> Iterator[tuple[str, Call]]:
    """What Ferromix and MXNet call."""
    nd = mx.nd

    def of(run: Callable[..., Any], *values: np.ndarray, **attrs: Any) -> Call:
        arrays = [nd.array(v, dtype=str(v.dtype)) for v in values]

        def call() -> None:
            found = run(*arrays, **attrs)
            for one in found if isinstance(found, list | tuple) else [found]:
                one.wait_to_read()

        return call

    def trained(run: Callable[..., Any], *values: np.ndarray, **attrs: Any) -> Call:
        arrays = [nd.array(v, dtype=str(v.dtype)) for v in values]
        for array in arrays:
            array.attach_grad()

        def call() -> None:
            with mx.autograd.record():
                found = run(*arrays, **attrs)
            found.backward()
            for array in arrays:
                array.grad.wait_to_read()

        return call

    sizes = {"input_dim": 50_000, "output_dim": 128}
    yield "Embedding", of(nd.Embedding, IDS.astype("int32"), TABLE, **sizes)
    yield "take", of(nd.take, TABLE, IDS.astype("int32"))
    yield "topk", of(nd.topk, SCORES, k=10, ret_typ="both")
    yield "sort", of(nd.sort, SCORES)
    yield "gather_nd", of(nd.gather_nd, TABLE, IDS.reshape(1, -1).astype("int32"))
    yield "one_hot", of(nd.one_hot, IDS.astype("float32"), depth=1000)
    channels, features = np.ones(64, "float32"), np.ones(512, "float32")
    yield "LayerNorm", of(nd.LayerNorm, TEXT, features, features)
    yield "LayerNorm, training", trained(nd.LayerNorm, TEXT, features, features)
    yield "InstanceNorm", of(nd.InstanceNorm, IMAGES, channels, channels)
    yield "GroupNorm", of(nd.GroupNorm, IMAGES, channels[:8], channels[:8], num_groups=8)
    yield "LRN", of(nd.LRN, IMAGES, nsize=5)
    masks = {"use_sequence_length": True}
    yield "SequenceMask", of(nd.SequenceMask, STEPS, LENGTHS.astype("float32"), **masks)
    yield "SequenceReverse", of(nd.SequenceReverse, STEPS, LENGTHS.astype("float32"), **masks)
    taps = {"kernel": (3, 3), "pad": (1, 1)}
    yield "im2col", of(nd.im2col, IMAGES, **taps)
    columns = normal(8, 64 * 9, 56 * 56)
    yield "col2im", of(nd.col2im, columns, output_size=(56, 56), **taps)
    yield "UpSampling", of(nd.UpSampling, IMAGES, scale=2, sample_type="nearest")
    yield "BilinearResize2D", of(nd.contrib.BilinearResize2D, IMAGES, height=112, width=112)
    yield "AdaptiveAvgPooling2D", of(nd.contrib.AdaptiveAvgPooling2D, IMAGES, output_size=7)
    yield "BilinearSampler", of(nd.BilinearSampler, IMAGES, GRID.astype("float32"))
    place = {"pooled_size": (7, 7), "spatial_scale": 1 / 16}
    yield "ROIAlign", of(nd.contrib.ROIAlign, MAPS, ROIS, sample_ratio=2, **place)
    yield "ROIPooling", of(nd.ROIPooling, MAPS, ROIS, **place)
    yield "box_iou", of(nd.contrib.box_iou, ANCHORS[0], boxes(100))
    yield "box_nms", of(nd.contrib.box_nms, FOUND, topk=400, id_index=0)
    yield "MultiBoxPrior", of(nd.contrib.MultiBoxPrior, MAPS, sizes=(0.2, 0.3), ratios=(1, 2, 0.5))
    yield "MultiBoxTarget", of(nd.contrib.MultiBoxTarget, ANCHORS, LABELS, PREDICTIONS)
    yield "MultiBoxDetection", of(nd.contrib.MultiBoxDetection, PROBABILITIES, OFFSETS, ANCHORS)
    yield "linalg.potrf", of(nd.linalg.potrf, SQUARE)
    yield "linalg.potrf, 64 of 32", of(nd.linalg.potrf, MANY)
    yield "linalg.trsm", of(nd.linalg.trsm, SQUARE, normal(512, 512))
    yield "linalg.gemm2", of(nd.linalg.gemm2, BATCHES, BATCHES)
    yield "linalg.syrk", of(nd.linalg.syrk, SQUARE)
    yield "linalg.inverse", of(nd.linalg.inverse, MANY)
    yield "linalg.syevd", of(nd.linalg.syevd, definite(128, 128))
    qk = nd.contrib.interleaved_matmul_selfatt_qk
    yield "interleaved_matmul_selfatt_qk", of(qk, HEADS, heads=8)
    yield "random.uniform", lambda: nd.random.uniform(shape=(1000, 1000)).wait_to_read()
    yield "random.normal", lambda: nd.random.normal(shape=(1000, 1000)).wait_to_read()
    yield "random.gamma", lambda: nd.random.gamma(2.5, 1, shape=(300, 300)).wait_to_read()
    yield "random.poisson", lambda: nd.random.poisson(4.0, shape=(300, 300)).wait_to_read()
    yield "random.multinomial", of(nd.random.multinomial, PROBABILITIES[:, :, 0], shape=1000)
    yield "shuffle", of(nd.shuffle, TABLE)
    count = {"num_filter": 32, "no_bias": True, "kernel": (4, 4), "stride": (2, 2), "pad": (1, 1)}
    yield "Deconvolution *", of(nd.Deconvolution, IMAGES, WEIGHTS, **count)
    shape = {"mode": "lstm", "state_size": 256, "num_layers": 2}
    packed, state = normal(4 * 256 * (256 + 256 + 2) * 2) * 0.05, np.zeros((2, 32, 256), "float32")
    yield "RNN, lstm *", of(nd.RNN, SEQUENCE, packed, state, state, **shape)


def of_torch() -> Iterator[tuple[str, Call]]:
    """The same where torch has it."""
    import torch
    from torch.nn import functional as f

    def of(run: Callable[..., Any], *values: np.ndarray, **attrs: Any) -> Call:
        tensors = [torch.from_numpy(v) for v in values]
        return lambda: run(*tensors, **attrs)

    yield "Embedding", of(f.embedding, IDS, TABLE)
    yield "take", of(lambda x, i: x[i], TABLE, IDS)
    yield "topk", of(torch.topk, SCORES, k=10)
    yield "sort", of(torch.sort, SCORES)
    yield "gather_nd", of(lambda x, i: x[i], TABLE, IDS.reshape(-1))
    yield "one_hot", of(lambda i: f.one_hot(i, 1000).float(), IDS % 1000)
    features, channels = np.ones(512, "float32"), np.ones(64, "float32")
    yield "LayerNorm", of(lambda x, g, b: f.layer_norm(x, (512,), g, b), TEXT, features, features)
    x, g, b = (torch.from_numpy(v).requires_grad_() for v in (TEXT, features, features.copy()))

    def trained() -> None:
        f.layer_norm(x, (512,), g, b).sum().backward()

    yield "LayerNorm, training", trained
    yield "InstanceNorm", of(lambda x, g: f.instance_norm(x, None, None, g, g), IMAGES, channels)
    yield "GroupNorm", of(lambda x, g: f.group_norm(x, 8, g, g), IMAGES, channels)
    yield "LRN", of(f.local_response_norm, IMAGES, size=5)
    yield "im2col", of(f.unfold, IMAGES, kernel_size=3, padding=1)
    columns = normal(8, 64 * 9, 56 * 56)
    yield "col2im", of(f.fold, columns, output_size=(56, 56), kernel_size=3, padding=1)
    yield "UpSampling", of(f.interpolate, IMAGES, scale_factor=2)
    grown = {"size": (112, 112), "mode": "bilinear", "align_corners": True}
    yield "BilinearResize2D", of(f.interpolate, IMAGES, **grown)
    yield "AdaptiveAvgPooling2D", of(f.adaptive_avg_pool2d, IMAGES, output_size=7)
    places = np.ascontiguousarray(GRID.transpose(0, 2, 3, 1)).astype("float32")
    yield "BilinearSampler", of(f.grid_sample, IMAGES, places, align_corners=True)
    yield "linalg.potrf", of(torch.linalg.cholesky, SQUARE)
    yield "linalg.potrf, 64 of 32", of(torch.linalg.cholesky, MANY)
    lower = {"upper": False}
    yield "linalg.trsm", of(torch.linalg.solve_triangular, SQUARE, normal(512, 512), **lower)
    yield "linalg.gemm2", of(torch.bmm, BATCHES, BATCHES)
    yield "linalg.syrk", of(lambda x: x @ x.T, SQUARE)
    yield "linalg.inverse", of(torch.linalg.inv, MANY)
    yield "linalg.syevd", of(torch.linalg.eigh, definite(128, 128))
    yield "random.uniform", lambda: torch.rand(1000, 1000)
    yield "random.normal", lambda: torch.randn(1000, 1000)
    rates = torch.full((300, 300), 4.0)
    yield "random.poisson", lambda: torch.poisson(rates)
    weights = torch.from_numpy(np.ascontiguousarray(PROBABILITIES[:, :, 0]))
    yield "random.multinomial", lambda: torch.multinomial(weights, 1000, replacement=True)
    table = torch.from_numpy(TABLE)
    yield "shuffle", lambda: table[torch.randperm(len(table))]
    steps = {"stride": 2, "padding": 1}
    yield "Deconvolution *", of(f.conv_transpose2d, IMAGES, WEIGHTS, **steps)
    cell, text = torch.nn.LSTM(256, 256, 2), torch.from_numpy(SEQUENCE)

    def infer() -> None:
        with torch.no_grad():
            cell(text)

    yield "RNN, lstm *", infer


def rows_of(package: str, one_thread: bool) -> dict[str, Call]:
    """What a package has."""
    if package != "torch":
        return dict(of_mxnet(__import__(package)))
    if one_thread:
        __import__(package).set_num_threads(1)
    return dict(of_torch())


def spread(values: list[float]) -> str:
    mean = statistics.geometric_mean(values)
    return f"geometric mean {mean:.2f}, least {min(values):.2f}"


def compare(packages: dict[str, Package], only: str, rounds: int) -> None:
    """The table, a line as soon as it is known."""
    own, *peers = packages
    print("| operator | Ferromix, ms |", *(f"{p}, ms | of it |" for p in peers))
    print("|---|---|" + "---|---|" * len(peers))
    ratios: dict[str, list[float]] = {p: [] for p in peers}
    for row in (n for n in packages[own].hello if only in n):
        there = [p for p in packages if row in packages[p].hello]
        turns = [{p: float(packages[p].turn(row)) for p in there} for _ in range(rounds)]
        best = {p: min(t[p] for t in turns) for p in there}
        cells = []
        for peer in peers:
            if peer not in there:
                cells.append("|")
                continue
            ratio = statistics.median(t[peer] / t[own] for t in turns)
            ratios[peer] += [ratio] if "*" not in row else []
            cells.append(f"{best[peer]:.3f} | {ratio:.2f}")
        print(f"| {row} | {best[own]:.3f} |", " | ".join(cells), "|", flush=True)
    for peer, found in ratios.items():
        if found:
            print(f"\n{peer}, {len(found)} operators without a star: {spread(found)}")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", help="an interpreter with MXNet")
    parser.add_argument("--torch", help="an interpreter with torch")
    parser.add_argument("--only", default="", help="rows with this word")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each package")
    parser.add_argument("--one-thread", action="store_true", help="of each, and times of it")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        rows = rows_of(options.serve, options.one_thread)
        serve(rows.__getitem__, options.one_thread, list(rows))
        return
    given = {"ferromix": sys.executable, "mxnet": options.mxnet, "torch": options.torch}
    there = {name: python for name, python in given.items() if python}
    packages = {
        name: Package([python, __file__, "--serve", name], options.one_thread)
        for name, python in there.items()
    }
    compare(packages, options.only, options.rounds)


if __name__ == "__main__":
    main()

"""Networks and their single layers in Ferromix, MXNet, torch and ONNX Runtime, in turn in one run.

    python benches/network.py [--mxnet PYTHON] [--torch PYTHON] [--runtime] [--networks NAME ...]
                              [--layers NAME ... [--share SHARE]] [--batch N] [--rounds N]
                              [--one-thread] [--inference]

The interpreters have MXNet 1.9.1 (and NumPy before 1.24), and torch; ONNX Runtime is where Ferromix
is. Each package has a process of its own, and they take short turns, so that other work on the
machine meets all of them. Without `--layers`, the table has training and inference of the networks;
with it, the distinct convolutions and dense layers of those networks, forward and backward by data
and by weight, and their part of the best product of matrices that any package reaches in the run;
with `--share`, those alone that have such a share of the multiplications of a network.
`of best` is the time of the better of MXNet and torch, by that of Ferromix: above 1, Ferromix is
faster. With `--one-thread` each package uses one thread, and times are those of the processor; with
`--inference` nothing is trained, nor are gradients of layers taken.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from builders import runtime_step, symbol_layer, symbol_step, torch_layer, torch_step
from turns import Call, Package, serve
from zoo import NETWORKS, Layer, layers_of

LISTED = ["mlp", "lenet", "resnet20", "resnet18", "resnet50", "vgg11"]
LISTED += ["mobilenet1", "googlenet", "lstm"]
RUNTIME = "onnxruntime"
PRODUCT = Layer((1024, 1024), 1024)
"""What a processor's ceiling is taken from: the largest rate that a package reaches in it."""


class Calls:
    """The calls of one package; the last one is kept, as turns come back to it."""

    def __init__(self, package: str, one_thread: bool) -> None:
        self.package = package
        self.threads = 1 if one_thread else len(os.sched_getaffinity(0))
        self.kept: tuple[Any, Call | None] = (None, None)
        if package == "torch":
            __import__("torch").set_num_threads(self.threads)

    def find(self, row: list[Any]) -> Call:
        if self.kept[0] != row or self.kept[1] is None:
            self.kept = (None, None)
            self.kept = (row, self.make(*row))
        assert self.kept[1] is not None
        return self.kept[1]

    def make(self, kind: str, *what: Any) -> Call:
        if kind == "network":
            name, batch, train = what
            if self.package == RUNTIME:
                return runtime_step(name, batch, self.threads)
            if self.package == "torch":
                return torch_step(name, batch, train)
            return symbol_step(self.package, name, batch, train)
        sizes, gradient = what
        layer = Layer(tuple(sizes[0]), *sizes[1:])
        if self.package == "torch":
            return torch_layer(layer, gradient)
        return symbol_layer(self.package, layer, gradient)


def take_turns(packages: dict[str, Package], row: list[Any], rounds: int) -> dict[str, float]:
    """The median over the rounds of each package's time, in milliseconds."""
    turns = [{p: package.turn(row) for p, package in packages.items()} for _ in range(rounds)]
    failed = {p: found for p, found in turns[0].items() if isinstance(found, str)}
    for package, why in failed.items():
        print(f"{package}: {row}: {why}", file=sys.stderr)
    good = packages.keys() - failed
    return {p: statistics.median(float(t[p]) for t in turns) for p in packages if p in good}


def of_best(times: dict[str, float]) -> float | None:
    """How many times as fast as the better of MXNet and torch Ferromix is."""
    peers = [times[p] for p in ("mxnet", "torch") if p in times]
    return min(peers) / times["ferromix"] if peers else None


def line(label: str, times: dict[str, float], packages: dict[str, Package], *more: str) -> None:
    cells = [f"{times[p]:.3f}" if p in times else "" for p in packages]
    ratio = of_best(times)
    cells += [f"{ratio:.2f}" if ratio else "", *more]
    print(f"| {label} |", " | ".join(cells), "|", flush=True)


def head(first: str, packages: dict[str, Package], *more: str) -> None:
    cells = [first, *(f"{p}, ms" for p in packages), "of best", *more]
    print("| " + " | ".join(cells) + " |\n|" + "---|" * len(cells))


def networks(
    packages: dict[str, Package], names: list[str], batch: int, rounds: int, modes: tuple[bool, ...]
) -> None:
    """Prints the table of networks."""
    head("network, batch, mode", packages)
    ratios: list[float] = []
    for name in names:
        size = batch or NETWORKS[name].batch
        for train in modes:
            there = {p: k for p, k in packages.items() if p != RUNTIME or not train}
            times = take_turns(there, ["network", name, size, train], rounds)
            line(f"{name}, {size}, {'train' if train else 'infer'}", times, packages)
            ratios += [r for r in [of_best(times)] if r]
    if ratios:
        mean = statistics.geometric_mean(ratios)
        print(f"\nof best: geometric mean {mean:.2f}, least {min(ratios):.2f}")


def distinct(names: list[str], batch: int, share: float) -> Iterator[Layer]:
    """Layers of the networks, each once, that have such a share of a network's multiplications."""
    seen: set[Layer] = set()
    for name in names:
        found = layers_of(name, batch or NETWORKS[name].batch)
        least = share * sum(layer.flops for layer in found)
        for layer in found:
            if layer not in seen and found.count(layer) * layer.flops >= least:
                seen.add(layer)
                yield layer


def layers(
    packages: dict[str, Package],
    names: list[str],
    batch: int,
    rounds: int,
    modes: tuple[bool, ...],
    share: float,
) -> None:
    """Prints the table of layers; an image of three channels has no gradient by data."""
    product = take_turns(packages, ["layer", row_of(PRODUCT), ""], 3)
    ceiling = PRODUCT.flops / min(product.values()) / 1e6
    print(f"The best product of 1024 by 1024 matrices: {ceiling:.0f} GFLOP/s\n")
    head("layer, batch, pass", packages, "GFLOP/s", "of ceiling")
    ratios: dict[str, list[float]] = {}
    for layer in distinct(names, batch, share):
        for gradient in ("", "data", "weight") if True in modes else ("",):
            if gradient == "data" and layer.shape[1] <= 3:
                continue
            times = take_turns(packages, ["layer", row_of(layer), gradient], rounds)
            rate = layer.flops / times["ferromix"] / 1e6
            label = f"{layer}, {layer.shape[0]}, {gradient or 'forward'}"
            line(label, times, packages, f"{rate:.0f}", f"{rate / ceiling:.2f}")
            ratios.setdefault(gradient or "forward", []).extend(r for r in [of_best(times)] if r)
    for kind, found in ratios.items():
        if found:
            middle = statistics.median(found)
            print(f"\n{kind}, of best: median {middle:.2f}, least {min(found):.2f}")


def row_of(layer: Layer) -> list[Any]:
    return [list(layer.shape), layer.filters, layer.kernel, layer.stride, layer.pad, layer.groups]


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet", help="an interpreter with MXNet")
    parser.add_argument("--torch", help="an interpreter with torch")
    parser.add_argument("--runtime", action="store_true", help="ONNX Runtime's inference, too")
    parser.add_argument("--networks", nargs="+", default=LISTED, choices=list(NETWORKS))
    parser.add_argument("--layers", nargs="+", default=[], choices=list(NETWORKS))
    parser.add_argument(
        "--share", type=float, default=0, help="of a network's multiplications that a layer has"
    )
    parser.add_argument("--batch", type=int, default=0, help="instead of each network's own")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each package")
    parser.add_argument("--one-thread", action="store_true", help="of each, and times of it")
    parser.add_argument("--inference", action="store_true", help="nothing is trained")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(Calls(options.serve, options.one_thread).find, options.one_thread)
        return
    pythons = {"ferromix": sys.executable, "mxnet": options.mxnet, "torch": options.torch}
    if options.runtime:
        pythons[RUNTIME] = sys.executable
    packages = {
        name: Package([python, __file__, "--serve", name], options.one_thread)
        for name, python in pythons.items()
        if python
    }
    modes = (False,) if options.inference else (True, False)
    if options.layers:
        share = options.share
        layers(packages, options.layers, options.batch, options.rounds, modes, share)
    else:
        networks(packages, options.networks, options.batch, options.rounds, modes)


if __name__ == "__main__":
    main()

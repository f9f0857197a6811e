"""Random programs of sparse arrays in Ferromix and in MXNet 1.9.1.

usage: python tools/differential/sparse.py --mxnet PYTHON [--count N] [--seed N]

PYTHON is an interpreter whose environment has MXNet 1.9.1; it runs this file, too. Each seed makes
arrays, of which some have empty rows or no elements, and then calls operators on them and on what
came out before: products, arithmetic, slices, conversions, gradients, steps of optimizers. Of each
result values, shape, type and storage type are compared, and Ferromix checks the structure; which
zeros are stored, and in which order, may differ. Prints how many seeds agree, which calls only
MXNet refuses or gets wrong (docs/compatibility.md), and what is different first in other seeds.
"""

import argparse
import importlib
import json
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np

STEPS = 6
UNARY = ["abs", "square", "negative", "relu", "sign", "floor", "sqrt", "tanh", "expm1", "cos"]
REALS = ("float32", "float64")

# What MXNet computes from memory that it never wrote, or from columns out of order.
WRONG = ("norm csr", "dot row_sparse {'transpose_a': False}")


class Program:
    """The arrays and the calls of one seed."""

    def __init__(self, mx, seed):
        self.mx, self.nd = mx, mx.nd
        self.random = np.random.default_rng(seed)
        self.height = self.one([1, 2, 5, 17])
        self.width = self.one([1, 3, 8, 21])
        self.dtype = self.one(["float32", "float32", "float32", "float64"])
        self.found = {}
        self.arrays = [self.make(self.one(["csr", "row_sparse"])) for _ in range(3)]
        self.arrays.append(self.make("default"))

    def one(self, options):
        return options[int(self.random.integers(len(options)))]

    def values(self, shape):
        """Small numbers, many of them zero, and rows of nothing."""
        made = self.random.integers(-8, 9, shape) / 4
        made[self.random.random(shape) > self.one([0.0, 0.2, 0.6, 1.0])] = 0
        made[self.random.random(shape[0]) < self.one([0, 0.3])] = 0
        return made.astype(self.dtype)

    def make(self, stype, shape=None):
        dense = self.nd.array(self.values(shape or (self.height, self.width)), dtype=self.dtype)
        return dense if stype == "default" else dense.tostype(stype)

    def note(self, what, array):
        kept = [getattr(array, "stype", "default"), array.dtype.__name__, list(array.shape)]
        if kept[0] != "default" and self.mx.__name__ == "ferromix":
            array.check_format()
        values = array.asnumpy().astype("float64").tolist()
        self.found[f"{len(self.found):02d} {what}"] = [kept, values]

    # -- calls ---------------------------------------------------------------------------------

    def unary(self):
        x, name = self.one(self.arrays), self.one(UNARY)
        return f"{name} {x.stype}", getattr(self.nd, name)(x)

    def scalar(self):
        x, sign = self.one(self.arrays), self.one("*/+-")
        number = self.one([2.0, 0.5, -1.0])
        made = {"*": lambda: x * number, "/": lambda: x / number, "+": lambda: x + number}
        return f"{x.stype} {sign} {number}", made.get(sign, lambda: x - number)()

    def binary(self):
        x, y, name = self.one(self.arrays), self.one(self.arrays), self.one(["add", "sub", "mul"])
        return f"{name} {x.stype} {y.stype}", getattr(self.nd, f"elemwise_{name}")(x, y)

    def product(self):
        matrices = [a for a in self.arrays if a.stype == "csr"] or [self.make("csr")]
        lhs, back = self.one(matrices), self.one([False, True])
        inner = lhs.shape[0] if back else lhs.shape[1]
        rhs = self.make(
            self.one(["default", "default", "row_sparse"]), (inner, self.one([1, 2, 9]))
        )
        attrs = {"transpose_a": back, **self.one([{}, {"forward_stype": "default"}])}
        return f"dot {rhs.stype} {attrs}", self.nd.sparse.dot(lhs, rhs, **attrs)

    def slices(self):
        x = self.one(self.arrays)
        begin = int(self.random.integers(0, x.shape[0]))
        end = int(self.random.integers(begin, x.shape[0])) + 1
        if x.stype == "row_sparse":
            wanted = sorted(set(self.random.integers(0, x.shape[0], 3).tolist()))
            rows = self.nd.array(wanted, dtype="int64")
            return f"retain {wanted}", self.nd.sparse.retain(x, rows)
        return f"{x.stype}[{begin}:{end}]", x[begin:end]

    def reduce(self):
        x, name, axis = self.one(self.arrays), self.one(["sum", "mean"]), self.one([0, 1])
        attrs = {"axis": axis, "keepdims": self.one([False, True])}
        if self.one([False, True]) and x.stype != "default":
            return f"norm {x.stype}", self.nd.norm(x)
        return f"{name} {x.stype} {attrs}", getattr(self.nd, name)(x, **attrs)

    def convert(self):
        x = self.one(self.arrays)
        stype = self.one(["default", "csr", "row_sparse"])
        return f"{x.stype} to {stype}", x.tostype(stype)

    def several(self):
        x = self.one([a for a in self.arrays if a.stype == "csr"] or [self.make("csr")])
        others = [self.make("csr", (self.one([1, 4]), x.shape[1])) for _ in range(2)]
        return "concat", self.nd.concat(x, *others, dim=0)

    def gradient(self):
        autograd = self.mx.autograd
        csr = self.make("csr", (self.height, self.width))
        weight = self.nd.array(self.values((self.width, self.one([1, 4]))), dtype=self.dtype)
        weight.attach_grad(stype=self.one(["default", "row_sparse"]))
        with autograd.record():
            out = self.nd.sparse.dot(csr, weight)
            out = self.one([lambda: out, lambda: out * out, lambda: self.nd.tanh(out)])()
        out.backward()
        return f"gradient {weight.grad.stype}", weight.grad

    def embed(self):
        ids = self.random.integers(0, self.height, self.one([1, 7])).astype("float32")
        weight = self.nd.array(self.values((self.height, 3)), dtype=self.dtype)
        attrs = {"input_dim": self.height, "output_dim": 3, "dtype": self.dtype}
        weight.attach_grad(stype="row_sparse")
        with self.mx.autograd.record():
            out = self.nd.Embedding(self.nd.array(ids), weight, sparse_grad=True, **attrs)
            out = out * out
        out.backward()
        return "embedding", weight.grad

    def step(self):
        name = self.one(["sgd", "sgd", "adam", "adagrad", "ftrl", "nag", "rmsprop"])
        attrs = {"momentum": self.one([0.0, 0.5])} if name in ("sgd", "nag") else {}
        optimizer = self.mx.optimizer.create(name, learning_rate=0.5, rescale_grad=0.5, **attrs)
        weight = self.nd.ones((self.height, 2), dtype="float32")
        if self.one([False, True]):
            weight = weight.tostype("row_sparse")
        state = optimizer.create_state(0, weight)
        for _ in range(2):
            values = self.values((self.height, 2)).astype("float32")
            grad = self.nd.array(values, dtype="float32").tostype("row_sparse")
            optimizer.update(0, weight, grad, state)
        return f"{name} {weight.stype} {attrs}", weight.tostype("default")

    def run(self):
        for array in self.arrays:
            self.note("made", array)
        for _ in range(STEPS):
            call = self.one(CALLS)
            state = self.random.bit_generator.state
            try:
                what, result = getattr(self, call)()
                result.wait_to_read()
                self.note(what, result)
                same = result.shape == (self.height, self.width)
                if same and call in ("unary", "scalar", "binary", "convert", "slices"):
                    self.arrays.append(result)
            except Exception as error:  # both may refuse
                if not isinstance(error, (ValueError, TypeError, self.mx.base.MXNetError)):
                    raise
                self.found[f"{len(self.found):02d} {call}"] = "refused"
            self.random.bit_generator.state = state
            self.random.random(100)
        return self.found


CALLS = [
    *("unary", "scalar", "binary", "binary", "product", "product", "slices", "reduce", "convert"),
    *("several", "gradient", "embed", "step"),
]


def serve(package, first, count):
    """What each seed gives, one line of JSON each."""
    warnings.simplefilter("ignore")
    mx = importlib.import_module(package)
    for seed in range(first, first + count):
        program = Program(mx, seed)
        try:
            found = program.run()
        except Exception as error:
            found = {**program.found, "end": f"{type(error).__name__}: {error}"}
        print("\n@" + json.dumps([seed, found]), flush=True)


def answers(python, package, first, count):
    """The same from an interpreter of its own, started anew after a seed in which it dies."""
    found, end = {}, first + count
    while first < end:
        command = [python, __file__, "--serve", package, "--seed", str(first)]
        command += ["--count", str(end - first)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = (line[1:] for line in done.stdout.splitlines() if line.startswith("@"))
        found.update(dict(json.loads(line) for line in lines))
        first = max([first - 1, *(seed for seed in found if seed >= first)]) + 2
    return found


def difference(ours, theirs, bold):
    """What is different first, in a few words; None where the two agree.

    `bold` counts the calls that only MXNet refuses, or gets wrong, from which on arrays differ.
    """
    if ours is None:
        return "Ferromix's process dies"
    for a, b in zip(ours.items(), theirs.items()):
        if a == b:
            continue
        if b[1] == "refused":
            bold[a[0][3:].split(" ")[0]] += 1
            return None
        if a[0] != b[0] or isinstance(a[1], str) or isinstance(b[1], str):
            return f"{a[0]}: {brief(a[1])} instead of {b[0]}: {brief(b[1])}"
        if a[1][0] != b[1][0]:
            return f"{a[0]}: {a[1][0]} instead of {b[1][0]}"
        x, y = np.array(a[1][1], "float64"), np.array(b[1][1], "float64")
        if not np.allclose(x, y, rtol=1e-4, atol=1e-5, equal_nan=True):
            if a[0][3:].startswith(WRONG):
                bold[f"{a[0][3:]}, wrong"] += 1
                return None
            return f"{a[0]}: off by {np.abs(x - y).max():.3g}"
    return None if len(ours) == len(theirs) else f"{len(ours)} results instead of {len(theirs)}"


def brief(answer):
    """Whether it was refused, or what storage type it has."""
    return answer if isinstance(answer, str) else answer[0][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.seed, options.count)
        return
    ours = answers(sys.executable, "ferromix", options.seed, options.count)
    theirs = answers(options.mxnet, "mxnet", options.seed, options.count)
    dead = [s for s in range(options.seed, options.seed + options.count) if s not in theirs]
    wrong, bold = Counter(), Counter()
    for seed in range(options.seed, options.seed + options.count):
        found = None if seed in dead else difference(ours.get(seed), theirs[seed], bold)
        wrong[found is None] += 1
        if found:
            print(f"* {seed}: {found}")
    print(f"only MXNet refuses, or is wrong: {dict(bold)}")
    print(f"{wrong[True] - len(dead)} of {options.count} agree; MXNet died in {len(dead)}: {dead}")


if __name__ == "__main__":
    main()

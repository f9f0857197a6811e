"""Random graphs, bound and run in random ways, in Ferromix and in MXNet 1.9.1.

usage: python tools/differential/executors.py --mxnet PYTHON [--count N] [--seed N]

PYTHON is an interpreter whose environment has MXNet 1.9.1; it runs this file, too. Each seed is a
graph with values, requests and a list of actions: passes forward and back, with and without a
monitor, other shapes, other executors in the same memory. Ferromix makes some forward passes step
by step. Prints how many seeds agree, and what is different in the others.
"""

import argparse
import importlib
import json
import subprocess
import sys
import warnings
from collections import Counter

import numpy as np

WIDTH = 6


class Scenario:
    """The graph and the actions of one seed."""

    def __init__(self, mx, seed):
        self.mx, self.sym = mx, mx.sym
        self.random = np.random.default_rng(seed)
        self.requests = self.one(["write", "write", "mixed", "add", "null"])
        self.count = 0
        self.buffer = self.one([None, {}])
        self.found = {}

    def one(self, options):
        return options[int(self.random.integers(len(options)))]

    def name(self, kind):
        self.count += 1
        return f"{kind}{self.count}"

    # -- graphs --------------------------------------------------------------------------------

    def layer(self, nodes):
        """One more node, of shape (batch, WIDTH) like all others."""
        sym, x, y = self.sym, self.one(nodes), self.one(nodes)
        kind = self.one(KINDS if self.requests == "write" else OTHERS)
        name = self.name(kind)
        if kind == "fc":
            return sym.FullyConnected(
                x, num_hidden=WIDTH, no_bias=self.one([True, False]), name=name
            )
        if kind == "act":
            return sym.Activation(x, act_type=self.one(["relu", "tanh", "sigmoid"]), name=name)
        if kind == "bn":
            return sym.BatchNorm(x, fix_gamma=False, momentum=0.5, name=name)
        if kind == "mul":
            return sym.elemwise_mul(x, y, name=name)
        if kind == "plus":
            total = sym.sum(y, axis=1, keepdims=True, name=self.name("total"))
            return sym.broadcast_add(x, total, name=name)
        if kind == "parts":
            parts = sym.SliceChannel(x, num_outputs=2, axis=1, name=name)
            return sym.Concat(parts[1], parts[0], dim=1, name=self.name("concat"))
        if kind == "shape":
            there = sym.Reshape(x, shape=(-1, 2, WIDTH // 2), name=name)
            there = sym.transpose(there, axes=(0, 2, 1), name=self.name("turned"))
            return sym.Flatten(there, name=self.name("flat"))
        if kind == "drop":
            return sym.Dropout(x, p=0.0, name=name)
        if kind == "block":
            return sym.broadcast_add(x, sym.BlockGrad(y, name=name), name=self.name("sum"))
        return getattr(sym, kind)(x, name=name)

    def graph(self):
        nodes = [self.sym.tanh(self.sym.Variable("data"), name="first")]
        for _ in range(int(self.random.integers(1, 8))):
            nodes.append(self.layer(nodes))
        heads = [nodes[-1]] + [self.one(nodes) for _ in range(int(self.random.integers(0, 2)))]
        if self.requests == "write" and self.one([True, False]):
            heads[0] = self.sym.SoftmaxOutput(heads[0], name="softmax")
        unique = {h.list_outputs()[0]: h for h in heads}
        return self.sym.Group(list(unique.values()))

    # -- executors -----------------------------------------------------------------------------

    def values(self, net, batch):
        known = {"data": (batch, WIDTH)}
        args, _, states = net.infer_shape(**known)
        found = {}
        for name, shape in zip(net.list_arguments(), args):
            found[name] = self.random.uniform(-1, 1, shape).astype("float32")
            if name.endswith("label"):
                found[name] = self.random.integers(0, WIDTH, shape).astype("float32")
        for name, shape in zip(net.list_auxiliary_states(), states):
            found[name] = self.random.uniform(0.5, 1, shape).astype("float32")
        return found

    def requested(self, net):
        names = net.list_arguments()
        if self.requests != "mixed":
            wanted = dict.fromkeys(names, self.requests)
        else:
            wanted = {n: self.one(["write", "add"]) for n in names}
        wanted.update({n: "null" for n in names if n.endswith("label")})
        return self.one([wanted, [wanted[n] for n in names]])

    def bind(self, net, batch, shared=None):
        mx, values, requests = self.mx, self.values(net, batch), self.requested(net)
        states = {n: mx.nd.array(values[n]) for n in net.list_auxiliary_states()}
        if self.one([True, False]):
            args = {n: mx.nd.array(values[n]) for n in net.list_arguments()}
            grads = {n: mx.nd.ones(a.shape) for n, a in args.items()}
            return net.bind(mx.cpu(), args, grads, requests, states, shared_exec=shared)
        names = self.one([None, [n for n in values if n.startswith("fc")]])
        executor = net.simple_bind(
            mx.cpu(),
            requests,
            data=(batch, WIDTH),
            shared_exec=shared,
            # MXNet passes over the names where there is no buffer.
            shared_arg_names=None if self.buffer is None else names,
            shared_buffer=self.buffer,
        )
        params = {n: mx.nd.array(values[n]) for n in net.list_arguments()}
        executor.copy_params_from(params, states)
        for gradient in executor.grad_dict.values():
            if gradient is not None:
                gradient[:] = 1
        return executor

    # -- actions -------------------------------------------------------------------------------

    def note(self, what, arrays):
        for name, array in arrays.items():
            if array is not None:
                self.found[f"{len(self.found):04d} {what} {name}"] = array.asnumpy().tolist()

    def forward(self, executor, is_train, stepwise):
        if stepwise and hasattr(executor, "partial_forward"):
            step = 0
            while executor.partial_forward(is_train, step):
                step += 1
        else:
            executor.forward(is_train=is_train)
        self.note("output", executor.output_dict)

    def backward(self, executor):
        heads = [self.random.uniform(-1, 1, o.shape).astype("float32") for o in executor.outputs]
        executor.backward([self.mx.nd.array(h) for h in heads])
        self.note("gradient", executor.grad_dict)

    def monitor(self, executor, net):
        public, seen = set(net.get_internals().list_outputs()), []

        def callback(name, array):
            if isinstance(name, bytes):
                ctypes, base = importlib.import_module("ctypes"), self.mx.base
                name = name.decode()
                array = self.mx.nd.NDArray(ctypes.cast(array, base.NDArrayHandle), writable=False)
            if name in public:
                seen.append((name, array.asnumpy()))

        executor.set_monitor_callback(callback)
        executor.forward(is_train=False)
        for name, value in seen:
            self.found[f"{len(self.found):04d} monitor {name}"] = value.tolist()

    def act(self, net, executors):
        executor = self.one(executors)
        kind, flags = self.one(ACTIONS), [self.one([True, False]) for _ in range(2)]
        batch = int(self.random.integers(1, 6))
        if kind == "train":
            self.forward(executor, True, flags[0])
            self.backward(executor)
            self.note("state", executor.aux_dict)
        elif kind == "predict":
            self.forward(executor, False, flags[0])
            if flags[1] and "bn" not in "".join(net.list_arguments()):
                self.backward(executor)
        elif kind == "monitor":
            self.monitor(executor, net)
        elif kind == "share":
            executors.append(self.bind(net, batch, executor))
        else:
            shapes = {"data": (batch, WIDTH)}
            if "softmax_label" in net.list_arguments() and flags[1]:
                shapes["softmax_label"] = (batch,)
            options = {"partial_shaping": flags[0], "allow_up_sizing": self.one([True, False])}
            made = executor.reshape(**options, **shapes)
            for name in ("data", "softmax_label"):
                if name in made.arg_dict:
                    made.arg_dict[name][:] = 0.5
            for gradient in made.grad_dict.values():
                if gradient is not None:
                    gradient[:] = 1
            executors.append(made)

    def run(self):
        net = self.graph()
        executors = [self.bind(net, int(self.random.integers(1, 6)))]
        for _ in range(8):
            state = self.random.bit_generator.state
            try:
                self.act(net, executors)
            except Exception as error:  # both may refuse
                self.random.bit_generator.state = state
                self.random.random(100)
                self.found[f"{len(self.found):04d} refused"] = None
                self.reason = f"{type(error).__name__}: {error}"
                if not isinstance(error, (ValueError, TypeError, self.mx.base.MXNetError)):
                    raise
        self.mx.nd.waitall()
        return self.found


KINDS = [
    *("fc", "fc", "act", "bn", "mul", "plus", "parts", "shape", "drop", "block"),
    *("square", "exp", "sin", "negative", "softmax", "L2Normalization"),
]
# MXNet changes running statistics only where it goes back, and has faults with the request add.
OTHERS = ["fc", "act", "mul", "plus", "parts", "shape", "square", "sin", "softmax"]
ACTIONS = ["train", "train", "train", "predict", "monitor", "share", "reshape", "reshape"]


def serve(package, first, count):
    """What each seed gives, one line of JSON each."""
    warnings.simplefilter("ignore")
    mx = importlib.import_module(package)
    for seed in range(first, first + count):
        scenario = Scenario(mx, seed)
        try:
            found = scenario.run()
        except Exception as error:
            found = {**scenario.found, "end": f"{type(error).__name__}: {error}"}
        print("\n@" + json.dumps([seed, found]), flush=True)


def answers(python, package, first, count):
    """The same from an interpreter of its own, started anew after a seed in which it dies."""
    found, end = {}, first + count
    while first < end:
        command = [python, __file__, "--serve", package, "--seed", str(first)]
        command += ["--count", str(end - first)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = (line[1:] for line in done.stdout.splitlines() if line.startswith("@"))
        found |= dict(json.loads(line) for line in lines)
        first = max([first - 1, *(seed for seed in found if seed >= first)]) + 2
    return found


def difference(ours, theirs):
    """What is different first, in a few words; None where the two agree."""
    if ours is None:
        return "Ferromix's process dies"
    for a, b in zip(ours.items(), theirs.items()):
        if a[0] != b[0]:
            return f"{a[0]} instead of {b[0]}"
        if isinstance(a[1], str) or a[1] is None:
            if a[1] != b[1]:
                return f"{a[0]}: {a[1]} instead of {b[1]}"
            continue
        x, y = np.array(a[1]), np.array(b[1])
        if x.shape != y.shape:
            return f"{a[0]}: shape {x.shape} instead of {y.shape}"
        if not np.allclose(x, y, rtol=1e-3, atol=1e-4, equal_nan=True):
            return f"{a[0]}: off by {np.abs(x - y).max():.3g}"
    return None if len(ours) == len(theirs) else f"{len(ours)} results instead of {len(theirs)}"


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
    wrong = Counter()
    for seed in range(options.seed, options.seed + options.count):
        found = None if seed in dead else difference(ours.get(seed), theirs[seed])
        wrong[found is None] += 1
        if found:
            print(f"* {seed}: {found}")
    print(f"{wrong[True] - len(dead)} of {options.count} agree; MXNet died in {len(dead)}: {dead}")


if __name__ == "__main__":
    main()

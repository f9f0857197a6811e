"""Writes tests/golden/ops/*.npz: what MXNet 1.9.1 computes for operators with rules of their own.

Run it once with a Python that has MXNet 1.9.1; nothing else in Ferromix needs MXNet. A file holds
one family: ``cases`` is a JSON list of operator, attributes, mode and names; case ``i`` keeps its
arrays under ``i.in.<name>``, ``i.aux.<name>``, ``i.head``, ``i.out.<k>``, ``i.grad.<name>`` and
``i.after.<name>`` (states and weights after the run).
"""

import itertools
import json
import sys
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "ops"


class Recorder:
    """Runs operators of one family and keeps what they were given and what they gave."""

    def __init__(self, family: str) -> None:
        self.family = family
        self.cases: list[dict] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.random = np.random.default_rng(len(family))

    def normal(self, *shape: int) -> np.ndarray:
        """Normal numbers as float32."""
        return self.random.standard_normal(shape).astype(np.float32)

    def keep(self, part: str, name: str, value: np.ndarray) -> None:
        """Stores one array of the case that is being recorded."""
        self.arrays[f"{len(self.cases)}.{part}.{name}"] = value

    def symbolic(self, op: str, attrs: dict, inputs: dict, train: bool = True, aux=None) -> None:
        """Binds the operator, runs it forward and backward with a random gradient on top."""
        names = list(inputs)
        variables = [mx.sym.Variable(n) for n in [*names, *(aux or {})]]
        module = mx.sym if hasattr(mx.sym, op) else mx.sym._internal
        if op.startswith("_contrib_"):
            module = mx.sym.contrib
        symbol = getattr(module, op.removeprefix("_contrib_"))(*variables, **attrs)
        arrays = {n: mx.nd.array(v) for n, v in inputs.items()}
        grads = {n: mx.nd.zeros(v.shape) for n, v in inputs.items()}
        states = {n: mx.nd.array(v) for n, v in (aux or {}).items()}
        request = "write" if train else "null"
        executor = symbol.bind(mx.cpu(), arrays, grads, request, states)
        outputs = executor.forward(is_train=train)
        heads = [mx.nd.zeros(o.shape) for o in outputs]
        heads[0] = mx.nd.array(self.normal(*outputs[0].shape))
        results = [o.asnumpy() for o in outputs]
        if train:
            executor.backward(heads)
        for name, value in inputs.items():
            self.keep("in", name, value)
            if train:
                self.keep("grad", name, grads[name].asnumpy())
        for name, value in (aux or {}).items():
            self.keep("aux", name, value)
            self.keep("after", name, states[name].asnumpy())
        self.keep("head", "0", heads[0].asnumpy())
        for k, value in enumerate(results):
            self.keep("out", str(k), value)
        self.add(op, attrs, names, list(aux or {}), train)

    def imperative(self, op: str, attrs: dict, inputs: dict) -> None:
        """Runs an operator that symbols lack, forward."""
        for name, value in inputs.items():
            self.keep("in", name, value)
        out = getattr(mx.nd, op)(*map(mx.nd.array, inputs.values()), **attrs)
        self.keep("out", "0", out.asnumpy())
        self.add(op, attrs, list(inputs), [], False)

    def update(self, op: str, attrs: dict, inputs: dict) -> None:
        """Runs an optimizer's step on the weight, which comes first."""
        arrays = [mx.nd.array(v) for v in inputs.values()]
        getattr(mx.nd, op)(*arrays, out=arrays[0], **attrs)
        for (name, value), array in zip(inputs.items(), arrays):
            self.keep("in", name, value)
            self.keep("after", name, array.asnumpy())
        self.add(op, attrs, list(inputs), [], True)

    def add(self, op: str, attrs: dict, inputs: list, aux: list, train: bool) -> None:
        """Ends the case that is being recorded."""
        words = {k: str(v) for k, v in attrs.items()}
        self.cases.append({"op": op, "attrs": words, "inputs": inputs, "aux": aux, "train": train})

    def save(self) -> None:
        """Writes the family's file."""
        self.arrays["cases"] = np.array(json.dumps(self.cases))
        np.savez_compressed(TARGET / f"{self.family}.npz", **self.arrays)


def convolution(r: Recorder) -> None:
    """Dimensions, groups, strides, padding, dilation, with and without bias."""
    rows = [
        ((2, 4, 9), 6, {"kernel": (3,)}),
        (
            (2, 4, 9),
            6,
            {"kernel": (3,), "stride": (2,), "pad": (2,), "dilate": (2,), "num_group": 2},
        ),
        ((2, 4, 7, 6), 6, {"kernel": (3, 2)}),
        ((2, 4, 7, 6), 6, {"kernel": (3, 3), "pad": (1, 1)}),
        ((2, 4, 7, 6), 6, {"kernel": (3, 3), "stride": (2, 1), "pad": (1, 0), "no_bias": True}),
        ((2, 4, 7, 6), 6, {"kernel": (3, 2), "dilate": (2, 3), "pad": (2, 1)}),
        ((2, 4, 7, 6), 6, {"kernel": (2, 3), "num_group": 2, "stride": (2, 2)}),
        ((2, 4, 7, 6), 4, {"kernel": (3, 3), "num_group": 4, "pad": (1, 1)}),
        ((2, 4, 7, 6), 8, {"kernel": (3, 3), "num_group": 4, "pad": (1, 1), "no_bias": True}),
        ((2, 4, 7, 6), 5, {"kernel": (1, 1)}),
        ((2, 4, 7, 6), 5, {"kernel": (1, 1), "stride": (2, 2), "no_bias": True}),
        ((2, 4, 7, 6), 3, {"kernel": (7, 6)}),
        ((1, 3, 12, 12), 4, {"kernel": (5, 5), "pad": (2, 2), "stride": (3, 3), "workspace": 256}),
        ((1, 2, 5, 4, 4), 4, {"kernel": (2, 3, 2)}),
        ((1, 2, 5, 4, 4), 4, {"kernel": (3, 3, 3), "pad": (1, 1, 1), "stride": (2, 1, 2)}),
        (
            (1, 2, 5, 4, 4),
            4,
            {"kernel": (2, 2, 2), "dilate": (2, 1, 3), "num_group": 2, "no_bias": True},
        ),
    ]
    for shape, filters, attrs in rows:
        weight = (filters, shape[1] // attrs.get("num_group", 1), *attrs["kernel"])
        inputs = {"data": r.normal(*shape), "weight": r.normal(*weight)}
        if not attrs.get("no_bias"):
            inputs["bias"] = r.normal(filters)
        r.symbolic("Convolution", dict(attrs, num_filter=filters), inputs)


def fully_connected(r: Recorder) -> None:
    """Shapes of data, with and without flattening and bias."""
    for shape in ((3, 5), (2, 3, 4), (2, 2, 3, 2)):
        for flatten, no_bias in itertools.product((True, False), (True, False)):
            width = int(np.prod(shape[1:])) if flatten else shape[-1]
            inputs = {"data": r.normal(*shape), "weight": r.normal(4, width)}
            if not no_bias:
                inputs["bias"] = r.normal(4)
            attrs = {"num_hidden": 4, "flatten": flatten, "no_bias": no_bias}
            r.symbolic("FullyConnected", attrs, inputs)


def pooling(r: Recorder) -> None:
    """Types, conventions, padding that counts or does not, whole images, ties."""
    kinds = [("max", None), ("sum", None), ("avg", True), ("avg", False)]
    windows = [
        ((1, 2, 7, 6), (2, 2), (2, 2), (0, 0)),
        ((1, 2, 7, 6), (3, 2), (2, 3), (1, 1)),
        ((1, 2, 7, 6), (3, 3), (1, 1), (1, 1)),
        ((1, 2, 9), (3,), (2,), (1,)),
        ((1, 2, 4, 5, 3), (2, 3, 2), (2, 2, 1), (1, 0, 1)),
    ]
    for (shape, kernel, stride, pad), (kind, padded) in itertools.product(windows, kinds):
        for convention in ("valid", "full"):
            attrs = {"kernel": kernel, "stride": stride, "pad": pad, "pool_type": kind}
            attrs["pooling_convention"] = convention
            if padded is not None:
                attrs["count_include_pad"] = padded
            r.symbolic("Pooling", attrs, {"data": r.normal(*shape)})
    for kind in ("max", "sum", "avg"):
        attrs = {"pool_type": kind, "global_pool": True}
        r.symbolic("Pooling", attrs, {"data": r.normal(2, 2, 3, 4)})
    ties = r.random.integers(0, 3, (1, 2, 6, 6)).astype(np.float32)
    r.symbolic("Pooling", {"kernel": (3, 3), "stride": (2, 2)}, {"data": ties})


def batch_norm(r: Recorder) -> None:
    """Training and prediction, with the running statistics before and after."""
    options = itertools.product((True, False), (True, False), (True, False))
    for train, fix_gamma, global_stats in options:
        for shape, axis in (((4, 3), 1), ((3, 2, 4, 3), 1), ((2, 3, 4), -1)):
            attrs = {"fix_gamma": fix_gamma, "use_global_stats": global_stats, "axis": axis}
            norm(r, shape, dict(attrs, eps=0.01, momentum=0.7), train)
    norm(r, (3, 2, 4, 3), {"fix_gamma": False, "output_mean_var": True}, True)


def norm(r: Recorder, shape: tuple, attrs: dict, train: bool) -> None:
    """One case of batch normalization."""
    n = shape[attrs.get("axis", 1)]
    data = r.normal(*shape) * 2 + 1
    inputs = {"data": data, "gamma": r.normal(n) + 2, "beta": r.normal(n)}
    aux = {"moving_mean": r.normal(n), "moving_var": np.abs(r.normal(n)) + 0.5}
    r.symbolic("BatchNorm", attrs, inputs, train, aux)


def softmax_output(r: Recorder) -> None:
    """Normalizations, ignored labels, several outputs, and the factors of the gradient.

    Not `out_grad`: MXNet 1.9.1 multiplies by the output there instead of its gradient.
    """
    norms = [{"normalization": n} for n in ("null", "batch", "valid")]
    ignores = [{}, {"use_ignore": True, "ignore_label": 2}, {"use_ignore": True}]
    forms = [
        ({}, (6, 4), (6,), 1),
        ({"multi_output": True}, (2, 4, 3, 2), (2, 6), 1),
        ({"multi_output": True}, (2, 4, 3, 2), (2, 3, 2), 1),
        ({"preserve_shape": True}, (2, 3, 4), (2, 3), 1),
    ]
    for (form, shape, labels, _), norm_, ignore in itertools.product(forms, norms, ignores):
        label = r.random.integers(0, 4, labels).astype(np.float32)
        label.flat[0] = -1 if ignore and "ignore_label" not in ignore else label.flat[0]
        inputs = {"data": r.normal(*shape), "label": label}
        r.symbolic("SoftmaxOutput", {**form, **norm_, **ignore}, inputs)
    extras = [
        {"grad_scale": 2.5},
        {"smooth_alpha": 0.1},
        {"smooth_alpha": 0.2, "use_ignore": True, "ignore_label": 1, "normalization": "valid"},
    ]
    for (form, shape, labels, _), extra in itertools.product(forms, extras):
        label = r.random.integers(0, 4, labels).astype(np.float32)
        r.symbolic("SoftmaxOutput", {**form, **extra}, {"data": r.normal(*shape), "label": label})
    for extra in ({}, {"grad_scale": 2.0}):
        soft = r.random.dirichlet(np.ones(4), 6).astype(np.float32)
        r.symbolic("SoftmaxOutput", extra, {"data": r.normal(6, 4), "label": soft})


def activation(r: Recorder) -> None:
    """All functions; LeakyReLU with learned slopes for each channel, and one for all."""
    data = np.linspace(-4, 4, 2 * 3 * 5, dtype=np.float32).reshape(2, 3, 5)
    for act_type in ("relu", "sigmoid", "softrelu", "softsign", "tanh"):
        r.symbolic("Activation", {"act_type": act_type}, {"data": data})
    for act_type in ("leaky", "elu", "gelu"):
        r.symbolic("LeakyReLU", {"act_type": act_type}, {"data": data})
    # MXNet 1.9.1 has a factor too many in the gradient of selu, so only its output is kept.
    r.symbolic("LeakyReLU", {"act_type": "selu"}, {"data": data}, train=False)
    for act_type in ("leaky", "elu"):
        r.symbolic("LeakyReLU", {"act_type": act_type, "slope": 0.1}, {"data": data})
    for n in (3, 1):
        inputs = {"data": data, "gamma": r.normal(n)}
        r.symbolic("LeakyReLU", {"act_type": "prelu"}, inputs)


def dropout(r: Recorder) -> None:
    """The scale of what stays, in training and in prediction."""
    ones = np.ones((40, 10), np.float32)
    for p, train in itertools.product((0.0, 0.25, 0.5, 0.8), (True, False)):
        r.symbolic("Dropout", {"p": p}, {"data": ones}, train)
    r.symbolic("Dropout", {"p": 0.5, "mode": "always"}, {"data": ones}, False)


def optimizer(r: Recorder) -> None:
    """Decay, rescaling and clipping, after one step from random states."""
    options = [
        {},
        {"wd": 0.1},
        {"rescale_grad": 0.5, "clip_gradient": 0.3},
        {"wd": 0.1, "rescale_grad": 2.0, "clip_gradient": 0.5},
        {"clip_gradient": 0.0},
    ]
    for extra in options:
        weight, grad = r.normal(3, 4), r.normal(3, 4)
        r.update("sgd_update", dict(lr=0.1, **extra), {"weight": weight, "grad": grad})
        for momentum in (0.0, 0.9):
            attrs = dict(lr=0.1, momentum=momentum, **extra)
            inputs = {"weight": weight, "grad": grad, "mom": r.normal(3, 4)}
            r.update("sgd_mom_update", attrs, inputs)
        mean, var = r.normal(3, 4), np.abs(r.normal(3, 4))
        inputs = {"weight": weight, "grad": grad, "mean": mean, "var": var}
        r.update("adam_update", dict(lr=0.01, beta1=0.8, beta2=0.99, **extra), inputs)
        r.update("adam_update", dict(lr=0.01, **extra), inputs)


def indexing(r: Recorder) -> None:
    """Indices inside and outside, whole and with fractions; gradients where several meet."""
    far = np.array([[-1, 0, 3], [-4, 7, 2]], np.float32)
    parts = np.array([0.9, 1.5, -0.5, -1.5], np.float32)
    for axis, mode in itertools.product((0, 1, -1), ("clip", "wrap")):
        for indices in (far, parts):
            inputs = {"a": r.normal(3, 4, 2), "indices": indices}
            r.symbolic("take", {"axis": axis, "mode": mode}, inputs)
    inputs = {"a": r.normal(3, 4), "indices": np.array([2, 0, 2], np.float32)}
    r.symbolic("take", {"axis": 1, "mode": "raise"}, inputs)
    for axis, mode, keepdims in itertools.product((0, 1, -1), ("clip", "wrap"), (False, True)):
        shape = [2, 3, 4]
        shape.pop(axis)
        inputs = {"data": r.normal(2, 3, 4), "index": r.normal(*shape) * 3}
        r.symbolic("pick", {"axis": axis, "mode": mode, "keepdims": keepdims}, inputs)
    indices = np.array([0, 2, -1, 3, 1.7, -0.5, np.nan], np.float32)
    for extra in ({}, {"on_value": 2.5, "off_value": -1}):
        r.symbolic("one_hot", dict(depth=3, **extra), {"indices": indices}, train=False)
    values = {"lhs": r.normal(5, 3), "mhs": r.normal(5), "rhs": indices[1:6]}
    r.imperative("fill_element_0index", {}, values)
    # Of negative indices only those that are gathered: MXNet 1.9.1 scatters them out of bounds.
    nd = np.array([[0, 1, 1, -1, 1.5], [2, 0, 0, -2, 1]], np.float32)
    r.symbolic("gather_nd", {}, {"data": r.normal(3, 4), "indices": nd}, train=False)
    nd = np.abs(nd)
    r.symbolic("gather_nd", {}, {"data": r.normal(3, 4, 2), "indices": nd})
    r.symbolic("gather_nd", {}, {"data": r.normal(3, 4), "indices": nd[:1].reshape(1, 5, 1)})
    for op in ("scatter_nd", "_backward_gather_nd"):
        r.symbolic(op, {"shape": (3, 4)}, {"data": r.normal(5), "indices": nd})
        r.symbolic(op, {"shape": (3, 4, 2)}, {"data": r.normal(5, 2), "indices": nd})


def ordering(r: Recorder) -> None:
    """Axes, both directions, everything that is returned; ties in short lines, where MXNet keeps
    their order."""
    ties = np.array([[3, 1, 3, 2], [0, 5, 5, 5], [-1, 0, 0, -2]], np.float32)
    whole = r.random.permutation(60).astype(np.float32)
    for axis, up in itertools.product((0, 1, -1, None), (True, False)):
        for data in (ties, whole.reshape(6, 10)):
            r.symbolic("argsort", {"axis": axis, "is_ascend": up}, {"data": data}, train=False)
            # MXNet 1.9.1 has no gradient where the axis is None.
            train = axis is not None
            r.symbolic("sort", {"axis": axis, "is_ascend": up}, {"data": data}, train=train)
            for kind in ("value", "indices", "both", "mask"):
                attrs = {"axis": axis, "k": 2, "is_ascend": up, "ret_typ": kind}
                r.symbolic("topk", attrs, {"data": data}, train=train)
    for dtype in ("int32", "int64", "uint8", "float16"):
        r.symbolic("topk", {"k": 0, "dtype": dtype}, {"data": ties}, train=False)


def special(r: Recorder) -> None:
    """Numbers with rules of their own: infinities, NaN, both zeros, the largest and smallest."""
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.5, 2.0, 3e38, 1e-40]
    data = np.array(values, np.float32)
    pairs = [a.copy() for a in np.meshgrid(data, data)]
    for op in UNARY:
        r.symbolic(op, {}, {"data": data}, train=False)
    r.symbolic("clip", {"a_min": -1.0, "a_max": 1.5}, {"data": data}, train=False)
    for op in ("max", "min", "sum", "prod", "norm", "softmax"):
        r.symbolic(op, {"axis": 1}, {"data": pairs[0][:, 3:]}, train=False)
    for stem in BINARY:
        inputs = {"lhs": pairs[0], "rhs": pairs[1]}
        r.symbolic(f"broadcast_{stem}", {}, inputs, train=False)


UNARY = (
    *("negative", "abs", "sign", "exp", "log", "log1p", "expm1", "sqrt", "rsqrt", "square"),
    *("reciprocal", "sigmoid", "tanh", "relu", "softsign", "erf", "floor", "ceil", "round"),
    *("rint", "trunc", "logical_not", "log2", "log10", "cbrt", "rcbrt", "sin", "cos", "tan"),
    *("arcsin", "arccos", "arctan", "sinh", "cosh", "arcsinh", "arccosh", "arctanh", "degrees"),
    *("radians", "erfinv", "gamma", "gammaln", "hard_sigmoid", "smooth_l1"),
)
BINARY = (
    *("add", "sub", "mul", "div", "mod", "power", "hypot", "maximum", "minimum", "equal"),
    *("not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and"),
    *("logical_or", "logical_xor"),
)


def main() -> None:
    """Writes all files, or those whose names are given."""
    families = (
        activation,
        batch_norm,
        convolution,
        dropout,
        fully_connected,
        indexing,
        optimizer,
        ordering,
        pooling,
        softmax_output,
        special,
    )
    TARGET.mkdir(parents=True, exist_ok=True)
    for family in families:
        if len(sys.argv) == 1 or family.__name__ in sys.argv:
            recorder = Recorder(family.__name__)
            family(recorder)
            recorder.save()


if __name__ == "__main__":
    main()

"""Writes tests/golden/detection/*.npz: what MXNet 1.9.1 computes on boxes and in eight bits.

Run it once with a Python that has MXNet 1.9.1; nothing else in Ferromix needs MXNet. ``cases`` is a
JSON list of operator, attributes and the numbers of the arrays that went in and came out, and of
the gradients of the first of both where they were asked for. All arrays are one after the other.
"""

import json
from pathlib import Path

import mxnet as mx
import numpy as np

TARGET = Path(__file__).resolve().parents[2] / "tests" / "golden" / "detection"


class Recorder:
    """Runs operators and keeps what they were given and what they gave."""

    def __init__(self, name: str) -> None:
        self.name, self.cases, self.arrays = name, [], []
        self.random = np.random.default_rng(len(name))

    def keep(self, arrays: list) -> list:
        """The numbers of arrays, each of which is kept once."""
        known = [(a.dtype, a.shape, a.tobytes()) for a in self.arrays]
        found = []
        for array in map(np.asarray, arrays):
            own = (array.dtype, array.shape, array.tobytes())
            if own not in known:
                known.append(own)
                self.arrays.append(array)
            found.append(known.index(own))
        return found

    def run(self, op: str, inputs: list, gradient: bool = False, **attrs: object) -> None:
        """Runs an operator as a symbol, which all of them take."""
        many = [mx.sym.Variable(f"a{i}") for i in range(len(inputs))] if "num_args" in attrs else []
        symbol = getattr(mx.sym.contrib, op)(*many, name="o", **attrs)
        names = symbol.list_inputs()
        arrays = {n: mx.nd.array(v, dtype=v.dtype) for n, v in zip(names, inputs)}
        grads = {names[0]: mx.nd.zeros(inputs[0].shape)} if gradient else None
        states = {n: arrays.pop(n) for n in symbol.list_auxiliary_states()}
        executor = symbol.bind(mx.cpu(), arrays, grads, "write" if gradient else "null", states)
        outputs = executor.forward(is_train=gradient)
        words = {k: str(v) for k, v in attrs.items()}
        case = {"op": f"_contrib_{op}", "attrs": words, "in": self.keep(inputs)}
        case["out"] = self.keep([o.asnumpy() for o in outputs])
        if gradient:
            head = self.random.integers(-9, 10, outputs[0].shape).astype("float32")
            executor.backward([mx.nd.array(head)])
            case["head"], case["grad"] = self.keep([head, grads[names[0]].asnumpy()])
        self.cases.append(case)

    def save(self) -> None:
        """Writes the file: one array, as many small ones would be several times its size."""
        kinds = [(a.dtype.name, a.shape) for a in self.arrays]
        text = json.dumps({"cases": self.cases, "arrays": kinds})
        data = np.frombuffer(b"".join(a.tobytes() for a in self.arrays), "uint8")
        np.savez_compressed(TARGET / f"{self.name}.npz", text=text, data=data)

    def boxes(self, *shape: int) -> np.ndarray:
        """Boxes by corners, in the unit square."""
        corner = self.random.uniform(0, 0.7, (*shape, 2))
        size = self.random.uniform(0.05, 0.4, (*shape, 2))
        return np.concatenate([corner, corner + size], -1).astype("float32")

    def real(self, *shape: int) -> np.ndarray:
        """Normal numbers."""
        return self.random.standard_normal(shape).astype("float32")

    def bytes(self, dtype: str, *shape: int) -> np.ndarray:
        """Numbers of all that eight bits hold."""
        low, high = (-127, 127) if dtype == "int8" else (0, 255)
        return self.random.integers(low, high + 1, shape).astype(dtype)

    def ends(self, count: int) -> list:
        """Ranges."""
        numbers = self.random.uniform(0.1, 3, (count, 2)) * [-1, 1]
        return [np.array([x], "float32") for x in numbers.ravel()]


def boxes(r: Recorder) -> None:
    """Boxes with ties of scores, classes and overlaps at the threshold."""
    rows = np.concatenate(
        [r.random.integers(-1, 3, (2, 30, 1)), r.random.integers(0, 9, (2, 30, 1)) / 8], -1
    ).astype("float32")
    data = np.concatenate([rows, r.boxes(2, 30)], -1)
    for attrs in [
        {},
        {"id_index": 0, "overlap_thresh": 0.2},
        {"id_index": 0, "background_id": 0, "topk": 9, "valid_thresh": 0.25},
        {"id_index": 0, "force_suppress": True, "overlap_thresh": 0.1, "out_format": "center"},
        {"in_format": "center", "out_format": "corner"},
    ]:
        r.run("box_nms", [data], True, **attrs)
    r.run("box_iou", [r.boxes(5), r.boxes(2, 3)])
    r.run("box_iou", [r.boxes(5), r.boxes(2, 3)], format="center")
    scores = (r.random.integers(0, 20, (2, 5, 4)) / 16).astype("float32")
    r.run("bipartite_matching", [scores], threshold=0.3)
    r.run("bipartite_matching", [scores], threshold=0.9, is_ascend=True, topk=1)
    anchors = r.boxes(1, 24)
    labels = np.concatenate([r.random.integers(0, 3, (2, 4, 1)), r.boxes(2, 4)], -1)
    labels[1, 2:] = -1
    given = [anchors, labels.astype("float32"), r.real(2, 4, 24)]
    for attrs in [
        {},
        {"overlap_threshold": 0.3, "variances": (0.1, 0.2, 0.3, 0.4)},
        {"negative_mining_ratio": 1.5, "negative_mining_thresh": 0.5, "ignore_label": 9},
        {"negative_mining_ratio": 0.5, "minimum_negative_samples": 7},
    ]:
        r.run("MultiBoxTarget", given, **attrs)
    scores = r.random.dirichlet(np.ones(4), (2, 24)).transpose(0, 2, 1).astype("float32")
    given = [(scores * 8).round() / 8, r.real(2, 96), anchors]
    for attrs in [
        {"nms_threshold": 0.3},
        {"nms_threshold": 0.2, "force_suppress": True, "nms_topk": 9, "clip": False},
        {"nms_threshold": -1, "threshold": 0.5},
    ]:
        r.run("MultiBoxDetection", given, **attrs)
    attrs = {"scales": (1, 2), "ratios": (0.5, 1), "rpn_post_nms_top_n": 8, "output_score": True}
    given = [r.random.random((2, 8, 4, 3)), r.real(2, 16, 4, 3) / 4, [[60, 44, 1], [40, 60, 0.5]]]
    given = [np.asarray(x, "float32") for x in given]
    r.run("MultiProposal", given, rpn_pre_nms_top_n=30, rpn_min_size=8, **attrs)
    r.run("MultiProposal", given, threshold=0.4, iou_loss=True, rpn_min_size=8, **attrs)


def quantized(r: Recorder) -> None:
    """Numbers in eight bits; convolutions take data without sign alone in MXNet."""
    pair = {"min_calib_range": -2.5, "max_calib_range": 1.0}
    for kind in ("int8", "uint8"):
        r.run("quantize", [r.real(40), *r.ends(1)], out_type=kind)
        r.run("dequantize", [r.bytes(kind, 40), *r.ends(1)])
        r.run("quantize_v2", [r.real(40)], out_type=kind)
        r.run("quantize_v2", [r.real(40)], out_type=kind, **pair)
        sums = r.random.integers(-(10**6), 10**6, 40).astype("int32")
        r.run("requantize", [sums, *r.ends(1)], out_type=kind)
        r.run(
            "requantize",
            [sums, *r.ends(1)],
            out_type=kind,
            min_calib_range=-1e-4,
            max_calib_range=2e-4,
        )
        for attrs in ({}, pair):
            given = [r.bytes(kind, 40), r.bytes(kind, 40), *r.ends(2)]
            r.run("quantized_elemwise_add", given, **attrs)
        given = [r.bytes(kind, 3, 4), r.bytes("int8", 3, 2), *r.ends(2)]
        r.run("quantized_concat", given, num_args=2, dim=1)
        data = r.bytes(kind, 2, 3, 5, 6)
        for attrs in ({}, {"pool_type": "avg"}, {"pool_type": "avg", "count_include_pad": False}):
            windows = {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 1)}
            r.run("quantized_pooling", [data, *r.ends(1)], **windows, **attrs)
        weight, bias = r.bytes("int8", 4, 90), r.bytes("int8", 4)
        r.run("quantized_fully_connected", [data, weight, bias, *r.ends(3)], num_hidden=4)
        r.run("quantized_fully_connected", [data, weight, *r.ends(2)], num_hidden=4, no_bias=True)
        statistics = [r.real(3), r.real(3), r.real(3), np.abs(r.real(3)) + 0.5]
        r.run("quantized_batch_norm", [data, *statistics, *r.ends(1)], **pair)
    given = [r.bytes("int8", 40), r.bytes("int8", 40), *r.ends(2)]
    r.run("quantized_elemwise_mul", given)
    r.run("quantized_elemwise_mul", given, enable_float_output=True)
    data, weight, bias = (
        r.bytes("uint8", 2, 3, 5, 6),
        r.bytes("int8", 4, 3, 3, 2),
        r.bytes("int8", 4),
    )
    attrs = {"kernel": (3, 2), "num_filter": 4, "pad": (1, 0), "stride": (2, 1)}
    r.run("quantized_conv", [data, weight, bias, *r.ends(3)], **attrs)
    r.run("quantized_conv", [data, weight, *r.ends(2)], no_bias=True, **attrs)
    counts = np.round(1000 * np.exp(-(np.linspace(-4, 4, 201) ** 2))).astype("float32")
    edges = np.linspace(-3, 3, 202).astype("float32")
    r.run("calibrate_entropy", [counts, edges], num_quantized_bins=31)


def main() -> None:
    """Writes both files."""
    TARGET.mkdir(parents=True, exist_ok=True)
    for make in (boxes, quantized):
        recorder = Recorder(make.__name__)
        make(recorder)
        recorder.save()


if __name__ == "__main__":
    main()

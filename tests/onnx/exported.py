"""Small networks of the families that users move: each a symbol and the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ferromix as mx

S = mx.sym
Made = tuple[Any, dict[str, tuple[int, ...]]]


def conv(x: Any, name: str, filters: int, kernel: int = 3, stride: int = 1, **more: Any) -> Any:
    """A convolution, normalised."""
    window = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (kernel // 2,) * 2}
    x = S.Convolution(x, num_filter=filters, no_bias=True, name=f"{name}_conv", **window, **more)
    return S.BatchNorm(x, fix_gamma=False, name=f"{name}_bn")


def relu(x: Any) -> Any:
    return S.Activation(x, act_type="relu")


def pool(x: Any, kind: str = "max", **more: Any) -> Any:
    return S.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type=kind, **more)


def head(x: Any, classes: int = 5) -> Any:
    x = S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg")
    return S.SoftmaxOutput(S.FullyConnected(S.Flatten(x), num_hidden=classes), name="softmax")


def mlp() -> Made:
    x = S.FullyConnected(S.Variable("data"), num_hidden=8, name="fc1")
    x = S.FullyConnected(relu(x), num_hidden=4, name="fc2")
    return S.SoftmaxOutput(x, name="softmax"), {"data": (3, 6)}


def lenet() -> Made:
    x = S.Variable("data")
    for name, filters in (("conv1", 4), ("conv2", 6)):
        x = S.Convolution(x, kernel=(5, 5), num_filter=filters, name=name)
        x = pool(S.Activation(x, act_type="tanh"))
    x = S.FullyConnected(S.Flatten(x), num_hidden=10, name="fc1")
    x = S.FullyConnected(S.Activation(x, act_type="tanh"), num_hidden=10, name="fc2")
    return S.SoftmaxOutput(x, name="softmax"), {"data": (2, 1, 28, 28)}


def vgg() -> Made:
    x = S.Variable("data")
    for stage, filters in enumerate((4, 6)):
        for i in range(2):
            name = f"conv{stage}_{i}"
            x = relu(S.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=name))
        x = pool(x)
    x = S.Dropout(relu(S.FullyConnected(S.Flatten(x), num_hidden=12, name="fc6")), p=0.5)
    x = S.LRN(S.reshape(x, shape=(0, 12, 1, 1)), nsize=5)
    return S.SoftmaxOutput(S.FullyConnected(x, num_hidden=5, name="fc8"), name="softmax"), {
        "data": (2, 3, 16, 16)
    }


def resnet_v1() -> Made:
    x = relu(conv(S.Variable("data"), "stem", 4, 7, 2))
    x = S.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    for i, stride in enumerate((1, 2)):
        y = conv(relu(conv(x, f"b{i}_1", 8, 3, stride)), f"b{i}_2", 8)
        x = relu(y + conv(x, f"b{i}_s", 8, 1, stride))
    return head(x), {"data": (2, 3, 32, 32)}


def resnet_v2() -> Made:
    x = S.BatchNorm(S.Variable("data"), fix_gamma=True, eps=2e-5, name="bn_data")
    x = S.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, no_bias=True, name="conv0")
    for i in range(2):
        y = relu(S.BatchNorm(x, fix_gamma=False, eps=2e-5, name=f"u{i}_bn"))
        y = S.Convolution(
            y, kernel=(3, 3), pad=(1, 1), num_filter=8, num_group=2, no_bias=True, name=f"u{i}_conv"
        )
        x = S.elemwise_add(y, x)
    return head(relu(S.BatchNorm(x, fix_gamma=False, name="bn1"))), {"data": (2, 3, 12, 12)}


def mobilenet_v1() -> Made:
    x = relu(conv(S.Variable("data"), "stem", 4, 3, 2))
    for i, filters in enumerate((8, 8)):
        x = relu(conv(x, f"d{i}", 4 if i == 0 else 8, 3, 1, num_group=4 if i == 0 else 8))
        x = relu(conv(x, f"p{i}", filters, 1))
    return head(x), {"data": (2, 3, 16, 16)}


def mobilenet_v2() -> Made:
    x = S.clip(conv(S.Variable("data"), "stem", 4, 3, 2), 0, 6)
    y = S.clip(conv(x, "expand", 12, 1), 0, 6)
    y = S.clip(conv(y, "depth", 12, 3, 1, num_group=12), 0, 6)
    x = S.broadcast_add(conv(y, "project", 4, 1), x)
    gate = S.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg")
    gate = S.hard_sigmoid(S.Convolution(gate, kernel=(1, 1), num_filter=4, name="gate"))
    return head(S.broadcast_mul(x, gate)), {"data": (2, 3, 16, 16)}


def densenet() -> Made:
    x = conv(S.Variable("data"), "stem", 4)
    for i in range(3):
        y = relu(S.BatchNorm(x, fix_gamma=False, name=f"l{i}_bn"))
        y = S.Convolution(y, kernel=(3, 3), pad=(1, 1), num_filter=3, no_bias=True, name=f"l{i}")
        x = S.Concat(x, y, dim=1)
    return head(pool(relu(x), "avg")), {"data": (2, 3, 8, 8)}


def squeezenet() -> Made:
    x = relu(
        S.Convolution(S.Variable("data"), kernel=(3, 3), stride=(2, 2), num_filter=6, name="c")
    )
    x = S.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full")
    x = relu(S.Convolution(x, kernel=(1, 1), num_filter=3, name="squeeze"))
    a = relu(S.Convolution(x, kernel=(1, 1), num_filter=4, name="left"))
    b = relu(S.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=4, name="right"))
    return head(S.Concat(a, b, dim=1)), {"data": (2, 3, 18, 18)}


def inception() -> Made:
    x = S.Variable("data")
    a = relu(conv(x, "a", 3, 1))
    b = relu(conv(relu(conv(x, "b1", 2, 1)), "b2", 3, 5))
    c = S.Pooling(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="avg")
    d = S.Pooling(x, kernel=(3, 3), stride=(1, 1), pad=(1, 1), pool_type="max")
    x = S.Concat(a, b, relu(conv(c, "c", 2, 1)), d, dim=1)
    y = S.Pooling(
        x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", pooling_convention="full"
    )
    return head(y), {"data": (2, 3, 9, 9)}


def lstm() -> Made:
    x = S.Embedding(S.Variable("data"), input_dim=11, output_dim=6, name="embed")
    x = S.RNN(
        S.SwapAxis(x, dim1=0, dim2=1),
        *(S.Variable("weights"), S.Variable("state"), S.Variable("cell")),
        mode="lstm",
        state_size=5,
        num_layers=2,
        bidirectional=True,
        state_outputs=True,
        name="lstm",
    )
    return S.Group([x[0], x[1]]), {"data": (3, 4), "state": (4, 3, 5), "cell": (4, 3, 5)}


def gru() -> Made:
    x = S.Variable("data")
    weights, state = S.Variable("weights"), S.Variable("state")
    x = S.RNN(x, weights, state, mode="gru", state_size=4, num_layers=1, name="gru")
    return S.mean(x, axis=0), {"data": (5, 2, 3), "state": (1, 2, 4)}


def language_model() -> Made:
    weight = S.Variable("embed_weight", shape=(13, 8))
    x = S.Embedding(S.Variable("data"), weight, input_dim=13, output_dim=8, name="embed")
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.LSTMCell(8, prefix="l0_"))
    begin = [S.Variable(f"begin{i}") for i in range(2)]
    outputs, _ = cell.unroll(3, x, begin_state=begin, merge_outputs=True, layout="NTC")
    x = S.FullyConnected(
        S.Reshape(outputs, shape=(-1, 8)), weight, num_hidden=13, no_bias=True, name="decode"
    )
    label = S.Reshape(S.Variable("softmax_label"), shape=(-1,))
    shapes = {"data": (2, 3), "begin0": (2, 8), "begin1": (2, 8), "softmax_label": (2, 3)}
    return S.SoftmaxOutput(x, label, name="softmax"), shapes


def ssd() -> Made:
    """Heads over two maps, decoded against fixed boxes."""
    x = relu(conv(S.Variable("data"), "f0", 6))
    classes, places = [], []
    for i in range(2):
        x = relu(conv(x, f"f{i + 1}", 6, 3, 2))
        for parts, name, count in ((classes, "cls", 3 * 2), (places, "loc", 4 * 2)):
            y = S.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=count, name=f"{name}{i}")
            parts.append(S.Flatten(S.transpose(y, axes=(0, 2, 3, 1))))
    scores = S.Reshape(S.Concat(*classes, dim=1), shape=(0, -1, 3))
    scores = S.softmax(S.transpose(scores, axes=(0, 2, 1)), axis=1)
    offsets = S.Reshape(S.Concat(*places, dim=1), shape=(0, -1, 4))
    centre = S.slice_axis(offsets, axis=2, begin=0, end=2) * 0.1
    size = S.exp(S.slice_axis(offsets, axis=2, begin=2, end=None) * 0.2)
    boxes = S.Concat(centre - size / 2, centre + size / 2, dim=2)
    best = S.topk(S.max(scores, axis=1), k=5, ret_typ="value")
    return S.Group([scores, boxes, best]), {"data": (2, 3, 16, 16)}


def fcn() -> Made:
    """Up again by transposed convolutions, cut to the input."""
    data = S.Variable("data")
    x = relu(conv(data, "down", 4, 3, 2))
    x = S.Convolution(x, kernel=(1, 1), num_filter=3, name="score")
    x = S.Deconvolution(
        x, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, num_group=3, name="up"
    )
    x = S.Crop(x, data, num_args=2, center_crop=True)
    y = S.UpSampling(pool(data), scale=2, sample_type="nearest")
    y = S.Deconvolution(
        y, kernel=(3, 3), num_filter=3, target_shape=(10, 10), stride=(1, 1), name="t"
    )
    return S.SoftmaxOutput(x + y, multi_output=True, name="softmax"), {"data": (1, 3, 10, 10)}


def transformer() -> Made:
    """Attention of one layer with its norms."""
    x = S.Variable("data")
    qkv = S.FullyConnected(x, num_hidden=24, flatten=False, name="qkv")
    weights = S.contrib.interleaved_matmul_selfatt_qk(qkv, heads=2)
    attended = S.contrib.interleaved_matmul_selfatt_valatt(
        qkv, S.softmax(weights, axis=-1), heads=2
    )
    y = S.FullyConnected(attended, num_hidden=8, flatten=False, name="out")
    x = S.LayerNorm(x + y, axis=-1, name="ln1")
    y = S.LeakyReLU(S.FullyConnected(x, num_hidden=16, flatten=False, name="up"), act_type="gelu")
    x = S.LayerNorm(
        x + S.FullyConnected(y, num_hidden=8, flatten=False, name="down"), axis=-1, name="ln2"
    )
    scores = S.batch_dot(x, x, transpose_b=True) / np.sqrt(8)
    return S.Group([x, S.log_softmax(scores, axis=-1)]), {"data": (5, 2, 8)}


def face() -> Made:
    """Parametric slopes, and features of length one."""
    x = S.LeakyReLU(conv(S.Variable("data"), "stem", 4), act_type="prelu", name="slopes")
    x = S.FullyConnected(S.Flatten(pool(x)), num_hidden=6, name="feature")
    x = S.L2Normalization(S.BatchNorm(x, fix_gamma=True, name="bn"), mode="instance")
    return x, {"data": (2, 3, 6, 6)}


def spatial_transformer() -> Made:
    data = S.Variable("data")
    theta = S.FullyConnected(S.Flatten(pool(data)), num_hidden=6, name="theta") * 0.1
    x = S.SpatialTransformer(
        data, theta, target_shape=(5, 6), transform_type="affine", sampler_type="bilinear"
    )
    return x, {"data": (2, 2, 8, 8)}


NETWORKS: tuple[Callable[[], Made], ...] = (
    *(mlp, lenet, vgg, resnet_v1, resnet_v2, mobilenet_v1, mobilenet_v2, densenet, squeezenet),
    *(inception, lstm, gru, language_model, ssd, fcn, transformer, face, spatial_transformer),
)


def parameters(net: Any, shapes: dict[str, tuple[int, ...]]) -> tuple[Any, Any]:
    """Values of all parameters and states, from a seed."""
    random = np.random.default_rng(len(net.list_arguments()))
    found, _, states = net.infer_shape(**shapes)
    own = {
        n: mx.nd.array(random.uniform(-0.5, 0.5, s))
        for n, s in zip(net.list_arguments(), found, strict=True)
        if n not in shapes and not n.endswith("label")
    }
    rows = zip(net.list_auxiliary_states(), states, strict=True)
    return own, {n: mx.nd.array(random.uniform(0.5, 1.5, s)) for n, s in rows}


def inputs(shapes: dict[str, tuple[int, ...]], whole: bool) -> dict[str, np.ndarray]:
    """Values of the inputs; words of a text where `whole`."""
    random = np.random.default_rng(7)
    found = {n: random.uniform(-1, 1, s).astype("float32") for n, s in shapes.items()}
    if whole:
        found["data"] = random.integers(0, 11, shapes["data"]).astype("float32")
    return found


def outputs(net: Any, args: Any, auxs: Any, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What a network predicts."""
    given = {n: x for n, x in given.items() if n in net.list_arguments()}
    shapes = {n: x.shape for n, x in given.items()}
    bound = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
    bound.copy_params_from(args, auxs)
    arrays = {n: mx.nd.array(x) for n, x in given.items()}
    return [o.asnumpy() for o in bound.forward(is_train=False, **arrays)]

"""Networks for faces and other things of many classes: learned slopes, margins, distances."""

from .images import images
from .inputs import Input
from .layers import MOMENTUM, conv, embed, pool


def _prelu(S, x, name):
    return S.LeakyReLU(x, act_type="prelu", name=name)


def sphereface(S):
    """Shortcuts and learned slopes, without normalization."""
    x = S.Variable("data")
    for i, filters in enumerate((4, 6)):
        x = _prelu(S, conv(S, x, filters, stride=(2, 2), name=f"conv{i}"), f"slope{i}")
        y = _prelu(S, conv(S, x, filters, name=f"conv{i}a"), f"slope{i}a")
        x = x + _prelu(S, conv(S, y, filters, name=f"conv{i}b"), f"slope{i}b")
    x = S.FullyConnected(S.Flatten(x), num_hidden=8, name="embedding")
    return S.SoftmaxOutput(S.FullyConnected(x, num_hidden=5), name="softmax"), images(12)


def _embedding(S):
    x = _prelu(
        S, S.BatchNorm(conv(S, S.Variable("data"), 4, stride=(2, 2)), momentum=MOMENTUM), "slope"
    )
    x = S.FullyConnected(S.Flatten(x), num_hidden=6, name="pre_fc1")
    return S.BatchNorm(x, fix_gamma=True, eps=2e-5, momentum=MOMENTUM, name="fc1")


def _cosines(S, classes, scale):
    """The scaled cosine between each embedding and each class."""
    weight = S.L2Normalization(
        S.Variable("fc7_weight", shape=(classes, 6), lr_mult=1.0), mode="instance"
    )
    x = S.L2Normalization(_embedding(S), mode="instance", name="fc1n") * scale
    return S.FullyConnected(x, weight, num_hidden=classes, no_bias=True, name="fc7")


def arcface(S):
    """An angle is added to the angle of the right class."""
    label, scale, margin = S.Variable("softmax_label"), 8.0, 0.3
    fc7 = _cosines(S, 5, scale)
    right = S.pick(fc7, label, axis=1)
    angle = S.arccos(right / scale) + margin
    change = S.expand_dims(S.cos(angle) * scale - right, 1)
    hot = S.one_hot(label, depth=5, on_value=1.0, off_value=0.0)
    fc7 = fc7 + S.broadcast_mul(S.cast(hot, "float64"), change)
    return S.SoftmaxOutput(fc7, label, name="softmax", normalization="valid"), images(8, batch=3)


def cosface(S):
    """A constant is taken from the cosine of the right class."""
    label = S.Variable("softmax_label")
    fc7 = _cosines(S, 5, 8.0)
    hot = S.cast(S.one_hot(label, depth=5, on_value=8.0 * 0.35, off_value=0.0), dtype="float64")
    return S.SoftmaxOutput(fc7 - hot, label, name="softmax"), images(8, batch=3)


def triplet(S):
    """Three embeddings by one network, cut out of one batch."""
    x = S.L2Normalization(_embedding(S))
    near, same, other = (S.slice_axis(x, axis=0, begin=i, end=i + 2) for i in (0, 2, 4))
    apart = S.sum(S.square(near - other), axis=1, keepdims=True)
    close = S.sum(S.square(near - same), axis=1, keepdims=True)
    loss = S.Activation(close - apart + 0.35, act_type="relu")
    return S.MakeLoss(S.sum(loss), grad_scale=0.5), {"data": (6, 3, 8, 8)}


def center_loss(S):
    """Two losses of one embedding; centers are looked up."""
    label, x = S.Variable("softmax_label"), _embedding(S)
    centers = embed(S, label, input_dim=5, output_dim=6, name="center")
    pull = S.mean(S.sum(S.square(x - centers), axis=1))
    loss = S.MakeLoss(pull, grad_scale=0.1, name="center_loss")
    softmax = S.SoftmaxOutput(S.FullyConnected(x, num_hidden=5), label, name="softmax")
    return S.Group([softmax, loss, S.BlockGrad(x)]), images(8, batch=4)


def mtcnn(S):
    """Three answers of one small network, each with a loss of its own."""
    x = _prelu(S, conv(S, S.Variable("data"), 4, pad=(0, 0), name="conv1"), "slope1")
    x = pool(S, x, pooling_convention="full", name="pool1")
    x = _prelu(S, conv(S, x, 6, pad=(0, 0), name="conv2"), "slope2")
    x = _prelu(S, S.FullyConnected(S.Flatten(x), num_hidden=8, name="fc"), "slope3")
    face = S.FullyConnected(x, num_hidden=2, name="face")
    face = S.SoftmaxOutput(face, use_ignore=True, ignore_label=-1, name="cls")
    box = S.LinearRegressionOutput(S.FullyConnected(x, num_hidden=4), name="box")
    marks = S.MAERegressionOutput(S.FullyConnected(x, num_hidden=10), name="marks", grad_scale=0.5)
    inputs = {"data": (3, 3, 12, 12), "cls_label": Input((3,), 2, -1)}
    return S.Group([face, box, marks]), inputs | {"box_label": (3, 4), "marks_label": (3, 10)}


NETWORKS = (sphereface, arcface, cosface, triplet, center_loss, mtcnn)

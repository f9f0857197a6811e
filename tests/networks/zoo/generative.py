"""Networks that make things, or learn what they are made of."""

from .inputs import Input
from .layers import MOMENTUM, conv, pool


def dcgan_generator(S):
    x = S.Deconvolution(S.Variable("rand"), num_filter=6, kernel=(4, 4), no_bias=True, name="g1")
    for i, filters in enumerate((4, 4), 2):
        x = S.BatchNorm(x, fix_gamma=True, eps=1e-5 + 1e-12, momentum=MOMENTUM, name=f"gbn{i}")
        x = S.Activation(x, act_type="relu", name=f"gact{i}")
        x = S.Deconvolution(
            x,
            num_filter=filters,
            kernel=(4, 4),
            stride=(2, 2),
            pad=(1, 1),
            no_bias=True,
            name=f"g{i}",
        )
    return S.Activation(x, act_type="tanh", name="gact"), {"rand": (2, 5, 1, 1)}


def dcgan_discriminator(S):
    x = S.Variable("data")
    for i, filters in enumerate((4, 6)):
        x = conv(S, x, filters, (4, 4), (2, 2), (1, 1), no_bias=True, name=f"d{i}")
        if i:
            x = S.BatchNorm(x, fix_gamma=False, momentum=MOMENTUM, name=f"dbn{i}")
        x = S.LeakyReLU(x, act_type="leaky", slope=0.2, name=f"dact{i}")
    x = S.Flatten(conv(S, x, 1, (3, 3), pad=(0, 0), no_bias=True, name="d5"))
    return S.LogisticRegressionOutput(x, name="dloss"), {
        "data": (3, 2, 12, 12), "dloss_label": Input((3, 1), 2),
    }  # fmt: skip


def autoencoder(S):
    """Stacked; it must give back what goes in."""
    data = x = S.Variable("data")
    for i, width in enumerate((8, 6, 3)):
        x = S.FullyConnected(x, num_hidden=width, name=f"encoder_{i}")
        x = S.Activation(x, act_type="relu") if i < 2 else x
    for i, width in enumerate((6, 8, 10)):
        x = S.FullyConnected(x, num_hidden=width, name=f"decoder_{i}")
        x = S.Activation(x, act_type="relu") if i < 2 else x
    # MXNet does not write the gradient of a label.
    return S.LinearRegressionOutput(x, S.BlockGrad(data), name="l2"), {"data": (5, 10)}


def sparse_autoencoder(S):
    """With a penalty on what the hidden layer does on average."""
    x = S.FullyConnected(S.Variable("data"), num_hidden=6)
    x = S.IdentityAttachKLSparseReg(S.Activation(x, act_type="sigmoid"), sparseness_target=0.2)
    x = S.FullyConnected(x, num_hidden=8)
    return S.LinearRegressionOutput(x, S.Variable("label")), {"data": (4, 8), "label": (4, 8)}


def variational(S):
    """A code is drawn around what the encoder says; the noise is an input."""
    data = S.Variable("data")
    hidden = S.Activation(S.FullyConnected(data, num_hidden=8), act_type="softrelu")
    mean = S.FullyConnected(hidden, num_hidden=3, name="mu")
    spread = S.FullyConnected(hidden, num_hidden=3, name="logvar")
    code = mean + S.exp(0.5 * spread) * S.Variable("noise")
    x = S.Activation(S.FullyConnected(code, num_hidden=8), act_type="tanh")
    x = S.Activation(S.FullyConnected(x, num_hidden=10), act_type="sigmoid")
    divergence = -0.5 * S.sum(1 + spread - mean**2 - S.exp(spread), axis=1)
    likelihood = S.sum(data * S.log(x + 1e-12) + (1 - data) * S.log(1 - x + 1e-12), axis=1)
    return S.MakeLoss(S.mean(divergence - likelihood)), {
        "data": Input((4, 10), 2), "noise": (4, 3),
    }  # fmt: skip


def style(S):
    """How alike the products of features are to those of another image."""
    image, loss = S.Variable("image"), []
    x = image
    for i, filters in enumerate((3, 4)):
        x = S.Activation(conv(S, x, filters, name=f"conv{i}"), act_type="relu")
        rows = S.Reshape(x, target_shape=(filters, 64 if i == 0 else 16), name=f"rows{i}")
        gram = S.FullyConnected(rows, rows, no_bias=True, num_hidden=filters, name=f"gram{i}")
        loss.append(S.sum(S.square(gram - S.Variable(f"target{i}"))))
        x = pool(S, x, "avg")
    smooth = S.sum(S.abs(S.slice_axis(image, axis=2, begin=1, end=None) -
                         S.slice_axis(image, axis=2, begin=0, end=-1)))  # fmt: skip
    return S.Group([S.MakeLoss(part) for part in (*loss, smooth)]), {
        "image": (1, 3, 8, 8), "target0": (3, 3), "target1": (4, 4),
    }  # fmt: skip


def fast_style(S):
    """Each image is normalized by itself; reflected borders, and growth by resizing."""
    x = S.pad(S.Variable("data"), mode="reflect", pad_width=(0, 0, 0, 0, 2, 2, 2, 2))
    x = S.InstanceNorm(conv(S, x, 4, (5, 5), (2, 2), (0, 0)), eps=1e-5, name="in1")
    x = S.Activation(x, act_type="relu")
    x = S.UpSampling(x, scale=2, sample_type="nearest")
    x = S.pad(x, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 1, 1))
    return S.tanh(conv(S, x, 3, pad=(0, 0))) * 150, {"data": (1, 3, 8, 8)}


def capsules(S):
    """Vectors in place of numbers, and agreement between layers in two rounds."""

    def squash(x, axis):
        size = S.sum(S.square(x), axis=axis, keepdims=True)
        return S.broadcast_mul(x, size / (1 + size) / S.sqrt(size + 1e-9))

    x = S.Activation(conv(S, S.Variable("data"), 4, pad=(0, 0)), act_type="relu")
    x = squash(S.Reshape(conv(S, x, 4, (3, 3), (2, 2), (0, 0)), shape=(0, -1, 4)), 2)
    x = S.expand_dims(S.tile(S.expand_dims(x, axis=2), reps=(1, 1, 3, 1)), axis=4)
    weight = S.Variable("weight", shape=(1, 9, 3, 4, 5))
    votes = S.sum(S.broadcast_mul(weight, x), axis=3)
    logits = S.Variable("logits")
    for last in (False, True):
        share = S.softmax(logits, axis=2)
        out = squash(S.sum(S.broadcast_mul(votes, share), axis=1, keepdims=True), 3)
        if not last:
            logits = logits + S.sum(S.broadcast_mul(votes, out), axis=3, keepdims=True)
    length = S.sqrt(S.sum(S.square(S.Reshape(out, shape=(0, 3, 5))), axis=2) + 1e-9)
    hot = S.Variable("hot")
    loss = hot * S.square(S.maximum(0, 0.9 - length))
    loss = loss + 0.5 * (1 - hot) * S.square(S.maximum(0, length - 0.1))
    return S.MakeLoss(S.mean(S.sum(loss, axis=1))), {
        "data": (2, 1, 9, 9), "logits": (2, 9, 3, 1), "hot": Input((2, 3), 2),
    }  # fmt: skip


NETWORKS = (
    dcgan_generator,
    dcgan_discriminator,
    autoencoder,
    sparse_autoencoder,
    variational,
    style,
    fast_style,
    capsules,
)

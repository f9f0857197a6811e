"""Classifiers of images without shortcuts: from the perceptron to the Inception family."""

from .inputs import Input
from .layers import MOMENTUM, averaged, classified, conv, conv_bn, conv_relu, pool


def images(size, batch=2, channels=3, classes=5):
    return {
        "data": (batch, channels, size, size),
        "softmax_label": Input((batch,), classes),
    }


def mlp(S):
    x = S.Variable("data")
    for i, width in enumerate((16, 8)):
        x = S.FullyConnected(x, num_hidden=width, name=f"fc{i + 1}")
        x = S.Activation(x, act_type="relu", name=f"relu{i + 1}")
    return classified(S, x), {"data": (6, 10), "softmax_label": Input((6,), 5)}


def lenet(S):
    x = S.Variable("data")
    for i, filters in enumerate((4, 6)):
        x = conv(S, x, filters, (5, 5), pad=(0, 0), name=f"conv{i + 1}")
        x = pool(S, S.Activation(x, act_type="tanh"))
    x = S.FullyConnected(S.Flatten(x), num_hidden=12, name="fc1")
    return classified(S, S.Activation(x, act_type="tanh")), images(20, channels=1)


def alexnet(S):
    x = S.Variable("data")
    x = S.LRN(conv_relu(S, x, 6, (5, 5), (2, 2), (0, 0)), alpha=1e-4, beta=0.75, knorm=2, nsize=5)
    x = pool(S, x, kernel=(3, 3))
    x = S.LRN(conv_relu(S, x, 8, (5, 5), num_group=2), alpha=1e-4, beta=0.75, knorm=2, nsize=5)
    x = pool(S, x, kernel=(3, 3))
    x = pool(S, conv_relu(S, conv_relu(S, x, 8), 6, num_group=2), kernel=(2, 2))
    for width in (12, 10):
        x = S.FullyConnected(S.Flatten(x), num_hidden=width)
        x = S.Dropout(S.Activation(x, act_type="relu"), p=0.0)
    return classified(S, x), images(41)


def vgg(S):
    x = S.Variable("data")
    for stage, (depth, filters) in enumerate(((1, 4), (1, 6), (2, 8)), 1):
        for i in range(1, depth + 1):
            x = conv(S, x, filters, name=f"conv{stage}_{i}")
            x = S.Activation(x, act_type="relu", name=f"relu{stage}_{i}")
        x = pool(S, x, name=f"pool{stage}")
    x = S.FullyConnected(S.Flatten(x, name="flatten"), num_hidden=12, name="fc6")
    x = S.Dropout(S.Activation(x, act_type="relu", name="relu6"), p=0.0, name="drop6")
    return classified(S, x), images(16)


def vgg_bn(S):
    """With a bias before the normalization, whose gradient is nothing."""
    x = S.Variable("data")
    for filters in (4, 6, 6):
        x = S.BatchNorm(conv(S, x, filters), fix_gamma=True, momentum=MOMENTUM)
        x = pool(S, S.Activation(x, act_type="relu"))
    return classified(S, x), images(16, batch=3)


def network_in_network(S):
    x = conv_relu(S, S.Variable("data"), 6, (5, 5))
    x = conv_relu(S, conv_relu(S, x, 5, (1, 1)), 4, (1, 1))
    x = S.Dropout(pool(S, x, kernel=(3, 3), pooling_convention="full"), p=0.0)
    x = conv_relu(S, conv_relu(S, x, 6), 5, (1, 1))
    x = S.Pooling(x, kernel=(7, 7), global_pool=True, pool_type="avg")
    return S.SoftmaxOutput(S.Flatten(x), name="softmax"), images(14)


def _inception(S, x, widths, unit, kind="max"):
    """Four ways to look at an image, side by side."""
    one, three_in, three, five_in, five, after = widths
    ways = [
        unit(S, x, one, (1, 1)),
        unit(S, unit(S, x, three_in, (1, 1)), three),
        unit(S, unit(S, x, five_in, (1, 1)), five, (5, 5)),
        unit(S, pool(S, x, kind, (3, 3), (1, 1), pad=(1, 1)), after, (1, 1)),
    ]
    return S.Concat(*ways)


def googlenet(S):
    x = pool(S, conv_relu(S, S.Variable("data"), 4, (7, 7), (2, 2)), kernel=(3, 3))
    x = S.LRN(conv_relu(S, x, 6), nsize=5)
    x = _inception(S, x, (2, 2, 3, 2, 2, 2), conv_relu)
    x = _inception(S, pool(S, x, kernel=(3, 3), pad=(1, 1)), (3, 2, 3, 2, 2, 2), conv_relu)
    return averaged(S, x), images(28)


def inception_bn(S):
    x = pool(S, conv_bn(S, S.Variable("data"), 4, (7, 7), (2, 2)), kernel=(3, 3))
    x = _inception(S, x, (2, 2, 3, 2, 2, 2), conv_bn, "avg")
    shrunk = [
        conv_bn(S, conv_bn(S, x, 2, (1, 1)), 3, stride=(2, 2)),
        pool(S, x, kernel=(3, 3), pad=(1, 1)),
    ]
    x = S.Concat(*shrunk, name="shrunk")
    return averaged(S, _inception(S, x, (2, 2, 2, 2, 2, 2), conv_bn)), images(25)


def inception_v3(S):
    """Convolutions cut into rows and columns."""
    x = conv_bn(S, S.Variable("data"), 4, (3, 3), (2, 2), (0, 0))
    x = pool(S, conv_bn(S, x, 5, pad=(0, 0)), kernel=(3, 3))
    seven = conv_bn(S, x, 3, (1, 1))
    seven = conv_bn(S, conv_bn(S, seven, 3, (1, 7)), 4, (7, 1))
    mean = conv_bn(S, pool(S, x, "avg", (3, 3), (1, 1), pad=(1, 1)), 3, (1, 1))
    x = S.Concat(conv_bn(S, x, 3, (1, 1)), seven, mean, dim=1, name="mixed")
    split = conv_bn(S, x, 3, (1, 1))
    split = S.Concat(conv_bn(S, split, 2, (1, 3)), conv_bn(S, split, 2, (3, 1)), name="split")
    x = S.Concat(split, pool(S, x, "max", (3, 3), (1, 1), pad=(1, 1)), name="last")
    return averaged(S, x), images(27)


def squeezenet(S):
    x = pool(S, conv_relu(S, S.Variable("data"), 6, stride=(2, 2), pad=(0, 0)), kernel=(3, 3))
    for squeeze, expand in ((2, 4), (3, 4)):
        x = conv_relu(S, x, squeeze, (1, 1))
        x = S.Concat(conv_relu(S, x, expand, (1, 1)), conv_relu(S, x, expand), dim=1)
    x = conv_relu(S, S.Dropout(x, p=0.0), 5, (1, 1))
    x = S.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg")
    return S.SoftmaxOutput(S.Flatten(x), name="softmax"), images(19)


NETWORKS = (
    mlp,
    lenet,
    alexnet,
    vgg,
    vgg_bn,
    network_in_network,
    googlenet,
    inception_bn,
    inception_v3,
    squeezenet,
)

"""Classifiers of images for telephones: convolutions by channel."""

from .images import images
from .layers import averaged, conv, conv_bn, norm


def _separable(S, x, channels, filters, stride):
    x = conv_bn(S, x, channels, stride=(stride, stride), num_group=channels)
    return conv_bn(S, x, filters, (1, 1))


def mobilenet_v1(S):
    x = conv_bn(S, S.Variable("data"), 4, stride=(2, 2))
    channels = 4
    for filters, stride in ((6, 1), (8, 2), (8, 1)):
        x = _separable(S, x, channels, filters, stride)
        channels = filters
    return averaged(S, x), images(16)


def mobilenet_v2(S):
    """Wide in the middle, linear at the end, cut at 6."""
    x = S.clip(norm(S, conv(S, S.Variable("data"), 4, no_bias=True), relu=False), 0, 6)
    channels = 4
    for filters, stride in ((4, 1), (6, 2)):
        wide = channels * 2
        y = S.clip(norm(S, conv(S, x, wide, (1, 1), no_bias=True), relu=False), 0, 6)
        y = conv(S, y, wide, stride=(stride, stride), num_group=wide, no_bias=True)
        y = S.clip(norm(S, y, relu=False), a_min=0, a_max=6)
        y = norm(S, conv(S, y, filters, (1, 1), no_bias=True), relu=False)
        x, channels = (S.elemwise_add(x, y) if stride == 1 else y), filters
    x = S.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg")
    x = S.Flatten(conv(S, x, 5, (1, 1), no_bias=True))
    return S.SoftmaxOutput(x, name="softmax"), images(12)


def mobilenet_v3(S):
    """With the hard swish and the hard sigmoid."""

    def swish(x):
        return x * S.clip(x + 3, a_min=0, a_max=6) / 6

    x = swish(norm(S, conv(S, S.Variable("data"), 4, no_bias=True), relu=False))
    y = swish(norm(S, conv(S, x, 4, (5, 5), num_group=4, no_bias=True), relu=False))
    weight = S.Pooling(y, global_pool=True, kernel=(1, 1), pool_type="avg")
    weight = S.hard_sigmoid(conv(S, weight, 4, (1, 1)), alpha=1 / 6, beta=0.5)
    return averaged(S, x + S.broadcast_mul(y, weight)), images(8)


def shufflenet(S):
    """Channels of groups are mixed between two convolutions by group."""
    x = conv_bn(S, S.Variable("data"), 8)
    y = conv_bn(S, x, 8, (1, 1), num_group=2)
    y = S.reshape(y, shape=(0, -4, 2, -1, -2))
    y = S.reshape(S.SwapAxis(y, dim1=1, dim2=2), shape=(0, -3, -2))
    y = norm(S, conv(S, y, 8, stride=(2, 2), num_group=8, no_bias=True), relu=False)
    y = norm(S, conv(S, y, 8, (1, 1), num_group=2, no_bias=True), relu=False)
    x = S.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg")
    return averaged(S, S.Activation(S.Concat(x, y, dim=1), act_type="relu")), images(9)


NETWORKS = (mobilenet_v1, mobilenet_v2, mobilenet_v3, shufflenet)

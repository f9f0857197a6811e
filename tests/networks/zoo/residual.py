"""Classifiers of images with shortcuts."""

from .images import images
from .layers import MOMENTUM, averaged, conv, conv_bn, norm, pool


def _after(S, x, filters, stride, groups=1):
    """A unit of the first version: normalized after each convolution."""
    y = conv_bn(S, x, filters, stride=(stride, stride))
    y = norm(S, conv(S, y, filters, num_group=groups, no_bias=True), relu=False)
    if stride > 1:
        x = norm(S, conv(S, x, filters, (1, 1), (stride, stride), no_bias=True), relu=False)
    return S.Activation(y + x, act_type="relu")


def resnet_v1(S):
    x = pool(S, conv_bn(S, S.Variable("data"), 4, (7, 7), (2, 2)), kernel=(3, 3), pad=(1, 1))
    for filters, stride in ((4, 1), (6, 2)):
        x = _after(S, x, filters, stride)
    return averaged(S, x), images(24)


def _before(S, x, filters, stride, name):
    """A bottleneck of the second version: normalized before each convolution."""
    act = norm(S, x, name=f"{name}_bn1")
    y = conv(S, act, filters // 2, (1, 1), no_bias=True, name=f"{name}_conv1")
    y = norm(S, y, name=f"{name}_bn2")
    y = conv(S, y, filters // 2, stride=(stride, stride), no_bias=True, name=f"{name}_conv2")
    y = norm(S, y, name=f"{name}_bn3")
    y = conv(S, y, filters, (1, 1), no_bias=True, name=f"{name}_conv3")
    if stride > 1:
        x = conv(S, act, filters, (1, 1), (stride, stride), no_bias=True, name=f"{name}_sc")
    return y + x


def resnet_v2(S):
    x = S.BatchNorm(S.Variable("data"), fix_gamma=True, eps=2e-5, momentum=MOMENTUM, name="bn_data")
    x = conv(S, x, 4, no_bias=True, name="conv0")
    for i, (filters, stride) in enumerate(((8, 2), (8, 1), (12, 2))):
        x = _before(S, x, filters, stride, f"stage{i + 1}")
    return averaged(S, norm(S, x, name="bn1")), images(12)


def resnext(S):
    x = conv_bn(S, S.Variable("data"), 4)
    for stride in (2, 1):
        y = conv_bn(S, x, 8, (1, 1))
        y = conv_bn(S, y, 8, stride=(stride, stride), num_group=4)
        y = norm(S, conv(S, y, 8, (1, 1), no_bias=True), relu=False)
        if stride > 1:
            x = norm(S, conv(S, x, 8, (1, 1), (2, 2), no_bias=True), relu=False)
        x = S.Activation(x + y, act_type="relu")
    return averaged(S, x), images(12)


def squeeze_and_excitation(S):
    """Channels weighed by what the whole image says."""
    x = conv_bn(S, S.Variable("data"), 6)
    for _ in range(2):
        y = conv_bn(S, x, 6)
        weight = S.Pooling(y, global_pool=True, kernel=(1, 1), pool_type="avg")
        weight = S.Activation(conv(S, weight, 2, (1, 1)), act_type="relu")
        weight = S.Activation(conv(S, weight, 6, (1, 1)), act_type="sigmoid")
        x = S.Activation(S.broadcast_mul(y, weight) + x, act_type="relu")
    return averaged(S, x), images(10)


def inception_resnet(S):
    """A shortcut beside branches that are scaled down, and a chosen activation."""
    x = conv_bn(S, S.Variable("data"), 6, stride=(2, 2))
    for scale in (0.17, 0.1):
        ways = [conv_bn(S, x, 2, (1, 1)), conv_bn(S, conv_bn(S, x, 2, (1, 1)), 2)]
        up = conv(S, S.Concat(*ways), 6, (1, 1))
        x = S.Activation(x + scale * up, act_type="relu")
    return averaged(S, x, smooth_alpha=0.1), images(12)


def densenet(S):
    """Every layer reads all before it."""
    x = conv(S, S.Variable("data"), 4, no_bias=True)
    for block, layers in enumerate((3, 2)):
        if block:
            x = conv(S, norm(S, x), 5, (1, 1), no_bias=True)
            x = pool(S, x, "avg")
        for _ in range(layers):
            y = conv(S, norm(S, x), 6, (1, 1), no_bias=True)
            y = S.Dropout(conv(S, norm(S, y), 3, no_bias=True), p=0.0)
            x = S.Concat(x, y, dim=1)
    return averaged(S, norm(S, x)), images(10)


def dual_path(S):
    """One part is added, the other one grows."""
    x = conv_bn(S, S.Variable("data"), 8)
    kept, grown = S.slice_axis(x, axis=1, begin=0, end=5), S.slice_axis(x, axis=1, begin=5, end=8)
    for _ in range(2):
        y = conv(S, norm(S, S.Concat(kept, grown, dim=1)), 6, (1, 1), no_bias=True)
        y = conv(S, norm(S, y), 7, num_group=1, no_bias=True)
        kept = kept + S.slice_axis(y, axis=1, begin=0, end=5)
        grown = S.Concat(grown, S.slice_axis(y, axis=1, begin=5, end=7), dim=1)
    return averaged(S, norm(S, S.Concat(kept, grown, dim=1))), images(9)


NETWORKS = (
    resnet_v1,
    resnet_v2,
    resnext,
    squeeze_and_excitation,
    inception_resnet,
    densenet,
    dual_path,
)

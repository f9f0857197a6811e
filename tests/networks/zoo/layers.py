"""Layers that networks of several families share."""

MOMENTUM = 0.875
"""A number that float32 holds exactly: MXNet keeps the momentum of statistics so."""


def conv(S, x, filters, kernel=(3, 3), stride=(1, 1), pad=None, **kwargs):
    """A convolution that keeps height and width where its stride is 1."""
    pad = tuple(k // 2 for k in kernel) if pad is None else pad
    return S.Convolution(x, num_filter=filters, kernel=kernel, stride=stride, pad=pad, **kwargs)


def conv_relu(S, x, filters, *args, **kwargs):
    return S.Activation(conv(S, x, filters, *args, **kwargs), act_type="relu")


def conv_bn(S, x, filters, *args, **kwargs):
    """A convolution, normalized, and cut at zero."""
    x = conv(S, x, filters, *args, no_bias=True, **kwargs)
    return S.Activation(
        S.BatchNorm(x, fix_gamma=False, eps=1e-3, momentum=MOMENTUM), act_type="relu"
    )


def pool(S, x, kind="max", kernel=(2, 2), stride=(2, 2), **kwargs):
    return S.Pooling(x, kernel=kernel, stride=stride, pool_type=kind, **kwargs)


def norm(S, x, relu=True, **kwargs):
    """Normalized, and by default cut at zero."""
    x = S.BatchNorm(x, fix_gamma=False, eps=2e-5, momentum=MOMENTUM, **kwargs)
    return S.Activation(x, act_type="relu") if relu else x


def embed(S, x, **kwargs):
    """Rows of a table; its type is an attribute."""
    return S.Embedding(x, dtype="float64", **kwargs)


def classified(S, x, classes=5, **kwargs):
    x = S.FullyConnected(S.Flatten(x), num_hidden=classes)
    return S.SoftmaxOutput(x, name="softmax", **kwargs)


def averaged(S, x, **kwargs):
    """Classes from the mean over the image."""
    x = S.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg")
    return classified(S, x, **kwargs)

"""Networks that are built both with MXNet and with Ferromix, to compare the two.

Each function takes the module of symbols and returns a symbol and the shapes of its inputs. All
names are given, since the automatic ones depend on what was made before.
"""


def arithmetic(S):
    """Every sign, between symbols and with scalars on either side."""
    a, b = S.Variable("a"), S.Variable("b")
    x = (a + b) * (a - 2) / (b + 3) + (1 - a) * (2 / (b + 4)) - 0.5 * a
    y = (b + 2) ** 2 + (b + 2) ** (a * 0.5) + 2**a + (-a) + abs(b)
    return x + y * 0.25, {"a": (3, 4)}


def comparisons(S):
    """Every comparison; nothing but the first factor has a gradient."""
    a, b = S.Variable("a"), S.Variable("b")
    x = a * (a > b) + a * (a >= 0.1) + (a < b) + (a <= 0) + (a == b) + (b != 0)
    return x + S.maximum(a, b) + S.minimum(a, 0.2), {"a": (2, 5), "b": (2, 5)}


def elementwise(S):
    """Functions of one input; the gradient of the input is a long sum."""
    a = S.Variable("a")
    p = S.abs(a) + 0.5
    parts = [S.exp(a), S.log(p), S.sqrt(p), S.rsqrt(p), S.square(a), S.sin(a), S.cos(a)]
    parts += [S.tanh(a), S.sigmoid(a), S.relu(a), S.reciprocal(p), S.log1p(p), S.expm1(a)]
    return S.add_n(*parts, name="total"), {"a": (4, 3)}


def shapes(S):
    """Reductions, broadcasting, and changes of the shape."""
    a, b = S.Variable("a"), S.Variable("b")
    x = S.broadcast_add(a, b, name="wide")
    x = S.broadcast_mul(x, S.sum(x, axis=1, keepdims=True, name="sum"), name="scaled")
    x = S.transpose(x, axes=(0, 2, 1), name="turned")
    x = S.Reshape(x, shape=(0, -1), name="flat")
    x = S.slice_axis(x, axis=1, begin=1, end=-2, name="slice")
    x = S.Concat(x, S.expand_dims(S.mean(x, axis=1, name="mean"), axis=1, name="column"),
                 dim=1, name="joined")  # fmt: skip
    return S.dot(x, x, transpose_b=True, name="gram"), {"a": (2, 3, 4), "b": (1, 3, 1)}


def branches(S):
    """Outputs of several kinds: a loss, one without gradient, a variable, and an inner node."""
    a, b = S.Variable("a"), S.Variable("b")
    inner = S.broadcast_mul(a, b, name="inner")
    loss = S.make_loss(S.sum(S.square(inner, name="square"), name="sum"), name="loss")
    blocked = S.BlockGrad(inner * 3, name="blocked")
    return S.Group([loss, blocked, inner, a]), {"a": (2, 3), "b": (1, 3)}


def mlp(S):
    """A perceptron whose data and label come as variables of known attributes."""
    x = S.Variable("data", shape=(0, 6))
    x = S.FullyConnected(x, num_hidden=5, name="fc1", attr={"__lr_mult__": "2"})
    x = S.Activation(x, act_type="relu", name="relu1")
    x = S.FullyConnected(x, S.Variable("w2", lr_mult=0.5), num_hidden=3, no_bias=True, name="fc2")
    return S.SoftmaxOutput(x, name="softmax"), {"data": (4, 6)}


def shared(S):
    """Two layers with one weight, the second one composed."""
    w, x = S.Variable("w"), S.Variable("data")
    x = S.FullyConnected(x, w, num_hidden=4, no_bias=True, name="first")
    x = S.Activation(x, act_type="tanh", name="tanh1")
    x = S.FullyConnected(x, w, num_hidden=4, no_bias=True, name="second")
    x = S.Activation(S.Variable("x"), act_type="sigmoid", name="sigmoid1")(x=x)
    return S.LeakyReLU(x - 0.5, act_type="leaky", slope=0.1, name="leaky"), {"data": (3, 4)}


def convnet(S):
    """A convolutional network with auxiliary states, a residual sum and a concatenation."""
    x = S.Convolution(S.Variable("data"), num_filter=4, kernel=(3, 3), pad=(1, 1), name="c1")
    x = S.BatchNorm(x, fix_gamma=False, eps=1e-3, name="bn1")
    x = S.Activation(x, act_type="relu", name="r1")
    y = S.Convolution(
        x, num_filter=4, kernel=(3, 3), pad=(1, 1), num_group=2, no_bias=True, name="c2"
    )
    x = S.Activation(S.BatchNorm(y, name="bn2") + x, act_type="relu", name="r2")
    x = S.Concat(x, S.Dropout(y, p=0.0, name="drop"), dim=1, name="join")
    x = S.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    x = S.Pooling(x, kernel=(1, 1), global_pool=True, pool_type="avg", name="pool2")
    x = S.FullyConnected(S.Flatten(x, name="flat"), num_hidden=3, name="fc")
    return S.SoftmaxOutput(x, name="softmax", normalization="batch"), {"data": (2, 2, 6, 6)}


NETWORKS = {
    f.__name__: f
    for f in (arithmetic, comparisons, elementwise, shapes, branches, mlp, shared, convnet)
}

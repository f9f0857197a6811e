"""Recommenders, sparse models, and agents: much data, small networks."""

from .inputs import Input
from .layers import embed


def matrix_factorization(S):
    """A score is the product of what is known of a user and of a thing."""
    user = embed(S, S.Variable("user"), input_dim=8, output_dim=4, name="user")
    item = embed(S, S.Variable("item"), input_dim=9, output_dim=4, name="item")
    user = S.FullyConnected(S.Activation(user, act_type="relu"), num_hidden=4, name="fc_user")
    item = S.FullyConnected(S.Activation(item, act_type="relu"), num_hidden=4, name="fc_item")
    pred = S.Flatten(S.sum_axis(user * item, axis=1))
    return S.LinearRegressionOutput(pred, S.Variable("score")), {
        "user": Input((5,), 8), "item": Input((5,), 9), "score": (5, 1),
    }  # fmt: skip


def dssm(S):
    """Cosines between a question and answers, the first of which is right."""

    def tower(name, shape):
        x = S.FullyConnected(S.Reshape(S.Variable(name), shape=(-1, 12)), num_hidden=6,
                             name=f"{name}_fc1")  # fmt: skip
        x = S.FullyConnected(S.tanh(x), num_hidden=4, name=f"{name}_fc2")
        return S.Reshape(S.L2Normalization(S.tanh(x), mode="instance"), shape=shape)

    cosines = S.batch_dot(tower("query", (-1, 1, 4)), tower("docs", (-1, 3, 4)), transpose_b=True)
    softmax = S.softmax(S.Reshape(cosines, shape=(0, -1)) * 5.0)
    right = S.slice_axis(softmax, axis=1, begin=0, end=1)
    return S.MakeLoss(-S.sum(S.log(right))), {"query": (2, 12), "docs": (2, 3, 12)}


def sparse_linear(S):
    """Weights of the columns that there are, and gradients of no other ones."""
    data = S.Variable("data", stype="csr")
    weight = S.Variable("weight", shape=(20, 3), stype="row_sparse")
    x = S.broadcast_add(S.sparse.dot(data, weight), S.Variable("bias", shape=(3,)))
    return S.SoftmaxOutput(x, S.Variable("softmax_label"), name="model", multi_output=True), {
        "data": Input((4, 20), stype="csr"), "softmax_label": Input((4,), 3),
    }  # fmt: skip


def factorization_machine(S):
    """Products of pairs, by the square of the sum and the sum of the squares."""
    data = S.Variable("data", stype="csr")
    factors = S.Variable("v", shape=(16, 3), stype="row_sparse")
    linear = S.sparse.dot(data, S.Variable("w", shape=(16, 1), stype="row_sparse"))
    linear = S.broadcast_add(linear, S.Variable("w0", shape=(1,)))
    whole = S.sum(S.square(S.sparse.dot(data, factors)), axis=1, keepdims=True)
    squares = S.sparse.dot(S.square(data), S._internal._square_sum(factors, axis=1, keepdims=True))
    score = linear + 0.5 * (whole - squares)
    return S.LogisticRegressionOutput(score, S.Variable("label")), {
        "data": Input((5, 16), stype="csr"), "label": Input((5, 1), 2),
    }  # fmt: skip


def wide_and_deep(S):
    """A sparse linear model beside a perceptron of embeddings."""
    weight = S.Variable("linear_weight", shape=(12, 2), stype="row_sparse")
    wide = S.sparse.dot(S.Variable("csr_data", stype="csr"), weight)
    parts = []
    columns = S.SliceChannel(S.Variable("dns_data"), num_outputs=3, axis=1, squeeze_axis=True)
    for i in range(2):
        parts.append(embed(S, columns[i], input_dim=4, output_dim=3, name=f"embed_{i}"))
    parts.append(S.expand_dims(columns[2], axis=1))
    deep = S.FullyConnected(S.Concat(*parts, dim=1), num_hidden=6)
    deep = S.FullyConnected(S.Activation(deep, act_type="relu"), num_hidden=2)
    return S.SoftmaxOutput(wide + deep, S.Variable("softmax_label"), name="model"), {
        "csr_data": Input((4, 12), stype="csr"), "dns_data": Input((4, 3), 4),
        "softmax_label": Input((4,), 2),
    }  # fmt: skip


def actor_and_critic(S):
    """A policy and a value of one body; the advantage has no gradient."""
    x = S.Activation(S.FullyConnected(S.Variable("data"), num_hidden=8), act_type="relu")
    policy = S.SoftmaxActivation(S.FullyConnected(x, num_hidden=3, name="policy"))
    value = S.FullyConnected(x, num_hidden=1, name="value")
    reward = S.Variable("reward")
    chosen = S.log(S.pick(policy, S.Variable("action"), axis=1, keepdims=True) + 1e-8)
    loss = -chosen * S.BlockGrad(reward - value) + 0.5 * S.square(reward - value)
    spread = S.sum(policy * S.log(policy + 1e-8), axis=1, keepdims=True)
    loss = S.MakeLoss(loss + 0.01 * spread, normalization="batch")
    return S.Group([S.BlockGrad(policy), S.BlockGrad(value), loss]), {
        "data": (4, 5), "reward": (4, 1), "action": Input((4,), 3),
    }  # fmt: skip


def dueling(S):
    """Two halves of a value, and a clipped difference to a target."""
    x = S.Convolution(S.Variable("data"), num_filter=4, kernel=(4, 4), stride=(2, 2))
    x = S.FullyConnected(S.Activation(x, act_type="relu"), num_hidden=6)
    x = S.Activation(x, act_type="softsign")
    value = S.FullyConnected(x, num_hidden=1, name="value")
    gain = S.FullyConnected(x, num_hidden=3, name="gain")
    score = S.broadcast_add(value, S.broadcast_minus(gain, S.mean(gain, axis=1, keepdims=True)))
    chosen = S.choose_element_0index(score, S.Variable("action"))
    error = S.clip(S.Variable("target") - chosen, a_min=-1, a_max=1)
    return S.Group([S.MakeLoss(S.square(error)), S.argmax(score, axis=1)]), {
        "data": (3, 2, 8, 8), "action": Input((3,), 3), "target": (3,),
    }  # fmt: skip


def mixture_density(S):
    """A distribution of several bells about each answer."""
    x = S.Activation(S.FullyConnected(S.Variable("data"), num_hidden=6), act_type="tanh")
    share = S.log_softmax(S.FullyConnected(x, num_hidden=3, name="share"))
    mean = S.FullyConnected(x, num_hidden=3, name="center")
    width = S.FullyConnected(x, num_hidden=3, name="width")
    away = S.broadcast_sub(S.Variable("label"), mean) * S.exp(-width)
    bells = share - width - 0.5 * S.square(away)
    most = S.BlockGrad(S.max(bells, axis=1, keepdims=True))
    total = S.log(S.sum(S.exp(S.broadcast_sub(bells, most)), axis=1, keepdims=True)) + most
    return S.MakeLoss(-total), {"data": (5, 2), "label": (5, 1)}


NETWORKS = (
    matrix_factorization,
    dssm,
    sparse_linear,
    factorization_machine,
    wide_and_deep,
    actor_and_critic,
    dueling,
    mixture_density,
)

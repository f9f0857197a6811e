"""Networks over words without a state: convolutions, gates, attention."""

from .inputs import Input
from .layers import embed


def text_cnn(S):
    """Kernels over several words, each with its maximum over the sentence."""
    x = embed(S, S.Variable("data"), input_dim=9, output_dim=4, name="vocab_embed")
    x = S.Reshape(x, target_shape=(3, 1, 6, 4))
    found = []
    for size in (2, 3, 4):
        y = S.Convolution(x, kernel=(size, 4), num_filter=3)
        y = S.Activation(y, act_type="relu")
        found.append(S.Pooling(y, pool_type="max", kernel=(6 - size + 1, 1), stride=(1, 1)))
    x = S.Dropout(S.Reshape(S.Concat(*found, dim=1), shape=(3, 9)), p=0.0)
    x = S.FullyConnected(x, num_hidden=2)
    return S.SoftmaxOutput(x, name="softmax"), {
        "data": Input((3, 6), 9), "softmax_label": Input((3,), 2),
    }  # fmt: skip


def highway(S):
    """Gates that say how much of the input passes."""
    x = S.FullyConnected(S.Variable("data"), num_hidden=6, name="in")
    for i in range(3):
        y = S.Activation(S.FullyConnected(x, num_hidden=6, name=f"high{i}"), act_type="relu")
        gate = S.FullyConnected(x, num_hidden=6, name=f"gate{i}", bias=S.Variable(f"g{i}_bias"))
        gate = S.Activation(gate - 2.0, act_type="sigmoid")
        x = y * gate + x * (1 - gate)
    return S.SoftmaxOutput(S.FullyConnected(x, num_hidden=3), name="softmax"), {
        "data": (4, 5), "softmax_label": Input((4,), 3),
    }  # fmt: skip


def _attention(S, query, keys, values, heads, name, mask=None):
    """Heads side by side in the batch; batch, steps, width in and out."""

    def apart(x, part):
        x = S.FullyConnected(x, num_hidden=8, flatten=False, no_bias=True, name=f"{name}_{part}")
        x = S.transpose(S.reshape(x, shape=(0, 0, heads, -1)), axes=(0, 2, 1, 3))
        return S.reshape(x, shape=(-3, -2))

    query, keys, values = apart(query, "q"), apart(keys, "k"), apart(values, "v")
    scores = S.batch_dot(query, keys, transpose_b=True) / 2.0
    if mask is not None:
        scores = S.broadcast_add(scores, mask)
    out = S.batch_dot(S.Dropout(S.softmax(scores, axis=-1), p=0.0), values)
    out = S.transpose(S.reshape(out, shape=(-4, -1, heads, -2)), axes=(0, 2, 1, 3))
    out = S.reshape(out, shape=(0, 0, -1))
    return S.FullyConnected(out, num_hidden=8, flatten=False, name=f"{name}_out")


def _sum_and_norm(S, x, y, name):
    return S.LayerNorm(x + y, axis=-1, eps=1e-5, name=name)


def transformer(S):
    """An encoder's and a decoder's layer."""
    source = embed(S, S.Variable("source"), input_dim=7, output_dim=8, name="source_embed")
    source = S.broadcast_add(source * 2.0, S.Variable("places", shape=(1, 4, 8)))
    source = _sum_and_norm(S, source, _attention(S, source, source, source, 2, "enc"), "enc_ln1")
    inner = S.FullyConnected(source, num_hidden=12, flatten=False, name="enc_ffn1")
    inner = S.LeakyReLU(inner, act_type="gelu")
    inner = S.FullyConnected(inner, num_hidden=8, flatten=False, name="enc_ffn2")
    source = _sum_and_norm(S, source, inner, "enc_ln2")
    x = embed(S, S.Variable("target"), input_dim=7, output_dim=8, name="target_embed")
    x = _sum_and_norm(S, x, _attention(S, x, x, x, 2, "dec", S.Variable("mask")), "dec_ln1")
    x = _sum_and_norm(S, x, _attention(S, x, source, source, 4, "cross"), "dec_ln2")
    x = S.FullyConnected(x, num_hidden=7, flatten=False, name="pred")
    loss = S.SoftmaxOutput(x, S.Variable("label"), preserve_shape=True, name="softmax")
    words = Input((2, 4), 7)
    return loss, {"source": words, "target": words, "label": words, "mask": (1, 4, 4)}


def attention_pooling(S):
    """A sentence as the mean of its words, weighed by a softmax over those that there are."""
    lengths = S.Variable("lengths")
    x = embed(S, S.Variable("data"), input_dim=8, output_dim=4, name="embed")
    score = S.FullyConnected(S.tanh(S.FullyConnected(x, num_hidden=5, flatten=False)),
                             num_hidden=1, flatten=False)  # fmt: skip
    score = S.reshape(score, shape=(0, -1))
    mask = S.broadcast_lesser(S.arange(5, dtype="float64").reshape((1, -1)),
                              S.expand_dims(lengths, 1))  # fmt: skip
    score = S.where(mask, score, S.ones_like(score) * -1e9)
    x = S.sum(S.broadcast_mul(x, S.expand_dims(S.softmax(score), 2)), axis=1)
    return S.SVMOutput(S.FullyConnected(x, num_hidden=3), S.Variable("label"), margin=0.7), {
        "data": Input((4, 5), 8), "lengths": Input((4,), 6, 1), "label": Input((4,), 3),
    }  # fmt: skip


def memory_network(S):
    """Sentences are looked up by likeness to a question, twice."""
    story, question = S.Variable("story"), S.Variable("question")
    state = S.sum(embed(S, question, input_dim=9, output_dim=4, name="B"), axis=1)
    for hop in range(2):
        keys = S.sum(embed(S, story, input_dim=9, output_dim=4, name=f"A{hop}"), axis=2)
        values = S.sum(embed(S, story, input_dim=9, output_dim=4, name=f"C{hop}"), axis=2)
        match = S.batch_dot(keys, S.expand_dims(state, axis=2))
        match = S.softmax(S.Reshape(match, shape=(0, -1)))
        read = S.batch_dot(S.expand_dims(match, axis=1), values)
        state = S.FullyConnected(state, num_hidden=4, no_bias=True, name=f"H{hop}") + S.Reshape(
            read, shape=(0, -1)
        )
    return S.SoftmaxOutput(S.FullyConnected(state, num_hidden=9), name="softmax"), {
        "story": Input((2, 3, 4), 9), "question": Input((2, 4), 9),
        "softmax_label": Input((2,), 9),
    }  # fmt: skip


def word_vectors(S):
    """Noise contrastive estimation: the right word among wrong ones."""
    context = embed(S, S.Variable("data"), input_dim=10, output_dim=4, name="embed")
    context = S.mean(context, axis=1, keepdims=True)
    label, weights = S.Variable("label"), S.Variable("label_weight")
    rows = embed(S, label, input_dim=10, output_dim=4, name="out_embed")
    bias = embed(S, label, input_dim=10, output_dim=1, name="bias")
    pred = S.sum(S.broadcast_mul(context, rows), axis=2) + S.Reshape(bias, shape=(0, -1))
    return S.LogisticRegressionOutput(pred, weights), {
        "data": Input((3, 4), 10), "label": Input((3, 5), 10), "label_weight": Input((3, 5), 2),
    }  # fmt: skip


def gated_convolutions(S):
    """Text as one dimension, with halves that open and shut each other."""
    x = S.transpose(embed(S, S.Variable("data"), input_dim=8, output_dim=4), axes=(0, 2, 1))
    for i in range(2):
        y = S.Convolution(x, kernel=(3,), pad=(2,), num_filter=8, name=f"conv{i}")
        y = S.slice(y, begin=(None, None, 0), end=(None, None, 5))
        value, gate = S.split(y, num_outputs=2, axis=1)
        x = x + value * S.sigmoid(gate)
    x = S.Pooling(x, kernel=(1,), global_pool=True, pool_type="max")
    return S.SoftmaxOutput(S.FullyConnected(x, num_hidden=3), name="softmax"), {
        "data": Input((3, 5), 8), "softmax_label": Input((3,), 3),
    }  # fmt: skip


NETWORKS = (
    text_cnn,
    highway,
    transformer,
    attention_pooling,
    memory_network,
    word_vectors,
    gated_convolutions,
)

"""Sentences in buckets, and a network that learns from them."""

from __future__ import annotations

from random import seed

import numpy as np
import pytest

import ferromix as mx
from ferromix.error import InvalidArgumentError


def test_words_become_numbers():
    coded, words = mx.rnn.encode_sentences([["a", "b"], ["c", "a"]], start_label=1, invalid_label=0)
    assert coded == [[1, 2], [3, 1]]
    assert words == {"\n": 0, "a": 1, "b": 2, "c": 3}
    known = {"a": 1, "?": 2}
    assert mx.rnn.encode_sentences([["a", "z"]], known, unknown_token="?")[0] == [[1, 2]]
    with pytest.raises(InvalidArgumentError, match="lacks the word 'z'"):
        mx.rnn.encode_sentences([["z"]], known)
    # The number of padding is left out.
    assert mx.rnn.encode_sentences([["a", "b"]], start_label=0, invalid_label=1)[0] == [[0, 2]]


@pytest.mark.parametrize("layout", ["NT", "TN"])
def test_batches_of_each_length(layout, caplog):
    sentences = [[1, 2, 3], [4, 5], [6, 7], [8, 9, 10, 11], [1] * 9]
    data = mx.rnn.BucketSentenceIter(
        sentences, 2, buckets=[4, 2], invalid_label=0, layout=layout, dtype="int32"
    )
    assert data.discarded == 1
    assert "discarded 1 sentences longer than the largest bucket" in caplog.text
    assert data.default_bucket_key == 4
    assert data.provide_data[0].shape == ((2, 4) if layout == "NT" else (4, 2))
    for _ in range(2):
        rows = []
        for batch in data:
            words, following = (x[0].asnumpy() for x in (batch.data, batch.label))
            assert batch.provide_data[0].shape == words.shape
            if layout == "TN":
                words, following = words.T, following.T
            assert words.shape == (2, batch.bucket_key)
            assert np.array_equal(following[:, :-1], words[:, 1:])
            assert not following[:, -1].any()
            rows += [[int(w) for w in line if w] for line in words]
        assert sorted(rows) == sorted(sentences[:4])
        data.reset()
    with pytest.raises(InvalidArgumentError, match="no length has 3 sentences"):
        mx.rnn.BucketSentenceIter([[1], [2, 3]], 3)
    with pytest.raises(InvalidArgumentError, match="'NT' or 'TN'"):
        mx.rnn.BucketSentenceIter([[1]], 1, layout="TC")


def test_a_language_model_learns_to_count():
    mx.random.seed(0)
    np.random.seed(0)
    seed(0)  # of the order of batches
    random = np.random.default_rng(0)
    starts, lengths = random.integers(1, 6, 120), random.choice([5, 8], 120)
    sentences = [[1 + (s + i) % 6 for i in range(n)] for s, n in zip(starts, lengths, strict=True)]
    data = mx.rnn.BucketSentenceIter(sentences, 10, buckets=[5, 8], invalid_label=0)
    cell = mx.rnn.LSTMCell(16, prefix="lstm_")

    def graph(length):
        words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=7, output_dim=8, name="embed")
        outputs, _ = cell.unroll(length, words, merge_outputs=True)
        scores = mx.sym.FullyConnected(
            mx.sym.Reshape(outputs, shape=(-1, 16)), num_hidden=7, name="pred"
        )
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        return mx.sym.SoftmaxOutput(scores, label, name="softmax"), ("data",), ("softmax_label",)

    module = mx.mod.BucketingModule(graph, default_bucket_key=data.default_bucket_key)
    module.fit(
        data,
        eval_metric=mx.metric.Perplexity(0),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.02},
        initializer=mx.init.Xavier(factor_type="in", magnitude=2.34),
        num_epoch=8,
    )
    assert module.score(data, mx.metric.Perplexity(0))[0][1] < 1.2

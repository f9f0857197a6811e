"""Sentences of several lengths as batches of a few lengths."""

from __future__ import annotations

import bisect
import logging
import random
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import ndarray
from ..error import InvalidArgumentError
from ..io import DataBatch, DataDesc, DataIter
from ..io.iterator import provided

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences: Iterable[Sequence[Any]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    """Words as numbers.

    Parameters
    ----------
    sentences
        Lists of words.
    vocab
        The numbers of words; made of the words where None.
    invalid_label, invalid_key
        The number, and the word, that stand for padding.
    start_label
        The first number of a word.
    unknown_token
        What stands for words that `vocab` lacks.

    Returns
    -------
    tuple
        Lists of numbers, and the numbers of words.

    Raises
    ------
    InvalidArgumentError
        A word that `vocab` lacks, without `unknown_token`.

    Examples
    --------
    >>> from ferromix.rnn import encode_sentences
    >>> encode_sentences([["a", "b"], ["b"]], start_label=1)
    ([[1, 2], [2]], {'\\n': -1, 'a': 1, 'b': 2})
    """
    grows = vocab is None
    words: dict[Any, int] = {invalid_key: invalid_label} if vocab is None else vocab
    number, coded = start_label, []
    for sentence in sentences:
        row = []
        for word in sentence:
            if word not in words:
                if not grows and unknown_token is None:
                    raise InvalidArgumentError(
                        f"encode_sentences: vocab lacks the word {word!r}; give unknown_token"
                    )
                if number == invalid_label:
                    number += 1
                if unknown_token is not None:
                    word = unknown_token
                if word not in words:
                    words[word] = number
                    number += 1
            row.append(words[word])
        coded.append(row)
    return coded, words


class BucketSentenceIter(DataIter):
    """Batches of sentences of about equal length, for language models: labels are the next words.

    Parameters
    ----------
    sentences
        Lists of numbers.
    batch_size
        Sentences of a batch.
    buckets
        The lengths; by default those of which there are enough sentences for a batch.
    invalid_label
        The number that stands for padding.
    data_name, label_name, dtype
        Of the arrays.
    layout
        ``"NT"`` or ``"TN"``: where batch and time are.

    Examples
    --------
    >>> import ferromix as mx
    >>> data = mx.rnn.BucketSentenceIter([[1, 2, 3], [4, 5]], 1, buckets=[3], invalid_label=0)
    >>> batch = data.next()
    >>> batch.bucket_key, batch.data[0].shape
    (3, (1, 3))
    """

    def __init__(
        self,
        sentences: Iterable[Sequence[int]],
        batch_size: int,
        buckets: Sequence[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        rows = list(sentences)
        if not buckets:
            counts = np.bincount([len(row) for row in rows])
            buckets = [i for i, n in enumerate(counts) if n >= batch_size]
        self.buckets = sorted(buckets)
        if not self.buckets:
            raise InvalidArgumentError(
                f"BucketSentenceIter: no length has {batch_size} sentences; give buckets"
            )
        self.major_axis = layout.find("N")
        if self.major_axis not in (0, 1):
            raise InvalidArgumentError(
                f"BucketSentenceIter: layout must be 'NT' or 'TN', got {layout!r}"
            )
        self.data_name, self.label_name = data_name, label_name
        self.dtype, self.layout, self.invalid_label = dtype, layout, invalid_label
        self.data, self.discarded = self._padded(rows)
        if self.discarded:
            logging.warning(
                "BucketSentenceIter: discarded %d sentences longer than the largest bucket",
                self.discarded,
            )
        self.default_bucket_key = max(self.buckets)
        shape = self._shape(self.default_bucket_key)
        self._provided = [
            [DataDesc(name, shape, layout=layout)] for name in (data_name, label_name)
        ]
        self.idx = [
            (i, start)
            for i, sentences_of in enumerate(self.data)
            for start in range(0, len(sentences_of) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.reset()

    @provided
    def provide_data(self) -> list[DataDesc]:
        """What a batch of the longest bucket is."""
        return self._provided[0]

    @provided
    def provide_label(self) -> list[DataDesc]:
        """What its labels are."""
        return self._provided[1]

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[list[np.ndarray], int]:
        """The sentences of each bucket, and how many are too long for all."""
        found: list[list[np.ndarray]] = [[] for _ in self.buckets]
        discarded = 0
        for row in rows:
            bucket = bisect.bisect_left(self.buckets, len(row))
            if bucket == len(self.buckets):
                discarded += 1
                continue
            line = np.full((self.buckets[bucket],), self.invalid_label, dtype=self.dtype)
            line[: len(row)] = row
            found[bucket].append(line)
        lengths = zip(found, self.buckets, strict=True)
        return [np.array(b, self.dtype).reshape(-1, n) for b, n in lengths], discarded

    def _shape(self, length: int) -> tuple[int, int]:
        batch = self.batch_size
        return (batch, length) if self.major_axis == 0 else (length, batch)

    def reset(self) -> None:
        """Starts anew, in another order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for rows in self.data:
            np.random.shuffle(rows)

    def next(self) -> DataBatch:
        """The next batch."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, start = self.idx[self.curr_idx]
        self.curr_idx += 1
        rows = self.data[bucket][start : start + self.batch_size]
        labels = np.full_like(rows, self.invalid_label)
        labels[:, :-1] = rows[:, 1:]
        pair = [rows, labels] if self.major_axis == 0 else [rows.T, labels.T]
        data, label = (ndarray.array(np.ascontiguousarray(x), dtype=self.dtype) for x in pair)
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=self.buckets[bucket],
            provide_data=[DataDesc(self.data_name, data.shape, layout=self.layout)],
            provide_label=[DataDesc(self.label_name, label.shape, layout=self.layout)],
        )

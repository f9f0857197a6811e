"""Augmenters that change images and the boxes of objects in them together."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...error import ArgumentTypeError, InvalidArgumentError
from ...ndarray import NDArray
from ..augment import Augmenter, Described

__all__ = ["DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug", "DetRandomSelectAug"]


class DetAugmenter(Described):
    """The base of augmenters for detection: what changes an image and its label.

    The image has the shape (height, width, channels). The label is a NumPy array with a row for
    each object: its class, left, upper, right and lower end as shares of width and height, and
    possibly more.

    Parameters
    ----------
    **kwargs
        What :meth:`dumps` says of the augmenter; arrays become lists.

    Examples
    --------
    >>> import numpy as np
    >>> import ferromix as mx
    >>> class OneClass(mx.image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         label[:, 0] = 0
    ...         return src, label
    >>> OneClass()(mx.nd.ones((4, 4, 3)), np.array([[7, 0.1, 0.1, 0.9, 0.9]]))[1].tolist()
    [[0.0, 0.1, 0.1, 0.9, 0.9]]
    """

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The changed image and its label."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class DetBorrowAug(DetAugmenter):
    """An augmenter of images that leaves boxes where they are, such as one of colours.

    Parameters
    ----------
    augmenter
        An :class:`ferromix.image.Augmenter`.

    Raises
    ------
    ArgumentTypeError
        For something else.
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise ArgumentTypeError(
                f"DetBorrowAug: augmenter must be an Augmenter, got {type(augmenter).__name__}"
            )
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """The name, and what the augmenter is."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """The changed image, and the label as it is."""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn anew for each image, or none.

    Parameters
    ----------
    aug_list
        The augmenters, or the only one.
    skip_prob
        How often none is taken; always if there are none.

    Raises
    ------
    InvalidArgumentError
        If one of them is no :class:`DetAugmenter`.
    """

    def __init__(self, aug_list: Any, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        self.skip_prob = skip_prob if self.aug_list else 1
        for augmenter in self.aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise InvalidArgumentError(
                    "DetRandomSelectAug: aug_list must be of DetAugmenters, got "
                    f"{type(augmenter).__name__}"
                )

    def dumps(self) -> Any:
        """The name, and what the augmenters are."""
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """What the one that is drawn makes of image and label."""
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Exchanges left and right with probability `p`, in the label where it is."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        """Image and label, or their mirror images."""
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label

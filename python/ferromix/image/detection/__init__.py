"""Images with objects in them: augmenters that move boxes along, and an iterator.

As in MXNet, the modules that these work with are found here, too.
"""

from ... import io
from ... import ndarray as nd
from .augment import DetAugmenter, DetBorrowAug, DetHorizontalFlipAug, DetRandomSelectAug
from .crop import DetRandomCropAug
from .iterator import ImageDetIter
from .pad import DetRandomPadAug
from .pipeline import CreateDetAugmenter, CreateMultiRandCropAugmenter

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ImageDetIter",
    "io",
    "nd",
]

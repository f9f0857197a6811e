"""All functions and classes for images, under the path that they have in MXNet, too.

As there, the modules that they work with are found here, too.
"""

from .. import io, recordio
from .. import ndarray as nd
from .augment import (
    Augmenter,
    BrightnessJitterAug,
    CastAug,
    CenterCropAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    ForceResizeAug,
    HorizontalFlipAug,
    HueJitterAug,
    LightingAug,
    RandomCropAug,
    RandomGrayAug,
    RandomOrderAug,
    RandomSizedCropAug,
    ResizeAug,
    SaturationJitterAug,
    SequentialAug,
)
from .codec import copyMakeBorder, imdecode, imread, imresize
from .crop import (
    center_crop,
    color_normalize,
    fixed_crop,
    random_crop,
    random_size_crop,
    resize_short,
    scale_down,
)
from .iterator import ImageIter
from .pipeline import CreateAugmenter
from .rotate import imrotate, random_rotate

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "ImageIter",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "io",
    "nd",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "recordio",
    "resize_short",
    "scale_down",
]

"""Initial values of parameters, chosen by the name of the parameter.

A symbol's variables carry names such as ``conv1_weight`` or ``bn_moving_var``; an initializer
sets weights in its own way, and everything else to what its name calls for. A variable that has
an initializer of its own (attribute ``__init__``) is set by that one.

All random numbers come from :mod:`ferromix.random`, so ``mx.random.seed`` fixes them, whatever
the number of threads.
"""

from .. import layout, ndarray, registry
from .base import InitDesc, Initializer, alias, create, register
from .fused import FusedRNN
from .scaled import Bilinear, MSRAPrelu, Orthogonal, Xavier
from .simple import Constant, LSTMBias, Normal, One, Uniform, Zero
from .wrapping import Load, Mixed

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "ndarray",
    "register",
    "registry",
]

layout.enter("initializer")

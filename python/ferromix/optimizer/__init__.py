"""Rules by which gradients change parameters."""

from .adam import Adam
from .optimizer import Optimizer, create, register
from .sgd import SGD
from .updater import Updater, get_updater

__all__ = ["SGD", "Adam", "Optimizer", "Updater", "create", "get_updater", "register"]

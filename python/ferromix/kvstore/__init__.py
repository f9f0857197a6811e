"""Parameters kept in one place: pushed to from every device, pulled from by every device."""

from . import base
from .base import KVStoreBase, create
from .kvstore import KVStore
from .local import LocalKVStore

__all__ = ["KVStore", "KVStoreBase", "LocalKVStore", "base", "create"]

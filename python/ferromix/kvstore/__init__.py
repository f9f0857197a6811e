"""Parameters kept in one place: pushed to from every device, pulled from by every device."""

from .kvstore import KVStore, create
from .local import LocalKVStore

__all__ = ["KVStore", "LocalKVStore", "create"]

"""Stores that many processes share, on MPI.

Every process keeps a copy of all values. What is pushed is summed over the processes; an updater
runs in the process that owns the key, or a part of it, and the new values go to all of them.
"""

from .create import NAMES, create_dist

__all__ = ["NAMES", "create_dist"]

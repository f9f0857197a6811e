"""Trained networks on disk, and the oldest way to train one."""

from .checkpoint import BatchEndParam, load_checkpoint, load_params, save_checkpoint
from .feed_forward import FeedForward

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]

"""Gluon. So far it has data sets and loaders only (:mod:`ferromix.gluon.data`), and no blocks."""

from . import data

__all__ = ["data"]

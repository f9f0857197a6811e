"""Graphs are csr arrays, so operators on them are tried in ``tests/sparse``."""

CASES = []

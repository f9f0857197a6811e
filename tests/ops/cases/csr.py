"""Operators on parts of csr arrays are tried through arrays, in ``tests/sparse``."""

CASES = []

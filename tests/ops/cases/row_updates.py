"""Steps on the rows of row_sparse gradients are tried through arrays, in ``tests/sparse``."""

CASES = []

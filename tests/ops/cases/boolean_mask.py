"""Shapes depend on values, so boolean_mask is tried in ``tests/ops/test_boolean_mask.py``."""

CASES = []

"""Tests of the operators, made from tables of cases: one table for each family of cards."""

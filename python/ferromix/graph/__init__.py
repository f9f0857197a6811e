"""Passes over computation graphs: inference, gradients, memory plans and MXNet's JSON.

Everything here is pure Python over operator cards and runs once per bound graph.
"""

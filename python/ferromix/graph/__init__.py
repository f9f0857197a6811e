"""Passes over computation graphs: inference, gradients, memory plans and MXNet's JSON.

Everything here runs once per bound graph and asks operator cards. What goes through all nodes of
a graph and would take long in Python does so in the core: walks, inference, the memory plan.
"""

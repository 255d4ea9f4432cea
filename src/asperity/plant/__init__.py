"""Evaluation: all that knows the arrays of ``MjModel`` and ``MjData``."""

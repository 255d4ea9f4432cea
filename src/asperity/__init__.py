"""Asperity: simulation of robots and objects in frictional contact."""

__version__ = "0.1.0"

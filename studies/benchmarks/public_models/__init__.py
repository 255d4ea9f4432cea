"""Integrators on the models that people have: every file of many packages, for a moment."""

"""Steppings: who chooses the step size, and what is accepted."""

"""Scenes of experiments and benchmarks."""

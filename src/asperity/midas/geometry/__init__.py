"""Distances, intersections and collision times of primitives."""

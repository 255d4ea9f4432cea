"""Collision detection: broad phase, contacts, pressure fields, sweeps between samples."""

"""Hydroelastic (pressure-field) contact: bodies as fields of pressure over tetrahedra."""

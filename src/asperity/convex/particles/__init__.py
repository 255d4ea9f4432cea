"""Particles of deformable bodies: trees of three degrees of freedom, which bonds couple in A."""

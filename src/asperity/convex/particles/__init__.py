"""Particles of deformable bodies: trees of three degrees of freedom that A couples."""

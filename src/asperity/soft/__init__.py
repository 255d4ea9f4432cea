"""Deformable bodies: their elements, and the elasticity of these."""

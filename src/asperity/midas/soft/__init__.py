"""Deformable bodies of the engine: volumes and cloth whose vertices are links of their own."""

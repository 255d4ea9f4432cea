"""Triangle meshes: of primitive shapes, and what follows from a mesh alone."""

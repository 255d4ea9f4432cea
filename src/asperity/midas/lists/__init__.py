"""The broad phase: which primitives may touch while links stay near their paths."""

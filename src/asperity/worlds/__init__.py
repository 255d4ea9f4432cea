"""Many worlds at once: `Batch`, and `rollout`."""

from asperity.worlds.batch import Batch

__all__ = ["Batch"]

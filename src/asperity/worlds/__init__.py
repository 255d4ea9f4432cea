"""Many worlds at once: `Batch`, and `rollout`."""

from asperity.worlds.batch import Batch
from asperity.worlds.rollouts import rollout

__all__ = ["Batch", "rollout"]

"""Rollouts and parameter sweeps over the machines of a Ray cluster (extra ``ray``)."""

from asperity.distributed.distributed_rollout import rollout
from asperity.distributed.sweeps import grid, sweep

__all__ = ["grid", "rollout", "sweep"]

"""Who looks at the steps of a simulation while it runs."""

from __future__ import annotations

__all__ = ["Watcher"]


class Watcher:
    """Looks at steps; a subclass of `Simulator` that is one, too, watches its own.

    Python then begins every stretch of steps.
    """

    def before_steps(self, budget: int) -> int:
        """Called before a stretch of at most so many attempted steps; returns how many instead."""
        return budget

    def after_steps(self) -> None:
        """Called after a stretch of steps."""

    def keep_record(self) -> None:
        """Called when the world's record of accepted steps is full, and emptied then."""

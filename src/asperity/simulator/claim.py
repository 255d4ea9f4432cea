"""What only one thread may do at a time, and refuses to do twice at once."""

from __future__ import annotations

import threading
from typing import NoReturn

from asperity.errors import SimulationError

__all__ = ["Claim"]


class Claim:
    """Held by ``with``, by one call at a time; by its lock where ``with`` would take too long.

    Parameters
    ----------
    refusal : str
        What to say to whoever comes while it is held: an error's message.

    Attributes
    ----------
    lock : threading.Lock
        Of those who rather do without than be refused.
    """

    def __init__(self, refusal: str) -> None:
        self.lock = threading.Lock()
        self._refusal = refusal

    def refuse(self) -> NoReturn:
        """Tell who has not got the lock."""
        raise SimulationError(self._refusal)

    def __enter__(self) -> None:
        if not self.lock.acquire(False):
            self.refuse()

    def __exit__(self, *_: object) -> None:
        self.lock.release()

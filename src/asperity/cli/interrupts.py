"""Ctrl-C and SIGTERM that wait for a moment at which nothing is half done."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["Interrupt", "deferred_interrupt"]

# Schedulers of clusters and containers send SIGTERM before they kill.
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Whether Ctrl-C was pressed, or the process was asked to end."""

    def __init__(self) -> None:
        self.requested = False

    def check(self) -> None:
        """Raise KeyboardInterrupt if it was."""
        if self.requested:
            raise KeyboardInterrupt


@contextlib.contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """Turn the first SIGINT or SIGTERM into a flag to check; a second one interrupts at once."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt  # signals belong to the main thread
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupt.requested:
            raise KeyboardInterrupt
        interrupt.requested = True

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield interrupt
    finally:
        for number, handler in previous.items():
            # None is a handler of C, which Python cannot put back.
            if handler is not None:
                signal.signal(number, handler)

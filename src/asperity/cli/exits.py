"""Exit codes of the process."""

__all__ = ["BAD_INPUT", "FAILED", "INTERRUPTED", "SUCCESS"]

SUCCESS = 0
FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130  # what shells report of a process that Ctrl-C ended

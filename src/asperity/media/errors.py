"""The one exception of this package."""

from __future__ import annotations

from asperity.errors import AsperityError

__all__ = ["MediaError"]


class MediaError(AsperityError, ValueError):
    """A video or playback cannot be made: the message names the argument or the library."""

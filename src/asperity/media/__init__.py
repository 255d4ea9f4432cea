"""Pictures of simulations: videos and web playbacks."""

from asperity.media.errors import MediaError
from asperity.media.video import write_video
from asperity.media.web import write_web_playback

__all__ = ["MediaError", "write_video", "write_web_playback"]

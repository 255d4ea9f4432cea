"""Simulations for other programs: videos, web playbacks, MCAP and USD files."""

from asperity.media.errors import MediaError
from asperity.media.mcap_file import write_mcap
from asperity.media.usd_file import write_usd
from asperity.media.video import write_video
from asperity.media.web import write_web_playback

__all__ = ["MediaError", "write_mcap", "write_usd", "write_video", "write_web_playback"]

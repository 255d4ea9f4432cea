"""Live views of simulations in the browser."""

from asperity.viewer.live_view import View, view

__all__ = ["View", "view"]

"""Loading: from MJCF, URDF or an MjSpec, a compiled model comes out, with a report."""

from asperity.loading.load import load_model, load_spec
from asperity.loading.load_report import LoadReport

__all__ = ["LoadReport", "load_model", "load_spec"]

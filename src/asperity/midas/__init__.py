"""The intersection-free engine: affine bodies, incremental potential contact, joints and motors."""

from asperity.midas.preset import Midas

__all__ = ["Midas"]

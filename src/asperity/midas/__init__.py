"""The intersection-free engine: affine bodies, incremental potential contact, joints and motors."""

from asperity.midas.integrator import Midas

__all__ = ["Midas"]

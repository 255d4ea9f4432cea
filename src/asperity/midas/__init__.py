"""The intersection-free engine: affine bodies, incremental potential contact, joints and motors."""

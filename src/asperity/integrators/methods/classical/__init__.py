"""Classical integrators of the continuous dynamics: the baselines that convex methods are for."""

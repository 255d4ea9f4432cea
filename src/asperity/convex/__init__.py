"""The convex layer: problems ``min ½vᵀAv − rᵀv + Σ ℓᵢ(Jᵢv)``, their potentials and their solver.

It knows nothing of time stepping or of MuJoCo. Integrators fill a problem; Newton's method solves
it.
"""

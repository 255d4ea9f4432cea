"""Convex potentials of contacts and scalar constraints, one file per law.

Each law has four compiled functions over a range of contacts (or rows):

- ``prepare_*`` turns geometry, material and a step size into the law's numbers,
- ``evaluate_*`` fills impulses and curvatures at the present velocities and returns the cost,
- ``along_*`` returns the first and second derivative of the cost along a search direction,
  ``*_cost_along`` the cost itself.

`asperity.convex.potentials.contacts` calls those of the problem's contact law.
"""

"""Kernels of problems with bonds: those that replace the usual ones, and those that are added."""

from __future__ import annotations

from asperity.compiled import Kernel, Table
from asperity.convex.particles.assembly import assemble_panels
from asperity.convex.particles.bonds import multiply_bonds
from asperity.convex.particles.panel_cholesky import factorize_panels, solve_panels
from asperity.convex.particles.panels import list_panels, touch_panels
from asperity.convex.particles.points import (
    couple_points,
    prepare_order,
)

__all__ = ["PARTICLE_KERNELS", "install_particles"]

PARTICLE_KERNELS: tuple[Kernel, ...] = (
    assemble_panels,
    factorize_panels,
    solve_panels,
    list_panels,
    touch_panels,
    couple_points,
    prepare_order,
    multiply_bonds,
)
"""What a problem with bonds needs compiled beside what every problem does."""


def install_particles(problem: Table) -> None:
    """Put these kernels into a problem that has those of all others."""
    problem.entries.assemble_trees = problem.entries.assemble
    problem.entries.factorize_trees = problem.entries.factorize
    problem.entries.solve_trees = problem.entries.solve_factors
    problem.entries.assemble = assemble_panels.address
    problem.entries.factorize = factorize_panels.address
    problem.entries.solve_factors = solve_panels.address
    problem.entries.list_panels = list_panels.address
    problem.entries.touch_panels = touch_panels.address
    problem.entries.couple_points = couple_points.address
    problem.entries.prepare_order = prepare_order.address
    problem.entries.multiply_bonds = multiply_bonds.address

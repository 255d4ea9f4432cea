"""Elements of one flex, by its kind: shells, interpolated cells, cloth and volumes."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.plant.model.cells import cell_edges, filled_cells
from asperity.plant.model.cloth import bends, cloth_elements
from asperity.plant.model.flexes import (
    flex_elements,
    flex_particles,
    in_frame,
    particle_positions,
    plane_poisson,
    rest_positions,
    resting_data,
)
from asperity.plant.model.shells import is_shell, shell_bending, shell_membranes
from asperity.soft.cells import cell
from asperity.soft.elements import (
    Element,
    elasticity,
    group_tetrahedra,
    hexahedron,
    tetrahedron,
)

__all__ = ["elements_of_flex", "volume_elements"]


def elements_of_flex(model: mujoco.MjModel, flex: int, constants: np.ndarray) -> list[Element]:
    """Elements of a flex with these elastic constants; none where its edges hold it, or nothing."""
    if is_shell(model, flex):
        across = bends(shell_bending(model, flex, plane_poisson(constants)))
        return shell_membranes(model, flex, constants) + across
    if model.flex_interp[flex] != 0:
        return _cells(model, flex)
    if model.flex_dim[flex] == 1:
        return []
    if model.flex_dim[flex] == 2:
        return cloth_elements(model, flex, constants)
    if not constants[1] > 0.0:
        return []
    return volume_elements(model, flex, constants)[0]


def volume_elements(
    model: mujoco.MjModel, flex: int, constants: np.ndarray
) -> tuple[list[Element], int]:
    """Elements of a flex in the frame of its bodies, and how many of them are tetrahedra."""
    positions = in_frame(model, flex, rest_positions(model, flex))
    tetrahedra = flex_elements(model, flex)
    cells, rest = group_tetrahedra(positions, tetrahedra)
    matrix = elasticity(*constants)
    elements = [hexahedron(cell, positions[list(cell)], matrix) for cell in cells]
    for corners in tetrahedra[rest].tolist():
        elements.append(tetrahedron(tuple(corners), positions[corners], matrix))
    return elements, len(rest)


def _cells(model: mujoco.MjModel, flex: int) -> list[Element]:
    """Elements of an interpolated flex."""
    at_rest = particle_positions(model, resting_data(model))[flex_particles(model, flex)]
    places, order = in_frame(model, flex, at_rest), int(model.flex_interp[flex])
    return [
        cell(tuple(nodes), places[nodes], cell_edges(places[nodes]), order, stiffness)
        for nodes, stiffness in zip(*filled_cells(model, flex), strict=True)
    ]

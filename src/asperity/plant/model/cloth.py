"""Cloth of a model: its bending rigidity, its elements, and what may not be in it.

Triangles have the constant strain of their planes, in frames of their own that turn, and so has
bending where cloth is curved at rest. Where it is flat bending is quadratic in the positions
(`asperity.soft.bending`), so that its elements do not turn: they have no gradient, and the frame
of an element without one is that of the flex.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.flexes import (
    flex_elements,
    in_frame,
    plane_poisson,
    rest_positions,
)
from asperity.soft.bending import Bend, bending
from asperity.soft.elements import Element, elasticity
from asperity.soft.membranes import in_plane, triangle_stiffness, triangles

__all__ = ["bends", "check_cloth", "cloth_elements", "cloth_modulus", "cloth_rigidity"]


def check_cloth(model: mujoco.MjModel, flex: int, name: str) -> None:
    """Refuse cloth that is not simulated, by name (`ModelError`)."""
    if not model.flex_radius[flex] > 0.0:
        raise ModelError(f"{name} has no thickness; give it a radius, which is half of that.")


def cloth_rigidity(model: mujoco.MjModel, flex: int, positions: np.ndarray) -> float:
    """D [N m] of a cloth, by what MuJoCo has for one of its edges.

    Its energy of an edge e between triangles of areas A and B, whose gradients jump by c x, is
    ½ D |e|² |c x|²/(A + B).

    Parameters
    ----------
    model : mujoco.MjModel
    flex : int
    positions : array, shape (n, 3)
        Of its vertices at rest [m].
    """
    first = int(model.flex_bendingadr[flex])
    if first < 0:
        return 0.0
    edges = int(model.flex_edgenum[flex])
    found = model.flex_bending[first : first + 17 * edges].reshape(-1, 17)[:, :16]
    size = np.abs(found).max(axis=1)
    number = int(np.argmax(size))
    if size[number] == 0.0:
        return 0.0
    begin = int(model.flex_edgeadr[flex])
    a, b = (int(v) for v in model.flex_edge[begin + number])
    c, d = (int(v) for v in model.flex_edgeflap[begin + number])
    x = positions
    area, gradients = triangles(x, np.array([[a, b, c], [a, b, d]]))
    length = float(np.linalg.norm(x[b] - x[a]))
    # The fourth corner's share of the jump is on the diagonal of the 4 × 4 matrix.
    jump = float(np.linalg.norm(gradients[1][2]))
    return float(found[number, 15] * area.sum() / (length * jump) ** 2)


def cloth_modulus(
    model: mujoco.MjModel, flex: int, constants: np.ndarray, rigidity: float
) -> float:
    """Young's modulus of cloth with λ and μ of plane stress [N/m] and D [N m], in Pa; 0 without.

    Its thickness is that with which it would bend as it does, or twice its radius.
    """
    poisson = plane_poisson(constants)
    stretching = 2.0 * (1.0 + poisson) * float(constants[1])
    thickness = 2.0 * float(model.flex_radius[flex])
    if rigidity > 0.0 and stretching > 0.0:
        thickness = float(np.sqrt(12.0 * (1.0 - poisson**2) * rigidity / stretching))
    return stretching / thickness


def cloth_elements(model: mujoco.MjModel, flex: int, constants: np.ndarray) -> list[Element]:
    """Triangles of a cloth and its bending, in the frame of its bodies.

    Parameters
    ----------
    model : mujoco.MjModel
    flex : int
    constants : array, shape (2,)
        Lamé's parameters [N/m]; zero of cloth that only its edges hold.
    """
    positions = in_frame(model, flex, rest_positions(model, flex))
    faces = flex_elements(model, flex)
    elements: list[Element] = []
    if constants[1] > 0.0:
        area, rest, gradient = in_plane(positions, faces)
        stiffness = triangle_stiffness(gradient, area, elasticity(*constants))
        elements = [
            Element(tuple(face), *parts)
            for face, *parts in zip(faces.tolist(), rest, gradient, stiffness, strict=True)
        ]
    rigidity = cloth_rigidity(model, flex, positions)
    if rigidity == 0.0:
        return elements
    return elements + bends(bending(positions, faces, rigidity, plane_poisson(constants)))


def bends(found: list[Bend]) -> list[Element]:
    """Elements of triangles that bend."""
    elements = []
    for bend in found:
        turns = 0.0 if bend.flat else 1.0
        shape = turns * bend.rest, turns * bend.gradient
        elements.append(Element(tuple(bend.vertices.tolist()), *shape, bend.stiffness))
    return elements

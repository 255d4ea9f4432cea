"""Which deformable bodies cannot be simulated, and what is approximated of others.

A vertex of a flex, or the node of one that is interpolated, is fixed to the flex's frame, which is
the world or a body, or is a body of its own there with three slides.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.cells import cell_edges, cell_matrices, filled_cells, holds_strain
from asperity.plant.model.cloth import check_cloth
from asperity.plant.model.elements_of_flexes import volume_elements
from asperity.plant.model.flexes import (
    flex_elements,
    flex_name,
    flex_particles,
    flex_vertices,
    frame_body,
    free_particles,
    in_frame,
    is_loose,
    moving_particles,
    particle_bodies,
    particle_offsets,
    particle_positions,
    rest_positions,
    resting_data,
)
from asperity.plant.model.folds import yields_by_bending
from asperity.plant.model.kinematic_trees import coupled_trees
from asperity.plant.model.names import element
from asperity.plant.model.plastic import is_plastic
from asperity.plant.model.ropes import check_rope, rope_notes, rope_twists
from asperity.plant.model.shells import is_shell, shell_faces
from asperity.soft.cells import cell
from asperity.soft.elements import volumes
from asperity.soft.membranes import triangles

__all__ = ["check_flexes", "flex_notes"]

# Volume of a tetrahedron in units of the cube of its longest edge.
_FLAT = 1e-12
# Vertices in a body that moves, from which on a step takes more than some milliseconds.
_MANY = 200
# Of the heaviest vertex, in units of its share of the volume.
_HEAVY = 2.0
_TOLERANCE = 1e-9


def check_flexes(model: mujoco.MjModel, method: str | None) -> None:
    """Refuse flexes that cannot be simulated, or all of them.

    Parameters
    ----------
    model : mujoco.MjModel
    method : str or None
        Who does not simulate flexes; None if they are simulated.

    Raises
    ------
    ModelError
        Which names the flex.
    """
    for flex in range(model.nflex):
        name = flex_name(model, flex)
        if method is not None:
            raise ModelError(
                f"{name} is deformable, which {method} does not simulate; use a Simulator with "
                "Icf, Cenic or Midas."
            )
        if not model.flex_rigid[flex]:
            _check_kind(model, flex, name)
        _check_bodies(model, flex, name)


def _check_kind(model: mujoco.MjModel, flex: int, name: str) -> None:
    dim = int(model.flex_dim[flex])
    if is_shell(model, flex) and is_plastic(model, flex):
        raise ModelError(
            f"{name} is a plastic shell of cells, and only full cells yield; remove yield, or "
            "elastic2d."
        )
    if is_loose(model, flex) and yields_by_bending(model, flex):
        raise ModelError(
            f"{name} yields when it bends, and its thickness is not in the model; use "
            'elastic2d="both".'
        )
    if is_plastic(model, flex) and model.flex_edgeequality[flex] != 0:
        raise ModelError(
            f"{name} is plastic, and its edges are held by constraints, which do not yield; remove "
            "edge/equality."
        )
    if dim == 1:
        check_rope(model, flex, name)
        return
    if model.flex_interp[flex] != 0:
        _check_cells(model, flex, name)
        return
    elements = flex_elements(model, flex)
    positions = rest_positions(model, flex)
    corner = positions[elements]
    longest = np.linalg.norm(corner[:, :, None] - corner[:, None], axis=-1).max(axis=(1, 2))
    if dim == 3:
        size = np.abs(volumes(positions, elements)[0]) / longest
    else:
        size = triangles(positions, elements)[0]
    for number in np.flatnonzero(size <= _FLAT * longest**2):
        raise ModelError(
            f"{name}: element {number} is flat; make a mesh without elements of no volume or area."
        )
    if dim == 2:
        check_cloth(model, flex, name)


def _check_cells(model: mujoco.MjModel, flex: int, name: str) -> None:
    """Refuse an interpolated flex whose cells do not hold it."""
    if model.flex_edgeequality[flex] != 0 and not holds_strain(model, flex):
        raise ModelError(
            f"{name} holds its edges by constraints, and has no edges but those of its cells; "
            'use edge/equality="strain", or elasticity/young.'
        )
    held = holds_strain(model, flex) or model.flex_stiffnessadr[flex] >= 0
    if not (held if is_shell(model, flex) else np.any(cell_matrices(model, flex))):
        raise ModelError(f"Nothing holds {name} together; give it elasticity/young.")


def _check_bodies(model: mujoco.MjModel, flex: int, name: str) -> None:
    """Refuse vertices that neither are fixed in the flex's frame nor slide in it."""
    particles = flex_particles(model, flex)
    bodies, offsets = particle_bodies(model)[particles], particle_offsets(model)[particles]
    body_of_frame = frame_body(model, flex)
    moving = moving_particles(model, flex)
    may_slide = is_loose(model, flex) or (
        model.flex_edgeequality[flex] == 1 and model.flex_bendingadr[flex] < 0
    )
    orientations = np.array(resting_data(model).xmat).reshape(-1, 3, 3)
    frame: np.ndarray | None = None
    for body, offset, moves in zip(bodies.tolist(), offsets, moving, strict=True):
        label = element(model, mujoco.mjtObj.mjOBJ_BODY, body)
        if model.body_mocapid[model.body_rootid[body]] >= 0:
            raise ModelError(
                f"{name} is pinned to {label}, which is a mocap body; pin it to a body that "
                "a servo moves, or that does not move."
            )
        if not moves:
            if model.body_weldid[body] == body_of_frame:
                continue
            holder = element(model, mujoco.mjtObj.mjOBJ_BODY, body_of_frame)
            raise ModelError(
                f"{name} is pinned to {label}, which moves against {holder}, in which its other "
                "vertices are; pin it in one body, and hold it elsewhere by contact or connect "
                "constraints."
            )
        parent = int(model.body_parentid[body])
        first = int(model.body_jntadr[body])
        joints = slice(first, first + int(model.body_jntnum[body]))
        slides = model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_SLIDE
        free = model.body_jntnum[body] == 3
        if (
            not (free or (may_slide and 1 <= model.body_jntnum[body] <= 2))
            or not slides.all()
            or np.abs(offset).max() > _TOLERANCE
            or (free and np.abs(model.jnt_axis[joints] - np.eye(3)).max() > _TOLERANCE)
            or np.abs(model.body_quat[body] - [1.0, 0.0, 0.0, 0.0]).max() > _TOLERANCE
        ):
            raise ModelError(
                f"{name}: its vertex on {label} does not move along three axes of its own; use "
                'dof="full", and pin it to the body that it is in, or let edge/equality hold it '
                "there, if that body moves."
            )
        turned = orientations[parent]
        if frame is not None and np.abs(turned - frame).max() > _TOLERANCE:
            raise ModelError(
                f"{name} has vertices on bodies that are turned against each other ({label}); give "
                "their parents the same orientation."
            )
        frame = turned
    if model.flex_rigid[flex]:
        return
    if frame is None:
        raise ModelError(f"{name} has no vertex that moves; remove its pins.")
    if body_of_frame != 0 and len(rope_twists(model, flex).joint):
        raise ModelError(
            f"{name} is a rod in a body that moves, and its twist would not follow that; keep it "
            "together by edge/equality, or make it a cable of bodies."
        )
    if is_shell(model, flex):
        corners = shell_faces(model, flex)[0]
    elif model.flex_interp[flex] != 0:
        corners = filled_cells(model, flex)[0]
    else:
        corners = flex_elements(model, flex)
    joined = moving[corners].sum(axis=1) > 1
    alone = moving & ~np.isin(np.arange(len(moving)), corners[joined])
    for index in np.flatnonzero(alone):
        body = int(bodies[index])
        raise ModelError(
            f"{name}: its vertex on {element(model, mujoco.mjtObj.mjOBJ_BODY, body)} has no "
            "neighbour that moves; remove a pin."
        )


def flex_notes(model: mujoco.MjModel) -> Iterator[str]:
    """Sentences about what is approximated of a model's flexes."""
    for flex in range(model.nflex):
        name = flex_name(model, flex)
        if model.flex_passive[flex]:
            yield f"{name}: passive contact is ignored; all contact is implicit."
        if model.flex_rigid[flex]:
            continue
        count = int(moving_particles(model, flex).sum())
        if count > free_particles(model, flex).sum() and (
            model.flex_edgestiffness[flex] != 0.0 or model.flex_edgedamping[flex] != 0.0
        ):
            yield f"{name}: Icf and Cenic ignore springs and dampers of its edges, which are held."
        why, instead = _why_one_tree(model, flex)
        if why and count > _MANY:
            yield (
                f"{name}: {count} vertices {why}, and Icf and Cenic take a time that grows with "
                f"their cube; a coarser mesh, or {instead}, is faster."
            )
        if is_loose(model, flex):
            yield (
                f"{name}: nothing holds its vertices together, which move one by one and only "
                "touch; elasticity/young or edge/equality would."
            )
        if model.flex_dim[flex] == 1:
            yield from rope_notes(model, flex, name)
        if holds_strain(model, flex):
            yield (
                f"{name}: equalities that hold its strain are stiff elasticity, whether they are "
                "active or not, and solref and solimp do not matter."
            )
        if model.flex_interp[flex] == 1 and _bends_stiffly(model, flex):
            yield (
                f"{name}: cells that it fills in part have MuJoCo's stiffness, and bend too "
                'stiffly; dof="quadratic" does not.'
            )
        if model.flex_dim[flex] != 3 or model.flex_interp[flex] != 0:
            continue
        elements, tetrahedra = volume_elements(model, flex, np.ones(2))
        if tetrahedra and not model.flex_edgeequality[flex]:
            yield (
                f"{name}: {tetrahedra} of {len(elements)} elements are tetrahedra, which bend and "
                "shear too stiffly, a layer of one about four times; grids of boxes do not."
            )
        if _is_heavy(model, flex):
            yield (
                f"{name}: all vertices have the same mass, as in MuJoCo, so that its surface is "
                "heavier, and its inside lighter, than that of an even body."
            )


def _why_one_tree(model: mujoco.MjModel, flex: int) -> tuple[str, str]:
    """Why the vertices of a flex are one tree to the solvers, and what to do; empty if not."""
    frame, moving = frame_body(model, flex), moving_particles(model, flex)
    if frame != 0:
        return f"move in {element(model, mujoco.mjtObj.mjOBJ_BODY, frame)}", "Midas"
    if np.any(moving & ~free_particles(model, flex)):
        return "are one tree, as some have less than three slides", 'dof="full"'
    together = coupled_trees(model)
    bodies = particle_bodies(model)[flex_particles(model, flex)][moving]
    own = together[model.body_treeid[bodies]]
    if np.any(np.bincount(together)[own] > 1):
        tendon = "a tendon over bodies that are all before it, or all behind it"
        return "are one tree with what a tendon couples", tendon
    return "", ""


def _bends_stiffly(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a cell of order 1 is not full, so that it has no incompatible modes."""
    at_rest = particle_positions(model, resting_data(model))[flex_particles(model, flex)]
    places = in_frame(model, flex, at_rest)
    return any(
        cell(tuple(nodes), places[nodes], cell_edges(places[nodes]), 1, stiffness).stiffness
        is stiffness
        for nodes, stiffness in zip(*filled_cells(model, flex), strict=True)
    )


def _is_heavy(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a vertex has a much larger part of the mass than of the volume."""
    vertices = flex_vertices(model, flex)
    tetrahedra = flex_elements(model, flex)
    signed, _ = volumes(rest_positions(model, flex), tetrahedra)
    share = np.zeros(vertices.stop - vertices.start)
    np.add.at(share, tetrahedra.ravel(), np.repeat(np.abs(signed) / 4.0, 4))
    bodies = model.flex_vertbodyid[vertices]
    moving = moving_particles(model, flex)
    mass = np.where(moving, model.body_mass[bodies], 0.0)
    density = mass.sum() / share[moving].sum()
    return bool(np.any(mass > _HEAVY * density * share))

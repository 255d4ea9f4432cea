"""Deformable volumes of a model: what may not be in it, and the table of their elements.

A vertex of a flex is fixed to the world, or is a body of its own with three slides. A model does
not keep Young's modulus and Poisson's ratio; they are found from the forces that MuJoCo finds for
small displacements (`elastic_constants`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.errors import ModelError
from asperity.plant.detection.geom_distance import SHAPES
from asperity.plant.model.joints import integers
from asperity.plant.model.names import element
from asperity.soft.dissection import dissection_ranks
from asperity.soft.elements import (
    Element,
    elasticity,
    group_tetrahedra,
    hexahedron,
    tetrahedron,
    tetrahedron_stiffness,
    volumes,
)
from asperity.soft.layout import ELASTIC
from asperity.soft.membranes import triangle_stiffness, triangles

__all__ = [
    "FLEX_ARRAYS",
    "check_flexes",
    "contact_stiffness",
    "elastic_constants",
    "elastic_table",
    "flex_elements",
    "flex_notes",
    "flex_triangles",
    "flex_vertices",
    "rest_positions",
]

FLEX_ARRAYS = (
    *("flex_vert", "flex_stiffness", "flex_damping", "flex_radius", "body_pos", "body_quat"),
    *("qpos0", "geom_type", "geom_size"),
)
"""Arrays of a model of which the table of its elements is made."""

# Displacement for which forces are found, in units of the mean edge, and how far those of linear
# isotropic elasticity may differ from them: MuJoCo's own differ by 4e-11.
_DISPLACEMENT = 1e-7
_RESIDUAL = 1e-6
# Volume of a tetrahedron in units of the cube of its longest edge.
_FLAT = 1e-12
# A contact adds a tenth of the compliance of one layer of elements to it.
_STIFFER = 10.0
# Of the heaviest vertex, in units of its share of the volume.
_HEAVY = 2.0
_TOLERANCE = 1e-9


def _name(model: mujoco.MjModel, flex: int) -> str:
    return element(model, mujoco.mjtObj.mjOBJ_FLEX, flex)


def flex_vertices(model: mujoco.MjModel, flex: int) -> slice:
    return slice(
        int(model.flex_vertadr[flex]), int(model.flex_vertadr[flex] + model.flex_vertnum[flex])
    )


def flex_elements(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Vertices of the elements, as counted within the flex."""
    first, corners = int(model.flex_elemdataadr[flex]), int(model.flex_dim[flex]) + 1
    found = model.flex_elem[first : first + corners * int(model.flex_elemnum[flex])]
    return found.reshape(-1, corners).astype(np.int64)


def check_flexes(model: mujoco.MjModel, method: str | None, *, cloth: bool = False) -> None:
    """Refuse flexes that cannot be simulated, or all of them.

    Parameters
    ----------
    model : mujoco.MjModel
    method : str or None
        Who does not simulate flexes; None if they are simulated.
    cloth : bool
        Whether cloth is simulated, besides volumes.

    Raises
    ------
    ModelError
        Which names the flex.
    """
    for flex in range(model.nflex):
        name = _name(model, flex)
        if method is not None:
            raise ModelError(
                f"{name} is deformable, which {method} does not simulate; use a Simulator with "
                "Icf, Cenic or Midas."
            )
        _check_kind(model, flex, name, cloth)
        _check_bodies(model, flex, name)


def _check_kind(model: mujoco.MjModel, flex: int, name: str, cloth: bool) -> None:
    dim = int(model.flex_dim[flex])
    if dim == 1:
        raise ModelError(
            f"{name} is a rope (dim 1), and only volumes are simulated, and cloth by Midas; use a "
            "chain of rigid bodies."
        )
    if dim == 2 and not cloth:
        raise ModelError(
            f"{name} is a cloth (dim 2), which only Midas simulates; use Midas, or dim 3."
        )
    if model.flex_interp[flex] != 0:
        raise ModelError(f'{name} is interpolated, which is not simulated; use dof="full".')
    if model.flex_rigid[flex]:
        raise ModelError(
            f"{name} is rigid, as all its vertices are on one body; use a mesh geom instead."
        )
    if np.any(model.flex_yield[flex] != 0) or model.flex_plasticadr[flex] >= 0:
        raise ModelError(f"{name} is plastic, and only elastic flexes are simulated; remove yield.")
    if model.flex_edgeequality[flex] != 0:
        raise ModelError(
            f"{name} is held together by equality constraints of its edges; use elasticity/young."
        )
    if model.flex_edgestiffness[flex] != 0 or model.flex_edgedamping[flex] != 0:
        raise ModelError(
            f"{name} has springs or dampers along its edges; use elasticity/young and damping."
        )
    first = int(model.flex_stiffnessadr[flex])
    if first < 0 or not np.any(model.flex_stiffness[first : first + 1]):
        raise ModelError(f"Nothing holds {name} together; give it elasticity/young.")
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


def _check_bodies(model: mujoco.MjModel, flex: int, name: str) -> None:
    """Refuse vertices that neither are fixed nor move along three axes that do not."""
    vertices = flex_vertices(model, flex)
    frame: np.ndarray | None = None
    for vertex in range(vertices.start, vertices.stop):
        body = int(model.flex_vertbodyid[vertex])
        label = element(model, mujoco.mjtObj.mjOBJ_BODY, body)
        if model.body_weldid[body] == 0:
            if model.body_mocapid[model.body_rootid[body]] >= 0:
                raise ModelError(
                    f"{name} is pinned to {label}, which is a mocap body; pin it to a body that "
                    "does not move, and let a servo move what grasps it."
                )
            continue
        parent = int(model.body_parentid[body])
        pinned = np.abs(model.flex_vert[vertex]).max() > _TOLERANCE
        if (
            pinned
            or model.body_weldid[parent] != 0
            or model.body_mocapid[model.body_rootid[body]] >= 0
        ):
            raise ModelError(
                f"{name} is part of a body that moves ({label}), and only flexes beside moving "
                "bodies are simulated; put its flexcomp into the world, and hold it by contact or "
                "connect constraints."
            )
        joints = slice(int(model.body_jntadr[body]), int(model.body_jntadr[body]) + 3)
        slides = model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_SLIDE
        if (
            model.body_jntnum[body] != 3
            or not slides.all()
            or np.abs(model.jnt_axis[joints] - np.eye(3)).max() > _TOLERANCE
            or np.abs(model.body_quat[body] - [1.0, 0.0, 0.0, 0.0]).max() > _TOLERANCE
        ):
            raise ModelError(
                f"{name}: its vertex on {label} does not move along three axes of its own; use "
                'dof="full".'
            )
        turned = _orientation(model, parent)
        if frame is not None and np.abs(turned - frame).max() > _TOLERANCE:
            raise ModelError(
                f"{name} has vertices on bodies that are turned against each other ({label}); give "
                "their parents the same orientation."
            )
        frame = turned
    if frame is None:
        raise ModelError(f"{name} has no vertex that moves; remove its pins.")
    moving = model.body_weldid[model.flex_vertbodyid[vertices]] != 0
    corners = flex_elements(model, flex)
    joined = moving[corners].sum(axis=1) > 1
    alone = moving & ~np.isin(np.arange(len(moving)), corners[joined])
    for index in np.flatnonzero(alone):
        body = int(model.flex_vertbodyid[vertices.start + index])
        raise ModelError(
            f"{name}: its vertex on {element(model, mujoco.mjtObj.mjOBJ_BODY, body)} has no "
            "neighbour that moves; remove a pin."
        )


def _resting_data(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_flex(model, data)
    return data


def _orientation(model: mujoco.MjModel, body: int) -> np.ndarray:
    """Of a body that does not move, as a matrix."""
    return np.array(_resting_data(model).xmat[body]).reshape(3, 3)


def rest_positions(model: mujoco.MjModel, flex: int) -> np.ndarray:
    return np.array(_resting_data(model).flexvert_xpos[flex_vertices(model, flex)])


def elastic_constants(model: mujoco.MjModel) -> np.ndarray:
    """Lamé's parameters λ and μ of all flexes, shape (nflex, 2): [Pa], of cloth [N/m].

    The odd part of MuJoCo's forces at random displacements is fitted by those of elements with
    λ or μ of one.

    Raises
    ------
    ModelError
        If they are not those of an isotropic material.
    """
    probe = copy.copy(model)
    probe.jnt_stiffness[:] = 0.0
    probe.jnt_stiffnesspoly[:] = 0.0
    probe.flex_bending[:] = 0.0
    probe.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_SPRING)
    data = _resting_data(probe)
    rest = np.array(data.flexvert_xpos)
    size = max(float(np.mean(np.ptp(rest, axis=0))), 1e-300)
    displacement = _DISPLACEMENT * size * np.random.default_rng(0).normal(size=probe.nv)
    free = model.jnt_type[model.dof_jntid] == mujoco.mjtJoint.mjJNT_SLIDE
    displacement[~free] = 0.0
    force, moved = np.zeros((2, probe.nv)), np.zeros((2, *rest.shape))
    for side, sign in enumerate((1.0, -1.0)):
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(probe, data.qpos, displacement, sign)
        data.qvel[:] = 0.0
        mujoco.mj_kinematics(probe, data)
        mujoco.mj_comPos(probe, data)
        mujoco.mj_flex(probe, data)
        mujoco.mj_fwdVelocity(probe, data)
        force[side], moved[side] = data.qfrc_spring, data.flexvert_xpos
    odd, change = 0.5 * (force[0] - force[1]), 0.5 * (moved[0] - moved[1])
    return np.array(
        [_fitted(model, flex, rest, change, odd) for flex in range(model.nflex)]
    ).reshape(-1, 2)


def _fitted(
    model: mujoco.MjModel, flex: int, rest: np.ndarray, change: np.ndarray, force: np.ndarray
) -> np.ndarray:
    vertices = flex_vertices(model, flex)
    elements = flex_elements(model, flex)
    volumetric = model.flex_dim[flex] == 3
    size, gradients = (volumes if volumetric else triangles)(rest[vertices], elements)
    stiffness = tetrahedron_stiffness if volumetric else triangle_stiffness
    u = change[vertices][elements].reshape(len(elements), -1, 1)
    bodies = model.flex_vertbodyid[vertices]
    moving = np.flatnonzero(model.body_weldid[bodies] != 0)
    dofs = model.body_dofadr[bodies[moving]][:, None] + np.arange(3)
    turn = _orientation(model, int(model.body_parentid[bodies[moving[0]]]))
    columns = []
    for matrix in (elasticity(1.0, 0.0), elasticity(0.0, 1.0)):
        forces = np.zeros((vertices.stop - vertices.start, 3))
        of_elements = -(stiffness(gradients, np.abs(size), matrix) @ u)
        np.add.at(forces, elements.ravel(), of_elements.reshape(-1, 3))
        columns.append((forces[moving] @ turn).ravel())
    basis, target = np.array(columns).T, force[dofs].ravel()
    found = np.linalg.lstsq(basis, target, rcond=None)[0]
    miss = np.linalg.norm(basis @ found - target)
    if not miss <= _RESIDUAL * np.linalg.norm(target) or not found[1] > 0.0:
        raise ModelError(
            f"{_name(model, flex)} is not isotropic, and only Young's modulus and Poisson's ratio "
            "are simulated; give it elasticity with young and poisson."
        )
    return np.asarray(found)


def elastic_table(model: mujoco.MjModel, dof_tree: np.ndarray) -> Table:
    """The table of a model's flexes, which `check_flexes` must have passed.

    Parameters
    ----------
    model : mujoco.MjModel
    dof_tree : array of int, shape (nv,)
        The solvers' tree of each degree of freedom.
    """
    if model.nflex == 0 or np.any(model.flex_dim != 3):
        # Who simulates cloth has elements of its own.
        return _table([], np.zeros(0, np.int64), 0, np.zeros(0))
    constants = elastic_constants(model)
    data = _resting_data(model)
    elements: list[Element] = []
    for flex in range(model.nflex):
        vertices = flex_vertices(model, flex)
        found, _ = _elements(model, flex, constants[flex])
        elements += [
            one._replace(vertices=tuple(v + vertices.start for v in one.vertices)) for one in found
        ]
    bodies = model.flex_vertbodyid
    moving = model.body_weldid[bodies] != 0
    dof = np.where(moving, model.body_dofadr[bodies], -1).astype(np.int64)
    joint = np.where(moving, model.body_jntadr[bodies], 0)
    qpos = np.where(moving, model.jnt_qposadr[joint], -1).astype(np.int64)
    owner = np.repeat(np.arange(model.nflex), model.flex_vertnum)
    base = np.zeros((len(bodies), 3))
    for flex in range(model.nflex):
        vertices = flex_vertices(model, flex)
        parent = int(model.body_parentid[bodies[vertices][moving[vertices]][0]])
        base[vertices] = (data.flexvert_xpos[vertices] - data.xpos[parent]) @ data.xmat[
            parent
        ].reshape(3, 3)
    start = model.qpos0[np.where(moving, qpos, 0)[:, None] + np.arange(3)]
    base -= np.where(moving[:, None], start, 0.0)
    tree = np.where(moving, dof_tree[dof], -1)
    table = _table(elements, tree, int(dof_tree.max()) + 1, model.flex_damping[owner])
    moves = np.flatnonzero(tree >= 0)
    place = np.full(len(table.tree_particle), -1, np.int64)
    place[tree[moves]] = np.arange(len(moves))
    ranks = dissection_ranks(base[moves], place[table.bond_tree])
    table.tree_rank[tree[moves]] = ranks
    table.particle_dof = dof
    table.particle_qpos = qpos
    table.particle_base = base
    table.particle_offset = np.array(model.flex_vert, dtype=np.float64)
    table.particle_body = integers(bodies)
    table.flex_first_vertex = integers(model.flex_vertadr)
    table.flex_first_corner = integers(model.flex_elemdataadr)
    table.corner = integers(model.flex_elem)
    table.flex_radius = np.array(model.flex_radius, dtype=np.float64)
    table.particle_surface = _on_surface(model)
    known = np.isin(model.geom_type, SHAPES)
    table.geom_shape = np.where(known, model.geom_type, -1).astype(np.int64)
    table.geom_size = np.array(model.geom_size, dtype=np.float64)
    table.flex_edge = np.array([_mean_edge(model, flex) for flex in range(model.nflex)])
    return table


def _elements(model: mujoco.MjModel, flex: int, constants: np.ndarray) -> tuple[list[Element], int]:
    """Elements of a flex in the frame of its bodies, and how many of them are tetrahedra."""
    vertices = flex_vertices(model, flex)
    bodies = model.flex_vertbodyid[vertices]
    body = int(bodies[model.body_weldid[bodies] != 0][0])
    turn = _orientation(model, int(model.body_parentid[body]))
    positions = rest_positions(model, flex) @ turn
    tetrahedra = flex_elements(model, flex)
    cells, rest = group_tetrahedra(positions, tetrahedra)
    matrix = elasticity(*constants)
    elements = [hexahedron(cell, positions[list(cell)], matrix) for cell in cells]
    for corners in tetrahedra[rest].tolist():
        elements.append(tetrahedron(tuple(corners), positions[corners], matrix))
    return elements, len(rest)


def _table(elements: list[Element], tree: np.ndarray, ntree: int, damping: np.ndarray) -> Table:
    """Elements and the bonds that they make between particles, without the particles' places."""
    count = len(tree)
    bonds: dict[tuple[int, int], int] = {}
    pair: list[int] = []
    first_place, first_pair, matrix_at = [0], [0], []
    matrices: dict[bytes, int] = {}
    numbers: list[np.ndarray] = []
    size = 0
    places: list[int] = []
    for one in elements:
        scale = float(np.abs(one.stiffness).max())
        key = np.round(one.stiffness / scale, 9).tobytes() + np.float64(f"{scale:.9e}").tobytes()
        if key not in matrices:
            matrices[key] = size
            numbers.append(one.stiffness.ravel())
            size += one.stiffness.size
        matrix_at.append(matrices[key])
        for a, p in enumerate(one.vertices):
            for q in one.vertices[: a + 1]:
                if p == q or tree[p] < 0 or tree[q] < 0:
                    pair.append(-1)
                    continue
                bond = bonds.setdefault((min(p, q), max(p, q)), len(bonds))
                pair.append(2 * bond + int(tree[q] < tree[p]))
        places += one.vertices
        first_place.append(len(places))
        first_pair.append(len(pair))
    trees = np.array(sorted(bonds, key=bonds.__getitem__), np.int64).reshape(-1, 2)
    of_tree = np.full(ntree, -1, np.int64)
    of_tree[tree[tree >= 0]] = np.flatnonzero(tree >= 0)
    none = np.zeros(0, np.int64)
    rest = [one.rest for one in elements]
    gradient = [one.gradient for one in elements]
    return Table(
        ELASTIC,
        particles=count,
        elements=len(elements),
        bonds=len(bonds),
        particle_tree=tree.astype(np.int64),
        particle_dof=none,
        particle_qpos=none,
        particle_base=np.zeros((0, 3)),
        particle_offset=np.zeros((0, 3)),
        particle_body=none,
        element_first=np.array(first_place, np.int64),
        element_matrix=np.array(matrix_at, np.int64),
        place_particle=np.array(places, np.int64),
        place_rest=np.concatenate([np.zeros((0, 3)), *rest]),
        place_gradient=np.concatenate([np.zeros((0, 3)), *gradient]),
        matrix=np.concatenate([np.zeros(0), *numbers]),
        element_pair=np.array(first_pair, np.int64),
        pair_bond=np.array(pair, np.int64),
        bond_tree=np.sort(tree[trees], axis=1).astype(np.int64),
        bond_damping=damping[trees[:, 0]],
        particle_damping=damping,
        tree_particle=of_tree,
        tree_rank=np.full(ntree, -1, np.int64),
        flex_first_vertex=none,
        flex_first_corner=none,
        corner=none,
        flex_edge=np.zeros(0),
        flex_radius=np.zeros(0),
        particle_surface=none,
        geom_shape=none,
        geom_size=np.zeros((0, 3)),
    )


def contact_stiffness(model: mujoco.MjModel) -> np.ndarray:
    """Stiffness of a point contact of each flex [N/m], shape (nflex,).

    A contact stands for a square of surface as large as an edge, ℓ, behind which one layer of
    elements has the stiffness E ℓ²/ℓ; it is ten times as stiff.
    """
    out = np.zeros(model.nflex)
    if model.nflex == 0:
        return out
    constants = elastic_constants(model)
    for flex in range(model.nflex):
        first, shear = constants[flex]
        young = shear * (3.0 * first + 2.0 * shear) / (first + shear)
        out[flex] = _STIFFER * young * _mean_edge(model, flex)
    return out


def flex_triangles(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Triangles of the surface of a flex, or of cloth, shape (n, 3)."""
    if model.flex_dim[flex] == 2:
        return flex_elements(model, flex)
    first = int(model.flex_shelldataadr[flex])
    return np.asarray(model.flex_shell[first : first + 3 * int(model.flex_shellnum[flex])]).reshape(
        -1, 3
    )


def _on_surface(model: mujoco.MjModel) -> np.ndarray:
    found = np.zeros(model.nflexvert, np.int64)
    for flex in range(model.nflex):
        found[model.flex_vertadr[flex] + flex_triangles(model, flex).ravel()] = 1
    return found


def _mean_edge(model: mujoco.MjModel, flex: int) -> float:
    """Mean length of the edges on the surface of a flex [m]."""
    corner = rest_positions(model, flex)[flex_triangles(model, flex)]
    return float(np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=-1).mean())


def flex_notes(model: mujoco.MjModel) -> Iterator[str]:
    """Sentences about what is approximated of a model's flexes."""
    for flex in range(model.nflex):
        name = _name(model, flex)
        if model.flex_passive[flex]:
            yield f"{name}: passive contact is ignored; all contact is implicit."
        if model.flex_dim[flex] != 3:
            continue
        elements, tetrahedra = _elements(model, flex, np.ones(2))
        if tetrahedra:
            yield (
                f"{name}: {tetrahedra} of {len(elements)} elements are tetrahedra, which bend and "
                "shear too stiffly, a layer of one about four times; grids of boxes do not."
            )
        if _is_heavy(model, flex):
            yield (
                f"{name}: all vertices have the same mass, as in MuJoCo, so that its surface is "
                "heavier, and its inside lighter, than that of an even body."
            )


def _is_heavy(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a vertex has a much larger part of the mass than of the volume."""
    vertices = flex_vertices(model, flex)
    tetrahedra = flex_elements(model, flex)
    signed, _ = volumes(rest_positions(model, flex), tetrahedra)
    share = np.zeros(vertices.stop - vertices.start)
    np.add.at(share, tetrahedra.ravel(), np.repeat(np.abs(signed) / 4.0, 4))
    bodies = model.flex_vertbodyid[vertices]
    moving = model.body_weldid[bodies] != 0
    mass = np.where(moving, model.body_mass[bodies], 0.0)
    density = mass.sum() / share[moving].sum()
    return bool(np.any(mass > _HEAVY * density * share))

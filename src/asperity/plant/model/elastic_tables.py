"""The table of deformable bodies: particles, elements, strands and their bonds."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.errors import ModelError
from asperity.plant.model.cells import (
    between_nodes,
)
from asperity.plant.model.elastic_constants import elastic_constants
from asperity.plant.model.elements_of_flexes import elements_of_flex
from asperity.plant.model.flexes import (
    flex_elements,
    flex_name,
    flex_particles,
    flex_triangles,
    flex_vertices,
    frame_body,
    free_particles,
    in_frame,
    is_cloth,
    mean_edge,
    moving_particles,
    particle_bodies,
    particle_offsets,
    particle_positions,
    plane_poisson,
    rest_positions,
    resting_data,
    surface_edges,
    surface_faces,
)
from asperity.plant.model.folds import Folds, fill_folds, folds_of_flex, yields_by_bending
from asperity.plant.model.joints import integers
from asperity.plant.model.plastic import (
    Yielding,
    fill_plasticity,
    plastic_size,
    yielding_elements,
    yielding_triangles,
)
from asperity.plant.model.ropes import (
    Strands,
    Twists,
    acts_along_edges,
    rope_strands,
    rope_twists,
)
from asperity.soft.dissection import dissection_ranks
from asperity.soft.elements import (
    Element,
)
from asperity.soft.layout import ELASTIC, HELD_BY_ELEMENTS
from asperity.soft.membranes import triangles
from asperity.soft.twists import TWIST_PAIRS

__all__ = ["FLEX_ARRAYS", "elastic_table", "error_weights"]

FLEX_ARRAYS = (
    *(
        "flex_vert",
        "flex_node",
        "flex_stiffness",
        "flex_damping",
        "flex_radius",
        "body_pos",
        "body_quat",
    ),
    *("flex_yield", "flex_bending", "flex_edgestiffness", "flex_edgedamping", "flexedge_length0"),
    *("qpos0", "geom_type"),
)
"""Arrays of a model of which the table of its elements is made."""


def elastic_table(model: mujoco.MjModel, dof_tree: np.ndarray) -> Table:
    """The table of a model's flexes, which `check_flexes` must have passed.

    Parameters
    ----------
    model : mujoco.MjModel
    dof_tree : array of int, shape (nv,)
        The solvers' tree of each degree of freedom.
    """
    if model.nflex == 0:
        none = np.zeros(0, np.int64)
        return _table([], _no_strands(), _no_twists(), none, none, np.zeros(0))
    constants = elastic_constants(model)
    deformable = np.flatnonzero(model.flex_rigid == 0).tolist()
    data = resting_data(model)
    elements: list[Element] = []
    yielding: list[Yielding] = []
    folds: list[Folds] = []
    ropes, twisting = [_no_strands()], [_no_twists()]
    triangle: list[int] = []
    areas, moduli = [np.zeros(0)], [np.zeros((0, 2))]
    equality_strand, softness = np.full(model.neq, -1, np.int64), np.ones(model.neq)
    for flex in deformable:
        vertices = flex_particles(model, flex)
        free = free_particles(model, flex)
        # Edges of vertices with one axis or two are held by MuJoCo's rows alone.
        strain = (model.eq_type == mujoco.mjtEq.mjEQ_FLEXSTRAIN) & (model.eq_obj1id == flex)
        equality_strand[strain] = HELD_BY_ELEMENTS
        if acts_along_edges(model, flex) and np.array_equal(free, moving_particles(model, flex)):
            of_flex = (model.eq_type == mujoco.mjtEq.mjEQ_FLEX) & (model.eq_obj1id == flex)
            equality_strand[of_flex] = sum(len(rope.particle) for rope in ropes)
            # Stretch adds up along a chain of n edges, whose slowest mode has (π/n)² of a row's.
            chain = float(model.flex_edgenum[flex]) ** (1.0 / model.flex_dim[flex])
            softness[of_flex] = min(1.0, (np.pi / chain) ** 2)
            rope = rope_strands(model, flex)
            shifted = np.where(rope.particle >= 0, rope.particle + vertices.start, -1)
            ropes.append(rope._replace(particle=shifted))
            twists = rope_twists(model, flex)
            twisting.append(twists._replace(particle=twists.particle + vertices.start))
        found = elements_of_flex(model, flex, constants[flex])
        own = in_frame(model, flex, rest_positions(model, flex))
        if not is_cloth(model, flex):
            yielding += yielding_elements(model, flex, len(elements), own)
        if is_cloth(model, flex) and constants[flex, 1] > 0.0:
            faces = flex_elements(model, flex)
            triangle += range(len(elements), len(elements) + len(faces))
            poisson = plane_poisson(constants[flex])
            yielding += yielding_triangles(model, flex, len(elements), own, poisson)
            areas.append(triangles(rest_positions(model, flex), faces)[0])
            moduli.append(np.tile(constants[flex], (len(faces), 1)))
        if yields_by_bending(model, flex):
            before = len(elements) + len(flex_elements(model, flex))
            folds.append(folds_of_flex(model, flex, before, constants[flex]))
        elements += [
            one._replace(vertices=tuple(v + vertices.start for v in one.vertices)) for one in found
        ]
    bodies = particle_bodies(model)
    owner = np.zeros(len(bodies), np.int64)
    moving = np.zeros(len(bodies), bool)
    for flex in range(model.nflex):
        owner[flex_vertices(model, flex)] = owner[flex_particles(model, flex)] = flex
        moving[flex_particles(model, flex)] = moving_particles(model, flex)
    contact_dof = np.where(moving, model.body_dofadr[bodies], -1).astype(np.int64)
    slides = np.where(moving, model.body_dofnum[bodies], 0).astype(np.int64)
    tree = np.where(moving, dof_tree[contact_dof], -1)
    size = np.bincount(dof_tree)
    frames = np.array([frame_body(model, flex) for flex in range(model.nflex)])
    inner = frames != 0
    for flex in range(model.nflex):
        vertices = flex_particles(model, flex)
        those = np.arange(vertices.start, vertices.stop)[moving[vertices]]
        inner[flex] |= np.any(size[tree[those]] != slides[those])
        moving[vertices] = free_particles(model, flex)
    dof = np.where(moving, model.body_dofadr[bodies], -1).astype(np.int64)
    joint = np.where(moving, model.body_jntadr[bodies], 0)
    qpos = np.where(moving, model.jnt_qposadr[joint], -1).astype(np.int64)
    positions = particle_positions(model, data)
    base = np.zeros((len(bodies), 3))
    for flex in deformable:
        vertices = flex_particles(model, flex)
        parent = int(model.body_parentid[bodies[vertices][slides[vertices] > 0][0]])
        base[vertices] = (positions[vertices] - data.xpos[parent]) @ data.xmat[parent].reshape(3, 3)
    start = model.qpos0[np.where(moving, qpos, 0)[:, None] + np.arange(3)]
    rest = base
    base = rest - np.where(moving[:, None], start, 0.0)
    for flex in np.flatnonzero(inner & (frames == 0)).tolist():
        if len(rope_twists(model, flex).joint):
            raise ModelError(
                f"{flex_name(model, flex)} is a rod among trees that a tendon couples; put its "
                "flexcomp before or behind all that the tendon pulls."
            )
    strands = Strands(*(np.concatenate(parts) for parts in zip(*ropes, strict=True)))
    twists = Twists(*(np.concatenate(parts) for parts in zip(*twisting, strict=True)))
    # Edges that twist are trees of one joint, which are nodes behind the particles here.
    joints = np.unique(twists.joint[twists.joint >= 0])
    edge = np.where(twists.joint >= 0, len(tree) + np.searchsorted(joints, twists.joint), -1)
    turning = model.jnt_dofadr[joints]
    nodes = np.concatenate([tree, dof_tree[turning]]).astype(np.int64)
    first_dof = np.concatenate([dof, turning]).astype(np.int64)
    damping = model.flex_damping[owner]
    table = _table(elements, strands, twists._replace(joint=edge), nodes, first_dof, damping)
    fill_plasticity(table, plastic_size(model), yielding, elements)
    fill_folds(table, folds)
    table.twist_dof = _where(model.jnt_dofadr, twists.joint)
    table.twist_qpos = _where(model.jnt_qposadr, twists.joint)
    table.triangles = len(triangle)
    table.triangle_element = np.array(triangle, np.int64)
    yields = {one.element: number for number, one in enumerate(yielding)}
    table.triangle_yielding = np.array([yields.get(one, -1) for one in triangle], np.int64)
    table.triangle_area = np.concatenate(areas)
    table.triangle_moduli = np.concatenate(moduli)
    table.equality_strand, table.equality_softness = equality_strand, softness
    table.twist_axis = _directions(rest, twists.particle[:, [0, 2]])
    ends = np.zeros((len(joints), 2), np.int64)
    axis = np.zeros((len(joints), 3))
    for side, places in ((0, [1, 2]), (1, [0, 1])):
        turns = edge[:, side] >= 0
        ends[edge[turns, side] - len(tree)] = twists.particle[turns][:, places]
        axis[edge[turns, side] - len(tree)] = table.twist_axis[turns]
    table.turning_qpos = integers(model.jnt_qposadr[joints])
    table.turning_dof = integers(turning)
    table.turning_particle, table.turning_axis = ends, axis
    where = np.concatenate([rest, rest[ends].mean(axis=1)])
    # Of what is in the tree of a body nothing is eliminated by itself.
    moves = np.flatnonzero((nodes >= 0) & (size[nodes] <= 3))
    place = np.full(len(size), -1, np.int64)
    place[nodes[moves]] = np.arange(len(moves))
    ranks = dissection_ranks(where[moves], place[table.bond_tree])
    table.tree_rank = np.full(len(size), -1, np.int64)
    table.tree_rank[nodes[moves]] = ranks
    table.flex_frame = integers(frames)
    table.flex_inner = inner.astype(np.int64)
    table.particle_dof = dof
    table.contact_dof, table.contact_dofs = contact_dof, slides
    table.particle_qpos = qpos
    table.particle_base = base
    table.particle_offset = particle_offsets(model)
    table.particle_body = integers(bodies)
    table.flex_first_vertex = integers(model.flex_vertadr)
    table.flex_first_corner = integers(model.flex_elemdataadr)
    table.flex_corners = integers(model.flex_dim) + 1
    table.corner = integers(model.flex_elem)
    table.flex_vertices = integers(model.flex_vertnum)
    table.element_face, table.face_corner, table.face_element = surface_faces(model)
    edges = surface_edges(model)
    table.element_edge, table.edge_corner, table.edge_face, table.edge_is_diagonal = edges
    table.flex_first_element = integers(np.append(model.flex_elemadr, model.nflexelem))
    table.flex_radius = np.array(model.flex_radius, dtype=np.float64)
    table.particle_surface = _on_surface(model, len(bodies))
    table.vertex_first, table.vertex_particle, table.vertex_weight = between_nodes(model)
    table.geom_is_plane = integers(model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE))
    table.element_layer, table.active_layers = model.flex_elemlayer, model.flex_activelayers
    table.flex_margin, table.flex_gap = model.flex_margin, model.flex_gap
    table.geom_margin, table.geom_gap = model.geom_margin, model.geom_gap
    table.flex_edge = np.array([mean_edge(model, flex) for flex in range(model.nflex)])
    return table


def _directions(positions: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Unit vectors between pairs of particles, shape (n, 3)."""
    along = positions[ends[:, 1]] - positions[ends[:, 0]]
    return np.asarray(along / np.linalg.norm(along, axis=1, keepdims=True))


def _where(address: np.ndarray, joints: np.ndarray) -> np.ndarray:
    """Where joints are, −1 of those that are −1."""
    return np.where(joints >= 0, address[np.maximum(joints, 0)], -1).astype(np.int64)


def _no_strands() -> Strands:
    return Strands(np.zeros((0, 3), np.int64), np.zeros(0), np.zeros(0), np.zeros(0))


def _no_twists() -> Twists:
    none = np.zeros((0, 3), np.int64)
    return Twists(none, none[:, :2], np.zeros(0), np.zeros(0))


def _table(
    elements: list[Element],
    strands: Strands,
    twists: Twists,
    tree: np.ndarray,
    dof: np.ndarray,
    damping: np.ndarray,
) -> Table:
    """Elements, strands, twists and the bonds that they make, without the particles' places.

    ``tree`` and first ``dof`` are those of particles, with the damping, and then those of edges
    that twist, which ``twists`` counts in this order.
    """
    count = len(damping)
    bonds: dict[tuple[int, int], int] = {}

    def bond_of(p: int, q: int) -> int:
        """The bond of two particles, doubled, and 1 more if the second one's dofs are first."""
        if p == q or min(p, q) < 0 or tree[p] < 0 or tree[q] < 0:
            return -1
        bond = bonds.setdefault((min(p, q), max(p, q)), len(bonds))
        return 2 * bond + int(dof[q] < dof[p])

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
            pair += [bond_of(p, q) for q in one.vertices[: a + 1]]
        places += one.vertices
        first_place.append(len(places))
        first_pair.append(len(pair))
    strand_bond = [
        (bond_of(b, a), bond_of(c, a), bond_of(c, b)) for a, b, c in strands.particle.tolist()
    ]
    nodes = np.hstack([twists.joint, twists.particle])
    twist_bond = [[bond_of(node[a], node[b]) for a, b in TWIST_PAIRS] for node in nodes.tolist()]
    ends = np.array(sorted(bonds, key=bonds.__getitem__), np.int64).reshape(-1, 2)
    ends = np.take_along_axis(ends, np.argsort(dof[ends], axis=1), axis=1)
    inner = tree[ends[:, 0]] == tree[ends[:, 1]]
    order = np.lexsort((ends[:, 1], ends[:, 0], inner))
    ends, apart = ends[order], int(np.sum(~inner))
    number = np.argsort(order)

    def codes(found: Sequence[int] | Sequence[Sequence[int]]) -> np.ndarray:
        """Of bonds in their order at last."""
        code = np.array(found, np.int64)
        if len(bonds) == 0:
            return code
        return np.where(code < 0, -1, 2 * number[np.maximum(code, 0) >> 1] + (code & 1))

    none = np.zeros(0, np.int64)
    rest = [one.rest for one in elements]
    gradient = [one.gradient for one in elements]
    table = Table(
        ELASTIC,
        particles=count,
        elements=len(elements),
        bonds=len(bonds),
        flex_frame=none,
        flex_inner=none,
        particle_tree=tree[:count].astype(np.int64),
        particle_dof=none,
        contact_dof=none,
        contact_dofs=none,
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
        pair_bond=codes(pair),
        bond_tree=tree[ends[:apart]].astype(np.int64),
        bond_dof=dof[ends].astype(np.int64),
        # Of elements: a bond's smaller number is that of a particle, or there are none.
        bond_damping=np.append(damping, np.zeros(len(tree) - count))[ends.min(axis=1)],
        particle_damping=damping,
        tree_rank=none,
        strands=len(strands.particle),
        strand_particle=np.ascontiguousarray(strands.particle),
        strand_length=strands.length,
        strand_stiffness=strands.stiffness,
        strand_damping=strands.damping,
        strand_bond=codes(strand_bond).reshape(-1, 3),
        twists=len(twists.particle),
        twist_particle=np.ascontiguousarray(twists.particle),
        twist_dof=none.reshape(0, 2),
        twist_qpos=none.reshape(0, 2),
        twist_tree=np.where(twists.joint >= 0, tree[twists.joint], -1).reshape(-1, 2),
        twist_axis=np.zeros((0, 3)),
        turning_qpos=none,
        turning_dof=none,
        turning_particle=none.reshape(0, 2),
        turning_axis=np.zeros((0, 3)),
        twist_stiffness=twists.stiffness,
        twist_damping=twists.damping,
        twist_bond=codes(twist_bond).reshape(-1, len(TWIST_PAIRS)),
        equality_strand=none,
        equality_softness=np.zeros(0),
        triangle_element=none,
        triangle_yielding=none,
        triangle_area=np.zeros(0),
        triangle_moduli=np.zeros((0, 2)),
        flex_first_vertex=none,
        flex_first_corner=none,
        flex_corners=none,
        corner=none,
        flex_vertices=none,
        flex_first_element=none,
        element_face=none,
        element_edge=none,
        edge_corner=none.reshape(0, 2),
        edge_face=none.reshape(0, 2),
        edge_is_diagonal=none,
        face_corner=none.reshape(0, 3),
        face_element=none,
        flex_edge=np.zeros(0),
        flex_radius=np.zeros(0),
        particle_surface=none,
        vertex_first=np.zeros(1, np.int64),
        vertex_particle=none,
        vertex_weight=np.zeros(0),
        geom_shape=none,
        geom_is_plane=none,
        pair_flex=none,
        pair_geom=none,
        pair_margin=np.zeros(0),
        pair_friction=np.zeros((0, 5)),
        pair_dimension=none,
        element_layer=none.astype(np.int32),
        active_layers=none.astype(np.int32),
        flex_margin=np.zeros(0),
        flex_gap=np.zeros(0),
        geom_margin=np.zeros(0),
        geom_gap=np.zeros(0),
    )
    fill_plasticity(table, 0, [])
    fill_folds(table, [])
    return table


def _on_surface(model: mujoco.MjModel, particles: int) -> np.ndarray:
    found = np.zeros(particles, np.int64)
    for flex in range(model.nflex):
        found[model.flex_vertadr[flex] + flex_triangles(model, flex).ravel()] = 1
    return found


def error_weights(model: mujoco.MjModel, elastic: Table) -> np.ndarray:
    """What errors of positions count, shape (nv,): those of a rod's twist by its radius."""
    weights = np.ones(model.nv)
    radius = np.repeat(model.flex_radius, model.flex_vertnum)
    for dofs, particle in zip(elastic.twist_dof, elastic.twist_particle[:, 1], strict=True):
        weights[dofs[dofs >= 0]] = radius[particle]
    return weights

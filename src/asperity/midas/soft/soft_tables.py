"""The table of deformable bodies, from a model and the engine's links and shapes."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.geometry.surfaces import Surface, vertex_areas
from asperity.midas.model.contact_numbers import contact_numbers
from asperity.midas.model.links import Links, variable_count
from asperity.midas.model.round_geoms import round_areas
from asperity.midas.model.shapes import Shapes
from asperity.midas.soft.couples import couples_of
from asperity.midas.soft.flex_support import may_touch_flex
from asperity.midas.soft.soft_elements import soft_elements
from asperity.midas.soft.soft_layout import SOFT
from asperity.plant.model.cells import between_nodes
from asperity.plant.model.elastic_constants import elastic_constants
from asperity.plant.model.flexes import (
    flex_particles,
    flex_triangles,
    flex_vertices,
    free_particles,
    is_loose,
    particle_bodies,
    particle_offsets,
    particle_positions,
    resting_data,
)
from asperity.plant.model.folds import fill_folds
from asperity.plant.model.plastic import fill_plasticity, plastic_size
from asperity.plant.model.resolved_materials import ResolvedMaterials
from asperity.plant.model.ropes import (
    Strands,
    Twists,
    acts_along_edges,
    rope_strands,
    rope_twists,
)
from asperity.soft.dissection import dissection_ranks

__all__ = ["elimination_ranks", "soft_table"]

_ROOM = 1024
# The broad phase has at most so many.
_STRIPS = 64
# Of a triangle of cloth that bends, with those beside it.
_MOST_CORNERS = 12


def soft_table(
    model: mujoco.MjModel,
    links: Links,
    shapes: Shapes,
    surfaces: Table,
    materials: ResolvedMaterials,
) -> Table:
    """Make the table.

    Parameters
    ----------
    model : mujoco.MjModel
        Which `check_flexes` and `check_midas_flexes` have passed.
    links, shapes : Links and Shapes
    surfaces : Table
        The engine's `SHAPES`, with the vertices of ``shapes``.
    materials : ResolvedMaterials
    """
    particles = model.nflexvert + model.nflexnode
    world = len(links.links)
    owner = np.concatenate(
        [
            np.repeat(np.arange(model.nflex), many)
            for many in (model.flex_vertnum, model.flex_nodenum)
        ]
    )
    touching = [s for s in range(len(shapes.geom)) if _touched(model, int(shapes.geom[s]))]
    rigid = [np.arange(surfaces.vertex_start[s], surfaces.vertex_start[s + 1]) for s in touching]
    number = np.full(len(surfaces.vertex_link), -1, np.int64)
    chosen = np.concatenate([np.zeros(0, np.int64), *rigid])
    number[chosen] = particles + np.arange(len(chosen))
    group = np.repeat(
        np.arange(model.nflex, model.nflex + len(touching)), [len(part) for part in rigid]
    )
    body_of = particle_bodies(model)
    link = links.body_link[body_of].copy()
    fixed = link < 0
    rest = np.zeros((particles, 4))
    rest[:, 0] = 1.0
    radius, area = np.zeros(particles), np.zeros(particles)
    points: list[np.ndarray] = []
    edges: list[np.ndarray] = []
    edge_areas: list[np.ndarray] = []
    faces: list[np.ndarray] = []
    at_rest = particle_positions(model, resting_data(model))
    moving = np.zeros(particles, bool)
    for flex in range(model.nflex):
        vertices = flex_vertices(model, flex)
        moving[flex_particles(model, flex)] = free_particles(model, flex)
        surface = Surface(at_rest[vertices], flex_triangles(model, flex).astype(np.int64))
        radius[vertices] = model.flex_radius[flex]
        sides, side_areas, area[vertices] = _edges(surface)
        if model.flex_dim[flex] == 1:
            sides, side_areas, area[vertices] = round_areas(surface, float(radius[vertices.start]))
        if is_loose(model, flex):
            # Nothing but contact of their own stops vertices that are not on the surface.
            inside = vertices.start + np.flatnonzero(area[vertices] == 0.0)
            area[inside] = area[vertices].sum() / max(np.count_nonzero(area[vertices]), 1)
            points.append(inside)
        points.append(vertices.start + np.unique(surface.faces))
        edges.append(vertices.start + sides)
        edge_areas.append(side_areas)
        faces.append(vertices.start + surface.faces)
    rest[fixed, 1:] = at_rest[fixed]
    node_first, node, node_weight = between_nodes(model)
    between = np.flatnonzero(np.diff(node_first))
    offsets = particle_offsets(model)
    pinned = np.flatnonzero(~moving & ~fixed)
    for vertex in pinned:
        body, own = int(body_of[vertex]), links.links[link[vertex]]
        place = links.body_turn[body] @ offsets[vertex]
        rest[vertex, 1:] = links.body_offset[body] + place - own.centre
    link[fixed] = world
    for s in touching:
        own = slice(int(surfaces.edge_start[s]), int(surfaces.edge_start[s + 1]))
        edges.append(number[surfaces.edge[own]].reshape(-1, 2))
        edge_areas.append(np.array(surfaces.edge_area[own]))
        own = slice(int(surfaces.face_start[s]), int(surfaces.face_start[s + 1]))
        faces.append(number[surfaces.face[own]].reshape(-1, 3))
    points.append(particles + np.arange(len(chosen)))
    every = np.vstack([at_rest, surfaces.vertex_rest[chosen, 1:]])
    edge = np.concatenate(edges).astype(np.int64).reshape(-1, 2)
    face = np.concatenate(faces).astype(np.int64).reshape(-1, 3)
    point = np.concatenate(points).astype(np.int64)
    constants = elastic_constants(model)
    bodies = soft_elements(model, at_rest, constants)
    corners = bodies.vertex.shape[1]
    sites = int(np.diff(node_first).max(initial=1))
    element_owner = owner[bodies.vertex[:, 0]]
    strands = _strands(model)
    twists, edge_of_twist = _twists(model, links, at_rest)
    variable = np.full(particles + len(chosen), -1, np.int64)
    first = np.cumsum([0] + [variable_count(one.kind) for one in links.links])
    variable[:particles][moving] = first[link[moving]]
    pairs = _pairs(model, shapes, touching, materials)
    vertex_link = np.concatenate([link, np.asarray(surfaces.vertex_link[chosen])])
    edge_of_twist[edge_of_twist >= 0] += len(vertex_link)
    shaped = np.concatenate([np.zeros(0, np.int64), *bodies.shaped]).astype(np.int64)
    cell_corners = np.where(
        np.arange(bodies.cell_vertex.shape[1]) < bodies.cell_corners[:, None],
        bodies.cell_vertex,
        -1,
    )
    couples, (element_couple, cell_couple, strand_couple) = couples_of(
        bodies.vertex, cell_corners, strands["strand_particle"]
    )
    table = Table(
        SOFT,
        vertices=particles + len(chosen),
        elements=len(bodies.size),
        flexes=model.nflex,
        corners=corners,
        most_corners=max(_MOST_CORNERS, corners),
        most_sites=4 * sites,
        items=len(point) + len(face),
        sides=len(edge),
        swept=max(len(point) + len(face), len(edge)),
        strips=_STRIPS,
        groups=len(pairs["group_pair"]),
        soft_room=_ROOM,
        particles=particles,
        between=between,
        node_first=np.append(
            node_first, np.full(len(vertex_link) - len(node_first) + 1, len(node))
        ),
        node=node,
        node_weight=node_weight,
        vertex_link=vertex_link.astype(np.int64),
        vertex_rest=np.ascontiguousarray(np.vstack([rest, surfaces.vertex_rest[chosen]])),
        vertex_variable=variable,
        vertex_group=np.concatenate([owner, group]).astype(np.int64),
        vertex_radius=np.concatenate([radius, surfaces.vertex_radius[chosen]]),
        vertex_area=np.concatenate([area, surfaces.vertex_area[chosen]]),
        flex_first=np.append(model.flex_vertadr, model.nflexvert).astype(np.int64),
        element_vertex=bodies.vertex,
        element_corners=(bodies.vertex >= 0).sum(axis=1),
        element_dimension=np.where(np.any(bodies.gradient[..., 2], axis=1), 3, 2).astype(np.int64),
        element_gradient=bodies.gradient,
        element_size=bodies.size,
        element_lame=constants[element_owner] * bodies.share[:, None],
        width=bodies.cell_vertex.shape[1],
        couples=len(couples),
        couple=couples,
        element_couple=element_couple,
        cell_couple=cell_couple,
        strand_couple=strand_couple,
        cell_element=bodies.cell,
        cell_vertex=bodies.cell_vertex,
        cell_corners=bodies.cell_corners,
        cell_rest=bodies.cell_rest,
        cell_matrix=bodies.cell_matrix,
        cell_flat=bodies.cell_flat,
        matrix=bodies.matrix,
        shaped_first=np.cumsum([0, *map(len, bodies.shaped)]).astype(np.int64),
        shaped=shaped,
        shaped_gradient=bodies.gradient[shaped],
        element_damping=np.array(model.flex_damping[element_owner], dtype=np.float64),
        strands=len(strands["strand_length"]),
        **strands,
        twists=len(edge_of_twist),
        **twists,
        point=point,
        edge=edge,
        edge_area=np.concatenate(edge_areas),
        edge_square=np.sum((every[edge[:, 0]] - every[edge[:, 1]]) ** 2, axis=1),
        face=face,
        pinned=len(pinned),
        wanted=_wanted(links, np.append(vertex_link[particles:], link[pinned])),
        bond=_bonds(
            np.concatenate([vertex_link, twists["turning_link"]]),
            (
                bodies.vertex,
                bodies.cell_vertex,
                strands["strand_particle"],
                np.hstack([edge_of_twist, twists["twist_particle"]]),
            ),
            world,
        ),
        **pairs,
    )
    fill_plasticity(table, plastic_size(model), bodies.yielding)
    fill_folds(table, bodies.folds)
    table.item_order[:] = np.arange(len(table.item_order))
    table.side_order[:] = np.arange(len(table.side_order))
    return table


def elimination_ranks(model: mujoco.MjModel, soft: Table, links: int) -> np.ndarray:
    """Places of links in the order of elimination, shape (links,).

    Vertices of cloth and ropes, with what turns in these, come first, by their degrees. Volumes
    follow, by nested dissection, and then all other links.
    """
    moving = np.flatnonzero(soft.vertex_variable >= 0)
    inside = moving[model.flex_dim[soft.vertex_group[moving]] == 3]
    own = soft.vertex_link[inside]
    number = np.full(links, -1, np.int64)
    number[own] = np.arange(len(own))
    bonds = number[soft.bond]
    where = particle_positions(model, resting_data(model))[inside]
    rank = np.full(links, len(own), np.int64)
    rank[soft.vertex_link[moving]] = 0
    rank[soft.turning_link] = 0
    rank[own] = dissection_ranks(where, bonds[np.all(bonds >= 0, axis=1)])
    return rank


def _touched(model: mujoco.MjModel, geom: int) -> bool:
    return any(may_touch_flex(model, flex, geom) for flex in range(model.nflex))


def _edges(surface: Surface) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All edges of a surface that bends, their areas, and those of its vertices.

    An edge has a third of the area of its triangles.
    """
    faces = surface.faces
    sides = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
    a, b, c = (surface.vertices[faces[:, k]] for k in range(3))
    third = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0
    edges, label = np.unique(sides, axis=0, return_inverse=True)
    areas = np.bincount(label.reshape(-1), np.tile(third, 3), minlength=len(edges))
    return edges, areas, vertex_areas(surface)


def _strands(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Edges and bends of all flexes, and what equality holds them."""
    parts = [Strands(np.zeros((0, 3), np.int64), *np.zeros((3, 0)))]
    equality = [np.zeros(0, np.int64)]
    for flex in range(model.nflex):
        if acts_along_edges(model, flex):
            own, first = rope_strands(model, flex), int(model.flex_vertadr[flex])
            vertex = np.where(own.particle >= 0, own.particle + first, -1)
            parts.append(own._replace(particle=vertex))
            holds = (model.eq_type == mujoco.mjtEq.mjEQ_FLEX) & (model.eq_obj1id == flex)
            number = int(np.flatnonzero(holds)[0]) if holds.any() else -1
            equality.append(np.where(vertex[:, 2] < 0, number, -1))
    particle, length, stiffness, damping = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    held = np.concatenate(equality)
    mass = model.body_mass[model.body_weldid != 0].sum()
    return {
        "strand_particle": particle,
        "strand_length": length,
        "strand_stiffness": stiffness,
        "strand_damping": damping,
        "strand_equality": held,
        "strand_inertia": np.where(held >= 0, mass, 0.0),
    }


def _twists(
    model: mujoco.MjModel, links: Links, at_rest: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Twists of all bends; and their edges after and before among those that turn, or −1."""
    parts = [Twists(np.zeros((0, 3), np.int64), np.zeros((0, 2), np.int64), *np.zeros((2, 0)))]
    for flex in range(model.nflex):
        own = rope_twists(model, flex)
        parts.append(own._replace(particle=own.particle + int(model.flex_vertadr[flex])))
    particle, joint, stiffness, damping = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    along = at_rest[particle[:, 2]] - at_rest[particle[:, 0]]
    axis = along / np.linalg.norm(along, axis=1, keepdims=True)
    joints = np.unique(joint[joint >= 0])
    edge = np.where(joint >= 0, np.searchsorted(joints, joint), -1)
    ends, turning_axis = np.zeros((len(joints), 2), np.int64), np.zeros((len(joints), 3))
    for side, places in ((0, [1, 2]), (1, [0, 1])):
        turns = edge[:, side] >= 0
        ends[edge[turns, side]] = particle[turns][:, places]
        turning_axis[edge[turns, side]] = axis[turns]
    link = links.body_link[model.jnt_bodyid[joints]]
    return {
        "twist_particle": particle,
        "twist_link": np.where(joint >= 0, np.append(link, -1)[edge], -1),
        "twist_stiffness": stiffness,
        "twist_damping": damping,
        "twist_axis": axis,
        "turning_link": link,
        "turning_particle": ends,
        "turning_axis": turning_axis,
    }, edge


def _wanted(links: Links, touching: np.ndarray) -> np.ndarray:
    """1 for links of rigid vertices, and their ancestors."""
    wanted = np.zeros(len(links.links), np.int64)
    for link in np.unique(touching):
        at = int(link)
        while 0 <= at < len(links.links):
            wanted[at] = 1
            at = links.links[at].parent
    return wanted


def _bonds(link: np.ndarray, every_corner: tuple[np.ndarray, ...], world: int) -> np.ndarray:
    """Pairs of links that share an element, once each, shape (n, 2)."""
    found = []
    for corners in every_corner:
        for i in range(corners.shape[1]):
            for j in range(i):
                both = (corners[:, i] >= 0) & (corners[:, j] >= 0)
                found.append(np.sort(link[corners[both][:, [i, j]]], axis=1))
    every = np.concatenate(found) if found else np.zeros((0, 2), np.int64)
    every = every[np.all(every < world, axis=1) & (every[:, 0] != every[:, 1])]
    return np.ascontiguousarray(np.unique(every, axis=0)).astype(np.int64).reshape(-1, 2)


def _pairs(
    model: mujoco.MjModel, shapes: Shapes, touching: list[int], materials: ResolvedMaterials
) -> dict[str, np.ndarray]:
    """Pairs of groups that may touch, with their friction and stiction tolerance."""
    groups = model.nflex + len(touching)
    group_pair = np.full((groups, groups), -1, np.int64)
    plane_pair = np.full((model.nflex, len(shapes.plane_geom)), -1, np.int64)
    off = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    disabled = bool(int(model.opt.disableflags) & int(off))
    ends: list[tuple[int, int]] = []
    numbers: list[np.ndarray] = []

    def add(flex: int, other: int, index: int) -> int:
        ends.append((flex, other))
        one, two = sorted((model.ngeom + flex, index))
        numbers.append(contact_numbers(model, one, two, materials)[:2])
        return len(ends) - 1

    for flex in range(0 if disabled else model.nflex):
        if model.flex_selfcollide[flex] != 0:
            group_pair[flex, flex] = add(flex, flex, model.ngeom + flex)
        for other in range(flex):
            if (
                model.flex_contype[flex] & model.flex_conaffinity[other]
                or model.flex_contype[other] & model.flex_conaffinity[flex]
            ):
                pair = add(flex, other, model.ngeom + other)
                group_pair[flex, other] = group_pair[other, flex] = pair
        for k, s in enumerate(touching):
            geom = int(shapes.geom[s])
            if may_touch_flex(model, flex, geom):
                pair = add(flex, model.nflex + k, geom)
                group_pair[flex, model.nflex + k] = group_pair[model.nflex + k, flex] = pair
        for p, geom in enumerate(shapes.plane_geom):
            if may_touch_flex(model, flex, int(geom)):
                plane_pair[flex, p] = add(flex, -1 - p, int(geom))
    parameters = np.array(numbers, dtype=np.float64).reshape(-1, 2)
    return {
        "group_pair": group_pair,
        "plane_pair": plane_pair,
        "pair_group": np.array(ends, dtype=np.int64).reshape(-1, 2),
        "pair_activation": np.zeros(len(ends)),
        "pair_widest": np.zeros(len(ends)),
        "pair_given": np.full(len(ends), np.inf),
        "pair_friction": parameters[:, 0].copy(),
        "pair_stiction": parameters[:, 1].copy(),
    }

"""Collision shapes of a model on its links, and which of them may touch."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface, sharp_edges, vertex_areas, volume_integrals
from asperity.midas.geometry.box_trees import tree_tables
from asperity.midas.model.contact_numbers import NUMBERS, PLAIN, contact_numbers
from asperity.midas.model.links import Links, read_links, rotation_matrix
from asperity.midas.model.mesh_care import MeshCare
from asperity.midas.model.round_geoms import round_anchor, round_areas, round_core
from asperity.plant.detection.sweep import colliding_geoms
from asperity.plant.model.geom_surfaces import geom_surface
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.model_view import remembered
from asperity.plant.model.names import element
from asperity.plant.model.resolved_materials import ResolvedMaterials

__all__ = ["Shapes", "pair_numbers", "read_shapes"]

_FLAG = mujoco.mjtDisableBit
_MESHES = (int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_SDF))

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Shapes:
    """Surfaces in their links' rest coordinates, those of moving links first."""

    geom: Ints
    link: Ints
    """Link of every shape, the number of links for the world's."""
    surface: list[Surface]
    """Of round shapes their cores, with triangles without area: a centre, or an axis."""
    radius: Floats
    """Of round shapes [m], 0 of the others."""
    drawn: list[Surface]
    """Surfaces with volume, which of round shapes are polyhedra inside of them."""
    planes: Floats
    """Half-spaces of planes: outward normal and offset n·x [m], shape (m, 4)."""
    plane_geom: Ints
    pair_shape: Ints
    """Shapes that may touch; the second is −1 − i for half-space i, shape (n, 2)."""
    volume: Floats
    """Volume of the shapes of every link [m³]."""
    anchor: Ints
    """Of cylinders and ellipsoids, vertices of their own that say where they are: three of either
    rim, or the ends of half axes; −1 elsewhere; shape (., 2, 4)."""
    area: Floats
    """What either of these touches a half-space with [m²]."""
    surface_velocity: Floats
    """∂v/∂[1, x̄] of shapes and then of planes that run like belts, in rest coordinates, shape
    (., 4, 3); empty if none does."""
    notes: tuple[str, ...]
    """Sentences on meshes that were changed, or are no solids."""

    @functools.cached_property
    def tables(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Fields of `SHAPES`, and of the `BOX_TREES` over them."""
        surfaces = _surface_tables(self)
        return surfaces, tree_tables(surfaces)


@remembered
def read_shapes(
    model: mujoco.MjModel,
    *,
    segments: int,
    subdivisions: int,
    hulls: bool,
    mesh_tolerance: float | None = None,
    mesh_repair: str = "keep",
    kept: tuple[int, ...] = (),
) -> Shapes:
    """Make the shapes of a model's colliding geoms: those of pairs, and those that are ``kept``.

    Raises
    ------
    ModelError
        If a geom has no surface.
    """
    links = read_links(model)
    world = len(links.links)
    paired = set(map(int, model.pair_geom1)) | set(map(int, model.pair_geom2))
    solid: list[tuple[int, int]] = []
    planes: list[int] = []
    for geom in range(model.ngeom):
        if not (model.geom_contype[geom] or model.geom_conaffinity[geom] or geom in paired):
            continue
        link = int(links.body_link[model.geom_bodyid[geom]])
        if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
            if link >= 0:
                name = element(model, mujoco.mjtObj.mjOBJ_GEOM, geom)
                raise ModelError(
                    f"{name} is a plane on a moving body, which the Midas integrator does not "
                    "support; use a box."
                )
            planes.append(geom)
        else:
            solid.append((world if link < 0 else link, geom))
    solid.sort()
    care = MeshCare(mesh_tolerance, mesh_repair)
    surfaces: list[Surface] = []
    drawn: list[Surface] = []
    radii: list[float] = []
    rounds: list[tuple[Ints, float]] = []
    whole = [
        geom_surface(model, geom, segments=segments, subdivisions=subdivisions, hulls=hulls)
        for _, geom in solid
    ]
    meshes = [i for i, (_, geom) in enumerate(solid) if int(model.geom_type[geom]) in _MESHES]
    names = [
        element(model, mujoco.mjtObj.mjOBJ_MESH, int(model.geom_dataid[solid[i][1]]))
        for i in meshes
    ]
    taken = care.take([(whole[i], name) for i, name in zip(meshes, names, strict=True)])
    for i, surface in zip(meshes, taken, strict=True):
        whole[i] = surface
    for (_, geom), surface in zip(solid, whole, strict=True):
        drawn.append(_on_link(model, links, geom, surface))
        rounds.append(round_anchor(model, geom, surface))
        core, own = round_core(model, geom)
        surfaces.append(drawn[-1] if core is None else _on_link(model, links, geom, core))
        radii.append(own)
    volume = np.zeros(world)
    for (link, _), surface in zip(solid, drawn, strict=True):
        if link < world:
            # An open mesh has no volume to speak of; its sign is not known.
            volume[link] += abs(volume_integrals(surface)[0])
    half_spaces = np.zeros((len(planes), 4))
    for i, geom in enumerate(planes):
        turn, point = _geom_pose(model, links, geom)
        half_spaces[i, :3] = turn[:, 2]
        half_spaces[i, 3] = turn[:, 2] @ point
    geoms = np.array([geom for _, geom in solid], dtype=np.int64)
    owners = np.array([link for link, _ in solid], dtype=np.int64)
    pairs = _pairs(model, geoms, owners, planes, links)
    # Shapes that nothing can touch are of no further use.
    others = np.flatnonzero(np.isin(geoms, np.array(list(kept), np.int64)))
    used = np.unique(np.concatenate([pairs[:, 0], pairs[pairs[:, 1] >= 0, 1], others]))
    number = np.full(len(geoms), -1, np.int64)
    number[used] = np.arange(len(used))
    pairs[:, 0] = number[pairs[:, 0]]
    solids = pairs[:, 1] >= 0
    pairs[solids, 1] = number[pairs[solids, 1]]
    geoms, owners, surfaces = geoms[used], owners[used], [surfaces[i] for i in used]
    drawn = [drawn[i] for i in used]
    return Shapes(
        geom=geoms,
        link=owners,
        surface=surfaces,
        radius=np.array(radii, dtype=np.float64)[used],
        drawn=drawn,
        planes=half_spaces,
        plane_geom=np.array(planes, dtype=np.int64),
        pair_shape=pairs,
        volume=volume,
        anchor=np.array([rounds[i][0] for i in used], dtype=np.int64).reshape(-1, 2, 4),
        area=np.array([rounds[i][1] for i in used], dtype=np.float64),
        surface_velocity=_surface_velocities(model, links, [*geoms, *planes]),
        notes=care.finish(),
    )


def _surface_velocities(model: mujoco.MjModel, links: Links, geoms: list[int]) -> Floats:
    """Of every geom, v = u + ω × (x̄ − p) as a linear function of [1, x̄], shape (., 4, 3)."""
    if not np.any(model.geom_surfacevel[geoms]):
        return np.zeros((0, 4, 3))
    found = np.zeros((len(geoms), 4, 3))
    for i, geom in enumerate(geoms):
        turn, point = _geom_pose(model, links, geom)
        link = int(links.body_link[model.geom_bodyid[geom]])
        centre = links.links[link].centre if link >= 0 else np.zeros(3)
        straight, spin = np.reshape(model.geom_surfacevel[geom], (2, 3)) @ turn.T
        found[i, 0] = straight - np.cross(spin, point - centre)
        found[i, 1:] = np.cross(spin, np.eye(3))
    return found


def _geom_pose(model: mujoco.MjModel, links: Links, geom: int) -> tuple[Floats, Floats]:
    """Axes and origin of a geom in its link's body frame, or in the world."""
    body = int(model.geom_bodyid[geom])
    turn = links.body_turn[body] @ rotation_matrix(model.geom_quat[geom])
    return turn, links.body_offset[body] + links.body_turn[body] @ model.geom_pos[geom]


def _on_link(model: mujoco.MjModel, links: Links, geom: int, surface: Surface) -> Surface:
    turn, point = _geom_pose(model, links, geom)
    link = int(links.body_link[model.geom_bodyid[geom]])
    centre = links.links[link].centre if link >= 0 else np.zeros(3)
    return surface._replace(vertices=surface.vertices @ turn.T + point - centre)


def _pairs(
    model: mujoco.MjModel,
    geoms: Ints,
    owners: Ints,
    planes: list[int],
    links: Links,
) -> Ints:
    collide = colliding_geoms(model)
    pairs: list[tuple[int, int]] = []
    moves = np.append([not link.is_mocap for link in links.links], False)
    if is_disabled(model, _FLAG.mjDSBL_CONTACT | _FLAG.mjDSBL_CONSTRAINT):
        geoms = geoms[:0]
    for i in range(len(geoms)):
        if owners[i] == len(links.links):
            continue
        others = [(int(geoms[j]), j) for j in range(len(geoms)) if j > i and owners[j] != owners[i]]
        others += [(geom, -1 - k) for k, geom in enumerate(planes)]
        if not moves[owners[i]]:
            # What is moved from outside passes through what nothing moves.
            others = [(geom, j) for geom, j in others if j >= 0 and moves[owners[j]]]
        pairs += [(i, number) for geom, number in others if collide[geoms[i], geom]]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def pair_numbers(
    model: mujoco.MjModel, shapes: Shapes, materials: ResolvedMaterials
) -> dict[str, np.ndarray]:
    """Fields of `PAIRS` on friction and dissipation."""
    explicit = {
        (min(a, b), max(a, b)): i
        for i, (a, b) in enumerate(
            zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True)
        )
    }
    rows = []
    for one, other in shapes.pair_shape.tolist():
        geom = shapes.geom[other] if other >= 0 else shapes.plane_geom[-1 - other]
        a, b = sorted((int(shapes.geom[one]), int(geom)))
        rows.append(contact_numbers(model, a, b, materials, explicit.get((a, b), -1)))
    numbers = np.array(rows, dtype=np.float64).reshape(-1, NUMBERS)
    scale = numbers[:, 3:].copy()
    return {
        "friction": numbers[:, 0].copy(),
        "stiction": numbers[:, 1].copy(),
        "dissipation": numbers[:, 2].copy(),
        "slip_scale": scale,
        "every_friction": np.any(scale != PLAIN, axis=1).astype(np.int64),
    }


def _surface_tables(shapes: Shapes) -> dict[str, np.ndarray]:
    """Vertices, edges and faces of all shapes in one numbering: fields of `SHAPES`."""
    rest, owner, area, edges, edge_areas, faces = [], [], [], [], [], []
    radii = []
    starts = {"vertex": [0], "edge": [0], "face": [0]}
    for link, surface, radius in zip(shapes.link, shapes.surface, shapes.radius, strict=True):
        count = len(surface.vertices)
        edge, edge_area = sharp_edges(surface)
        own_area = vertex_areas(surface)
        if radius > 0.0:
            edge, edge_area, own_area = round_areas(surface, radius)
        radii.append(np.full(count, radius))
        first = starts["vertex"][-1]
        rest.append(np.column_stack([np.ones(count), surface.vertices]))
        owner.append(np.full(count, link))
        area.append(own_area)
        edges.append(edge + first)
        edge_areas.append(edge_area)
        faces.append(surface.faces + first)
        for name, size in (("vertex", count), ("edge", len(edge)), ("face", len(surface.faces))):
            starts[name].append(starts[name][-1] + size)

    def joined(parts: list[np.ndarray], width: int, dtype: type) -> np.ndarray:
        shape = (0, width) if width else (0,)
        return np.ascontiguousarray(np.concatenate([np.zeros(shape, dtype), *parts]), dtype=dtype)

    own_first = np.array(starts["vertex"][:-1], dtype=np.int64).reshape(-1, 1, 1)
    tables = {
        "anchor": np.ascontiguousarray(np.where(shapes.anchor >= 0, shapes.anchor + own_first, -1)),
        "area": np.array(shapes.area, dtype=np.float64),
        "vertex_rest": joined(rest, 4, np.float64),
        "vertex_link": joined(owner, 0, np.int64),
        "vertex_area": joined(area, 0, np.float64),
        "vertex_radius": joined(radii, 0, np.float64),
        "radius": np.array(shapes.radius, dtype=np.float64),
        "edge": joined(edges, 2, np.int64),
        "edge_area": joined(edge_areas, 0, np.float64),
        "face": joined(faces, 3, np.int64),
        **{f"{name}_start": np.array(start, np.int64) for name, start in starts.items()},
    }
    ends = tables["vertex_rest"][tables["edge"], 1:]
    tables["edge_square"] = np.sum((ends[:, 0] - ends[:, 1]) ** 2, axis=1)
    return tables

"""Deformable bodies of an engine: their table, its room, the check of given states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.errors import ModelError
from asperity.geometry.surfaces import is_closed
from asperity.midas.engine_layout import SMALLEST_ACTIVATION
from asperity.midas.model.links import Links
from asperity.midas.model.pairs import FlexPair, pair_names
from asperity.midas.model.shapes import Shapes
from asperity.midas.remembered import put_back, remember
from asperity.midas.soft.flex_support import may_touch_flex
from asperity.midas.soft.soft_check import crossing_pair, place_vertices, survey
from asperity.midas.soft.soft_contacts import COLUMNS, fill_contacts
from asperity.midas.soft.soft_layout import SOFT_FULL
from asperity.midas.soft.soft_tables import elimination_ranks, soft_table
from asperity.plant.model.flexes import (
    flex_name,
    flex_triangles,
    flex_vertices,
    rest_positions,
)
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.resolved_materials import ResolvedMaterials

__all__ = ["SoftBodies", "SoftContacts"]

# Share of what is left between parts of a flex at rest that becomes its activation distance.
_OWN_SHARE = 0.9
# Overlap that is called touching [m].
_TOUCHING = 1e-6


class SoftContacts(NamedTuple):
    """Contacts with a flex; sides count flexes after geoms, and vertices within their flex."""

    sides: np.ndarray
    vertex: np.ndarray
    rows: np.ndarray
    friction: np.ndarray


class SoftBodies:
    """Deformable bodies of an engine.

    Parameters
    ----------
    model : mujoco.MjModel
    links, shapes : Links and Shapes
    engine : Table
        The engine's table, which gets the address of theirs.
    materials : ResolvedMaterials

    Raises
    ------
    ModelError
        If a flex is as thick as its parts are apart at rest.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        links: Links,
        shapes: Shapes,
        engine: Table,
        materials: ResolvedMaterials,
    ) -> None:
        self._model = model
        self._engine = engine
        self._shapes = shapes
        self.touching = [
            s
            for s, geom in enumerate(shapes.geom)
            if any(may_touch_flex(model, flex, int(geom)) for flex in range(model.nflex))
        ]
        self.table = soft_table(model, links, shapes, engine.shapes, materials)
        engine.factor.rank[:] = elimination_ranks(model, self.table, len(links.links))
        engine.soft.bodies = self.table.address
        self.table.pair_activation[:] = engine.options.activation
        self.table.activation = engine.options.activation
        missing = self.table.missing()
        assert not missing, missing
        self._adapted = False
        self._make_room_for_thickness()
        self._closed = self._closed_groups()

    @property
    def positions(self) -> np.ndarray:
        """Positions of all vertices at the engine's state [m]."""
        x = np.zeros((len(self.table.vertex_link), 3))
        place_vertices(self._engine, x)
        return x

    def surfaces(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Positions of the vertices on the surface of every flex [m], and its triangles."""
        x, positions, faces = self.positions, [], []
        for flex in range(self._model.nflex):
            triangles = flex_triangles(self._model, flex)
            chosen, label = np.unique(triangles, return_inverse=True)
            positions.append(x[flex_vertices(self._model, flex)][chosen])
            faces.append(label.reshape(triangles.shape))
        return positions, faces

    def _closed_groups(self) -> np.ndarray:
        surfaces = [self._shapes.surface[s] for s in self.touching]
        closed = [int(dim == 3) for dim in self._model.flex_dim]
        for surface in surfaces:
            closed.append(int(len(surface.vertices) > 3 and is_closed(surface)))
        return np.array(closed, np.int64)

    def _gaps(self, x: np.ndarray) -> np.ndarray:
        """Smallest distances of all pairs at positions [m], infinite beyond the usual reach."""
        reach = float(self._engine.options.activation)
        while self.grow(int(survey(self._engine, x, reach))):
            pass
        table = self.table
        count = int(table.count)
        gap = np.full(len(table.pair_group), np.inf)
        square = np.array(table.square[:count])
        np.minimum.at(gap, table.pair[:count], np.sign(square) * np.sqrt(np.abs(square)))
        return gap

    def _make_room_for_thickness(self) -> None:
        """Give self contact a distance that parts at rest leave."""
        model, table = self._model, self.table
        x = self.positions
        for flex in range(model.nflex):
            x[flex_vertices(model, flex)] = rest_positions(model, flex)
        # Rigid shapes, and other flexes, are nowhere yet.
        every, planes = table.group_pair.copy(), table.plane_pair.copy()
        table.group_pair[:] = np.where(np.eye(len(every), dtype=bool), every, -1)
        table.plane_pair[:] = -1
        gap = self._gaps(x)
        table.group_pair[:], table.plane_pair[:] = every, planes
        for pair, (one, other) in enumerate(table.pair_group):
            if one != other:
                continue
            if _OWN_SHARE * gap[pair] < SMALLEST_ACTIVATION:
                radius = float(model.flex_radius[one])
                apart = 1e3 * max(gap[pair] + 2.0 * radius, 0.0)
                raise ModelError(
                    f"{flex_name(model, int(one))}: parts of it that share no vertex are "
                    f"{apart:.3g} mm apart at rest, and twice its radius is "
                    f"{2e3 * radius:.3g} mm; give it a "
                    'smaller radius, a coarser mesh, or selfcollide="none".'
                )
            table.pair_activation[pair] = min(table.pair_activation[pair], _OWN_SHARE * gap[pair])

    def pairs(self) -> dict[FlexPair, int]:
        """Pairs whose contact is simulated, with their numbers."""
        model, table, shapes = self._model, self.table, self._shapes
        flexes = model.ngeom + np.arange(model.nflex)
        # Half-space i, number −1 − i, is the i-th from the end.
        sides = np.concatenate([flexes, shapes.geom[self.touching], shapes.plane_geom[::-1]])
        listed = np.concatenate([table.group_pair.ravel(), table.plane_pair.ravel()])
        numbers = np.unique(listed[listed >= 0])
        ends = sides.astype(np.int64)[table.pair_group[numbers]]
        return {
            FlexPair(int(one) - model.ngeom, int(other)): int(number)
            for (one, other), number in zip(ends, numbers, strict=True)
        }

    def overlapping(self) -> dict[FlexPair, float]:
        """Pairs that touch or intersect in the engine's state, with their distances [m].

        Of surfaces that cross, one pair is found, at a distance of −∞.
        """
        x = self.positions
        gap = self._gaps(x)
        crossed = int(crossing_pair(self._engine, x, self._closed))
        if crossed >= 0:
            gap[crossed] = -np.inf
        return {
            pair: float(gap[number]) for pair, number in self.pairs().items() if gap[number] <= 0.0
        }

    def exclude(self, pairs: Iterable[FlexPair]) -> None:
        """Let both sides of pairs pass through each other from now on."""
        table, every = self.table, self.pairs()
        gone = [every[pair] for pair in pairs if pair in every]
        for numbers in (table.group_pair, table.plane_pair):
            numbers[np.isin(numbers, gone)] = -1
        table.stencils = table.count = table.listed = table.rub_laid = 0
        self._engine.soft.pairs = self._engine.soft.measured = 0

    def check(self, *, adapt: bool, moved: bool = False, separated: bool = False) -> None:
        """Check the engine's state; with ``adapt`` lower activation distances to clearances.

        In later states, if anything was ``moved``, that is for a trial step to do. ``separated``
        says that flexes have been moved out of geoms as far as they can be.

        Raises
        ------
        ModelError
            If surfaces intersect.
        """
        found = self.overlapping()
        if found:
            pair, distance = min(found.items(), key=lambda item: item[1])
            one, other = pair_names(self._model, pair)
            what = f"{one} and {other} {'intersect' if distance < -_TOUCHING else 'touch'}"
            if one == other:
                what = f"{one} intersects itself, or is nearer to itself than twice its radius"
            instead = (
                "or keep them from touching by contype and conaffinity: overlaps='separate' moves "
                "flexes without pins, each as a whole, and finds no room between geoms."
                if separated
                else "keep them from touching by contype and conaffinity, or let "
                "Midas(overlaps='separate') move flexes without pins out of geoms, and let others "
                "pass."
            )
            raise ModelError(
                f"{what}; the Midas integrator needs a state in which surfaces, with the radii of "
                f"flexes, are apart. Move them apart, {instead}"
            )
        if adapt and (moved or not self._adapted):
            self._adapt()
        self._adapted = True

    def _adapt(self) -> None:
        """Lower activation distances of the first state; note distances of pairs in later ones."""
        table, gap = self.table, self._gaps(self.positions)
        own = table.pair_activation
        if not self._adapted:
            own[:] = np.maximum(np.minimum(own, gap), SMALLEST_ACTIVATION)
            table.pair_widest[:] = own
            return
        # What was lowered is restored where it is farther apart.
        own[:] = np.where(gap >= table.pair_widest, table.pair_widest, own)
        table.pair_given[:] = gap
        if np.any(gap < own):
            self._engine.time.given = 1

    def grow(self, code: int) -> bool:
        """Enlarge what was found too small; False if ``code`` is about something else."""
        if code != SOFT_FULL:
            return False
        self.table.resize(soft_room=2 * len(self.table.kind))
        self.table.stencils = self.table.count = self.table.listed = self.table.rub_laid = 0
        self._engine.resize(soft_pair_room=2 * len(self._engine.soft.pair_link))
        self._engine.soft.pairs = 0
        return True

    def read_equalities(self, data: mujoco.MjData) -> None:
        """Switch equalities of edges on and off."""
        kinds = mujoco.mjtDisableBit.mjDSBL_EQUALITY | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        on = np.append(data.eq_active.astype(bool), False)
        on &= not is_disabled(self._model, kinds)
        self.table.strand_active[:] = on[self.table.strand_equality]
        self.table.strand_force_start[self.table.strand_active == 0] = 0.0

    def forget_multipliers(self) -> None:
        """Let the next step begin without the forces of equalities in the last one."""
        self.table.strand_force_start[:] = 0.0
        self.table.left_open = 0

    def open_equalities(self) -> set[int]:
        """Equalities whose edges something has kept from their lengths."""
        return set(self.table.strand_equality[self.table.strand_opened == 1].tolist())

    def memory(self) -> dict[str, Any]:
        """What states to come depend on, besides the state."""
        return {
            "bodies": remember(self.table),
            "part": remember(self._engine.soft, but=("bodies",)),
            "adapted": self._adapted,
        }

    def set_memory(self, memory: dict[str, Any]) -> None:
        """Put back what `memory` has returned."""
        put_back(self.table, memory["bodies"])
        put_back(self._engine.soft, memory["part"])
        self._adapted = memory["adapted"]

    def contacts(self) -> SoftContacts:
        """Contacts of the engine's state, with the forces of its last step."""
        model, table, shapes = self._model, self.table, self._shapes
        reach = float(table.activation)
        while self.grow(int(survey(self._engine, self.positions, reach))):
            pass
        rows = np.zeros((int(table.count), COLUMNS))
        rows = rows[: int(fill_contacts(self._engine, rows))]
        number = np.concatenate(
            [model.ngeom + np.arange(model.nflex), shapes.geom[self.touching]]
        ).astype(np.int64)
        pair = rows[:, 11].astype(np.int64)
        vertices = rows[:, 12:14].astype(np.int64)
        groups = table.vertex_group[np.maximum(vertices, 0)]
        sides = number[groups]
        half = vertices[:, 1] < 0
        planes = np.append(shapes.plane_geom, 0)
        sides[half, 1] = planes[-1 - table.pair_group[pair[half], 1]]
        own = groups < model.nflex
        first = np.append(model.flex_vertadr, 0)[np.where(own, groups, model.nflex)]
        vertex = np.where(own & (vertices >= 0), vertices - first, -1)
        vertex[half, 1] = -1
        return SoftContacts(sides, vertex, rows, table.pair_friction[pair])

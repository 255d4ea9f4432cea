"""The engine of one simulation: a model's links, joints and shapes in one table, and its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.team import Team
from asperity.midas.energy.tendon_terms import find_tendons
from asperity.midas.engine_inputs import EngineInputs
from asperity.midas.engine_layout import CANDIDATES_FULL, FACTOR_FULL, LINKS_FULL, MIDAS
from asperity.midas.engine_tables import EngineOptions, new_engine_table
from asperity.midas.engine_team import NOT_REMEMBERED, EngineTeam
from asperity.midas.geometry.round_planes import FEW
from asperity.midas.model.contradictions import contradicted_limits
from asperity.midas.model.joint_numbers import joint_links
from asperity.midas.model.links import read_links
from asperity.midas.model.pairs import (
    FlexPair,
    LinkPair,
    exclude_links,
    pair_ends,
    pair_geoms,
    pair_links,
)
from asperity.midas.model.shapes import pair_numbers, read_shapes
from asperity.midas.pose.link_kinematics import move_vertices
from asperity.midas.pose.placement import place
from asperity.midas.pose.poses import fill_qpos
from asperity.midas.remembered import put_back, remember
from asperity.midas.soft.flex_support import may_touch_flex
from asperity.midas.soft.soft_bodies import SoftBodies
from asperity.midas.time.second_order import SHORTEST_WAIT
from asperity.plant.data_reference import DataReference
from asperity.plant.model.model_view import ModelView
from asperity.plant.model.own_options import OwnOptions
from asperity.plant.model.resolved_materials import ResolvedMaterials

__all__ = ["Engine"]

Floats = NDArray[np.float64]

# Changes of joints [rad or m] that are none.
_ROUND_OFF = 1e-9


class Engine(HoldsAddresses):
    """Affine bodies in contact.

    Parameters
    ----------
    model : mujoco.MjModel
    data : mujoco.MjData
        Where controls, applied forces and the poses of mocap bodies are read.
    materials : ResolvedMaterials
        For coefficients of friction.
    options : EngineOptions
    excluded : iterable of LinkPair or FlexPair
        What may pass through each other.
    keep : bool
        Whether the engine keeps ``data`` alive, or who makes the engine does.
    team : Team, optional
        Threads that share its work.
    view : ModelView, optional
        Of the model, which remembers its shapes for the next engine.

    Raises
    ------
    ModelError
        If the model has an element that the engine does not know.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        materials: ResolvedMaterials,
        options: EngineOptions,
        *,
        excluded: Iterable[LinkPair | FlexPair] = (),
        keep: bool = True,
        team: Team | None = None,
        view: Any = None,
    ) -> None:
        self.model = model
        self.own_options = OwnOptions(model)
        self._data = DataReference(data, keep=keep)
        self.options = options
        self.adapted = False
        self.checked = False
        self.test: object = None
        # Functions for deformable bodies give the model to MuJoCo.
        view = model if model.nflex else view or ModelView(model)
        self.links = read_links(view)
        # Links that were moved since a state was checked, and the world, which never is.
        self.moved = np.zeros(len(self.links.links) + 1, np.bool_)
        self.inputs = EngineInputs(model, self.links, self.own_options, options.time_step)
        self.contradicted = contradicted_limits(model)
        self.shapes = read_shapes(
            view,
            segments=options.segments,
            subdivisions=options.subdivisions,
            hulls=options.hulls,
            mesh_tolerance=options.mesh_tolerance,
            mesh_repair=options.mesh_repair,
            kept=tuple(
                geom
                for geom in range(model.ngeom)
                if any(may_touch_flex(model, flex, geom) for flex in range(model.nflex))
            ),
        )
        self._team: EngineTeam | None = None
        numbers = pair_numbers(view, self.shapes, materials)
        self.table = new_engine_table(
            model, self.shapes, numbers, self.inputs, self.contradicted, options
        )
        self._set_candidates(1024)
        self.soft: SoftBodies | None = None
        if model.nflex:
            self.soft = SoftBodies(model, self.links, self.shapes, self.table, materials)
            if options.stiction_tolerance is not None:
                self.soft.table.pair_stiction[:] = options.stiction_tolerance
        if team is not None:
            self._team = EngineTeam(self.table, team)
        self.exclude(excluded)
        missing = [name for one in self._tables().values() for name in one.missing()]
        assert not missing, missing

    @property
    def data(self) -> mujoco.MjData:
        """Where controls, applied forces and the poses of mocap bodies are read."""
        return self._data()

    # -- construction ------------------------------------------------------------------------

    def _set_candidates(self, size: int) -> None:
        table = self.table
        # Two rims of a cylinder on a plane, at most.
        rims = 2 * int(
            np.count_nonzero((table.pairs.shape[:, 1] < 0) | (table.pairs.faces[:, 0] >= 0))
        )
        stencils = size + FEW * rims
        table.resize(
            list_room=size,
            run_room=size,
            stencil_room=stencils,
            kind_room=stencils if np.any(table.pairs.every_friction) else 0,
            # More than there are parts of anything.
            part_room=size + len(table.shapes.vertex_link) + len(table.links.kind),
        )
        table.runs.count = 0
        if self._team is not None:
            self._team.set_lists(size)

    def grow(self, code: int) -> bool:
        """Enlarge what a step found too small; False if ``code`` is about something else."""
        table = self.table
        if self.soft is not None and self.soft.grow(code):
            return True
        if code not in (CANDIDATES_FULL, LINKS_FULL, FACTOR_FULL):
            return False
        # Lists of a state that was put back were valid, but lose what they hold when they grow.
        table.boxes.listed = 0
        if code == CANDIDATES_FULL:
            self._set_candidates(2 * len(table.candidates.kind))
            table.resize(slot_room=2 * len(table.hessian.slot_link))
        elif code == LINKS_FULL:
            table.resize(slot_room=2 * len(table.hessian.slot_link))
            table.resize(entry_room=2 * len(table.hessian.entry_link))
        else:
            size = int(table.factor.size)
            if 2 * size > len(table.factor.values):
                table.resize(factor_room=3 * size)
            table.resize(panel_pairs=2 * len(table.factor.entry_tree))
        return True

    @property
    def linked(self) -> NDArray[np.int64]:
        """The two links of every pair of shapes, the smaller one first, shape (pairs, 2)."""
        world = np.full(len(self.shapes.plane_geom), len(self.links.links))
        ends = pair_ends(self.table.pairs.shape, self.shapes.link, world)
        return np.sort(np.column_stack(ends), axis=1)

    @property
    def moved_pairs(self) -> NDArray[np.bool_]:
        """Whether a link of a pair of shapes was moved since a state was checked."""
        return np.any(self.moved[self.linked], axis=1)

    # -- copies ------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """All that the engine knows, but for addresses in memory."""
        remembered = {
            name: one for name, one in self._tables().items() if name not in NOT_REMEMBERED
        }
        return {
            "tables": {name: remember(one) for name, one in remembered.items()},
            "adapted": self.adapted,
            "checked": self.checked,
            "moved": self.moved.copy(),
            "mocap_pose": self.inputs.mocap_pose.copy(),
            "jumps": (self.inputs.jumps.told, self.inputs.jumps.change),
            "soft": None if self.soft is None else self.soft.memory(),
        }

    def set_memory(self, memory: Mapping[str, Any]) -> None:
        """Put back what `memory` of an engine of the same model has returned."""
        for name, values in memory["tables"].items():
            put_back(getattr(self.table, name), values)
        if self._team is not None:
            self._team.set_lists(len(self.table.candidates.kind))
        self.adapted, self.checked = memory["adapted"], memory["checked"]
        self.moved[:] = memory["moved"]
        self.inputs.mocap_pose = np.copy(memory["mocap_pose"])
        self.inputs.jumps.told, self.inputs.jumps.change = memory["jumps"]
        if self.soft is not None:
            self.soft.set_memory(memory["soft"])

    def history(self) -> tuple[Any, ...]:
        """What reading inputs that jump changes: what they were, and whether motion has a past."""
        time, jumps = self.table.time, self.inputs.jumps
        return time.has_history, time.smooth_steps, jumps.told, jumps.change

    def set_history(self, history: tuple[Any, ...]) -> None:
        """Put back what `history` has returned."""
        time, jumps = self.table.time, self.inputs.jumps
        time.has_history, time.smooth_steps, jumps.told, jumps.change = history

    def _tables(self) -> dict[str, Table]:
        """The engine's tables by name."""
        return {name: getattr(self.table, name) for name in MIDAS.fields}

    # -- state -------------------------------------------------------------------------------

    def holds(self, qpos: Floats, qvel: Floats) -> bool:
        """Whether a state is the one that the engine is in."""
        return np.array_equal(qpos, self.table.poses.qpos) and np.array_equal(
            qvel, self.table.poses.qvel
        )

    def set_state(self, qpos: Floats, qvel: Floats) -> None:
        """Put rigid links at ``qpos`` and let them move with ``qvel``."""
        table = self.table
        mocap = self.inputs.mocap_targets(self.data)
        z, q, v, joint, rate = place(self.model, self.links, qpos, qvel, mocap)
        self._note_moves(qpos)
        before = table.joints.value.copy()
        table.poses.z[:], table.poses.q[:], table.poses.v[:] = z, q, v
        table.joints.value[: len(joint)], table.joints.rate[: len(rate)] = joint, rate
        find_tendons(table.joints)
        table.joints.limit_width[np.abs(table.joints.value - before) > _ROUND_OFF] = 0.0
        table.poses.qpos[:], table.poses.qvel[:] = qpos, qvel
        table.time.has_history = table.time.wait = table.time.smooth_steps = table.time.was_free = 0
        table.time.last_step = self.options.time_step
        table.time.patience = SHORTEST_WAIT
        table.gaps.force_start[:] = 0.0
        if self.soft is not None:
            self.soft.forget_multipliers()
        table.gaps.yields = 0
        table.joints.limit_factor[:] = table.turns.factor[:] = np.inf
        table.pairs.form[:] = 0
        self.checked = False
        table.boxes.listed = 0
        table.soft.measured = 0
        move_vertices(table.shapes, table.poses.q, table.vertices.now)

    def _note_moves(self, qpos: Floats) -> None:
        """Note links whose joints, or joints of links before them, are elsewhere at ``qpos``."""
        changed = np.flatnonzero(qpos != self.table.poses.qpos)
        if changed.size == 0:
            return
        joints = np.unique(np.searchsorted(self.model.jnt_qposadr, changed, side="right") - 1)
        of_joint = joint_links(self.links.links)
        own = {of_joint[joint] for joint in joints.tolist() if joint in of_joint}
        for i, link in enumerate(self.links.links):
            before = max(link.parent, link.holder)
            self.moved[i] |= i in own or (before >= 0 and self.moved[before])
        self.table.turns.width[np.isin(self.table.turns.link, list(own))] = 0.0

    def write_state(self, qpos: Floats) -> None:
        """Write the coordinates that the engine's state has, after it was corrected."""
        fill_qpos(self.table, qpos)
        self.table.poses.qpos[:] = qpos

    @property
    def acceleration(self) -> Floats | None:
        """Generalized acceleration of the last step, shape (nv,), or None before the first."""
        table = self.table
        if not table.time.has_history:
            return None
        return np.asarray(table.poses.qvel - table.poses.qvel_before) / table.time.last_step

    @property
    def looks_at_state(self) -> bool:
        """Whether MuJoCo must be asked for lengths and moments before every step."""
        return self.inputs.looks_at_state

    def read_inputs(self, activation: Floats | None = None) -> None:
        """Take over controls, applied forces, gravity, equalities and mocap poses.

        Parameters
        ----------
        activation : ndarray, optional
            Activations of the state, by default those of ``data``.

        Raises
        ------
        ModelError
            If an equality was switched on that is not supported.
        """
        data = self.data
        self.inputs.read(self.table, data, data.act if activation is None else activation)
        if self.soft is not None:
            self.soft.read_equalities(data)

    def pair_geoms(self, pair: int) -> tuple[int, int]:
        """Geoms of a pair of shapes."""
        return pair_geoms(self.table, self.shapes, pair)

    def pair_links(self, pair: int) -> LinkPair:
        """Links of a pair of shapes."""
        return pair_links(self.table, self.shapes, pair)

    def exclude(self, pairs: Iterable[LinkPair | FlexPair]) -> None:
        """Let links, or flexes and something else, pass through each other from now on."""
        every = set(pairs)
        flexes = {pair for pair in every if isinstance(pair, FlexPair)}
        links = [pair for pair in every if not isinstance(pair, FlexPair)]
        exclude_links(self.table, self.shapes, links)
        if self.soft is not None:
            self.soft.exclude(flexes)

    @property
    def positions(self) -> Floats:
        """Positions of all surface vertices [m], shape (n, 3)."""
        table = self.table
        out = table.vertices.trial.copy()
        move_vertices(table.shapes, table.poses.q, out)
        return out

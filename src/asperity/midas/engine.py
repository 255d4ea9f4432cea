"""The engine of one simulation: a model's links, joints and shapes in one table, and its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.compiled import HoldsAddresses, Table
from asperity.compiled.team import Team
from asperity.midas.energy.contact_schedule import SCHEDULE_KERNELS, SCHEDULE_SIZE, meeting_fields
from asperity.midas.energy.contact_terms import CONTACT_KERNELS
from asperity.midas.energy.energy_assembly import ASSEMBLY_KERNELS
from asperity.midas.energy.fluid import Fluid
from asperity.midas.energy.friction_stencils import STENCIL_KERNELS
from asperity.midas.energy.friction_terms import FRICTION_KERNELS
from asperity.midas.energy.link_terms import LINK_KERNELS
from asperity.midas.energy.tendon_terms import find_tendons
from asperity.midas.energy.tree_assembly import carry_part
from asperity.midas.engine_layout import (
    CANDIDATES_FULL,
    FACTOR_FULL,
    FREE,
    HINGE,
    LINKS_FULL,
    MIDAS,
    POINT,
    SLIDE,
)
from asperity.midas.engine_team import NOT_REMEMBERED, EngineTeam
from asperity.midas.entry_points import SOFT_ENTRY_POINTS
from asperity.midas.geometry.round_planes import FEW
from asperity.midas.lists.candidate_lists import rebuild
from asperity.midas.lists.candidate_runs import RUN_KERNELS
from asperity.midas.lists.candidates import SEARCH_KERNELS
from asperity.midas.lists.link_pair_paths import LINK_PAIR_KERNELS
from asperity.midas.lists.link_pair_times import LINK_PAIR_TIME_KERNELS
from asperity.midas.lists.shared_lists import LIST_KERNELS
from asperity.midas.lists.vertex_parts import VERTEX_KERNELS
from asperity.midas.model.contradictions import contradicted_limits, held_tendons
from asperity.midas.model.engine_support import check_equalities
from asperity.midas.model.equalities import mocap_points, read_equalities
from asperity.midas.model.evaluated_motors import EvaluatedMotors
from asperity.midas.model.joint_tables import joint_tables, motor_feed, motor_tables
from asperity.midas.model.linearized import LINEARIZED_KERNELS, LinearizedCoordinates
from asperity.midas.model.linearized_tables import (
    add_actuators,
    linearized_tables,
    motor_coordinates,
    motor_gears,
)
from asperity.midas.model.link_tables import (
    gravity_shares,
    is_linear,
    link_fields,
    shape_fields,
    state_sizes,
)
from asperity.midas.model.links import Link, read_links, variable_count
from asperity.midas.model.pairs import LinkPair, exclude_links, pair_geoms, pair_links
from asperity.midas.model.shapes import read_shapes
from asperity.midas.model.state_gains import feed_state_gains, state_gains
from asperity.midas.model.tendons import member_tables, tendon_tables
from asperity.midas.model.turns import turn_tables
from asperity.midas.newton.anticipation import ANTICIPATION_KERNELS
from asperity.midas.newton.directions import find_direction
from asperity.midas.newton.energy_newton import minimize
from asperity.midas.newton.envelope import ENVELOPE_KERNELS
from asperity.midas.newton.trial import TRIAL_KERNELS
from asperity.midas.parts import do_part
from asperity.midas.pose.link_kinematics import move_vertices
from asperity.midas.pose.placement import place
from asperity.midas.pose.poses import fill_qpos
from asperity.midas.soft.flex_support import may_touch_flex
from asperity.midas.soft.hooks import SOFT_KERNELS
from asperity.midas.soft.soft_bodies import SoftBodies
from asperity.midas.time.second_order import SHORTEST_WAIT
from asperity.midas.time.step_start import START_KERNELS
from asperity.plant.data_reference import DataReference
from asperity.plant.model.joints import is_disabled
from asperity.plant.model.own_options import OwnOptions
from asperity.plant.model.resolved_materials import MATERIAL_KERNELS, ResolvedMaterials

__all__ = ["ENGINE_KERNELS", "STATE_KERNELS", "Engine", "EngineOptions"]

ENGINE_KERNELS = (
    minimize,
    rebuild,
    find_direction,
    do_part,
    carry_part,
    *ASSEMBLY_KERNELS,
    *VERTEX_KERNELS,
    *SEARCH_KERNELS,
    *LINK_PAIR_KERNELS,
    *LINK_PAIR_TIME_KERNELS,
    *LIST_KERNELS,
    *RUN_KERNELS,
    *TRIAL_KERNELS,
    *ANTICIPATION_KERNELS,
    *CONTACT_KERNELS,
    *STENCIL_KERNELS,
    *FRICTION_KERNELS,
    *LINK_KERNELS,
    *START_KERNELS,
    *SCHEDULE_KERNELS,
    *ENVELOPE_KERNELS,
)
"""What the engine's steps need compiled."""

STATE_KERNELS = (
    move_vertices,
    find_tendons,
    fill_qpos,
    *LINEARIZED_KERNELS,
    *MATERIAL_KERNELS,
)
"""What making an engine, and giving it a state, needs compiled."""

# Poses of links, whose last row is the world's.
_POSES = (*("q", "q_before", "q_older", "q_slip", "q_target", "q_now", "q_trial", "q_straight"),)

Floats = NDArray[np.float64]

_FLAG = mujoco.mjtDisableBit


class EngineOptions(NamedTuple):
    """Options of `asperity.midas.preset.Midas`, resolved for a model."""

    activation_distance: float
    barrier_stiffness: float
    rigidity: float
    stiction_tolerance: float | None
    """Of all pairs, or None: those of contact parameters."""
    joint_stiction_tolerance: float
    tolerance: float
    max_iterations: int
    friction_solves: int
    second_order: bool
    segments: int
    subdivisions: int
    hulls: bool
    time_step: float = 0.01
    """The usual step size [s], which controllers that MuJoCo evaluates count with."""
    mesh_tolerance: float | None = None
    mesh_repair: str = "keep"


def _new_table(sizes: Mapping[str, int], *fields: Mapping[str, Mapping[str, Any]]) -> Table:
    """The engine's table, with such sizes, and fields by the tables that have them."""
    found: dict[str, dict[str, Any]] = {name: {} for name in MIDAS.fields}
    for tables in fields:
        for name, values in tables.items():
            found[name].update(values)
    return Table(
        MIDAS,
        **{
            name: Table(
                field.layout, **{size: sizes[size] for size in field.layout.sizes}, **found[name]
            )
            for name, field in MIDAS.fields.items()
            if field.layout is not None
        },
    )


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
    excluded : iterable of (int, int)
        Pairs of links that may pass through each other.
    keep : bool
        Whether the engine keeps ``data`` alive, or who makes the engine does.
    team : Team, optional
        Threads that share its work.

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
        excluded: Iterable[LinkPair] = (),
        keep: bool = True,
        team: Team | None = None,
    ) -> None:
        self.model = model
        self.own_options = OwnOptions(model)
        self._data = DataReference(data, keep=keep)
        self.options = options
        self.adapted = False
        self.checked = False
        self.test: object = None
        self.links = read_links(model)
        self.fluid = Fluid(model, self.own_options, self.links)
        self.linearized = LinearizedCoordinates(model, self.links, self.own_options)
        self.equalities = read_equalities(model, self.links, self.linearized)
        self.contradicted = contradicted_limits(model)
        self._gravity_shares = gravity_shares(model, self.links.links)
        self._mocap_bodies = [int(i) for i in np.flatnonzero(model.body_mocapid >= 0)]
        # The pose that each was told last.
        self._mocap_pose = np.full((len(self._mocap_bodies), 7), np.nan)
        self.shapes = read_shapes(
            model,
            self.links,
            materials,
            segments=options.segments,
            subdivisions=options.subdivisions,
            hulls=options.hulls,
            mesh_tolerance=options.mesh_tolerance,
            mesh_repair=options.mesh_repair,
            kept=[
                geom
                for geom in range(model.ngeom)
                if any(may_touch_flex(model, flex, geom) for flex in range(model.nflex))
            ],
        )
        links = self.links.links
        constraints = self.equalities.tables()
        self.state_gains = state_gains(model)
        coordinates = motor_coordinates(model, links, self.linearized)
        self.gears = motor_gears(model, self.linearized, coordinates)
        self.evaluated_motors = EvaluatedMotors(model, self.own_options, self.gears)
        joints = tendon_tables(
            model, links, joint_tables(model, links, self.contradicted), held_tendons(model)
        )
        joints = linearized_tables(model, self.linearized, joints)
        add_actuators(model, joints, coordinates, self.gears)
        turns = turn_tables(model, self.links)
        held = {
            "ties": constraints["ties"]["link"],
            "turns": np.array(
                [
                    (links[i].parent if links[i].parent >= 0 else len(links), i)
                    for i in turns["turns"]["link"]
                ],
                dtype=np.int64,
            ).reshape(-1, 2),
        }
        surfaces, surface_sizes = shape_fields(model, self.shapes, links, held)
        members = member_tables(
            model,
            links,
            np.asarray(constraints["couplings"]["joint"], np.int64),
            self.linearized.coupled_links(),
            turns["turns"]["link"],
        )
        self._team: EngineTeam | None = None
        self.table = _new_table(
            {
                **state_sizes(model, links, len(self.linearized.sources)),
                **surface_sizes,
                "turn_terms": len(turns["turns"]["link"]),
                "schedule_size": SCHEDULE_SIZE,
                "slot_room": 4 * len(links) + 64,
                "entry_room": 16 * len(links),
                "factor_room": 64 * sum(variable_count(link.kind) for link in links),
                **dict.fromkeys(("list_room", "run_room", "stencil_room", "part_room"), 0),
                "soft_pair_room": 1024 if model.nflex else 0,
            },
            {
                "entries": dict.fromkeys(SOFT_ENTRY_POINTS, 0)
                | {
                    kernel.name.partition(":")[2]: kernel.address
                    for kernel in (*ENGINE_KERNELS, *(SOFT_KERNELS if model.nflex else ()))
                },
                "links": link_fields(model, links, self.shapes, options.rigidity),
                "joints": {**joints, **self.linearized.tables()},
                "motors": {
                    **motor_tables(model, coordinates, self.gears),
                    **self.evaluated_motors.tables(),
                },
                "schedule": meeting_fields(len(links)),
                "forces": {"drag": np.zeros((0, 12, 12)), "drag_rate": np.zeros((0, 4, 3))},
                "parts": dict.fromkeys(("members", "searchers"), np.zeros(1, np.int64)),
            },
            constraints,
            turns,
            surfaces,
            members,
        )
        for name in _POSES:
            getattr(self.table.poses, name)[-1, 1:] = np.eye(3)
        for name in ("path_begin", "path_end"):
            getattr(self.table.boxes, name)[-1, 1:] = np.eye(3)
        self._set_candidates(1024)
        self._set_numbers()
        self.soft: SoftBodies | None = None
        if model.nflex:
            self.soft = SoftBodies(model, self.links, self.shapes, self.table, materials)
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

    def _set_numbers(self) -> None:
        table, options = self.table, self.options
        table.counts.clearance = np.inf
        table.options.activation = options.activation_distance
        table.pairs.activation = np.full(len(table.pairs.shape), options.activation_distance)
        table.options.barrier_stiffness = options.barrier_stiffness
        if options.stiction_tolerance is not None:
            table.pairs.stiction[:] = options.stiction_tolerance
        table.options.joint_stiction = options.joint_stiction_tolerance
        table.options.tolerance = options.tolerance
        table.options.linear = int(is_linear(self.links.links))
        table.options.max_iterations = options.max_iterations
        table.options.max_lags = options.friction_solves
        # Deformable bodies take implicit Euler, and so does what they may touch.
        table.options.second_order = int(options.second_order and self.model.nflex == 0)

    def _set_candidates(self, size: int) -> None:
        table = self.table
        # Two rims of a cylinder on a plane, at most.
        rims = 2 * int(
            np.count_nonzero((table.pairs.shape[:, 1] < 0) | (table.pairs.faces[:, 0] >= 0))
        )
        table.resize(
            list_room=size,
            run_room=size,
            stencil_room=size + FEW * rims,
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
        if code == CANDIDATES_FULL:
            self._set_candidates(2 * len(table.candidates.kind))
            table.resize(slot_room=2 * len(table.hessian.slot_link))
        elif code == LINKS_FULL:
            table.resize(slot_room=2 * len(table.hessian.slot_link))
            table.resize(entry_room=2 * len(table.hessian.entry_link))
        elif code == FACTOR_FULL:
            table.resize(
                factor_room=max(2 * len(table.factor.values), int(table.factor.row_start[-1]))
            )
        else:
            return False
        return True

    # -- copies ------------------------------------------------------------------------------

    def memory(self) -> dict[str, Any]:
        """All that the engine knows, but for addresses in memory."""
        remembered = {
            name: one for name, one in self._tables().items() if name not in NOT_REMEMBERED
        }
        return {
            "sizes": {name: dict(one.sizes) for name, one in remembered.items()},
            "tables": {
                name: {
                    field: np.copy(value) if isinstance(value, np.ndarray) else value
                    for field in one.layout.fields
                    for value in (getattr(one, field),)
                }
                for name, one in remembered.items()
            },
            "adapted": self.adapted,
            "checked": self.checked,
            "mocap_pose": self._mocap_pose.copy(),
            "soft": None if self.soft is None else self.soft.memory(),
        }

    def set_memory(self, memory: Mapping[str, Any]) -> None:
        """Put back what `memory` of an engine of the same model has returned."""
        for name, values in memory["tables"].items():
            one = getattr(self.table, name)
            one.resize(**memory["sizes"][name])
            for field, value in values.items():
                setattr(one, field, np.copy(value) if isinstance(value, np.ndarray) else value)
        if self._team is not None:
            self._team.set_lists(len(self.table.candidates.kind))
        self.adapted, self.checked = memory["adapted"], memory["checked"]
        self._mocap_pose = np.copy(memory["mocap_pose"])
        if self.soft is not None:
            self.soft.set_memory(memory["soft"])

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
        mocap = [self._mocap_target(body) for body in self._mocap_bodies]
        z, q, v, joint, rate = place(self.model, self.links, qpos, qvel, mocap)
        table.poses.z[:], table.poses.q[:], table.poses.v[:] = z, q, v
        table.joints.value[: len(joint)], table.joints.rate[: len(rate)] = joint, rate
        find_tendons(table.joints)
        table.poses.qpos[:], table.poses.qvel[:] = qpos, qvel
        table.time.has_history = table.time.wait = table.time.smooth_steps = table.time.was_free = 0
        table.time.last_step = self.options.time_step
        table.time.patience = SHORTEST_WAIT
        table.ties.force_start[:] = 0.0
        table.couplings.force_start[:] = 0.0
        table.joints.limit_factor[:] = table.turns.factor[:] = np.inf
        table.pairs.form[:] = 0
        self.checked = False
        table.boxes.listed = 0
        table.soft.measured = 0
        move_vertices(table.shapes, table.poses.q, table.vertices.now)

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
        return self.linearized.any or bool(self.state_gains) or self.evaluated_motors.any

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
        check_equalities(self.model, self.data.eq_active)
        self._read_equalities()
        self._read_mocap()
        off = is_disabled(self.model, _FLAG.mjDSBL_GRAVITY)
        gravity = np.zeros(3) if off else self.model.opt.gravity
        self.table.links.gravity[:] = np.outer(self._gravity_shares, gravity)
        motor_feed(self.model, self.data, self.gears, self.table)
        if self.looks_at_state:
            state = self.linearized.evaluate(self.table.poses.qpos, self.table.poses.qvel)
            self.linearized.refresh(self.table, state)
            known = self.data.act if activation is None else activation
            feed_state_gains(self.model, self.state_gains, state, known, self.gears, self.table)
            self.evaluated_motors.feed(
                self.table, state, np.array(self.data.ctrl), known, self.options.time_step
            )
        self._read_applied_forces()

    def _read_equalities(self) -> None:
        """Switch constraints on and off; one that is off forgets its force."""
        off = is_disabled(self.model, _FLAG.mjDSBL_EQUALITY | _FLAG.mjDSBL_CONSTRAINT)
        active = self.data.eq_active.astype(bool) & (not off)
        table, found = self.table, self.equalities
        for own, source in (
            (table.ties, found.tie_source),
            (table.couplings, found.coupling_source),
        ):
            on = np.array([number < 0 or active[number] for number in source], dtype=bool)
            own.active[:] = on
            own.force_start[~on] = 0.0

    def _mocap_target(self, body: int) -> tuple[Floats, Floats]:
        """Position [m] and quaternion that a mocap body shall have."""
        number = int(self.model.body_mocapid[body])
        quaternion = np.array(self.data.mocap_quat[number])
        norm = float(np.linalg.norm(quaternion))
        quaternion = quaternion / norm if norm > 0.0 else np.array([1.0, 0.0, 0.0, 0.0])
        return np.array(self.data.mocap_pos[number]), quaternion

    def _read_mocap(self) -> None:
        """Tell mocap bodies where to be at the end of the next step."""
        source = np.array(self.equalities.tie_source)
        for i, body in enumerate(self._mocap_bodies):
            position, quaternion = self._mocap_target(body)
            pose = np.concatenate([position, quaternion])
            if np.array_equal(pose, self._mocap_pose[i]):
                continue
            self._mocap_pose[i] = pose
            ties = source == -1 - int(self.model.body_mocapid[body])
            points = mocap_points(self.links, body, position, quaternion)
            self.table.ties.side[ties, 1, 1:] = points

    def _read_applied_forces(self) -> None:
        model, data, table = self.model, self.data, self.table
        table.forces.wrench[:] = 0.0
        table.joints.applied[:] = 0.0
        for body in np.flatnonzero(np.any(data.xfrc_applied != 0.0, axis=1)):
            link = int(self.links.body_link[body])
            if link >= 0 and not self.links.links[link].is_mocap:
                offset = self.links.body_offset[body] - self.links.links[link].centre
                offset = offset + self.links.body_turn[body] @ model.body_ipos[body]
                arm = offset @ table.poses.q[link, 1:]
                push, torque = data.xfrc_applied[body, :3], data.xfrc_applied[body, 3:]
                table.forces.wrench[link, :3] += push
                table.forces.wrench[link, 3:] += torque + np.cross(arm, push)
        force = np.array(data.qfrc_applied)
        if self.fluid.is_there:
            qpos, qvel = self._state_ahead()
            fluid, table.forces.drag, table.forces.drag_rate = self.fluid.at(qpos, qvel)
            force += fluid
        elif len(table.forces.drag) > 0:
            table.forces.drag = np.zeros((0, 12, 12))
        if not np.any(force):
            return
        scalar = 0
        for i, link_ in enumerate(self.links.links):
            if link_.is_mocap:
                continue
            dof = int(model.jnt_dofadr[link_.joint])
            if link_.kind in (HINGE, SLIDE):
                table.joints.applied[scalar] = force[dof]
                scalar += 1
            else:
                self._apply_to_link(i, link_, force[dof:])

    def _state_ahead(self) -> tuple[Floats, Floats]:
        """Where the next step ends, if accelerations stay what they are, or the state at hand.

        Past an impact there are none to go by.
        """
        table = self.table
        h = table.time.last_step
        if not (
            table.time.has_history and table.time.smooth_steps and table.time.wait == 0 and h > 0.0
        ):
            return table.poses.qpos, table.poses.qvel
        qpos = np.array(table.poses.qpos)
        mujoco.mj_integratePos(self.model, qpos, table.poses.qvel, h)
        return qpos, 2.0 * table.poses.qvel - table.poses.qvel_before

    def _apply_to_link(self, index: int, link: Link, force: Floats) -> None:
        """Applied force of a free or ball joint: in world axes at its origin, torque in its own."""
        table = self.table
        if link.kind == POINT:
            table.forces.wrench[index, :3] += link.turn @ force[:3]
            return
        if link.kind == FREE:
            arm = -link.centre @ table.poses.q[index, 1:]
            table.forces.wrench[index, :3] += force[:3]
            table.forces.wrench[index, 3:] += (
                np.cross(arm, force[:3]) + force[3:6] @ table.poses.q[index, 1:]
            )
            return
        torque = force[:3] @ table.poses.q[index, 1:]
        table.forces.wrench[index, 3:] += torque
        if link.parent >= 0:
            table.forces.wrench[link.parent, 3:] -= torque

    def pair_geoms(self, pair: int) -> tuple[int, int]:
        """Geoms of a pair of shapes."""
        return pair_geoms(self.table, self.shapes, pair)

    def pair_links(self, pair: int) -> LinkPair:
        """Links of a pair of shapes."""
        return pair_links(self.table, self.shapes, pair)

    def exclude(self, pairs: Iterable[LinkPair]) -> None:
        """Let links pass through each other from now on."""
        exclude_links(self.table, self.shapes, pairs)

    @property
    def positions(self) -> Floats:
        """Positions of all surface vertices [m], shape (n, 3)."""
        table = self.table
        out = table.vertices.trial.copy()
        move_vertices(table.shapes, table.poses.q, out)
        return out

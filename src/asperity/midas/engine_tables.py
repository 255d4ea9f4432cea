"""The engine's table of a model, and what must be compiled to use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.convex.graph_layout import PANELS
from asperity.midas.energy.contact_schedule import SCHEDULE_KERNELS, SCHEDULE_SIZE, meeting_fields
from asperity.midas.energy.contact_terms import CONTACT_KERNELS
from asperity.midas.energy.energy_assembly import ASSEMBLY_KERNELS
from asperity.midas.energy.expected_forces import EXPECTED_FORCE_KERNELS
from asperity.midas.energy.friction_stencils import STENCIL_KERNELS
from asperity.midas.energy.friction_terms import FRICTION_KERNELS
from asperity.midas.energy.link_terms import LINK_KERNELS
from asperity.midas.energy.potentials import barrier_force
from asperity.midas.energy.tendon_terms import find_tendons
from asperity.midas.energy.tree_assembly import carry_part
from asperity.midas.engine_inputs import EngineInputs
from asperity.midas.engine_layout import (
    MIDAS,
)
from asperity.midas.entry_points import ENTRY_POINTS
from asperity.midas.factor.cholesky import CHOLESKY_KERNELS
from asperity.midas.factor.outer_products import SYMMETRIC
from asperity.midas.lists.candidate_lists import rebuild
from asperity.midas.lists.candidate_runs import RUN_KERNELS
from asperity.midas.lists.candidates import SEARCH_KERNELS
from asperity.midas.lists.link_pair_paths import LINK_PAIR_KERNELS
from asperity.midas.lists.link_pair_times import LINK_PAIR_TIME_KERNELS
from asperity.midas.lists.shared_lists import LIST_KERNELS
from asperity.midas.lists.vertex_parts import VERTEX_KERNELS
from asperity.midas.model.contradictions import held_tendons
from asperity.midas.model.coordinates import add_actuators, coordinate_tables
from asperity.midas.model.linearized import LINEARIZED_KERNELS
from asperity.midas.model.link_tables import (
    is_linear,
    link_fields,
    shape_fields,
    state_sizes,
)
from asperity.midas.model.links import variable_count
from asperity.midas.model.motor_tables import motor_tables
from asperity.midas.model.shapes import Shapes
from asperity.midas.model.tendons import member_tables
from asperity.midas.model.turns import turn_tables
from asperity.midas.newton.anticipation import ANTICIPATION_KERNELS
from asperity.midas.newton.directions import find_direction
from asperity.midas.newton.energy_newton import minimize
from asperity.midas.newton.trial import TRIAL_KERNELS
from asperity.midas.parts import do_part
from asperity.midas.pose.link_kinematics import move_vertices
from asperity.midas.pose.poses import fill_qpos
from asperity.midas.soft.hooks import SOFT_KERNELS
from asperity.midas.time.step_start import START_KERNELS
from asperity.plant.model.plastic import plastic_size
from asperity.plant.model.resolved_materials import MATERIAL_KERNELS

__all__ = ["ENGINE_KERNELS", "STATE_KERNELS", "EngineOptions", "new_engine_table"]

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
    *EXPECTED_FORCE_KERNELS,
    *CONTACT_KERNELS,
    *STENCIL_KERNELS,
    *FRICTION_KERNELS,
    *LINK_KERNELS,
    *START_KERNELS,
    *SCHEDULE_KERNELS,
    *CHOLESKY_KERNELS,
)
"""What the engine's steps need compiled."""

STATE_KERNELS = (
    move_vertices,
    find_tendons,
    fill_qpos,
    *LINEARIZED_KERNELS,
    barrier_force,
    *MATERIAL_KERNELS,
)
"""What making an engine, and giving it a state, needs compiled."""

# Poses of links, whose last row is the world's.
_POSES = ("q", "q_before", "q_older", "q_slip", "q_target", "q_now", "q_trial", "q_straight")


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


def _empty_table(sizes: Mapping[str, int], *fields: Mapping[str, Mapping[str, Any]]) -> Table:
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


def new_engine_table(
    model: mujoco.MjModel,
    shapes: Shapes,
    pair_numbers: dict[str, np.ndarray],
    inputs: EngineInputs,
    contradicted: list[int],
    options: EngineOptions,
) -> Table:
    """Bring a model's links, joints and shapes into one table, without a state and candidates."""
    links = inputs.links.links
    constraints = inputs.equalities.tables()
    joints = coordinate_tables(model, links, inputs.linearized, contradicted, held_tendons(model))
    add_actuators(model, joints, inputs.coordinates, inputs.gears)
    turns = turn_tables(model, inputs.links)
    surfaces, surface_sizes = shape_fields(
        model, shapes, links, constraints["ties"]["link"], pair_numbers
    )
    members = member_tables(
        model,
        links,
        np.asarray(constraints["couplings"]["joint"], np.int64),
        inputs.linearized.coupled_links(),
    )
    sizes = np.array([variable_count(link.kind) for link in links], np.int64)
    panels = {"bonded_trees": len(links), "panel_pairs": 16 * len(links)}
    table = _empty_table(
        {
            **state_sizes(model, links, len(inputs.linearized.sources)),
            **surface_sizes,
            "turn_terms": len(turns["link"]),
            "schedule_size": SCHEDULE_SIZE,
            "slot_room": 4 * len(links) + 64,
            "entry_room": 16 * len(links),
            "factor_room": 64 * int(sizes.sum()),
            "panel_pairs": panels["panel_pairs"],
            "sum_rows": 9 if np.any(surfaces["pairs"]["every_friction"]) else SYMMETRIC,
            **dict.fromkeys(("list_room", "run_room", "stencil_room", "kind_room", "part_room"), 0),
            "soft_pair_room": 1024 if model.nflex else 0,
            "plastic_numbers": plastic_size(model),
        },
        {
            "entries": dict.fromkeys(ENTRY_POINTS, 0)
            | {
                kernel.name.partition(":")[2]: kernel.address
                for kernel in (*ENGINE_KERNELS, *(SOFT_KERNELS if model.nflex else ()))
            },
            "links": link_fields(model, links, shapes, options.rigidity),
            "factor": {
                "ntree": len(links),
                "tree_start": np.cumsum(sizes) - sizes,
                "tree_size": sizes,
                "variable_link": np.repeat(np.arange(len(links)), sizes),
                "panels": Table(PANELS, **panels),
            },
            "turns": turns,
            "joints": joints,
            "motors": motor_tables(model, inputs.coordinates, inputs.gears),
            "schedule": meeting_fields(len(links)),
            "forces": {"drag": np.zeros((0, 12, 12)), "drag_rate": np.zeros((0, 4, 3))},
            "parts": dict.fromkeys(("members", "searchers"), np.zeros(1, np.int64)),
        },
        constraints,
        surfaces,
        members,
    )
    for name in _POSES:
        getattr(table.poses, name)[-1, 1:] = np.eye(3)
    for name in ("path_begin", "path_end"):
        getattr(table.boxes, name)[-1, 1:] = np.eye(3)
    inputs.evaluated_motors.limit_windup(table.motors.state_limit)
    table.counts.clearance = np.inf
    table.options.activation = options.activation_distance
    table.pairs.activation = np.full(len(table.pairs.shape), options.activation_distance)
    table.pairs.widest = table.pairs.activation.copy()
    table.pairs.given = np.full(len(table.pairs.shape), np.inf)
    table.options.barrier_stiffness = options.barrier_stiffness
    if options.stiction_tolerance is not None:
        table.pairs.stiction[:] = options.stiction_tolerance
    table.options.joint_stiction = options.joint_stiction_tolerance
    table.options.tolerance = options.tolerance
    table.options.linear = int(is_linear(links))
    table.options.max_iterations = options.max_iterations
    table.options.max_lags = options.friction_solves
    table.options.second_order = int(options.second_order)
    return table

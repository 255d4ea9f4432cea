"""Engines of small models, and their potential as a function of the variables."""

from __future__ import annotations

import ctypes

import mujoco
import numpy as np
from reduced_hessian import full_hessian

from asperity.midas.energy.energy_assembly import assemble as assemble_kernel
from asperity.midas.energy.expected_forces import expect_present
from asperity.midas.engine import Engine
from asperity.midas.engine_tables import EngineOptions
from asperity.midas.lists.candidate_runs import measure_candidates
from asperity.midas.newton.directions import find_direction
from asperity.midas.newton.incremental_potential import incremental_potential
from asperity.midas.pose.joint_coordinates import joint_coordinates
from asperity.midas.pose.link_kinematics import move_vertices, place_links
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.resolved_materials import resolve_materials

_call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

OPTIONS = EngineOptions(
    activation_distance=1e-3,
    barrier_stiffness=1e7,
    rigidity=1e8,
    stiction_tolerance=1e-3,
    joint_stiction_tolerance=1e-3,
    tolerance=1e-6,
    max_iterations=200,
    friction_solves=3,
    second_order=False,
    segments=16,
    subdivisions=1,
    hulls=False,
)


def engine_of(xml: str, **options) -> Engine:
    """An engine at the model's initial state."""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    materials = resolve_materials(model, ContactParameters())
    engine = Engine(model, data, materials, OPTIONS._replace(**options))
    engine.set_state(data.qpos, data.qvel)
    engine.read_inputs()
    return engine


def move_to(engine: Engine, z: np.ndarray) -> None:
    """Put the iterate at given variables, with its candidates measured."""
    table = engine.table
    table.poses.z_now[:] = z
    place_links(table.links, table.poses.z_now, table.poses.q_now)
    move_vertices(table.shapes, table.poses.q_now, table.vertices.now)
    joint_coordinates(
        table, table.poses.q_now, table.poses.z_now, table.joints.value, table.joints.now
    )
    measure_candidates(table)
    expect_present(table)


def potential(engine: Engine, z: np.ndarray) -> float:
    """Incremental potential at given variables [J s²]."""
    move_to(engine, z)
    return incremental_potential(engine.table, 0)


def hessian(engine: Engine) -> np.ndarray:
    """The assembled Hessian as a full matrix over the variables."""
    return full_hessian(engine.table.factor)


def assemble(engine: Engine, *, curved: bool = False) -> None:
    """Fill gradient and Hessian at the iterate."""
    engine.table.newton.curved = int(curved)
    while code := _call(assemble_kernel.address)(engine.table.address, 0):
        assert engine.grow(code)


def newton_direction(engine: Engine) -> np.ndarray:
    """Solve for the direction; the Hessian is lost."""
    assert _call(find_direction.address)(engine.table.address, 0) == 0
    return engine.table.newton.direction.copy()

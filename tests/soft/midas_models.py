"""Cloth, and engines of Midas, that the tests share."""

from __future__ import annotations

import ctypes

import mujoco
from reduced_hessian import full_hessian
from soft_models import Array

from asperity.midas.energy.energy_assembly import assemble
from asperity.midas.engine import Engine
from asperity.midas.engine_tables import EngineOptions
from asperity.midas.newton.incremental_potential import incremental_potential
from asperity.midas.pose.joint_coordinates import joint_coordinates
from asperity.midas.pose.link_kinematics import place_links
from asperity.midas.soft.calls import ARRANGE, BEGIN, EXPECT_PRESENT
from asperity.midas.soft.hooks import do_soft
from asperity.plant.model.contact_parameters import ContactParameters
from asperity.plant.model.resolved_materials import resolve_materials

__all__ = ["begin", "cloth", "engine_of", "gradient", "hessian", "potential"]

_call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

_OPTIONS = EngineOptions(
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


def cloth(
    size: float = 0.2,
    *,
    count: int = 8,
    young: float = 3e4,
    thickness: float = 1e-3,
    damping: float = 1e-3,
    height: float = 0.5,
    euler: str = "0 0 0",
    mass: float = 0.02,
    friction: float = 0.5,
    radius: float = 1e-3,
    kind: str = "both",
    pins: str = "",
    name: str = "cloth",
) -> str:
    """A square of count² vertices, whose centre is at some height."""
    spacing = size / (count - 1)
    return (
        f"<flexcomp name='{name}' type='grid' dim='2' count='{count} {count} 1' mass='{mass}'"
        f" spacing='{spacing} {spacing} {spacing}' pos='0 0 {height}' euler='{euler}'"
        f" radius='{radius}'>{pins}<elasticity young='{young}' poisson='0.3'"
        f" thickness='{thickness}' damping='{damping}' elastic2d='{kind}'/>"
        f"<contact friction='{friction}'/></flexcomp>"
    )


def engine_of(model: mujoco.MjModel) -> Engine:
    """An engine at the model's initial state."""
    data = mujoco.MjData(model)
    engine = Engine(model, data, resolve_materials(model, ContactParameters()), _OPTIONS)
    engine.set_state(data.qpos, data.qvel)
    assert engine.soft is not None
    engine.soft.check(adapt=True)
    engine.read_inputs()
    return engine


def _move_to(engine: Engine, z: Array) -> None:
    table = engine.table
    table.poses.z_now[:] = z
    place_links(table.links, table.poses.z_now, table.poses.q_now)
    joints = table.joints
    joint_coordinates(table, table.poses.q_now, table.poses.z_now, joints.value, joints.now)
    table.soft.measured = 0
    assert _call(do_soft.address)(table.address, EXPECT_PRESENT) == 0


def begin(engine: Engine) -> None:
    """Let a step of deformable bodies begin at the engine's state."""
    _move_to(engine, engine.table.poses.z)
    while code := _call(do_soft.address)(engine.table.address, BEGIN):
        assert engine.grow(code)


def potential(engine: Engine, z: Array) -> float:
    """Incremental potential at given variables [J s²]."""
    _move_to(engine, z)
    return float(incremental_potential(engine.table, 0))


def gradient(engine: Engine, z: Array) -> Array:
    """Its gradient; the Hessian is in the factor."""
    _move_to(engine, z)
    while _call(do_soft.address)(engine.table.address, ARRANGE):
        assert engine.grow(engine.table.soft.code)
        engine.table.soft.code = 0
    while code := _call(assemble.address)(engine.table.address, 0):
        assert engine.grow(code)
    return engine.table.newton.gradient.copy()


def hessian(engine: Engine, z: Array) -> Array:
    """The Hessian that directions are found with."""
    gradient(engine, z)
    return full_hessian(engine.table.factor)

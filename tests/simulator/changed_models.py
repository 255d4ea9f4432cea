"""Models with most of what a user can change in MuJoCo's `MjModel`, and changes of it."""

from __future__ import annotations

from collections.abc import Callable

import mujoco

__all__ = ["ARTICULATED", "CHANGES", "FREE", "OPTIONS", "SIMPLE"]

# Gravity, contact, and what a free joint can have.
FREE = """
<mujoco><option timestep="0.002"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body name="box" pos="0 0 .099"><freejoint name="free"/>
    <geom name="box" type="box" size=".1 .1 .1" mass="1"/></body>
  <body name="ball" pos="1 0 .5"><freejoint/><geom name="ball" size=".1" mass="2"/></body>
</worldbody></mujoco>"""

ARTICULATED = """
<mujoco><option timestep="0.002" density="1.2" viscosity="0.01" wind="1 0 0"/>
<asset>
  <mesh name="wedge" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/>
  <hfield name="ground" nrow="3" ncol="3" size="1 1 .2 .1" elevation="0 .1 0 .1 1 .1 0 .1 0"/>
</asset>
<worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction=".4"/>
  <geom name="ground" type="hfield" hfield="ground" pos="4 0 0"/>
  <body name="box" pos="0 0 .099" gravcomp=".1"><freejoint name="free"/>
    <geom name="box" type="box" size=".1 .1 .1" mass="1" fluidshape="ellipsoid" euler="0 0 20"
      friction=".9" surfacevel=".1 0 0"/></body>
  <body name="rock" pos="4 0 .29"><freejoint/><geom name="rock" size=".1" mass="1"/></body>
  <body name="wedge" pos="0 2 .05"><freejoint/><geom name="wedge" type="mesh" mesh="wedge"/></body>
  <body name="arm" pos="1 0 .5">
    <joint name="shoulder" axis="0 1 0" range="-17 17" limited="true" damping=".5" stiffness="3"
      frictionloss=".2" armature=".01" actuatorfrclimited="true" actuatorfrcrange="-4 4"/>
    <geom name="upper" type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass=".5"/>
    <site name="hook" pos=".1 0 .05" euler="10 0 0"/>
    <body name="hand" pos=".3 0 0">
      <joint name="wrist" type="ball" damping=".1" range="0 20" limited="true"/>
      <geom name="hand" type="capsule" size=".03" fromto="0 0 0 .2 0 0" mass=".3"/>
      <site name="tip" pos=".2 0 0"/></body></body>
  <body name="cart" pos="2 0 .5"><joint name="slide" type="slide" axis="1 0 0" damping="1"/>
    <geom name="cart" type="box" size=".1 .1 .1" mass="1" contype="0" conaffinity="0"/>
    <site name="eye" pos="0 0 .1"/></body>
  <body name="cart too" pos="3 0 .5"><joint name="slide too" type="slide" axis="1 0 0"
      frictionloss=".3"/>
    <geom name="cart too" type="box" size=".1 .1 .1" mass="1" contype="0" conaffinity="0"/></body>
  <body name="touched" pos="-1 0 .098"><freejoint/><geom name="touched" size=".1" mass="1"
    contype="0" conaffinity="0"/></body>
</worldbody>
<contact><pair geom1="floor" geom2="touched" friction=".5 .5"/></contact>
<tendon>
  <spatial name="rope" range="0 .9" limited="true" stiffness="20" damping="1" frictionloss=".1"
    springlength="0.5"><site site="hook"/><site site="eye"/></spatial>
  <fixed name="gear" range="-1 1"><joint joint="slide" coef="1"/></fixed>
</tendon>
<equality><joint name="coupled" joint1="slide" joint2="slide too" polycoef="0 1 0 0 0"/></equality>
<actuator>
  <position name="servo" joint="shoulder" kp="50" kv="2" forcerange="-5 5" ctrlrange="-1 1"/>
  <motor name="motor" joint="slide" gear="2" forcerange="-1 1" damping=".1" armature=".01"/>
  <intvelocity name="integrated" joint="slide too" kp="5" actrange="-1 1"/>
  <general name="slow" tendon="gear" gainprm="3" dyntype="filterexact" dynprm=".01"/>
  <general name="pusher" site="tip" refsite="hook" gear="0 0 1 0 0 0" gainprm="1"
    ctrlrange="-1 1"/>
</actuator></mujoco>"""

# What Midas supports of it.
SIMPLE = """
<mujoco><option timestep="0.002"/><worldbody>
  <geom name="floor" type="plane" size="5 5 .1"/>
  <body name="box" pos="0 0 .1009" gravcomp=".1"><freejoint name="free"/>
    <geom name="box" type="box" size=".1 .1 .1" mass="1"/></body>
  <body name="arm" pos="1 0 .5">
    <joint name="shoulder" axis="0 1 0" range="-17 17" limited="true" damping=".5" stiffness="3"
      frictionloss=".2" armature=".01"/>
    <geom name="upper" type="capsule" size=".03" fromto="0 0 0 .3 0 0" mass=".5"/></body>
  <body name="cart" pos="2 0 .5"><joint name="slide" type="slide" axis="1 0 0" damping="1"/>
    <geom name="cart" type="box" size=".1 .1 .1" mass="1"/></body>
  <body name="cart too" pos="3 0 .5"><joint name="slide too" type="slide" axis="1 0 0"/>
    <geom name="cart too" type="box" size=".1 .1 .1" mass="1"/></body>
</worldbody>
<equality><joint name="coupled" joint1="slide" joint2="slide too" polycoef="0 1 0 0 0"/></equality>
<actuator>
  <position name="servo" joint="shoulder" kp="50" kv="2" forcerange="-5 5" ctrlrange="-1 1"/>
  <motor name="motor" joint="slide" gear="2" forcerange="-1 1"/>
</actuator></mujoco>"""

_Change = Callable[[mujoco.MjModel], None]


def _all(field: str, value: object) -> _Change:
    def change(model: mujoco.MjModel) -> None:
        getattr(model, field)[:] = value

    return change


def _scaled(field: str, factor: float, plus: float = 0.0) -> _Change:
    def change(model: mujoco.MjModel) -> None:
        array = getattr(model, field)
        array[:] = factor * array + plus

    return change


def _free_joint(field: str, value: float) -> _Change:
    def change(model: mujoco.MjModel) -> None:
        getattr(model, field)[: 6 if field.startswith("dof") else 1] = value

    return change


CHANGES: dict[str, _Change] = {
    # by name of the field, and a word if there are several
    **{
        f"{field}": _scaled(field, 1.1, 0.01)
        for field in (
            "body_mass", "body_inertia", "body_pos", "body_ipos", "body_gravcomp",
            "jnt_pos", "jnt_stiffness", "qpos_spring", "dof_damping", "dof_armature",
            "geom_pos", "geom_margin", "geom_gap", "geom_fluid", "site_pos",
            "tendon_stiffness", "tendon_damping", "tendon_frictionloss", "tendon_lengthspring",
            "tendon_margin", "eq_data", "actuator_gainprm", "actuator_biasprm",
            "actuator_gear", "hfield_size", "wrap_prm", "jnt_stiffnesspoly", "dof_dampingpoly",
            "actuator_damping", "actuator_armature", "tendon_stiffnesspoly", "tendon_dampingpoly",
        )
    },
    # Of the rope, which is between trees, MuJoCo's inertia has no place for it.
    "tendon_armature": lambda model: model.tendon_armature.__setitem__(1, 0.1),
    "geom_size": _scaled("geom_size", 0.9),
    "geom_friction": _scaled("geom_friction", 0.3),
    "pair_friction": _scaled("pair_friction", 0.3),
    "pair_margin": _scaled("pair_margin", 1.0, 0.01),
    "dof_frictionloss": _scaled("dof_frictionloss", 3.0),
    "jnt_range": _scaled("jnt_range", 0.3),
    "jnt_margin": _scaled("jnt_margin", 1.0, 0.2),
    "jnt_actfrcrange": _scaled("jnt_actfrcrange", 0.1),
    "tendon_range": _scaled("tendon_range", 0.9),
    "actuator_forcerange": _scaled("actuator_forcerange", 0.2),
    "actuator_ctrlrange": _scaled("actuator_ctrlrange", 0.1),
    "actuator_actrange": _scaled("actuator_actrange", 0.1),
    "actuator_dynprm": _scaled("actuator_dynprm", 3.0),
    "hfield_data": _scaled("hfield_data", 0.5),
    "jnt_axis": _all("jnt_axis", [0.0, 0.6, 0.8]),
    "body_quat": _all("body_quat", [0.96, 0.28, 0, 0]),
    "body_iquat": _all("body_iquat", [0.96, 0.28, 0, 0]),
    "geom_quat": _all("geom_quat", [0.99498743710662, 0.1, 0, 0]),
    "site_quat": _all("site_quat", [0.96, 0.28, 0, 0]),
    "geom_surfacevel": _all("geom_surfacevel", 0.1),
    "geom_contype": _all("geom_contype", 0),
    "geom_conaffinity": _all("geom_conaffinity", 2),
    "geom_condim": _all("geom_condim", 1),
    "pair_dim": _all("pair_dim", 1),
    "geom_priority": lambda model: model.geom_priority.__setitem__(0, 1),
    "jnt_limited": _all("jnt_limited", 0),
    "jnt_actfrclimited": _all("jnt_actfrclimited", 0),
    "jnt_actgravcomp": _all("jnt_actgravcomp", 1),
    "tendon_limited": _all("tendon_limited", 0),
    "actuator_forcelimited": _all("actuator_forcelimited", 0),
    "actuator_ctrllimited": _all("actuator_ctrllimited", 0),
    "actuator_actlimited": _all("actuator_actlimited", 0),
    "actuator_group": lambda model: (
        model.actuator_group.fill(2),
        setattr(model.opt, "disableactuator", 4),
    ),
    "actuator_biastype": _all("actuator_biastype", int(mujoco.mjtBias.mjBIAS_NONE)),
    "dof_damping, free joint": _free_joint("dof_damping", 3.0),
    "dof_dampingpoly, free joint": _free_joint("dof_dampingpoly", 3.0),
    "dof_frictionloss, free joint": _free_joint("dof_frictionloss", 2.0),
    "jnt_stiffness, free joint": _free_joint("jnt_stiffness", 30.0),
    "dof_armature, free joint": _free_joint("dof_armature", 0.3),
    "body_mass, one": lambda model: model.body_mass.__setitem__(1, 3.0),
    "geom_type": lambda model: model.geom_type.__setitem__(
        model.geom("box").id, int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)
    ),
}  # fmt: skip
"""Changes of arrays that the motion depends on."""


def _option(field: str, value: object) -> _Change:
    def change(model: mujoco.MjModel) -> None:
        if isinstance(value, tuple):
            getattr(model.opt, field)[:] = value
        else:
            setattr(model.opt, field, value)

    return change


def _disabled(flag: str) -> _Change:
    def change(model: mujoco.MjModel) -> None:
        model.opt.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))

    return change


OPTIONS: dict[str, _Change] = {
    "gravity": _option("gravity", (1.0, 2.0, -3.0)),
    "wind": _option("wind", (3.0, 20.0, 0.0)),
    "density": _option("density", 500.0),
    "viscosity": _option("viscosity", 3.0),
    "disableactuator": _option("disableactuator", 1),
    "o_margin, override": lambda model: (
        setattr(model.opt, "o_margin", 0.05),
        setattr(model.opt, "enableflags", int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)),
    ),
    **{
        f"disableflags, {flag.lower()}": _disabled(flag)
        for flag in (
            "GRAVITY", "CONTACT", "CONSTRAINT", "EQUALITY", "LIMIT", "FRICTIONLOSS", "SPRING",
            "DAMPER", "ACTUATION", "CLAMPCTRL", "FILTERPARENT",
        )
    },
}  # fmt: skip
"""Changes of options that the motion depends on."""

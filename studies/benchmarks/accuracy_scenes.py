"""Small scenes, each with one number that a user would want from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import mujoco
import numpy as np
from scipy.interpolate import CubicHermiteSpline

from studies.benchmarks.scene import GRAVITY, build_mjcf, cenic_clutter
from studies.benchmarks.trotting_robot import GAITS, SAMPLES, robot, trot

__all__ = ["SCENES", "Drive", "Outcome", "Scene"]

Drive = Callable[[float], np.ndarray]
"""Controls as a function of time [s]."""


@dataclass
class Outcome:
    """Where a run ended and what it cost."""

    model: mujoco.MjModel
    time: np.ndarray
    qpos: np.ndarray
    qvel: np.ndarray
    steps: int = 0
    rejections: int = 0
    iterations: int = 0
    status: str = "ok"


@dataclass(frozen=True)
class Scene:
    """A model, what drives it, and the number that is looked at.

    Attributes
    ----------
    what
        The number in words, with its unit.
    measure
        The number of an outcome.
    exact
        Its true value, if it is known; otherwise that of a run at a tight accuracy is taken.
    chaotic
        The number only tells whether the result is sane.
    course
        The number at given times. Where it goes to and fro, and may end right by chance, the error
        that counts is the root mean square of these.
    variants
        Scenes that are as good as this one, itself among them, of which every run takes another.
    """

    name: str
    what: str
    xml: str
    duration: float
    measure: Callable[[Outcome], float]
    drive: Drive | None = None
    switches: tuple[float, ...] = ()
    qvel: Callable[[mujoco.MjModel], np.ndarray] | None = None
    max_step: float = 0.1
    exact: float | None = None
    chaotic: bool = False
    unit: float = 1e3  # of a table, per SI unit
    unit_name: str = "mm"
    course: Callable[[Outcome], np.ndarray] | None = None
    variants: tuple[Scene, ...] = ()


def _custom(**values: float) -> str:
    text = " ".join(f"{k}={v:g}" for k, v in values.items())
    return f'<custom><text name="asperity" data="{text}"/></custom>'


def _address(outcome: Outcome, joint: str) -> int:
    return int(outcome.model.joint(joint).qposadr[0])


def _between(
    first: str, second: str, axis: int = 2, since: float = 0.0
) -> Callable[[Outcome], float]:
    """How far a free body has moved along an axis relative to a slide joint since a time."""

    def measure(outcome: Outcome) -> float:
        q = (
            outcome.qpos[:, _address(outcome, first) + axis]
            - outcome.qpos[:, _address(outcome, second)]
        )
        return float(q[-1] - q[np.searchsorted(outcome.time, since - 1e-9)])

    return measure


def _slip(first: str, second: str, times: np.ndarray) -> Callable[[Outcome], np.ndarray]:
    """How far a free body has moved along z relative to a slide joint, at certain times.

    Hermite's interpolation gives the values between steps.
    """

    def course(outcome: Outcome) -> np.ndarray:
        model = outcome.model
        one, two = model.joint(first), model.joint(second)
        slip = outcome.qpos[:, one.qposadr[0] + 2] - outcome.qpos[:, two.qposadr[0]]
        speed = outcome.qvel[:, one.dofadr[0] + 2] - outcome.qvel[:, two.dofadr[0]]
        curve = CubicHermiteSpline(outcome.time, slip, speed)
        return curve(np.minimum(times, outcome.time[-1])) - slip[0]

    return course


# -- the mug in the shaken gripper ------------------------------------------------------------

AMPLITUDE, PERIOD = 0.15, 0.5
OMEGA = 2 * np.pi / PERIOD
GRIPPER_MASS, MUG_MASS = 1.088882, 0.1
GRIP = 10.0
RING = [(0.014 * np.sin(a), 0.014 * np.cos(a)) for a in np.arange(8) * np.pi / 4]


def _pads(x: float) -> str:
    return "".join(
        f'<geom class="pad" pos="{x:.17g} {y:.17g} {z:.17g}" size="0.006"/>' for y, z in RING
    )


_DEPTH = GRIP / 2 / 1e4

MUG = f"""
<mujoco><option gravity="0 0 0"/>{_custom(stiffness=1e4, dissipation=1, stiction_tolerance=1e-4)}
<default><geom friction="0.1"/><default class="pad"><geom type="sphere" mass="0"
 contype="1" conaffinity="0"/></default></default>
<worldbody>
 <body name="gripper"><inertial pos="0 0 0" mass="1.038882" diaginertia="1e-3 1e-3 1e-3"/>
  <joint name="lift" type="slide" axis="0 0 1"/>
  {_pads(-(0.046 - _DEPTH))}
  <body name="finger"><inertial pos="0 0 0" mass="0.05" diaginertia="1e-5 1e-5 1e-5"/>
   <joint name="close" type="slide" axis="1 0 0"/>{_pads(0.046 - _DEPTH)}</body></body>
 <body name="mug"><freejoint name="mug"/>
  <geom type="cylinder" size="0.04 0.05" mass="{MUG_MASS}" contype="0" conaffinity="1"/></body>
</worldbody>
<actuator><motor joint="lift"/><motor joint="close"/></actuator></mujoco>
"""


# The same shaking by a spring: no drive at all, so that nothing but accuracy limits the step.
SPRUNG_MUG = MUG.replace(
    '<joint name="lift" type="slide" axis="0 0 1"/>',
    f'<joint name="lift" type="slide" axis="0 0 1" '
    f'stiffness="{(GRIPPER_MASS + MUG_MASS) * OMEGA**2:.17g}"/>',
)


def _shake(time: float) -> np.ndarray:
    force = GRIPPER_MASS * OMEGA**2 * AMPLITUDE * np.sin(OMEGA * time)
    return np.array([force, -GRIP])


HOLD_PERIOD = 0.05
HOLD_TIMES = tuple(np.arange(1, 100) * HOLD_PERIOD)


def _hold(drive: Drive) -> Drive:
    """The drive as a controller gives it: held over periods, with its value at their middle.

    Asperity itself knows no other: a control is constant between two calls of the controller. A
    drive that is evaluated anew at every half step makes the two solutions of step doubling differ
    in velocity by its own change, which a weight of velocity then reacts to.
    """
    return lambda time: drive((np.floor(time / HOLD_PERIOD + 1e-6) + 0.5) * HOLD_PERIOD)


def _downwards(model: mujoco.MjModel) -> np.ndarray:
    qvel = np.zeros(model.nv)
    qvel[model.joint("lift").dofadr[0]] = -AMPLITUDE * OMEGA
    qvel[model.joint("mug").dofadr[0] + 2] = -AMPLITUDE * OMEGA
    return qvel


# -- others -----------------------------------------------------------------------------------

HOLD = f"""
<mujoco>{_custom(stiffness=1e5, dissipation=10)}
<worldbody><geom name="table" type="box" size="0.5 0.5 0.02"/>
 <body name="gripper" pos="0 0 0.3"><joint name="fall" type="slide" axis="0 0 1"/>
  <geom type="box" size="0.02 0.02 0.1" density="1000"/>
  <geom name="left" type="box" size="0.005 0.04 0.005" pos="-0.010 0.025 0.09" density="1000"/>
  <geom name="right" type="box" size="0.005 0.04 0.005" pos="0.010 0.025 0.09" density="1000"/>
 </body>
 <body name="peg" pos="0 0.05 0.36" euler="10 0 0"><freejoint name="peg"/>
  <geom name="peg" type="box" size="0.00501 0.005 0.04" density="1000"/></body>
</worldbody></mujoco>
"""

LIFT = f"""
<mujoco>{_custom(stiffness=1e5, dissipation=10)}
<default><geom friction="0.5"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
 <body name="hand" pos="0 0 0.02"><joint name="lift" type="slide" axis="0 0 1" damping="1"/>
  <geom type="box" size="0.03 0.02 0.02" pos="0 0 0.1" mass="1" contype="0" conaffinity="0"/>
  <body pos="-0.032 0 0"><joint name="left" type="slide" axis="1 0 0" damping="1"/>
   <geom type="box" size="0.005 0.01 0.015" mass="0.1"/></body>
  <body pos="0.032 0 0"><joint name="right" type="slide" axis="-1 0 0" damping="1"/>
   <geom type="box" size="0.005 0.01 0.015" mass="0.1"/></body></body>
 <body name="box" pos="0 0 0.02"><freejoint name="box"/>
  <geom type="box" size="0.02 0.02 0.02" mass="0.2"/></body>
</worldbody>
<actuator>
 <position joint="lift" kp="2000" kv="100" forcerange="-40 40"/>
 <position joint="left" kp="1000" kv="20" forcerange="-10 10"/>
 <position joint="right" kp="1000" kv="20" forcerange="-10 10"/>
</actuator></mujoco>
"""
SWITCHES = (0.2, 0.6, 1.4, 2.2)


def _commands(time: float) -> np.ndarray:
    close = 0.02 if time >= SWITCHES[0] else 0.0
    height = 0.0
    if SWITCHES[1] <= time < SWITCHES[2]:
        height = 0.2
    elif SWITCHES[2] <= time < SWITCHES[3]:
        height = 0.1
    elif time >= SWITCHES[3]:
        height = 0.25
    return np.array([height, close, close])


SHARE = 0.9
_ANGLE = np.arctan(SHARE * 0.5)
INCLINE = f"""
<mujoco><option gravity="{GRAVITY * np.sin(_ANGLE)} 0 {-GRAVITY * np.cos(_ANGLE)}"/>
{_custom(stiffness=1e5, dissipation=10, stiction_tolerance=1e-4)}
<default><geom friction="0.5"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
 <body pos="0 0 {0.05 - GRAVITY * np.cos(_ANGLE) / 4e5}"><freejoint name="block"/>
  <geom type="box" size="0.1 0.1 0.05" mass="1"/></body></worldbody></mujoco>
"""

CONVEYOR = f"""
<mujoco>{
    _custom(
        stiffness=1e6,
        dissipation=50,
        friction=1.0,
        dynamic_friction=0.5,
        stiction_tolerance=1e-4,
    )
}
<worldbody><geom type="plane" size="1 1 1"/>
 <body pos="0 0 {0.05 - GRAVITY / 4e6}"><joint name="block" type="slide" axis="1 0 0"/>
  <joint type="slide" axis="0 0 1"/>
  <geom type="box" size="0.1 0.1 0.05" mass="1"/></body></worldbody>
<actuator><motor joint="block"/></actuator></mujoco>
"""


def _belt(time: float) -> np.ndarray:
    return np.array([10.0 * np.sin(np.pi * time)])


# Of m v' = f(t) − μ(|v|) m g v/√(v² + v_s²) with the held force; scipy's Radau, rtol 1e-10.
CONVEYOR_TRAVEL = 0.77302519

BOUNCE = f"""
<mujoco>{_custom(stiffness=500, dissipation=0)}
<worldbody><geom type="plane" size="1 1 1" pos="0 0 {-0.05 + 0.1 * GRAVITY / 500}"/>
 <body pos="0 0 1"><freejoint name="ball"/><geom type="sphere" size="0.05" mass="0.1"/></body>
</worldbody></mujoco>
"""

ROLL = f"""
<mujoco>{_custom(stiffness=1e5, dissipation=10)}<default><geom friction="0.3"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
 <body pos="0 0 {0.1 - GRAVITY / 1e5}"><freejoint name="ball"/>
  <geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>
"""


def _slide(model: mujoco.MjModel) -> np.ndarray:
    qvel = np.zeros(model.nv)
    qvel[0] = 1.0
    return qvel


def _distance(outcome: Outcome) -> float:
    return float(outcome.qpos[-1, 0] - outcome.qpos[0, 0])


def _travel(outcome: Outcome) -> float:
    """How far the position wanders."""
    return float(np.ptp(outcome.qpos[:, 0]))


def _apex_energy(outcome: Outcome) -> float:
    """Share of the energy that is lost, from the last second."""
    late = outcome.time > outcome.time[-1] - 1.5
    speed = outcome.qvel[late, 2]
    height = outcome.qpos[late, 2]
    depth = np.maximum(0.1 * GRAVITY / 500 - height, 0.0)
    energy = 0.5 * 0.1 * speed**2 + 0.1 * GRAVITY * height + 0.5 * 500 * depth**2
    return float(1 - energy[-1] / (0.1 * GRAVITY))


def _mean_height(outcome: Outcome) -> float:
    return float(outcome.qpos[-1].reshape(-1, 7)[:, 2].mean())


def _clutter(kind: str) -> Scene:
    return Scene(
        f"clutter-{kind}",
        "mean height of the bodies",
        build_mjcf(cenic_clutter(kind)),  # type: ignore[arg-type]
        5.0,
        _mean_height,
        chaotic=True,
    )


_WALKS = tuple(
    Scene(
        "walk",
        "distance walked",
        robot(gait),
        3.0,
        _distance,
        partial(trot, gait=gait),
        SAMPLES,
    )
    for gait in GAITS
)
_WALKS = (replace(_WALKS[0], variants=_WALKS), *_WALKS[1:])

SCENES = {
    scene.name: scene
    for scene in (
        Scene(
            "mug",
            "slip of the shaken mug, over time",
            MUG,
            5.0,
            _between("mug", "lift"),
            _hold(_shake),
            HOLD_TIMES,
            qvel=_downwards,
            course=_slip("mug", "lift", HOLD_PERIOD * np.arange(1, 101)),
        ),
        Scene(
            "mug on a spring",
            "slip of the mug, over time",
            SPRUNG_MUG,
            # Half as long as the other: after 3 s the mug sways out of its symmetric grip, from
            # what round-off has left, at another time with every accuracy.
            2.5,
            _between("mug", "lift"),
            lambda time: np.array([0.0, -GRIP]),
            qvel=_downwards,
            course=_slip("mug", "lift", HOLD_PERIOD * np.arange(1, 51)),
        ),
        Scene(
            "mug, sampled drive",
            "slip of the mug",
            MUG,
            5.0,
            _between("mug", "lift"),
            _shake,
            qvel=_downwards,
        ),
        Scene("peg", "slip of the peg in the falling gripper", HOLD, 2.0, _between("peg", "fall")),
        Scene(
            "lift",
            "slip of the lifted box",
            LIFT,
            3.0,
            _between("box", "lift", since=SWITCHES[1]),
            _commands,
            SWITCHES,
        ),
        Scene(
            "incline",
            "creep of the block",
            INCLINE,
            2.0,
            _distance,
            exact=2.0 * 1e-4 * SHARE / np.sqrt(1 - SHARE**2),
        ),
        Scene(
            "conveyor",
            "travel of the block",
            CONVEYOR,
            4.0,
            _travel,
            _hold(_belt),
            HOLD_TIMES,
            exact=CONVEYOR_TRAVEL,
        ),
        Scene(
            "bounce", "energy lost", BOUNCE, 10.0, _apex_energy, exact=0.0, unit=100, unit_name="%"
        ),
        Scene("roll", "travel of the ball", ROLL, 2.0, _distance, qvel=_slide),
        _WALKS[0],
        _clutter("hard"),
        _clutter("soft"),
    )
}

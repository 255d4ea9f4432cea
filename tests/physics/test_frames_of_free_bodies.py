"""Where the joint's frame of a free body is makes no difference to its motion.

MuJoCo's coordinates of a free body are those of this frame, whose origin need not be the centre of
mass. A step that moved the origin along its own velocity would let the body gain momentum.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.integrators.integrator import Integrator

# A hammer, which is one body or two, with its joint's frame somewhere and turned somehow.
_HAMMER = """<mujoco><option gravity="0 0 -{gravity}"/><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <body name="hammer" pos="0 0 0"><freejoint/>
    <body name="parts" pos="{origin}" quat="{turn}">
      <geom type="box" size=".02 .02 .12" mass=".3"/>
      <geom type="box" pos="0 0 .14" size=".06 .03 .02" mass=".7"/></body></body>
  {other}</worldbody></mujoco>"""
_ORIGINS = ("0 0 0", "0 0 -.11", ".2 -.1 .3")
_TURN = (0.8, 0.0, 0.6, 0.0)
# With a joint elsewhere MuJoCo is asked for the forces of all.
_OTHERS = ("", '<body pos="3 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>')
_FIXED: tuple[Integrator, ...] = (
    asp.Icf(time_step=0.01),
    asp.Sap(time_step=0.01),
    asp.Sap(time_step=0.01, theta_scheme="midpoint"),
    asp.Tamsi(time_step=0.01),
    asp.Midas(time_step=0.01),
)


def _name(integrator: Integrator) -> str:
    return f"{type(integrator).__name__} {getattr(integrator, 'theta_scheme', '')}".strip()


def _thrown(
    integrator: Integrator, origin: str, turn: tuple[float, ...], other: str, gravity: float
) -> asp.Simulator:
    """A hammer whose parts begin at the same place with the same motion."""
    text = " ".join(map(str, turn))
    model = mujoco.MjModel.from_xml_string(
        _HAMMER.format(gravity=gravity, origin=origin, turn=text, other=other)
    )
    simulator = asp.Simulator(model, integrator=integrator)
    data = simulator.data
    back = np.array(turn) * [1.0, -1.0, -1.0, -1.0]
    arm = np.zeros(3)
    mujoco.mju_rotVecQuat(arm, -np.array(origin.split(), float), back)
    spin, speed = np.array([3.0, 8.0, 5.0]), np.array([0.5, 0.2, 0.1])
    # The parts are upright, above the ground.
    data.qpos[:3] = np.array([0.0, 0.0, 0.3]) + arm
    data.qpos[3:7] = back
    data.qvel[:3] = speed + np.cross(spin, arm)
    turned = np.zeros(3)
    mujoco.mju_rotVecQuat(turned, spin, np.array(turn))
    data.qvel[3:6] = turned
    return simulator


def _motion(simulator: asp.Simulator) -> np.ndarray:
    """Place and orientation of the parts, momentum and angular momentum."""
    model, data = simulator.model, simulator.data
    mujoco.mj_forward(model, data)
    mujoco.mj_subtreeVel(model, data)
    part, hammer = model.body("parts").id, model.body("hammer").id
    velocity = data.subtree_linvel[hammer], data.subtree_angmom[hammer]
    return np.concatenate([data.xpos[part], data.xmat[part], *velocity])


@pytest.mark.parametrize("other", _OTHERS, ids=("alone", "beside a joint"))
@pytest.mark.parametrize("integrator", _FIXED, ids=_name)
def test_a_free_flight_keeps_its_momentum(integrator: Integrator, other: str) -> None:
    """In steps in which the hammer turns by six degrees."""
    simulator = _thrown(integrator, ".2 -.1 .3", _TURN, other, 0.0)
    before = _motion(simulator)
    simulator.advance_to(0.4)
    after = _motion(simulator)
    np.testing.assert_allclose(after[12:15], before[12:15], rtol=1e-11)
    centres = simulator.data.subtree_com[simulator.model.body("hammer").id]
    start = _thrown(integrator, ".2 -.1 .3", _TURN, other, 0.0)
    mujoco.mj_forward(start.model, start.data)
    way = centres - start.data.subtree_com[start.model.body("hammer").id]
    np.testing.assert_allclose(way, 0.4 * before[12:15], rtol=1e-11)


@pytest.mark.parametrize("other", _OTHERS, ids=("alone", "beside a joint"))
@pytest.mark.parametrize("integrator", _FIXED[:4], ids=_name)
def test_a_fall_is_the_same_for_every_frame(integrator: Integrator, other: str) -> None:
    """It hits the ground with its head and turns over."""
    ends = []
    for origin in _ORIGINS:
        simulator = _thrown(integrator, origin, _TURN, other, 9.81)
        simulator.advance_to(0.5)
        ends.append(_motion(simulator))
    # It no longer falls freely.
    assert ends[0][14] > 0.1 - 0.4 * 9.81
    for end in ends[1:]:
        # Within what solvers leave undone.
        np.testing.assert_allclose(end, ends[0], atol=1e-4)


@pytest.mark.parametrize("other", _OTHERS, ids=("alone", "beside a joint"))
@pytest.mark.parametrize("integrator", _FIXED[:4], ids=_name)
def test_tumbling_keeps_its_energy(integrator: Integrator, other: str) -> None:
    """Gyroscopic forces are those of the middle of a step beside a robot, too."""
    simulator = _thrown(integrator, ".2 -.1 .3", _TURN, other, 0.0)
    model, data = simulator.model, simulator.data
    energies = []
    for time in (2.0, 4.0):
        mujoco.mj_forward(model, data)
        mujoco.mj_energyVel(model, data)
        energies.append(float(data.energy[1]))
        simulator.advance_to(time)
    np.testing.assert_allclose(energies[1], energies[0], rtol=1e-4)

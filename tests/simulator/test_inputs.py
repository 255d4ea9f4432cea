"""Controls and forces that change between calls, without anything else being evaluated again."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

import asperity as asp

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="2 2 1"/>
    <body name="trunk" pos="0 0 0.32">
      <freejoint/>
      <geom type="box" size=".12 .08 .05" mass="2"/>
      <body pos=".1 .1 0">
        <joint name="hip" axis="0 1 0" range="-60 60" damping=".1"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.15" mass=".3"/>
        <body pos="0 0 -.15">
          <joint name="knee" axis="0 1 0" frictionloss=".05" stiffness="1"/>
          <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.15" mass=".2"/>
        </body>
      </body>
      <body pos="-.1 -.1 0">
        <joint name="other" axis="0 1 0" armature=".01"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass=".4"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both" limited="true" range="-1 1">
      <joint joint="hip" coef="1"/><joint joint="knee" coef="-.5"/>
    </fixed>
  </tendon>
  <actuator>
    <motor joint="hip" gear="3"/>
    <position joint="knee" kp="20" kv="1"/>
    <general joint="other" dyntype="filter" dynprm=".05" gainprm="2"/>
    <motor tendon="both" gear="2"/>
  </actuator>
</mujoco>
"""

Between = Callable[[asp.Simulator], None]


def _evaluate_again(sim: asp.Simulator) -> None:
    sim.session.world.current.table.valid = 0


def _look_elsewhere(sim: asp.Simulator) -> None:
    """Use the data for other positions, as for inverse kinematics, and put the positions back."""
    qpos, qvel = sim.data.qpos.copy(), sim.data.qvel.copy()
    sim.data.qpos[7:] += 0.4
    sim.data.qvel[:] -= 0.3
    mujoco.mj_forward(sim.model, sim.data)
    sim.data.qpos[:], sim.data.qvel[:] = qpos, qvel


def _run(integrator: asp.Integrator, between: Between | None, forces: bool) -> np.ndarray:
    sim = asp.Simulator(MODEL, integrator=integrator)
    rng = np.random.default_rng(5)
    out = []
    for _ in range(60):
        if between is not None:
            between(sim)
        sim.data.ctrl[:] = rng.uniform(-1.0, 1.0, sim.model.nu)
        if forces:
            sim.data.qfrc_applied[:] = rng.uniform(-0.1, 0.1, sim.model.nv)
            sim.data.xfrc_applied[2] = rng.uniform(-0.1, 0.1, 6)
        assert sim.advance_to(sim.time + 0.004).success
        out.append(np.concatenate([sim.data.qpos, sim.data.qvel, sim.data.act, sim.data.qacc]))
    return np.array(out)


@pytest.mark.parametrize("forces", [False, True])
@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=2e-3), asp.Cenic(accuracy=1e-3)], ids=["fixed", "controlled"]
)
def test_the_motion_is_that_of_states_evaluated_again(
    integrator: asp.Integrator, forces: bool
) -> None:
    assert np.array_equal(_run(integrator, None, forces), _run(integrator, _evaluate_again, forces))


def test_functions_called_for_other_positions_change_nothing() -> None:
    integrator = asp.Icf(time_step=2e-3)
    assert np.array_equal(_run(integrator, None, False), _run(integrator, _look_elsewhere, False))


def test_controls_alone_cost_no_evaluation() -> None:
    sim = asp.Simulator(MODEL, integrator=asp.Icf(time_step=2e-3))
    sim.step()
    before = sim.stats.evaluations
    for k in range(10):
        sim.data.ctrl[:] = 0.1 * k + 0.1
        sim.step()
    assert sim.stats.evaluations == before + 10


def test_a_control_that_is_no_number_is_refused_and_nothing_changes() -> None:
    sim = asp.Simulator(MODEL, integrator=asp.Icf(time_step=2e-3))
    sim.step()
    before = sim.data.qpos.copy()
    sim.data.ctrl[1] = np.nan
    with pytest.raises(asp.ArgumentError, match=r"ctrl\[1\]"):
        sim.step()
    with pytest.raises(asp.ArgumentError, match=r"ctrl\[1\]"):
        sim.step()
    assert np.array_equal(sim.data.qpos, before)
    sim.data.ctrl[1] = 0.0
    assert sim.step().success

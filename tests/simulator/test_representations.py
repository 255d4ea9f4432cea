"""What interpreters print of simulators, batches and trajectories."""

from __future__ import annotations

import asperity as asp

_PENDULUM = """<mujoco model="pendulum"><worldbody><body><joint name="j"/>
  <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3"/></body>
  <geom type="plane" size="1 1 1" pos="0 0 -1"/></worldbody>
  <actuator><motor joint="j"/></actuator></mujoco>"""
_NUMBERS = "'pendulum' (nq=1, nv=1, nu=1)"


def test_one_line_names_the_model_the_method_and_the_time() -> None:
    sim = asp.Simulator(_PENDULUM, integrator=asp.Icf(time_step=0.01))
    sim.advance_to(0.25)
    assert repr(sim) == f"<Simulator of {_NUMBERS}, Icf, at 0.25 s>"
    batch = asp.Batch(_PENDULUM, 3, integrator=asp.Sap())
    assert repr(batch) == f"<Batch of 3 worlds of {_NUMBERS}, Sap>"


def test_a_trajectory_is_not_its_numbers() -> None:
    trajectory = asp.simulate(_PENDULUM, (0.0, 0.05), integrator=asp.Icf(time_step=0.01))
    said = f"<Trajectory of 6 states of {_NUMBERS} from 0 to 0.05 s, SUCCESS>"
    assert repr(trajectory) == said

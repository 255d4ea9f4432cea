"""Simulators in two threads that share a model do not notice each other."""

from __future__ import annotations

import threading

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.integrators import Integrator

# Contact and sliding, a joint limit, and an equality, which engines may be tempted to switch off
# in the model while they do what it is for.
SCENE = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.101"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    <body pos="0.6 0 0.5">
      <joint name="a" axis="0 1 0" damping="0.1" range="-30 30" limited="true"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.3"/>
    </body>
    <body pos="1.6 0 0.5">
      <joint name="b" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.03" fromto="0 0 0 0 0 0.3"/>
    </body>
  </worldbody>
  <equality><joint joint1="a" joint2="b"/></equality>
</mujoco>
"""

INTEGRATORS = {
    "Cenic": asp.Cenic(),
    "Cenic, trapezoid": asp.Cenic(scheme="trapezoid"),
    "Icf": asp.Icf(time_step=2e-3),
    "Icf, similar": asp.Icf(time_step=2e-3, friction="similar"),
    **{
        f"Sap, {scheme}": asp.Sap(time_step=2e-3, scheme=scheme)
        for scheme in ("symplectic-euler", "implicit-euler", "explicit-euler", "midpoint")
    },
    "Sap, controlled": asp.Sap(accuracy=1e-3, scheme="midpoint"),
    "Tamsi": asp.Tamsi(time_step=1e-3),
    "Tamsi, controlled": asp.Tamsi(accuracy=1e-3),
    "ImplicitEuler": asp.ImplicitEuler(time_step=1e-3),
    "RungeKutta3": asp.RungeKutta3(),
    "Sdirk2": asp.Sdirk2(time_step=1e-3),
    "Rosenbrock2": asp.Rosenbrock2(time_step=1e-3),
    "Midas": asp.Midas(time_step=5e-3),
}

SPEEDS = (0.3, -0.7)


def options(model: mujoco.MjModel) -> tuple[float, ...]:
    """What every thread reads of the model while it works."""
    option = model.opt
    return option.disableflags, option.enableflags, option.o_margin, option.timestep


def run(model: mujoco.MjModel, integrator: Integrator, speed: float) -> list[bytes]:
    """States at several times, to the bit."""
    data = mujoco.MjData(model)
    data.qvel[0], data.qvel[6:] = speed, 3.0 * speed
    sim = asp.Simulator(model, integrator=integrator, data=data)
    states = []
    for time in np.linspace(0.02, 0.2, 10):
        report = sim.advance_to(float(time))
        assert report.success, report.message
        states.append(sim.data.qpos.tobytes() + sim.data.qvel.tobytes() + sim.data.qacc.tobytes())
    return states


@pytest.mark.parametrize("integrator", INTEGRATORS.values(), ids=INTEGRATORS)
def test_two_threads_with_one_model_get_the_bits_of_a_sequence(integrator: Integrator) -> None:
    model = mujoco.MjModel.from_xml_string(SCENE)
    expected = [run(model, integrator, speed) for speed in SPEEDS]
    assert expected[0] != expected[1]
    for _ in range(3):
        found: list[list[bytes]] = [[], []]
        start = threading.Barrier(2)

        def work(which: int, found: list[list[bytes]] = found, start=start) -> None:
            start.wait()
            found[which] = run(model, integrator, SPEEDS[which])

        threads = [threading.Thread(target=work, args=(which,)) for which in (0, 1)]
        seen = {options(model)}
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            seen.add(options(model))
            threads[0].join(1e-4)
            threads[1].join(1e-4)
        assert found == expected
        # A change that is taken back spoils what the other thread computes, if seldom.
        assert len(seen) == 1


def test_every_public_integrator_is_among_them() -> None:
    public = {
        kind
        for kind in (getattr(asp, name) for name in asp.__all__)
        if isinstance(kind, type) and issubclass(kind, Integrator)
    }
    assert public == {type(integrator) for integrator in INTEGRATORS.values()}

"""Simulators in two threads that share a model do not notice each other."""

from __future__ import annotations

import threading

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS, SCENE

import asperity as asp
from asperity.integrators import Integrator

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
        if isinstance(kind, type) and issubclass(kind, Integrator) and kind is not Integrator
    }
    assert public == {type(integrator) for integrator in INTEGRATORS.values()}

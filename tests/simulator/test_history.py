"""The history of a run: what every attempted step was, and that looking changes nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import asperity as asp

DROP = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body pos="0 0 0.3" euler="10 20 0">
      <freejoint/><geom name="box" type="box" size="0.05 0.05 0.05" mass="1"/>
    </body>
  </worldbody>
</mujoco>
"""
SPRING = """
<mujoco>
  <worldbody>
    <body>
      <joint name="slide" type="slide" axis="1 0 0" stiffness="100"/><geom size="0.1" mass="2"/>
    </body>
  </worldbody>
</mujoco>
"""
INTEGRATORS = [
    asp.Icf(time_step=2e-3),
    asp.Cenic(),
    asp.Sap(accuracy=1e-3),
    asp.Tamsi(time_step=2e-3),
    asp.Midas(time_step=5e-3),
    asp.RungeKutta3(accuracy=1e-3),
]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=repr)
def test_rows_are_the_attempts_and_change_no_bit(integrator: asp.Integrator) -> None:
    sim, silent = (
        asp.Simulator(DROP, integrator=integrator, history=history) for history in (True, False)
    )
    for time in (0.1, 0.23, 0.4):
        sim.advance_to(time)
        silent.advance_to(time)
    np.testing.assert_array_equal(sim.data.qpos, silent.data.qpos)
    history, stats = sim.history, sim.stats
    assert history.accepted.sum() == stats.steps == silent.stats.steps
    assert (~history.accepted).sum() == stats.rejections == silent.stats.rejections
    assert history.iterations.sum() == stats.iterations
    assert set(history.reason[history.accepted]) == {""}
    assert "" not in set(history.reason[~history.accepted])
    # Steps follow one another, and a refused one is tried again from where it began.
    ends = np.where(history.accepted, history.time + history.step, history.time)
    np.testing.assert_allclose(history.time[1:], ends[:-1], atol=1e-12)
    assert ends[-1] == pytest.approx(0.4)


def test_errors_are_within_the_accuracy_where_steps_were_accepted() -> None:
    sim = asp.Simulator(DROP, integrator=asp.Cenic(accuracy=1e-4), history=True)
    sim.advance_to(0.4)
    history = sim.history
    assert np.all(history.error[history.accepted] <= 1e-4)
    assert np.all(history.error[history.reason == "error"] > 1e-4)
    assert (history.reason == "error").any()


def test_contacts_of_midas_are_those_that_it_delivers() -> None:
    sim = asp.Simulator(DROP, integrator=asp.Midas(time_step=5e-3), history=True)
    counts = []
    for _ in range(80):
        sim.step()
        counts.append(len(sim.contacts))
    np.testing.assert_array_equal(sim.history.contacts, counts)
    assert max(counts) >= 1


def test_energy_is_that_of_an_oscillator() -> None:
    run = asp.simulate(
        SPRING, (0.0, 1.0), qpos=[0.1], integrator=asp.RungeKutta3(accuracy=1e-9), history=True
    )
    assert run.history is not None
    np.testing.assert_allclose(run.history.energy, 0.5 * 100 * 0.1**2, rtol=1e-6)


def test_energy_and_contacts_are_those_of_the_state_in_which_a_step_begins() -> None:
    sim = asp.Simulator(DROP, integrator=asp.Icf(time_step=2e-3), history=True)
    energies, contacts = [], []
    for _ in range(150):
        energies.append(sum(sim.energy()))
        sim.step()
        contacts.append(len(sim.contacts))
    np.testing.assert_allclose(sim.history.energy, energies, rtol=1e-9)
    np.testing.assert_array_equal(sim.history.contacts, contacts)


def test_memory_is_bounded() -> None:
    sim = asp.Simulator(SPRING, integrator=asp.Icf(time_step=1e-3), history=100)
    sim.advance_to(1.0)
    history = sim.history
    assert 50 <= history.rows <= 100
    assert history.time[-1] + history.step[-1] == pytest.approx(1.0)
    assert len(sim.session.history._rows) <= 1024  # type: ignore[union-attr]


def test_history_is_forgotten_by_a_reset_and_absent_unless_asked_for() -> None:
    sim = asp.Simulator(SPRING, integrator=asp.Icf(time_step=1e-3), history=True)
    sim.advance_to(0.01)
    assert sim.history.rows == 10
    assert copy.deepcopy(sim).history.rows == 0
    sim.reset()
    assert sim.history.rows == 0
    with pytest.raises(asp.ArgumentError, match="history=True"):
        _ = asp.Simulator(SPRING).history
    with pytest.raises(asp.ArgumentError, match="history must be a positive whole number"):
        asp.Simulator(SPRING, history=-3)


def test_history_is_a_table_and_a_figure() -> None:
    pytest.importorskip("matplotlib")
    sim = asp.Simulator(DROP, integrator=asp.Cenic(), history=True)
    sim.advance_to(0.3)
    assert dict(sim.history)["step"].shape == (sim.history.rows,)
    labels = [axis.get_ylabel() for axis in sim.history.plot().axes]
    assert labels == ["step [s]", "estimated error", "Newton iterations", "contacts", "energy [J]"]

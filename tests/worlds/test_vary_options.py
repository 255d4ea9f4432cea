"""Options that differ from world to world: each world does what a simulator with its options does."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from every_integrator import INTEGRATORS
from test_batch import scene, starts
from test_vary import assert_as_simulators

import asperity as asp
from asperity.integrators import Integrator

OPTIONS = {
    "opt.gravity": [0.5, 0.0, -4.0],
    "opt.wind": [2.0, -1.0, 0.3],
    "opt.magnetic": [0.1, 0.2, 0.3],
    "opt.density": 200.0,
    "opt.viscosity": 0.5,
    "opt.o_margin": 0.01,
    "opt.o_friction": [0.2, 0.2, 0.1, 0.1, 0.1],
    "opt.ccd_tolerance": 1e-3,
}


def model_for(names: list[str]) -> mujoco.MjModel:
    """The scene with what the options need to make a difference."""
    model = scene()
    if any("o_" in name for name in names):
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    if "opt.wind" in names:
        model.opt.density = 100.0
    return model


def vary(batch: asp.Batch, names: list[str]) -> None:
    """The options of the first world stay, the last has those above, others are between them."""
    share = np.linspace(0.0, 1.0, len(batch))
    for name in names:
        values, last = batch.vary(name), np.array(OPTIONS[name])
        first = values[0].copy()
        for w in range(1, len(batch)):
            values[w] = first + share[w] * (last - first)


@pytest.mark.parametrize("name", OPTIONS)
def test_one_option(name: str) -> None:
    model = model_for([name])
    velocities = np.tile(starts(model, 1)[0], (3, 1))
    batch = asp.Batch(model, 3, integrator=asp.Icf(time_step=2e-3), threads=2)
    vary(batch, [name])
    assert_as_simulators(batch, velocities, 15)
    for w in (1, 2):
        assert np.array_equal(
            getattr(batch.world_model(w).opt, name.removeprefix("opt.")), batch.vary(name)[w]
        )
    # Its own struct is all that a world has of its options: the shared model keeps its own.
    expected = getattr(model_for([name]).opt, name.removeprefix("opt."))
    assert np.array_equal(getattr(batch.model.opt, name.removeprefix("opt.")), expected)
    if name not in ("opt.magnetic", "opt.ccd_tolerance"):
        assert len({row.tobytes() for row in batch.qpos}) > 1


@pytest.mark.parametrize("integrator", [asp.Cenic(), asp.Tamsi(), INTEGRATORS["Sdirk2"]])
def test_many_options(integrator: Integrator) -> None:
    names = ["opt.gravity", "opt.density", "opt.wind", "opt.viscosity"]
    model = model_for(names)
    velocities, _ = starts(model, 3)
    batch = asp.Batch(model, 3, integrator=integrator, threads=2)
    vary(batch, names)
    batch.vary("geom_friction")[1] *= 0.7
    assert_as_simulators(batch, velocities, 8)


def test_worlds_of_midas() -> None:
    """Worlds that are simulators have the bits of simulators, with a field beside the option."""
    xml = (
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.11">'
        '<freejoint/><geom type="box" size="0.1 0.1 0.1"/></body></worldbody></mujoco>'
    )
    integrator = asp.Midas(time_step=5e-3)
    batch = asp.Batch(mujoco.MjModel.from_xml_string(xml), 3, integrator=integrator, threads=2)
    batch.vary("opt.gravity")[:] = [[0.0, 0.0, -9.81], [4.0, 0.0, -9.81], [0.0, 0.0, 0.5]]
    batch.vary("opt.density")[1] = 100.0
    batch.step(12)
    for w in range(3):
        sim = asp.Simulator(batch.world_model(w), integrator=integrator)
        for _ in range(12):
            sim.step()
        assert np.array_equal(batch.qpos[w], sim.data.qpos)
        assert np.array_equal(batch.qvel[w], sim.data.qvel)
    assert batch.qvel[2, 2] == pytest.approx(0.5 * 12 * 5e-3)


def test_gravity_of_the_planets() -> None:
    """A body falls by g t² / 2 in each world."""
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    batch = asp.Batch(model, 3)
    gravity = np.array([3.7, 9.81, 24.8])
    batch.vary("opt.gravity")[:, 2] = -gravity
    batch.advance(0.5)
    assert batch.qpos[:, 2] == pytest.approx(-0.5 * gravity * 0.25, rel=1e-9)


def test_worlds_follow_the_other_options_of_the_model() -> None:
    batch = asp.Batch(scene(), 2, threads=1)
    batch.vary("opt.viscosity")[1] = 1.0
    batch.step()
    batch.model.opt.gravity[2] = -2.0
    batch.model.opt.viscosity = 5.0  # of no account: it varies
    batch.step()
    for w in range(2):
        sim = asp.Simulator(scene())
        sim.model.opt.viscosity = float(w)
        sim.step()
        sim.model.opt.gravity[2] = -2.0
        sim.step()
        assert np.array_equal(batch.qpos[w], sim.data.qpos)
        assert batch.world_model(w).opt.gravity[2] == -2.0


def test_what_cannot_vary_says_why() -> None:
    batch = asp.Batch(scene(), 2)
    for name, reason in (
        ("opt.timestep", "same steps"),
        ("opt.integrator", "MuJoCo's solver or integrator"),
        ("opt.impratio", "MuJoCo's solver or integrator"),
        ("opt.cone", "how forces are published"),
        ("opt.disableflags", "memory"),
        ("opt.enableflags", "memory"),
        ("opt.o_solref", "stiffness of ContactParameters"),
        ("opt.sleep_tolerance", "nothing sleeps"),
        ("opt.gravitty", r"no option 'gravitty'; did you mean 'opt.gravity'"),
        ("opt.", "there are 'opt.ccd_tolerance'"),
        ("opt", "one by one, such as 'opt.gravity'"),
    ):
        with pytest.raises(asp.ArgumentError, match=reason):
            batch.vary(name)
    before = batch.qpos.copy()
    batch.vary("opt.gravity")[1, 0] = np.inf
    with pytest.raises(
        asp.ArgumentError, match=r"opt.gravity of world 1 has a value that is not finite"
    ):
        batch.step()
    assert np.array_equal(batch.qpos, before)


def test_every_option_varies_or_says_why() -> None:
    """None is forgotten, those of a newer MuJoCo neither."""
    model = scene()
    batch = asp.Batch(model, 1)
    for option in dir(model.opt):
        if option.startswith("_"):
            continue
        if f"opt.{option}" in OPTIONS:
            assert np.array_equal(batch.vary(f"opt.{option}")[0], getattr(model.opt, option))
        else:
            with pytest.raises(asp.ArgumentError, match=f"opt.{option} cannot vary"):
                batch.vary(f"opt.{option}")

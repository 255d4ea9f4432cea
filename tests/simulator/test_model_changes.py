"""What a user changes in `MjModel` between two calls counts from the next one on, as in MuJoCo."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest
from changed_models import ARTICULATED, CHANGES, FREE, OPTIONS, SIMPLE
from mujoco.introspect import ast_nodes, structs

import asperity as asp
from asperity.compiled import Table
from asperity.integrators import Integrator
from asperity.integrators.methods.convex_step import FarSightedMethod
from asperity.plant import native
from asperity.plant.model.model_view import ModelView, remembered
from asperity.plant.model.model_watch import ModelWatch, is_watched

ALL = CHANGES | OPTIONS


def started(text: str, integrator: Integrator) -> tuple[mujoco.MjModel, asp.Simulator]:
    """A simulator in motion, with something in every input."""
    model = mujoco.MjModel.from_xml_string(text)
    sim = asp.Simulator(model, integrator=integrator)
    sim.data.qvel[:] = 0.3 * np.cos(np.arange(model.nv))
    sim.data.ctrl[:] = 1.5
    sim.data.act[:] = 0.99
    if model.njnt > 2:
        sim.data.joint("shoulder").qpos = 0.29
    assert sim.advance_to(0.01).success
    return model, sim


def made_of(sim: asp.Simulator) -> asp.Simulator:
    """A new simulator of the same model in the same state."""
    model, kind = sim.model, mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(model, kind))
    mujoco.mj_getState(model, sim.data, state, kind)
    data = mujoco.MjData(model)
    mujoco.mj_setState(model, data, state, kind)
    new = asp.Simulator(model, integrator=sim.integrator, data=data)
    # What error control has learned of the motion so far is not what this is about.
    new.session.world.table.next_step = sim.session.world.table.next_step
    return new


def state(sim: asp.Simulator) -> np.ndarray:
    data = sim.data
    return np.concatenate([data.qpos, data.qvel, data.act, data.qacc, [data.time]])


@functools.cache
def unchanged(text: str, integrator: Integrator) -> np.ndarray:
    """The state to which the model leads as it is."""
    _, sim = started(text, integrator)
    assert sim.advance_to(0.02).success
    return state(sim)


def effect_of(change: str, text: str, integrator: Integrator) -> str:
    """Whether a change is heard: "equal" to a new simulator's, "refused" by both, or "none"."""
    model, sim = started(text, integrator)
    ALL[change](model)
    try:
        new = made_of(sim)
    except (asp.ArgumentError, asp.ModelError) as refusal:
        before = state(sim)
        with pytest.raises(type(refusal), match=re.escape(str(refusal))):
            sim.advance_to(0.02)
        np.testing.assert_array_equal(state(sim), before)
        return "refused"
    try:
        assert new.advance_to(0.02).success
    # As of a state that the model does not allow any more.
    except (asp.ArgumentError, asp.ModelError) as refusal:
        with pytest.raises(type(refusal), match=re.escape(str(refusal))):
            sim.advance_to(0.02)
        return "refused"
    assert sim.advance_to(0.02).success
    np.testing.assert_array_equal(state(sim), state(new), err_msg=change)
    # Sums may be taken in another order.
    same = np.allclose(unchanged(text, integrator), state(sim), rtol=0.0, atol=1e-15)
    return "none" if same else "equal"


WITHOUT_EFFECT = {
    "actuator_armature": "MuJoCo reads it where the compiler has seen one",
    "pair_margin": "contacts push where surfaces overlap, wherever they are reported",
    "geom_quat": "MuJoCo takes it for the inertial frame's, as geom_sameframe says",
    "jnt_actgravcomp": "the actuators are at their limits without it",
    "tendon_limited": "the rope is slack",
}
"""Changes of `ARTICULATED` that do not show in its motion, and why."""


@pytest.mark.parametrize("change", ALL)
def test_a_changed_model_is_as_good_as_a_new_one(change: str) -> None:
    found = effect_of(change, ARTICULATED, asp.Icf(time_step=2e-3))
    assert found == ("none" if change in WITHOUT_EFFECT else "equal")


@pytest.mark.parametrize("change", ALL)
def test_detection_of_what_glides_hears_it_too(change: str) -> None:
    """It has a copy of MuJoCo's struct, with the options in it."""
    found = effect_of(change, ARTICULATED, asp.Sap(time_step=2e-3))
    # Its bodies have been pushed apart before the change, and where parent and child overlap, on the
    # hinge between them, a contact moves nothing. A larger margin finds contacts that do not push.
    quiet = ("geom_", "pair_", "hfield_data", "disableflags, contact", "disableflags, filterparent")
    quiet += ("o_margin, override", *WITHOUT_EFFECT)
    assert found == "equal" or change.startswith(quiet)


OF_FREE_BODIES = (
    "gravity",
    "disableflags, gravity",
    "disableflags, contact",
    "disableflags, constraint",
    "density",
    "viscosity",
    "dof_damping, free joint",
    "dof_dampingpoly, free joint",
    "jnt_stiffness, free joint",
    "dof_armature, free joint",
    "dof_frictionloss, free joint",
    "body_mass, one",
    "body_inertia",
    "geom_size",
    "geom_type",
    "geom_friction",
    "geom_contype",
    "geom_condim",
)


@pytest.mark.parametrize("change", OF_FREE_BODIES)
def test_free_bodies_alone_hear_it_too(change: str) -> None:
    """Their forces are computed without MuJoCo."""
    assert effect_of(change, FREE, asp.Icf(time_step=2e-3)) == "equal"


OF_MIDAS = (
    *("gravity", "disableflags, gravity", "disableflags, contact", "disableflags, constraint"),
    *("disableflags, limit", "disableflags, spring", "disableflags, actuation", "disableactuator"),
    *("body_mass", "body_inertia", "geom_friction", "geom_size", "geom_contype", "geom_type"),
    *("dof_damping", "jnt_stiffness", "qpos_spring", "dof_frictionloss", "jnt_range"),
    *("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "actuator_gear", "eq_data"),
    *("body_pos", "jnt_axis", "body_gravcomp", "dof_damping, free joint", "density"),
    *("dof_armature", "dof_frictionloss, free joint"),
)
REFUSED_BY_MIDAS = ("dof_dampingpoly",)


@pytest.mark.parametrize("change", OF_MIDAS + REFUSED_BY_MIDAS)
def test_midas_hears_it_too(change: str) -> None:
    found = effect_of(change, SIMPLE, asp.Midas(time_step=5e-3, overlaps="separate"))
    assert found == ("refused" if change in REFUSED_BY_MIDAS else "equal")


def test_midas_hears_of_one_change_after_another() -> None:
    """It keeps shapes and links that do not depend on what has changed."""
    model, sim = started(SIMPLE, asp.Midas(time_step=5e-3, overlaps="separate"))
    again = ("geom_friction", "body_mass", "gravity", "geom_size", "actuator_gainprm", "body_ipos")
    for change in (*again, *again):
        if change == "gravity":
            model.opt.gravity[0] += 1.0
        else:
            getattr(model, change)[:] *= 0.9
        # What it expects of contacts follows from the steps before.
        sim.reset()
        new = asp.Simulator(model, integrator=sim.integrator)
        for each in (sim, new):
            each.data.qvel[:] = 0.3
            assert each.advance_to(0.02).success
        np.testing.assert_array_equal(state(sim), state(new), err_msg=change)


def test_midas_hears_of_meshes() -> None:
    text = """<mujoco><asset><mesh name="wedge" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/></asset>
      <worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .2"><freejoint/><geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    sim = asp.Simulator(model, integrator=asp.Midas(time_step=0.01))
    assert sim.advance_to(0.01).success
    before = sim.session.method.base.engine.table.vertices.now.copy()
    model.mesh_vert[:] *= 0.5
    counted = sim.stats.solves
    assert sim.advance_to(0.02).success
    assert sim.stats.solves > counted
    size = np.ptp(sim.session.method.base.engine.table.vertices.now, axis=0)
    np.testing.assert_allclose(size, 0.5 * np.ptp(before, axis=0), rtol=1e-3)


def ball_of_points(count: int) -> str:
    """A ball on the floor, as a mesh of so many vertices."""
    k = np.arange(count) + 0.5
    height, angle = 1.0 - 2.0 * k / count, np.pi * (1.0 + 5.0**0.5) * k
    ring = np.sqrt(1.0 - height**2)
    points = 0.1 * np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)
    vertices = " ".join(f"{x:.6f}" for x in points.ravel())
    return f"""<mujoco><asset><mesh name="ball" vertex="{vertices}"/></asset>
      <worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .0999"><freejoint/><geom type="mesh" mesh="ball"/></body></worldbody></mujoco>"""


# 48 and 240 kB: all vertices are compared, and some.
@pytest.mark.parametrize("count", [4000, 20000])
@pytest.mark.parametrize("integrator", [asp.Cenic(), asp.Icf(time_step=1e-3)])
def test_every_method_hears_of_meshes_at_once(count: int, integrator: Integrator) -> None:
    model = mujoco.MjModel.from_xml_string(ball_of_points(count))
    sim = asp.Simulator(model, integrator=integrator)
    assert sim.advance_to(0.01).success
    assert sim.data.ncon > 0
    model.mesh_vert[:] *= 0.9
    new = made_of(sim)
    for each in (sim, new):
        assert each.advance_to(0.011).success
        # It falls, since there is nothing below it any more.
        assert each.data.ncon == 0
    np.testing.assert_array_equal(state(sim), state(new))


def numbers_of(table: Table, name: str = "") -> dict[str, np.ndarray]:
    """All numbers in a table, and in those in it, but for addresses and what is counted.

    Models here have no pressure fields.
    """
    found: dict[str, np.ndarray] = {}
    for field in table.layout.fields.keys() - {"stamp", "fields"}:
        value = getattr(table, field)
        if isinstance(value, Table):
            found |= numbers_of(value, f"{name}.{field}")
        else:
            array = np.array(value)
            found[f"{name}.{field}"] = np.where(np.abs(array) > 2**40, 0, array)
    return found


OF_GLIDING = (
    *("own_geom_margin", "own_pair_margin", "own_option_margin", "overridden", "radius"),
    *("surface_speed", "gravity", "friction", "turning_friction", "glides", "looks_ahead"),
    *("relaxation", "tree_reach", "tree_inner_radius"),
)


def tables_of(sim: asp.Simulator) -> dict[str, np.ndarray]:
    base = sim.session.method.base
    assert isinstance(base, FarSightedMethod)
    assert base._gliding is not None
    gliding = {name: np.array(getattr(base._gliding.table, name)) for name in OF_GLIDING}
    return numbers_of(sim.session.plant.table) | gliding


def numbers_to_change(model: mujoco.MjModel) -> Iterator[np.ndarray]:
    """Real numbers that enter the motion, each as an array of its own: whole arrays, and ends."""
    for name, *_ in native.model_arrays(model):
        array = np.asarray(getattr(model, name, 0))
        if is_watched(name) and array.dtype == np.float64 and array.size:
            yield from (array.reshape(-1), array.reshape(-1)[-1:])
    yield from (model.opt.gravity, model.opt.wind[1:])


@pytest.mark.parametrize("text", [ARTICULATED, FREE])
def test_tables_are_those_of_a_new_simulator(text: str) -> None:
    """One change after another, of which each makes few tables anew."""
    model = mujoco.MjModel.from_xml_string(text)
    sim = asp.Simulator(model, integrator=asp.Sap(time_step=2e-3))
    at_first, refused = tables_of(sim), 0
    for number in numbers_to_change(model):
        before = number.copy()
        number[:] = 1.03 * before + 0.02
        try:
            new = asp.Simulator(model, integrator=sim.integrator)
        except asp.ModelError:
            refused += 1
            with pytest.raises(asp.ModelError):
                sim.advance_to(sim.time)
        else:
            sim.advance_to(sim.time)
            same_tables(tables_of(sim), tables_of(new))
        number[:] = before
        sim.advance_to(sim.time)
        same_tables(tables_of(sim), at_first)
    assert refused < 10


def same_tables(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name, values in found.items():
        np.testing.assert_array_equal(values, expected[name], err_msg=name)


def test_a_change_calls_those_again_who_read_it() -> None:
    """Of functions in functions, too, and of those that a number decides about."""
    model = mujoco.MjModel.from_xml_string(FREE)
    called: list[str] = []

    @remembered
    def inner(model: mujoco.MjModel, body: int) -> float:
        called.append("inner")
        return float(model.body_mass[body])

    @remembered
    def outer(model: mujoco.MjModel) -> float:
        called.append("outer")
        return inner(model, 1) if model.opt.density > 0.0 else float(model.opt.gravity[2])

    def calls(*changed: str) -> list[str]:
        called.clear()
        view.forget(changed)
        assert outer(view) == outer(model)
        return called[: len(called) - called[::-1].index("outer") - 1]

    view: Any = ModelView(model)
    assert calls() == ["outer"]
    assert calls("body_mass", "opt.wind") == []
    model.opt.gravity[2] = -5.0
    assert calls("opt.gravity") == ["outer"]
    model.opt.density = 1.0
    assert calls("opt.density") == ["outer", "inner"]
    model.body_mass[1] = 3.0
    assert calls("body_mass") == ["outer", "inner"]
    assert calls("opt.gravity") == []


SOME = (
    "gravity",
    "disableflags, gravity",
    "wind",
    "body_mass",
    "geom_size",
    "dof_damping",
    "dof_damping, free joint",
    "jnt_range",
    "dof_frictionloss",
    "actuator_forcerange",
    "tendon_stiffness",
    "eq_data",
)


@pytest.mark.parametrize(
    "integrator",
    [
        asp.Cenic(),
        asp.Cenic(error_estimate="trapezoid"),
        asp.Sap(time_step=2e-3, theta_scheme="midpoint"),
        asp.Tamsi(time_step=2e-3),
        asp.ImplicitEuler(time_step=2e-3, jacobian="analytic"),
        asp.Sdirk2(time_step=2e-3),
        asp.Rosenbrock2(time_step=2e-3),
    ],
    ids=lambda integrator: type(integrator).__name__,
)
def test_every_integrator_hears(integrator: Integrator) -> None:
    found = {change: effect_of(change, ARTICULATED, integrator) for change in SOME}
    assert found == dict.fromkeys(SOME, "equal")


def test_an_explicit_method_hears_too() -> None:
    some = ("gravity", "disableflags, gravity", "body_mass, one", "dof_damping, free joint")
    method = asp.RungeKutta3(time_step=1e-4)
    assert {effect_of(change, FREE, method) for change in some} == {"equal"}


NOT_COMPARED = {
    "appearance, or follows from what is compared": (
        "cam_ light_ mat_ skin_ tex_ geom_rgba site_rgba tendon_rgba tendon_width geom_matid "
        "site_matid tendon_matid geom_castshadow geom_group jnt_group site_group tendon_group"
    ),
    "for users and for loading": (
        "body_user jnt_user geom_user site_user tendon_user actuator_user names name_ paths "
        "numeric_ text_ tuple_ key_ hfield_pathadr"
    ),
    "read at every publication": "sensor_",
    "belongs to what models may not have": "flex efm plugin oct_",
    "derived from the vertices of meshes": "mesh_ bvh_ body_bvh",
}
COMPARED = {"mesh_vert"}


def test_every_array_is_compared_or_there_is_a_reason() -> None:
    model = mujoco.MjModel.from_xml_string(ARTICULATED)
    watch = ModelWatch(model)
    prefixes = tuple(prefix for names in NOT_COMPARED.values() for prefix in names.split())
    heard = set()
    for field in structs.STRUCTS["mjModel"].fields:
        if not isinstance(field.type, ast_nodes.PointerType) or field.name == "buffer":
            continue
        array = np.asarray(getattr(model, field.name, np.zeros(0)))
        if array.size == 0 or array.dtype.kind not in "fiub":
            continue
        memory = array.reshape(-1).view(np.uint8)
        for at in (0, len(memory) - 1):
            memory[at] ^= 1
            expected = field.name in COMPARED or not field.name.startswith(prefixes)
            assert watch.changed() == expected, field.name
            memory[at] ^= 1
        heard.add(field.name)
    assert not watch.changed()
    assert len(heard) > 150


def test_every_option_is_compared_but_the_time_step() -> None:
    model = mujoco.MjModel.from_xml_string(FREE)
    watch = ModelWatch(model)
    for field in structs.STRUCTS["mjOption"].fields:
        before = np.copy(getattr(model.opt, field.name))
        if before.ndim:
            getattr(model.opt, field.name)[-1] += 1
        else:
            setattr(model.opt, field.name, before.item() + 1)
        # Read whenever it is needed.
        assert watch.changed() == (field.name != "timestep"), field.name
        if before.ndim:
            getattr(model.opt, field.name)[:] = before
        else:
            setattr(model.opt, field.name, before.item())
    assert not watch.changed()


def test_another_structure_is_refused_by_name() -> None:
    model, sim = started(ARTICULATED, asp.Icf(time_step=2e-3))
    before = state(sim)
    for name, element in (
        ("body_parentid", "Body 'hand'"),
        ("jnt_type", "Joint 'slide'"),
        ("geom_bodyid", "Geom 'box'"),
    ):
        array = getattr(model, name)
        row = getattr(model, element.split()[0].lower())(element.split("'")[1]).id
        array[row] += 1
        for _ in range(2):
            with pytest.raises(ValueError, match=rf"MjModel.{name} of {element}.*new Simulator"):
                sim.step()
        np.testing.assert_array_equal(state(sim), before)
        array[row] -= 1
    assert sim.step().success


def test_a_number_that_cannot_be_simulated_is_refused_until_it_is_mended() -> None:
    model, sim = started(ARTICULATED, asp.Cenic())
    _, other = started(ARTICULATED, asp.Cenic())
    before = state(sim)
    model.body_mass[1] = np.nan
    for _ in range(2):
        with pytest.raises(asp.ModelError, match="Body 'box' has a value in 'mass'"):
            sim.step()
    np.testing.assert_array_equal(state(sim), before)
    model.body_mass[1] = other.model.body_mass[1]
    sim.step()
    other.step()
    np.testing.assert_array_equal(state(sim), state(other))


def test_a_control_callback_may_change_the_model() -> None:
    model = mujoco.MjModel.from_xml_string(FREE)

    speeds = []

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        speeds.append(data.qvel[2])
        model.opt.gravity[2] = 5.0 if data.time >= 0.05 else -5.0

    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    sim = asp.Simulator(model, control=control, control_period=0.05)
    assert sim.advance_to(0.1).success
    np.testing.assert_allclose([*speeds, sim.data.qvel[2]], [0.0, -0.25, 0.0], atol=1e-12)


def test_a_recording_outlives_a_change_that_needs_other_memory() -> None:
    model = mujoco.MjModel.from_xml_string(FREE)

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        model.dof_damping[6:12] = 5.0 if data.time >= 0.05 else 0.0

    trajectory = asp.simulate(
        model,
        (0.0, 0.1),
        integrator=asp.Icf(time_step=1e-3),
        control=control,
        control_period=0.05,
    )
    assert trajectory.success
    np.testing.assert_allclose(trajectory.time, np.linspace(0.0, 0.1, 101), atol=1e-12)
    speed = trajectory.qvel[:, 8]
    np.testing.assert_allclose(speed[:51], -9.81 * trajectory.time[:51], atol=1e-12)
    # v̇ = −g − (d/m) v from there on, with d/m = 2.5/s.
    limit = -9.81 / 2.5
    expected = limit + (speed[50] - limit) * np.exp(-2.5 * 0.05)
    assert speed[-1] == pytest.approx(expected, rel=2e-3)


def test_control_follows_the_model_s_time_step() -> None:
    called: list[float] = []
    model = mujoco.MjModel.from_xml_string(FREE)
    sim = asp.Simulator(model, control=lambda model, data: called.append(data.time))
    sim.advance_to(0.006)
    model.opt.timestep = 0.005
    sim.advance_to(0.02)
    np.testing.assert_allclose(called, [0.0, 0.002, 0.004, 0.006, 0.011, 0.016], atol=1e-12)


def test_a_reset_takes_the_model_as_it_is() -> None:
    model, sim = started(SIMPLE, asp.Cenic())
    model.qpos0[model.joint("shoulder").qposadr[0]] = 0.1
    model.body_mass[1] = np.nan
    before = state(sim)
    with pytest.raises(asp.ModelError, match="'mass'"):
        sim.reset()
    np.testing.assert_array_equal(state(sim), before)
    model.body_mass[1] = 2.0
    sim.reset()
    new = asp.Simulator(model)
    for one in (sim, new):
        assert one.advance_to(0.05).success
    np.testing.assert_array_equal(state(sim), state(new))


def test_what_is_ignored_is_told() -> None:
    model, sim = started(FREE, asp.RungeKutta3())
    assert not any("torsional" in note for note in sim.load_report.notes)
    model.geom_condim[:] = 6
    for _ in range(2):
        sim.step()
        assert sum("torsional" in note for note in sim.load_report.notes) == 1


def test_work_and_step_size_outlive_a_change_that_needs_other_memory() -> None:
    model, sim = started(FREE, asp.Cenic())
    stats, size, contacts = sim.stats, sim.step_size, sim.contacts
    model.dof_damping[:6] = 1.0
    assert sim.advance_to(sim.time).success
    assert sim.stats.steps == stats.steps
    assert sim.step_size == size
    np.testing.assert_array_equal(sim.contacts.force, contacts.force)
    assert sim.advance_to(0.5).success
    assert sim.stats.steps > stats.steps


def test_the_published_state_follows_the_model() -> None:
    model, sim = started(ARTICULATED, asp.Icf(time_step=2e-3))
    model.body("arm").pos[:] = 1.0, 0.0, 0.7
    sim.advance_to(sim.time)
    np.testing.assert_array_equal(sim.data.body("arm").xpos, [1.0, 0.0, 0.7])


def test_external_systems_hear_it_too() -> None:
    """Armature and limits of efforts, of which they keep copies."""
    model = mujoco.MjModel.from_xml_string(SIMPLE.replace("polycoef", "active='false' polycoef"))
    controller = asp.systems.InverseDynamicsController(["slide"], kp=100.0, kd=20.0, target=1.0)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1e-3), systems=[controller])
    assert sim.advance_to(0.02).success
    joint = model.joint("slide").id
    model.dof_armature[model.jnt_dofadr[joint]] = 20.0
    # MuJoCo takes the inertia of simple joints from a constant that follows from it.
    mujoco.mj_setConst(model, mujoco.MjData(model))
    assert sim.advance_to(0.04).success
    # Critically damped, whatever the inertia: ẋ = 100 t exp(−10 t), but for the step's size.
    assert sim.data.joint("slide").qvel[0] == pytest.approx(4.0 * np.exp(-0.4), rel=0.03)
    model.jnt_actfrclimited[joint] = 1
    model.jnt_actfrcrange[joint] = -1.0, 1.0
    assert sim.advance_to(0.06).success
    assert abs(sim.system_output(controller)[0]) == 1.0

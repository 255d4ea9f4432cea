"""What users set counts, or is refused by name: attributes, contact, model, callbacks."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.model.derived_bounds import update_bounds

SCENE = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="box" pos="0 0 0.05">
      <freejoint/><geom name="box" type="box" size="0.05 0.05 0.05" mass="1"/>
    </body>
    <body name="ball" pos="1 0 0.05"><freejoint/><geom name="ball" size="0.05" mass="1"/></body>
    <body pos="0 1 0.5">
      <joint name="hinge" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 0"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
GRAVITY = 9.81
ICF = asp.Icf(time_step=2e-3)


def simulator(**options: Any) -> asp.Simulator:
    return asp.Simulator(SCENE, **{"integrator": ICF, **options})


# -- attributes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("accuracy", r"sim\.change_integrator"),
        ("integrator", r"sim\.change_integrator"),
        ("qpos", r"write into sim\.data"),
        ("time", r"write into sim\.data"),
        ("threads", "make a Simulator with it"),
        ("contacts", "can be read and not set"),
        ("contct", "did you mean 'contact'"),
    ],
)
def test_attributes_that_mean_nothing_cannot_be_set(name: str, said: str) -> None:
    sim = simulator()
    with pytest.raises(AttributeError, match=said):
        setattr(sim, name, 1.0)


def test_subclasses_may_have_attributes_of_their_own() -> None:
    class Logged(asp.Simulator):
        def __init__(self, model: str) -> None:
            super().__init__(model, integrator=ICF)
            self.log: list[float] = []

    logged = Logged(SCENE)
    logged.log.append(1.0)
    assert copy.deepcopy(logged).log == [1.0]


# -- contact parameters ----------------------------------------------------------------------------


def test_contact_parameters_change_between_calls() -> None:
    sim = simulator()
    for stiffness in (1e4, 1e5):
        sim.contact = asp.ContactParameters(stiffness=stiffness)
        assert sim.contact.stiffness == stiffness
        sim.advance_to(sim.time + 1.0)
        assert 0.05 - sim.data.body("ball").xpos[2] == pytest.approx(GRAVITY / stiffness, rel=1e-3)


@pytest.mark.parametrize(
    "integrator", [ICF, asp.Cenic(), asp.Midas(time_step=2e-3)], ids=["Icf", "Cenic", "Midas"]
)
def test_changed_contact_leads_where_a_simulator_with_it_leads(integrator: asp.Integrator) -> None:
    contact = asp.ContactParameters(friction=0.2, geoms={"ball": asp.Material(dissipation=3.0)})
    changed = asp.Simulator(SCENE, integrator=integrator)
    changed.data.qvel[6] = 1.0
    changed.contact = contact
    assert changed.data.qvel[6] == 1.0  # what a user has written stays
    changed.advance_to(0.1)
    made = asp.Simulator(SCENE, integrator=integrator, contact=contact)
    made.data.qvel[6] = 1.0
    made.advance_to(0.1)
    np.testing.assert_array_equal(changed.data.qpos, made.data.qpos)


def test_geoms_may_get_pressure_fields_between_calls() -> None:
    sim = simulator()
    sim.advance_to(0.1)
    assert len(sim.patches.geom) == 0
    sim.contact = asp.ContactParameters(
        geoms={
            "box": asp.Material(surface="compliant", hydroelastic_modulus=1e6),
            "floor": asp.Material(surface="rigid"),
        }
    )
    sim.advance_to(0.3)
    assert len(sim.patches.geom) == 1
    assert sim.contacts.normal_force[sim.contacts.patch >= 0].sum() == pytest.approx(9.81, rel=1e-3)


def test_contact_that_does_not_fit_leaves_the_simulator_as_it_was() -> None:
    sim, other = simulator(), simulator()
    with pytest.raises(asp.ArgumentError, match="no geom is named 'cup'"):
        sim.contact = asp.ContactParameters(friction=0.1, geoms={"cup": asp.Material(friction=1.0)})
    with pytest.raises(asp.ArgumentError, match=r"got dict; write ContactParameters\(friction=0.1"):
        sim.contact = {"friction": 0.1}  # type: ignore[assignment]
    assert sim.contact == asp.ContactParameters()
    for one in (sim, other):
        one.data.qvel[0] = 1.0
        one.advance_to(0.1)
    np.testing.assert_array_equal(sim.data.qpos, other.data.qpos)


# -- numbers of the model --------------------------------------------------------------------------

REFUSED: dict[str, tuple[Callable[[mujoco.MjModel], None], str]] = {
    "mass 0": (lambda m: m.body_mass.__setitem__(1, 0.0), "Body 'box' moves and has no mass"),
    "mass": (lambda m: m.body_mass.__setitem__(1, -1.0), "Body 'box' .*'mass' that is negative"),
    "inertia": (
        lambda m: m.body_inertia.__setitem__((1, 0), -1.0),
        "Body 'box' .*'inertia' that is negative",
    ),
    "inertia 0": (lambda m: m.body_inertia.__setitem__(2, 0.0), "Body 'ball' .*has no inertia"),
    "size": (lambda m: m.geom_size.__setitem__((1, 0), -0.05), "Geom 'box' .*'size' .*negative"),
    "size 0": (
        lambda m: m.geom_size.__setitem__((2, 0), 0.0),
        "Geom 'ball' is a sphere with a siz",
    ),
    "friction": (
        lambda m: m.geom_friction.__setitem__((1, 0), -1.0),
        "Geom 'box' .*'friction' that is negative",
    ),
    "mesh": (lambda m: m.geom_type.__setitem__(1, 7), "Geom 'box' has the type 7 and no mesh"),
    "height field": (lambda m: m.geom_type.__setitem__(1, 1), "Geom 'box' has the type 1 and no"),
    "no type": (lambda m: m.geom_type.__setitem__(1, 77), "Geom 'box' has the type 77"),
    "transmission": (lambda m: m.actuator_trnid.__setitem__((0, 0), 99), "actuator_trnid"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_numbers_are_refused_at_run_time(name: str) -> None:
    change, said = REFUSED[name]
    sim = simulator()
    sim.advance_to(0.01)
    before = sim.data.qpos.copy()
    change(sim.model)
    with pytest.raises(asp.ModelError, match=said):
        sim.step()
    np.testing.assert_array_equal(sim.data.qpos, before)


def test_impossible_numbers_of_worlds_name_the_world() -> None:
    batch = asp.Batch(SCENE, 2, integrator=ICF, threads=1)
    batch.vary("body_mass")[1, 1] = 0.0
    with pytest.raises(asp.ModelError, match="world 1: Body 'box' moves and has no mass"):
        batch.step()


UNREAD = ("geom_solref", "geom_solimp", "geom_gap", "geom_rbound", "body_invweight0", "eq_solref")


@pytest.mark.parametrize("name", UNREAD)
def test_fields_that_are_not_read_cannot_vary(name: str) -> None:
    with pytest.raises(asp.ArgumentError, match=f"{name} cannot vary from world to world: .*"):
        asp.Batch(SCENE, 2, integrator=ICF, threads=1).vary(name)


@pytest.mark.parametrize("name", ["contact.relaxation_time", "contact.geom_relaxation_time"])
def test_contact_that_is_not_read_cannot_vary(name: str) -> None:
    with pytest.raises(asp.ArgumentError, match=f"{name} cannot vary .* Icf does not read"):
        asp.Batch(SCENE, 2, integrator=ICF, threads=1).vary(name)
    assert asp.Batch(SCENE, 2, integrator=asp.Sap(), threads=1).vary(name).shape[0] == 2


def sizes_of_all_kinds(scale: float) -> str:
    shapes = ("box", "sphere", "capsule", "cylinder", "ellipsoid")
    geoms = "".join(
        f'<geom type="{shape}" size="{0.05 * scale} {0.06 * scale} {0.07 * scale}" '
        f'pos="{0.3 * i} {0.1 * i} 0" euler="{10 * i} 20 30" mass="1"/>'
        for i, shape in enumerate(shapes)
    )
    return f"<mujoco><worldbody><body><freejoint/>{geoms}</body></worldbody></mujoco>"


def test_bounds_follow_sizes_as_the_compiler_has_them() -> None:
    model, larger = (
        mujoco.MjModel.from_xml_string(sizes_of_all_kinds(scale)) for scale in (1.0, 1.5)
    )
    for name in ("geom_size", "body_ipos", "body_iquat"):
        getattr(model, name)[:] = getattr(larger, name)
    update_bounds(model)
    for name in ("geom_rbound", "geom_aabb"):
        np.testing.assert_allclose(getattr(model, name), getattr(larger, name), rtol=1e-12)
    # The tree may be another one; its root encloses all geoms.
    np.testing.assert_allclose(model.bvh_aabb[0], larger.bvh_aabb[0], atol=1e-12)


@pytest.mark.parametrize("integrator", [ICF, asp.Cenic(), asp.Tamsi(time_step=2e-3)], ids=repr)
def test_a_box_that_grows_at_run_time_is_lifted(integrator: asp.Integrator) -> None:
    sim = simulator(integrator=integrator)
    sim.advance_to(0.2)
    sim.model.geom("box").size[:] = 0.075
    sim.advance_to(1.2)
    # As deep as its weight on four corners.
    assert sim.data.body("box").xpos[2] == pytest.approx(0.075 - GRAVITY / 4e5, abs=2e-6)


def test_boxes_of_worlds_grow_too() -> None:
    batch = asp.Batch(SCENE, 2, integrator=ICF, threads=1)
    batch.vary("geom_size")[1, 1] = 0.075
    assert not batch.advance(1.0).any()
    np.testing.assert_allclose(batch.qpos[:, 2], [0.05, 0.075], atol=3e-5)


# -- control ---------------------------------------------------------------------------------------


def back_in_time(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    if data.time > 0.005:
        mujoco.mj_resetData(model, data)


def test_a_callback_that_sets_the_time_back_is_refused() -> None:
    sim = simulator(control=back_in_time)
    with pytest.raises(asp.ArgumentError, match=r"has set the time back from 0\.006 to 0\.0 s"):
        sim.advance_to(0.02)
    assert sim.time == sim.data.time == pytest.approx(0.006)


def test_a_callback_that_returns_controls_is_refused() -> None:
    sim = simulator(control=lambda model, data: np.ones(1))  # type: ignore[arg-type, return-value]
    with pytest.raises(asp.ArgumentError, match=r"returned array\(\[1\.\]\), which has no effect"):
        sim.step()


def test_control_periods_must_let_time_pass() -> None:
    def nothing(model: mujoco.MjModel, data: mujoco.MjData) -> None: ...

    with pytest.raises(asp.ArgumentError, match="control_period must be at least"):
        simulator(control=nothing, control_period=1e-12)
    sim = simulator(control=nothing, control_period=1e-8)
    sim.data.time = 1e12
    with pytest.raises(asp.ArgumentError, match="control_period=1e-08 is too short"):
        sim.advance_to(1e12 + 1.0)


def test_a_control_period_needs_a_control() -> None:
    with pytest.raises(asp.ArgumentError, match="no effect without control"):
        simulator(control_period=0.01)
    with pytest.raises(asp.ArgumentError, match="no effect without control"):
        asp.simulate(SCENE, (0.0, 0.1), control_period=0.01)


# -- input that is not finite ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qpos", "qvel", "ctrl", "xfrc_applied"])
@pytest.mark.parametrize(
    "integrator", [ICF, asp.Cenic(), asp.Midas()], ids=["Icf", "Cenic", "Midas"]
)
def test_input_that_is_not_finite_is_an_error_whatever_becomes_of_failures(
    name: str, integrator: asp.Integrator
) -> None:
    sim = simulator(integrator=integrator)
    array = getattr(sim.data, name)
    array.flat[0] = np.nan
    before, time = sim.data.qpos.copy(), sim.time
    for call in (
        lambda: sim.step(on_failure="return"),
        lambda: sim.advance_to(time + 0.01, on_failure="return"),
    ):
        with pytest.raises(asp.ArgumentError, match=name):
            call()
    np.testing.assert_array_equal(sim.data.qpos, before)
    assert sim.time == time
    with pytest.raises(asp.ArgumentError, match=name):
        asp.step(sim.model, sim.data, integrator=integrator, on_failure="return")


# -- contact parameters that an integrator does not read -------------------------------------------


@pytest.mark.parametrize(
    ("integrator", "contact", "unread"),
    [
        (asp.Sap(), asp.ContactParameters(dissipation=3.0), "Sap does not read dissipation"),
        (ICF, asp.ContactParameters(relaxation_time=0.1), "Icf does not read relaxation_time"),
        (
            asp.Midas(),
            asp.ContactParameters(geoms={"ball": asp.Material(stiffness=5e3)}),
            "Midas keeps contacts rigid",
        ),
        (asp.Midas(), asp.ContactParameters(stiction_tolerance=1e-3, dissipation=3.0), ""),
        (ICF, asp.ContactParameters(stiffness=1e4, friction=0.1), ""),
    ],
)
def test_contact_parameters_that_nobody_reads_are_noted(
    integrator: asp.Integrator, contact: asp.ContactParameters, unread: str
) -> None:
    for one in (
        simulator(integrator=integrator, contact=contact),
        asp.Batch(SCENE, 2, integrator=integrator, contact=contact, threads=1),
    ):
        notes = one.load_report.notes
        found = [note for note in notes if "does not read" in note or "rigid" in note]
        assert len(found) == bool(unread)
        assert not unread or found[0].startswith(unread)


def test_contact_parameters_that_are_put_there_later_are_noted_too() -> None:
    for one in (simulator(), asp.Batch(SCENE, 2, integrator=ICF, threads=1)):
        for _ in range(2):
            one.contact = asp.ContactParameters(relaxation_time=0.1)
        notes = [note for note in one.load_report.notes if "does not read" in note]
        assert notes == [
            "Icf does not read relaxation_time; of contact parameters it reads dissipation, "
            "dynamic_friction, friction, stiction_tolerance, stiffness."
        ]

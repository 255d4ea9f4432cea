"""Wrong arguments: one sentence that names the argument and what to do, and nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity import ContactParameters, Material, ModelError
from asperity.errors import ArgumentError

XML = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="b" pos="0 0 0.2"><joint name="up" type="slide" axis="0 0 1"/>
      <geom name="g" size="0.1" mass="1"/></body>
  </worldbody>
  <actuator><motor name="m" joint="up"/></actuator>
  <keyframe><key qpos="0.5"/></keyframe>
</mujoco>
"""
MODEL = mujoco.MjModel.from_xml_string(XML)
OTHER = mujoco.MjModel.from_xml_string(
    '<mujoco><worldbody><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
)


@pytest.fixture(scope="module")
def sim() -> asp.Simulator:
    return asp.Simulator(MODEL)


CONTACT: list[tuple[dict[str, Any], str]] = [
    (
        {"geoms": {"g": {"stiffness": 1e4}}},
        "geoms['g'] must be a Material, such as Material(friction=0.5), got {'stiffness': 10000.0}",
    ),
    ({"geoms": ["g"]}, "geoms must be a dict of materials, got ['g']"),
    ({"geoms": {0: Material()}}, "geoms: 0 is not a name or a glob"),
    ({"bodies": {"b": ContactParameters()}}, "must be a Material"),
    (
        {"pairs": {"g|floor": Material(friction=1.0)}},
        "pairs: 'g|floor' is not a pair of two names; write it as ('g', 'floor')",
    ),
    # Two letters would pass for two names.
    ({"pairs": {"gg": Material()}}, "pairs: 'gg' is not a pair"),
    ({"pairs": {("g", "floor"): {"friction": 1}}}, "pairs[('g', 'floor')] must be a Material"),
    ({"friction": "1"}, "friction must be a number, got '1'"),
    ({"friction": True}, "friction must be a number, got True"),
]


@pytest.mark.parametrize(("given", "message"), CONTACT)
def test_contact_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        ContactParameters(**given)
    assert message in str(caught.value)


SIMULATOR: list[tuple[dict[str, Any], str]] = [
    ({"data": mujoco.MjData(OTHER)}, "data belongs to another model: data.qpos has 7 rows and"),
    ({"data": MODEL}, "data must be a mujoco.MjData, got MjModel"),
    ({"control": 3}, "control must be a function of (model, data), got 3"),
    ({"control_period": "x"}, "control_period must be a number, got 'x'"),
    ({"joint_stiction_tolerance": "x"}, "joint_stiction_tolerance must be a number, got 'x'"),
    ({"systems": 3}, "systems must be a list of external systems, got 3"),
]


@pytest.mark.parametrize(("given", "message"), SIMULATOR)
def test_simulator(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        asp.Simulator(MODEL, **given)
    assert message in str(caught.value)


SIMULATE: list[tuple[dict[str, Any], str]] = [
    ({"t_span": 5}, "t_span must be (begin, end) [s], got 5"),
    ({"t_span": (0, 1, 2)}, "t_span must be (begin, end) [s], got (0, 1, 2)"),
    ({"t_span": "ab"}, "t_span must be numbers, got 'ab'"),
    ({"save_at": "x"}, "save_at must be numbers, got 'x'"),
    ({"qpos": [object()]}, "qpos must be numbers, got"),
    ({"progress": 3}, "progress must be True or a function of the simulator, got 3"),
    ({"keyframe": 0.7}, "keyframe must be a name or a number, got 0.7"),
]


@pytest.mark.parametrize(("given", "message"), SIMULATE)
def test_simulate(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        asp.simulate(MODEL, **{"t_span": (0.0, 0.01), **given})
    assert message in str(caught.value)


CALLS: list[tuple[Callable[[asp.Simulator], Any], str]] = [
    (lambda sim: sim.advance_to("x"), "time must be a number, got 'x'"),  # type: ignore[arg-type]
    (lambda sim: sim.advance_to(1.0, progress=3), "progress must be"),  # type: ignore[arg-type]
    (lambda sim: sim.reset(0.7), "keyframe must be a name or a number, got 0.7"),  # type: ignore[arg-type]
    (lambda sim: sim.reset(True), "keyframe must be a name or a number, got True"),
    (lambda sim: sim.reset(1), "keyframe 1 does not exist; the model has 1 keyframe, 0."),
    (lambda sim: sim.reset("²"), "keyframe '²' does not exist"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_nothing_changes(
    sim: asp.Simulator, call: Callable[[asp.Simulator], Any], message: str
) -> None:
    sim.data.qpos[0] = 0.25
    with pytest.raises(ArgumentError) as caught:
        call(sim)
    assert message in str(caught.value)
    assert sim.data.qpos[0] == 0.25
    assert sim.time == 0.0


def test_keyframes_are_listed() -> None:
    for keys, words in (
        ("", "the model has none"),
        ("<key/><key/><key/>", "the model has 3 keyframes, 0 to 2"),
        ('<key name="home"/><key/>', "the model has 2 keyframes, 0 ('home'), 1"),
    ):
        model = mujoco.MjModel.from_xml_string(f"<mujoco><keyframe>{keys}</keyframe></mujoco>")
        with pytest.raises(ArgumentError) as caught:
            asp.simulate(model, (0.0, 0.1), keyframe="start")
        assert str(caught.value) == f"keyframe 'start' does not exist; {words}."


INTEGRATORS: list[tuple[type, dict[str, Any], str]] = [
    (asp.Cenic, {"max_iterations": 1.5}, "max_iterations must be a positive whole number, got 1.5"),
    (asp.Cenic, {"accuracy": True}, "accuracy must be a positive, finite number, got True"),
    (asp.Cenic, {"hessian_reuse": "no"}, "hessian_reuse must be True or False, got 'no'"),
    (asp.Cenic, {"error_estimate": ["trapezoid"]}, "error_estimate ['trapezoid'] is unknown"),
    (asp.Icf, {"max_iterations": "3"}, "max_iterations must be a positive whole number, got '3'"),
    (asp.Sap, {"relaxation_time": "x"}, "relaxation_time must be non-negative and finite"),
    (asp.Sap, {"max_iterations": 2.5}, "max_iterations must be a positive whole number"),
    (asp.Tamsi, {"max_iterations": 2.5}, "max_iterations must be a positive whole number"),
    (asp.Midas, {"subdivisions": 1.5}, "subdivisions must be a positive whole number, got 1.5"),
    (asp.Midas, {"segments": "x"}, "segments must be a multiple of 4"),
    (asp.Midas, {"activation_distance": "x"}, "activation_distance must be a positive"),
]


@pytest.mark.parametrize(("kind", "given", "message"), INTEGRATORS)
def test_integrators(kind: type, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        kind(**given)
    assert message in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    assert asp.Cenic(accuracy=np.float32(1e-3), max_iterations=np.int64(5)).max_iterations == 5
    assert ContactParameters(friction=np.float64(0.5)).friction == 0.5


def system(**options: Any) -> asp.systems.FunctionSystem:
    return asp.systems.FunctionSystem(lambda z, x: [0.0], **{"joints": ["up"], **options})


def bound(make: Callable[[], asp.systems.ExternalSystem]) -> Callable[[], Any]:
    return lambda: asp.Simulator(MODEL, systems=[make()])


SYSTEMS: list[tuple[Callable[[], Any], str]] = [
    (lambda: asp.systems.PidController(3, kp=1.0), "joints must be a list of names, got 3"),  # type: ignore[arg-type]
    (lambda: asp.systems.Suction(3, force=1, reach=1), "sources must be a list of names, got 3"),  # type: ignore[arg-type]
    (lambda: asp.systems.Suction("g", force="x", reach=1), "force must be a number, got 'x'"),  # type: ignore[arg-type]
    (
        lambda: asp.systems.InverseDynamicsController("up", kp=1, model=3),  # type: ignore[arg-type]
        "model must be a mujoco.MjModel, got int",
    ),
    (lambda: system(parameters="x"), "parameters must be numbers, got 'x'"),
    (bound(lambda: system(joints=3)), "joints must be a list of names, got 3"),
    (bound(lambda: system(sample_time="x")), "sample_time must be positive and finite, got 'x'"),
    (bound(lambda: system(error_weight="x")), "error_weight must be non-negative and finite"),
    (bound(lambda: system(implicit="no")), "implicit must be True or False, got 'no'"),
]


@pytest.mark.parametrize(("make", "message"), SYSTEMS)
def test_external_systems(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        make()
    assert message in str(caught.value)


def test_trajectories_refuse_times_that_are_none() -> None:
    run = asp.simulate(MODEL, (0.0, 0.01))
    with pytest.raises(ArgumentError, match="times must be numbers, got 'x'"):
        run.at("x")
    with pytest.raises(ArgumentError, match="times must lie within the trajectory"):
        run.at(np.nan)


LATIN: list[tuple[str, str]] = [
    ('<custom><text name="é" data="x"/></custom>', "custom text 0 has the name b'\\xe9', which is"),
    ('<worldbody><geom name="sphère" size="1"/></worldbody>', "geom 0 has the name b'sph\\xe8re'"),
    ('<custom><text name="asperity" data="é"/></custom>', "<text name='asperity'>: b'\\xe9' is"),
]


@pytest.mark.parametrize(("inside", "message"), LATIN)
def test_names_that_are_not_utf_8(inside: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    path.write_bytes(f"<mujoco>{inside}</mujoco>".encode("latin-1"))
    for source in (path, mujoco.MjModel.from_xml_path(str(path))):
        with pytest.raises(ModelError) as caught:
            asp.Simulator(source)
        assert message in str(caught.value)
        assert "save the model's file as UTF-8" in str(caught.value)
    # In UTF-8 there is nothing wrong with such names.
    if "asperity" not in inside:
        path.write_text(f"<mujoco>{inside}</mujoco>", encoding="utf-8")
        asp.load_model(path)


def test_definitions_of_document_types() -> None:
    for root in ("mujoco", "robot"):
        text = f'<!DOCTYPE {root} [<!ENTITY size "0.1">]><{root}/>'
        with pytest.raises(ModelError, match=r"document type declaration \(<!DOCTYPE \.\.\.>\)"):
            asp.load_model(text)


def test_options_of_loading() -> None:
    robot = '<robot name="x"><link name="a"/></robot>'
    with pytest.raises(ArgumentError, match="package_paths must be a list of folders, got 'abc'"):
        asp.load_model(robot, package_paths="abc")
    with pytest.raises(ArgumentError, match="floating_base must be True or False, got 'yes'"):
        asp.load_model(robot, floating_base="yes")  # type: ignore[arg-type]


STEPPED: dict[str, tuple[str, dict[str, Any]]] = {
    "a file for the model": ("model must be a mujoco.MjModel, got str", {"model": "scene.xml"}),
    "no data": ("data must be a mujoco.MjData, got None", {"data": None}),
    "half a step": ("nstep must be a whole number of steps, got 0.5", {"nstep": 0.5}),
    "a number of systems": ("systems must be a list of external systems, got 3", {"systems": 3}),
}


@pytest.mark.parametrize("case", STEPPED)
def test_arguments_of_the_drop_in_step(case: str) -> None:
    message, wrong = STEPPED[case]
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    arguments = {"model": model, "data": mujoco.MjData(model), **wrong}
    with pytest.raises(ArgumentError) as caught:
        asp.step(**arguments)
    assert message in str(caught.value)

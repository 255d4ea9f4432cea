"""Derivatives through flexes that yield, against differences of steps and of motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import rope_models
from derivatives import derivative_models as models
from soft_models import Array

import asperity as asp
from asperity.derivatives import Transition, flex_elasticity, model_number
from asperity.derivatives.transition_worlds import TransitionWorlds

ICF = asp.Icf(time_step=2e-3, resolve_impacts=False)
_NO_CONTACT = "<contact contype='0' conaffinity='0' selfcollide='none'/>"
# Displacements of differences, of velocities larger ones: the best of them counts.
_SIZES = (1e-6, 1e-7, 1e-8)
_FASTER = 1e3

pytestmark = pytest.mark.filterwarnings("ignore:.*Nothing can collide")


def _press(limit: float = 0.03, cells: str = "") -> str:
    """A cube between plates with friction, of which a servo presses one."""
    return (
        "<geom type='plane' size='1 1 0.1' friction='0.3'/><body pos='0 0 0.065' gravcomp='1'>"
        "<joint name='press' type='slide' axis='0 0 1' damping='10'/>"
        "<geom type='box' size='0.06 0.06 0.01' mass='1' friction='0.3'/></body>"
        "<flexcomp name='foam' type='grid' dim='3' count='2 2 3' spacing='0.04 0.04 0.025'"
        f" pos='0 0 0.0266' radius='0.0005' mass='0.1' {cells}><elasticity young='5e4'"
        f" poisson='0.3' damping='0.005' yield='{limit}'/><contact selfcollide='none'"
        " friction='0.4'/></flexcomp>"
    )


def _cloth(limits: str) -> str:
    return (
        "<flexcomp name='cloth' type='grid' dim='2' count='4 3 1' spacing='0.1 0.1 0.1' mass='0.3'"
        f" radius='0.01'><pin id='0 3'/><elasticity young='2e4' poisson='0.3' thickness='0.02'"
        f" damping='0.01' elastic2d='both' yield='{limits}'/>{_NO_CONTACT}</flexcomp>"
    )


def _bar(cells: str = "") -> str:
    return (
        "<flexcomp name='bar' type='grid' dim='3' count='3 2 2' spacing='0.1 0.1 0.1' mass='1'"
        f" radius='0.001' {cells}><elasticity young='1e5' poisson='0.3' damping='0.01'"
        f" yield='0.01'/>{_NO_CONTACT}</flexcomp>"
    )


_SERVO = "<actuator><position joint='press' kp='2e4' kv='200'/></actuator>"


def _compiled(body: str, sections: str = "") -> tuple[mujoco.MjSpec, mujoco.MjModel]:
    spec = mujoco.MjSpec.from_string(
        f"<mujoco><option integrator='discrete'/><worldbody>{body}</worldbody>{sections}</mujoco>"
    )
    return spec, spec.compile()


def _thrown(model: mujoco.MjModel, steps: int, size: float = 8e-3) -> mujoco.MjData:
    """Deformed and thrown about, and after some steps."""
    random = np.random.default_rng(1)
    data = mujoco.MjData(model)
    data.qpos[:] += size * random.normal(size=model.nq)
    data.qvel[:] = 0.5 * random.normal(size=model.nv)
    if steps:
        asp.step(model, data, steps, integrator=ICF)
    return data


def _pressed(model: mujoco.MjModel, steps: int, *, release: int = 0) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.ctrl[:] = -0.015
    asp.step(model, data, steps, integrator=ICF)
    if release:
        data.ctrl[:] = 0.02
        asp.step(model, data, release, integrator=ICF)
    return data


def _foam_that_flows() -> mujoco.MjData:
    return _pressed(_compiled(_press(), _SERVO)[1], 12)


def _foam_let_go() -> mujoco.MjData:
    return _pressed(_compiled(_press(), _SERVO)[1], 20, release=4)


def _cells_that_flow() -> mujoco.MjData:
    return _pressed(_compiled(_press(cells="dof='trilinear' cellcount='1 1 2'"), _SERVO)[1], 12)


def _flying_bar() -> mujoco.MjData:
    return _thrown(_compiled(_bar())[1], 0)


def _flying_quadratic_cell() -> mujoco.MjData:
    return _thrown(_compiled(_bar("dof='quadratic' cellcount='1 1 1'"))[1], 0)


def _bar_beside_a_rope() -> mujoco.MjData:
    """Ropes have numbers among those of the state that stay as they are."""
    rope = "<flexcomp name='rope' type='grid' dim='1' count='4 1 1' spacing='0.1 0.1 0.1' mass='.1'"
    rope += f" pos='0 1 1' radius='0.005'><elasticity young='1e6' poisson='0.3'/>{_NO_CONTACT}"
    return _thrown(_compiled(_bar() + rope + "</flexcomp>")[1], 0)


def _pad_on_a_spinning_body() -> mujoco.MjData:
    data = _thrown(
        _compiled(
            "<body name='b' pos='0 0 1'><freejoint/><flexcomp name='pad' type='grid' dim='3'"
            " count='3 2 2' spacing='0.02 0.02 0.02' radius='0.0005' mass='0.05'>"
            "<pin gridrange='0 0 0 2 1 0'/><elasticity young='1e5' poisson='0.3' damping='0.005'"
            f" yield='0.01'/>{_NO_CONTACT}</flexcomp><geom type='box' size='0.03 0.03 0.02'"
            " mass='0.2' contype='0' conaffinity='0'/></body>"
        )[1],
        0,
        2e-3,
    )
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qvel[3:6] = [2.0, 4.0, 3.0]
    return data


def _stretched_cloth() -> mujoco.MjData:
    return _thrown(_compiled(_cloth("0.01 0"))[1], 3)


def _bent_cloth() -> mujoco.MjData:
    return _thrown(_compiled(_cloth("0 0.004"))[1], 3)


def _cloth_of_both() -> mujoco.MjData:
    return _thrown(_compiled(_cloth("0.01 0.004"))[1], 1)


def _cloth_in_air() -> mujoco.MjData:
    """What elements do by positions is not known in closed form beside fluids."""
    model = _compiled(_cloth("0.01 0.004"))[1]
    model.opt.density = 1.2
    return _thrown(model, 1)


def _flat_cloth_with_a_crease() -> mujoco.MjData:
    """It is unfolded at once, beyond its limit."""
    model = _compiled(_cloth("0.5 0.001"))[1]
    data = mujoco.MjData(model)
    data.qpos[0::3] = 0.1 * model.body_pos[model.jnt_bodyid[0::3], 0]
    data.qpos[1::3] = 0.05 * model.body_pos[model.jnt_bodyid[1::3], 1]
    data.plastic[:] = np.where(np.arange(model.nplastic) < 3 * model.flex_elemnum[0], 0.0, 2.0)
    model.opt.gravity[:] = 0.0
    return data


def _displaced(transition: Transition, index: int) -> float:
    """What belongs to a displacement of positions by a metre; of what has yielded, moves them so."""
    model = transition.model
    slot = index - 2 * model.nv - model.na
    if slot < 0:
        return 1.0 if index < model.nv else _FASTER
    world = transition._derivative.simulator.session.world
    length = float(world.plant.table.elastic.plastic_length[slot])
    return 1.0 / length if length > 0.0 else 1.0


def _differences(transition: Transition, state: Array, control: Array, size: float) -> Array:
    """Central differences of a transition by states and controls."""
    count = transition.tangent_size
    columns = []
    for index in range(count + len(control)):
        change = np.zeros(count + len(control))
        change[index] = size * (_displaced(transition, index) if index < count else _FASTER)
        ends = [
            transition(
                transition.displace(state, sign * change[:count]), control + sign * change[count:]
            )
            for sign in (-1.0, 1.0)
        ]
        columns.append(transition.difference(*ends) / (2.0 * change[index]))
    return np.array(columns).T


def _parts(transition: Transition) -> list[slice]:
    """Positions, velocities, and what has yielded."""
    nv = transition.model.nv
    return [slice(0, nv), slice(nv, 2 * nv), slice(2 * nv, transition.tangent_size)]


@pytest.mark.parametrize(
    ("scene", "flows", "most"),
    [
        (_foam_that_flows, True, 1e-5),
        (_foam_let_go, False, 1e-5),
        (_cells_that_flow, True, 1e-5),
        (_flying_bar, True, 1e-6),
        (_flying_quadratic_cell, True, 1e-6),
        (_bar_beside_a_rope, True, 1e-6),
        (_pad_on_a_spinning_body, True, 1e-6),
        (_stretched_cloth, True, 1e-6),
        (_bent_cloth, True, 1e-6),
        (_cloth_of_both, True, 1e-6),
        (_cloth_in_air, True, 1e-6),
        (_flat_cloth_with_a_crease, True, 1e-6),
    ],
)
def test_steps_agree_with_differences(
    scene: Callable[[], mujoco.MjData], flows: bool, most: float
) -> None:
    """Every part of the end by every part of the beginning, and by controls."""
    data = scene()
    model = data.model
    lin = asp.derivatives.linearize(model, data, integrator=ICF, sensors=False)
    transition = Transition(model, integrator=ICF)
    state, size = transition.state_of(data), transition.tangent_size
    assert size == 2 * model.nv + model.nplastic
    assert lin.A.shape == (size, size)
    assert lin.B.shape == (size, model.nu)
    assert lin.method == "implicit"
    assert np.any(lin.plastic != data.plastic) == flows
    ours = np.concatenate([lin.A, lin.B], axis=1)
    parts = _parts(transition)
    columns = [*parts, slice(size, size + model.nu)][: 3 + (model.nu > 0)]
    errors = np.full((len(parts), len(columns)), np.inf)
    for step in _SIZES:
        expected = _differences(transition, state, data.ctrl, step)
        for i, rows in enumerate(parts):
            for k, part in enumerate(columns):
                largest = max(np.abs(expected[rows, part]).max(), 1e-12)
                error = np.abs(ours[rows, part] - expected[rows, part]).max() / largest
                errors[i, k] = min(errors[i, k], error)
    assert errors.max() < most, errors


@pytest.mark.parametrize("scene", [_foam_that_flows, _cells_that_flow, _bent_cloth])
def test_the_step_is_the_simulator_s(scene: Callable[[], mujoco.MjData]) -> None:
    data = scene()
    exact = replace(ICF, tolerance=1e-12, friction_tolerance=1e-10, friction_passes=200)
    lin = asp.derivatives.linearize(data.model, data, integrator=exact, sensors=False)
    before = data.plastic.copy()
    asp.step(data.model, data, 1, integrator=exact)
    assert np.any(data.plastic != before)
    np.testing.assert_allclose(lin.qpos, data.qpos, atol=1e-9)
    np.testing.assert_allclose(lin.plastic, data.plastic, atol=1e-6 * np.abs(data.plastic).max())


Case = tuple[Transition, Array, Array]


def _foam_case(cells: str = "") -> Case:
    """Pressed beyond its yield, and let go."""
    spec, model = _compiled(_press(cells=cells), _SERVO)
    parameters = flex_elasticity(spec, "foam", "young", "poisson", "damping")
    parameters += [
        model_number(model, "flex_friction", (0, 0)),
        model_number(model, "flex_yield", (0, 0), size=1e-6),
    ]
    transition = Transition(model, integrator=ICF, parameters=parameters)
    controls = np.concatenate([np.full((20, 1), -0.015), np.full((15, 1), 0.03)])
    return transition, transition.state_of(mujoco.MjData(model)), controls


def _cloth_case() -> Case:
    spec, model = _compiled(_cloth("0.01 0.004"))
    parameters = flex_elasticity(spec, "cloth", "young", "poisson", "damping")
    parameters += [model_number(model, "flex_yield", (0, k), size=1e-6) for k in range(2)]
    transition = Transition(model, integrator=ICF, parameters=parameters)
    return transition, transition.state_of(_thrown(model, 0, 5e-3)), np.zeros((30, 0))


@pytest.mark.parametrize(
    "case",
    [_foam_case, lambda: _foam_case("dof='trilinear' cellcount='1 1 1'"), _cloth_case],
    ids=["foam", "cells", "cloth"],
)
def test_motions_by_parameters(case: Callable[[], Case]) -> None:
    """Through yield and release, forward and backward; of cloth at every step of the flow."""
    transition, start, controls = case()
    steps, size = len(controls), transition.tangent_size
    found = transition.sensitivities(start, controls, by_state=True)
    count = transition.model.nplastic
    flows = np.any(np.diff(found.states[:, -count:], axis=0) != 0.0, axis=1)
    assert np.count_nonzero(flows) > 5
    weights = np.zeros((steps + 1, size))
    weights[-1] = np.random.default_rng(3).normal(size=size)
    weights[steps // 2, -count:] = np.random.default_rng(4).normal(size=count)
    backward = transition.gradient(start, controls, weights)
    for ours, theirs in (
        (backward.by_parameter, found.by_parameter),
        (backward.by_state, found.by_state),
    ):
        expected = np.einsum("ki,kij->j", weights, theirs)
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())

    def function(states: Array) -> float:
        changes = [transition.difference(found.states[k], states[k]) for k in range(steps + 1)]
        return float(np.sum(weights * np.array(changes)))

    rng = np.random.default_rng(5)
    for part in _parts(transition):
        direction = np.zeros(size)
        direction[part] = rng.normal(size=part.stop - part.start)
        direction *= [_displaced(transition, index) for index in range(size)]
        slopes = [
            (
                function(transition.trajectory(transition.displace(start, h * direction), controls))
                - function(
                    transition.trajectory(transition.displace(start, -h * direction), controls)
                )
            )
            / (2.0 * h)
            for h in (1e-6, 1e-7, 1e-8)
        ]
        slope = float(backward.by_state @ direction)
        assert min(abs(one / slope - 1.0) for one in slopes) < 1e-5
    if transition.model.nu:
        push = rng.normal(size=controls.shape)
        ends = [function(transition.trajectory(start, controls + h * push)) for h in (1e-7, -1e-7)]
        slope = float(np.sum(backward.by_control * push))
        assert (ends[0] - ends[1]) / 2e-7 == pytest.approx(slope, rel=1e-5)
    values = np.array(transition.values)
    for index, value in enumerate(values):
        errors = []
        for change in (1e-3 * value, 1e-4 * value, 1e-5 * value):
            ends = []
            for sign in (1.0, -1.0):
                moved = values.copy()
                moved[index] += sign * change
                transition.set_parameters(moved)
                ends.append(transition.trajectory(start, controls)[-1])
            difference = transition.difference(ends[1], ends[0]) / (2.0 * change)
            ours = found.by_parameter[-1, :, index]
            errors.append(
                max(
                    np.abs((ours - difference)[part]).max() / np.abs(difference[part]).max()
                    for part in _parts(transition)
                )
            )
        transition.set_parameters(values)
        assert min(errors) < 1e-5, transition.parameters[index].name


@pytest.mark.parametrize(("limits", "number"), [("0 0.004", 1), ("0.01 0", 0)])
def test_no_difference_crosses_the_yield_surface(limits: str, number: int) -> None:
    """An element is as far beyond it as 1e-7 of its limit, of which a difference takes 1e-3."""
    _, model = _compiled(_cloth(limits))
    state = Transition(model, integrator=ICF).state_of(_thrown(model, 1, 5e-3))

    def slope(limit: float, size: float) -> Array:
        parameter = model_number(model, "flex_yield", (0, number), size=size * limit)
        transition = Transition(model, integrator=ICF, parameters=[parameter])
        transition.set_parameters(np.array([limit]))
        return transition.linearize(state, np.zeros(0))[1].by_parameter

    high = float(model.flex_yield[0, number])
    transition = Transition(
        model, integrator=ICF, parameters=[model_number(model, "flex_yield", (0, number))]
    )

    def flowing(limit: float) -> int:
        transition.set_parameters(np.array([limit]))
        change = transition(state, np.zeros(0)) - state
        return int(np.count_nonzero(change[-model.nplastic :]))

    low = 0.5 * high
    most = flowing(low)
    assert most > flowing(high)
    while high - low > 1e-7 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if flowing(middle) == most else (low, middle)
    near = slope(low, 1e-8)
    np.testing.assert_allclose(slope(low, 1e-3), near, atol=1e-5 * np.abs(near).max())


def test_sensors_of_accelerations_by_what_has_yielded() -> None:
    """C has columns of it, against displaced states; positions do not depend on it."""
    sensors = (
        "<sensor><framelinacc objtype='body' objname='bar_5'/>"
        "<framepos objtype='body' objname='bar_5'/></sensor>"
    )
    _, model = _compiled(_bar(), sensors)
    data = _thrown(model, 1)
    assert data.plastic.any()
    lin = asp.derivatives.linearize(model, data, integrator=ICF)
    size = 2 * model.nv + model.nplastic
    assert lin.C.shape == (6, size)
    simulator = asp.Simulator(model, integrator=replace(ICF, tolerance=1e-14))
    own = simulator.data
    for index in range(2 * model.nv, size, 5):
        sides = []
        for sign in (1e-6, -1e-6):
            own.qpos[:], own.qvel[:], own.plastic[:] = data.qpos, data.qvel, data.plastic
            own.plastic[index - 2 * model.nv] += sign
            simulator.advance_to(simulator.time)
            sides.append(own.sensordata.copy())
        slope = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(lin.C[:, index], slope, atol=1e-5 * np.abs(slope).max())


def test_worlds_are_single_ones_with_what_they_have_yielded() -> None:
    """Gradients by states as they are stored, of a body with a quaternion, too."""
    data = _pad_on_a_spinning_body()
    transition = Transition(data.model, integrator=ICF)
    state = transition.state_of(data)
    assert transition.state_size == len(state) == data.model.nq + data.model.nv + len(data.plastic)
    starts = np.stack([state, transition(state, np.zeros(0))])
    controls = np.zeros((2, 3, 0))
    worlds = TransitionWorlds(transition, threads=2)
    runs = worlds.trajectories(starts, controls)
    weights = np.random.default_rng(6).normal(size=runs.shape)
    for found, start, run, weight in zip(
        worlds.pull_back_trajectories(runs, controls, weights), starts, runs, weights, strict=True
    ):
        np.testing.assert_array_equal(run, transition.trajectory(start, controls[0]))
        direction = np.random.default_rng(7).normal(size=transition.tangent_size)
        direction *= [_displaced(transition, k) for k in range(len(direction))]
        ends = [
            transition.trajectory(transition.displace(start, h * direction), controls[0])
            for h in (1e-7, -1e-7)
        ]
        slope = np.sum(weight * (ends[0] - ends[1])) / 2e-7
        moved = transition.displace(start, 1e-7 * direction) - start
        assert np.sum(found[0] * moved) / 1e-7 == pytest.approx(slope, rel=1e-5)


def test_nothing_is_longer_without_yield() -> None:
    """Also beside ropes, whose own numbers of `MjData.plastic` are no part of the state then."""
    data = mujoco.MjData(rope_models.rod(4))
    lin = asp.derivatives.linearize(data.model, data, integrator=ICF)
    size = 2 * data.model.nv
    assert data.model.nplastic > 0
    assert lin.A.shape == (size, size)
    assert lin.plastic.shape == (0,)
    assert Transition(data.model, integrator=ICF).tangent_size == size
    assert models.Differences(data.model, ICF).end(data, np.zeros(size))[0].shape == data.qpos.shape

"""Derivatives of steps of deformable bodies, against differences of whole steps and motions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import rope_models
import soft_models
from derivatives import derivative_models as models

import asperity as asp
from asperity.derivatives import Parameter, Transition, flex_elasticity, model_number
from asperity.derivatives.transition_worlds import TransitionWorlds

# Bounds of friction are those of the solution: differences tell what else derivatives leave out.
ICF = asp.Icf(time_step=2e-3, resolve_impacts=False, friction_tolerance=1e-6)
FLOOR = "<geom name='floor' type='plane' size='1 1 0.1' friction='0.3'/>"
_BALL = "<body pos='{} {} {}'><freejoint/><geom size='{}' mass='{}' friction='0.6'/></body>"
_CLOTH = (
    "<flexcomp name='cloth' type='grid' dim='2' count='4 4 1' spacing='0.05 0.05 0.05' pos='0 0 1'"
    " mass='0.1' radius='0.001'><pin id='0 3'/><elasticity young='1e5' poisson='0.3'"
    " thickness='1e-3' damping='0.01' elastic2d='both'/>"
    "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
)
_TRILINEAR = (
    "<flexcomp name='cube' type='grid' dim='3' count='3 3 3' spacing='0.02 0.02 0.02'"
    " pos='0 0 0.0209' mass='0.1' radius='0.001' dof='trilinear'>"
    "<elasticity young='1e5' poisson='0.3' damping='0.01'/><contact selfcollide='none'/></flexcomp>"
)
# Displacements of differences: the best of them counts.
_SIZES = (1e-6, 1e-7, 1e-8, 1e-9)


def _thrown(model: mujoco.MjModel, speed: float) -> mujoco.MjData:
    """Deformed, and thrown about."""
    random = np.random.default_rng(1)
    data = mujoco.MjData(model)
    data.qpos[:] += 2e-3 * random.normal(size=model.nq)
    data.qvel[:] = speed * random.normal(size=model.nv)
    return data


def _simulated(model: mujoco.MjModel, steps: int, speed: float = 0.0) -> mujoco.MjData:
    """After some steps, from a motion along x."""
    data = mujoco.MjData(model)
    data.qvel[::3] = speed
    asp.step(model, data, steps, integrator=ICF)
    return data


def _flying_cube() -> mujoco.MjData:
    return _thrown(soft_models.compile_soft(soft_models.cube()), 1.0)


def _lying_cube() -> mujoco.MjData:
    cube = soft_models.cube(height=0.0251)
    return _simulated(soft_models.compile_soft(FLOOR + cube), 60)


def _sliding_cube() -> mujoco.MjData:
    cube = soft_models.cube(height=0.0251, friction=0.2)
    return _simulated(soft_models.compile_soft(FLOOR + cube), 30, 1.0)


def _pressed_cube() -> mujoco.MjData:
    """A ball touches vertices, and lies on them."""
    world = FLOOR + soft_models.cube(height=0.0251) + _BALL.format(0.004, 0.003, 0.0745, 0.03, 0.3)
    return _simulated(soft_models.compile_soft(world), 60)


def _turning_ball() -> mujoco.MjData:
    """A ball turns on a vertex against torsion, and a hinged one rolls on others."""
    every = "<geom size='0.03' mass='0.3' condim='6' friction='0.6 0.02 0.01'"
    world = (
        FLOOR
        + soft_models.cube(height=0.0251)
        + (
            f"<body pos='0 0 0.0765'><freejoint/>{every}/></body>"
            f"<body pos='0.05 0 0.0755'><joint axis='0 1 0'/>{every} pos='-0.025 0 0'/></body>"
        )
    )
    model = soft_models.compile_soft(world)
    data = _simulated(model, 60)
    data.qvel[-7:-1] = 0.0, 0.0, 0.0, 2.0, 1.0, 5.0
    data.qvel[-1] = 0.5
    asp.step(model, data, 2, integrator=ICF)
    return data


def _between_vertices() -> mujoco.MjData:
    """A small ball lies on a face of an element, beside its edges."""
    ball = _BALL.format(0.006, 0.012, 0.0595, 0.009, 0.05)
    model = soft_models.compile_soft(FLOOR + soft_models.cube(height=0.0251) + ball)
    return _simulated(_exact(model), 20)


def _tied_cube() -> mujoco.MjData:
    """A weight hangs on a corner."""
    weight = (
        "<body name='weight' pos='0 0 0.1'><freejoint/>"
        "<geom size='0.01' mass='0.1' contype='0' conaffinity='0'/></body>"
    )
    tie = "<equality><connect body1='weight' body2='cube_26' anchor='0 0 0'/></equality>"
    model = soft_models.compile_soft(FLOOR + soft_models.cube(height=0.0251) + weight, sections=tie)
    return _simulated(model, 20)


def _gripper() -> mujoco.MjData:
    model = soft_models.gripper(1e5, count=3)
    data = mujoco.MjData(model)
    data.ctrl[:] = [0.02, -0.02, 0.01]
    asp.step(model, data, 100, integrator=ICF)
    return data


def _pad(pins: str, height: float) -> str:
    """A cube, fixed to a body at some vertices."""
    return (
        "<flexcomp name='pad' type='grid' dim='3' count='3 3 3' spacing='0.02 0.02 0.02'"
        f" pos='0 0 {height}' radius='0.0005' mass='0.05'><pin gridrange='{pins}'/>"
        "<elasticity young='1e5' poisson='0.3' damping='0.005'/>"
        "<contact selfcollide='none'/></flexcomp><geom type='box' size='0.03 0.03 0.02' mass='0.2'"
        " contype='0' conaffinity='0'/>"
    )


def _spinning_body_with_pad() -> mujoco.MjData:
    body = f"<body name='b' pos='0 0 1'><freejoint/>{_pad('0 0 0 2 2 0', 0.04)}</body>"
    data = _thrown(soft_models.compile_soft(body), 0.2)
    data.qvel[:6] = [0.3, -0.2, 0.1, 2.0, 4.0, 3.0]
    return data


def _hinged_pad_on_the_floor() -> mujoco.MjData:
    joints = "<joint type='slide' axis='0 0 1'/><joint axis='0 1 0'/>"
    body = f"<body name='b' gravcomp='0.3' pos='0 0 0.0805'>{joints}{_pad('0 0 2 2 2 2', -0.06)}</body>"
    return _simulated(soft_models.compile_soft(FLOOR + body), 20)


def _trilinear_cube() -> mujoco.MjData:
    return _simulated(soft_models.compile_soft(FLOOR + _TRILINEAR), 40)


def _cloth() -> mujoco.MjData:
    model = soft_models.compile_soft(_CLOTH)
    data = _thrown(model, 0.3)
    asp.step(model, data, 20, integrator=ICF)
    return data


def _cloth_on_ball() -> mujoco.MjData:
    """On a free ball, which it touches between its vertices."""
    cloth = _CLOTH.replace("<pin id='0 3'/>", "").replace("pos='0 0 1'", "pos='0.003 0.002 0.1205'")
    cloth = cloth.replace("contype='0' conaffinity='0'", "friction='0.4'")
    world = FLOOR + _BALL.format(0, 0, 0.0599, 0.06, 0.5) + cloth
    return _simulated(_exact(soft_models.compile_soft(world)), 40, 0.05)


def _curved_cloth() -> mujoco.MjData:
    data = _thrown(soft_models.compile_soft(soft_models.arch(5)), 0.3)
    asp.step(data.model, data, 20, integrator=ICF)
    return data


def _rope_of_springs() -> mujoco.MjData:
    inner = "<edge stiffness='2000' damping='0.5'/><pin id='0'/>"
    return _thrown(rope_models.rope(rope_models.line(7, 0.3), inner), 0.3)


def _tumbling_cloth() -> mujoco.MjData:
    """Its triangles turn by half a radian in a step."""
    return _thrown(soft_models.compile_soft(_CLOTH), 8.0)


def _tumbling_rope() -> mujoco.MjData:
    inner = "<edge stiffness='2000' damping='0.5'/>"
    return _thrown(rope_models.rope(rope_models.line(7, 0.3), inner), 8.0)


def _rope_of_equalities() -> mujoco.MjData:
    inner = "<pin id='0'/>" + rope_models.EQUALITY
    return _simulated(rope_models.rope(rope_models.line(7, 0.3), inner), 50)


def _rope_on_cylinder() -> mujoco.MjData:
    model = rope_models.rope(
        rope_models.line(9, 0.4) - [0.2, 0.0, -0.0549],
        "<edge stiffness='5000' damping='1'/>",
        contact="<contact selfcollide='none' friction='0.4'/>",
        world="<geom type='cylinder' size='0.05 0.1' euler='90 0 0' pos='0.02 0 0'/>",
    )
    return _simulated(_exact(model), 40)


def _rod() -> mujoco.MjData:
    """Bent and twisted, in no plane."""
    return _thrown(rope_models.rod(5), 3.0)


def _rod_of_equalities() -> mujoco.MjData:
    """Its edges keep their length, bend and twist, and are pulled by a weight at its end."""
    weight = "<body name='weight' pos='0.3 0 0.1'><freejoint/><geom size='0.01' mass='0.1'/></body>"
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><option integrator='discrete'/><worldbody>" + weight + "<flexcomp name='rope'"
        " type='direct' dim='1' mass='0.05' radius='0.004' point='0 0 0 0.1 0 0 0.2 0 0 0.3 0 0'"
        " element='0 1 1 2 2 3'><pin id='0'/><elasticity young='1e7' poisson='0.3' damping='0.01'/>"
        "<edge equality='true'/><contact contype='0' conaffinity='0' selfcollide='none'/>"
        "</flexcomp></worldbody><equality><connect body1='weight' body2='rope_3' anchor='0 0 0'/>"
        "</equality></mujoco>"
    )
    data = _thrown(model, 0.3)
    asp.step(model, data, 20, integrator=ICF)
    return data


def _exact(model: mujoco.MjModel) -> mujoco.MjModel:
    """With distances of edges and faces to round-off."""
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-13, 500
    return model


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(
    "scene",
    [
        *(_flying_cube, _lying_cube, _sliding_cube, _pressed_cube, _between_vertices, _gripper),
        *(_tied_cube, _turning_ball),
        *(_trilinear_cube, _spinning_body_with_pad, _hinged_pad_on_the_floor),
        *(_cloth, _cloth_on_ball, _curved_cloth, _tumbling_cloth, _tumbling_rope),
        *(_rope_of_springs, _rope_of_equalities, _rope_on_cylinder, _rod, _rod_of_equalities),
    ],
)
def test_steps_agree_with_differences_of_whole_steps(
    scene: Callable[[], mujoco.MjData],
) -> None:
    data = scene()
    model = data.model
    lin = asp.derivatives.linearize(model, data, integrator=ICF, sensors=False)
    assert lin.method == "implicit"
    differences = models.Differences(model, ICF)
    ours = np.concatenate([lin.A, lin.B], axis=1)
    errors = []
    for size in _SIZES:
        ahead, behind = differences.sides(data, size)
        errors.append(models.error(ours, 0.5 * (ahead + behind)))
    assert min(errors) < 1e-5


def _flight() -> str:
    return soft_models.cube()


def _cantilever() -> str:
    return (
        "<flexcomp name='cube' type='grid' dim='3' count='6 2 2' pos='0.25 0 0' radius='0.001'"
        " spacing='0.1 0.1 0.1' mass='1'><pin gridrange='0 0 0 0 1 1'/>"
        "<elasticity young='2e5' poisson='0.3' damping='0.01'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
    )


def _slide() -> str:
    return FLOOR + soft_models.cube(height=0.0251, friction=0.4)


def _mass_of_all(model: mujoco.MjModel) -> Parameter:
    """Masses of vertices over those of the model."""
    bodies = np.unique(model.flex_vertbodyid[model.body_dofnum[model.flex_vertbodyid] > 0])
    mass, inertia = model.body_mass[bodies].copy(), model.body_inertia[bodies].copy()

    def write(target: mujoco.MjModel, value: float) -> None:
        target.body_mass[bodies] = value * mass
        target.body_inertia[bodies] = value * inertia

    return Parameter("mass", 1.0, write)


def _compiled(body: str) -> tuple[mujoco.MjSpec, mujoco.MjModel]:
    spec = mujoco.MjSpec.from_string(
        f"<mujoco><option integrator='discrete'/><worldbody>{body}</worldbody></mujoco>"
    )
    return spec, spec.compile()


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize(("body", "steps"), [(_flight, 20), (_cantilever, 40), (_slide, 40)])
def test_motions_by_parameters(body: Callable[[], str], steps: int) -> None:
    """Young's modulus, Poisson's ratio, damping, friction and masses; forward and backward."""
    spec, model = _compiled(body())
    parameters = flex_elasticity(spec, "cube", "young", "poisson", "damping")
    parameters += [model_number(model, "flex_friction", (0, 0)), _mass_of_all(model)]
    transition = Transition(model, integrator=ICF, parameters=parameters)
    data = mujoco.MjData(model)
    data.qvel[:] = 0.5 * np.random.default_rng(2).normal(size=model.nv)
    if body is _slide:
        data.qvel[::3] += 1.0
    start, controls = transition.state_of(data), np.zeros((steps, 0))
    found = transition.sensitivities(start, controls).by_parameter[-1]
    weights = np.zeros((steps + 1, transition.tangent_size))
    weights[-1] = np.random.default_rng(3).normal(size=transition.tangent_size)
    backward = transition.gradient(start, controls, weights).by_parameter
    np.testing.assert_allclose(backward, weights[-1] @ found, rtol=1e-5, atol=1e-9)
    values = np.array(transition.values)
    for index, value in enumerate(values):
        errors = []
        for size in (1e-3 * value, 1e-4 * value):
            ends = []
            for sign in (1.0, -1.0):
                moved = values.copy()
                moved[index] += sign * size
                transition.set_parameters(moved)
                ends.append(transition.trajectory(start, controls)[-1])
            difference = (ends[0] - ends[1]) / (2.0 * size)
            largest = np.abs(difference).max()
            errors.append(np.abs(found[:, index] - difference).max() / max(largest, 1e-9))
        transition.set_parameters(values)
        assert min(errors) < 1e-5, parameters[index].name


def test_elasticity_is_that_of_a_spec_compiled_anew() -> None:
    """Also of contacts, which are stiffer than what is behind them."""
    spec, model = _compiled(_slide())
    parameters = flex_elasticity(spec, "cube", "young", "poisson")
    (flex,) = spec.flexes
    flex.young, flex.poisson = 3e5, 0.2
    transition = Transition(model, integrator=ICF, parameters=parameters)
    transition.set_parameters(np.array([3e5, 0.2]))
    other = Transition(spec.compile(), integrator=ICF)
    start, controls = transition.state_of(mujoco.MjData(model)), np.zeros((30, 0))
    ends = [one.trajectory(start, controls)[-1] for one in (transition, other)]
    np.testing.assert_allclose(*ends, atol=1e-12)


@pytest.mark.parametrize("name", ["cloth", "rod", "cube", "net"])
def test_elasticity_of_one_flex_of_several(name: str) -> None:
    """What MuJoCo compiles, and nothing of other flexes."""
    plate = (
        "<flexcomp name='{}' type='grid' dim='2' count='4 4 1' spacing='0.05 0.05 0.05' mass='0.1'"
        " pos='0 0 {}'><elasticity young='1e5' poisson='0.2' thickness='1e-3' elastic2d='{}'/>"
        "</flexcomp>"
    )
    rod = (
        "<flexcomp name='rod' type='grid' dim='1' count='6 1 1' spacing='0.05 0.05 0.05' mass='0.1'"
        " pos='0 1 1' radius='0.005'><elasticity young='1e6' poisson='0.3'/></flexcomp>"
    )
    spec, model = _compiled(
        plate.format("cloth", 1, "both")
        + rod
        + soft_models.cube()
        + plate.format("net", 2, "stretch")
    )
    values = {"young": 7e5, "poisson": 0.1, "damping": 0.5}
    for parameter, value in zip(flex_elasticity(spec, name, *values), values.values(), strict=True):
        assert parameter.set_in_model is not None
        parameter.set_in_model(model, value)
    (flex,) = [one for one in spec.flexes if one.name == name]
    flex.young, flex.poisson, flex.damping = values.values()
    expected = spec.compile()
    for array in ("flex_stiffness", "flex_bending", "flex_damping"):
        np.testing.assert_array_equal(getattr(model, array), getattr(expected, array))


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_a_rod_s_adjoint_is_its_product() -> None:
    data = _rod()
    model = data.model
    transition = Transition(model, integrator=ICF)
    controls, weights = np.zeros((3, 0)), np.zeros((4, transition.tangent_size))
    weights[-1] = np.random.default_rng(4).normal(size=transition.tangent_size)
    states = transition.trajectory(transition.state_of(data), controls)
    expected = weights[-1]
    for state in states[-2::-1]:
        data.qpos[:], data.qvel[:] = np.split(state, [model.nq])
        lin = asp.derivatives.linearize(model, data, integrator=ICF, sensors=False)
        expected = expected @ lin.A
    found = transition.gradient(states[0], controls, weights).by_state
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
@pytest.mark.parametrize("scene", [_flying_cube, _sliding_cube, _cloth, _rod])
def test_the_step_is_the_simulator_s(scene: Callable[[], mujoco.MjData]) -> None:
    data = scene()
    exact = replace(ICF, tolerance=1e-12, friction_tolerance=1e-10, friction_passes=200)
    differences = models.Differences(data.model, exact)
    lin = asp.derivatives.linearize(data.model, data, integrator=exact, sensors=False)
    qpos, qvel, _ = differences.simulated(data)
    np.testing.assert_allclose(lin.qpos, qpos, atol=1e-9)
    np.testing.assert_allclose(lin.qvel, qvel, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*Nothing can collide")
def test_many_worlds_are_single_ones() -> None:
    """On threads, each with a spec of its own; steps do not remember tensions."""
    rope = (
        "<flexcomp name='rope' type='grid' dim='1' count='6 1 1' spacing='0.05 0.05 0.05'"
        " mass='0.1' radius='0.005'><pin id='0'/><edge stiffness='1000' damping='0.5'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
    )
    spec = mujoco.MjSpec.from_string(f"<mujoco><worldbody>{rope}</worldbody></mujoco>")
    parameters = flex_elasticity(spec, "rope", "edgestiffness", "edgedamping")
    transition = Transition(spec.compile(), integrator=ICF, parameters=parameters)
    transition.set_parameters(np.array([2000.0, 1.0]))
    starts = np.random.default_rng(5).normal(scale=1e-2, size=(3, transition.state_size))
    controls, weights = np.zeros((3, 10, 0)), np.zeros((3, 11, transition.tangent_size))
    weights[:, -1] = 1.0
    worlds = TransitionWorlds(transition, threads=2)
    runs = worlds.trajectories(starts, controls)
    alone = [transition.trajectory(*one) for one in zip(starts, controls, strict=True)]
    np.testing.assert_array_equal(runs, alone)
    found = worlds.pull_back_trajectories(runs, controls, weights)
    for gradients, *one in zip(found, starts, controls, weights, strict=True):
        expected = transition.gradient(*one)
        np.testing.assert_allclose(gradients[2], expected.by_parameter, rtol=1e-12)


def test_what_is_not_there_is_refused_by_name() -> None:
    spec, model = _compiled(_slide())
    flying = soft_models.compile_soft(soft_models.cube())
    for integrator in (asp.Cenic(), asp.Midas(time_step=5e-3)):
        with pytest.raises(asp.ModelError, match=r"'cube' is deformable, .* those of Icf"):
            asp.derivatives.linearize(flying, mujoco.MjData(flying), integrator=integrator)
    with pytest.raises(asp.ArgumentError, match="no flex 'rope'"):
        flex_elasticity(spec, "rope", "young")
    with pytest.raises(asp.ArgumentError, match="'mass' is no number of a flex"):
        flex_elasticity(spec, "cube", "mass")
    other = _compiled(FLOOR + soft_models.cube(count=2))[0]
    (young,) = flex_elasticity(other, "cube", "young")
    with pytest.raises(asp.ModelError, match=r"flex_stiffness has .* numbers"):
        Transition(model, integrator=ICF, parameters=[young])

"""Gradient and Hessian of the incremental potential against finite differences; the linear solver."""

from __future__ import annotations

import engines
import numpy as np
import pytest
from engines import engine_of, hessian, move_to, potential

from asperity.midas.energy.equality_terms import reach_bound
from asperity.midas.energy.friction_stencils import forget_friction
from asperity.midas.energy.friction_terms import turn_friction
from asperity.midas.time.step_start import prepare_step

BOXES = """
<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 .0487" euler="3 2 20"><freejoint/><geom type="box" size=".06 .04 .045" mass="1"/></body>
<body pos=".02 .01 .1435" euler="-2 3 50"><freejoint/><geom type="box" size=".05 .04 .045" mass="1"/></body>
<body pos=".02 .01 .2191"><freejoint/><geom type="sphere" size=".03" mass="1"/></body>
</worldbody></mujoco>"""

ARM = """
<mujoco><compiler autolimits="true"/><worldbody><geom type="plane" size="1 1 1"/>
<body name="base" pos="0 0 .12"><freejoint/><geom type="box" size=".05 .05 .03" mass="2"/>
 <body pos="0 0 .06"><joint name="shoulder" axis="0 1 .2" stiffness="2" springref="10" damping=".3"
    frictionloss=".1" armature=".01" range="-1.2 1.2"/><geom type="capsule" fromto="0 0 .02 .2 0 .02" size=".015" mass=".5"/>
  <body pos=".24 0 .02"><joint name="reach" type="slide" axis="1 0 .3" range="-.05 .05"/>
    <geom type="sphere" size=".02" mass=".3" pos=".01 0 0"/>
   <body pos=".05 0 0"><joint type="ball"/><geom type="box" size=".02 .01 .015" pos=".03 0 0" mass=".2"/>
    <body pos=".06 0 0"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0" pos=".01 0 0"/>
      <geom type="cylinder" size=".01 .02" pos=".03 0 0" mass=".1"/></body>
   </body></body></body>
</body></worldbody>
<actuator><position joint="shoulder" kp="30" kv="2" forcerange="-3 3"/><motor joint="reach" gear="2"/>
<velocity joint="x" kv=".5"/></actuator></mujoco>"""

LOOP = ARM.replace(
    '<body pos=".06 0 0"><joint name="x"',
    '<body name="tool" pos=".06 0 0"><joint name="x"',
).replace(
    "</mujoco>",
    """<equality><joint joint1="shoulder" joint2="x" polycoef=".1 1 -2 .5 3"/>
    <joint joint1="reach" joint2="y" polycoef="0 .3 .2 0 0"/><joint joint1="y" polycoef=".2 0 0 0 0"/>
    <connect body1="tool" body2="world" anchor=".03 .01 0"/><weld body1="base" body2="tool"/>
    </equality></mujoco>""",
)

# Tendons whose joints are on one chain, and share one.
TENDONS = ARM.replace(
    "</mujoco>",
    """<tendon><fixed name="a" stiffness="5" springlength=".1" damping=".4" armature=".02"
      frictionloss=".2" limited="true" range="-2 2"><joint joint="shoulder" coef="1"/>
      <joint joint="x" coef="-.7"/></fixed>
    <fixed name="b" stiffness="3" springlength="-.2 -.1"><joint joint="shoulder" coef=".4"/>
      <joint joint="reach" coef="2"/><joint joint="y" coef="-1"/></fixed></tendon>
    <equality><tendon tendon1="a" tendon2="b" polycoef=".1 .5 1 0 0"/></equality>
    </mujoco>""",
).replace("<actuator>", '<actuator><position tendon="a" kp="7" kv=".3" gear="2"/>')


# Branches that hold each other, what carries them, and another tree.
HAND = """
<mujoco><worldbody>
<body name="arm" pos="0 0 1"><joint axis="0 1 0" damping=".2"/><geom size=".03" mass="1"/>
 <body name="palm" pos=".2 0 0"><joint axis="1 0 .1" stiffness="3"/><geom size=".02" mass=".4"/>
  <body pos=".05 .03 0"><joint axis="0 1 .1"/><geom size=".01" mass=".1"/>
   <body pos=".04 0 0"><joint axis="0 1 0"/><geom size=".01" mass=".1"/>
    <body name="first" pos=".03 0 0"><joint axis="0 1 0"/><geom size=".01" mass=".05"/></body></body></body>
  <body pos=".05 -.03 0"><joint axis="0 1 -.1"/><geom size=".01" mass=".1"/>
   <body pos=".04 0 0"><joint type="ball"/><geom size=".01" mass=".1"/>
    <body name="second" pos=".03 0 0"><joint axis="0 0 1"/><geom size=".01" mass=".05"/></body></body></body>
 </body></body>
<body name="held" pos=".4 0 1"><freejoint/><geom size=".01" mass=".2"/></body>
</worldbody><contact><exclude body1="palm" body2="first"/></contact>
<equality><connect body1="first" body2="second" anchor=".02 0 .01"/>
<weld body1="second" body2="palm"/><connect body1="first" body2="held" anchor="0 .01 0"/>
<connect body1="second" body2="held" anchor="0 .01 0"/><connect body1="first" body2="arm" anchor="0 0 .01"/>
</equality></mujoco>"""


def disturbed(xml: str, seed: int, size: float, *, yields: bool = False):
    """An engine within a step, some way from its beginning, and the variables it is at."""
    engine = engine_of(xml)
    rng = np.random.default_rng(seed)
    table, data = engine.table, engine.data
    data.ctrl[:] = rng.normal(size=engine.model.nu)
    data.qfrc_applied[:] = rng.normal(size=engine.model.nv)
    data.xfrc_applied[1:] = rng.normal(size=(engine.model.nbody - 1, 6))
    engine.read_inputs()
    table.gaps.force_start[:] = rng.normal(size=table.gaps.force.shape)
    table.gaps.yields = int(yields)
    engine.table.poses.v[:-1] = 0.1 * rng.normal(size=engine.table.poses.v[:-1].shape)
    assert prepare_step(table, 0.01, False) == 0
    return engine, table.poses.z + size * rng.normal(size=table.poses.z.shape), rng


def gradient(engine, z, *, curved=False):
    move_to(engine, z)
    engines.assemble(engine, curved=curved)
    return engine.table.newton.gradient.copy()


def check_slope(engine, z, rng, slope):
    """Compare a gradient with differences of the potential in random directions."""
    for _ in range(30):
        direction = rng.normal(size=z.shape)
        step = 1e-7
        ends = [potential(engine, z + s * direction) for s in (-2 * step, -step, step, 2 * step)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        assert slope @ direction == pytest.approx(
            expected, rel=1e-5, abs=1e-6 * np.linalg.norm(slope)
        )


@pytest.mark.parametrize(
    ("xml", "size"),
    [
        (BOXES, 1e-5),
        (BOXES, 1e-4),
        (ARM, 1e-5),
        (ARM, 1e-3),
        (LOOP, 1e-4),
        (TENDONS, 1e-4),
        (HAND, 1e-4),
    ],
)
def test_gradient_is_the_slope_of_the_potential(xml, size):
    engine, z, rng = disturbed(xml, 1, size)
    slope = gradient(engine, z)
    if xml is BOXES:
        assert engine.table.friction.count > 0
        square = engine.table.candidates.square[: engine.table.candidates.count]
        assert {0, 1, 2} <= set(engine.table.candidates.kind[: len(square)][square < 1e-6])
    check_slope(engine, z, rng, slope)


@pytest.mark.parametrize("xml", [LOOP, TENDONS, HAND])
def test_constraints_at_their_bounds_have_slopes_of_their_potential(xml):
    engine, z, rng = disturbed(xml, 1, 1e-3, yields=True)
    slope = gradient(engine, z)
    assert reach_bound(engine.table) > 0
    check_slope(engine, z, rng, slope)


def test_hessian_of_a_tie_at_its_bound_is_exact():
    """Of free bodies that do not turn, whose ties are all that is not quadratic."""
    xml = """<mujoco><worldbody>
    <body name="a" pos="0 0 1"><freejoint/><geom size=".02" mass=".3"/></body>
    <body name="b" pos=".1 0 1"><freejoint/><geom size=".02" mass=".2"/></body></worldbody>
    <equality><connect body1="a" body2="b" anchor=".05 0 0"/></equality></mujoco>"""
    engine, z, rng = disturbed(xml, 1, 0.0, yields=True)
    places = np.r_[0:3, 12:15]
    z[places] += 1e-2 * rng.normal(size=6)
    gradient(engine, z)
    assert reach_bound(engine.table) == 1
    matrix = hessian(engine)
    for _ in range(10):
        direction = np.zeros_like(z)
        direction[places] = rng.normal(size=6)
        step = 1e-6
        change = gradient(engine, z + step * direction) - gradient(engine, z - step * direction)
        np.testing.assert_allclose(
            (matrix @ direction)[places],
            change[places] / (2 * step),
            rtol=1e-6,
            atol=1e-6 * np.abs(matrix[np.ix_(places, places)]).max(),
        )


def test_hessian_of_linear_contact_friction_and_rigid_links_is_exact():
    """A box on a half-space: the only terms that the Hessian leaves out vanish at a rigid pose."""
    apart = BOXES.replace('pos=".02 .01 .1', 'pos=".5 .01 .1').replace(
        'pos=".02 .01 .2', 'pos="1 .01 .2'
    )
    engine, _, rng = disturbed(apart, 2, 0.0)
    z = engine.table.poses.z.copy()
    z[:3] += (3e-6, -2e-6, 1e-5)
    gradient(engine, z)
    table = engine.table
    table.poses.q_trial[:] = table.poses.q_now
    turn_friction(table, 1.0)
    gradient(engine, z)
    matrix = hessian(engine)
    assert table.friction.count > 0
    for _ in range(10):
        direction = rng.normal(size=z.shape)
        step = 1e-8
        change = gradient(engine, z + step * direction) - gradient(engine, z - step * direction)
        expected = change / (2 * step)
        np.testing.assert_allclose(
            matrix @ direction, expected, atol=1e-5 * np.linalg.norm(expected)
        )


@pytest.mark.parametrize("xml", [BOXES, ARM, LOOP, TENDONS, HAND])
@pytest.mark.parametrize("size", [0.0, 1e-4])
def test_hessian_is_positive_definite_and_the_direction_solves_its_system(xml, size):
    engine, z, _ = disturbed(xml, 3, size)
    slope = gradient(engine, z)
    matrix = hessian(engine)
    assert np.linalg.eigvalsh(matrix).min() > 0
    direction = engines.newton_direction(engine)
    residual = matrix @ direction + slope
    assert np.linalg.norm(residual) < 1e-12 * np.linalg.norm(matrix) * np.linalg.norm(direction)


def test_constrained_hessian_is_exact_for_hinges_at_a_rigid_pose():
    """Hinges and ball joints are linear, so the reduced Hessian misses nothing either."""
    chain = """
    <mujoco><option gravity="0 0 0"/><worldbody>
    <body pos="0 0 1"><joint axis="0 1 .2" damping=".3" armature=".01"/>
      <geom type="capsule" fromto="0 0 .02 .2 0 .02" size=".015" mass=".5"/>
     <body pos=".24 0 .02"><joint type="ball"/><geom type="box" size=".02 .01 .015" pos=".03 0 0" mass=".2"/>
      <body pos=".06 0 0"><joint axis="1 0 0"/><joint axis="0 1 0" pos=".01 0 0"/>
      <geom type="cylinder" size=".01 .02" pos=".03 0 0" mass=".1"/></body></body></body></worldbody></mujoco>"""
    engine = engine_of(chain)
    assert prepare_step(engine.table, 0.01, False) == 0
    rng = np.random.default_rng(0)
    z = engine.table.poses.z.copy()
    gradient(engine, z)
    matrix = hessian(engine)
    for _ in range(10):
        direction = rng.normal(size=z.shape)
        step = 1e-7
        change = gradient(engine, z + step * direction) - gradient(engine, z - step * direction)
        np.testing.assert_allclose(
            matrix @ direction, change / (2 * step), atol=1e-6 * np.abs(matrix).max()
        )


@pytest.mark.parametrize("xml", [ARM, LOOP, TENDONS, HAND])
def test_curved_hessian_has_all_that_joints_do_to_rigid_links(xml):
    """Motors, slides on turning links, hinge angles, couplings: the Hessian of an arm without contact."""
    smooth = xml.replace('frictionloss=".1"', "").replace('frictionloss=".2"', "")
    engine, _, rng = disturbed(smooth, 4, 0.0)
    z = engine.table.poses.z.copy()
    gradient(engine, z, curved=True)
    matrix = hessian(engine)
    for _ in range(20):
        direction = rng.normal(size=z.shape)
        step = 2e-7
        ends = [gradient(engine, z + s * step * direction) for s in (-2, -1, 1, 2)]
        expected = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
        np.testing.assert_allclose(
            matrix @ direction, expected, atol=1e-8 * np.linalg.norm(expected)
        )


def test_hessian_has_nothing_of_those_before():
    """Others have entries when something parts, and when it meets again."""
    engine, z, _ = disturbed(BOXES, 5, 1e-6)
    forget_friction(engine.table.friction, engine.table.schedule)
    apart = z.copy()
    apart[14::12] += 0.01, 0.02
    expected = []
    for place in (z, apart):
        fresh, _, _ = disturbed(BOXES, 5, 1e-6)
        forget_friction(fresh.table.friction, fresh.table.schedule)
        gradient(fresh, place)
        expected.append(hessian(fresh))
    assert np.count_nonzero(expected[1]) < np.count_nonzero(expected[0])
    touching, parted = expected
    for place, matrix in ((z, touching), (apart, parted), (apart, parted), (z, touching)):
        # What is met with on the way is not factorized.
        for passed in (z, apart, place):
            gradient(engine, passed)
        np.testing.assert_array_equal(hessian(engine), matrix)
        direction = engines.newton_direction(engine)
        residual = matrix @ direction + engine.table.newton.gradient
        assert np.linalg.norm(residual) < 1e-9 * np.linalg.norm(matrix) * np.linalg.norm(direction)

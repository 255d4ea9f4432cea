"""Fixed steps that are too long for what moves are told, once; others are not."""

from __future__ import annotations

import warnings

import pytest

import asperity as asp

THROWN = """
<mujoco>
  <worldbody>
    <geom name="wall" type="box" size="0.005 5 5" pos="3 0 0"/>
    <body name="ball"><freejoint/><geom size="0.05" mass="1"/></body>
  </worldbody>
</mujoco>
"""


def throw(integrator: asp.Integrator, speed: float) -> tuple[asp.Simulator, list[str]]:
    sim = asp.Simulator(THROWN, integrator=integrator)
    sim.data.qvel[0] = speed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(20):
            sim.advance_to(sim.time + 0.01)
    return sim, [str(one.message) for one in caught]


def test_a_ball_that_flies_through_a_wall_is_told_once() -> None:
    sim, said = throw(asp.ImplicitEuler(time_step=0.01), 31.7)
    assert sim.data.qpos[0] > 3.0, "no state has shown that it touches the wall"
    (message,) = said
    assert message.startswith("Body 'ball' moves by 0.32 m in a step of 0.01 s, more than its size")


@pytest.mark.parametrize(
    ("step", "says"),
    [(10.0, "falls by 9.8e+02 m in a step of 10 s, more than its size of 0.2 m"), (0.1, "")],
)
def test_a_step_in_which_a_body_falls_through_the_floor_is_told(step: float, says: str) -> None:
    scene = THROWN.replace(
        "<worldbody>", "<worldbody><geom type='plane' size='1 1 1' pos='0 0 -9'/>"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asp.Simulator(scene.replace("0.05", "0.1"), integrator=asp.Icf(time_step=step))
        # There is nothing to fall on.
        alone = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
        asp.Simulator(alone, integrator=asp.Icf(time_step=step))
    told = [str(one.message) for one in caught if " falls by " in str(one.message)]
    assert len(told) == bool(says)
    assert all(says in one for one in told)


@pytest.mark.parametrize(
    ("integrator", "speed"),
    [
        (asp.ImplicitEuler(time_step=0.01), 9.0),
        (asp.Icf(time_step=0.01), 31.7),
        (asp.Cenic(), 31.7),
        (asp.Midas(time_step=0.01), 31.7),
    ],
    ids=["slow", "Icf", "Cenic", "Midas"],
)
def test_what_is_seen_is_not_told(integrator: asp.Integrator, speed: float) -> None:
    sim, said = throw(integrator, speed)
    assert not said
    assert sim.data.qpos[0] < 3.0

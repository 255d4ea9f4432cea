"""What acts along axes that turn with links acts to second order, by MuJoCo's Runge-Kutta method.

With the axes of a step's beginning, as of forces that are constant in it, errors were of first
order: six to a thousand times as large.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import mujoco
import numpy as np
import pytest

import asperity as asp

pytestmark = pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")

END = 0.5
OFF = 'contype="0" conaffinity="0"'
BOX = f'<geom type="box" size=".1 .05 .03" pos="{{}}" {OFF}/>'
FREE = f'<body pos="0 0 1">{{joint}}{BOX.format("0 0 0")}{{more}}</body>'
BALL = f'<body pos="0 0 1"><joint name="j" type="ball" {{more}}/>{BOX.format(".1 .05 .02")}</body>'
ARM = f"""<site name="w" pos=".3 .2 .8"/><body pos="0 0 1"><joint axis="0 1 0"/>
{BOX.format(".1 .05 .02")}<body pos=".2 0 0"><joint axis="1 1 0"/>{BOX.format(".1 .05 .02")}
<site name="s" pos=".1 .1 0"/></body></body>"""
SITE = '<site name="s" pos=".05 .02 .01" euler="20 30 10"/>'
LOAD = f'<body name="load" pos=".2 .1 0" {{}}><geom size=".03" {OFF}/></body>'
BODIES = {
    "thruster": FREE.format(joint="<freejoint/>", more=SITE),
    "motor on a ball joint": BALL.format(more=""),
    "armature of a ball joint": BALL.format(more='armature=".02"'),
    "spring through space": ARM,
    "push beside the centre": FREE.format(joint="<freejoint/>", more=LOAD.format("")),
    "torque of a free joint": FREE.format(joint="<freejoint/>", more=""),
    "compensated load": FREE.format(joint="<freejoint/>", more=LOAD.format('gravcomp="1"')),
}
FURTHER = {
    "thruster": '<actuator><general site="s" gear="0 0 1 .05 0 .1" gainprm="8"/></actuator>',
    "motor on a ball joint": """<actuator><general joint="j" gear="1 .5 .2 0 0 0" gainprm="1.5"/>
        </actuator>""",
    "spring through space": """<tendon><spatial stiffness="60" damping=".5" springlength=".1">
        <site site="w"/><site site="s"/></spatial></tendon>""",
}


def _push(data: mujoco.MjData) -> None:
    data.xfrc_applied[2] = [0.5, 1.0, 0.5, 0.05, 0.1, 0.15]


def _twist(data: mujoco.MjData) -> None:
    data.qfrc_applied[3:6] = [0.05, -0.1, 0.08]


APPLIED: dict[str, Callable[[mujoco.MjData], None]] = {
    "push beside the centre": _push,
    "torque of a free joint": _twist,
}


@pytest.mark.parametrize("name", BODIES)
def test_forces_turn_with_what_they_act_on(name: str) -> None:
    further = FURTHER.get(name, "")
    xml = f"<mujoco><worldbody>{BODIES[name]}</worldbody>{further}</mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    apply = APPLIED.get(name, lambda _: None)
    velocity = 2.0 * np.random.default_rng(1).normal(size=model.nv)

    exact = mujoco.MjModel.from_xml_string(xml)
    exact.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    exact.opt.timestep = 1e-4
    truth = mujoco.MjData(exact)
    truth.qvel[:], truth.ctrl[:] = velocity, 0.7
    apply(truth)
    mujoco.mj_step(exact, truth, round(END / exact.opt.timestep))

    errors = []
    for step in (5e-3, 2.5e-3, 1.25e-3):
        sim = asp.Simulator(model, integrator=asp.Midas(time_step=step))
        sim.data.qvel[:], sim.data.ctrl[:] = velocity, 0.7
        apply(sim.data)
        assert sim.advance_to(END).success
        away = np.zeros(model.nv)
        mujoco.mj_differentiatePos(model, away, 1.0, sim.data.qpos, truth.qpos)
        errors.append(float(np.abs(away).max()))
    assert errors[2] < 1e-3
    for one, other in pairwise(errors):
        assert 3.0 < one / other < 7.0

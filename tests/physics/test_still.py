"""What is at rest is still under error control: no force leaves a velocity behind that moves nothing.

Equalities did, as long as they gave way by other amounts in a doubled step than in its halves.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

FLOOR = "<geom type='plane' size='5 5 1'/>"
UNTOUCHED = "contype='0' conaffinity='0'"
ARM = (
    "<body pos='0 0 1'><joint name='arm' axis='0 1 0' damping='.5'/><geom type='capsule' size='.02'"
    f" fromto='0 0 0 .5 0 0' mass='1' {UNTOUCHED}/></body>"
)
WHEEL = (
    "<body pos='0 1 1'><joint name='wheel' axis='0 1 0' stiffness='50' damping='1'/><geom mass='1'"
    f" type='capsule' size='.02' fromto='0 0 0 .3 0 0' {UNTOUCHED}/></body>"
)
WEIGHT = (
    "<site name='above' pos='0 0 1.5'/><body pos='0 0 1'><joint type='slide' axis='0 0 1'"
    f" damping='.5'/><geom size='.05' mass='1' {UNTOUCHED}/><site name='weight'/></body>"
)
TENDON = "<tendon><spatial name='t'><site site='above'/><site site='weight'/></spatial></tendon>"
HELD = f"<body name='held' pos='.3 0 1'><freejoint/><geom size='.05' mass='1' {UNTOUCHED}/></body>"
STACK = "".join(
    f"<body pos='0 0 {0.1 + 0.2 * i}'><freejoint/>"
    f"<geom type='box' size='.1 .1 .1' mass='{1 + i}'/></body>"
    for i in range(3)
)
GRIP = (
    "<body><freejoint/><geom type='box' size='.05 .05 .05' mass='.5'/></body>"
    "<body pos='.075 0 0'><joint name='right' type='slide' axis='-1 0 0' damping='5'/>"
    "<geom type='box' size='.02 .05 .05' mass='.2'/></body>"
    "<body pos='-.075 0 0'><joint name='left' type='slide' axis='1 0 0' damping='5'/>"
    "<geom type='box' size='.02 .05 .05' mass='.2'/></body>"
)


def _flex(dim: int, count: str, pin: str, inner: str) -> str:
    return (
        f"<flexcomp name='flex' type='grid' dim='{dim}' count='{count}' spacing='.02 .02 .02'"
        f" mass='.05' radius='.002' pos='0 0 .5' euler='0 90 0'><pin {pin}/>{inner}"
        "<contact selfcollide='none'/></flexcomp>"
    )


EDGES = "<edge equality='true' damping='.01'/>"
SCENES = {
    "arm on a servo": (ARM, "<actuator><position joint='arm' kp='20' kv='2'/></actuator>"),
    "gears": (
        ARM + WHEEL,
        "<equality><joint joint1='arm' joint2='wheel' polycoef='0 2 0 0 0'/></equality>",
    ),
    "tendon": (WEIGHT, TENDON + "<equality><tendon tendon1='t'/></equality>"),
    "weld": (
        "<body name='hand' mocap='true' pos='0 0 1'/>" + HELD,
        "<equality><weld body1='hand' body2='held'/></equality>",
    ),
    "stack": (FLOOR + STACK, ""),
    "grip": (GRIP, "<actuator><motor joint='left'/><motor joint='right'/></actuator>"),
    "rope": (_flex(1, "12 1 1", "id='0'", EDGES), ""),
    "cloth": (_flex(2, "6 6 1", "gridrange='0 0 0 5'", EDGES), ""),
}


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("scene", SCENES)
def test_what_is_at_rest_is_still(scene: str) -> None:
    body, sections = SCENES[scene]
    text = f"<mujoco><worldbody>{body}</worldbody>{sections}</mujoco>"
    sim = asp.Simulator(mujoco.MjModel.from_xml_string(text), integrator=asp.Cenic())
    sim.data.ctrl[:] = 20.0 if scene == "grip" else 0.0
    sim.advance_to(10.0)
    for time in 10.0 + 0.137 * np.arange(1, 8):
        sim.advance_to(float(time))
        assert np.max(np.abs(sim.data.qvel)) < 1e-5

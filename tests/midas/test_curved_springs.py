"""Springs and dampers whose force has squares and cubes: as MuJoCo's, by an independent method."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp

_BODY = "<body pos='{x} 0 0'>{joint}<geom size='.05' mass='.5' pos='0 0 -.2'/>{more}</body>"
SCENES = {
    "slide": _BODY.format(
        x=0,
        joint="<joint type='slide' axis='0 0 1' stiffness='20 -30 400' damping='.5 .3 .2'/>",
        more="",
    ),
    "hinge": _BODY.format(
        x=0, joint="<joint axis='0 1 0' ref='.3' stiffness='0 0 2' damping='0 .05 0'/>", more=""
    ),
    "fixed tendon": _BODY.format(x=0, joint="<joint name='a' axis='0 1 0'/>", more="")
    + _BODY.format(x=1, joint="<joint name='b' axis='0 1 0'/>", more=""),
    "tendon through space": "<site name='hook' pos='0 0 .3'/>"
    + _BODY.format(
        x=0, joint="<joint type='slide' axis='0 0 1'/>", more="<site name='tip' pos='0 0 -.15'/>"
    ),
    "motor": _BODY.format(x=0, joint="<joint name='a' axis='0 1 0'/>", more=""),
}
REST = {
    "fixed tendon": "<tendon><fixed stiffness='2 3 4' damping='.02 .03 .01' springlength='-.1 .2'>"
    "<joint joint='a' coef='1'/><joint joint='b' coef='-.5'/></fixed></tendon>",
    "tendon through space": "<tendon><spatial stiffness='0 100 200' damping='0 .5 .2' "
    "springlength='0 .45'><site site='hook'/><site site='tip'/></spatial></tendon>",
    "motor": "<actuator><motor joint='a' gear='2' damping='.01 .02 .03'/></actuator>",
}


def _model(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><compiler autolimits='true'/><worldbody>{SCENES[name]}</worldbody>"
        f"{REST.get(name, '')}</mujoco>"
    )


def _end(name: str, integrator: asp.Integrator) -> np.ndarray:
    sim = asp.Simulator(_model(name), integrator=integrator)
    sim.data.qvel[:] = 1.5
    sim.advance_to(0.4)
    return np.concatenate([sim.data.qpos, sim.data.qvel])


@pytest.mark.parametrize("name", SCENES)
def test_moves_as_with_an_explicit_method(name: str) -> None:
    truth = _end(name, asp.RungeKutta3(accuracy=1e-8))
    errors = [np.abs(_end(name, asp.Midas(time_step=step)) - truth).max() for step in (4e-3, 1e-3)]
    assert errors[1] < 1e-4
    # Of second order.
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.25)

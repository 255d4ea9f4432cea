"""What counts as an artefact: thin parts inside of things, and energy from nowhere."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from studies.experiments.artefacts import ThinParts, energy_gain

RADIUS = 2e-3
HALF = 1.5e-3


def slab_and_parts() -> mujoco.MjModel:
    """A slab of 8 mm that moves, a wire along y and a wall across x."""
    half = np.array([0.05, 0.05, 0.004])
    corners = half * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    vertices = " ".join(f"{x:.6g}" for x in corners.ravel())
    faces = "0 1 3 0 3 2 4 6 7 4 7 5 0 4 5 0 5 1 2 3 7 2 7 6 0 2 6 0 6 4 1 5 7 1 7 3"
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco>
        <asset><mesh name='slab' vertex='{vertices}' face='{faces}'/></asset>
        <worldbody>
          <geom name='wire' type='capsule' fromto='0 -0.2 0 0 0.2 0' size='{RADIUS}'/>
          <geom name='wall' type='box' pos='0.3 0 0' size='{HALF} 0.1 0.1'/>
          <body name='slab'><freejoint/>
            <geom name='slab' type='mesh' mesh='slab' density='1000'/></body>
        </worldbody></mujoco>"""
    )


@pytest.mark.parametrize(
    ("place", "depth", "crossed", "part"),
    [
        ((0.0, 0.0, 0.0065), 0.0, False, None),
        ((0.0, 0.0, 0.0055), 5e-4, False, "wire"),
        ((0.0, 0.0, 0.0039), RADIUS + 1e-4, True, "wire"),
        ((0.0, 0.0, -0.001), RADIUS + 3e-3, True, "wire"),
        ((0.3 - 0.0505 - HALF, 0.0, 0.05), 0.0, False, None),
        ((0.3 - 0.0495 - HALF, 0.0, 0.05), 5e-4, False, "wall"),
        ((0.3 - 0.049, 0.0, 0.05), HALF + 1e-3, True, "wall"),
    ],
)
def test_depth_of_a_wire_and_a_wall(
    place: tuple[float, float, float], depth: float, crossed: bool, part: str | None
) -> None:
    model = slab_and_parts()
    data = mujoco.MjData(model)
    data.qpos[:3] = place
    mujoco.mj_kinematics(model, data)
    found = ThinParts(model, ("slab",), thickest=0.005, spacing=5e-4).measure(data, "slab")
    assert found.depth == pytest.approx(depth, abs=1e-6)
    assert found.crossed is crossed
    assert found.geom == (-1 if part is None else model.geom(part).id)


def test_energy_that_is_stored_for_a_while_is_not_gained() -> None:
    yes, no = True, False
    energy = np.array([1.0, 1.0, 0.2, 0.9, 0.9])
    jump = np.array([0.0, 0.0, 0.0, 0.3, 0.0])
    free = np.array([yes, yes, no, yes, yes])
    assert energy_gain(energy, free, np.full(5, yes)) == pytest.approx(0.0)
    assert energy_gain(energy + jump, free, np.full(5, yes)) == pytest.approx(0.2)
    # Something else may have worked on it.
    alone = np.array([yes, yes, no, yes, yes])
    assert energy_gain(energy + jump, free, alone) == pytest.approx(0.0)

"""The dish rack: its parts, its path, and plate, mug and spoon in the bin at the end."""

import fnmatch

import mujoco
import numpy as np
import pytest

from asperity import Cenic, ContactParameters, Simulator
from asperity.errors import MissingExtra, ModelError
from studies.scenes import dish_rack as scene
from studies.scenes.tableware import FIELD_MESHES

pytestmark = pytest.mark.assets


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    try:
        return scene.dish_rack()
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def control(model: mujoco.MjModel) -> scene.DishRack:
    return scene.DishRack(model)


def at_start(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(scene.KEYFRAME).id)
    mujoco.mj_forward(model, data)
    return data


def test_every_geom_that_is_named_is_there(model: mujoco.MjModel) -> None:
    names = [model.geom(i).name for i in range(model.ngeom)]
    assert set(scene.OBJECTS) == set(FIELD_MESHES)
    assert {*scene.OBJECTS, *scene.PADS} <= set(names)
    for pattern in scene.RIGID:
        fixed = fnmatch.filter(names, pattern)
        assert fixed
        assert all(model.geom(name).bodyid == 0 for name in fixed)
    for name in scene.OBJECTS:
        assert model.body(name).dofnum == 6
        assert model.geom(name).bodyid == model.body(name).id
    assert 0.25 < model.body("plate").mass < 0.35
    assert 0.15 < model.body("mug").mass < 0.25
    assert 0.03 < model.body("spoon").mass < 0.08


def test_nothing_overlaps_at_the_start(model: mujoco.MjModel) -> None:
    assert all(contact.dist > -1e-5 for contact in at_start(model).contact)


def test_the_path_is_within_reach_and_smooth(
    model: mujoco.MjModel, control: scene.DishRack
) -> None:
    path = control.path
    assert path.residuals.max() < 1e-5
    joints = path.targets[:, :7]
    low, high = model.jnt_range[:7].T
    assert (joints > low + 0.3).all()
    assert (joints < high - 0.3).all()
    speed = np.diff(joints, axis=0) / scene.CONTROL_PERIOD
    assert np.abs(speed).max() < 2.175  # the slowest joints' limit [rad/s]
    # To and fro between rack and bin three times.
    towards = np.sign(path.targets[:, 0][np.abs(path.targets[:, 0]) > 0.1])
    assert np.count_nonzero(np.diff(towards)) == 5


def test_plate_mug_and_spoon_end_up_in_the_bin(
    model: mujoco.MjModel, control: scene.DishRack
) -> None:
    sim = Simulator(
        model,
        integrator=Cenic(accuracy=1e-2),
        contact=ContactParameters(stiffness=1e5, dissipation=10.0),
        control=control,
        control_period=scene.CONTROL_PERIOD,
    )
    sim.reset(model.key(scene.KEYFRAME).id)
    done, reason = scene.success(model, sim.data)
    assert not done
    assert all(name in reason for name in scene.OBJECTS)
    held: dict[str, list[float]] = {name: [] for name in scene.OBJECTS}
    for time in (5.0, 13.5, 22.0):  # while each is lifted
        assert sim.advance_to(time).success
        grip = sim.data.site("grip").xpos
        for name in scene.OBJECTS:
            if np.linalg.norm(sim.data.body(name).xpos - grip) < 0.15:
                held[name].append(time)
    assert held == {"plate": [5.0], "mug": [13.5], "spoon": [22.0]}
    assert sim.advance_to(control.duration + 0.5).success
    done, reason = scene.success(model, sim.data)
    assert done, reason
    # They lie still, and the arm is back.
    assert np.abs(sim.data.qvel).max() < 0.05
    home = at_start(model).site("grip").xpos
    np.testing.assert_allclose(sim.data.site("grip").xpos, home, atol=2e-3)


def test_another_model_is_refused() -> None:
    with pytest.raises(ModelError, match="no actuator named 'panda_joint1'"):
        scene.DishRack(mujoco.MjModel.from_xml_string("<mujoco/>"))

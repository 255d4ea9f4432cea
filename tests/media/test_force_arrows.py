"""Contact forces as arrows in pictures and videos."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.errors import MissingExtra
from asperity.media import MediaError, write_video
from asperity.media.force_arrows import ForceArrows
from asperity.media.offscreen import OffscreenRenderer
from asperity.media.recording import Recording

SCENE = (
    '<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>'
    '<body pos="0 0 .0999"><freejoint/><geom name="ball" size=".1" mass="1"/></body>'
    "</worldbody></mujoco>"
)


@pytest.fixture(scope="module")
def run() -> asp.Trajectory:
    times = np.linspace(0.0, 0.2, 5)
    return asp.simulate(SCENE, (0.0, 0.2), save_at=times, contact_forces=True)


def test_arrows_begin_at_contacts_and_are_as_long_as_forces(run: asp.Trajectory) -> None:
    arrows = ForceArrows(Recording(run.model, run.time, run.qpos), run.contacts)
    assert arrows.largest == pytest.approx(9.81, rel=0.01)
    start, end, _ = arrows.at(0.2)
    np.testing.assert_allclose(start, run.contacts[-1].point)
    force = run.contacts[-1].force[0]
    # Upwards, since the ball is the second geom; a quarter of the extent for the largest.
    np.testing.assert_allclose(
        end - start, [0.25 * run.model.stat.extent * force / arrows.largest], atol=1e-12
    )
    # Between two samples it is the earlier one's.
    np.testing.assert_allclose(arrows.at(0.19).start, run.contacts[3].point)
    with pytest.raises(MediaError, match="contacts of 2 times, and there are 5"):
        ForceArrows(Recording(run.model, run.time, run.qpos), run.contacts[:2])


def test_an_arrow_is_seen(run: asp.Trajectory) -> None:
    recording = Recording(run.model, run.time, run.qpos)
    data = mujoco.MjData(run.model)
    recording.pose(data, 0.2)
    # Beside the ball, where nothing else is drawn.
    arrows = ForceArrows(recording, run.contacts).at(0.2)
    aside = np.array([0.3, 0.0, 0.0])
    beside = arrows._replace(start=arrows.start + aside, end=arrows.end + aside)
    camera = mujoco.MjvCamera()
    camera.distance = 2.0 * run.model.stat.extent
    camera.lookat[:] = beside.start[0]
    try:
        renderer = OffscreenRenderer(run.model, 160, 120, shadows=False)
    except (MediaError, MissingExtra) as error:
        pytest.skip(str(error))
    with renderer:
        without = renderer.render(data, camera).astype(int)
        with_it = renderer.render(data, camera, arrows=beside).astype(int)
    changed = np.abs(with_it - without).sum(axis=2) > 30
    assert 10 < changed.sum() < 3000
    red, green, blue = with_it[changed].mean(axis=0)
    assert red > green > blue


def test_a_video_has_them(run: asp.Trajectory, tmp_path: Path) -> None:
    try:
        path = write_video(
            tmp_path / "run.mp4", run.model, run.time, run.qpos, width=64, height=64,
            forces=run.contacts,
        )  # fmt: skip
    except (MediaError, MissingExtra) as error:
        pytest.skip(str(error))
    assert path.stat().st_size > 500

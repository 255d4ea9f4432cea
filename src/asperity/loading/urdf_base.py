"""What of a URDF is fixed to the world and what floats in it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np

from asperity.loading.kinematic_graph import UrdfJoint
from asperity.loading.urdf_document import PreparedUrdf, UrdfDocument
from asperity.plant.model.names import quoted

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

__all__ = ["choose_base", "exclude_base", "free_floating"]


def choose_base(robot: UrdfDocument, prepared: PreparedUrdf, floating_base: bool | None) -> None:
    """Fix the links that hang on nothing to the world, or let them float."""
    graph = robot.graph
    if floating_base is False:
        for joint in graph.joints.values():
            if joint.parent == "world" and joint.kind == "floating":
                joint.make("fixed")
    roots = [name for name in graph.roots if name != "world"]
    welded = [j.child for j in graph.children("world") if j.kind == "fixed"]
    bases = roots + welded
    if floating_base:
        floating = [j for j in graph.children("world") if j.kind == "floating"]
        if not bases and not floating:
            joint = graph.children("world")[0]
            raise robot.error(
                f"the base cannot float, because joint '{joint.name}' of type '{joint.kind}' "
                "holds it to the world; omit floating_base."
            )
        prepared.free_bodies = bases
        return
    prepared.base_bodies = bases
    moving = any(joint.kind != "fixed" for joint in graph.joints.values())
    if len(roots) > 1:
        prepared.notes.append(
            f"The links {quoted(roots)} have no parent joint; each is fixed to the world."
        )
    if roots and floating_base is None and (moving or not welded):
        prepared.notes.append(
            f"The base link '{roots[0]}' is fixed to the world; pass floating_base=True to free it."
        )


def free_floating(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    """Hang what floats on a link on the world: a floating joint holds nothing."""
    floating = [
        joint
        for joint in robot.graph.joints.values()
        if joint.kind == "floating" and joint.parent != "world"
    ]
    if not floating:
        return
    places = [_child_frame(robot, joint) for joint in floating]
    for joint, (turn, point) in zip(floating, places, strict=True):
        origin = joint.element.find("origin")
        if origin is None:
            origin = ET.SubElement(joint.element, "origin")
        origin.set("xyz", " ".join(repr(float(x)) for x in point))
        origin.set("rpy", " ".join(repr(float(x)) for x in turn.as_euler("xyz")))
        parent = joint.element.find("parent")
        assert parent is not None
        parent.set("link", "world")
    if "world" not in robot.graph.links:
        ET.SubElement(robot.root, "link", name="world")
    robot.read_graph()
    prepared.notes.append(
        "Links on floating joints are free in the world: "
        f"{quoted([joint.name for joint in floating])}."
    )


def exclude_base(robot: UrdfDocument, prepared: PreparedUrdf, *, fused: bool) -> None:
    """Keep a fixed base from colliding with what is mounted on it.

    MuJoCo lets neighbours pass through each other, except when the first of them does not
    move, so that things can lie on the floor. The base of an arm is not a floor.
    """
    graph = robot.graph
    for base in prepared.base_bodies:
        for part in graph.fixed_group(base):
            for joint in graph.children(part):
                if joint.kind == "fixed":
                    continue
                mounted = graph.fixed_group(joint.child)
                if fused:
                    pairs = [(base, joint.child)]
                else:
                    pairs = [(a, b) for a in graph.fixed_group(base) for b in mounted]
                prepared.excludes += [p for p in pairs if p not in prepared.excludes]


def _child_frame(robot: UrdfDocument, joint: UrdfJoint) -> tuple[Rotation, np.ndarray]:
    """Axes and origin of a joint's child in the world, with all joints at zero."""
    above = robot.graph.joint_of(joint.parent)
    # Its import takes a quarter of a second, which every start would pay.
    from scipy.spatial.transform import Rotation

    turn, point = Rotation.identity(), np.zeros(3)
    if above is not None:
        turn, point = _child_frame(robot, above)
    origin = joint.element.find("origin")
    if origin is None:
        return turn, point
    numbers = {}
    for name in ("xyz", "rpy"):
        try:
            numbers[name] = np.array(origin.get(name, "0 0 0").split(), dtype=np.float64)
        except ValueError:
            numbers[name] = np.zeros(0)
        if numbers[name].shape != (3,):
            raise robot.error(
                f"the origin of joint '{joint.name}' (line {robot.lines[origin]}) has "
                f'{name}="{origin.get(name)}"; give three numbers.'
            )
    point = point + turn.apply(numbers["xyz"])
    return turn * Rotation.from_euler("xyz", numbers["rpy"]), point

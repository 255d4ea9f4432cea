"""Prepare a URDF for MuJoCo's URDF compiler, and say what becomes of each part of it."""

from __future__ import annotations

import math
import os
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from asperity.loading.link_inertia import check_inertias
from asperity.loading.mesh_files import MeshFinder
from asperity.loading.urdf_base import choose_base, exclude_base, free_floating
from asperity.loading.urdf_document import PreparedUrdf, UrdfDocument
from asperity.loading.urdf_shapes import drop_visuals, resolve_meshes
from asperity.loading.urdf_surfaces import is_done, read_surfaces
from asperity.loading.xml_reader import number, read_xml
from asperity.plant.model.names import quoted

__all__ = ["prepare_urdf"]

# Programs and sensors; of <gazebo> what is left when surfaces are read, and of <properties> of
# drones what programs compute the rotors' forces from.
_NO_MECHANICS = {"gazebo", "properties", "ros2_control", "sensor", "transmission"}
_MOVING = ("revolute", "continuous", "prismatic")
# What elements have in them; `read_surfaces` sees what is in <contact> and <surface>.
_CHILDREN = {
    "robot": {"link", "joint", "material", "mujoco"},
    "link": {"inertial", "visual", "collision", "contact", "surface"},
    "inertial": {"origin", "mass", "inertia"},
    "collision": {"origin", "geometry", "surface"},
    "geometry": {"box", "capsule", "cylinder", "mesh", "sphere"},
    "joint": {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration",
              "safety_controller"},
}  # fmt: skip
# Appearance, and what programs do with shapes.
_ASIDE = {"collision_checking", "material", "self_filter", "verbose"}


def prepare_urdf(
    text: str,
    source: str,
    folder: Path,
    *,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    floating_base: bool | None = None,
    discard_visual: bool | None = None,
    fuse_static: bool | None = None,
) -> PreparedUrdf:
    """Rewrite a URDF so that MuJoCo loads what its author meant.

    Parameters
    ----------
    text : str
        The URDF.
    source : str
        What messages call it.
    folder : Path
        Where relative names start.
    package_paths, floating_base, discard_visual, fuse_static
        As in :func:`asperity.load_model`.

    Raises
    ------
    ModelError
        If the XML is broken, the links and joints do not form a tree, a link cannot have the mass
        it needs, or a collision mesh is missing.
    """
    root, lines = read_xml(text, source)
    robot = UrdfDocument(root, lines, source)
    prepared = PreparedUrdf()
    _refuse_xacro(robot)
    robot.read_graph()
    if "world" in robot.graph.roots and "world" not in robot.graph.links:
        ET.SubElement(root, "link", name="world")  # as some simulators take for granted

    compiler = _compiler(root)
    finder = MeshFinder(
        folder,
        package_paths,
        mesh_folder=compiler.get("meshdir", compiler.get("assetdir", "")),
        strip_path=compiler.get("strippath") == "true",
    )
    # Names become absolute below, so MuJoCo must not cut them.
    compiler.set("strippath", "false")
    compiler.attrib.setdefault("balanceinertia", "true")
    for name, choice in (("discardvisual", discard_visual), ("fusestatic", fuse_static)):
        if choice is not None:
            compiler.set(name, "true" if choice else "false")
        else:
            compiler.attrib.setdefault(name, "true")

    read_surfaces(robot, prepared)
    _drop_unused(robot, prepared)
    choose_base(robot, prepared, floating_base)
    free_floating(robot, prepared)
    _check_joints(robot, prepared)
    if compiler.get("discardvisual") == "true":
        drop_visuals(robot, prepared)
    resolve_meshes(robot, prepared, finder)
    # After the meshes: a link whose shape was dropped cannot get its mass from it.
    check_inertias(
        robot.graph,
        robot.lines,
        source,
        prepared.notes,
        free=prepared.free_bodies,
        repair=compiler.get("balanceinertia") == "true",
    )
    exclude_base(robot, prepared, fused=compiler.get("fusestatic") == "true")
    prepared.xml = ET.tostring(root, encoding="unicode")
    return prepared


def _compiler(root: ET.Element) -> ET.Element:
    """The element in which a URDF holds options for MuJoCo, made if there is none."""
    extension = root.find("mujoco")
    if extension is None:
        extension = ET.SubElement(root, "mujoco")
    compiler = extension.find("compiler")
    return ET.SubElement(extension, "compiler") if compiler is None else compiler


def _refuse_xacro(robot: UrdfDocument) -> None:
    for item in robot.root.iter():
        macro = item.tag.startswith("xacro:") or any("${" in v for v in item.attrib.values())
        if macro:
            raise robot.error(
                f"element '{item.tag}' in line {robot.lines[item]} needs xacro; expand the file "
                "first with `xacro FILE > robot.urdf` and load the result."
            )


def _drop_unused(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    unknown = [item for item in robot.root if item.tag not in _CHILDREN["robot"]]
    for item in unknown:
        robot.root.remove(item)
    known = [f"<{item.tag}>" for item in unknown if item.tag in _NO_MECHANICS]
    others = [f"<{item.tag}>" for item in unknown if item.tag not in _NO_MECHANICS]
    for sentence, found in (
        ("Left out, because they do not describe the mechanics", known),
        ("Ignored, because URDF has no such elements", [*others, *_strangers(robot.root)]),
    ):
        text = ", ".join(f"{count} {tag}" for tag, count in Counter(found).items())
        if text:
            prepared.notes.append(f"{sentence}: {text}.")
    # Textures are for rendering only, and a missing image would stop MuJoCo.
    for parent in list(robot.root.iter("material")):
        for texture in parent.findall("texture"):
            parent.remove(texture)


def _strangers(parent: ET.Element) -> Iterator[str]:
    """What is in links and joints, says something of the mechanics, and means nothing in URDF."""
    for item in parent:
        if item.tag in _CHILDREN[parent.tag]:
            yield from _strangers(item) if item.tag in _CHILDREN else ()
        elif not (item.tag in _ASIDE or is_done(item) or _is_zero(item)):
            yield f"<{item.tag}> of <{parent.tag}>"


def _is_zero(item: ET.Element) -> bool:
    """Whether all that an element has are numbers, and they are zero."""
    numbers = " ".join(item.attrib.values()).split()
    return bool(numbers) and not any(one.strip("+-0.") for one in numbers)


def _check_joints(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    blank: list[str] = []
    unlimited: list[str] = []
    standing: list[str] = []
    for joint in robot.graph.joints.values():
        limit = joint.element.find("limit")
        if limit is None:
            continue
        if joint.kind in _MOVING and "velocity" in limit.attrib:
            speed = number(limit, "velocity", robot.lines, robot.source)
            if speed > 0.0:
                prepared.velocity_limits[joint.name] = speed
            else:
                standing.append(joint.name)
        ends = [name for name in ("lower", "upper") if name in limit.attrib]
        if joint.kind in ("revolute", "prismatic") and ends:
            # MuJoCo would take a joint with one end for one without limits.
            low, high = (
                number(limit, name, robot.lines, robot.source) if name in ends else 0.0
                for name in ("lower", "upper")
            )
            limit.attrib.update(lower=repr(low), upper=repr(high))
            if low >= high:
                (blank if low == high == 0.0 else unlimited).append(joint.name)
                del limit.attrib["lower"], limit.attrib["upper"]  # MuJoCo would log a warning
    mimics = [j.name for j in robot.graph.joints.values() if j.mimic is not None]
    if blank:
        prepared.notes.append(
            "Joints whose limits are both zero, as where they are left out, have none: "
            f"{quoted(blank)}."
        )
    if unlimited:
        prepared.notes.append(
            "Joints whose lower limit is not below the upper one move without limits: "
            f"{quoted(unlimited)}."
        )
    if mimics:
        prepared.notes.append(f"Mimic joints became joint equality constraints: {quoted(mimics)}.")
    if standing:
        prepared.notes.append(
            "Joints with a velocity limit of zero have none, as with an effort of zero: "
            f"{quoted(standing)}."
        )
    _limit_leaders(robot, prepared)


def _limit_leaders(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    """Let joints be no faster than those that mimic them may be, the multiplier's part of it."""
    for name, speed in list(prepared.velocity_limits.items()):
        joint, ratio = robot.graph.joints[name], 1.0
        followed: list[str] = []
        while joint.mimic is not None and joint.name not in followed:
            followed.append(joint.name)
            mimic = joint.element.find("mimic")
            if mimic is not None and "multiplier" in mimic.attrib:
                ratio *= abs(number(mimic, "multiplier", robot.lines, robot.source))
            joint = robot.graph.joints[joint.mimic]
        if followed and ratio > 0.0 and joint.kind in _MOVING:
            known = prepared.velocity_limits.get(joint.name, math.inf)
            prepared.velocity_limits[joint.name] = min(known, speed / ratio)

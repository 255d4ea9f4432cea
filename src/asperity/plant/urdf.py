"""Prepare a URDF for MuJoCo's URDF compiler, and say what becomes of each part of it."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from asperity.errors import ModelError
from asperity.plant.kinematic_graph import KinematicGraph, UrdfJoint
from asperity.plant.link_inertia import check_inertias
from asperity.plant.meshes import READABLE, MeshFinder
from asperity.plant.names import listed, quoted
from asperity.plant.xml_reader import number, read_xml

__all__ = ["PreparedUrdf", "prepare_urdf"]

_KNOWN_TAGS = {"link", "joint", "material", "mujoco"}


@dataclass
class PreparedUrdf:
    """A URDF that MuJoCo compiles, and what is left to do on the compiled specification.

    Attributes
    ----------
    xml : str
        The URDF with absolute mesh files, without what MuJoCo cannot use.
    free_bodies : list of str
        Links that get a free joint.
    base_bodies : list of str
        Links that do not move, to be kept apart from the world body.
    excludes : list of (str, str)
        Pairs of links that must not collide: those of a fixed base and what moves on it.
    notes : list of str
        Sentences for the report.
    losses : list of str
        Sentences about collision geometry that had to be dropped; these are worth a warning.
    """

    xml: str = ""
    free_bodies: list[str] = field(default_factory=list)
    base_bodies: list[str] = field(default_factory=list)
    excludes: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


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
        As in :func:`asperity.plant.loading.load_model`.

    Raises
    ------
    ModelError
        If the XML is broken, the links and joints do not form a tree, a link cannot have the mass
        it needs, or a collision mesh is missing.
    """
    root, lines = read_xml(text, source)
    robot = _Robot(root, lines, source)
    prepared = PreparedUrdf()
    robot.refuse_xacro()
    robot.graph = KinematicGraph.from_urdf(root, lines, source)
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

    robot.drop_unused(prepared)
    robot.choose_base(prepared, floating_base)
    robot.free_floating(prepared)
    robot.check_joints(prepared)
    if compiler.get("discardvisual") == "true":
        robot.drop_visuals(prepared)
    robot.resolve_meshes(prepared, finder)
    # After the meshes: a link whose shape was dropped cannot get its mass from it.
    check_inertias(
        robot.graph,
        robot.lines,
        source,
        prepared.notes,
        free=prepared.free_bodies,
        repair=compiler.get("balanceinertia") == "true",
    )
    robot.exclude_base(prepared, fused=compiler.get("fusestatic") == "true")
    prepared.xml = ET.tostring(root, encoding="unicode")
    return prepared


def _compiler(root: ET.Element) -> ET.Element:
    """The element in which a URDF holds options for MuJoCo, made if there is none."""
    extension = root.find("mujoco")
    if extension is None:
        extension = ET.SubElement(root, "mujoco")
    compiler = extension.find("compiler")
    return ET.SubElement(extension, "compiler") if compiler is None else compiler


class _Robot:
    """A URDF document in work; every method treats one concern and leaves notes."""

    graph: KinematicGraph

    def __init__(self, root: ET.Element, lines: dict[ET.Element, int], source: str) -> None:
        self.root = root
        self.lines = lines
        self.source = source

    def error(self, message: str) -> ModelError:
        return ModelError(f"{self.source}: {message}")

    def refuse_xacro(self) -> None:
        for item in self.root.iter():
            macro = item.tag.startswith("xacro:") or any("${" in v for v in item.attrib.values())
            if macro:
                raise self.error(
                    f"element '{item.tag}' in line {self.lines[item]} needs xacro; expand the file "
                    "first with `xacro FILE > robot.urdf` and load the result."
                )

    def drop_unused(self, prepared: PreparedUrdf) -> None:
        ignored = [item for item in self.root if item.tag not in _KNOWN_TAGS]
        for item in ignored:
            self.root.remove(item)
        if ignored:
            counts = Counter(item.tag for item in ignored)
            text = ", ".join(f"{count} <{tag}>" for tag, count in counts.items())
            prepared.notes.append(f"Ignored, because they do not describe the mechanics: {text}.")
        # Textures are for rendering only, and a missing image would stop MuJoCo.
        for parent in list(self.root.iter("material")):
            for texture in parent.findall("texture"):
                parent.remove(texture)

    def choose_base(self, prepared: PreparedUrdf, floating_base: bool | None) -> None:
        graph = self.graph
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
                raise self.error(
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
                f"The base link '{roots[0]}' is fixed to the world; pass floating_base=True to "
                "free it."
            )

    def free_floating(self, prepared: PreparedUrdf) -> None:
        """Hang what floats on a link on the world: a floating joint holds nothing."""
        floating = [
            joint
            for joint in self.graph.joints.values()
            if joint.kind == "floating" and joint.parent != "world"
        ]
        if not floating:
            return
        places = [self.place(joint) for joint in floating]
        for joint, (turn, point) in zip(floating, places, strict=True):
            origin = joint.element.find("origin")
            if origin is None:
                origin = ET.SubElement(joint.element, "origin")
            origin.set("xyz", " ".join(repr(float(x)) for x in point))
            origin.set("rpy", " ".join(repr(float(x)) for x in turn.as_euler("xyz")))
            parent = joint.element.find("parent")
            assert parent is not None
            parent.set("link", "world")
        if "world" not in self.graph.links:
            ET.SubElement(self.root, "link", name="world")
        self.graph = KinematicGraph.from_urdf(self.root, self.lines, self.source)
        prepared.notes.append(
            "Floating joints hold nothing, so that their links are free in the world: "
            f"{quoted([joint.name for joint in floating])}."
        )

    def place(self, joint: UrdfJoint) -> tuple[Rotation, np.ndarray]:
        """Axes and origin of a joint's child in the world, with all joints at zero."""
        above = self.graph.joint_of(joint.parent)
        turn, point = Rotation.identity(), np.zeros(3)
        if above is not None:
            turn, point = self.place(above)
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
                raise self.error(
                    f"the origin of joint '{joint.name}' (line {self.lines[origin]}) has "
                    f'{name}="{origin.get(name)}"; give three numbers.'
                )
        point = point + turn.apply(numbers["xyz"])
        return turn * Rotation.from_euler("xyz", numbers["rpy"]), point

    def check_joints(self, prepared: PreparedUrdf) -> None:
        unlimited, velocities = [], False
        for joint in self.graph.joints.values():
            limit = joint.element.find("limit")
            if limit is None:
                continue
            velocities = velocities or (joint.kind != "fixed" and "velocity" in limit.attrib)
            lower, upper = limit.get("lower"), limit.get("upper")
            if joint.kind in ("revolute", "prismatic") and lower is not None and upper is not None:
                low, high = (
                    number(limit, name, self.lines, self.source) for name in ("lower", "upper")
                )
                if low == high:
                    unlimited.append(joint.name)
                    del limit.attrib["lower"], limit.attrib["upper"]  # MuJoCo would log a warning
        mimics = [j.name for j in self.graph.joints.values() if j.mimic is not None]
        if unlimited:
            prepared.notes.append(
                f"Joints with equal lower and upper limits move without limits: "
                f"{quoted(unlimited)}."
            )
        if mimics:
            prepared.notes.append(
                f"Mimic joints became joint equality constraints: {quoted(mimics)}."
            )
        if velocities:
            prepared.notes.append("Velocity limits of joints are not enforced.")

    def drop_visuals(self, prepared: PreparedUrdf) -> None:
        count = 0
        for link in self.graph.links.values():
            for visual in link.findall("visual"):
                link.remove(visual)
                count += 1
        if count:
            prepared.notes.append(
                f"Discarded {count} visual shapes; pass discard_visual=False to keep them."
            )

    def resolve_meshes(self, prepared: PreparedUrdf, finder: MeshFinder) -> None:
        notes: dict[str, None] = {}
        dropped: dict[str, list[str]] = {"collision": [], "visual": []}
        for name, link in self.graph.links.items():
            for shape in [*link.findall("collision"), *link.findall("visual")]:
                mesh = shape.find("geometry/mesh")
                if mesh is None:
                    continue
                uri = mesh.get("filename", "")
                found = finder.find(uri)
                if found.path is not None:
                    mesh.set("filename", str(found.path.absolute()))
                    if found.note is not None:
                        notes[found.note] = None
                elif found.unreadable is None and shape.tag == "collision":
                    raise self.error(
                        f"mesh '{uri}' of link '{name}' (line {self.lines[mesh]}) was not found; "
                        "correct the name, or give the folder that holds its package in "
                        "package_paths."
                    )
                else:
                    link.remove(shape)
                    dropped[shape.tag].append(f"'{name}' ({uri})")
        if notes:
            prepared.notes.append(f"Meshes: {listed(list(notes), 2)}.")
        if dropped["visual"]:
            prepared.notes.append(
                "Dropped visual shapes whose meshes are missing or not in a format that MuJoCo "
                f"reads ({', '.join(READABLE)}), of links {listed(dropped['visual'])}."
            )
        if dropped["collision"]:
            sentence = (
                f"Dropped collision shapes, because MuJoCo reads only {', '.join(READABLE)}; "
                "put a converted mesh with the same name beside the original, for links "
                f"{listed(dropped['collision'])}."
            )
            prepared.notes.append(sentence)
            prepared.losses.append(sentence)

    def exclude_base(self, prepared: PreparedUrdf, *, fused: bool) -> None:
        """Keep a fixed base from colliding with what is mounted on it.

        MuJoCo lets neighbours pass through each other, except when the first of them does not
        move, so that things can lie on the floor. The base of an arm is not a floor.
        """
        graph = self.graph
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

"""The links and joints of a URDF as a graph, checked to be a forest."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from asperity.errors import ModelError

__all__ = ["KinematicGraph", "UrdfJoint"]

_KINDS = {"revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical"}


@dataclass
class UrdfJoint:
    """A joint, with names instead of elements."""

    name: str
    kind: str
    parent: str
    child: str
    mimic: str | None
    element: ET.Element

    def make(self, kind: str) -> None:
        """Change the kind of the joint, also in the document."""
        self.kind = kind
        self.element.set("type", kind)


@dataclass
class KinematicGraph:
    """Links by name, joints by name, and who hangs on whom.

    Attributes
    ----------
    roots : list of str
        Links without a parent; "world" among them if the URDF has a link or a parent of that name.
    """

    links: dict[str, ET.Element] = field(default_factory=dict)
    joints: dict[str, UrdfJoint] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    _children: dict[str, list[UrdfJoint]] = field(default_factory=dict)
    _parents: dict[str, UrdfJoint] = field(default_factory=dict)

    @classmethod
    def from_urdf(
        cls, root: ET.Element, lines: dict[ET.Element, int], source: str
    ) -> KinematicGraph:
        """Collect links and joints.

        Raises
        ------
        ModelError
            If a name is missing, repeated or unknown, or the joints do not form a forest.
        """
        graph = cls()

        def fail(item: ET.Element, message: str) -> ModelError:
            return ModelError(f"{source}: {message} (line {lines[item]}).")

        for item in root.findall("link"):
            name = item.get("name")
            if not name or name in graph.links:
                what = f"link name '{name}' is used twice" if name else "a <link> has no name"
                raise fail(item, f"{what}; give every link its own name")
            graph.links[name] = item
        if not graph.links:
            raise ModelError(f"{source} has no <link>; a robot needs at least one.")
        for item in root.findall("joint"):
            joint = _read_joint(item, fail)
            if joint.name in graph.joints:
                raise fail(item, f"joint name '{joint.name}' is used twice; rename one of them")
            for name in (joint.parent, joint.child):
                if name not in graph.links and not (name == "world" and name == joint.parent):
                    raise fail(
                        item,
                        f"joint '{joint.name}' refers to link '{name}', which does not exist; "
                        "add it or correct the name",
                    )
            if joint.child in graph._parents:
                other = graph._parents[joint.child].name
                raise fail(
                    item,
                    f"link '{joint.child}' hangs on two joints, '{other}' and '{joint.name}'; "
                    "remove one and close the loop with an equality constraint",
                )
            graph.joints[joint.name] = joint
            graph._parents[joint.child] = joint
            graph._children.setdefault(joint.parent, []).append(joint)
        for joint in graph.joints.values():
            if joint.mimic is not None and joint.mimic not in graph.joints:
                raise fail(
                    joint.element,
                    f"joint '{joint.name}' mimics joint '{joint.mimic}', which does not exist; "
                    "correct the name",
                )
        graph.roots = [n for n in [*graph.links, "world"] if graph._is_root(n)]
        graph.roots = list(dict.fromkeys(graph.roots))
        reached = {name for top in graph.roots for name in [top, *graph.descendants(top)]}
        for name in graph.links:
            if name not in reached:
                raise fail(
                    graph.links[name],
                    f"link '{name}' hangs on itself through a loop of joints; a URDF must be a "
                    "tree, so break the loop",
                )
        return graph

    def _is_root(self, name: str) -> bool:
        return name not in self._parents and (name in self.links or name in self._children)

    def children(self, link: str) -> list[UrdfJoint]:
        """Joints whose parent is the given link."""
        return self._children.get(link, [])

    def joint_of(self, link: str) -> UrdfJoint | None:
        """The joint that carries a link, or None for a root."""
        return self._parents.get(link)

    def descendants(self, link: str) -> Iterator[str]:
        """All links below the given one."""
        waiting = [joint.child for joint in self.children(link)]
        while waiting:
            name = waiting.pop()
            yield name
            waiting.extend(joint.child for joint in self.children(name))

    def fixed_group(self, link: str) -> list[str]:
        """The given link and those fixed to it, directly or in a chain, below it."""
        group = [link]
        for name in group:
            group.extend(joint.child for joint in self.children(name) if joint.kind == "fixed")
        return group

    def moving_groups(self, free: Collection[str]) -> Iterator[list[str]]:
        """Groups of links that move as one body, starting with the link that carries the others.

        Parameters
        ----------
        free : collection of str
            Links that get a free joint.
        """
        for name in self.links:
            joint = self.joint_of(name)
            if name in free or (joint is not None and joint.kind != "fixed"):
                yield self.fixed_group(name)


def _read_joint(item: ET.Element, fail: Callable[[ET.Element, str], ModelError]) -> UrdfJoint:
    name = item.get("name")
    if not name:
        raise fail(item, "a <joint> has no name; give it one")
    kind = item.get("type", "")
    if kind not in _KINDS:
        raise fail(
            item,
            f"joint '{name}' has the unknown type '{kind}'; use one of {', '.join(sorted(_KINDS))}",
        )
    ends = []
    for end in ("parent", "child"):
        element = item.find(end)
        link = None if element is None else element.get("link")
        if not link:
            raise fail(item, f"joint '{name}' has no <{end} link=...>; add it")
        ends.append(link)
    mimic = item.find("mimic")
    return UrdfJoint(
        name=name,
        kind=kind,
        parent=ends[0],
        child=ends[1],
        mimic=None if mimic is None else mimic.get("joint", ""),
        element=item,
    )

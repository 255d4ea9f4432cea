"""Cables of MJCF before MuJoCo 4: ``<composite type="cable">`` with the plugin of its elasticity.

MuJoCo 4 reads neither. A cable becomes what it was, a chain of bodies with the same names, whose
joints twist and bend. A joint of a cable with elasticity is three hinges: about the cable's axis x,
and about the axes y and z of its section, with springs of the stiffness

    G J/ℓ,    E I_y/ℓ,    E I_z/ℓ

of a discrete elastic rod, where ℓ is the mean length of both edges. J is Saint-Venant's torsion
constant: π r⁴/2 of round sections, and for boxes as in Roark's formulas. Two hinges that bend by
b_y and b_z twist as well, by ½ b_y b_z, as a universal joint does, and they bend in the frame of
one of the edges, not between both. So their order is x, y, z in one joint and z, y, x in the next:
what is left is of second order in the length of edges. Without elasticity joints are balls.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.loading.xml_reader import read_xml, without_comments

__all__ = ["expand_cables", "hinge_angles"]

_PLUGIN = "mujoco.elasticity.cable"
_CURVES = ("s", "cos(s)", "sin(s)", "0")
_AXES = ("1 0 0", "0 1 0", "0 0 1")
# Attributes of a composite's joint that are none of a joint.
_NO_ATTRIBUTES = ("kind", "type", "axis", "solreffix", "solimpfix")


def expand_cables(text: str, name: str) -> tuple[str, list[str]]:
    """Write cables of MJCF as bodies.

    Parameters
    ----------
    text : str
    name : str
        What messages call it.

    Returns
    -------
    text : str
        As it was if it has no cables.
    notes : list of str
        A sentence, if it has.

    Raises
    ------
    ModelError
        If a cable cannot be understood; the message names the line.
    """
    if "<composite" not in without_comments(text):
        return text, []
    root, lines = read_xml(text, name)
    configurations = _take_plugins(root)
    angle = 1.0 if _uses_radians(root) else 180.0 / math.pi
    count = 0
    excluded = ET.Element("contact")
    for parent in list(root.iter()):
        for place, child in enumerate(list(parent)):
            if child.tag == "composite" and child.get("type") == "cable":
                where = f"{name}: the cable in line {lines[child]}"
                parent[place] = _Cable(child, configurations, angle, where).bodies(excluded)
                count += 1
    if count == 0:
        return text, []
    root.append(excluded)
    note = (
        f"{count} cable{'s' if count > 1 else ''} (<composite>) became bodies, with three hinges "
        "in the place of a ball joint that resists bending and twisting."
    )
    return ET.tostring(root, encoding="unicode"), [note]


def _take_plugins(root: ET.Element) -> dict[str, dict[str, str]]:
    """Remove the cable's plugin from the extensions; returns the configurations of instances."""
    found = {}
    for extension in root.findall("extension"):
        for plugin in extension.findall("plugin"):
            if plugin.get("plugin") == _PLUGIN:
                for instance in plugin.findall("instance"):
                    found[instance.get("name", "")] = _configuration(instance)
                extension.remove(plugin)
    return found


def _configuration(element: ET.Element) -> dict[str, str]:
    return {one.get("key", ""): one.get("value", "") for one in element.findall("config")}


def _uses_radians(root: ET.Element) -> bool:
    return any(one.get("angle") == "radian" for one in root.iter("compiler"))


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """By an angle about a unit vector, shape (3, 3)."""
    quaternion, matrix = np.empty(4), np.empty(9)
    mujoco.mju_axisAngle2Quat(quaternion, axis, angle)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def _quaternion(rotation: np.ndarray) -> np.ndarray:
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, rotation.ravel())
    return quaternion


def hinge_angles(turn: np.ndarray, edge: int) -> np.ndarray:
    """Angles about x, y and z of the hinges before an edge, of a rotation matrix.

    Those of R_z R_y R_x are those of R_x R_y R_z, backwards.
    """
    backwards = edge % 2 == 1
    r = turn.T if backwards else turn
    angles = np.array(
        [
            math.atan2(-r[1, 2], r[2, 2]),
            math.asin(min(max(r[0, 2], -1.0), 1.0)),
            math.atan2(-r[0, 1], r[0, 0]),
        ]
    )
    return -angles if backwards else angles


def _text(values: np.ndarray | list[float]) -> str:
    return " ".join(f"{value:.17g}" for value in values)


class _Cable:
    """One cable, with its points and the frames of its edges."""

    def __init__(
        self,
        element: ET.Element,
        configurations: dict[str, dict[str, str]],
        angle: float,
        where: str,
    ) -> None:
        self._element = element
        self._where = where
        self._angle = angle
        self._prefix = element.get("prefix", "")
        self._geom = element.find("geom")
        self._section = self._read_section()
        self._elasticity: dict[str, str] | None = None
        plugin = element.find("plugin")
        if plugin is not None:
            self._elasticity = self._read_elasticity(plugin, configurations)
        self._points = self._read_points()
        self._frames = self._find_frames()

    def bodies(self, excluded: ET.Element) -> ET.Element:
        """The first body, with all others in it; neighbours are added to what may not collide."""
        edges = len(self._frames)
        first = body = ET.Element("body")
        for edge in range(edges):
            if edge > 0:
                pair = {"body1": self._name("B", edge - 1), "body2": self._name("B", edge)}
                ET.SubElement(excluded, "exclude", pair)
                body = ET.SubElement(body, "body")
            body.set("name", self._name("B", edge))
            self._place(body, edge)
            self._add_joints(body, edge)
            self._add_geom(body, edge)
            if edge in (0, edges - 1):
                end = 0.0 if edge == 0 else self._length(edge)
                site = self._element.find("site")
                attributes = dict(site.attrib) if site is not None else {}
                attributes.update(name=self._name("S", edge), pos=_text([end, 0.0, 0.0]))
                ET.SubElement(body, "site", attributes)
        return first

    def _name(self, kind: str, edge: int) -> str:
        number = {0: "first", len(self._frames) - 1: "last"}.get(edge, str(edge))
        return f"{self._prefix}{kind}_{number}"

    def _length(self, edge: int) -> float:
        return float(np.linalg.norm(self._points[edge + 1] - self._points[edge]))

    def _numbers(self, element: ET.Element, name: str, default: str, least: int = 0) -> np.ndarray:
        try:
            values = np.array([float(word) for word in element.get(name, default).split()])
        except ValueError:
            values = np.array([np.nan])
        if len(values) < least or not np.isfinite(values).all():
            raise ModelError(f"{self._where} has the {name} '{element.get(name)}'; correct it.")
        return values

    def _read_elasticity(
        self, plugin: ET.Element, configurations: dict[str, dict[str, str]]
    ) -> dict[str, str]:
        instance = plugin.get("instance")
        if instance is not None:
            if instance not in configurations:
                raise ModelError(
                    f"{self._where} has the plugin instance '{instance}', which no <extension> "
                    f"with {_PLUGIN} defines; define it."
                )
            return configurations[instance]
        if plugin.get("plugin") != _PLUGIN:
            raise ModelError(
                f"{self._where} has the plugin '{plugin.get('plugin')}'; only {_PLUGIN} is known."
            )
        return _configuration(plugin)

    def _read_section(self) -> np.ndarray:
        """J, I_y and I_z [m⁴]."""
        kind = "" if self._geom is None else self._geom.get("type", "")
        if self._geom is None or kind not in ("capsule", "cylinder", "box"):
            raise ModelError(
                f"{self._where} has no geom of type capsule, cylinder or box; give it one."
            )
        size = self._numbers(self._geom, "size", "", 3 if kind == "box" else 1)
        if kind != "box":
            bending = 0.25 * math.pi * size[0] ** 4
            return np.array([2.0 * bending, bending, bending])
        y, z = size[1], size[2]
        a, b = max(y, z), min(y, z)
        twist = a * b**3 * (16.0 / 3.0 - 3.36 * b / a * (1.0 - b**4 / (12.0 * a**4)))
        return np.array([twist, 4.0 / 3.0 * y * z**3, 4.0 / 3.0 * z * y**3])

    def _read_points(self) -> np.ndarray:
        """Of the vertices, shape (n, 3)."""
        element = self._element
        if element.get("vertex") is not None:
            points = self._numbers(element, "vertex", "", 9)
            if len(points) % 3 != 0:
                raise ModelError(
                    f"{self._where} has a vertex of less than three numbers; add them."
                )
            return np.asarray(points.reshape(-1, 3))
        count = int(self._numbers(element, "count", "1")[0])
        size = np.append(self._numbers(element, "size", "1 0 0", 1), [0.0, 0.0])[:3]
        curves = [*element.get("curve", "s").split(), "0", "0"][:3]
        if count < 3 or any(curve not in _CURVES for curve in curves):
            raise ModelError(
                f"{self._where} has less than three points, or a curve of others than "
                f"{', '.join(_CURVES)}; correct it."
            )
        s = np.linspace(0.0, 1.0, count)
        values = {
            "s": size[0] * s,
            "cos(s)": size[1] * np.cos(np.pi * size[2] * s),
            "sin(s)": size[1] * np.sin(np.pi * size[2] * s),
            "0": 0.0 * s,
        }
        quat = self._numbers(element, "quat", "1 0 0 0", 4)
        norm = float(np.linalg.norm(quat[1:]))
        turn = np.eye(3)
        if norm > 0.0:
            turn = _rotation(quat[1:] / norm, 2.0 * math.atan2(norm, quat[0]))
        return np.stack([values[curve] for curve in curves], axis=1) @ turn.T

    def _find_frames(self) -> np.ndarray:
        """Of the edges, whose columns are tangent, normal and binormal, without twist."""
        edges = np.diff(self._points, axis=0)
        lengths = np.linalg.norm(edges, axis=1)
        if not np.all(lengths > 0.0):
            raise ModelError(f"{self._where} has an edge without length; move its vertices apart.")
        tangent = edges / lengths[:, None]
        normal = np.cross(np.cross(tangent[0], tangent[1]), tangent[0])
        if np.linalg.norm(normal) < 1e-9:
            side = [0.0, 1.0, 0.0] if abs(tangent[0, 1]) < 0.9 else [0.0, 0.0, 1.0]
            normal = side - tangent[0] * (side @ tangent[0])
        frames = []
        for edge, along in enumerate(tangent):
            if edge > 0:
                axis = np.cross(tangent[edge - 1], along)
                sine = float(np.linalg.norm(axis))
                if sine > 0.0:
                    turn = math.atan2(sine, float(tangent[edge - 1] @ along))
                    normal = _rotation(axis / sine, turn) @ normal
            normal = normal / np.linalg.norm(normal)
            frames.append(np.stack([along, normal, np.cross(along, normal)], axis=1))
        return np.array(frames)

    def _place(self, body: ET.Element, edge: int) -> None:
        if edge == 0:
            offset = self._numbers(self._element, "offset", "0 0 0", 3)
            body.set("pos", _text(offset + self._points[0]))
            body.set("quat", _text(_quaternion(self._frames[0])))
            return
        body.set("pos", _text([self._length(edge - 1), 0.0, 0.0]))
        body.set("quat", _text(_quaternion(self._frames[edge - 1].T @ self._frames[edge])))

    def _add_joints(self, body: ET.Element, edge: int) -> None:
        joint = self._element.find("joint")
        attributes = {} if joint is None else dict(joint.attrib)
        for attribute in _NO_ATTRIBUTES:
            attributes.pop(attribute, None)
        name = self._name("J", edge)
        initial = self._element.get("initial", "ball")
        if edge == 0 and initial == "free":
            ET.SubElement(body, "freejoint", name=name)
        elif (edge == 0 and initial == "ball") or (edge > 0 and not self._elasticity):
            ET.SubElement(body, "joint", attributes, name=name, type="ball")
        elif edge > 0:
            self._add_hinges(body, edge, name, attributes)

    def _add_hinges(
        self, body: ET.Element, edge: int, name: str, attributes: dict[str, str]
    ) -> None:
        assert self._elasticity is not None
        config = ET.Element("config", self._elasticity)
        twist = self._numbers(config, "twist", "0", 1)[0]
        bend = self._numbers(config, "bend", "0", 1)[0]
        length = 0.5 * (self._length(edge - 1) + self._length(edge))
        stiffness = np.array([twist, bend, bend]) * self._section / length
        order = (0, 1, 2) if edge % 2 == 0 else (2, 1, 0)
        rest = np.zeros(3)
        if self._elasticity.get("flat", "").strip() == "true":
            # The angles that take back what two edges bend.
            rest = hinge_angles(self._frames[edge].T @ self._frames[edge - 1], edge)
        for k in order:
            ET.SubElement(
                body,
                "joint",
                attributes,
                name=f"{name}_{'xyz'[k]}",
                type="hinge",
                axis=_AXES[k],
                stiffness=_text([stiffness[k]]),
                springref=_text([self._angle * rest[k]]),
            )

    def _add_geom(self, body: ET.Element, edge: int) -> None:
        assert self._geom is not None
        attributes = dict(self._geom.attrib)
        length = self._length(edge)
        attributes["name"] = f"{self._prefix}G{edge}"
        if attributes["type"] == "box":
            size = self._numbers(self._geom, "size", "")
            attributes["pos"] = _text([0.5 * length, 0.0, 0.0])
            attributes["size"] = _text([0.5 * length, size[1], size[2]])
        else:
            attributes["fromto"] = _text([0.0, 0.0, 0.0, length, 0.0, 0.0])
        ET.SubElement(body, "geom", attributes)

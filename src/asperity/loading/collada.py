"""COLLADA files (``.dae``) of meshes, which MuJoCo does not read.

Read are the triangles and polygons of the geometries that the scene shows, in metres (``<unit>``),
without a turn by ``<up_axis>``: so ROS and Gazebo do with the meshes of a URDF.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface
from asperity.loading.mesh_paths import mesh_name, mesh_path

__all__ = ["convert_collada", "read_collada"]

Floats = NDArray[np.float64]


def convert_collada(spec: mujoco.MjSpec, surfaces: Mapping[Path, Surface]) -> None:
    """Give meshes of a specification, which is changed in place, the triangles of their files."""
    for mesh in spec.meshes:
        path = mesh_path(spec, mesh.file)
        if path is not None and path in surfaces:
            mesh.name = mesh_name(mesh)
            mesh.file = ""
            mesh.uservert = surfaces[path].vertices.ravel()
            mesh.userface = surfaces[path].faces.ravel()


def read_collada(path: Path) -> Surface:
    """Read what a COLLADA file shows as one surface [m]; equal vertices are one.

    Raises
    ------
    ModelError
        Naming the file, if it shows no triangles, or is not as COLLADA says.
    """
    try:
        root = ET.parse(path).getroot()
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        corners = np.concatenate([np.zeros((0, 3, 3)), *_Document(root).triangles()])
    except (ET.ParseError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise ModelError(f"{path} is no COLLADA file that can be read: {error!r}.") from None
    if not len(corners) or not np.all(np.isfinite(corners)):
        raise ModelError(f"{path} shows no triangles; export it again, as binary STL or OBJ.")
    vertices, label = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    faces = label.reshape(-1, 3)
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2])
    return Surface(vertices, faces[distinct & (faces[:, 2] != faces[:, 0])].astype(np.int64))


class _Document:
    """The elements of a file, whose tags have no namespace, by id."""

    def __init__(self, root: ET.Element) -> None:
        self._root = root
        self._known = {f"#{one.get('id')}": one for one in root.iter() if one.get("id")}

    def triangles(self) -> Iterator[Floats]:
        """Corners of triangles in the scene [m], shape (n, 3, 3)."""
        unit = self._root.find("asset/unit")
        meter = float("1" if unit is None else unit.get("meter", "1"))
        shown = self._root.find("scene/instance_visual_scene")
        for node in [] if shown is None else self._known[shown.get("url", "")].findall("node"):
            yield from self._of_node(node, np.diag([meter, meter, meter, 1.0]))

    def _of_node(self, node: ET.Element, place: Floats) -> Iterator[Floats]:
        for one in node:
            if one.tag in _PLACES:
                place = place @ _PLACES[one.tag](_numbers(one))
        for one in node:
            if one.tag == "node":
                yield from self._of_node(one, place)
            elif one.tag == "instance_node":
                yield from self._of_node(self._known[one.get("url", "")], place)
            elif one.tag == "instance_geometry":
                for corners in self._of_geometry(self._known[one.get("url", "")]):
                    placed = corners @ place[:3, :3].T + place[:3, 3]
                    # What is mirrored would face inwards.
                    yield placed[:, ::-1] if np.linalg.det(place[:3, :3]) < 0.0 else placed

    def _of_geometry(self, geometry: ET.Element) -> Iterator[Floats]:
        for kind in ("triangles", "polylist", "polygons"):
            for part in geometry.findall(f"mesh/{kind}"):
                inputs = part.findall("input")
                stride = 1 + max(int(one.get("offset", "0")) for one in inputs)
                own = next(one for one in inputs if one.get("semantic") == "VERTEX")
                vertices = self._vertices(own.get("source", ""))
                counts = part.find("vcount")
                offset = int(own.get("offset", "0"))
                runs = [_numbers(p, np.int64)[offset::stride] for p in part.findall("p")]
                if counts is not None:
                    runs = np.split(runs[0], np.cumsum(_numbers(counts, np.int64))[:-1])
                elif kind == "triangles":
                    runs = [run for p in runs for run in p.reshape(-1, 3)]
                fans = [
                    (run[0], run[i], run[i + 1]) for run in runs for i in range(1, len(run) - 1)
                ]
                yield vertices[np.array(fans, dtype=np.int64).reshape(-1, 3)]

    def _vertices(self, source: str) -> Floats:
        """Positions of a ``<vertices>``, shape (n, 3)."""
        inputs = self._known[source].findall("input")
        where = next(one for one in inputs if one.get("semantic") == "POSITION")
        positions = self._known[where.get("source", "")]
        array, accessor = positions.find("float_array"), positions.find(".//accessor")
        assert array is not None
        assert accessor is not None
        numbers = _numbers(array)[int(accessor.get("offset", "0")) :]
        stride = int(accessor.get("stride", "1"))
        return numbers[: stride * int(accessor.get("count", "0"))].reshape(-1, stride)[:, :3]


def _numbers(element: ET.Element | None, kind: type = np.float64) -> NDArray[Any]:
    text = "" if element is None else element.text or ""
    return np.array(text.split(), dtype=kind)


def _matrix(numbers: Floats) -> Floats:
    return numbers.reshape(4, 4)


def _translate(numbers: Floats) -> Floats:
    place = np.eye(4)
    place[:3, 3] = numbers
    return place


def _rotate(numbers: Floats) -> Floats:
    """Of an axis and an angle in degrees."""
    quat, turn = np.zeros(4), np.zeros(9)
    axis = numbers[:3] / (np.linalg.norm(numbers[:3]) or 1.0)
    mujoco.mju_axisAngle2Quat(quat, axis, math.radians(numbers[3]))
    mujoco.mju_quat2Mat(turn, quat)
    place = np.eye(4)
    place[:3, :3] = turn.reshape(3, 3)
    return place


def _scale(numbers: Floats) -> Floats:
    return np.diag([*numbers, 1.0])


_PLACES = {"matrix": _matrix, "translate": _translate, "rotate": _rotate, "scale": _scale}

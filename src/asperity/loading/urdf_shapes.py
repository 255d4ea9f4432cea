"""Shapes of a URDF: visual ones, and meshes that must be found."""

from __future__ import annotations

from pathlib import Path

from asperity.errors import ModelError
from asperity.loading.collada import read_collada
from asperity.loading.mesh_files import READABLE, MeshFinder
from asperity.loading.urdf_document import PreparedUrdf, UrdfDocument
from asperity.plant.model.names import listed

__all__ = ["drop_visuals", "resolve_meshes"]

_FORMATS = ", ".join((*READABLE, ".dae"))


def drop_visuals(robot: UrdfDocument, prepared: PreparedUrdf) -> None:
    """Remove the shapes that are only there to be seen."""
    count = 0
    for link in robot.graph.links.values():
        for visual in link.findall("visual"):
            link.remove(visual)
            count += 1
    if count:
        prepared.notes.append(
            f"Discarded {count} visual shapes; pass discard_visual=False to keep them."
        )


def _converted(path: Path | None, prepared: PreparedUrdf) -> Path | None:
    """A file that MuJoCo does not read, if its triangles could be read here."""
    if path is None or path.suffix.lower() != ".dae":
        return None
    path = path.absolute()
    if path not in prepared.surfaces:
        try:
            prepared.surfaces[path] = read_collada(path)
        except ModelError as error:
            prepared.notes.append(str(error))
            return None
    return path


def resolve_meshes(robot: UrdfDocument, prepared: PreparedUrdf, finder: MeshFinder) -> None:
    """Name every mesh by its path, and drop shapes whose mesh cannot be used."""
    notes: dict[str, None] = {}
    dropped: dict[str, list[str]] = {"collision": [], "visual": []}
    for name, link in robot.graph.links.items():
        for shape in [*link.findall("collision"), *link.findall("visual")]:
            mesh = shape.find("geometry/mesh")
            if mesh is None:
                continue
            uri = mesh.get("filename", "")
            found = finder.find(uri)
            path = found.path or _converted(found.unreadable, prepared)
            if path is not None:
                mesh.set("filename", str(path.absolute()))
                if found.note is not None:
                    notes[found.note] = None
            elif found.unreadable is None and shape.tag == "collision":
                raise robot.error(
                    f"mesh '{uri}' of link '{name}' (line {robot.lines[mesh]}) was not found; "
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
            "Dropped visual shapes whose meshes are missing or in none of the formats "
            f"{_FORMATS}, of links {listed(dropped['visual'])}."
        )
    if dropped["collision"]:
        sentence = (
            f"Dropped collision shapes, whose meshes are in none of the formats {_FORMATS}; "
            "put a converted mesh with the same name beside the original, for links "
            f"{listed(dropped['collision'])}."
        )
        prepared.notes.append(sentence)
        prepared.losses.append(sentence)

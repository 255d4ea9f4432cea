"""A URDF in work, and what comes of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

from asperity.errors import ModelError
from asperity.geometry.surfaces import Surface
from asperity.loading.kinematic_graph import KinematicGraph

__all__ = ["PreparedUrdf", "UrdfDocument"]


@dataclass
class UrdfDocument:
    """A URDF that is being changed.

    Attributes
    ----------
    root : Element
    lines : dict
        Line of each element.
    source : str
        What messages call the file.
    graph : KinematicGraph
        Links and joints; made anew when joints get other parents.
    """

    root: ET.Element
    lines: dict[ET.Element, int]
    source: str
    graph: KinematicGraph = field(init=False)

    def read_graph(self) -> None:
        """Collect links and joints from the document as it is now."""
        self.graph = KinematicGraph.from_urdf(self.root, self.lines, self.source)

    def error(self, message: str) -> ModelError:
        """An error that names the file."""
        return ModelError(f"{self.source}: {message}")


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
    friction : dict of str to (float, float, float)
        Coefficients of sliding, spinning [m] and rolling [m] of links that have their own.
    springs : dict of str to dict
        Stiffness [N/m], damping [N s/m] and restitution of links' contact, those that are given.
    weightless : list of str
        Links that gravity does not pull.
    starts : dict of str to float
        Where joints are in the keyframe "initial" [rad or m].
    surfaces : dict of Path to Surface
        Triangles of mesh files that MuJoCo does not read.
    velocity_limits : dict of str to float
        Largest speeds of joints [rad/s or m/s].
    notes : list of str
        Sentences for the report.
    losses : list of str
        Sentences about collision geometry that had to be dropped; these are worth a warning.
    """

    xml: str = ""
    free_bodies: list[str] = field(default_factory=list)
    base_bodies: list[str] = field(default_factory=list)
    excludes: list[tuple[str, str]] = field(default_factory=list)
    friction: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    springs: dict[str, dict[str, float]] = field(default_factory=dict)
    weightless: list[str] = field(default_factory=list)
    starts: dict[str, float] = field(default_factory=dict)
    surfaces: dict[Path, Surface] = field(default_factory=dict)
    velocity_limits: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)

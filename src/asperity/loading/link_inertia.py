"""Mass and inertia of a URDF's links: what is missing, impossible or has to be made up."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Collection
from typing import Literal

import numpy as np

from asperity.errors import ModelError
from asperity.loading.kinematic_graph import KinematicGraph
from asperity.loading.xml_reader import number
from asperity.plant.model.names import quoted

__all__ = ["check_inertias"]

# A link that moves but weighs nothing, on the way to links that do weigh something, gets this
# mass [kg] and moment of inertia [kg m²]: a milligram is beyond what any robot notices, and MuJoCo
# needs a positive number.
_DUMMY_MASS = 1e-6
_DUMMY_INERTIA = 1e-9
_WATER = 1000.0  # density [kg/m³] that MuJoCo gives to shapes, too
# MuJoCo takes moments of inertia [kg m²] below 1e-14 for zero; stay clear of that.
_SMALLEST = 1e-13
_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def check_inertias(
    graph: KinematicGraph,
    lines: dict[ET.Element, int],
    source: str,
    notes: list[str],
    *,
    free: Collection[str],
    repair: bool,
) -> None:
    """Make the inertias such that MuJoCo compiles them, and say what was changed.

    Parameters
    ----------
    graph : KinematicGraph
        Its links are changed in place.
    lines : dict
        Line of each element.
    source : str
        What messages call the file.
    notes : list of str
        Sentences are added.
    free : collection of str
        Links that get a free joint.
    repair : bool
        Whether moments of inertia that no body can have may be replaced; false if the file says
        ``balanceinertia="false"``.

    Raises
    ------
    ModelError
        If a mass is negative, an inertia is missing, or a moving link has no mass and carries none.
    """
    inferred: list[str] = []
    repaired: dict[str, list[str]] = {"balanced": [], "ball": []}
    dummies: list[str] = []
    for name, link in graph.links.items():
        inertial = link.find("inertial")
        if inertial is not None and _mass(name, inertial, lines, source) == 0:
            link.remove(inertial)  # the same as none: MuJoCo then looks at the shapes
            inertial = None
        if inertial is None:
            if link.find("collision") is not None and name != "world":
                inferred.append(name)
        elif repair:
            how = _repair(inertial, lines, source)
            if how is not None:
                repaired[how].append(name)
    for group in graph.moving_groups(free):
        if any(_has_mass(graph, name) for name in group):
            continue
        joint = graph.joint_of(group[0])
        if not any(_has_mass(graph, name) for name in graph.descendants(group[0])):
            moved = f"moves on joint '{joint.name}'" if joint else "floats"
            raise ModelError(
                f"{source}: link '{group[0]}' {moved} but has no mass and carries none; give it an "
                "<inertial> element or make it fixed."
            )
        inertial = ET.SubElement(graph.links[group[0]], "inertial")
        ET.SubElement(inertial, "mass", value=repr(_DUMMY_MASS))
        _write(ET.SubElement(inertial, "inertia"), _DUMMY_INERTIA)
        dummies.append(group[0])
    for names, sentence in (
        (inferred, "Links without inertia get it from their collision shapes at 1000 kg/m³"),
        (dummies, f"Moving links without mass or shape got a mass of {_DUMMY_MASS:g} kg"),
        (
            repaired["balanced"],
            "Moments of inertia that no body can have were replaced by their mean",
        ),
        (
            repaired["ball"],
            "Links with a mass but no moment of inertia got that of a ball of 1000 kg/m³",
        ),
    ):
        if names:
            notes.append(f"{sentence}: {quoted(names)}.")


def _has_mass(graph: KinematicGraph, name: str) -> bool:
    link = graph.links[name]
    return link.find("inertial") is not None or link.find("collision") is not None


def _mass(name: str, inertial: ET.Element, lines: dict[ET.Element, int], source: str) -> float:
    element = inertial.find("mass")
    value = 0.0 if element is None else number(element, "value", lines, source)
    if value < 0:
        raise ModelError(f"{source}: link '{name}' has a mass of {value} kg; make it positive.")
    if value > 0 and inertial.find("inertia") is None:
        raise ModelError(
            f"{source}: link '{name}' has a mass but no <inertia>; add one, or remove <inertial>."
        )
    return value


def _repair(
    inertial: ET.Element, lines: dict[ET.Element, int], source: str
) -> Literal["balanced", "ball"] | None:
    """Replace principal moments that are not positive or break A + B >= C.

    The mean of the moments keeps the trace, as MuJoCo's ``balanceinertia`` does, which does not
    help where a moment is zero or negative. Exporters write such matrices for frames.
    """
    inertia = inertial.find("inertia")
    mass = inertial.find("mass")
    assert inertia is not None
    assert mass is not None
    xx, yy, zz, xy, xz, yz = (number(inertia, name, lines, source) for name in _MOMENTS)
    low, middle, high = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if low > max(1e-9 * high, _SMALLEST) and low + middle >= high * (1 - 1e-9):
        return None
    mean = (xx + yy + zz) / 3
    if mean > _SMALLEST:
        _write(inertia, mean)
        return "balanced"
    kilograms = number(mass, "value", lines, source)
    radius = (3 * kilograms / (4 * math.pi * _WATER)) ** (1 / 3)
    _write(inertia, max(0.4 * kilograms * radius**2, 10 * _SMALLEST))
    return "ball"


def _write(inertia: ET.Element, moment: float) -> None:
    for name in _MOMENTS:
        inertia.set(name, repr(float(moment)) if name[1] == name[2] else "0")

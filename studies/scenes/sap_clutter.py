"""Balls and cubes dropped into a box, the clutter of the SAP paper (VI-C, figure 8)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["ClutterObject", "clutter_objects", "sap_clutter"]

DENSITY = 1000.0  # [kg/m³]: balls of 0.524 kg, cubes of 1 kg
HALF_WIDTH = 0.05  # radius of a ball, half side of a cube [m]
FRICTION = 1.0
_COLUMN = 0.2  # distance of a column's axis from the planes x = 0 and y = 0 [m]
_INNER = 0.8  # of the container [m]
_THICKNESS = 0.04
_OBJECT_STIFFNESS = 1e8  # [N/m]
_WALL_STIFFNESS = 1e10

# Balls and face spheres meet one another, ground, walls and the cubes' boxes; boxes nothing else.
_BITS = (
    "contype='1' conaffinity='3'",
    "contype='2' conaffinity='0'",
    "contype='0' conaffinity='1'",
)


@dataclass(frozen=True)
class ClutterObject:
    """One object before it falls.

    Parameters
    ----------
    is_box : bool
        A cube, or else a ball.
    position : tuple of float
        Centre [m], shape (3,).
    quaternion : tuple of float
        Orientation (w, x, y, z), shape (4,).
    """

    is_box: bool
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]


def clutter_objects(bodies: int, seed: int = 41) -> tuple[ClutterObject, ...]:
    """Objects in four columns above the corners of a square, dealt out one column after the other.

    All columns draw the same random sequence: shape, orientation, a sideways offset of up to 1 mm.
    The offset keeps balls from standing on one another in an unstable balance that round-off would
    decide. The lowest centre is at 10 cm and the spacing 17.5 cm, just over the diagonal of a cube,
    where the authors' code has 7.5 and 15 cm: there, turned cubes can start inside the ground or
    one another, which stiff contact answers with a launch.

    Parameters
    ----------
    bodies : int
        Number of objects.
    seed : int
        Of the random sequence.
    """
    objects = []
    corners = [(-_COLUMN, -_COLUMN), (-_COLUMN, _COLUMN), (_COLUMN, -_COLUMN), (_COLUMN, _COLUMN)]
    for corner, (x, y) in enumerate(corners):
        rng = np.random.default_rng(seed)
        for level in range(len(range(corner, bodies, 4))):
            is_box = bool(rng.integers(2))
            w, i, j, k = rng.normal(size=4)
            norm = float(np.sqrt(w * w + i * i + j * j + k * k))
            dx, dy = rng.uniform(-1e-3, 1e-3, size=2)
            objects.append(
                ClutterObject(
                    is_box,
                    (x + float(dx), y + float(dy), 0.1 + 0.175 * level),
                    (float(w) / norm, float(i) / norm, float(j) / norm, float(k) / norm),
                )
            )
    return tuple(objects)


def sap_clutter(
    bodies_per_column: int = 10, walls: bool = True, seed: int = 41, *, face_spheres: bool = False
) -> str:
    """Near-rigid balls and cubes that fall in four columns onto the ground, as MJCF.

    Objects have a stiffness of 10⁸ N/m, ground and walls one of 10¹⁰ N/m, which combine in series;
    all coefficients of friction are 1. No relaxation time is given: by default it is the time step,
    as in the paper.

    Parameters
    ----------
    bodies_per_column : int
        10 in most of the paper's figures, which makes 40 bodies.
    walls : bool
        Whether four walls 0.8 m apart and high hold the objects together, or they spread over the
        ground.
    seed : int
        See `clutter_objects`.
    face_spheres : bool
        How cubes touch. By default in the points that MuJoCo's collision detection finds for two
        boxes, or a box and a plane: four where a face rests. The authors' code has one point per
        pair of geometries, and therefore 26 spheres in every cube, 9 along each face, which touch
        the faces from inside; cubes then meet ground, walls and one another only with these.

    Returns
    -------
    str
        Bodies, their joints and geoms are called ``object_0``, ``object_1`` …; the ground is
        ``wall_0``, the walls ``wall_1`` to ``wall_4``.

    Raises
    ------
    ValueError
        If there is not at least one body per column.
    """
    if bodies_per_column < 1:
        raise ValueError(f"bodies_per_column must be at least 1, got {bodies_per_column}.")
    ball_bits, cube_bits, wall_bits = _BITS if face_spheres else ("", "", "")
    lines = [
        "<mujoco model='SAP clutter'>",
        "<option timestep='0.01' gravity='0 0 -9.81' cone='elliptic'/>",
        "<custom>",
        f"<text name='asperity' data='friction={FRICTION}'/>",
        f"<text name='asperity:geom:object_*' data='stiffness={_OBJECT_STIFFNESS:g}'/>",
        f"<text name='asperity:geom:wall_*' data='stiffness={_WALL_STIFFNESS:g}'/>",
        "</custom>",
        "<default>",
        f"<geom friction='{FRICTION} 0 0' density='{DENSITY}' {ball_bits}/>",
        f"<default class='cube'><geom {cube_bits}/></default>",
        f"<default class='wall'><geom {wall_bits}/></default>",
        "</default>",
        "<worldbody>",
        "<light directional='true' pos='0 0 3' dir='0.3 0.3 -1'/>",
        "<geom class='wall' name='wall_0' type='plane' size='2 2 0.1' rgba='0.75 0.75 0.75 0.25'/>",
    ]
    if walls:
        half, middle = 0.5 * _INNER, 0.5 * (_INNER + _THICKNESS)
        across = f"{0.5 * _THICKNESS} {half + _THICKNESS} {half}"
        along = f"{half} {0.5 * _THICKNESS} {half}"
        places = [
            (middle, 0, across),
            (-middle, 0, across),
            (0, middle, along),
            (0, -middle, along),
        ]
        for number, (x, y, size) in enumerate(places, start=1):
            lines.append(
                f"<geom class='wall' name='wall_{number}' type='box' size='{size}'"
                f" pos='{x} {y} {half}' rgba='0.75 0.75 0.75 0.25'/>"
            )
    for number, item in enumerate(clutter_objects(4 * bodies_per_column, seed)):
        pose = "pos='{!r} {!r} {!r}' quat='{!r} {!r} {!r} {!r}'".format(
            *item.position, *item.quaternion
        )
        size = " ".join([str(HALF_WIDTH)] * (3 if item.is_box else 1))
        shape = f"type='{'box' if item.is_box else 'sphere'}' size='{size}'"
        spheres = ""
        if item.is_box:
            shape = "class='cube' " + shape
            spheres = _spheres(number) if face_spheres else ""
        colour = "0.90 0.55 0.20 1" if item.is_box else "0.25 0.47 0.72 1"
        lines.append(
            f"<body name='object_{number}' {pose}><freejoint name='object_{number}'/>"
            f"<geom name='object_{number}' {shape} rgba='{colour}'/>{spheres}</body>"
        )
    return "\n".join([*lines, "</worldbody>", "</mujoco>"])


def _spheres(number: int) -> str:
    """26 massless spheres that touch the faces of a cube from inside."""
    radius = HALF_WIDTH / 3.0
    places = (HALF_WIDTH - radius) * np.array([-1.0, 0.0, 1.0])
    centres = [(x, y, z) for x in places for y in places for z in places if (x, y, z) != (0, 0, 0)]
    return "".join(
        f"<geom name='object_{number}_{k}' size='{radius!r}' pos='{x} {y} {z}' mass='0'"
        " rgba='1 1 1 0'/>"
        for k, (x, y, z) in enumerate(centres)
    )

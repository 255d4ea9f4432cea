"""Twenty objects dropped into a box, the clutter of the CENIC paper (VII)."""

from __future__ import annotations

from studies.scenes.sap_clutter import HALF_WIDTH, clutter_objects

__all__ = ["KINDS", "OBJECTS", "cenic_clutter"]

KINDS = ("soft", "hard")
OBJECTS = 20

# Stiffness of an object [N/m] and stiction tolerance [m/s].
_NUMBERS = {"soft": (1e3, 1e-2), "hard": (1e5, 1e-4)}

_INNER = 0.8  # of the container [m]
_THICKNESS = 0.04


def cenic_clutter(kind: str, *, seed: int = 41) -> str:
    """The model, as MJCF.

    Four columns of five objects fall into a container whose walls are rigid; dissipation is 10 s/m
    and friction 0.5. Cubes touch in the points that MuJoCo finds for two boxes, not with the
    spheres on their faces that the authors' code needs.

    Parameters
    ----------
    kind : {"soft", "hard"}
        Balls of 10³ N/m that stick to within 10 mm/s, or balls and cubes of 10⁵ N/m that stick to
        within 0.1 mm/s.
    seed : int
        Of shapes, orientations and sideways offsets.

    Raises
    ------
    ValueError
        If the kind is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    stiffness, tolerance = _NUMBERS[kind]
    half, middle = 0.5 * _INNER, 0.5 * (_INNER + _THICKNESS)
    across = f"{0.5 * _THICKNESS} {half + _THICKNESS} {half}"
    along = f"{half} {0.5 * _THICKNESS} {half}"
    walls = [(middle, 0, across), (-middle, 0, across), (0, middle, along), (0, -middle, along)]
    lines = [
        f"<mujoco model='{kind} clutter'>",
        "<custom>",
        "<text name='asperity' data='dissipation=10 friction=0.5"
        f" stiction_tolerance={tolerance:g}'/>",
        f"<text name='asperity:geom:object_*' data='stiffness={stiffness:g}'/>",
        "</custom>",
        "<default><geom friction='0.5' density='1000'/></default>",
        "<worldbody>",
        "<light directional='true' pos='0 0 3' dir='0.3 0.3 -1'/>",
        "<geom name='ground' type='plane' size='2 2 0.1' rgba='0.75 0.75 0.75 0.25'/>",
    ]
    for number, (x, y, size) in enumerate(walls):
        lines.append(
            f"<geom name='wall_{number}' type='box' size='{size}' pos='{x} {y} {half}'"
            " rgba='0.75 0.75 0.75 0.25'/>"
        )
    for number, item in enumerate(clutter_objects(OBJECTS, seed)):
        box = item.is_box and kind == "hard"
        size = " ".join([str(HALF_WIDTH)] * (3 if box else 1))
        pose = "pos='{!r} {!r} {!r}' quat='{!r} {!r} {!r} {!r}'".format(
            *item.position, *item.quaternion
        )
        lines.append(
            f"<body name='object_{number}' {pose}><freejoint/><geom name='object_{number}'"
            f" type='{'box' if box else 'sphere'}' size='{size}'"
            f" rgba='{'0.90 0.55 0.20 1' if box else '0.25 0.47 0.72 1'}'/></body>"
        )
    return "\n".join([*lines, "</worldbody>", "</mujoco>"])

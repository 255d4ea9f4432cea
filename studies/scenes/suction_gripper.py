"""A vacuum gripper with six bellows catches a box (CENIC VII-D1, figure 13)."""

from __future__ import annotations

from asperity.systems.suction import Suction
from studies.scenes.cenic_cases import contact_text

__all__ = [
    "BASE_BOTTOM",
    "BELLOWS_HEIGHT",
    "BOX_HALF_SIZES",
    "field_yield",
    "suction",
    "suction_gripper",
]

BASE_BOTTOM = 0.49
"""Height of the surface that the bellows are pressed against [m]."""

BOX_HALF_SIZES = (0.082, 0.1067, 0.0359)
"""Of a YCB cracker box that lies flat [m]; taken from its scan, not from the paper."""

BELLOWS_HEIGHT = 0.015
"""[m]."""

_RADIUS = 0.01  # of a bellows [m]
_BOX_MASS = 0.411  # [kg]
_BASE = (0.05, 0.04, 0.01)
_PLACES = tuple((x, y) for x in (-0.03, 0.0, 0.03) for y in (-0.02, 0.02))
_FORCE = 50.0  # of a bellows on what touches its source [N]
_REACH = 0.04  # [m]


def suction_gripper(contact: str = "fields") -> str:
    """The model, as MJCF: gripper and ground, and the box below the gripper.

    Bellows are light cylinders on springs. Contact has the defaults of the authors' code, 10⁷ Pa
    (10⁶ N/m in points) and 50 s/m, and μ = 1.

    Parameters
    ----------
    contact : {"fields", "points"}
    """
    sources = "".join(
        f"<geom name='source_{i}' type='sphere' size='1e-4' pos='{x} {y} {-_BASE[2]}'"
        " contype='0' conaffinity='0'/>"
        for i, (x, y) in enumerate(_PLACES)
    )
    bellows = "".join(
        f"<body name='bellows_{i}' pos='{x} {y} {BASE_BOTTOM - 0.02}'>"
        "<joint type='slide' axis='0 0 1' stiffness='1' damping='1'/>"
        f"<geom type='cylinder' size='{_RADIUS} {0.5 * BELLOWS_HEIGHT}' density='10'"
        " rgba='0.2 0.2 0.2 1'/></body>"
        for i, (x, y) in enumerate(_PLACES)
    )
    size = " ".join(map(str, BOX_HALF_SIZES))
    return f"""
<mujoco model='suction gripper'>
  <custom><text name='asperity' data='{contact_text(contact, friction=1.0)}'/></custom>
  <worldbody>
    <light pos='0 -1 2' dir='0 1 -2'/>
    <geom name='ground' type='plane' size='1 1 0.1'/>
    <body name='base' pos='0 0 {BASE_BOTTOM + _BASE[2]}'>
      <geom name='base' type='box' size='{_BASE[0]} {_BASE[1]} {_BASE[2]}'/>{sources}</body>
    {bellows}
    <body name='box' pos='0 0 0.42' quat='1 0 0.01 0.1'><freejoint/>
      <geom name='box' type='box' size='{size}' mass='{_BOX_MASS}' rgba='0.8 0.3 0.2 1'/></body>
  </worldbody>
</mujoco>
"""


def suction() -> Suction:
    """What the bellows pull with; ``implicit = False`` makes it explicit."""
    names = [f"source_{i}" for i in range(len(_PLACES))]
    return Suction(names, force=_FORCE, reach=_REACH, targets=["box"])


def field_yield() -> float:
    """By how much pressure fields yield to the suction of a box at rest [m].

    They yield by the pressure over the modulus, of half of the gripper's and the bellows' heights
    (twice) and the box's. At their resolution a bellows is a square of 2 r².
    """
    count = len(_PLACES)
    depths = _BASE[2] + BELLOWS_HEIGHT + BOX_HALF_SIZES[2]
    compliance = depths / (count * 2 * _RADIUS**2 * 1e7)
    pull = count * _FORCE * (1 - BELLOWS_HEIGHT / _REACH) - _BOX_MASS * 9.81
    # What has yielded is nearer to the sources.
    return compliance * pull / (1 - compliance * count * _FORCE / _REACH)

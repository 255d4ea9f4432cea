"""Small scenes of the CENIC paper with a body or two (VII, figures 6a and 6b)."""

from __future__ import annotations

__all__ = ["CONTACTS", "contact_text", "falling_cylinder", "static_gripper"]

CONTACTS = ("fields", "points")
"""Pressure fields, as in the paper, and contact in points."""

# Of the authors' code where a model gives nothing: N/m, s/m, Pa and m.
_COMMON = "dissipation=50 stiction_tolerance=1e-4"
_KINDS = {
    "fields": f"surface=compliant hydroelastic_modulus=1e7 resolution=0.02 {_COMMON}",
    "points": f"stiffness=1e6 {_COMMON}",
}


def contact_text(contact: str, **others: float) -> str:
    """What a model says of its contact (`asperity.ContactParameters`).

    Parameters
    ----------
    contact : {"fields", "points"}
    **others : float
        Further parameters, or other values.

    Raises
    ------
    ValueError
        If the contact is neither.
    """
    if contact not in CONTACTS:
        raise ValueError(f"contact must be one of {CONTACTS}, got {contact!r}.")
    # Of what is said twice, the last counts.
    told = dict(word.split("=") for word in _KINDS[contact].split())
    told |= {name: str(value) for name, value in others.items()}
    return " ".join(f"{name}={value}" for name, value in told.items())


def falling_cylinder(contact: str = "fields") -> str:
    """A cylinder that falls on a table, edge first, and slides: as MJCF.

    The keyframe ``start`` has its initial velocity. As in the authors' model the body's frame is at
    the origin of the world, half a metre below the cylinder.
    """
    return f"""
<mujoco model='falling cylinder'>
  <custom><text name='asperity' data='{contact_text(contact, friction=0.5)}'/></custom>
  <default><geom density='1000' friction='0.5'/></default>
  <worldbody>
    <light pos='0 -1 2' dir='0 1 -2'/>
    <geom name='table' type='box' size='0.55 1.1 0.05'/>
    <body name='cylinder'><freejoint/>
      <geom type='cylinder' size='0.1 0.1' pos='0 0 0.5' euler='80 0 0'/></body>
  </worldbody>
  <keyframe><key name='start' qvel='0 1 0 0 0 0'/></keyframe>
</mujoco>
"""


def static_gripper(contact: str = "fields", *, friction: float = 0.5, overlap: float = 1e-5) -> str:
    """A peg wedged between two fingers that fall on a table: as MJCF.

    The fingers are parts of one body on a vertical slide. Free fall ends after 0.18 m.

    Parameters
    ----------
    contact : {"fields", "points"}
    friction : float
        Coefficient of friction; the paper does not say it, the authors' code has 0.5.
    overlap : float
        By which the peg is too thick on each side [m].
    """
    return f"""
<mujoco model='static gripper'>
  <custom><text name='asperity' data='{contact_text(contact, friction=friction)}'/></custom>
  <default><geom type='box' density='1000' friction='{friction}'/></default>
  <worldbody>
    <light pos='0 -1 2' dir='0 1 -2'/>
    <geom name='table' size='0.5 0.5 0.02'/>
    <body name='gripper'><joint name='fall' type='slide' axis='0 0 1'/>
      <geom name='post' size='0.02 0.02 0.1' pos='0 0 0.3'/>
      <geom name='left' size='0.005 0.04 0.005' pos='-0.01 0.025 0.39'/>
      <geom name='right' size='0.005 0.04 0.005' pos='0.01 0.025 0.39'/></body>
    <body name='peg' pos='0 0.05 0.36' euler='10 0 0'><freejoint name='peg'/>
      <geom name='peg' size='{0.005 + overlap} 0.005 0.04'/></body>
  </worldbody>
  <keyframe><key name='start'/></keyframe>
</mujoco>
"""

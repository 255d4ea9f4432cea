"""Small scenes of the CENIC paper with a body or two (VII, figures 6a and 6b)."""

from __future__ import annotations

__all__ = ["falling_cylinder", "static_gripper"]

# Of the authors' code where a model gives nothing: N/m, s/m, and the coefficient of friction.
_CONTACT = (
    "<custom><text name='asperity' data='stiffness=1e6 dissipation=50 friction=0.5"
    " stiction_tolerance=1e-4'/></custom>"
)


def falling_cylinder() -> str:
    """A cylinder that falls on a table, edge first, and slides: as MJCF, in point contact.

    The keyframe ``start`` has its initial velocity. As in the authors' model the body's frame is at
    the origin of the world, half a metre below the cylinder.
    """
    return f"""
<mujoco model='falling cylinder'>
  {_CONTACT}
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


def static_gripper() -> str:
    """A peg wedged between two fingers that fall on a table: as MJCF, in point contact.

    The fingers are parts of one body on a vertical slide; the peg is 0.01 mm too thick on each
    side. Free fall ends after 0.18 m.
    """
    return f"""
<mujoco model='static gripper'>
  {_CONTACT}
  <default><geom type='box' density='1000' friction='0.5'/></default>
  <worldbody>
    <light pos='0 -1 2' dir='0 1 -2'/>
    <geom name='table' size='0.5 0.5 0.02'/>
    <body name='gripper'><joint name='fall' type='slide' axis='0 0 1'/>
      <geom name='post' size='0.02 0.02 0.1' pos='0 0 0.3'/>
      <geom name='left' size='0.005 0.04 0.005' pos='-0.01 0.025 0.39'/>
      <geom name='right' size='0.005 0.04 0.005' pos='0.01 0.025 0.39'/></body>
    <body name='peg' pos='0 0.05 0.36' euler='10 0 0'><freejoint name='peg'/>
      <geom name='peg' size='0.00501 0.005 0.04'/></body>
  </worldbody>
  <keyframe><key name='start'/></keyframe>
</mujoco>
"""

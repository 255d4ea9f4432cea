"""Random scenes with random motors: piles, stacks, presses, chains, pegs in holes, fast bodies."""

from __future__ import annotations

import numpy as np

__all__ = ["SCENES", "random_scene"]

FLOOR = '<geom type="plane" size="2 2 .1" friction=".6"/>'
GEOMS = (
    'type="box" size=".04 .03 .05"',
    'type="sphere" size=".04"',
    'type="capsule" size=".02 .04"',
    'type="cylinder" size=".03 .04"',
    'type="ellipsoid" size=".03 .04 .05"',
    'type="mesh" mesh="elbow"',
)
# An L-shaped prism: not convex.
ELBOW = """<asset><mesh name="elbow" inertia="exact"
  vertex="0 0 0 .08 0 0 .08 .02 0 .02 .02 0 .02 .08 0 0 .08 0
          0 0 .03 .08 0 .03 .08 .02 .03 .02 .02 .03 .02 .08 .03 0 .08 .03"
  face="0 2 1 0 3 2 0 4 3 0 5 4 6 7 8 6 8 9 6 9 10 6 10 11
        0 1 7 0 7 6 1 2 8 1 8 7 2 3 9 2 9 8 3 4 10 3 10 9 4 5 11 4 11 10 5 0 6 5 6 11"/></asset>"""


def _free(rng: np.random.Generator, number: int, spread: float) -> str:
    out = ""
    for i in range(number):
        x, y = rng.uniform(-spread, spread, 2)
        turn = " ".join(f"{a:.3f}" for a in rng.normal(size=4))
        out += (
            f'<body pos="{x:.4f} {y:.4f} {0.1 + 0.16 * i:.4f}" quat="{turn}"><freejoint/>'
            f'<geom {GEOMS[i % len(GEOMS)]} mass="{rng.uniform(0.05, 2):.3f}" friction=".5"/></body>'
        )
    return out


def _chain(rng: np.random.Generator, links: int, height: float) -> tuple[str, str]:
    body, end, motors = "", "", ""
    for i in range(links):
        axis = " ".join(f"{a:.3f}" for a in rng.normal(size=3))
        kind = ("hinge", "hinge", "slide")[i % 3]
        limit = 'range="-100 100"' if kind == "hinge" else 'range="-.04 .05"'
        place = f"0 0 {height}" if i == 0 else ".13 0 0"
        body += (
            f'<body pos="{place}"><joint name="c{i}" type="{kind}" axis="{axis}" {limit} damping="{0.02 if kind == "hinge" else 2}"/>'
            f'<geom type="capsule" fromto=".03 0 0 .1 0 0" size=".02" mass=".3"/>'
        )
        end += "</body>"
        motors += f'<motor joint="c{i}" gear="{0.5 if kind == "hinge" else 5}"/>'
    return body + end, motors


def _loops(rng: np.random.Generator) -> tuple[str, str, str]:
    """A driven four-bar, a mimic gripper and a ball-jointed, welded chain among free bodies."""
    rod = '<geom type="capsule" fromto="{0} 0 0 {1} 0 0" size=".012" mass=".2"/>'
    bodies = f"""
    <body name="crank" pos="-.25 0 .3" euler="90 0 0"><joint name="crank" axis="0 0 1" damping=".02"/>
      {rod.format(0.03, 0.07)}<body name="coupler" pos=".1 0 .03"><joint axis="0 0 1"/>
      {rod.format(0.03, 0.22)}</body></body>
    <body name="rocker" pos=".05 0 .3" euler="90 0 0"><joint axis="0 0 1" damping=".02"/>
      {rod.format(0.03, 0.17)}</body>
    <body pos="0 .25 .3"><joint name="lift" type="slide" axis="0 0 1" range="-.2 .2" damping="5"/>
      <geom type="box" size=".08 .02 .01" mass=".5"/>
     <body pos="-.06 0 -.05"><joint name="left" type="slide" axis="1 0 0" range="-.01 .05"/>
      <geom type="box" size=".005 .015 .035" mass=".1"/></body>
     <body pos=".06 0 -.05"><joint name="right" type="slide" axis="-1 0 0"/>
      <geom type="box" size=".005 .015 .035" mass=".1"/></body></body>
    <body name="rope" pos="0 -.25 .5"><joint type="ball" range="0 {rng.uniform(40, 80):.1f}" damping=".01"/>
      {rod.format(0.03, 0.12)}<body pos=".15 0 0"><joint type="ball" damping=".01" stiffness=".05"/>
      {rod.format(0.03, 0.12)}<body name="end" pos=".15 0 0"><joint axis="0 1 0" damping=".01"/>
      {rod.format(0.03, 0.12)}</body></body></body>
    <body name="bob" pos=".65 -.25 .5"><freejoint/><geom type="box" size=".03 .04 .03" mass=".3"/></body>
    {_free(rng, 3, 0.2)}"""
    motors = '<motor joint="crank" gear="3"/><motor joint="lift" gear="60"/><motor joint="left" gear="80"/>'
    more = """<equality><connect body1="coupler" body2="rocker" anchor=".25 0 -.03"/>
    <joint joint1="right" joint2="left"/><weld body1="end" body2="bob"/></equality>
    <contact><exclude body1="coupler" body2="rocker"/><exclude body1="end" body2="bob"/></contact>"""
    return bodies, motors, more


def random_scene(name: str, seed: int) -> tuple[str, float]:
    """A model as XML, and the largest speed [m/s] that its free bodies start with."""
    rng = np.random.default_rng(seed)
    speed, motors, more = 1.0, "", ""
    if name == "pile":
        bodies = _free(rng, 12, 0.06)
    elif name == "chain in a pile":
        chain, motors = _chain(rng, 5, 0.75)
        bodies = chain + _free(rng, 5, 0.15)
    elif name == "peg":
        wall = "".join(
            f'<geom type="box" size=".02 .04 .05" pos="{x} {y} .05" euler="0 0 {a}"/>'
            for x, y, a in ((0.0301, 0, 0), (-0.0301, 0, 0), (0, 0.0301, 90), (0, -0.0301, 90))
        )
        wall = wall.replace(".04 .05", ".01 .05")
        bodies = wall + (
            '<body pos="0 0 .09"><joint name="x" type="slide" axis="1 0 0" damping="1"/>'
            '<joint name="y" type="slide" axis="0 1 0" damping="1"/>'
            '<joint name="z" type="slide" axis="0 0 1" range="-.055 .1" damping="1"/>'
            '<joint name="roll" axis="0 0 1" damping=".01"/>'
            '<geom type="cylinder" size=".0095 .03" mass=".2"/></body>'
        )
        motors = "".join(f'<motor joint="{j}" gear="10"/>' for j in "xyz")
        motors += '<motor joint="roll" gear=".1"/>'
    elif name == "stack":
        bodies = "".join(
            f'<body pos="{x:.4f} {y:.4f} {0.0405 + 0.081 * i:.4f}"><freejoint/><geom type="box" '
            f'size=".04 .04 .04" mass="{m:.3f}" friction=".6"/></body>'
            for i, (x, y, m) in enumerate(rng.uniform((-0.01, -0.01, 0.1), (0.01, 0.01, 3), (8, 3)))
        )
        speed = 0.2
    elif name == "press":
        # Ten kilonewtons on what lies in a box.
        bodies = _free(rng, 3, 0.02) + (
            '<body pos="0 0 .62"><joint name="x" type="slide" axis="1 0 0" range="-.05 .05"/>'
            '<joint name="z" type="slide" axis="0 0 1" range="-.6 .1" damping="300"/>'
            '<joint name="tilt" axis="0 1 0" range="-20 20" damping="5"/>'
            '<geom type="box" size=".3 .3 .02" mass="5"/></body>'
        )
        bodies += "".join(
            f'<geom type="box" size=".01 .14 .25" pos="{x} {y} .25" euler="0 0 {a}"/>'
            for x, y, a in ((0.15, 0, 0), (-0.15, 0, 0), (0, 0.16, 90), (0, -0.16, 90))
        )
        motors = '<motor joint="z" gear="1e4"/><motor joint="x" gear="1e3"/><motor joint="tilt" gear="100"/>'
    elif name == "loops":
        bodies, motors, more = _loops(rng)
    else:
        bodies, speed = _free(rng, 6, 0.3), 60.0
    return (
        f'<mujoco><compiler autolimits="true"/>{ELBOW}<worldbody>{FLOOR}{bodies}</worldbody>'
        f"<actuator>{motors}</actuator>{more}</mujoco>"
    ), speed


SCENES = ("pile", "stack", "press", "chain in a pile", "loops", "peg", "fast bodies")

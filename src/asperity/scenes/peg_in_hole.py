"""A gripper with a cylinder above a container that has a funnel (Midas, section V).

The paper gives no sizes in its text; ours are the defaults here. Round shapes are prisms. The peg's
prism contains its cylinder, and the hole's prism lies within its circle. So bodies that do not
intersect here do not intersect there. An upright peg in the hole stands beside its axis by no more
than the difference of the radii.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ArgumentError
from asperity.geometry.surfaces import Surface
from asperity.scenes.solids import Solid

__all__ = ["PegScene", "container", "peg"]

Floats = NDArray[np.float64]

# Height above the peg's middle at which the jaws hold it, and their half sizes [m].
_GRIP = 0.02
_JAW = (0.004, 0.008, 0.009)
_PALM = (0.04, 0.012, 0.01)
_JAW_MASS, _PALM_MASS = 0.1, 0.4  # [kg]
# How far the hand can go from where it starts, sideways and down [m].
_REACH = 0.05
_DENSITY = 1200.0  # [kg/m³], of the peg
_SERVO = 2000.0  # [N/(m/s)]


@dataclass(frozen=True, kw_only=True)
class PegScene:
    """Sizes of the scene, and its model.

    Parameters
    ----------
    radius, height : float
        Of the peg [m].
    hole_radius, hole_depth : float
        Of the straight part of the hole [m]; its bottom is at z = 0.
    funnel_radius, funnel_height : float
        Of the funnel above it, whose rim is this wide [m].
    outer_radius : float
        Of the container [m].
    segments : int
        Sides of all prisms. 64 leave three quarters of a margin of 0.1 mm to the peg, however it is
        turned.
    friction : float
        Of the peg and the container. With 0.5 a peg that stands in the funnel jams.
    grip_friction : float
        Of the jaws and the peg.
    squeeze : float
        Force of the jaws [N].
    lift_force, side_force : float
        Largest force of the hand's motors along z, and along x and y [N]. They are too small to
        make the peg slip in the jaws. Sideways they are small enough for the funnel to guide the
        peg, as with a compliant wrist. With equal forces, a hand that moves to and fro above the
        hole would hold the peg on the funnel's slope.
    tilt : float
        Angle [rad] about the axis of the jaws at which they have gripped the peg.
    opening : float
        What the jaws travel before they touch [m], more than the activation distance of Midas.
    """

    radius: float = 0.0095
    height: float = 0.06
    hole_radius: float = 0.01
    hole_depth: float = 0.04
    funnel_radius: float = 0.03
    funnel_height: float = 0.02
    outer_radius: float = 0.04
    segments: int = 64
    friction: float = 0.1
    grip_friction: float = 1.0
    squeeze: float = 20.0
    lift_force: float = 15.0
    side_force: float = 4.0
    tilt: float = 0.0
    opening: float = 2e-4

    def __post_init__(self) -> None:
        if not 0.0 < self.radius < self.hole_radius < self.funnel_radius < self.outer_radius:
            raise ArgumentError(
                "radius, hole_radius, funnel_radius and outer_radius must be positive and grow in "
                f"this order, got {self.radius}, {self.hole_radius}, {self.funnel_radius} and "
                f"{self.outer_radius}."
            )
        if self.segments < 8 or self.segments % 4:
            raise ArgumentError(
                f"segments must be a multiple of 4, at least 8, got {self.segments}."
            )
        widest = self.radius / math.cos(math.pi / self.segments)
        if widest >= self.hole_radius * math.cos(math.pi / self.segments):
            raise ArgumentError(
                f"a prism of {self.segments} sides around a radius of {self.radius} does not fit "
                f"into one within {self.hole_radius}; segments must be larger."
            )

    @property
    def margin(self) -> float:
        """Difference of the radii of hole and peg [m]."""
        return self.hole_radius - self.radius

    @property
    def rim(self) -> float:
        """Height of the funnel's rim [m]."""
        return self.hole_depth + self.funnel_height

    def xml(self, *, pieces: bool = False, cylinder: bool = False) -> str:
        """MJCF, the hand above the middle of the hole, the peg between its open jaws.

        Parameters
        ----------
        pieces : bool
            Whether the container is given as convex pieces, for engines that know no others.
        cylinder : bool
            Whether the peg is a true cylinder, for engines that know them.
        """
        vessel, rod = container(self), peg(self)
        start = self.rim + 0.02 + 0.5 * self.height
        jaw = self.radius + self.opening + _JAW[0]
        hand = start + _GRIP + _JAW[2] + _PALM[2] + 0.004
        slides = {"x": (-_REACH, _REACH), "y": (-_REACH, _REACH), "z": (-2.0 * _REACH, _REACH)}
        axis = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
        joints = {
            name: f"<joint name='{name}' type='slide' axis='{axis[name]}' range='{a} {b}'/>"
            for name, (a, b) in slides.items()
        }
        small = "<inertial pos='0 0 0' mass='.1' diaginertia='1e-4 1e-4 1e-4'/>"
        jaws = "".join(
            f"<body name='{name}' gravcomp='1' pos='{sign * jaw!r} 0 {start + _GRIP - hand!r}'>"
            f"<joint name='{name}' type='slide' axis='{sign} 0 0' range='-.01 .01'/>"
            f"<geom name='{name}' type='box' size='{_text(_JAW)}' mass='{_JAW_MASS}' "
            f"friction='{self.grip_friction!r}' rgba='.3 .3 .35 1'/></body>"
            for name, sign in (("left", -1), ("right", 1))
        )
        stick = rod.geoms(False, _DENSITY)
        if cylinder:
            stick = (
                f"<geom name='peg' type='cylinder' size='{self.radius!r} {0.5 * self.height!r}' "
                f"density='{_DENSITY!r}'/>"
            )
        meshes = vessel.assets(pieces) + ("" if cylinder else rod.assets(False))
        colours = ("rgba='.6 .7 .85 .5'", "rgba='.85 .5 .2 1'")
        return (
            "<mujoco model='peg in hole'><compiler autolimits='true' angle='radian'/>"
            f"<option timestep='0.01'/><default><geom friction='{self.friction!r}'/></default>"
            f"<asset>{meshes}</asset><worldbody>"
            "<light pos='0 -1 1' dir='0 1 -1'/>"
            "<camera name='side' pos='0 -.28 .2' xyaxes='1 0 0 0 .42 .9'/>"
            f"<body name='container'>{_coloured(vessel.geoms(pieces), colours[0])}</body>"
            f"<body name='cross' gravcomp='1'>{small}{joints['x']}"
            f"<body name='carriage' gravcomp='1'>{small}{joints['y']}"
            f"<body name='hand' gravcomp='1' pos='0 0 {hand!r}'>{joints['z']}"
            f"<geom name='palm' type='box' size='{_text(_PALM)}' mass='{_PALM_MASS}' "
            f"contype='0' conaffinity='0' rgba='.4 .4 .45 1'/>{jaws}</body></body></body>"
            f"<body name='peg' pos='0 0 {start!r}' euler='{self.tilt!r} 0 0'>"
            f"<freejoint name='peg'/>{_coloured(stick, colours[1])}</body>"
            "</worldbody><actuator>"
            + "".join(
                f"<velocity name='{name}' joint='{name}' kv='{_SERVO:g}' "
                f"forcerange='{-force} {force}'/>"
                for name, force in zip(
                    slides, (self.side_force, self.side_force, self.lift_force), strict=True
                )
            )
            + "<position name='left' joint='left' kp='1e6' kv='4e3'/>"
            "<motor name='right' joint='right'/></actuator></mujoco>"
        )

    def model(self, *, pieces: bool = False, cylinder: bool = False) -> mujoco.MjModel:
        """The model of `xml`."""
        return mujoco.MjModel.from_xml_string(self.xml(pieces=pieces, cylinder=cylinder))

    def grip(self) -> Floats:
        """Controls that hold the peg: velocities of the hand [m/s], left jaw [m], right jaw [N]."""
        return np.array([0.0, 0.0, 0.0, -self.opening, -self.squeeze])


def container(scene: PegScene) -> Solid:
    """The container: a solid of revolution about z, whose surface is closed and not convex."""
    hole, funnel, outer = scene.hole_radius, scene.funnel_radius, scene.outer_radius
    deep, rim, floor = scene.hole_depth, scene.rim, -0.01
    profile = [(outer, floor), (outer, rim), (funnel, rim), (hole, deep), (hole, 0.0)]
    ring = _ring(scene.segments)
    count, here = scene.segments, np.arange(scene.segments)
    there = (here + 1) % count
    rings = [np.column_stack([r * ring, np.full(count, z)]) for r, z in profile]
    vertices = np.concatenate([[[0.0, 0.0, floor]], *rings, [[0.0, 0.0, 0.0]]])
    faces = [np.column_stack([0 * here, 1 + there, 1 + here])]
    for k in range(len(rings) - 1):
        low, high = 1 + k * count, 1 + (k + 1) * count
        faces.append(np.column_stack([low + here, low + there, high + there]))
        faces.append(np.column_stack([low + here, high + there, high + here]))
    last, top = 1 + (len(rings) - 1) * count, len(vertices) - 1
    faces.append(np.column_stack([last + here, last + there, 0 * here + top]))
    pieces = [np.concatenate([np.column_stack([outer * ring, 0 * here + z]) for z in (floor, 0.0)])]
    for inner in (((hole, 0.0), (hole, deep)), ((hole, deep), (funnel, rim))):
        edge = (*inner, (outer, inner[1][1]), (outer, inner[0][1]))
        for i, j in zip(here, there, strict=True):
            wedge = [(*(r * ring[k]), z) for k in (i, j) for r, z in edge]
            pieces.append(np.array(wedge))
    surface = Surface(vertices, np.concatenate(faces).astype(np.int64))
    return Solid("container", surface, hulls=tuple(pieces))


def peg(scene: PegScene) -> Solid:
    """The peg: an upright prism around its cylinder, the middle at the origin."""
    ring = _ring(scene.segments) * scene.radius / math.cos(math.pi / scene.segments)
    half, count = 0.5 * scene.height, scene.segments
    here = np.arange(count)
    there = (here + 1) % count
    ends = [np.column_stack([ring, np.full(count, z)]) for z in (-half, half)]
    vertices = np.concatenate([*ends, [[0.0, 0.0, -half], [0.0, 0.0, half]]])
    faces = np.concatenate([
        np.column_stack([here, there, count + there]),
        np.column_stack([here, count + there, count + here]),
        np.column_stack([there, here, 0 * here + 2 * count]),
        np.column_stack([count + here, count + there, 0 * here + 2 * count + 1]),
    ])  # fmt: skip
    return Solid("peg", Surface(vertices, faces.astype(np.int64)), hulls=(vertices[:-2],))


def _ring(segments: int) -> Floats:
    """Corners of a regular polygon on the unit circle, one side across the x axis."""
    angle = 2.0 * np.pi * (np.arange(segments) + 0.5) / segments
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _coloured(geoms: str, colour: str) -> str:
    return geoms.replace("<geom ", f"<geom {colour} ")


def _text(values: tuple[float, ...]) -> str:
    return " ".join(map(str, values))

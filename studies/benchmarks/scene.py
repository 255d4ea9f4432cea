"""One description of a scene, from which every engine's model is built.

Lengths in metres, masses in kilograms, angles as unit quaternions (w, x, y, z). The world's z axis
points up and gravity is 9.81 m/s² along −z.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from studies.scenes.sap_clutter import clutter_objects

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

GRAVITY = 9.81
BLUE = (0.25, 0.47, 0.72, 1.0)
ORANGE = (0.90, 0.55, 0.20, 1.0)
GREY = (0.75, 0.75, 0.75, 0.25)


@dataclass(frozen=True)
class Sphere:
    """A solid ball of the given radius [m]."""

    radius: float

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return 4.0 / 3.0 * np.pi * self.radius**3

    def principal_inertia(self, mass: float) -> np.ndarray:
        """Moments of inertia about the centre [kg m²], shape (3,)."""
        return np.full(3, 0.4 * mass * self.radius**2)


@dataclass(frozen=True)
class Box:
    """A solid box with the given half extents [m]."""

    half_extents: Vector

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return float(8.0 * np.prod(self.half_extents))

    def principal_inertia(self, mass: float) -> np.ndarray:
        """Moments of inertia about the centre [kg m²], shape (3,)."""
        squares = np.square(self.half_extents)
        return mass / 3.0 * (squares.sum() - squares)

    def corner_points(self, inset: float = 0.0) -> np.ndarray:
        """The eight corners, moved inwards by ``inset`` [m] along each axis, shape (8, 3).

        An engine that finds only one contact point between two boxes is given small spheres of
        radius ``inset`` here. They touch the faces from inside and so add points without making
        the box any larger.
        """
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        return signs * (np.asarray(self.half_extents) - inset)


@dataclass(frozen=True)
class Capsule:
    """A solid capsule along its own z axis: a cylinder between two half balls.

    ``radius`` and ``half_length``, that of the cylinder, in metres.
    """

    radius: float
    half_length: float

    @property
    def volume(self) -> float:
        """Volume [m³]."""
        return np.pi * self.radius**2 * (2.0 * self.half_length + 4.0 / 3.0 * self.radius)

    def principal_inertia(self, mass: float) -> np.ndarray:
        """Moments of inertia about the centre [kg m²], shape (3,)."""
        r, h = self.radius, self.half_length
        cylinder = mass * 2.0 * h / (2.0 * h + 4.0 / 3.0 * r)
        ball = mass - cylinder
        across = cylinder * (r**2 / 4.0 + h**2 / 3.0) + ball * (0.4 * r**2 + h**2 + 0.75 * h * r)
        return np.array([across, across, 0.5 * cylinder * r**2 + 0.4 * ball * r**2])


@dataclass(frozen=True)
class HalfSpace:
    """Everything below the plane z = 0 of its own frame."""


@dataclass(frozen=True)
class FreeBody:
    """A rigid body without joints; its frame sits at the centre of mass.

    Attributes
    ----------
    shape
        Solid shape, also used for collisions.
    density
        [kg/m³].
    position
        Initial position of the centre [m].
    quaternion
        Initial orientation (w, x, y, z).
    colour
        Red, green, blue, opacity in [0, 1].
    """

    shape: Sphere | Box | Capsule
    density: float
    position: Vector
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)
    colour: tuple[float, float, float, float] = BLUE

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return self.density * self.shape.volume


@dataclass(frozen=True)
class Wall:
    """A fixed obstacle: a box, or the ground."""

    shape: Box | HalfSpace
    position: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Contact:
    """What happens where two surfaces meet.

    Stiffness belongs to a body, and two bodies act as springs in series, k₁k₂/(k₁ + k₂). A rigid
    wall has no stiffness of its own, so that the pair has that of the object alone. Every other
    number is that of the *pair*.

    Attributes
    ----------
    object_stiffness
        Of each free body [N/m].
    wall_stiffness
        Of each wall [N/m]; None means rigid.
    dissipation
        Hunt–Crossley coefficient of a pair [s/m].
    relaxation_time
        Linear dissipation of a pair for methods that use it (SAP) [s]; None: one time step.
    friction
        Coulomb coefficient, static and dynamic alike.
    stiction_tolerance
        Slip velocity at which regularised friction reaches its full value [m/s].
    """

    object_stiffness: float
    wall_stiffness: float | None = None
    dissipation: float = 10.0
    relaxation_time: float | None = None
    friction: float = 0.5
    stiction_tolerance: float = 1e-4

    @property
    def object_object_stiffness(self) -> float:
        """Stiffness of a pair of free bodies [N/m]."""
        return 0.5 * self.object_stiffness

    @property
    def object_wall_stiffness(self) -> float:
        """Stiffness of a free body against a wall [N/m]."""
        if self.wall_stiffness is None:
            return self.object_stiffness
        total = self.object_stiffness + self.wall_stiffness
        return self.object_stiffness * self.wall_stiffness / total


@dataclass(frozen=True)
class Scene:
    """Bodies, walls and the contact between them."""

    name: str
    bodies: tuple[FreeBody, ...]
    walls: tuple[Wall, ...]
    contact: Contact
    gravity: float = field(default=GRAVITY)


def container(inner: float, height: float, thickness: float) -> tuple[Wall, ...]:
    """Four upright walls around a square of side ``inner`` [m] centred at the origin."""
    half, t = inner / 2.0, thickness / 2.0
    across = Box((t, half + thickness, height / 2.0))
    along = Box((half, t, height / 2.0))
    z = height / 2.0
    return (
        Wall(across, (half + t, 0.0, z)),
        Wall(across, (-half - t, 0.0, z)),
        Wall(along, (0.0, half + t, z)),
        Wall(along, (0.0, -half - t, z)),
    )


def _columns(count: int, seed: int, boxes: bool) -> tuple[FreeBody, ...]:
    """The objects of `studies.scenes.sap_clutter`, or balls in all their places."""
    bodies = []
    for item in clutter_objects(count, seed):
        is_box = item.is_box and boxes
        bodies.append(
            FreeBody(
                Box((0.05, 0.05, 0.05)) if is_box else Sphere(0.05),
                density=1000.0,
                position=item.position,
                quaternion=item.quaternion,
                colour=ORANGE if is_box else BLUE,
            )
        )
    return tuple(bodies)


GROUND = Wall(HalfSpace())


def cenic_clutter(kind: Literal["soft", "hard"], seed: int = 41) -> Scene:
    """Twenty objects dropped into a box, after the clutter of the CENIC paper.

    ``"soft"``: balls only, k = 10³ N/m, stiction tolerance 10⁻² m/s. ``"hard"``: balls and cubes,
    k = 10⁵ N/m, 10⁻⁴ m/s. The walls are rigid.
    """
    if kind not in ("soft", "hard"):
        raise ValueError(f'kind must be "soft" or "hard", not {kind!r}')
    soft = kind == "soft"
    contact = Contact(
        object_stiffness=1e3 if soft else 1e5,
        dissipation=10.0,
        friction=0.5,
        stiction_tolerance=1e-2 if soft else 1e-4,
    )
    walls = (GROUND, *container(0.8, 0.8, 0.04))
    return Scene(f"clutter-{kind}", _columns(20, seed, boxes=not soft), walls, contact)


def sap_clutter(bodies: int = 40, walls: bool = True, seed: int = 41) -> Scene:
    """Near-rigid balls and cubes, after the clutter of the SAP paper.

    Objects of k = 10⁸ N/m, walls of 10¹⁰ N/m, μ = 1, and a relaxation time of 10 ms, the paper's
    time step. Without walls the objects spread over the ground.
    """
    contact = Contact(
        object_stiffness=1e8,
        wall_stiffness=1e10,
        relaxation_time=0.01,
        friction=1.0,
    )
    sides = container(0.8, 0.8, 0.04) if walls else ()
    name = f"sap-clutter-{bodies}" + ("" if walls else "-open")
    return Scene(name, _columns(bodies, seed, boxes=True), (GROUND, *sides), contact)


def pile(bodies: int, seed: int = 41) -> Scene:
    """Balls and cubes that start upright and close together and fall into a pile.

    Every pair, walls included, has a stiffness of 10⁵ N/m (each surface 2·10⁵ N/m). One body
    means one cube on the ground without walls: the cost of the smallest possible step.
    """
    contact = Contact(object_stiffness=2e5, wall_stiffness=2e5, friction=1.0)
    cube = Box((0.05, 0.05, 0.05))
    if bodies == 1:
        body = FreeBody(cube, 1000.0, (0.0, 0.0, 0.1), colour=ORANGE)
        return Scene("pile-1", (body,), (GROUND,), contact)
    rng = np.random.default_rng(seed)
    corners = [(-0.1, -0.1), (0.1, -0.1), (-0.1, 0.1), (0.1, 0.1)]
    items = []
    for i in range(bodies):
        dx, dy = rng.uniform(-0.01, 0.01, size=2)
        is_box = bool(rng.integers(2))
        x, y = corners[i % 4]
        items.append(
            FreeBody(
                cube if is_box else Sphere(0.05),
                density=1000.0,
                position=(x + dx, y + dy, 0.1 + 0.12 * (i // 4)),
                colour=ORANGE if is_box else BLUE,
            )
        )
    return Scene(f"pile-{bodies}", tuple(items), (GROUND, *container(0.8, 1.0, 0.1)), contact)


def bin_of_mixed_bodies(bodies: int, seed: int = 41) -> Scene:
    """Boxes, balls and capsules of 5 to 7 cm, a third each, that fall into a bin of 0.8 m.

    Pairs have 10⁵ N/m, as those of a pile, and Asperity's default stiction tolerance.
    """
    contact = Contact(
        object_stiffness=2e5, wall_stiffness=2e5, friction=1.0, stiction_tolerance=3e-6
    )
    rng = np.random.default_rng(seed)
    spacing = 0.13
    across = 6
    items = []
    for i in range(bodies):
        a, b, c = (float(size) for size in rng.uniform(0.025, 0.035, 3))
        turn = rng.normal(size=4)
        w, x, y, z = (float(part) for part in turn / np.linalg.norm(turn))
        dx, dy = (float(shift) for shift in rng.uniform(-0.003, 0.003, 2))
        shape = (Box((a, b, c)), Sphere(a), Capsule(0.6 * a, 0.6 * b))[i % 3]
        place = (i % across, i // across % across, i // across**2)
        items.append(
            FreeBody(
                shape,
                density=1000.0,
                position=(
                    spacing * (place[0] - 0.5 * (across - 1)) + dx,
                    spacing * (place[1] - 0.5 * (across - 1)) + dy,
                    0.12 + spacing * place[2],
                ),
                quaternion=(w, x, y, z),
                colour=(ORANGE, BLUE, GREY)[i % 3],
            )
        )
    return Scene(f"bin-{bodies}", tuple(items), (GROUND, *container(0.8, 3.0, 0.1)), contact)


def scene_from_name(name: str, seed: int = 41) -> Scene:
    """The scene whose ``name`` this is: ``clutter-hard``, ``sap-clutter-40-open``, ``bin-300``…"""
    head, _, tail = name.rpartition("-")
    if name in ("clutter-soft", "clutter-hard"):
        return cenic_clutter("soft" if tail == "soft" else "hard", seed)
    if name.startswith("sap-clutter-"):
        count = name.removeprefix("sap-clutter-").removesuffix("-open")
        return sap_clutter(int(count), walls=tail != "open", seed=seed)
    if head == "pile":
        return pile(int(tail), seed)
    if head == "bin":
        return bin_of_mixed_bodies(int(tail), seed)
    raise ValueError(f"no scene is called {name!r}")

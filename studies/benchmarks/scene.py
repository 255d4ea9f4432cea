"""One description of a scene, from which every engine's model is built.

Lengths in metres, masses in kilograms, angles as unit quaternions (w, x, y, z). The world's z axis
points up and gravity is 9.81 m/s² along −z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
class Shape:
    """A solid geom, by MuJoCo's name of its type and its sizes [m]."""

    kind: Literal["sphere", "box", "capsule", "plane"]
    size: tuple[float, ...]

    def __str__(self) -> str:
        return f'type="{self.kind}" size="{_numbers(self.size)}"'


CUBE = Shape("box", (0.05, 0.05, 0.05))
BALL = Shape("sphere", (0.05,))


@dataclass(frozen=True)
class FreeBody:
    """A rigid body without joints; its frame sits at the centre of mass.

    Attributes
    ----------
    shape
        Also used for collisions.
    position
        Initial position of the centre [m].
    quaternion
        Initial orientation (w, x, y, z).
    colour
        Red, green, blue, opacity in [0, 1].
    density
        [kg/m³].
    """

    shape: Shape
    position: Vector
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)
    colour: tuple[float, float, float, float] = BLUE
    density: float = 1000.0


@dataclass(frozen=True)
class Wall:
    """A fixed obstacle: a box, or the ground."""

    shape: Shape
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


def _numbers(values: float | Sequence[float]) -> str:
    return " ".join(f"{v:.17g}" for v in np.ravel(values))


def contact_texts(scene: Scene) -> dict[str, str]:
    """Asperity's contact parameters as the ``<custom><text>`` entries of a model.

    The entry ``asperity`` holds the values of pairs. Stiffness depends on who meets whom, so the
    objects get one of their own, which combines in series with another geom's own value and
    stands alone against a geom without one. Rigid walls have none: object–object pairs get k/2
    and object–wall pairs k, exactly as in the description.
    """
    contact = scene.contact
    pair = {
        "stiffness": contact.object_object_stiffness,
        "dissipation": contact.dissipation,
        "stiction_tolerance": contact.stiction_tolerance,
    }
    texts = {
        "asperity": " ".join(f"{key}={value:.17g}" for key, value in pair.items()),
        "asperity:geom:object_*": f"stiffness={contact.object_stiffness:.17g}",
    }
    if contact.wall_stiffness is not None:
        texts["asperity:geom:wall_*"] = f"stiffness={contact.wall_stiffness:.17g}"
    return texts


def build_mjcf(
    scene: Scene, time_step: float = 2e-3, jacobian: str = "auto", solver: str = "Newton"
) -> str:
    """The scene as MJCF.

    Bodies and their geoms are called ``object_0``, ``object_1``…, walls ``wall_0``….

    Parameters
    ----------
    scene
        The description.
    time_step
        Of MuJoCo's own stepping [s]; error-controlled integrators ignore it.
    jacobian
        ``"dense"``, ``"sparse"`` or ``"auto"``.
    solver
        ``"Newton"`` or ``"CG"``, of MuJoCo's own stepping.
    """
    friction = f'friction="{_numbers(scene.contact.friction)} 0 0" condim="3"'
    lines = [
        f'<mujoco model="{scene.name}">',
        f'<option timestep="{_numbers(time_step)}" gravity="0 0 {_numbers(-GRAVITY)}"'
        f' cone="elliptic" solver="{solver}" jacobian="{jacobian}"/>',
        "<custom>",
        *(f'<text name="{name}" data="{text}"/>' for name, text in contact_texts(scene).items()),
        "</custom>",
        "<worldbody>",
        '<light directional="true" pos="0 0 3" dir="0.3 0.3 -1"/>',
    ]
    for i, wall in enumerate(scene.walls):
        lines.append(
            f'<geom name="wall_{i}" pos="{_numbers(wall.position)}" {wall.shape}'
            f' rgba="{_numbers(GREY)}" {friction}/>'
        )
    for i, body in enumerate(scene.bodies):
        lines.append(
            f'<body name="object_{i}" pos="{_numbers(body.position)}"'
            f' quat="{_numbers(body.quaternion)}"><freejoint name="object_{i}"/>'
            f'<geom name="object_{i}" {body.shape} density="{_numbers(body.density)}"'
            f' rgba="{_numbers(body.colour)}" {friction}/></body>'
        )
    lines += ["</worldbody>", "</mujoco>"]
    return "\n".join(lines)


def container(inner: float, height: float, thickness: float) -> tuple[Wall, ...]:
    """Four upright walls around a square of side ``inner`` [m] centred at the origin."""
    half, t = inner / 2.0, thickness / 2.0
    across = Shape("box", (t, half + thickness, height / 2.0))
    along = Shape("box", (half, t, height / 2.0))
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
        shape, colour = (CUBE, ORANGE) if item.is_box and boxes else (BALL, BLUE)
        bodies.append(FreeBody(shape, item.position, item.quaternion, colour))
    return tuple(bodies)


GROUND = Wall(Shape("plane", (2, 2, 0.1)))


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
    if bodies == 1:
        body = FreeBody(CUBE, (0.0, 0.0, 0.1), colour=ORANGE)
        return Scene("pile-1", (body,), (GROUND,), contact)
    rng = np.random.default_rng(seed)
    corners = [(-0.1, -0.1), (0.1, -0.1), (-0.1, 0.1), (0.1, 0.1)]
    items = []
    for i in range(bodies):
        dx, dy = rng.uniform(-0.01, 0.01, size=2)
        shape, colour = (CUBE, ORANGE) if rng.integers(2) else (BALL, BLUE)
        x, y = corners[i % 4]
        place = x + dx, y + dy, 0.1 + 0.12 * (i // 4)
        items.append(FreeBody(shape, place, colour=colour))
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
        capsule = Shape("capsule", (0.6 * a, 0.6 * b))
        shape = (Shape("box", (a, b, c)), Shape("sphere", (a,)), capsule)[i % 3]
        place = (
            spacing * (i % across - 0.5 * (across - 1)) + dx,
            spacing * (i // across % across - 0.5 * (across - 1)) + dy,
            0.12 + spacing * (i // across**2),
        )
        items.append(FreeBody(shape, place, (w, x, y, z), (ORANGE, BLUE, GREY)[i % 3]))
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

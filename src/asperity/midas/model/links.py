"""Affine bodies and joints from a MuJoCo model; `asperity.midas.engine_layout` has the terms."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.engine_layout import BALL, FREE, HINGE, POINT, SLIDE
from asperity.plant.model.flexes import flex_particles, free_particles, particle_bodies
from asperity.plant.model.model_view import remembered
from asperity.plant.model.ropes import rope_twists

__all__ = [
    "Link",
    "Links",
    "change_of_variables",
    "read_links",
    "rotation_matrix",
    "variable_count",
]

Floats = NDArray[np.float64]

_KINDS = {
    int(mujoco.mjtJoint.mjJNT_FREE): FREE,
    int(mujoco.mjtJoint.mjJNT_BALL): BALL,
    int(mujoco.mjtJoint.mjJNT_HINGE): HINGE,
    int(mujoco.mjtJoint.mjJNT_SLIDE): SLIDE,
}
_OWN_VECTORS = {FREE: 4, BALL: 3, HINGE: 2, POINT: 1}


@dataclass(eq=False)
class Link:
    """One affine body.

    Its *body frame* is that of the model's body that the joint belongs to; its rest coordinates
    have the same axes, and their origin at the centre of mass.
    """

    parent: int
    """Link that the joint connects to; −1 for the world."""
    kind: int
    joint: int
    """Joint of the model; −1 for a mocap body, which is where it is told to be."""
    offset: Floats
    """Origin of the body frame in the parent's, at the joint's reference position [m]."""
    turn: Floats
    """Axes of the body frame in the parent's, likewise, shape (3, 3)."""
    anchor: Floats
    """A point on the joint's axis, in the body frame [m]."""
    axis: Floats
    tree: int
    holder: int = -1
    """Of a vertex, the link in whose axes and from whose body frame its slides count."""
    twists: bool = False
    """Whether it is the twist of a rod's edge: an angle in place of a slide's length."""
    mass: float = 0.0
    """[kg], of what twists its inertia [kg m²]."""
    moment: Floats = field(default_factory=lambda: np.zeros(3))
    """∫ρ r dV in the body frame [kg m]."""
    second: Floats = field(default_factory=lambda: np.zeros((3, 3)))
    """∫ρ r rᵀ dV in the body frame [kg m²]."""
    bodies: list[int] = field(default_factory=list)

    @property
    def is_mocap(self) -> bool:
        """Whether it is a mocap body's."""
        return self.joint < 0

    @property
    def centre(self) -> Floats:
        """Centre of mass in the body frame [m]; a massless link's is its joint."""
        return self.moment / self.mass if self.mass > 0.0 else self.anchor

    @property
    def second_about_joint(self) -> Floats:
        """∫ρ r rᵀ dV from the link's joint, shape (3, 3) [kg m²]."""
        arm = self.centre - self.anchor
        return np.asarray(self.inertia[1:, 1:] + self.mass * np.outer(arm, arm))

    @property
    def inertia(self) -> Floats:
        """∫ρ[1, x̄]ᵀ[1, x̄]dV, shape (4, 4)."""
        matrix = np.zeros((4, 4))
        matrix[0, 0] = self.mass
        matrix[1:, 1:] = self.second
        if self.mass > 0.0:
            matrix[1:, 1:] -= np.outer(self.moment, self.moment) / self.mass
        return matrix

    @property
    def size(self) -> float:
        """Radius of gyration [m], or a tenth of a metre for a massless link."""
        if self.mass <= 0.0:
            return 0.1
        return max(float(np.sqrt(np.trace(self.inertia[1:, 1:]) / self.mass)), 1e-6)

    @functools.cached_property
    def axes_across(self) -> tuple[Floats, Floats]:
        """Two unit vectors across a joint's axis, right-handed with it, in the body frame.

        Torques act on the first one, so that it is where most of the inertia is: what they would
        have to move through the link's elasticity would swing on it.
        """
        first = np.cross(self.axis, np.eye(3)[int(np.argmin(np.abs(self.axis)))])
        first /= np.linalg.norm(first)
        across = np.array([first, np.cross(self.axis, first)])
        first = np.linalg.eigh(across @ self.second_about_joint @ across.T)[1][:, 1] @ across
        return first, np.cross(self.axis, first)

    @functools.cached_property
    def own_rows(self) -> Floats:
        """Rows w of what joint and own variables are, w Q, shape (4, 4).

        The first ones are [1, x̄] of points that the parent holds (two of a hinge's axis, a ball
        joint's centre), the others [0, x̄] of vectors that are the link's variables. Vectors go
        along with the parent. If they were points, a link whose joint moves would be strained until
        they move as well, the more the smaller it is, and each of a chain would strain the next one
        more.
        """
        if self.kind == FREE:
            return np.eye(4)
        if self.kind == POINT:
            return np.roll(np.eye(4), -1, axis=0)
        points = np.broadcast_to(self.anchor - self.centre, (4, 3)).copy()
        held = 4 - _OWN_VECTORS[self.kind]
        points[held:] = 0.0
        if self.kind == BALL:
            points[held:] = self.size * np.eye(3)
        else:
            one, other = self.axes_across
            points += self.size * np.array([-self.axis, self.axis, one, other])
        return np.column_stack([np.repeat([1.0, 0.0], [held, 4 - held]), points])


@dataclass(eq=False)
class Links:
    """All links of a model, and where its bodies are on them."""

    links: list[Link]
    body_link: NDArray[np.int64]
    """Link of every body; −1 for those that do not move."""
    body_offset: Floats
    """Origin of every body in its link's body frame [m], shape (nbody, 3)."""
    body_turn: Floats
    """Axes of every body in its link's body frame, shape (nbody, 3, 3)."""

    def centre_of(self, model: mujoco.MjModel, body: int) -> Floats:
        """A body's centre of mass from its link's [m], in the link's axes."""
        offset = self.body_offset[body] - self.links[int(self.body_link[body])].centre
        return np.asarray(offset + self.body_turn[body] @ model.body_ipos[body])


def rotation_matrix(quaternion: Floats) -> Floats:
    """Matrix of a unit quaternion."""
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, np.asarray(quaternion, dtype=np.float64))
    return out.reshape(3, 3)


@remembered
def read_links(model: mujoco.MjModel) -> Links:
    """Make the links of a model.

    Mocap bodies are free links without mass, which `asperity.midas.model.equalities` holds in
    place.
    """
    found = Links(
        [],
        np.full(model.nbody, -1, np.int64),
        np.zeros((model.nbody, 3)),
        np.tile(np.eye(3), (model.nbody, 1, 1)),
    )
    trees = 0
    bodies = particle_bodies(model)
    vertices: set[int] = set()
    twisting: set[int] = set()
    for flex in range(model.nflex):
        own = bodies[flex_particles(model, flex)]
        vertices.update(own[free_particles(model, flex)].tolist())
        twisting.update(rope_twists(model, flex).joint.ravel().tolist())
    held: list[tuple[int, Floats, Floats, int]] = []
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        position, quaternion = model.body_pos[body], model.body_quat[body]
        if model.body_mocapid[body] >= 0:
            found.body_link[body] = len(found.links)
            found.links.append(_mocap_link(trees))
            trees += 1
            continue
        turn = found.body_turn[parent] @ rotation_matrix(quaternion)
        offset = found.body_offset[parent] + found.body_turn[parent] @ position
        owner = int(found.body_link[parent])
        first = int(model.body_jntadr[body])
        if body in vertices:
            held.append((body, offset, turn, owner))
            if owner < 0:
                trees = _add_vertex(found, model, *held.pop(), trees)
            continue
        for joint in range(first, first + int(model.body_jntnum[body])):
            kind = SLIDE if joint in twisting else _KINDS[int(model.jnt_type[joint])]
            if kind == FREE:
                owner, offset, turn = -1, np.zeros(3), np.eye(3)
            tree = found.links[owner].tree if owner >= 0 else trees
            trees = max(trees, tree + 1)
            found.links.append(
                Link(
                    parent=owner,
                    kind=kind,
                    joint=joint,
                    offset=offset,
                    turn=turn,
                    anchor=np.array(model.jnt_pos[joint]),
                    axis=np.array(model.jnt_axis[joint]),
                    tree=tree,
                    twists=joint in twisting,
                )
            )
            owner, offset, turn = len(found.links) - 1, np.zeros(3), np.eye(3)
        found.body_link[body] = owner
        found.body_offset[body], found.body_turn[body] = offset, turn
        if owner >= 0 and not found.links[owner].is_mocap:
            _add_body(found.links[owner], model, body, offset, turn)
    # Links of a tree follow each other, and these are none of their holders' trees.
    for vertex in held:
        trees = _add_vertex(found, model, *vertex, trees)
    return found


def _mocap_link(tree: int) -> Link:
    zero, axes = np.zeros(3), np.eye(3)
    return Link(-1, FREE, -1, zero, axes, zero.copy(), axes[2].copy(), tree)


def _add_vertex(
    found: Links,
    model: mujoco.MjModel,
    body: int,
    offset: Floats,
    turn: Floats,
    holder: int,
    tree: int,
) -> int:
    """Add a vertex of a flex, which moves along its parent's axes; returns the next tree.

    Its variables are its position in the world, and its own axes are the world's. Its ``offset`` is
    where it is at qpos of zero, in its holder.
    """
    found.body_link[body], found.body_offset[body] = len(found.links), np.zeros(3)
    joint = int(model.body_jntadr[body])
    start = model.qpos0[int(model.jnt_qposadr[joint]) :][:3]
    zero, axes = np.zeros(3), np.eye(3)
    link = Link(
        -1, POINT, joint, offset - turn @ start, turn, zero, axes[2].copy(), tree, holder=holder
    )
    link.mass, link.bodies = float(model.body_mass[body]), [body]
    found.links.append(link)
    return tree + 1


def _add_body(link: Link, model: mujoco.MjModel, body: int, offset: Floats, turn: Floats) -> None:
    """Add a body's mass to its link."""
    if link.twists:
        arm = np.cross(link.axis, model.body_ipos[body] - link.anchor)
        along = rotation_matrix(model.body_iquat[body]).T @ link.axis
        link.mass = float(model.body_inertia[body] @ along**2 + model.body_mass[body] * arm @ arm)
        return
    mass = float(model.body_mass[body])
    axes = turn @ rotation_matrix(model.body_iquat[body])
    centre = offset + turn @ model.body_ipos[body]
    inertia = np.array(model.body_inertia[body])
    spread = axes @ np.diag(0.5 * inertia.sum() - inertia) @ axes.T
    link.mass += mass
    link.moment = link.moment + mass * centre
    link.second = link.second + spread + mass * np.outer(centre, centre)
    link.bodies.append(body)


def parent_centre(links: list[Link], link: Link) -> Floats:
    """Centre of mass of a link's parent, in the parent's body frame [m]."""
    return links[link.parent].centre if link.parent >= 0 else np.zeros(3)


def change_of_variables(links: list[Link], link: Link) -> tuple[Floats, Floats, Floats]:
    """T, the slide direction and E of a link; see `asperity.midas.engine_layout`."""
    transfer, direction, embedding = np.zeros((4, 4)), np.zeros(3), np.zeros((4, 4))
    if link.kind == FREE:
        # Q itself is made of the variables.
        return transfer, direction, np.eye(4)
    centre = parent_centre(links, link)
    if link.kind == SLIDE:
        transfer[0, 0] = 1.0
        transfer[0, 1:] = link.offset + link.turn @ link.centre - centre
        transfer[1:, 1:] = link.turn.T
        return transfer, link.turn @ link.axis, embedding
    if link.kind == POINT:
        transfer[1:, 1:] = np.eye(3)
        embedding[0, 0] = 1.0
        return transfer, link.offset, embedding
    rows = link.own_rows
    inverse = np.linalg.inv(rows)
    held = 4 - _OWN_VECTORS[link.kind]
    on_parent = link.offset + (rows[:held, 1:] + link.centre) @ link.turn.T - centre
    transfer[:] = inverse[:, :held] @ np.column_stack([np.ones(held), on_parent])
    embedding[:, : _OWN_VECTORS[link.kind]] = inverse[:, held:]
    return transfer, direction, embedding


def variable_count(kind: int) -> int:
    """Number of a link's own variables."""
    return 1 if kind == SLIDE else 3 * _OWN_VECTORS[kind]

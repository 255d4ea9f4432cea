"""Equality constraints of a model, and the poses of mocap bodies, as ties and couplings.

`asperity.midas.energy.equality_terms` says what they are. A weld is four ties: affine links that
share four points are one body.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.contact.constraint_laws import EQUALITY_RECOVERY
from asperity.midas.engine_layout import FREE
from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.linearized import LinearizedCoordinates
from asperity.midas.model.links import Link, Links, rotation_matrix
from asperity.midas.model.tendons import coordinate_of_tendon, fixed_tendons
from asperity.plant.model.joints import is_disabled

__all__ = ["Equalities", "mocap_points", "read_equalities"]

Floats = NDArray[np.float64]

_OF_GAPS = ("inertia", "stiffness", "damping", "recovery")
_OF_STEPS = ("penalty", "rest", "force", "force_start", "bound")
# Sources of what is no equality, −1 − i of mocap body i but for this one.
_JOINT = -(1 << 30)


@dataclass
class Tie:
    """Two points that are held together; the fields are those of `TIES` and `GAPS`."""

    source: int
    """The model's equality, −1 − i for mocap body i, or `_JOINT` for a spring or damper."""
    body: tuple[int, int]
    link: tuple[int, int]
    side: tuple[Floats, Floats]
    inertia: float = 0.0
    recovery: float = EQUALITY_RECOVERY
    stiffness: float = 0.0
    damping: float = 0.0


@dataclass
class Coupling:
    """Two coupled coordinates, or one that is held; fields of `COUPLINGS` and `GAPS`."""

    source: int
    joint: tuple[int, int]
    polynomial: Floats
    inertia: float
    recovery: float


@dataclass
class Equalities:
    """Constraints of a model on its links."""

    world: int
    """Number of the world in link arrays."""
    ties: list[Tie] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)

    @property
    def source(self) -> NDArray[np.int64]:
        """Source of every gap."""
        ties = [tie.source for tie in self.ties for _ in range(3)]
        return np.array([*ties, *(one.source for one in self.couplings)], dtype=np.int64)

    def tables(self) -> dict[str, dict[str, NDArray[np.generic]]]:
        """Fields of `TIES`, but for ``block``, of `COUPLINGS` and `GAPS`, by the table's name."""
        ties, couplings = self.ties, self.couplings
        gaps = [tie for tie in ties for _ in range(3)] + couplings

        def of_gaps(name: str) -> NDArray[np.float64]:
            return np.array([getattr(one, name, 0.0) for one in gaps], dtype=np.float64)

        return {
            "ties": {
                "link": np.array([tie.link for tie in ties], dtype=np.int64).reshape(-1, 2),
                **{
                    name: np.array([tie.side for tie in ties], dtype=np.float64).reshape(-1, 2, 4)
                    for name in ("given", "side")
                },
            },
            "couplings": {
                "joint": np.array([one.joint for one in couplings], dtype=np.int64).reshape(-1, 2),
                "polynomial": np.array(
                    [one.polynomial for one in couplings], dtype=np.float64
                ).reshape(-1, 5),
            },
            "gaps": {
                **{name: of_gaps(name) for name in _OF_GAPS},
                "active": np.ones(len(gaps), np.int64),
                "yielded": np.zeros(len(gaps), np.int64),
                **{name: np.zeros(len(gaps)) for name in _OF_STEPS},
            },
        }


def read_equalities(
    model: mujoco.MjModel, links: Links, linearized: LinearizedCoordinates
) -> Equalities:
    """Read all equalities of the kinds that are supported, active or not, and all mocap bodies."""
    found = Equalities(len(links.links))
    for index in range(model.neq):
        kind = mujoco.mjtEq(model.eq_type[index])
        if kind in (mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtEq.mjEQ_TENDON):
            _add_coupling(found, model, links, linearized, index)
        elif kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD):
            _add_ties(found, model, links, index)
    for body in range(model.nbody):
        if model.body_mocapid[body] >= 0:
            _hold_mocap(found, model, links, body)
    for i, link in enumerate(links.links):
        if link.kind == FREE and not link.is_mocap:
            _hold_origin(found, model, i, link)
    return found


def _add_coupling(
    found: Equalities,
    model: mujoco.MjModel,
    links: Links,
    linearized: LinearizedCoordinates,
    index: int,
) -> None:
    one, other = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
    polynomial = np.array(model.eq_data[index, :5])
    if int(model.eq_type[index]) == int(mujoco.mjtEq.mjEQ_TENDON):
        known = fixed_tendons(model)
        number = {tendon: coordinate_of_tendon(model, links.links, tendon) for tendon in known}
        shares = model.tendon_invweight0
    else:
        number = {links.links[i].joint: k for k, i in enumerate(scalar_links(links.links))}
        shares = model.dof_invweight0[model.jnt_dofadr]
    mobility = float(shares[one])
    if other >= 0:
        mobility += polynomial[1] ** 2 * float(shares[other])
    joint, recovery = (number.get(one, -1), number.get(other, -1)), EQUALITY_RECOVERY
    gap = linearized.of_equality(index)
    if gap is not None:
        # It knows what it leaves for later steps.
        joint, polynomial, recovery = (gap, -1), np.zeros(5), 0.0
    inertia = 1.0 / max(mobility, 1e-12)
    found.couplings.append(Coupling(index, joint, polynomial, inertia, recovery))


def _at_sites(model: mujoco.MjModel, index: int) -> bool:
    return int(model.eq_objtype[index]) == int(mujoco.mjtObj.mjOBJ_SITE)


def _frame(
    model: mujoco.MjModel, index: int, side: int, anchor: Floats
) -> tuple[int, Floats, Floats]:
    """Body, point and axes in the body's frame of one side of a connect or weld."""
    number = int((model.eq_obj1id if side == 0 else model.eq_obj2id)[index])
    if _at_sites(model, index):
        body = int(model.site_bodyid[number])
        return body, np.array(model.site_pos[number]), rotation_matrix(model.site_quat[number])
    return number, anchor, np.eye(3)


def _add_ties(found: Equalities, model: mujoco.MjModel, links: Links, index: int) -> None:
    data = model.eq_data[index]
    weld = int(model.eq_type[index]) == int(mujoco.mjtEq.mjEQ_WELD)
    # The anchor of a weld is given on its second body, that of a connect on its first.
    anchors = (data[3:6], data[:3]) if weld else (data[:3], data[3:6])
    body, point, axes = _frame(model, index, 0, np.array(anchors[0]))
    other, place, frame = _frame(model, index, 1, np.array(anchors[1]))
    link, link_too = int(links.body_link[body]), int(links.body_link[other])
    if link == link_too:
        return
    size = 0.0
    if weld and data[10] > 0.0:
        if not _at_sites(model, index):
            axes = axes @ rotation_matrix(data[6:10])
        size = max(links.links[i].size for i in (link, link_too) if i >= 0)
    mobility = float(model.body_invweight0[body, 0] + model.body_invweight0[other, 0])
    inertia = 1.0 / mobility if mobility > 0.0 else float(model.body_subtreemass[0])
    for offset in size * np.vstack([np.zeros(3), np.eye(3)])[: 4 if size else 1]:
        ends = (
            _on_link(links, body, point + axes @ offset),
            _on_link(links, other, place + frame @ offset),
        )
        both = (_world(found, link), _world(found, link_too))
        found.ties.append(Tie(index, (body, other), both, ends, inertia))


def _world(found: Equalities, link: int) -> int:
    return link if link >= 0 else found.world


def _on_link(links: Links, body: int, point: Floats) -> Floats:
    """[1, x̄] of a point of a body, or [1, x] of one that does not move."""
    link = int(links.body_link[body])
    here = links.body_offset[body] + links.body_turn[body] @ point
    if link >= 0:
        here = here - links.links[link].centre
    return np.append(1.0, here)


def _hold_mocap(found: Equalities, model: mujoco.MjModel, links: Links, body: int) -> None:
    """Hold a mocap body's link to the world, where `mocap_points` will say."""
    link = int(links.body_link[body])
    inertia = max(float(model.body_subtreemass[0]), 1.0)
    source = -1 - int(model.body_mocapid[body])
    for point in _corners(links, link):
        ends = (np.append(1.0, point), np.array([1.0, 0.0, 0.0, 0.0]))
        # It is where it is told to be at the end of the step.
        found.ties.append(Tie(source, (body, 0), (link, found.world), ends, inertia, 0.0))


def _hold_origin(found: Equalities, model: mujoco.MjModel, number: int, link: Link) -> None:
    """Let a free joint's spring and damper hold the origin of its body."""
    stiffness = float(np.ravel(model.jnt_stiffness[link.joint])[0])
    damping = float(np.ravel(model.dof_damping[model.jnt_dofadr[link.joint]])[0])
    at = int(model.jnt_qposadr[link.joint])
    own, ends = np.append(1.0, -link.centre), (int(model.jnt_bodyid[link.joint]), 0)
    both = (number, found.world)
    if stiffness > 0.0 and not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_SPRING):
        side = (own, np.append(1.0, model.qpos_spring[at : at + 3]))
        found.ties.append(Tie(_JOINT, ends, both, side, 0.0, 0.0, stiffness))
    if damping > 0.0 and not is_disabled(model, mujoco.mjtDisableBit.mjDSBL_DAMPER):
        side = (own, np.array([1.0, 0.0, 0.0, 0.0]))
        found.ties.append(Tie(_JOINT, ends, both, side, 0.0, 0.0, damping=damping))


def _corners(links: Links, link: int) -> Floats:
    return links.links[link].size * np.vstack([np.zeros(3), np.eye(3)])


def mocap_points(links: Links, body: int, position: Floats, quaternion: Floats) -> Floats:
    """Where the four tied points of a mocap body's link are at a pose, shape (4, 3)."""
    link = int(links.body_link[body])
    return position + _corners(links, link) @ rotation_matrix(quaternion).T

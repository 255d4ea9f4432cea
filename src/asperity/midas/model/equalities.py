"""Equality constraints of a model, and the poses of mocap bodies, as ties and couplings.

`asperity.midas.energy.equality_terms` says what they are. A weld is four ties: affine links that
share four points are one body.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.linearized import LinearizedCoordinates
from asperity.midas.model.links import Links, rotation_matrix
from asperity.midas.model.tendons import coordinate_of_tendon, fixed_tendons

__all__ = ["Equalities", "mocap_points", "read_equalities"]

Floats = NDArray[np.float64]

# A constraint that is violated at the start, or when it is switched on, closes with this time
# constant [s].
_RECOVERY = 0.02


@dataclass
class Equalities:
    """Constraints of a model on its links."""

    world: int
    """Number of the world in link arrays."""
    tie_source: list[int] = field(default_factory=list)
    """The model's equality of every tie, or −1 − i for mocap body i."""
    tie_body: list[tuple[int, int]] = field(default_factory=list)
    tie_link: list[tuple[int, int]] = field(default_factory=list)
    tie_side: list[tuple[Floats, Floats]] = field(default_factory=list)
    """[1, x̄] of the two points, each of shape (4,)."""
    tie_inertia: list[float] = field(default_factory=list)
    coupling_source: list[int] = field(default_factory=list)
    coupling_joint: list[tuple[int, int]] = field(default_factory=list)
    coupling_polynomial: list[Floats] = field(default_factory=list)
    coupling_inertia: list[float] = field(default_factory=list)
    coupling_recovery: list[float] = field(default_factory=list)
    """Time constants with which gaps close [s]; 0 of those that close within a step."""

    def tables(self) -> dict[str, dict[str, NDArray[np.generic]]]:
        """Fields of `TIES`, but for ``block``, and of `COUPLINGS`, by the name of the table."""
        ties, couplings = len(self.tie_source), len(self.coupling_source)
        source = np.array(self.tie_source, dtype=np.int64)
        return {
            "ties": {
                "link": np.array(self.tie_link, dtype=np.int64).reshape(ties, 2),
                "side": np.array(self.tie_side, dtype=np.float64).reshape(ties, 2, 4),
                "inertia": np.array(self.tie_inertia, dtype=np.float64),
                # Mocap bodies are where they are told to be at the end of the step.
                "recovery": np.where(source < 0, 0.0, _RECOVERY),
                "active": np.ones(ties, np.int64),
                "penalty": np.zeros(ties),
                "rest": np.zeros((ties, 3)),
                "force": np.zeros((ties, 3)),
                "force_start": np.zeros((ties, 3)),
            },
            "couplings": {
                "joint": np.array(self.coupling_joint, dtype=np.int64).reshape(couplings, 2),
                "polynomial": np.array(self.coupling_polynomial, dtype=np.float64).reshape(
                    couplings, 5
                ),
                "inertia": np.array(self.coupling_inertia, dtype=np.float64),
                "recovery": np.array(self.coupling_recovery, dtype=np.float64),
                "active": np.ones(couplings, np.int64),
                "penalty": np.zeros(couplings),
                "rest": np.zeros(couplings),
                "force": np.zeros(couplings),
                "force_start": np.zeros(couplings),
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
    gap = linearized.of_equality(index)
    if gap is None:
        found.coupling_joint.append((number[one], number[other] if other >= 0 else -1))
        found.coupling_polynomial.append(polynomial)
        found.coupling_recovery.append(_RECOVERY)
    else:
        # It knows what it leaves for later steps.
        found.coupling_joint.append((gap, -1))
        found.coupling_polynomial.append(np.zeros(5))
        found.coupling_recovery.append(0.0)
    found.coupling_source.append(index)
    found.coupling_inertia.append(1.0 / max(mobility, 1e-12))


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
        found.tie_source.append(index)
        found.tie_body.append((body, other))
        found.tie_link.append((link if link >= 0 else found.world, _world(found, link_too)))
        found.tie_side.append(
            (
                _on_link(links, body, point + axes @ offset),
                _on_link(links, other, place + frame @ offset),
            )
        )
        found.tie_inertia.append(inertia)


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
    for point in _corners(links, link):
        found.tie_source.append(-1 - int(model.body_mocapid[body]))
        found.tie_body.append((body, 0))
        found.tie_link.append((link, found.world))
        found.tie_side.append((np.append(1.0, point), np.array([1.0, 0.0, 0.0, 0.0])))
        found.tie_inertia.append(max(float(model.body_subtreemass[0]), 1.0))


def _corners(links: Links, link: int) -> Floats:
    return links.links[link].size * np.vstack([np.zeros(3), np.eye(3)])


def mocap_points(links: Links, body: int, position: Floats, quaternion: Floats) -> Floats:
    """Where the four tied points of a mocap body's link are at a pose, shape (4, 3)."""
    link = int(links.body_link[body])
    return position + _corners(links, link) @ rotation_matrix(quaternion).T

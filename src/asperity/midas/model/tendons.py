"""Fixed tendons of a MuJoCo model, as further joint coordinates.

A fixed tendon's length is a weighted sum of the coordinates of hinges and slides. Everything that
acts on a coordinate of a joint acts on it in the same way: spring, damper, limits, dry friction,
armature, motors and couplings. So tendons come after the joints in all tables of coordinates, and
`asperity.midas.energy.tendon_terms` hands what acts on them on to the joints.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.errors import ModelError
from asperity.midas.model.joint_numbers import scalar_links
from asperity.midas.model.links import Link
from asperity.plant.model.names import element

__all__ = [
    "check_tendon_limits",
    "coordinate_of_tendon",
    "fixed_tendons",
    "member_tables",
]

# What a length may be beyond a limit to be at it, and how far from it the limit then is [m or rad].
_AT_LIMIT = 1e-6
_ROOM = 1e-6


def fixed_tendons(model: mujoco.MjModel) -> list[int]:
    """Tendons that run over joints, and not through space."""
    first = int(mujoco.mjtWrap.mjWRAP_JOINT)
    return [
        tendon
        for tendon in range(model.ntendon)
        if int(model.wrap_type[model.tendon_adr[tendon]]) == first
    ]


def coordinate_of_tendon(model: mujoco.MjModel, links: list[Link], tendon: int) -> int:
    """Number of a fixed tendon among the coordinates."""
    return len(scalar_links(links)) + fixed_tendons(model).index(tendon)


def member_tables(
    model: mujoco.MjModel,
    links: list[Link],
    couplings: NDArray[np.int64],
    further: Iterable[tuple[int, int]],
) -> dict[str, dict[str, NDArray[np.generic]]]:
    """Joints that every coordinate is made of, and pairs of links that coordinates couple.

    ``further`` are pairs of links that are coupled besides.
    """
    own = scalar_links(links)
    number = {links[i].joint: k for k, i in enumerate(own)}
    members: list[list[tuple[int, float]]] = [[(k, 1.0)] for k in range(len(own))]
    for tendon in fixed_tendons(model):
        first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
        found: dict[int, float] = {}
        for at in range(first, first + count):
            joint = number[int(model.wrap_objid[at])]
            found[joint] = found.get(joint, 0.0) + float(model.wrap_prm[at])
        members.append(sorted(found.items()))
    pairs = {
        (one, other) for group in members for one, _ in group for other, _ in group if one < other
    }
    for a, b in couplings:
        if b >= 0:
            pairs |= {(i, j) for i, _ in members[a] for j, _ in members[b]}
    flat = [member for group in members for member in group]
    joint_crossed = np.zeros(len(own), np.int64)
    joint_crossed[[joint for pair in pairs for joint in pair]] = 1
    link_crossed = np.zeros(len(links), np.int64)
    link_crossed[[own[joint] for joint in np.flatnonzero(joint_crossed)]] = 1
    for i in reversed(range(len(links))):
        if link_crossed[i] and links[i].parent >= 0:
            link_crossed[links[i].parent] = 1
    joints: dict[str, NDArray[np.generic]] = {
        "crossed": joint_crossed,
        "member_start": np.cumsum([0, *map(len, members)]).astype(np.int64),
        "member_joint": np.array([joint for joint, _ in flat], dtype=np.int64),
        "member_weight": np.array([weight for _, weight in flat], dtype=np.float64),
        "crossing_link": np.array(
            sorted({(own[a], own[b]) for a, b in pairs} | set(further)), dtype=np.int64
        ).reshape(-1, 2),
    }
    return {"joints": joints, "links": {"crossed": link_crossed}}


def check_tendon_limits(model: mujoco.MjModel, coordinates: Any, limit: Any, joints: int) -> None:
    """Refuse a state in which a tendon is beyond a limit; let one at a limit be inside of it."""
    for k, tendon in enumerate(fixed_tendons(model)):
        low, high = limit[joints + k]
        length = coordinates[joints + k]
        beyond = float(model.tendon_margin[tendon]) + _AT_LIMIT
        # At its limit, or within the limit's margin, it stays just inside.
        if low - beyond <= length <= low + _AT_LIMIT:
            limit[joints + k, 0] = length - _ROOM
        elif high - _AT_LIMIT <= length <= high + beyond:
            limit[joints + k, 1] = length + _ROOM
        elif not low < length < high:
            name = element(model, mujoco.mjtObj.mjOBJ_TENDON, tendon)
            raise ModelError(
                f"{name} is longer or shorter than its range allows, and the Midas integrator "
                "never passes a limit; start within it, or widen it."
            )

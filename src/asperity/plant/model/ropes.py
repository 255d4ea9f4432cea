"""Ropes and rods of a model: what may not be in it, and their edges and bends.

A 1-D flex is held along its edges by springs and dampers (``edge/stiffness``, ``damping``), by an
equality of its edges, or as a round rod of its modulus: with the rigidity EI of its bends and the
radius r, EA is 4 EI/r². It bends if it has a modulus. MuJoCo keeps k_1 = EI/(ℓ_0 + ℓ_1) of
E = k_1 |κ|² for each bend of two edges, and likewise GJ/(ℓ_0 + ℓ_1) for its twist, and a hinge for
every edge, which turns about it.

Where both vertices of an edge are fixed the rod is clamped at the end of that edge, and a bend
there only stands for its other half: MuJoCo's clamp is half an edge farther back.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.flexes import is_loose, moving_particles

__all__ = [
    "Strands",
    "Twists",
    "acts_along_edges",
    "check_rope",
    "rope_modulus",
    "rope_notes",
    "rope_strands",
    "rope_twists",
]

# Numbers of a bend: four vertices, k_1, k_2 − k_1, |κ| at rest, twist joint, its stiffness, yield.
_RECORD = 10
_RIGIDITY, _SECOND, _CURVATURE, _TWIST, _TORSION = 4, 5, 6, 7, 8
_SMALL = 1e-9


class Strands(NamedTuple):
    """Edges and bends of ropes; vertices are those of the flex."""

    particle: np.ndarray
    """Shape (n, 3), −1 in the third place of an edge."""
    length: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


class Twists(NamedTuple):
    """Bends of rods that resist twisting; vertices are those of the flex."""

    particle: np.ndarray
    """Shape (n, 3)."""
    joint: np.ndarray
    """Of the edges after and before, shape (n, 2); −1 of one that does not turn."""
    stiffness: np.ndarray
    damping: np.ndarray


def _edges(model: mujoco.MjModel, flex: int) -> slice:
    first = int(model.flex_edgeadr[flex])
    return slice(first, first + int(model.flex_edgenum[flex]))


def _bends(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Records of bends, shape (n, 10)."""
    first = int(model.flex_bendingadr[flex])
    if model.flex_dim[flex] != 1 or first < 0 or first >= len(model.flex_bending):
        return np.zeros((0, _RECORD))
    count = int(model.flex_bending[first])
    return np.array(model.flex_bending[first + 1 : first + 1 + count * _RECORD]).reshape(
        count, _RECORD
    )


def _fixed(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Which vertices do not move in the rope's frame."""
    return ~moving_particles(model, flex)


def check_rope(model: mujoco.MjModel, flex: int, name: str) -> None:
    """Refuse a rope that is not understood, by name (`ModelError`)."""
    edges, bends = _edges(model, flex), _bends(model, flex)
    if model.flex_edgeequality[flex] not in (0, 1):
        raise ModelError(f"{name} holds its strain by constraints; use edge/equality.")
    if not np.all(model.flexedge_length0[edges] > 0.0):
        raise ModelError(f"{name} has an edge without length; move its vertices apart.")
    if np.any(bends[:, 3] >= 0.0) or np.any(bends[:, _CURVATURE] > _SMALL):
        raise ModelError(
            f"{name} is closed or curved at rest, and only rods that are straight at rest resist "
            "bending; remove elasticity/young and keep it together by edge/equality."
        )
    if np.any(np.abs(bends[:, _SECOND]) > _SMALL * bends[:, _RIGIDITY]):
        raise ModelError(
            f"{name} has a section that is stiffer in one direction, and only round rods are "
            'simulated; use section="circle".'
        )
    if len(bends) and not model.flex_radius[flex] > 0.0:
        raise ModelError(f"{name} has a modulus and no radius; give it one.")


def _axial(model: mujoco.MjModel, flex: int) -> tuple[float, float]:
    """EA [N], and that of a damper [N s], of an edge with stiffness EA/ℓ; zero where there is none.

    MuJoCo's springs are alike for all edges, whatever their lengths.
    """
    bends = _bends(model, flex)
    if len(bends) == 0 or model.flex_edgeequality[flex] or model.flex_edgestiffness[flex] > 0.0:
        return 0.0, 0.0
    area = 4.0 * float(_rigidities(model, flex, bends).mean()) / float(model.flex_radius[flex]) ** 2
    return area, area * float(model.flex_damping[flex])


def _between(model: mujoco.MjModel, flex: int) -> dict[frozenset[int], float]:
    """Lengths of edges at rest, by their two vertices."""
    edges = _edges(model, flex)
    lengths = model.flexedge_length0[edges]
    return {
        frozenset(pair): float(length)
        for pair, length in zip(model.flex_edge[edges].tolist(), lengths, strict=True)
    }


def _rigidities(model: mujoco.MjModel, flex: int, bends: np.ndarray) -> np.ndarray:
    """EI of bends [N m²]."""
    length = _between(model, flex)
    both = [
        length[frozenset((a, b))] + length[frozenset((b, c))]
        for a, b, c in bends[:, :3].astype(np.int64).tolist()
    ]
    return np.asarray(bends[:, _RIGIDITY] * np.array(both))


def acts_along_edges(model: mujoco.MjModel, flex: int) -> bool:
    """Whether a flex has forces along its edges: it is a rope, or has springs, dampers, rows.

    Edges of one that is loose have none of either, and say which vertices a contact moves at once.
    """
    return model.flex_interp[flex] == 0 and bool(
        model.flex_dim[flex] == 1
        or model.flex_edgeequality[flex]
        or model.flex_edgestiffness[flex] != 0.0
        or model.flex_edgedamping[flex] != 0.0
        or is_loose(model, flex)
    )


def rope_modulus(model: mujoco.MjModel, flex: int) -> float:
    """Young's modulus of a round section [Pa]; 0 if the rope has none."""
    radius, bends = float(model.flex_radius[flex]), _bends(model, flex)
    if not radius > 0.0:
        return 0.0
    if len(bends):
        return 4.0 * float(_rigidities(model, flex, bends).mean()) / (np.pi * radius**4)
    length = float(model.flexedge_length0[_edges(model, flex)].mean())
    return float(model.flex_edgestiffness[flex]) * length / (np.pi * radius**2)


def rope_strands(model: mujoco.MjModel, flex: int) -> Strands:
    """Edges that are not fixed at both ends, in their order, and bends with a vertex that moves.

    Of cloth and volumes, their edges.
    """
    fixed, edges, bends = _fixed(model, flex), _edges(model, flex), _bends(model, flex)
    pairs = np.array(model.flex_edge[edges], np.int64)
    lengths = np.array(model.flexedge_length0[edges])
    moves = ~fixed[pairs].all(axis=1)
    pairs, lengths = pairs[moves], lengths[moves]
    area, viscous = _axial(model, flex)
    stiffness = float(model.flex_edgestiffness[flex]) + area / lengths
    damping = float(model.flex_edgedamping[flex]) + viscous / lengths
    between = _between(model, flex)
    particles = [[a, b, -1] for a, b in pairs.tolist()]
    rigidities = []
    for (a, b, c), rigidity in zip(
        bends[:, :3].astype(np.int64).tolist(), _rigidities(model, flex, bends), strict=True
    ):
        if fixed[[a, b, c]].all():
            continue
        stands_for = sum(
            0.0 if fixed[edge].all() else 0.5 * between[frozenset(edge)]
            for edge in ([a, b], [b, c])
        )
        particles.append([a, b, c])
        rigidities.append(rigidity / stands_for)
    bending = np.array(rigidities)
    return Strands(
        np.array(particles, np.int64).reshape(-1, 3),
        np.concatenate([lengths, np.zeros(len(bending))]),
        np.concatenate([stiffness, bending]),
        np.concatenate([damping, float(model.flex_damping[flex]) * bending]),
    )


def rope_twists(model: mujoco.MjModel, flex: int) -> Twists:
    """Twists of bends of which an edge turns.

    Edges that are fixed at an end of a rod have no joint. A bend's record has that of its second
    edge, which is the first one of the next bend.
    """
    fixed, bends, between = _fixed(model, flex), _bends(model, flex), _between(model, flex)
    particles, joints, torsion, stands_for = [], [], [], []
    before: tuple[int, int, int] | None = None
    for record in bends:
        a, b, c = record[:3].astype(np.int64).tolist()
        after = int(record[_TWIST])
        if before is not None and before[:2] == (a, b):
            first = before[2]
        elif fixed[[a, b]].all():
            first = -1
        else:
            first = after - 1 if after >= 0 else _last_slide(model, flex) + 1
        before = (b, c, after)
        lengths = between[frozenset((b, c))], between[frozenset((a, b))]
        turns = np.array([after, first]) >= 0
        if turns.any() and record[_TORSION] > 0.0:
            particles.append([a, b, c])
            joints.append([after, first])
            torsion.append(record[_TORSION] * sum(lengths))
            stands_for.append(0.5 * float(turns @ lengths))
    stiffness = np.array(torsion) / np.array(stands_for)
    return Twists(
        np.array(particles, np.int64).reshape(-1, 3),
        np.array(joints, np.int64).reshape(-1, 2),
        stiffness,
        float(model.flex_damping[flex]) * stiffness,
    )


def _last_slide(model: mujoco.MjModel, flex: int) -> int:
    """The last joint of a flex's vertices, which joints of twist follow."""
    first, count = int(model.flex_vertadr[flex]), int(model.flex_vertnum[flex])
    bodies = model.flex_vertbodyid[first : first + count]
    return int((model.body_jntadr[bodies] + model.body_jntnum[bodies]).max()) - 1


def rope_notes(model: mujoco.MjModel, flex: int, name: str) -> list[str]:
    """Sentences about what is approximated of a rope."""
    notes = [
        f"{name}: all vertices have the same mass, as in MuJoCo, so that its ends are heavier "
        "than those of an even rope."
    ]
    lengths, thick = model.flexedge_length0[_edges(model, flex)], 2.0 * model.flex_radius[flex]
    if model.flex_selfcollide[flex] and lengths.min() < thick:
        notes.append(
            f"{name}: an edge is shorter than the rope is thick, so that the rope touches itself "
            'beside it and stretches; use longer edges or selfcollide="none".'
        )
    if _axial(model, flex)[0] > 0.0:
        notes.append(
            f"{name}: edges have the stiffness EA of a round section, where MuJoCo's have none."
        )
    return notes

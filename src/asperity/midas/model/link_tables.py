"""Fields of the engine's tables from links and shapes (`asperity.midas.model.model_layout`)."""

from __future__ import annotations

import copy
from typing import Any

import mujoco
import numpy as np

from asperity.midas.engine_layout import BALL, HINGE, POINT, SLIDE
from asperity.midas.lists.shared_lists import THIRDS
from asperity.midas.model.face_tables import face_tables
from asperity.midas.model.link_pair_tables import link_pair_tables
from asperity.midas.model.links import Link, Links, change_of_variables, variable_count
from asperity.midas.model.shapes import Shapes
from asperity.midas.model.tendons import fixed_tendons

_FLAG = mujoco.mjtDisableBit

__all__ = [
    "gravity_shares",
    "is_linear",
    "link_fields",
    "shape_fields",
    "state_sizes",
]

# Density [kg/m³] that gives a link without shapes its volume, the least that a model has as a whole
# unless its units are others, and over the first the largest believed of a link with shapes.
_DENSITY, _LEAST_DENSITY = 1e3, 1e2
_DENSER = 20.0
# Share of the volume of all that hangs on a link, itself included, that it is as stiff as at least.
# Links of a gram between the joints of a shoulder would be strained by 1, and the method of Newton,
# whose Hessian leaves the strain out, took hundreds of iterations.
_CARRIED_SHARE = 0.1
# Inertia about its axis over the next of a rod that turns about a ball joint, at least: about 1e-5,
# of strains, its spin is lost.
_THINNEST = 1e-4


def is_linear(links: list[Link]) -> bool:
    """Whether all coordinates are linear in the variables: no slide is on a link that can turn."""
    turning = [False] * len(links)
    for i, link in enumerate(links):
        above = link.parent >= 0 and turning[link.parent]
        if link.kind == SLIDE and above:
            return False
        turning[i] = above or link.kind != SLIDE
    return True


def link_fields(
    model: mujoco.MjModel, links: list[Link], shapes: Shapes, rigidity: float
) -> dict[str, Any]:
    """Fields of `LINKS`: their change of variables and mass."""
    count = len(links)
    sizes = [variable_count(link.kind) for link in links]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    parts = [change_of_variables(links, link) for link in links]
    chains: list[list[int]] = []
    for k, link in enumerate(links):
        above = chains[link.parent] if link.parent >= 0 else []
        chains.append([*above, *range(int(first[k]), int(first[k + 1]))])
    lengths = [len(chain) for chain in chains]
    scalar = np.array([link.kind in (HINGE, SLIDE) for link in links], dtype=bool)

    volumes = _volumes(model, links, shapes)

    def stacked(values: list[Any], *shape: int) -> np.ndarray:
        return np.ascontiguousarray(np.array(values, dtype=np.float64).reshape(count, *shape))

    return {
        "parent": np.array(
            [link.parent if link.parent >= 0 else count for link in links], dtype=np.int64
        ),
        "kind": np.array([link.kind for link in links], dtype=np.int64),
        "variable": first,
        "transfer": stacked([part[0] for part in parts], 4, 4),
        "slide_direction": stacked([part[1] for part in parts], 3),
        "embedding": stacked([part[2] for part in parts], 4, 4),
        "own_row": stacked(
            [np.eye(4) if link.kind == SLIDE else link.own_rows for link in links], 4, 4
        ),
        "joint": np.where(scalar, np.cumsum(scalar) - 1, -1),
        "mass": stacked([link.inertia for link in links], 4, 4),
        "slender_axis": stacked([_slender_axes(link)[0] for link in links], 3),
        "slender_side": stacked([_slender_axes(link)[1:] for link in links], 2, 3),
        "pivot": np.array([_pivot(link) for link in links], dtype=np.int64),
        "rigidity": rigidity * stacked(volumes),
        "gravity": np.zeros((count, 3)),
        "qpos": _addresses(model.jnt_qposadr, links, HINGE, SLIDE),
        "dof": np.where(
            [_has_known_velocity(link) for link in links],
            -1,
            _addresses(model.jnt_dofadr, links),
        ),
        "first_dof": _addresses(model.jnt_dofadr, links),
        "centre": stacked([link.centre for link in links], 3),
        "turn": stacked([link.turn for link in links], 3, 3),
        "holder": np.array([link.holder for link in links], dtype=np.int64),
        "chain_start": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "chain_variable": np.concatenate([np.zeros(0, np.int64), *chains]).astype(np.int64),
        "jacobian": np.zeros((sum(lengths), 4, 3)),
    }


def _has_known_velocity(link: Link) -> bool:
    """Whether its joint's velocities are by how much its coordinates have changed."""
    return link.kind in (HINGE, SLIDE) and not link.twists


def _pivot(link: Link) -> int:
    """Points that a link on a joint is held at in the world, 0 where it is not, or has no mass.

    A rod that is too thin to tell its spin from strain counts as held at none by a ball joint.
    """
    if link.parent >= 0 or link.mass <= 0.0:
        return 0
    if link.kind == BALL:
        moments = np.linalg.eigvalsh(link.second_about_joint)
        return int(moments[0] + moments[1] > _THINNEST * (moments[0] + moments[2]))
    return 2 if link.kind == HINGE else 0


def _slender_axes(link: Link) -> np.ndarray:
    """Principal axes of a link, shape (3, 3), with what it has to do with its slenderness.

    The square of the first, of least inertia, says by how much less than the next it has. Along it
    Euler's equation is L̇₁ = (I₂ − I₃) ω₂ ω₃ + τ₁, and the second is (I₂ − I₃) times that length.
    """
    if _pivot(link) == 2:
        return np.zeros((3, 3))
    second = link.second_about_joint if _pivot(link) == 1 else link.inertia[1:, 1:]
    moments, axes = np.linalg.eigh(second)
    least, next_one = moments[0] + moments[1], moments[0] + moments[2]
    if not next_one > 0.0:
        return np.zeros((3, 3))
    length = np.sqrt(max(1.0 - least / next_one, 0.0))
    own, side = axes[:, 2], axes[:, 0]
    return np.array([length * own, length * (moments[1] - moments[0]) * side, np.cross(own, side)])


def _addresses(of_joint: np.ndarray, links: list[Link], *others: int) -> np.ndarray:
    """Addresses of joints but those of other kinds, of which they are −1, shape (n,)."""
    return np.array(
        [-1 if link.kind in others or link.is_mocap else of_joint[link.joint] for link in links],
        dtype=np.int64,
    )


def _volumes(model: mujoco.MjModel, links: list[Link], shapes: Shapes) -> list[float]:
    """Volumes that links resist deformation with [m³].

    A link that is smaller than its arm, the distance l of its centre from the joints it is between,
    is strained by forces there as if it were the larger: of what it is strained, its joints move by
    l. With (l/r)² times the volume they move no more than its surface, at r, does of itself. A bead
    of a centimetre between joints ten centimetres away stands for a rod.
    """
    arms = np.zeros(len(links))
    for i, link in enumerate(links):
        arms[i] = max(arms[i], float(np.linalg.norm(link.anchor - link.centre)))
        if link.parent >= 0:
            at = link.offset + link.turn @ link.anchor
            arm = float(np.linalg.norm(at - links[link.parent].centre))
            arms[link.parent] = max(arms[link.parent], arm)
    # Of a solid ball of this radius of gyration, whose surface the vertices reach.
    radii = np.array([np.sqrt(5.0 / 3.0) * link.size for link in links])
    for k, surface in zip(shapes.link, shapes.drawn, strict=True):
        if k < len(links):
            reach = np.linalg.norm(surface.vertices, axis=1).max(initial=0.0)
            radii[k] = max(radii[k], reach)
    density = _density(links, shapes)
    volumes = []
    for i, link in enumerate(links):
        volume = _volume(model, link, shapes, i, density)
        longer = max(float(arms[i] / radii[i]), 1.0) ** 2
        volumes.append(max(volume, min(longer * volume, float(arms[i]) ** 3)))
    return volumes


def _density(links: list[Link], shapes: Shapes) -> float:
    """Density that gives links without shapes their volume [kg/m³].

    A model in centimetres and grams has that of its links with shapes: a thousandth of the usual
    volume would leave links between joints so soft that they are strained by percents.
    """
    mass = sum(link.mass for i, link in enumerate(links) if shapes.volume[i] > 0.0)
    volume = sum(float(shapes.volume[i]) for i in range(len(links)))
    return mass / volume if 0.0 < mass < _LEAST_DENSITY * volume else _DENSITY


def _volume(model: mujoco.MjModel, link: Link, shapes: Shapes, index: int, density: float) -> float:
    """Volume that a link resists deformation with [m³]."""
    if link.kind in (SLIDE, POINT) or link.is_mocap:
        # It follows its parent's deformation exactly, or its pose.
        return 0.0
    # A massless link between the joints of one body is as stiff as that body.
    body = int(model.jnt_bodyid[link.joint])
    mass = link.mass or float(model.body_mass[body])
    volume = float(shapes.volume[index])
    # What carries others must not give way under them, however light it is drawn itself.
    carried = _CARRIED_SHARE * float(model.body_subtreemass[body]) / density
    return max(volume, mass / (_DENSER * density if volume > 0.0 else density), carried, 1e-9)


def gravity_shares(model: mujoco.MjModel, links: Links) -> tuple[np.ndarray, np.ndarray]:
    """What gravity compensation leaves of every link's weight, shape (n,), and its moments.

    The latter are masses that are held times their places from the link's centre, in its axes
    [kg m], shape (n, 3).
    """
    shares = np.zeros(len(links.links))
    moments = np.zeros((len(links.links), 3))
    # MuJoCo computes no passive forces without springs and dampers, and compensates no body if none
    # had a positive share when the model was compiled.
    passive = int(_FLAG.mjDSBL_SPRING | _FLAG.mjDSBL_DAMPER)
    compensates = model.flg_gravcomp and model.opt.disableflags & passive != passive
    for i, link in enumerate(links.links):
        if link.mass > 0.0 and not link.twists:
            shares[i] = 1.0
            for body in link.bodies:
                held = compensates * model.body_mass[body] * model.body_gravcomp[body]
                shares[i] -= held / link.mass
                moments[i] += held * links.centre_of(model, body)
    return shares, moments


def state_sizes(model: mujoco.MjModel, links: list[Link], linearized: int) -> dict[str, int]:
    """Sizes of the engine's tables; so many coordinates are linearized."""
    joints = sum(link.kind in (HINGE, SLIDE) for link in links)
    # No chain of variables is longer than its tree's.
    in_tree = np.bincount(
        [link.tree for link in links], [variable_count(link.kind) for link in links], minlength=1
    )
    return {
        "nq": model.nq,
        "nv": model.nv,
        "links": len(links),
        "variables": sum(variable_count(link.kind) for link in links),
        "joints": joints,
        "coordinates": joints + len(fixed_tendons(model)) + linearized,
        "longest_chain": int(in_tree.max()),
    }


def shape_fields(
    model: mujoco.MjModel,
    shapes: Shapes,
    links: list[Link],
    held: np.ndarray,
    numbers: dict[str, np.ndarray],
) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    """Surfaces, pairs of shapes and of links that may touch or are held, and their numbers.

    ``held`` has pairs of links that ties hold together, shape (n, 2), and ``numbers`` are
    `pair_numbers`.
    Returns the fields by their tables, and sizes.
    """
    world = len(links)
    # Steps write to them.
    surfaces, trees = copy.deepcopy(shapes.tables)
    owner, rest = surfaces["vertex_link"], surfaces["vertex_rest"]
    moving = int(np.searchsorted(owner, world))
    ends = np.array(
        [[shapes.link[a], shapes.link[b] if b >= 0 else world] for a, b in shapes.pair_shape],
        dtype=np.int64,
    ).reshape(-1, 2)
    count = len(ends)
    ends = np.concatenate([ends, held])
    both = np.all(ends < world, axis=1)
    blocks, label = np.unique(np.sort(ends[both], axis=1), axis=0, return_inverse=True)
    block = np.full(len(ends), -1, np.int64)
    block[both] = label.reshape(-1)
    radius = np.array([link.size for link in links], dtype=np.float64)
    reach = np.linalg.norm(rest[:moving, 1:], axis=1) + surfaces["vertex_radius"][:moving]
    np.maximum.at(radius, owner[:moving], reach)

    def positions() -> np.ndarray:
        """Of vertices, of which those do not move that are fixed in the world."""
        found = np.zeros((len(owner), 3))
        found[moving:] = rest[moving:, 1:]
        return found

    surfaces["moving_vertices"] = moving
    surfaces["surface_velocity"] = shapes.surface_velocity
    planes, faces = face_tables(shapes, surfaces)
    pairs = {
        **faces,
        "block": block[:count].copy(),
        "shape": shapes.pair_shape,
        **numbers,
        "block_link": np.ascontiguousarray(blocks.reshape(-1, 2)),
    }
    relative, pairs["seen"] = link_pair_tables(model, shapes, links, blocks, surfaces, pairs)
    fields = {
        "shapes": {**surfaces, **planes},
        "pairs": pairs,
        "links": {"radius": radius},
        "vertices": {"now": positions(), "trial": positions()},
        "boxes": {"low": positions(), "high": positions(), "start": positions()},
        "box_trees": trees,
        "relative": relative,
        "ties": {"block": block[count:].copy()},
    }
    sizes = {
        "blocks": len(blocks),
        "vertices": len(owner),
        "moving": moving,
        "shapes": len(shapes.link),
        "thirds": THIRDS * len(shapes.pair_shape),
    }
    return fields, sizes

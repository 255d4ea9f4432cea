"""The broad phase of deformable bodies against a search of all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from midas_models import cloth, engine_of
from soft_models import Array, compile_soft, cube

from asperity.compiled import Table
from asperity.midas.geometry.stencil import EDGE_EDGE, VERTEX_FACE
from asperity.midas.soft.contacts import exact_square
from asperity.midas.soft.search import list_stencils
from asperity.midas.time.step import solve_step

ipctk = pytest.importorskip("ipctk", reason="ipctk, the oracle of distances, is not installed")

_BOXES = "".join(
    f"<geom type='box' size='0.01 0.015 0.02' pos='{x} {y} {z}' euler='10 20 30'/>"
    for x, y, z in ((0.0, 0.0, -0.055), (0.085, 0.0, 0.02), (3.0, 0.0, 0.0))
)
_TWO = cloth(0.1, count=6, height=0.0) + cloth(0.1, count=5, height=0.01, name="upper")

_STACK = cube(count=4, height=0.0) + cube(count=3, height=0.053, name="upper")


def _box(soft: Table, boxes: Array, corners: tuple[int, ...]) -> Array:
    margin = soft.vertex_radius[corners[0]] + 0.5 * soft.activation
    own = boxes[list(corners)]
    return np.array([own[:, 0].min(axis=0) - margin, own[:, 1].max(axis=0) + margin])


def _distance(x: Array, one: tuple[int, ...], other: tuple[int, ...]) -> float:
    measure = ipctk.point_triangle_distance if len(one) == 1 else ipctk.edge_edge_distance
    return float(np.sqrt(measure(*x[list(one + other)])))


def _may_touch(soft: Table, x: Array, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether primitives may come within the activation distance before they leave their boxes."""
    groups = soft.vertex_group[one[0]], soft.vertex_group[other[0]]
    if soft.group_pair[groups] < 0 or set(one) & set(other):
        return False
    own = groups[0] == groups[1]
    for boxes in [soft.box] + ([soft.own_box] if own else []):
        a, b = _box(soft, boxes, one), _box(soft, boxes, other)
        if np.any(a[0] > b[1]) or np.any(b[0] > a[1]):
            return False
    # A flex moves as a whole, too, which brings none of it nearer to itself.
    mean = x[soft.vertex_group[: len(x)] == groups[0]].mean(axis=0) if own else 0.0
    distance = _distance(x, one, other)
    for side in (one, other):
        at = list(side)
        box = (soft.own_box if own else soft.box)[at]
        to_corner = np.maximum(box[:, 1] - (x[at] - mean), x[at] - mean - box[:, 0])
        distance -= np.linalg.norm(to_corner, axis=1).max() + soft.vertex_radius[side[0]]
    return bool(distance < soft.activation)


@pytest.mark.parametrize("turn", [0.0, 1.0, 1.6])
@pytest.mark.parametrize("body", [_TWO, _STACK], ids=("cloth", "volumes"))
def test_what_may_touch_is_listed_once(body: str, turn: float) -> None:
    engine = engine_of(compile_soft(body + _BOXES))
    assert engine.soft is not None
    soft, rng = engine.soft.table, np.random.default_rng(1)
    # Turned, the axis that boxes are swept along is another one; crumpled, cloth meets itself.
    x = engine.soft.positions
    x[:, [0, 2]] @= np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    x += rng.normal(scale=4e-3, size=x.shape)
    ahead = x + rng.normal(scale=1e-3, size=x.shape)
    soft.now[:] = x
    while code := int(list_stencils(soft, engine.table.shapes, ahead)):
        assert engine.grow(code)
    count = int(soft.count)
    kind, vertex = soft.kind[:count], soft.vertex[:count]
    points = [(int(v),) for v in soft.point]
    faces = [tuple(face) for face in soft.face.tolist()]
    edges = [tuple(edge) for edge in soft.edge.tolist()]
    expected = sorted(
        p + f for p, f in itertools.product(points, faces) if _may_touch(soft, x, p, f)
    )
    assert len(expected) > 30
    assert sorted(map(tuple, vertex[kind == VERTEX_FACE].tolist())) == expected
    pairs = {
        tuple(sorted(pair))
        for pair in itertools.combinations(edges, 2)
        if _may_touch(soft, x, *pair)
    }
    found = [
        tuple(sorted((tuple(v[:2]), tuple(v[2:])))) for v in vertex[kind == EDGE_EDGE].tolist()
    ]
    assert len(pairs) > 30
    assert len(found) == len(pairs)
    assert set(found) == pairs


def test_what_sleeps_is_as_far_as_is_said() -> None:
    """Cloth that falls: distances that were not measured are bounds of those that are."""
    ball = "<geom type='sphere' size='0.03' friction='0.5'/>"
    engine = engine_of(compile_soft(ball + cloth(0.1, count=6, height=0.05)))
    assert engine.soft is not None
    soft, bounds, distances = engine.soft.table, [], []
    for _ in range(20):
        engine.read_inputs()
        while code := int(solve_step(engine.table, 0.01)):
            assert engine.grow(code)
        asleep = np.flatnonzero(soft.asleep[: int(soft.count)])
        bounds.append(soft.bound[asleep].copy())
        distances.append([np.sqrt(exact_square(engine.table, soft, int(i))) for i in asleep])
    bound, distance = np.concatenate(bounds), np.concatenate(distances)
    assert np.all(bound <= distance + 1e-12)
    assert bound.size > 1000

"""Lists of candidates, and boxes that vertices stay in, against all that there is, one by one."""

from __future__ import annotations

import ctypes
import itertools
import math

import engines
import mujoco
import numpy as np
import pytest

from asperity.midas.engine import Engine
from asperity.midas.engine_layout import CANDIDATES_FULL, CUT, STARTED
from asperity.midas.geometry.box_trees import KINDS, leaf_begin, tree_tables
from asperity.midas.geometry.round_heights import half_space, round_height
from asperity.midas.geometry.stencil import RIM_PLANE, VERTEX_PLANE, Stencil
from asperity.midas.lists.candidate_lists import rebuild
from asperity.midas.lists.link_pair_nodes import begin_search, moving_node, still_node
from asperity.midas.lists.link_pair_paths import NEAR
from asperity.midas.lists.link_pair_primitives import moving_leaf, still_leaf
from asperity.midas.lists.tree_search import EDGES
from asperity.midas.lists.vertex_boxes import are_kept, box_vertex, time_in_boxes
from asperity.midas.model.flat_faces import round_side

ipctk = pytest.importorskip("ipctk")

# Arms with nested links on one trunk, and something that flies by, all above a floor that the
# lowest may touch. What is heavy is searched by trees, as are links of one tree that move far.
SCENE = """
<mujoco>
  <option><flag filterparent="disable"/></option>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    <body pos="0 0 .11"><joint type="hinge" axis="0 0 1"/>
      <geom type="box" size=".06 .05 .1"/>
      <body pos="0 0 .02"><joint type="hinge" axis="0 1 0"/>
        <geom type="cylinder" size=".02 .06" pos=".126 0 0" euler="0 80 10"/>
        <body pos=".2 0 0"><joint type="hinge" axis="0 1 1"/>
          <geom type="cylinder" size=".03 .03" pos=".022 0 .01"/>
        </body>
      </body>
      <body pos="0 .1 0"><joint type="ball"/>
        <geom type="cylinder" size=".04 .03" pos=".07 0 .01" euler="20 10 0"/>
      </body>
    </body>
    <body pos=".15 -.06 .06"><freejoint/><geom type="cylinder" size=".04 .02"/></body>
  </worldbody>
</mujoco>
"""


def _engine(share: float, widening: float, longest: float, seed: int, segments: int = 32) -> Engine:
    """An engine with a list along paths from a state to another one."""
    engine = engines.engine_of(SCENE, segments=segments, activation_distance=4e-3)
    table, rng = engine.table, np.random.default_rng(seed)
    start = table.poses.qpos.copy()
    mujoco.mj_integratePos(engine.model, start, 0.2 * rng.normal(size=engine.model.nv), 1.0)
    start[-7:-4] = 0.15, -0.06, 0.06
    end = start.copy()
    mujoco.mj_integratePos(engine.model, end, share * rng.normal(size=engine.model.nv), 1.0)
    _list_between(engine, start, end, widening, longest)
    return engine


def _list_between(
    engine: Engine, start: np.ndarray, end: np.ndarray, widening: float, longest: float
) -> None:
    """Make a list along paths from a state to another one."""
    table = engine.table
    engine.set_state(end, np.zeros(engine.model.nv))
    ahead = table.poses.q.copy()
    engine.set_state(start, np.zeros(engine.model.nv))
    table.poses.q_target[:], table.poses.q_now[:], table.poses.q_trial[:] = (
        ahead,
        table.poses.q,
        table.poses.q,
    )
    table.boxes.widening, table.boxes.longest_move = widening, longest
    while (code := _rebuild(engine, STARTED)) == CANDIDATES_FULL:
        table.boxes.widening, table.boxes.longest_move = widening, longest
        assert engine.grow(code)
    assert code == 0


def _rebuild(engine: Engine, reason: int) -> int:
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(rebuild.address)
    return int(call(engine.table.address, reason))


def _wander(engine: Engine, rng: np.random.Generator, size: float) -> None:
    """Let the trial state be somewhere near the paths: later on them, turned and moved a little."""
    table = engine.table
    links = len(table.poses.q_now) - 1
    path = table.boxes.path_end - table.boxes.path_begin
    noise = size * rng.normal(size=(links, 4, 3)) * np.array([1.0, 3.0, 3.0, 3.0])[:, None]
    table.poses.q_trial[:links] = (
        table.boxes.path_begin[:links] + rng.uniform(0.0, 1.2) * path[:links] + noise
    )


def _positions(engine: Engine, q: np.ndarray) -> np.ndarray:
    table = engine.table
    return np.einsum("vi,vik->vk", table.shapes.vertex_rest, q[table.shapes.vertex_link])


def _shape_of(table, vertex: np.ndarray) -> np.ndarray:
    return np.searchsorted(table.shapes.vertex_start, vertex, side="right") - 1


def _near_faces(engine: Engine, pairs: np.ndarray, x: np.ndarray) -> set[tuple[int, ...]]:
    """Rims, by their vertices, of pairs that meet as half-spaces."""
    table = engine.table
    found = set()
    for pair in pairs:
        number = int(table.pairs.plane[pair])
        plane = half_space(x, table.shapes, number)
        for a, b, c, _ in table.shapes.anchor[round_side(table.shapes, table.pairs, pair)].tolist():
            stencil = Stencil(RIM_PLANE, a, b, c, -1)
            height = round_height(stencil, x, plane, float(table.options.activation), np.zeros(4))
            if height < table.options.activation:
                found.add((a, b, c, number, -3))
    return found


def _near(engine: Engine, x: np.ndarray) -> set[tuple[int, ...]]:
    """Stencils of pairs that may touch which are nearer than the activation distance."""
    table = engine.table
    # What is above a face is round: rims and the face's half-space are stencils of their own.
    flat = (table.pairs.plane >= 0) & (table.pairs.shape[:, 1] >= 0)
    pairs = {(int(a), int(b)) for a, b in table.pairs.shape[~flat]}
    reach = float(table.options.activation)
    found = _near_faces(engine, np.flatnonzero(flat), x)
    for a, b in pairs:
        if b < 0:
            n, offset = table.shapes.plane[-1 - b, :3], table.shapes.plane[-1 - b, 3]
            own = np.arange(table.shapes.vertex_start[a], table.shapes.vertex_start[a + 1])
            found |= {(int(v),) for v in own[x[own] @ n - offset < reach]}
    faces = np.array(table.shapes.face)
    mesh = ipctk.CollisionMesh(x, ipctk.edges(faces), faces)
    shapes = _shape_of(table, np.arange(len(x)))
    candidates = ipctk.Candidates()
    candidates.build(mesh, x, 0.5 * reach)
    sharp = {tuple(sorted(edge)) for edge in table.shapes.edge.tolist()}

    def may_touch(one: int, other: int) -> bool:
        a, b = int(shapes[one]), int(shapes[other])
        return (a, b) in pairs or (b, a) in pairs

    for one in candidates.fv_candidates:
        face = mesh.faces[one.face_id]
        if may_touch(one.vertex_id, face[0]):
            square = ipctk.point_triangle_distance(x[one.vertex_id], *x[face])
            if square < reach**2:
                found.add((int(one.vertex_id), *map(int, face)))
    for one in candidates.ee_candidates:
        ends = sorted(tuple(sorted(mesh.edges[i].tolist())) for i in (one.edge0_id, one.edge1_id))
        if may_touch(ends[0][0], ends[1][0]) and sharp.issuperset(ends):
            square = ipctk.edge_edge_distance(*x[[*ends[0], *ends[1]]])
            if square < reach**2:
                found.add((*ends[0], *ends[1], -1))
    return found


def _listed(engine: Engine) -> set[tuple[int, ...]]:
    """The list's stencils, in the same form."""
    table = engine.table
    found = set()
    for kind, v in zip(
        table.candidates.kind[: table.candidates.count].tolist(),
        table.candidates.vertex[: table.candidates.count].tolist(),
        strict=True,
    ):
        if kind == 0:
            found.add(tuple(v))
        elif kind == 1:
            ends = sorted((tuple(sorted(v[:2])), tuple(sorted(v[2:]))))
            found.add((*ends[0], *ends[1], -1))
        elif kind == 2:
            found.add((v[0],))
        elif kind == 3:
            found.add((*v, -3))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("share", "widening", "longest"),
    [(1e-3, 0.0, math.inf), (0.05, 0.1, math.inf), (0.3, 0.3, 0.02), (0.3, 0.3, math.inf)],
)
def test_no_list_misses_what_may_come_near(share, widening, longest, seed) -> None:
    """Wherever vertices stay in their boxes and links near their paths, all near is listed."""
    engine = _engine(share, widening, longest, seed)
    table, rng = engine.table, np.random.default_rng(seed)
    assert table.relative.any == (share > 1e-2)
    listed = _listed(engine)
    near = 0
    for size in (1e-5, 1e-3, 1e-2):
        _wander(engine, rng, size)
        time = time_in_boxes(table)
        x = _positions(engine, table.poses.q_now + time * (table.poses.q_trial - table.poses.q_now))
        found = _near(engine, x)
        near += len(found)
        # Rims of cylinders are stencils of their own against half-spaces.
        assert {one for one in found if len(one) > 1} <= listed
    assert near > 0


def _pose(q: np.ndarray) -> np.ndarray:
    """Homogeneous coordinates of links: [1, x] = [1, y] Q."""
    out = np.zeros((*q.shape[:-2], 4, 4))
    out[..., 0, 0] = 1.0
    out[..., 1:] = q
    return out


@pytest.mark.parametrize("reason", [CUT, STARTED])
@pytest.mark.parametrize("seed", range(3))
def test_pairs_that_keep_their_paths_keep_their_candidates(seed, reason) -> None:
    """Within a step and at the beginning of the next one, others being listed anew.

    Nothing near is missed thereafter, and all that is listed has a block of the Hessian.
    """
    engine = _engine(0.3, 0.3, math.inf, seed, segments=64)
    table, rng = engine.table, np.random.default_rng(seed)
    near = kept = new = 0
    for _ in range(4):
        # The first arm bends otherwise, the second and third go where they should.
        _wander(engine, rng, 1e-4)
        path = table.boxes.path_end - table.boxes.path_begin
        table.poses.q_trial[2] += 0.3 * rng.normal() * path[2]
        table.poses.q_now[:] += time_in_boxes(table) * (table.poses.q_trial - table.poses.q_now)
        table.boxes.longest_move, table.boxes.widening = 0.02, 0.3
        table.poses.q[:], table.poses.q_target[:] = table.poses.q_now, table.poses.q_trial
        while (code := _rebuild(engine, reason)) == CANDIDATES_FULL:
            assert engine.grow(code)
            code = _rebuild(engine, STARTED)
        assert code == 0
        blocks = np.array(table.pairs.block)[table.candidates.pair[: table.candidates.count]]
        assert np.all(np.array(table.hessian.block_slot)[blocks[blocks >= 0]] >= 0)
        state = np.array(table.relative.state)
        kept += int(np.sum((np.array(table.relative.kept) == 1) & (state != 0)))
        new += int(np.sum((np.array(table.relative.kept) == 0) & (state != 0)))
        listed = _listed(engine)
        # Each once.
        of_two = np.array(table.candidates.kind[: table.candidates.count]) != VERTEX_PLANE
        assert sum(len(one) > 1 for one in listed) == np.sum(of_two)
        for size in (1e-5, 1e-3):
            start, ahead = table.poses.q_now.copy(), table.poses.q_trial.copy()
            _wander(engine, rng, size)
            table.poses.q_trial[:] = (
                start
                + rng.uniform(0.0, 1.0) * (ahead - start)
                + (table.poses.q_trial - ahead) * (size < 1e-4)
            )
            x = _positions(engine, start + time_in_boxes(table) * (table.poses.q_trial - start))
            table.poses.q_trial[:] = ahead
            found = _near(engine, x)
            near += len(found)
            assert {one for one in found if len(one) > 1} <= listed
    assert near > 0
    assert kept > 0
    assert new > 0


# One tree, and nothing else: a roller and two rods above a board that they are all held by.
CARRIER = """
<mujoco><option><flag filterparent="disable"/></option>
<worldbody><body><freejoint/><geom type="box" size=".3 .3 .05"/>
  <body pos="0 0 .102"><joint type="slide" axis="1 0 0"/>
    <geom type="cylinder" size=".05 .1" euler="90 0 0"/></body>
  <body pos="-.2 0 .2"><joint type="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 .1" size=".01"/>
    <body pos="0 .03 .1"><joint type="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.1" size=".01"/></body>
  </body>
</body></worldbody></mujoco>
"""


def test_a_roller_above_a_face_of_its_own_tree_stays_in_boxes_of_the_world():
    """Otherwise it would be a polyhedron there, or not looked after where it goes."""
    engine = engines.engine_of(CARRIER, activation_distance=4e-3)
    table, start = engine.table, engine.table.poses.qpos.copy()
    end = start.copy()
    end[:3] += 0.1
    end[-3:] += 0.05, 0.4, -0.4
    _list_between(engine, start, end, 0.1, math.inf)
    assert table.relative.any == 1
    flat = np.flatnonzero((table.pairs.plane >= 0) & (table.pairs.shape[:, 1] >= 0))
    assert len(flat) == 1
    assert np.all(np.array(table.boxes.shape_boxed)[table.pairs.shape[flat[0]]] == 1)
    found = _near_faces(engine, flat, _positions(engine, table.poses.q_now))
    assert found
    assert found <= _listed(engine)


@pytest.mark.parametrize("seed", range(2))
def test_links_seen_from_each_other_are_listed_for_what_they_meet(seed) -> None:
    """What is listed comes near on the path, in the coordinates of the link it is seen from."""
    engine = _engine(0.3, 0.1, math.inf, seed, segments=64)
    table = engine.table
    count = 0
    for i in range(table.candidates.count):
        block = int(table.pairs.block[table.candidates.pair[i]])
        if block < 0 or table.relative.state[block] != NEAR or table.candidates.kind[i] > 1:
            continue
        base, link = table.relative.link[block]
        v = np.array(table.candidates.vertex[i])
        moves = table.shapes.vertex_link[v] == link
        assert np.all(moves | (table.shapes.vertex_link[v] == base))
        own = table.shapes.vertex_rest[v]
        least = math.inf
        for s in np.linspace(0.0, 1.0, 101):
            pose = table.relative.start[block] + s * table.relative.path[block]
            x = np.where(moves[:, None], own @ pose, own[:, 1:])
            measure = (
                ipctk.point_triangle_distance
                if table.candidates.kind[i] == 0
                else ipctk.edge_edge_distance
            )
            least = min(least, math.sqrt(measure(*x)))
        # The bound is that of the box of a leaf: a few more than have to be are listed.
        arm = np.linalg.norm(own[moves, 1:] - table.relative.pivot[block], axis=1).max()
        width = table.relative.width[block]
        margin = (table.relative.reach[block] + width[0] + width[1] * (arm + 0.05)) / 0.85
        assert least < 1.1 * margin
        count += 1
    assert count > 100


def _beyond_width(engine: Engine, block: int, q: np.ndarray) -> float:
    """How far a vertex of a pair's link is beyond its width about the path [m].

    Of many places on the path the best counts, less what lies between two of them.
    """
    relative, shapes = engine.table.relative, engine.table.shapes
    base, link = relative.link[block]
    own = shapes.vertex_rest[shapes.vertex_link == link]
    arm = np.linalg.norm(own[:, 1:] - relative.pivot[block], axis=1)
    room = relative.width[block, 0] + relative.width[block, 1] * arm
    start, path = relative.start[block], relative.path[block]
    x = own @ q[link]
    off = min(
        np.max(np.linalg.norm((x - own @ _pose(start + s * path) @ q[base])[:, 1:], axis=1) - room)
        for s in np.linspace(0.0, 1.0, 401)
    )
    return float(off - 0.0025 * np.linalg.norm(own @ _pose(path), axis=1).max())


@pytest.mark.parametrize("seed", range(2))
def test_a_link_is_where_its_path_and_its_width_say(seed) -> None:
    """Bounds of how far links are from their paths, against all vertices along the way."""
    engine = _engine(0.3, 0.3, math.inf, seed)
    table, rng = engine.table, np.random.default_rng(seed)
    pairs = np.flatnonzero(np.array(table.relative.state) != 0)
    assert len(pairs) > 0
    for size in (1e-4, 1e-3, 3e-3):
        _wander(engine, rng, size)
        time = time_in_boxes(table)
        for tau in np.linspace(0.0, time, 5):
            q = _pose(table.poses.q_now + tau * (table.poses.q_trial - table.poses.q_now))
            assert all(_beyond_width(engine, block, q) <= 0.0 for block in pairs)


@pytest.mark.parametrize("seed", range(2))
def test_what_a_pair_has_left_of_its_widths(seed) -> None:
    """It is noted anew where a pair is measured, and used up by the ways that its links go."""
    engine = _engine(0.3, 0.3, math.inf, seed)
    table, rng = engine.table, np.random.default_rng(seed)
    relative = table.relative
    pairs = np.flatnonzero(np.array(relative.state) != 0)
    most = 0.0
    for size in (1e-3, 3e-3, 3e-3, 3e-3):
        _wander(engine, rng, size)
        # As far as pairs stay within their widths, which some then have used up in part.
        table.poses.q_now[:] += time_in_boxes(table) * (table.poses.q_trial - table.poses.q_now)
        relative.spare[:] = -1.0  # so that all are measured
        time_in_boxes(table)
        for block in pairs:
            base, link = relative.link[block]
            start, path, c = relative.start[block], relative.path[block], relative.pivot[block]
            off = np.inf
            for s in np.linspace(0.0, 1.0, 401):
                e = table.poses.q_now[link] - _pose(start + s * path) @ table.poses.q_now[base]
                off = min(off, float(np.linalg.norm(e[0, 1:] + c @ e[1:, 1:])))
            slack = 0.0025 * np.linalg.norm(path[0] + c @ path[1:])
            lever = relative.lever[block]
            gone = relative.link_way[link, 0] + lever[0] * relative.link_way[link, 1]
            gone += relative.link_way[base, 0] + lever[1] * relative.link_way[base, 1]
            width = relative.width[block, 0]
            assert relative.spare[block, 0] - gone <= width - off + slack
            most = max(most, (off - slack) / width)
    # Links are off their paths by enough to matter.
    assert most > 0.1


def _along(y: np.ndarray, poses: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Least and largest of points in some poses along axes, shape (6, 2)."""
    x = (poses[:, :1] + np.einsum("nj,tjk->tnk", y, poses[:, 1:])).reshape(-1, 3) @ axes.T
    return np.stack([x.min(axis=0), x.max(axis=0)], axis=1)


@pytest.mark.parametrize("seed", range(2))
def test_nodes_and_primitives_are_seen_where_they_are(seed) -> None:
    """Corners of boxes and of edges, along the axes of both links, at both ends of the path."""
    table = _engine(0.3, 0.1, math.inf, seed, segments=64).table
    relative, work, trees = table.relative, table.work, table.box_trees
    still = np.concatenate([np.zeros((1, 1, 3)), np.eye(3)[None]], axis=1)
    listed = {int(block) for block in table.pairs.block if block >= 0}
    blocks = [block for block in listed if relative.state[block] == NEAR]
    assert blocks
    for block, moves in itertools.product(blocks, (False, True)):
        axes = np.concatenate([np.eye(3), relative.start[block, 1:]])
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        path = np.stack([relative.start[block], relative.start[block] + relative.path[block]])
        poses = path if moves else still
        begin_search(relative, work, block)
        own = table.shapes.vertex_link == relative.link[block, int(moves)]
        tree = KINDS * int(_shape_of(table, np.flatnonzero(own))[0]) + EDGES
        leaves = 1 << int(trees.depth[tree])
        margin = 0.0
        for node in [*range(1, 2 * leaves), 1]:
            box = np.array(trees.box[trees.node[tree] + node])
            corners = box[np.indices((2, 2, 2)).reshape(3, -1).T, np.arange(3)]
            where = _along(corners, poses, axes)
            if moves:
                slot = moving_node(relative, work, block, node, box)
                arm = np.linalg.norm(corners - relative.pivot[block], axis=1).max()
                wide = relative.reach[block] + relative.width[block] @ [1.0, arm]
                margin = float(work.moving_margin[slot])
                assert margin == pytest.approx(
                    wide / relative.link_stretch[relative.link[block, 0]]
                )
                # Corners that move differently are taken for one where they are and one that moves.
                assert np.all(work.moving_seen[slot, :, 0] <= where[:, 0] - margin + 1e-12)
                assert np.all(work.moving_seen[slot, :, 1] >= where[:, 1] + margin - 1e-12)
            else:
                slot = still_node(work, node, box)
                assert np.allclose(work.still_seen[slot], where, rtol=0.0, atol=1e-12)
            if node < leaves:
                continue
            if moves:
                items = work.moving_item[moving_leaf(table, block, tree, node, margin)]
            else:
                items = work.still_item[still_leaf(table, tree, node)]
            edges = trees.item[leaf_begin(trees, tree, node) : leaf_begin(trees, tree, node + 1)]
            for edge, seen in zip(edges, items, strict=False):
                y = np.array(table.shapes.vertex_rest)[table.shapes.edge[edge], 1:]
                where = _along(y, poses, axes) + margin * np.array([-1.0, 1.0])
                assert np.allclose(seen, where, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_boxes_hold_as_long_as_every_vertex_is_in_its_own(seed) -> None:
    """What trees of boxes say of all vertices is what these say one by one."""
    engine = _engine(1e-3, 0.1, math.inf, seed)
    table, rng = engine.table, np.random.default_rng(seed)
    moving = int(table.shapes.moving_vertices)
    for vertex in range(moving):
        box_vertex(table.shapes, table.boxes, vertex)
    low, high = table.boxes.low[:moving], table.boxes.high[:moving]
    times = []
    for size in np.geomspace(1e-5, 1e-2, 12):
        _wander(engine, rng, size)
        x = _positions(engine, table.poses.q_now)[:moving]
        p = _positions(engine, table.poses.q_trial)[:moving] - x
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(p > 0.0, high - x, low - x) / p
        expected = float(np.nanmin(np.where(p == 0.0, 1.0, room).clip(max=1.0)))
        times.append(time_in_boxes(table))
        assert times[-1] == pytest.approx(expected, rel=1e-9)
        half = 0.5 * table.boxes.least_slack
        inside = np.all((x + p >= low + half) & (x + p <= high - half))
        table.boxes.listed = 1
        assert are_kept(table, table.poses.q_now, table.poses.q_trial) == inside
    assert min(times) < 1.0
    assert max(times) == 1.0


def _leaves(ends: np.ndarray) -> np.ndarray:
    """Boxes of the leaves of a tree over edges with given ends, shape (leaves, 2, 3)."""
    vertices = ends.reshape(-1, 3)
    tables = tree_tables(
        {
            "vertex_rest": np.column_stack([np.ones(len(vertices)), vertices]),
            "edge": np.arange(len(vertices)).reshape(-1, 2),
            "face": np.zeros((0, 3), np.int64),
            "vertex_start": np.array([0, len(vertices)]),
            "edge_start": np.array([0, len(ends)]),
            "face_start": np.array([0, 0]),
        }
    )
    depth, node = tables["depth"][1], tables["node"][1]
    items = tables["item"][tables["first"][1] : tables["first"][2]]
    assert sorted(items) == list(range(len(ends)))
    boxes = np.asarray(tables["box"][node + (1 << depth) : node + (2 << depth)])
    begins = [*((np.arange(1 << depth) * len(ends)) >> depth), len(ends)]
    for box, begin, end in zip(boxes, begins, begins[1:], strict=False):
        corners = ends[items[begin:end]].reshape(-1, 3)
        np.testing.assert_array_equal(box, [corners.min(axis=0), corners.max(axis=0)])
    return boxes


def test_long_edges_do_not_widen_the_boxes_of_short_ones() -> None:
    """One of sixteen edges is fifty times as long: most leaves are as small as without those."""
    rng = np.random.default_rng(0)
    begin = rng.uniform(0.0, 1.0, size=(4096, 3))
    is_long = np.arange(4096) % 16 == 0
    length = np.where(is_long, 0.5, 0.01)
    ends = np.stack([begin, begin + length[:, None] * rng.normal(size=(4096, 3))], axis=1)

    def median_size(boxes: np.ndarray) -> float:
        return float(np.median(np.linalg.norm(boxes[:, 1] - boxes[:, 0], axis=1)))

    assert median_size(_leaves(ends)) < 1.5 * median_size(_leaves(ends[~is_long]))


def test_what_is_nowhere_is_in_no_box() -> None:
    engine = _engine(1e-3, 0.1, math.inf, 0)
    table = engine.table
    table.boxes.listed = 1
    assert are_kept(table, table.poses.q_now, table.poses.q_now)
    table.poses.q_trial[1, 2, 0] = math.nan
    assert not are_kept(table, table.poses.q_now, table.poses.q_trial)

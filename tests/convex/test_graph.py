"""Order of elimination and structure of the factors, against definitions on whole matrices."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from convex_problems import call

import asperity as asp
from asperity.convex.couplings import block_of
from asperity.convex.graph import build_graph


def _scene(together: int, apart: int) -> mujoco.MjModel:
    """Balls that lie together at random places of a layer, and others in pairs."""
    random = np.random.default_rng(7)
    spec = mujoco.MjSpec()
    side = 0.1 * together**0.5
    places = [(*random.uniform(0.0, side, 2), 0.0) for _ in range(together)]
    for number in range(apart):
        places.append((5.0 + 0.5 * (number // 2), 0.08 * (number % 2), 0.0))
    for place in random.permutation(np.array(places)):
        body = spec.worldbody.add_body(pos=place.tolist())
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.05, 0.0, 0.0])
    return spec.compile()


def _minimum_degree(coupled: np.ndarray, trees: list[int]) -> tuple[list[int], np.ndarray]:
    """The order in which trees of equal sizes are eliminated, and the couplings of the factor."""
    coupled = coupled.copy()
    left = sorted(trees)
    order = []
    while left:
        degrees = [int(coupled[tree, left].sum()) for tree in left]
        best = left[int(np.argmin(degrees))]
        order.append(best)
        left.remove(best)
        near = [tree for tree in left if coupled[best, tree]]
        coupled[np.ix_(near, near)] = True
        coupled[near, near] = False
    return order, coupled


@pytest.mark.parametrize(("together", "apart"), [(60, 8), (12, 140), (3, 0), (77, 0)])
def test_trees_are_eliminated_by_minimum_degree(together: int, apart: int) -> None:
    simulator = asp.Simulator(_scene(together, apart), integrator=asp.Icf(time_step=1e-3))
    state, problem = simulator.session.world.current.table, simulator.session.world.problem
    problem.graph.components = -1
    assert call(build_graph, problem, state.contacts, state.rows) == 1
    count = together + apart
    links = state.contacts.link[: state.contacts.count]
    coupled = np.zeros((count, count), bool)
    for a, b in state.contacts.link_tree[links]:
        coupled[a, b] = coupled[b, a] = a != b
    assert coupled.sum() > 0
    for island in range(problem.graph.islands):
        first, last = problem.graph.island_start[island : island + 2]
        trees = problem.graph.island_tree[first:last].tolist()
        order, factor = _minimum_degree(coupled, trees)
        assert trees == order
        for place, tree in enumerate(order):
            start = problem.graph.column_start[tree]
            found = problem.graph.entry_tree[
                start : start + problem.graph.column_size[tree]
            ].tolist()
            assert found == [other for other in order[place + 1 :] if factor[tree, other]]
            for entry, other in enumerate(found, start):
                block = problem.graph.entry_block[entry]
                assert (
                    block_of(problem.graph, tree, other)
                    == block_of(problem.graph, other, tree)
                    == block
                )

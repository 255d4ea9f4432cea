"""The factor of the reduced Hessian: its entries, its numbers, and the order of elimination."""

from __future__ import annotations

import numpy as np
import pytest
from engines import assemble, engine_of, newton_direction
from reduced_hessian import full_hessian, upper_triangle, variables_of

import asperity as asp
from asperity.midas.time.step_start import prepare_step

_FINGER = (
    '<body name="{name}1" pos=".05 {y} 0"><joint axis="0 1 0"/><geom size=".01" mass=".1"/>'
    '<body name="{name}2" pos=".04 0 0"><joint type="slide" axis="1 0 0"/><geom size=".01" mass=".1"/>'
    '<body name="{name}3" pos=".03 0 0"><joint axis="0 1 0"/><geom size=".01" mass=".05"/>'
    "</body></body></body>"
)
_FINGERS = "".join(_FINGER.format(name=name, y=y) for name, y in (("a", 0.03), ("b", -0.03)))
HAND = (
    '<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size=".03" mass="1"/>'
    f'<body name="palm" pos=".2 0 0"><joint type="ball"/><geom size=".02" mass=".4"/>{_FINGERS}'
    "</body></body></worldbody>{}</mujoco>"
)
TIED = HAND.format('<equality><connect body1="a3" body2="b2" anchor=".02 0 .01"/></equality>')


def _ready(xml: str):
    engine = engine_of(xml)
    assert prepare_step(engine.table, 0.01, False) == 0
    assemble(engine)
    return engine


def _ancestors(parent, link: int) -> set[int]:
    found = set()
    while parent[link] < len(parent):
        link = int(parent[link])
        found.add(link)
    return found


def test_fingers_have_no_entries_with_each_other() -> None:
    table = _ready(HAND.format("")).table
    factor, parent = table.factor, table.links.parent
    above = [_ancestors(parent, link) for link in range(len(parent))]
    # Nothing is filled in: of two links one carries the other.
    assert factor.column_size.sum() == sum(len(one) for one in above)
    for link, size in enumerate(factor.column_size):
        for later in factor.entry_tree[factor.column_start[link] :][:size]:
            assert later in above[link] or link in above[later]


def test_links_that_are_tied_have_entries_with_all_that_carry_them() -> None:
    table = _ready(TIED).table
    factor = table.factor
    links = len(table.links.parent)
    # Three links of one finger with those two of the other that move the tie.
    free = _ready(HAND.format("")).table.factor.column_size.sum()
    assert links == 8
    assert factor.column_size.sum() == free + 6


@pytest.mark.parametrize("xml", [HAND.format(""), TIED])
def test_factor_is_that_of_the_full_matrix(xml: str) -> None:
    engine = _ready(xml)
    factor = engine.table.factor
    matrix = full_hessian(factor)
    order = variables_of(factor, factor.order)
    newton_direction(engine)
    found = upper_triangle(factor)
    np.fill_diagonal(found, 1.0 / np.diag(found))
    expected = np.linalg.cholesky(matrix[np.ix_(order, order)]).T
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


CLOTH = (
    '<mujoco><worldbody><geom type="plane" size="1 1 1"/><flexcomp name="cloth" type="grid" dim="2"'
    ' count="9 9 1" spacing=".02 .02 .02" pos="0 0 .1" radius=".002" mass=".1">'
    '<elasticity young="1e5" poisson=".3" thickness="1e-3" elastic2d="both"/></flexcomp>'
    "</worldbody></mujoco>"
)


def test_subtrees_of_elimination_are_side_by_side() -> None:
    sim = asp.Simulator(CLOTH, integrator=asp.Midas(time_step=0.01))
    sim.step()
    factor = sim.session.method.engine.table.factor
    size = np.ones(factor.ntree, np.int64)
    for place, link in enumerate(factor.order):
        begin, count = factor.column_start[link], factor.column_size[link]
        later = factor.position[factor.entry_tree[begin : begin + count]]
        assert np.all(np.diff(later) > 0)
        # What is eliminated right before a link ends the last of the subtrees that make up its own.
        below = place - 1
        while size[place] > 1 and below > place - size[place]:
            below -= size[below]
        assert size[place] == 1 or below == place - size[place]
        if count > 0:
            assert later[0] > place
            size[later[0]] += size[place]
    assert factor.panels.count < 0.5 * factor.ntree

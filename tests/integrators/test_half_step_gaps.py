"""Contacts of a half step's end are given the gaps that its solution has aimed at."""

from __future__ import annotations

import numpy as np

from asperity.compiled import Table
from asperity.contact.contact_set import CONTACT_SET
from asperity.integrators.methods.half_step_gaps import keep_expected_gaps

INTERVAL = 0.01
ACCURACY = 1e-3


def _contacts(geoms: list[tuple[int, int]], points: list[float]) -> Table:
    """Contacts at these places along x, each of which carries a force."""
    table = Table(CONTACT_SET, contacts=len(geoms) + 2, links=1, chain=1)
    table.count = len(geoms)
    table.geom[: len(geoms)] = geoms
    table.point[: len(geoms), 0] = points
    table.impulse[:, 2] = 1.0
    return table


def _kept(before: Table, after: Table) -> np.ndarray:
    keep_expected_gaps(before, after, INTERVAL, ACCURACY)
    return after.signed_distance[: after.count]


def test_gaps_are_those_of_the_solution_whatever_the_order() -> None:
    before = _contacts([(0, 1), (0, 1), (0, 2), (3, 4)], [0.0, 1.0, 2.0, 3.0])
    before.signed_distance[:4] = [-1e-5, -2e-5, -3e-5, -4e-5]
    before.velocity[:4, 2] = [3e-3, 1e-3, -2e-3, 7e-3]
    expected = before.signed_distance[:4] + INTERVAL * before.velocity[:4, 2]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 1, 3]):
        after = _contacts(
            [tuple(before.geom[k]) for k in order], [float(before.point[k, 0]) for k in order]
        )
        after.signed_distance[:4] = expected[order] - 1e-4
        np.testing.assert_allclose(_kept(before, after), expected[order], rtol=1e-12)
        np.testing.assert_allclose(after.distance_change[:4], 1e-4, rtol=1e-9)


def test_other_contacts_keep_the_gaps_of_their_geoms() -> None:
    before = _contacts([(0, 1), (0, 2), (0, 3), (0, 3)], [0.0, 1.0, 2.0, 2.2])
    before.impulse[1, 2] = 0.0
    # New, without a force before, farther off than an error, and between two.
    after = _contacts([(5, 6), (0, 2), (0, 1), (0, 3)], [0.0, 1.0, 0.0, 2.1])
    after.signed_distance[:4] = gaps = [1e-4, 1e-4, 0.6 * ACCURACY, 1e-4]
    np.testing.assert_array_equal(_kept(before, after), gaps)
    assert not np.any(after.distance_change[:4])


def test_a_contact_that_is_new_beside_one_that_stays_keeps_its_gap() -> None:
    """As the second corner of a box that rocks: it would else rock for ever."""
    before = _contacts([(0, 1), (0, 2)], [0.0, 5.0])
    before.signed_distance[:2] = -1e-5
    for points in ([0.01, 0.3], [0.3, 0.01]):
        after = _contacts([(0, 1), (0, 1), (0, 2)], [*points, 5.0])
        after.signed_distance[:3] = -2e-5
        expected = [-1e-5 if x < 0.1 else -2e-5 for x in points]
        np.testing.assert_array_equal(_kept(before, after), [*expected, -1e-5])

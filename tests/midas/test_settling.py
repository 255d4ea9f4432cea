"""Forty bodies of convex parts, as V-HACD makes them, come to rest in a bin."""

from __future__ import annotations

import pytest

import asperity as asp
from studies.benchmarks.settling import bin_model, settle, write_shapes


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
def test_forty_bodies_in_a_bin_come_to_rest(tmp_path):
    path = tmp_path / "bin.xml"
    path.write_text(bin_model(write_shapes(tmp_path)))
    sim = asp.Simulator(path, integrator=asp.Midas())
    # Every part is a geom of its own, beside the floor and four walls.
    assert sim.model.ngeom == 5 + 10 * (2 + 3 + 3 + 2)
    moments = list(settle(sim, 2.5))
    assert not any(now.intersects for now in moments)
    first, last = moments[0], moments[-1]
    assert last.energy < 1e-3 * first.energy
    # Friction that creeps at up to its stiction tolerance, 1 mm/s, lets them go on sinking.
    assert last.speeds.max() < 0.02
    assert last.speeds.mean() < 1e-3

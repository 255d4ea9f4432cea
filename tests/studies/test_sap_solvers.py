"""Solvers side by side on the steps of simulations, and the preparation of their problems."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.plant.trees import velocity_from_solver
from studies.experiments.paper import paper_sap
from studies.experiments.reference import (
    errors_of,
    prepare_problem,
    read_problem,
    solve_geodesic,
    solve_newton,
)
from studies.experiments.sap_solvers import available_solvers, compare_solvers

STEP = 0.01


def pile(bodies: int = 6, velocity: str = "0 0 -1") -> str:
    """Balls and a few cubes that fall onto the ground and onto one another."""
    rng = np.random.default_rng(2)
    lines = []
    for i in range(bodies):
        x, y = 0.03 * rng.standard_normal(2)
        shape = "box" if i % 3 == 0 else "sphere"
        lines.append(
            f'<body pos="{x} {y} {0.06 + 0.1 * i}"><freejoint/>'
            f'<geom type="{shape}" size="0.05 0.05 0.05" density="1000"/></body>'
        )
    return (
        '<mujoco><option timestep="0.01" cone="elliptic"/>'
        '<default><geom friction="0.7 0 0"/></default><worldbody>'
        f'<geom type="plane" size="1 1 1"/>{"".join(lines)}</worldbody></mujoco>'
    )


SAP = paper_sap(STEP, tolerance=1e-8)


def test_preparing_a_step_does_not_take_it() -> None:
    one = asp.Simulator(pile(), integrator=SAP)
    other = asp.Simulator(pile(), integrator=SAP)
    for _ in range(60):
        before = (one.data.qpos.copy(), one.data.qvel.copy(), one.time, one.stats.steps)
        tables = prepare_problem(one.session.world, STEP)
        problem = read_problem(tables)
        solution = solve_newton(problem, tables)
        solve_geodesic(problem, tables)
        np.testing.assert_array_equal(one.data.qpos, before[0])
        np.testing.assert_array_equal(one.data.qvel, before[1])
        assert (one.time, one.stats.steps) == before[2:]
        predicted = np.zeros(one.model.nv)
        plant, current = one.session.world.plant.table, one.session.world.current.table
        velocity = np.concatenate([solution.velocity, np.zeros(6 * (one.model.nbody + 1))])
        velocity_from_solver(plant, current.cdof, velocity, predicted)
        one.step()
        other.step()
        np.testing.assert_allclose(one.data.qvel, predicted, atol=1e-13)
        np.testing.assert_array_equal(one.data.qvel, other.data.qvel)
        np.testing.assert_array_equal(one.data.qpos, other.data.qpos)
    assert one.contacts.force.shape == other.contacts.force.shape
    np.testing.assert_array_equal(one.contacts.force, other.contacts.force)
    assert len(one.contacts.force) > 6


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf])
def test_step_size_of_a_preparation(step: float) -> None:
    simulator = asp.Simulator(pile(1), integrator=SAP)
    with pytest.raises(ValueError, match="step"):
        prepare_problem(simulator.session.world, step)


def test_only_the_problem_of_sap_is_read() -> None:
    simulator = asp.Simulator(pile(1), integrator=asp.Icf(time_step=STEP))
    with pytest.raises(ValueError, match=r"Sap\(\)"):
        read_problem(prepare_problem(simulator.session.world, STEP))


@pytest.mark.parametrize("scheme", ["symplectic-euler", "midpoint", "implicit-euler"])
def test_equalities_limits_and_springs(scheme: str) -> None:
    # A damped, sprung arm with a coupled and a limited joint leans on a sliding block.
    model = """
    <mujoco><option timestep="0.01"/><default><geom friction="0.5 0 0" density="1000"/></default>
    <worldbody><geom type="plane" size="1 1 1"/>
    <body pos="0 0 0.3"><joint name="a" axis="0 1 0" damping="0.1" stiffness="1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/>
      <body pos="0.2 0 0"><joint name="b" axis="0 1 0" limited="true" range="-10 10"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/></body></body>
    <body pos="0.32 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05"/></body>
    <body pos="0 0.5 0.3"><joint name="c" axis="0 1 0"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0" contype="0" conaffinity="0"/></body>
    </worldbody><equality><joint joint1="c" joint2="a"/></equality></mujoco>
    """
    sap = paper_sap(STEP, theta_scheme=scheme, tolerance=1e-10)
    simulator = asp.Simulator(model, integrator=sap)
    limits = 0
    for _ in range(80):
        tables = prepare_problem(simulator.session.world, STEP)
        problem = read_problem(tables)
        expected = solve_newton(problem, tables)
        found = solve_geodesic(problem, tables, complementarity=1e-13)
        assert found.status == expected.status == asp.Status.SUCCESS
        assert errors_of(problem, found).momentum <= 1e-11
        assert errors_of(problem, found, "system").momentum <= 1e-11
        difference = found.velocity - expected.velocity
        size = 1e-3 + np.sqrt(expected.velocity @ (problem.matrix @ expected.velocity))
        assert np.sqrt(difference @ (problem.matrix @ difference)) <= 1e-5 * size
        limits += int(np.count_nonzero(expected.row_impulse[problem.row_one_sided] > 0.0))
        assert simulator.step().success
    assert limits > 0
    assert simulator.data.ncon > 0


def test_solvers_on_a_falling_pile() -> None:
    solvers = ("SAP", "geodesic", *(["Clarabel"] if "Clarabel" in available_solvers() else []))
    shares: list[float] = []
    found = compare_solvers(
        pile(),
        SAP,
        0.8,
        solvers,
        every=2,
        options={"geodesic": {"complementarity": 1e-11}, "Clarabel": {"tolerance": 1e-10}},
        progress=shares.append,
    )
    steps = 40
    assert found["time"].shape == found["contacts"].shape == (steps,)
    np.testing.assert_allclose(found["time"], 2 * STEP * np.arange(steps), atol=1e-12)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    for name in ("iterations", "wall_time", "cpu_time", "momentum_error", "distance"):
        assert found[name].shape == (steps, len(solvers))
        assert np.all(found[name] >= 0.0)
    touching = found["contacts"] > 0
    assert np.count_nonzero(touching) > 20
    assert np.max(found["contacts"]) > 6
    assert np.all(found["converged"][:, :2] == 1.0)
    assert np.all(found["distance"][:, 0] == 0.0)
    assert np.all(found["distance"][:, 1] <= 1e-4)
    assert np.all(found["momentum_error"][:, 0] <= 1e-8)
    assert np.all(found["momentum_error"][:, 1] <= 1e-11)
    assert np.all(found["complementarity_error"][:, 0] <= 1e-15)
    assert np.all(found["iterations"][~touching] <= [0, 0, 1000][: len(solvers)])
    if len(solvers) == 3:
        assert np.all(found["distance"][:, 2] <= 1e-3)
    # Followed by SAP: the same as without any comparison.
    simulator = asp.Simulator(pile(), integrator=SAP)
    for _ in range(2 * (steps - 1)):
        assert simulator.step().success
    assert simulator.time == found["time"][-1]
    assert simulator.data.ncon == found["contacts"][-1]


def test_gurobi_is_left_out_where_its_licence_ends() -> None:
    pytest.importorskip("gurobipy")
    found = compare_solvers(pile(12), SAP, 0.4, ("SAP", "Gurobi"), every=8)
    errors = found["momentum_error"]
    assert np.all(np.isfinite(errors[:, 0]))
    known = np.isfinite(errors[:, 1])
    assert np.any(known)
    assert np.all(np.isnan(found["iterations"][~known, 1]))
    assert np.all(found["distance"][known, 1] <= 0.05)


def test_figures_of_the_paper(tmp_path, monkeypatch) -> None:
    pytest.importorskip("clarabel")
    from studies.experiments import registry
    from studies.experiments import sap_solver_figures as figures

    monkeypatch.setattr(figures, "DURATION", 0.3)
    monkeypatch.setattr(figures, "BODIES_PER_COLUMN", 2)
    monkeypatch.setattr(figures, "_SIZES", (1, 2))
    monkeypatch.setattr(registry, "_SHARED", {})
    names = []
    for experiment in figures.EXPERIMENTS:
        shares: list[float] = []
        outcome = experiment.run(tmp_path, progress=shares.append)
        names.append(experiment.name)
        assert shares[-1] == 1.0
        assert (tmp_path / f"{experiment.name}.csv").exists()
        for panel in outcome.panels:
            labels = " ".join(curve.label for curve in panel.curves)
            assert "SAP" in labels
            assert "geodesic" in labels
            for curve in panel.curves:
                assert not np.any(np.isinf(curve.y))
        assert all("nan" not in finding.ours for finding in outcome.findings)
    assert names == ["sap-figure-9", "sap-figure-12", "sap-figure-13"]
    # The errors of figure 13: momentum below SAP's tolerance, complementarity to round-off.
    momentum, complementarity = outcome.panels
    assert np.all(momentum.curves[0].y < figures.TOLERANCE)
    assert np.all(complementarity.curves[0].y < 1e-14)


def test_figure_12_needs_another_solver(tmp_path, monkeypatch) -> None:
    from studies.experiments import sap_solver_figures as figures

    monkeypatch.setattr(figures, "available_solvers", lambda: ("SAP", "geodesic"))
    with pytest.raises(asp.MissingExtra, match="reference"):
        figures.EXPERIMENTS[1].run(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solvers": ("SAP", "Simplex")}, "Simplex"),
        ({"duration": 0.0}, "duration"),
        ({"every": 0}, "every"),
    ],
)
def test_bad_comparisons(change: dict, message: str) -> None:
    options = {"duration": 0.1, "solvers": ("SAP",), "every": 1} | change
    with pytest.raises(ValueError, match=message):
        compare_solvers(mujoco.MjModel.from_xml_string(pile(1)), SAP, **options)


def test_efforts_of_external_systems_are_in_the_problem() -> None:
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><geom type="plane" size="1 1 1"/>'
        '<body pos="0 0 .5"><joint name="a" axis="0 1 0"/><joint name="b" type="slide"/>'
        '<geom size=".02" pos=".3 0 0"/></body>'
        '<body pos=".3 0 .041"><freejoint/><geom size=".02"/></body></worldbody></mujoco>'
    )
    control = asp.systems.PdController(("a", "b"), kp=50.0, kd=2.0, target=(0.5, -0.2))
    simulator = asp.Simulator(model, integrator=paper_sap(STEP, tolerance=1e-10), systems=[control])
    touched = 0
    for _ in range(80):
        tables = prepare_problem(simulator.session.world, STEP)
        problem = read_problem(tables)
        solution = solve_newton(problem, tables)
        geodesic = solve_geodesic(problem, tables, complementarity=1e-12)
        touched += problem.ncontact > 0
        assert problem.nrow == 2
        assert not np.any(problem.row_one_sided)
        assert errors_of(problem, solution).momentum < 1e-9
        np.testing.assert_allclose(geodesic.velocity, solution.velocity, atol=1e-5)
        predicted = np.zeros(model.nv)
        plant, current = simulator.session.world.plant.table, simulator.session.world.current.table
        velocity = np.concatenate([solution.velocity, np.zeros(6 * (model.nbody + 1))])
        velocity_from_solver(plant, current.cdof, velocity, predicted)
        # The solution, before what turns far in a step gets its energy.
        before = simulator.data.qvel.copy()
        simulator.step()
        solved = before + STEP * simulator.data.qacc
        np.testing.assert_allclose(solved, predicted, atol=1e-10)
    assert touched > 10


def test_newton_with_another_tolerance() -> None:
    simulator = asp.Simulator(pile(), integrator=SAP)
    simulator.advance_to(0.3)
    tables = prepare_problem(simulator.session.world, STEP)
    problem = read_problem(tables)
    loose = solve_newton(problem, tables, tolerance=0.1)
    tight = solve_newton(problem, tables)
    assert loose.iterations < tight.iterations
    assert errors_of(problem, tight).momentum < 1e-8 < errors_of(problem, loose).momentum
    assert tables.problem.options.tolerance == SAP.tolerance
    for tolerance in (0.0, np.nan, -1.0):
        with pytest.raises(ValueError, match="tolerance"):
            solve_newton(problem, tables, tolerance=tolerance)

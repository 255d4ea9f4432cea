"""Steps of Midas on several threads: the same bits for any number of them."""

from __future__ import annotations

import copy
import pickle

import mujoco
import numpy as np
import pytest
from same_bits import state_bits, work_counts

import asperity as asp
from asperity.errors import ArgumentError, Status
from asperity.integrators.world import World
from asperity.midas.energy.contact_schedule import SCHEDULE_SIZE, meeting_fields
from asperity.midas.engine_layout import STATE_NEEDED
from asperity.midas.midas_method import MidasMethod
from studies.benchmarks.settling import bin_model, write_shapes

NUMBERS = (1, 2, 3)
STEP = 0.01


def _columns() -> str:
    """Columns of boxes with a ball, a cylinder and an ellipsoid on top, some of which lean."""
    rng = np.random.default_rng(0)
    bodies = ""
    tops = ('type="sphere" size=".04"', 'type="cylinder" size=".04 .03"')
    for column in range(16):
        place = 0.14 * np.array(divmod(column, 4)) + rng.uniform(-0.005, 0.005, 2)
        for level in range(3):
            shape = 'type="box" size=".05 .05 .03"' if level < 2 else tops[column % 2]
            x, y = place + 0.012 * level
            bodies += (
                f'<body pos="{x} {y} {0.035 + 0.075 * level}"><freejoint/><geom {shape}/></body>'
            )
    bodies += (
        '<body pos="-.3 0 .04"><freejoint/><geom type="cylinder" size=".04 .03"/></body>'
        '<body pos="-.3 .2 .06" euler="20 0 0"><freejoint/>'
        '<geom type="ellipsoid" size=".05 .04 .03"/></body>'
    )
    floor = '<geom type="plane" size="2 2 1"/>'
    return f"<mujoco><worldbody>{floor}{bodies}</worldbody></mujoco>"


def _robots() -> str:
    """Arms with limits, motors, dry friction and fingers that mirror each other, beside boxes."""
    bodies, actuators, equalities = "", "", ""
    for number in range(4):
        finger = ""
        for side in (-1, 1):
            finger += (
                f'<body pos=".2 {0.03 * side} 0"><joint name="f{number}{side}" axis="0 0 {side}"'
                ' range="-.5 .3" frictionloss=".01" damping=".01"/>'
                '<geom type="capsule" fromto=".01 0 0 .1 0 0" size=".008"/></body>'
            )
        bodies += (
            f'<body pos="{0.5 * number} 0 .3"><joint name="a{number}" axis="0 1 0" range="-1 .6"/>'
            '<geom type="capsule" fromto=".03 0 0 .2 0 0" size=".02"/>'
            f'<body pos=".24 0 0"><joint name="b{number}" axis="0 1 0" range="-.6 1"/>'
            f'<geom type="capsule" fromto="0 0 0 .16 0 0" size=".02"/>{finger}</body></body>'
            f'<body pos="{0.5 * number + 0.3} .01 .05"><freejoint/>'
            '<geom type="box" size=".05 .05 .05"/></body>'
            f'<body pos="{0.5 * number + 0.3} -.01 .16"><freejoint/>'
            '<geom type="box" size=".04 .05 .04"/></body>'
        )
        actuators += f'<motor joint="a{number}"/><position joint="b{number}" kp="20" kv="1"/>'
        equalities += f'<joint joint1="f{number}-1" joint2="f{number}1"/>'
    return (
        '<mujoco><compiler autolimits="true"/><worldbody><geom type="plane" size="2 2 1"/>'
        f"{bodies}</worldbody><actuator>{actuators}</actuator>"
        f"<equality>{equalities}</equality></mujoco>"
    )


@pytest.fixture(scope="module")
def meshes(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("meshes")
    path = folder / "bin.xml"
    path.write_text(bin_model(write_shapes(folder), bodies=12))
    return str(path)


@pytest.fixture(params=["columns", "robots", "meshes"])
def model(request, meshes) -> mujoco.MjModel:
    if request.param == "meshes":
        return asp.load_model(meshes)[0]
    return mujoco.MjModel.from_xml_string({"columns": _columns, "robots": _robots}[request.param]())


def _counts(simulator: asp.Simulator) -> dict[str, float]:
    return work_counts(simulator) | {"clearance": simulator.clearance}


def _run(model: mujoco.MjModel, threads: int, **options) -> tuple[list[list[bytes]], dict]:
    rng = np.random.default_rng(5)
    simulator = asp.Simulator(
        model, integrator=asp.Midas(time_step=STEP, **options), threads=threads
    )
    states = []
    for time in np.linspace(0.06, 0.36, 6):
        simulator.data.ctrl[:] = rng.uniform(-0.5, 0.5, model.nu)
        report = simulator.advance_to(float(time))
        assert report.success, report.message
        states.append(state_bits(simulator))
    assert len(simulator.contacts.geom) > 0
    return states, _counts(simulator)


@pytest.mark.filterwarnings("ignore::asperity.AsperityWarning")
@pytest.mark.parametrize("scheme", ["implicit-euler", "bdf2"])
def test_results_have_the_same_bits_for_any_number_of_threads(model, scheme) -> None:
    found = [_run(model, threads, time_scheme=scheme) for threads in NUMBERS]
    assert found[0][1]["iterations"] > 0
    for states, counts in found[1:]:
        assert states == found[0][0]
        assert counts == found[0][1]


def test_work_is_divided() -> None:
    simulator = asp.Simulator(
        _columns(), integrator=asp.Midas(time_step=STEP, subdivisions=3), threads=2
    )
    simulator.advance_to(0.3)
    table = simulator.session.method.engine.table
    assert table.parts.team != 0
    assert table.factor.islands > 1
    assert np.count_nonzero(np.diff(table.schedule.run_schedule)) > 1
    assert np.count_nonzero(np.diff(table.schedule.friction_schedule)) > 1
    # Links have entries within their islands, and every one is in an island.
    factor = table.factor
    for link, island in enumerate(factor.link_island):
        later = factor.entry_tree[factor.column_start[link] :][: factor.column_size[link]]
        assert np.all(factor.link_island[later] == island)
    assert sorted(factor.island_order) == list(range(len(factor.island_order)))


def test_groups_meet_once_and_never_two_others_at_a_time() -> None:
    fields = meeting_fields(50)
    meeting = fields["meeting"]
    groups = len(meeting)
    assert set(fields["link_group"]) == set(range(groups))
    assert np.array_equal(meeting, meeting.T)
    assert np.array_equal(np.diag(meeting), np.arange(groups))
    pairs = [(a, b) for a in range(groups) for b in range(a + 1, groups)]
    assert sorted(meeting[a, b] for a, b in pairs) == list(range(groups, SCHEDULE_SIZE))
    for turn in range(groups - 1):
        at_once = [pair for pair in pairs if (meeting[pair] - groups) // (groups // 2) == turn]
        assert sorted(np.concatenate(at_once)) == list(range(groups))


def test_lists_that_grow_grow_alike() -> None:
    ends = []
    for threads in NUMBERS:
        simulator = asp.Simulator(
            _columns(), integrator=asp.Midas(time_step=STEP, subdivisions=4), threads=threads
        )
        simulator.advance_to(0.1)
        table = simulator.session.method.engine.table
        assert len(table.candidates.kind) > 1024
        ends.append(
            (
                len(table.candidates.kind),
                table.candidates.count,
                table.counts.rebuilds,
                state_bits(simulator),
            )
        )
    assert ends[1:] == ends[:-1]


def _short_of_iterations(max_iterations: int) -> asp.Simulator:
    """Columns, whose steps are done in parts when a body falls on them."""
    integrator = asp.Midas(time_step=STEP, max_iterations=max_iterations)
    simulator = asp.Simulator(_columns(), integrator=integrator)
    simulator.data.qvel[2] = -5.0
    return simulator


def test_lists_may_grow_in_the_middle_of_a_divided_step(monkeypatch) -> None:
    grow, end = MidasMethod.grow, MidasMethod.end
    growing, moved = [], []

    def grow_late(method: MidasMethod, code: int) -> bool:
        grown, table = grow(method, code), method.engine.table
        if code == STATE_NEEDED and not growing:
            # The first part finds room, and a later one does not.
            growing.append(code)
            method.engine._set_candidates(75)
            table.boxes.listed = 0
        return grown

    def note_parts(method: MidasMethod, world: World) -> None:
        current = world.current.table
        moved.append(not method.engine.holds(current.qpos, current.qvel))
        end(method, world)
        assert method.engine.holds(current.qpos, current.qvel)

    usual = _short_of_iterations(7)
    usual.advance_to(0.1)
    monkeypatch.setattr(MidasMethod, "grow", grow_late)
    monkeypatch.setattr(MidasMethod, "end", note_parts)
    late = _short_of_iterations(7)
    late.advance_to(0.1)
    assert any(moved)
    assert state_bits(late) == state_bits(usual)


def test_parts_of_a_step_that_fails_leave_the_engine_as_it_was(monkeypatch) -> None:
    simulator = _short_of_iterations(3)
    states = []
    begin = MidasMethod.begin

    def note_state(method: MidasMethod, world: World) -> None:
        begin(method, world)
        states.append(method.engine.table.poses.q.copy())

    monkeypatch.setattr(MidasMethod, "begin", note_state)
    for _ in range(10):
        if not simulator.advance_to(simulator.time + STEP, on_failure="return").success:
            break
    table = simulator.session.method.engine.table
    assert simulator.time < 0.1
    # Links are not quite rigid: the same poses put anew would be others.
    assert np.array_equal(table.poses.q, states[-1])
    assert table.time.has_history == 1


def test_a_state_that_was_kept_is_forgotten_with_an_edit() -> None:
    ends = []
    for interrupted in (False, True):
        simulator = _short_of_iterations(60)
        simulator.advance_to(0.02)
        if interrupted:
            # As if the user had stopped a run before the parts of a step.
            simulator.session.method.grow(STATE_NEEDED)
        simulator.data.qvel[2] = -1.0
        simulator.advance_to(0.05)
        ends.append(state_bits(simulator))
    assert ends[0] == ends[1]


def test_a_step_that_fails_leaves_the_state_as_it_was() -> None:
    ends = []
    for threads in NUMBERS:
        simulator = asp.Simulator(
            _columns(), integrator=asp.Midas(time_step=STEP, max_iterations=1), threads=threads
        )
        simulator.data.qvel[2] = -20.0
        report = simulator.advance_to(1.0, on_failure="return")
        assert report.status == Status.NOT_CONVERGED
        engine = simulator.session.method.engine
        assert np.array_equal(engine.table.poses.qpos, simulator.data.qpos)
        ends.append((report.time, *state_bits(simulator)))
    assert ends[1:] == ends[:-1]


def test_the_model_and_the_time_may_change_between_calls() -> None:
    ends = []
    for threads in NUMBERS:
        model = mujoco.MjModel.from_xml_string(_columns())
        simulator = asp.Simulator(model, integrator=asp.Midas(time_step=STEP), threads=threads)
        simulator.advance_to(0.1)
        model.opt.gravity[0] = 2.0
        model.geom_friction[:, 0] = 0.2
        simulator.advance_to(0.2)
        simulator.data.time = 0.0
        simulator.advance_to(0.1)
        ends.append(state_bits(simulator))
    assert ends[1:] == ends[:-1]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_as_many_threads_and_go_on_alike(duplicate) -> None:
    simulator = asp.Simulator(_columns(), integrator=asp.Midas(time_step=STEP), threads=2)
    simulator.advance_to(0.1)
    other = duplicate(simulator)
    assert other.threads == 2
    assert other.session.method.engine.table.parts.team not in (
        0,
        simulator.session.method.engine.table.parts.team,
    )
    for one in (simulator, other):
        one.advance_to(0.3)
    assert state_bits(simulator) == state_bits(other)


def test_threads_are_refused_where_they_have_no_work(monkeypatch) -> None:
    monkeypatch.setattr(MidasMethod, "shares_steps", False)
    with pytest.raises(ArgumentError, match="Midas runs on one thread"):
        asp.Simulator(_columns(), integrator=asp.Midas(), threads=2)
    assert asp.Simulator(_columns(), integrator=asp.Midas(), threads=None).threads == 1

"""One world on several threads: the same bits for any number of them."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import mujoco
import numpy as np
import pytest
from same_bits import state_bits, work_counts

import asperity as asp
from asperity.errors import ArgumentError, Status

NUMBERS = (1, 2, 3)


def _pile(count: int) -> mujoco.MjModel:
    """Columns of boxes and balls on a floor and on tables; some columns touch."""
    random = np.random.default_rng(1)
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    for side in (-1.0, 1.0):
        table = spec.worldbody.add_body(pos=[2.0 * side, 0.3, 0.1])
        table.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.6, 0.6, 0.05])
    for number in range(count):
        column, level = divmod(number, 4)
        x, y = (0.35 * (column % 8) - 1.2, 0.35 * (column // 8))
        dx, dy = random.uniform(-0.06, 0.06, 2)
        body = spec.worldbody.add_body(pos=[x + dx, y + dy, 0.3 + 0.17 * level])
        body.add_freejoint()
        ball = number % 3 == 0
        shape = mujoco.mjtGeom.mjGEOM_SPHERE if ball else mujoco.mjtGeom.mjGEOM_BOX
        size = [0.08, 0.07, 0.06]
        body.add_geom(name=f"g{number}", type=shape, size=size, density=500.0)
    return spec.compile()


def _chains(count: int, boxes: int = 0) -> mujoco.MjModel:
    """Chains of ten links that fall on a floor, with motors and limits, and boxes among them."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 4e-3
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    for number in range(count):
        parent = spec.worldbody.add_body(pos=[0.9 * (number % 4), 0.5 * (number // 4), 0.15])
        parent.add_freejoint()
        for link in range(10):
            ends = [0.0, 0.0, 0.0, 0.06, 0.0, 0.0]
            capsule = mujoco.mjtGeom.mjGEOM_CAPSULE
            parent.add_geom(type=capsule, fromto=ends, size=[0.02, 0.0, 0.0])
            parent = parent.add_body(pos=[0.075, 0.0, 0.0])
            name = f"{number} {link}"
            axis = [0.0, 1.0, 0.0] if link % 2 else [0.0, 0.0, 1.0]
            parent.add_joint(
                name=name, axis=axis, damping=[0.01, 0.0, 0.0], range=[-0.4, 0.4], limited=True
            )
            motor = spec.add_actuator(name=name, target=name)
            motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        parent.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0.0, 0.0])
    for number in range(boxes):
        column, level = divmod(number, 3)
        body = spec.worldbody.add_body(pos=[0.2 * column, 2.0 + 0.002 * level, 0.06 + 0.11 * level])
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05] * 3)
    return spec.compile()


def _heap(bodies: int) -> mujoco.MjModel:
    """Layers of boxes and balls, each across those below, which all touch, and a chain on them."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 4e-3
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    random = np.random.default_rng(3)
    for number in range(bodies):
        level, place = divmod(number, 36)
        row, column = divmod(place, 6)
        dx, dy = random.uniform(-0.005, 0.005, 2)
        x, y = 0.13 * column + 0.06 * (level % 2) + dx, 0.13 * row + 0.06 * (level % 2) + dy
        body = spec.worldbody.add_body(pos=[x, y, 0.06 + 0.11 * level])
        body.add_freejoint()
        ball = number % 4 == 0
        shape = mujoco.mjtGeom.mjGEOM_SPHERE if ball else mujoco.mjtGeom.mjGEOM_BOX
        body.add_geom(type=shape, size=[0.055] * 3, density=500.0)
    parent = spec.worldbody.add_body(pos=[0.1, 0.35, 0.08 + 0.11 * (bodies // 36)])
    parent.add_freejoint()
    for _ in range(4):
        parent.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0.1, 0, 0], size=[0.02, 0, 0]
        )
        parent = parent.add_body(pos=[0.12, 0.0, 0.0])
        parent.add_joint(axis=[0.0, 1.0, 0.0], damping=[0.1, 0, 0], armature=0.01)
    parent.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0.0, 0.0])
    return spec.compile()


def _run(
    model: mujoco.MjModel, integrator: asp.Integrator, threads: int, times: np.ndarray
) -> tuple[list[list[bytes]], dict[str, int]]:
    random = np.random.default_rng(5)
    simulator = asp.Simulator(model, integrator=integrator, threads=threads)
    states = []
    for time in times:
        simulator.data.ctrl[:] = random.uniform(-0.05, 0.05, model.nu)
        report = simulator.advance_to(float(time))
        assert report.success, report.message
        states.append(state_bits(simulator))
    return states, work_counts(simulator)


MODELS = {
    "pile": lambda: _pile(96),
    "chains": lambda: _chains(9),
    "a chain and boxes": lambda: _chains(1, boxes=60),
    "heap": lambda: _heap(144),
}
INTEGRATORS = {
    "Icf": asp.Icf(time_step=4e-3),
    "Icf, similar": asp.Icf(time_step=4e-3, friction_bound="similar"),
    "Cenic": asp.Cenic(accuracy=1e-2),
    "Sap": asp.Sap(time_step=4e-3),
    "Tamsi": asp.Tamsi(time_step=2e-3),
}


@pytest.mark.parametrize("integrator", INTEGRATORS.values(), ids=INTEGRATORS)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_results_have_the_same_bits_for_any_number_of_threads(make, integrator) -> None:
    model = make()
    # Tamsi divides most steps of the heap, which then take half a second each.
    times = np.linspace(0.06, 0.12 if isinstance(integrator, asp.Tamsi) else 0.36, 4)
    found = [_run(model, integrator, threads, times) for threads in NUMBERS]
    assert found[0][1]["iterations"] > 0
    for states, counts in found[1:]:
        assert states == found[0][0]
        assert counts == found[0][1]


def test_large_islands_are_divided() -> None:
    simulator = asp.Simulator(_heap(144), integrator=asp.Icf(time_step=4e-3), threads=2)
    simulator.advance_to(0.2)
    problem = simulator.session.world.problem
    sizes = np.diff(problem.graph.island_start[: problem.graph.islands + 1])
    parts = np.diff(problem.graph.divided.island_part_start[: problem.graph.islands + 1])
    np.testing.assert_array_equal(parts > 0, sizes >= 100)
    # The chain on top is in the same island.
    mixed = problem.graph.divided.island_mixed[: problem.graph.islands]
    assert parts.max() > 3
    assert mixed[np.argmax(parts)] > 0


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_islands_are_shared_out(make) -> None:
    simulator = asp.Simulator(make(), integrator=asp.Icf(time_step=4e-3), threads=2)
    simulator.advance_to(0.36)
    shared = simulator.session.world._shared_islands
    assert shared is not None
    assert np.count_nonzero(shared.table.last) > 1


def test_contacts_are_shared_out_and_in_the_order_of_mujoco() -> None:
    model = _pile(96)
    simulators = [asp.Simulator(model, threads=threads) for threads in NUMBERS]
    for simulator in simulators:
        simulator.advance_to(0.3)
    states = [simulator.session.world.current.table for simulator in simulators]
    assert [state.detect_shared != 0 for state in states] == [False, True, True]
    data = mujoco.MjData(model)
    data.qpos[:] = simulators[0].data.qpos
    mujoco.mj_forward(model, data)
    touching = [tuple(one.geom) for one in data.contact if one.dist < 0.0]
    assert len(touching) > 100
    for state in states:
        count = state.contacts.count
        near = state.contacts.signed_distance[:count] < 0.0
        assert [tuple(pair) for pair in state.contacts.geom[:count][near]] == touching


def _arms(count: int) -> mujoco.MjModel:
    """Arms on fixed bases, free chains with welded tips, bodies that are moved, geoms and sites."""
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0])
    spec.worldbody.add_site(pos=[0.1, 0.2, 0.3])
    for number in range(count):
        base = spec.worldbody.add_body(pos=[0.6 * (number % 8), 0.6 * (number // 8), 0.3])
        if number % 3 == 1:
            base.add_freejoint()
        elif number % 3 == 2:
            base.mocap = True
        base.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.04] * 3)
        parent = base.add_body(pos=[0.0, 0.0, 0.06]) if number % 3 == 0 else base
        for link in range(3 if number % 3 < 2 else 0):
            parent = parent.add_body(pos=[0.1, 0.0, 0.02], quat=[0.9, 0.1 * link, 0.3, 0.1])
            if link < 2:
                kind = mujoco.mjtJoint.mjJNT_BALL if link else mujoco.mjtJoint.mjJNT_HINGE
                parent.add_joint(type=kind, axis=[0.0, 1.0, 0.0], pos=[-0.03, 0.0, 0.0])
            parent.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0.06, 0, 0], size=[0.02, 0, 0]
            )
            parent.add_site(pos=[0.03, 0.0, 0.01])
    return spec.compile()


def test_positions_are_shared_out_and_those_of_mujoco() -> None:
    model = _arms(60)
    simulators = [
        asp.Simulator(model, integrator=asp.Icf(time_step=2e-3), threads=threads)
        for threads in NUMBERS
    ]
    for simulator in simulators:
        simulator.data.mocap_pos[:, 2] += 0.1
        simulator.data.mocap_quat[:, 1] = 0.2
        simulator.advance_to(0.1)
    states = [simulator.session.world.current.table for simulator in simulators]
    assert [state.find_positions != 0 for state in states] == [False, True, True]
    expected = mujoco.MjData(model)
    for name in ("qpos", "mocap_pos", "mocap_quat"):
        getattr(expected, name)[:] = getattr(simulators[0].data, name)
    mujoco.mj_kinematics(model, expected)
    mujoco.mj_comPos(model, expected)
    assert np.ptp(expected.xpos[:, 2]) > 0.1
    names = "qpos qvel mocap_pos xpos xquat xmat xipos ximat xanchor xaxis geom_xpos geom_xmat"
    for name in f"{names} site_xpos site_xmat subtree_com cinert cdof".split():
        found = [np.asarray(getattr(one.data, name)).tobytes() for one in simulators]
        assert found[1:] == found[:-1], name
        if name != "qvel":
            assert found[0] == np.asarray(getattr(expected, name)).tobytes(), name


def test_slabs_are_cut_where_nothing_reaches_across() -> None:
    simulator = asp.Simulator(_pile(96), threads=2)
    simulator.session.plant.table.list_pairs = 0
    simulator.advance_to(0.01)
    shared = simulator.session.world._shared_detection[
        int(simulator.session.world.current.table.data)
    ].table
    slabs = [
        np.count_nonzero((shared.lower < end) & (shared.upper >= begin))
        for begin, end in zip([-np.inf, *shared.cut], shared.cut, strict=False)
    ]
    across = (shared.lower[3:] < shared.cut[0]) & (shared.upper[3:] >= shared.cut[0])
    assert min(slabs) > 24
    assert np.count_nonzero(across) < 10


@pytest.mark.parametrize("name", MODELS)
def test_slabs_find_what_lists_do(name: str) -> None:
    model = MODELS[name]()
    ends = []
    for threads in NUMBERS:
        for listed in (True, False):
            simulator = asp.Simulator(model, integrator=INTEGRATORS["Icf"], threads=threads)
            plant = simulator.session.plant.table
            assert plant.list_pairs != 0
            plant.list_pairs = plant.list_pairs if listed else 0
            simulator.advance_to(0.4)
            assert simulator.data.ncon > 10
            ends.append((state_bits(simulator), work_counts(simulator)))
    assert ends[1:] == ends[:-1]


def test_materials_of_pairs_and_contacts_that_do_not_count() -> None:
    model = _pile(320)
    random = np.random.default_rng(2)
    model.geom_friction[:, 0] = random.uniform(0.1, 1.0, model.ngeom)
    model.geom_contype[20:40] = 0
    model.geom_gap[60:90] = 0.01
    model.geom_margin[60:90] = 0.01
    contact = asp.ContactParameters(
        stiffness=2e4,
        geoms={"g1*": asp.Material(stiffness=5e3, friction=0.9, dynamic_friction=0.7)},
        pairs={("g8*", "g*"): asp.Material(dissipation=1.0, friction=0.2)},
    )
    ends = []
    for threads in NUMBERS:
        simulator = asp.Simulator(
            model, integrator=asp.Icf(time_step=4e-3), contact=contact, threads=threads
        )
        simulator.advance_to(0.3)
        assert simulator.session.world.current.table.contacts.count > 400
        ends.append((state_bits(simulator), work_counts(simulator)))
    assert ends[1:] == ends[:-1]


@pytest.mark.parametrize("what", ["pair", "sleep"])
def test_what_cannot_be_found_slab_by_slab_is_found_at_once(what: str) -> None:
    if what == "pair":
        spec = mujoco.MjSpec.from_string(_pile_xml())
        names = [geom.name for geom in spec.geoms if geom.name]
        spec.add_pair(geomname1=names[0], geomname2=names[1])
        model = spec.compile()
    else:
        model = _pile(96)
        model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    found = [_run(model, asp.Icf(time_step=4e-3), threads, np.array([0.2])) for threads in (1, 2)]
    assert found[0] == found[1]


def _pile_xml() -> str:
    bodies = "".join(
        f'<body pos="{0.3 * (i % 10)} {0.3 * (i // 10)} 0.06"><freejoint/>'
        f'<geom name="g{i}" size="0.05"/></body>'
        for i in range(70)
    )
    return f'<mujoco><worldbody><geom type="plane" size="0 0 1"/>{bodies}</worldbody></mujoco>'


def test_a_step_that_is_refused_leaves_the_state_as_it_was() -> None:
    model = _pile(96)
    ends = []
    for threads in NUMBERS:
        simulator = asp.Simulator(
            model, integrator=asp.Icf(time_step=4e-3, max_iterations=2), threads=threads
        )
        report = simulator.advance_to(1.0, on_failure="return")
        assert report.status == Status.NOT_CONVERGED
        ends.append((report.time, report.residual, simulator.data.qpos.tobytes()))
    assert ends[0][0] > 0.0
    assert ends[1:] == ends[:-1]


def test_numbers_that_are_not_finite_are_reported_alike() -> None:
    model = _pile(96)
    ends = []
    for threads in NUMBERS:
        simulator = asp.Simulator(model, integrator=asp.Icf(time_step=4e-3), threads=threads)
        simulator.data.qvel[3] = 1e200
        report = simulator.advance_to(0.1, on_failure="return")
        assert report.status in (Status.NON_FINITE, Status.NOT_CONVERGED)
        ends.append((report.status, report.time, simulator.data.qpos.tobytes()))
    assert ends[1:] == ends[:-1]


def test_the_model_may_change_between_calls() -> None:
    model, ends = _pile(96), []
    for threads in NUMBERS:
        own = copy.deepcopy(model)
        simulator = asp.Simulator(own, integrator=asp.Icf(time_step=4e-3), threads=threads)
        simulator.advance_to(0.1)
        own.geom_size[5:30] *= 1.1
        own.geom_margin[:] = 2e-3
        own.opt.gravity[0] = 2.0
        simulator.advance_to(0.3)
        ends.append(state_bits(simulator))
    assert ends[1:] == ends[:-1]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_as_many_threads_and_go_on_alike(duplicate) -> None:
    simulator = asp.Simulator(_pile(96), integrator=asp.Icf(time_step=4e-3), threads=2)
    simulator.advance_to(0.2)
    other = duplicate(simulator)
    assert other.threads == 2
    for one in (simulator, other):
        one.advance_to(0.3)
    assert state_bits(simulator) == state_bits(other)


def test_simulators_with_threads_run_in_threads() -> None:
    model = _pile(96)
    expected = _run(model, asp.Icf(time_step=4e-3), 1, np.array([0.3]))
    found: list[object] = [None, None]

    def work(which: int) -> None:
        found[which] = _run(model, asp.Icf(time_step=4e-3), 2, np.array([0.3]))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected, expected]


def test_a_process_ends_while_its_threads_wait() -> None:
    program = (
        "import os, asperity as asp\n"
        "from test_one_world_threads import _pile\n"
        "sim = asp.Simulator(_pile(96), integrator=asp.Icf(time_step=4e-3), threads=3)\n"
        "sim.advance_to(0.1)\n"
        "child = os.fork()\n"
        "sim.advance_to(0.2)\n"
        "os.write(1, f'{sim.data.qpos.sum()}\\n'.encode())\n"
        "if child: os.waitpid(child, 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    first, second = done.stdout.split()
    assert first == second


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two"])
def test_numbers_that_are_none_are_refused(threads) -> None:
    with pytest.raises(ArgumentError, match="threads must be"):
        asp.Simulator(_pile(4), threads=threads)


def test_as_many_threads_as_may_run() -> None:
    assert asp.Simulator(_pile(4), threads=None).threads >= 1


def test_simulate_takes_threads() -> None:
    model = _pile(96)
    found = [
        asp.simulate(model, (0.0, 0.1), integrator=asp.Icf(time_step=4e-3), threads=threads)
        for threads in NUMBERS
    ]
    assert found[0].qpos.tobytes() == found[1].qpos.tobytes() == found[2].qpos.tobytes()

"""Volumes that yield: what stays is that of ideal plasticity, and it is a part of the state."""

from __future__ import annotations

import copy
from pathlib import Path

import mujoco
import numpy as np
import pytest
from soft_models import Array, compile_soft, cube, positions, vertex_dofs

import asperity as asp

YOUNG, POISSON, LIMIT = 1e6, 0.3, 0.02
# A bar yields at this strain.
YIELD = 1.5 * LIMIT / (1.0 + POISSON)
NO_CONTACT = "<contact contype='0' conaffinity='0' selfcollide='none'/>"
_HOLD = 1e6


def bar(limit: float = LIMIT, *, dof: str = "full", held: bool = True) -> mujoco.MjModel:
    """A bar along x, 0.4 m long with a side of 0.1 m, whose ends springs hold along x."""
    cells = "" if dof == "full" else f"dof='{dof}' cellcount='4 1 1'"
    model = compile_soft(
        "<flexcomp name='bar' type='grid' dim='3' count='5 2 2' spacing='0.1 0.1 0.1' mass='1'"
        f" radius='0.001' {cells}><elasticity young='{YOUNG}' poisson='{POISSON}' damping='0.01'"
        f" yield='{limit}'/>{NO_CONTACT}</flexcomp>",
        gravity=0.0,
    )
    if held:
        for side in ends(model):
            model.jnt_stiffness[side] = _HOLD
    return model


def cloth(count: str = "5 3 1") -> mujoco.MjModel:
    """Cloth along x and y, 0.4 m by 0.2 m, that yields by stretch."""
    return compile_soft(
        f"<flexcomp name='cloth' type='grid' dim='2' count='{count}' spacing='0.1 0.1 0.1' mass='1'"
        f" radius='0.01'><elasticity young='{YOUNG}' poisson='{POISSON}' thickness='0.02'"
        f" damping='0.01' elastic2d='both' yield='{LIMIT} 0'/>{NO_CONTACT}</flexcomp>",
        gravity=0.0,
    )


def ends(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Joints along x of the particles at the bar's two ends."""
    where = model.body_pos[model.jnt_bodyid, 0]
    along = model.jnt_axis[:, 0] == 1.0
    return tuple(np.flatnonzero(along & (sign * where > 0.199)) for sign in (-1.0, 1.0))


def stretch(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Mean strain of the bar."""
    left, right = ends(model)
    return float(data.qpos[right].mean() - data.qpos[left].mean()) / 0.4


def pull(sim: asp.Simulator, strain: float, until: float, steps: int = 40) -> float:
    """Move the springs' ends, from where they are; returns the force that holds the bar."""
    model = sim.model
    left, right = ends(model)
    before, begin = float(model.qpos_spring[right[0]]), sim.time
    for k in range(1, steps + 1):
        half = before + (0.2 * strain - before) * k / steps
        model.qpos_spring[right], model.qpos_spring[left] = half, -half
        sim.advance_to(begin + (until - begin) * k / steps)
    return _HOLD * float(np.sum(half - sim.data.qpos[right]))


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("dof", ["full", "trilinear"])
@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=0.005), asp.Cenic()], ids=["icf", "cenic"]
)
def test_what_stays_is_the_strain_beyond_that_of_yield(
    integrator: asp.Integrator, dof: str, sign: float
) -> None:
    """ε_p = ε − σ_y/E of the length that stays, at the force σ_y A, without a change of volume."""
    model = bar(dof=dof)
    sim = asp.Simulator(model, integrator=integrator)
    pull(sim, sign * 0.05, 0.5)
    force = pull(sim, sign * 0.05, 0.8)
    held = stretch(model, sim.data)
    model.jnt_stiffness[:] = 0.0
    sim.advance_to(1.5)
    left = stretch(model, sim.data)
    assert left == pytest.approx((1.0 + held) / (1.0 + sign * YIELD) - 1.0, abs=1e-5)
    assert force == pytest.approx(sign * YIELD * YOUNG * 0.01 / (1.0 + left), rel=1e-3)
    if dof == "full":
        wide = np.ptp(positions(model, sim.data)[:, 1]) / 0.1
        assert (1.0 + left) * wide**2 == pytest.approx(1.0, abs=2e-5)


@pytest.mark.parametrize("integrator", [asp.Icf(), asp.Cenic()], ids=["icf", "cenic"])
def test_nothing_changes_below_the_limit(integrator: asp.Integrator) -> None:
    ended = []
    for limit in (0.0, LIMIT):
        model = bar(limit)
        sim = asp.Simulator(model, integrator=integrator)
        pull(sim, 0.99 * YIELD, 0.2)
        pull(sim, -0.99 * YIELD, 0.6)
        ended.append(sim.data.qpos.copy())
    np.testing.assert_array_equal(*ended)
    assert not sim.data.plastic.any()


@pytest.mark.parametrize("dof", ["full", "trilinear"])
@pytest.mark.parametrize("integrator", [asp.Icf(time_step=0.01), asp.Midas()], ids=["icf", "midas"])
def test_a_bar_that_forces_pull_stays_longer(
    integrator: asp.Integrator, dof: str, tmp_path: Path
) -> None:
    """Beyond σ_y A it flows, and below it nothing does; Midas has the logarithm of stretches."""
    model = bar(dof=dof, held=False)
    left, right = ends(model)
    for load in (0.98, 1.05):
        sim = asp.Simulator(model, integrator=integrator)
        pulled = load * YIELD * YOUNG * 0.01
        sim.data.qfrc_applied[right], sim.data.qfrc_applied[left] = pulled / 4, -pulled / 4
        sim.advance_to(0.3)
        sim.save(tmp_path / "bar.asp")
        other = asp.Simulator.load(tmp_path / "bar.asp")
        for one in (sim, other):
            one.advance_to(0.6)
        np.testing.assert_array_equal(other.data.plastic, sim.data.plastic)
        held = stretch(model, sim.data)
        sim.data.qfrc_applied[:] = 0.0
        sim.advance_to(1.5)
        stays = stretch(model, sim.data)
        if load < 1.0:
            assert stays == pytest.approx(0.0, abs=1e-12)
            assert not sim.data.plastic.any()
            continue
        if isinstance(integrator, asp.Midas):
            gone = float(np.log((1.0 + held) / (1.0 + stays)))
        else:
            gone = (held - stays) / (1.0 + stays)
        assert stays > 0.02
        assert gone == pytest.approx(YIELD, rel=0.015)
        wide = np.ptp(positions(model, sim.data)[:, 1]) / 0.1
        assert (1.0 + stays) * wide**2 == pytest.approx(1.0, abs=2e-5)


def _bent(layers: int, moment: float) -> tuple[float, float, float]:
    """Curvature of a beam, over that at which it yields, under a moment M/M_y and after it.

    And what a beam has whose layers each have their stress in the middle.
    """
    height, cells = 0.1, 8
    long, thick = 0.05, height / layers
    limit = 1e-3
    strain = 1.5 * limit / (1.0 + POISSON)
    model = compile_soft(
        f"<flexcomp name='beam' type='grid' dim='3' count='{cells + 1} 2 {layers + 1}' mass='1'"
        f" spacing='{long} {height} {thick}' radius='1e-4'>"
        f"<pin gridrange='{cells // 2} 0 {layers // 2} {cells // 2} 1 {layers // 2}'/>"
        f"<elasticity young='{YOUNG}' poisson='{POISSON}' yield='{limit}'/>{NO_CONTACT}</flexcomp>",
        gravity=0.0,
    )
    rest, dofs = positions(model, mujoco.MjData(model)), vertex_dofs(model)
    # Nothing turns the beam as a whole, which a soft spring keeps from turning.
    for v in np.flatnonzero((rest[:, 2] == 0.0) & (np.abs(np.abs(rest[:, 0]) - long) < 1e-9)):
        model.jnt_stiffness[model.dof_jntid[dofs[v] + 2]] = 0.01
    core = 1.0 if moment <= 1.0 else np.sqrt(3.0 * (1.0 - moment / 1.5))
    # The stress that an elastic core, and what yields beside it, has at the beam's ends.
    z = np.linspace(-0.5 * height, 0.5 * height, 64 * layers + 1)
    stress = YOUNG * strain * min(moment, 1.0) * np.clip(z / (0.5 * height * core), -1.0, 1.0)
    grid = np.linspace(-0.5 * height, 0.5 * height, layers + 1)
    hats = np.maximum(0.0, 1.0 - np.abs(z[:, None] - grid) / thick)
    share = np.trapezoid(stress[:, None] * hats, z, axis=0) * height
    force = np.zeros(model.nv)
    for v in np.flatnonzero(np.abs(rest[:, 0]) > 0.5 * long * (cells - 0.5)):
        height_of = round((rest[v, 2] + 0.5 * height) / thick)
        force[dofs[v]] += 0.5 * np.sign(rest[v, 0]) * share[height_of]
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=1.0))

    def curvature() -> float:
        x = positions(model, sim.data)[:, 0]
        near = [np.abs(rest[:, 0] - place) < 1e-9 for place in (2 * long, -2 * long)]
        turn = [np.polyfit(rest[one, 2], x[one], 1)[0] for one in near]
        return float(turn[0] - turn[1]) / (4.0 * long) / (strain / (0.5 * height))

    sim.data.qfrc_applied[:] = force
    sim.advance_to(100.0)
    loaded = curvature()
    sim.data.qfrc_applied[:] = 0.0
    sim.advance_to(200.0)
    middle = (np.arange(layers) + 0.5) / layers * 2.0 - 1.0
    carried = 3.0 / layers * np.sum(middle * np.clip(loaded * middle, -1.0, 1.0))
    return loaded, curvature(), float(carried + loaded / layers**2)


@pytest.mark.parametrize(("layers", "moment"), [(8, 0.9), (8, 1.2), (8, 1.3), (16, 1.3)])
def test_beam_bent_beyond_its_yield_springs_back(layers: int, moment: float) -> None:
    """M = 3/2 M_y (1 − κ_y²/3 κ²), of which M/EI springs back.

    Of 8 layers a part of what would yield beside the core is in layers that do not.
    """
    loaded, left, carried = _bent(layers, moment)
    core = 1.0 if moment <= 1.0 else np.sqrt(3.0 * (1.0 - moment / 1.5))
    exact = moment if moment <= 1.0 else 1.0 / core
    assert carried == pytest.approx(moment, rel=2e-3)
    assert loaded == pytest.approx(exact, rel=0.01 if layers == 16 else 0.05)
    assert loaded - left == pytest.approx(moment, rel=1e-3)
    assert left == pytest.approx(0.0, abs=1e-9) or moment > 1.0


@pytest.mark.parametrize(
    "integrator", [asp.Icf(time_step=0.005), asp.Cenic()], ids=["icf", "cenic"]
)
@pytest.mark.parametrize("both", [False, True])
def test_cloth_stays_longer(integrator: asp.Integrator, both: bool) -> None:
    """Pulled along x it yields as a bar does, and along x and y at 3 ε_y (1 − ν)/2 (1 + ν).

    Its thickness has what its area has gained: along y it is narrower by half of that along x.
    """
    model = cloth("2 2 1")
    along = {}
    for axis in (0, 1):
        where = model.body_pos[model.jnt_bodyid, axis]
        chosen = model.jnt_axis[:, axis] == 1.0
        far = np.abs(where).max()
        sides = [np.flatnonzero(chosen & (sign * where > 0.99 * far)) for sign in (-1.0, 1.0)]
        along[axis] = (*sides, 2.0 * far)
    pulled = (0, 1) if both else (0,)
    for axis in pulled:
        for side in along[axis][:2]:
            model.jnt_stiffness[side] = _HOLD
    sim = asp.Simulator(model, integrator=integrator)

    def strain(axis: int) -> float:
        left, right, size = along[axis]
        return float(sim.data.qpos[right].mean() - sim.data.qpos[left].mean()) / size

    for k in range(1, 301):
        for axis in pulled:
            left, right, size = along[axis]
            half = 0.5 * size * 0.06 * min(k / 200, 1.0)
            model.qpos_spring[right], model.qpos_spring[left] = half, -half
        sim.advance_to(0.004 * k)
    held = strain(0)
    model.jnt_stiffness[:] = 0.0
    sim.advance_to(2.5)
    limit = YIELD * (1.0 - POISSON) if both else YIELD
    assert held > 2.0 * limit
    assert strain(0) == pytest.approx((1.0 + held) / (1.0 + limit) - 1.0, abs=2e-5)
    stays = strain(0) if both else (1.0 + strain(0)) ** -0.5 - 1.0
    assert strain(1) == pytest.approx(stays, rel=0.015)


@pytest.mark.parametrize("both", [False, True], ids=["along x", "both ways"])
@pytest.mark.parametrize("integrator", [asp.Icf(time_step=0.01), asp.Midas()], ids=["icf", "midas"])
def test_cloth_that_forces_pull_stays_longer(integrator: asp.Integrator, both: bool) -> None:
    """As bars do; pulled both ways at 3 ε_y (1 − ν)/2 (1 + ν), and along x it becomes narrower."""
    model = cloth()
    where = model.body_pos[model.jnt_bodyid]
    long = np.array([0.4, 0.2])
    limit = YIELD * (1.0 - POISSON) if both else YIELD
    for load in (0.98, 1.05):
        sim = asp.Simulator(model, integrator=integrator)
        for axis in (0, 1) if both else (0,):
            along = model.jnt_axis[:, axis] == 1.0
            for sign in (-1.0, 1.0):
                end = np.flatnonzero(along & (sign * where[:, axis] > 0.49 * long[axis]))
                # Of stress σ_y on a side, vertices at its ends have half of the others' shares.
                share = np.where(np.abs(where[end, 1 - axis]) > 0.49 * long[1 - axis], 0.5, 1.0)
                force = load * YIELD * YOUNG * 0.02 * long[1 - axis]
                sim.data.qfrc_applied[end] += sign * force * share / share.sum()

        sim.advance_to(0.6)
        held = np.ptp(positions(model, sim.data)[:, :2], axis=0) / long - 1.0
        sim.data.qfrc_applied[:] = 0.0
        sim.advance_to(1.5)
        stays = np.ptp(positions(model, sim.data)[:, :2], axis=0) / long - 1.0
        if load < 1.0:
            assert not sim.data.plastic.any()
            continue
        assert stays[0] > 0.02
        if isinstance(integrator, asp.Midas):
            gone = float(np.log((1.0 + held[0]) / (1.0 + stays[0])))
        else:
            gone = float((held - stays)[0] / (1.0 + stays[0]))
        assert gone == pytest.approx(limit, rel=0.015)
        expected = stays[0] if both else (1.0 + stays[0]) ** -0.5 - 1.0
        # Loads come on at once, and waves leave a strain that is not quite the same everywhere.
        assert stays[1] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("dof", ["full", "trilinear", "cloth"])
def test_mujoco_finds_what_has_yielded_at_rest(dof: str) -> None:
    """`mjData.plastic` is MuJoCo's own: a bar that stays longer has no forces there either."""
    model = cloth() if dof == "cloth" else bar(dof=dof)
    for side in ends(model):
        model.jnt_stiffness[side] = _HOLD
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.005))
    pull(sim, 0.05, 0.5)
    model.jnt_stiffness[:] = 0.0
    sim.advance_to(3.0)
    data = mujoco.MjData(model)
    data.qpos[:] = sim.data.qpos
    mujoco.mj_forward(model, data)
    pressed = np.abs(data.qfrc_spring).max()
    data.plastic[:] = sim.data.plastic
    mujoco.mj_forward(model, data)
    assert np.abs(data.qfrc_spring).max() < 1e-3 * pressed


@pytest.mark.parametrize("dof", ["full", "trilinear"])
@pytest.mark.parametrize("integrator", [asp.Icf(), asp.Midas()], ids=["icf", "midas"])
def test_clay_springs_back_from_a_press_as_in_mujoco(integrator: asp.Integrator, dof: str) -> None:
    """A cube between plates without friction, pressed by a quarter: MuJoCo takes Green's strain."""
    cells = "" if dof == "full" else "dof='trilinear' cellcount='2 2 2'"
    left = []
    for own in (True, False):
        model = compile_soft(
            "<geom type='plane' size='1 1 0.1' friction='0.01'/><body pos='0 0 0.065' gravcomp='1'>"
            "<joint name='press' type='slide' axis='0 0 1' damping='10'/>"
            "<geom type='box' size='0.06 0.06 0.01' mass='1' friction='0.01'/></body>"
            "<flexcomp name='clay' type='grid' dim='3' count='3 3 3' spacing='0.025 0.025 0.025'"
            f" pos='0 0 0.0265' radius='0.0005' mass='0.1' {cells}><elasticity young='5e4'"
            " poisson='0.3' damping='0.005' yield='0.03'/><contact selfcollide='none'"
            " friction='0.01' solref='0.004 1'/></flexcomp>",
            sections="<actuator><position joint='press' kp='2e4' kv='200'/></actuator>",
        )
        sim = asp.Simulator(model, integrator=integrator) if own else None
        data = sim.data if sim else mujoco.MjData(model)
        heights = []
        for time in np.arange(0.02, 1.4, 0.02):
            data.ctrl[0] = -0.015 * min(time / 0.6, 1.0) if time < 0.8 else 0.01
            while data.time < time - 1e-9:
                sim.advance_to(time) if sim else mujoco.mj_step(model, data)
            heights.append(float(np.ptp(positions(model, data)[:, 2])))
        left.append((heights[-1] / min(heights), heights[-1]))
    assert left[0][0] == pytest.approx(left[1][0], rel=0.015)
    assert left[0][1] < 0.042


@pytest.mark.parametrize("dof", ["full", "trilinear"])
def test_what_has_yielded_turns_freely(dof: str) -> None:
    """A bar that is a sixth longer spins and shears, and keeps its angular momentum."""
    model = bar(dof=dof)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.001))
    pull(sim, 0.2, 0.5)
    model.jnt_stiffness[:] = 0.0
    sim.advance_to(1.0)
    assert stretch(model, sim.data) > 0.1
    bodies = model.dof_bodyid[::3]
    mass = model.body_mass[bodies]

    def momentum() -> Array:
        at = (model.body_pos[bodies] + sim.data.qpos.reshape(-1, 3)).T
        return np.array(np.cross(at.T, sim.data.qvel.reshape(-1, 3)).T @ mass)

    at = model.body_pos[bodies] + sim.data.qpos.reshape(-1, 3)
    turn = np.array([[0.0, -3.0, 1.0], [9.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    sim.data.qvel[:] = ((at - mass @ at / mass.sum()) @ turn.T).ravel()
    before = momentum()
    sim.advance_to(1.5)
    np.testing.assert_allclose(momentum(), before, atol=1e-3 * np.linalg.norm(before))


def test_all_integrators_find_how_far_clay_is_pressed() -> None:
    """A cube that falls by 0.17 m: its height under error control, as of steps of no length.

    Midas has another elasticity, and its flow is of first order as well.
    """

    def height(integrator: asp.Integrator) -> float:
        clay = cube(height=0.2, young=2e4).replace("'0.002'/>", f"'0.002' yield='{LIMIT}'/>")
        model = compile_soft("<geom type='plane' size='1 1 0.1'/>" + clay)
        sim = asp.Simulator(model, integrator=integrator)
        sim.advance_to(0.5)
        return float(np.ptp(positions(model, sim.data)[:, 2]))

    controlled = height(asp.Cenic(accuracy=1e-5))
    assert controlled < 0.044
    for kind in (asp.Icf, asp.Midas):
        coarse, fine = (height(kind(time_step=step)) for step in (5e-4, 2.5e-4))
        assert controlled == pytest.approx(2.0 * fine - coarse, rel=0.01)


def test_refused_attempts_yield_nothing() -> None:
    """A bar that is pulled stays longer by no more than accepted states ask for."""
    model = bar()
    sim = asp.Simulator(model, integrator=asp.Cenic())
    pull(sim, 0.05, 2.0)
    assert sim.stats.rejections > 0
    held = stretch(model, sim.data)
    model.jnt_stiffness[:] = 0.0
    sim.advance_to(3.0)
    assert stretch(model, sim.data) == pytest.approx((1.0 + held) / (1.0 + YIELD) - 1.0, abs=1e-5)


def test_the_state_is_kept(tmp_path: Path) -> None:
    """A copy, a file and a state of MuJoCo's go on to the same bits."""
    model = bar()
    sim = asp.Simulator(model, integrator=asp.Cenic())
    pull(sim, 0.05, 0.2)
    assert sim.data.plastic.any()
    sim.save(tmp_path / "bar.asp")
    others = [copy.copy(sim), asp.Simulator.load(tmp_path / "bar.asp")]
    bits = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    kept = np.empty(mujoco.mj_stateSize(model, bits))
    mujoco.mj_getState(model, sim.data, kept, bits)
    springs = model.qpos_spring.copy()
    pull(sim, 0.07, 0.3)
    for other in others:
        other.model.qpos_spring[:] = springs
        pull(other, 0.07, 0.3)
        np.testing.assert_array_equal(other.data.qpos, sim.data.qpos)
        np.testing.assert_array_equal(other.data.plastic, sim.data.plastic)
    fresh = [asp.Simulator(bar(held=False), integrator=asp.Icf(time_step=0.01)) for _ in range(2)]
    for one in fresh:
        mujoco.mj_setState(one.model, one.data, kept, bits)
        one.advance_to(0.25)
    np.testing.assert_array_equal(fresh[0].data.plastic, fresh[1].data.plastic)
    # Springs that have let go leave it longer, which one without that state is not.
    assert stretch(model, fresh[0].data) > 0.02


@pytest.mark.parametrize("integrator", [asp.Icf(time_step=0.01), asp.Midas()], ids=["icf", "midas"])
def test_what_users_change_counts(integrator: asp.Integrator) -> None:
    model = bar(held=False)
    left, right = ends(model)
    sim = asp.Simulator(model, integrator=integrator)
    pulled = 1.05 * YIELD * YOUNG * 0.01
    sim.data.qfrc_applied[right], sim.data.qfrc_applied[left] = pulled / 4, -pulled / 4
    sim.advance_to(0.3)
    before = sim.data.plastic.copy()
    assert before.any()
    model.flex_yield[0, 0] = 1.0
    sim.advance_to(0.6)
    np.testing.assert_array_equal(sim.data.plastic, before)
    sim.data.plastic[:] = 0.0
    sim.data.qfrc_applied[:] = 0.0
    sim.advance_to(2.0)
    assert stretch(model, sim.data) == pytest.approx(0.0, abs=1e-6)
    sim.data.plastic[3] = np.nan
    with pytest.raises(asp.ArgumentError, match=r"data\.plastic\[3\] is nan"):
        sim.advance_to(2.1)
    # Edges that would be of negative length.
    sim.data.plastic[:] = -1.0
    with pytest.raises(asp.SimulationError):
        sim.advance_to(2.1)
    sim.reset()
    assert not sim.data.plastic.any()


def test_trajectories_have_what_yields(tmp_path: Path) -> None:
    model = bar(held=False)
    left, right = ends(model)
    data = mujoco.MjData(model)
    data.qvel[right], data.qvel[left] = 20.0, -20.0
    found = asp.simulate(model, (0.0, 0.1), integrator=asp.Cenic(), data=data)
    assert found.plastic.shape == (len(found.time), model.nplastic)
    assert not found.plastic[0].any()
    assert found.plastic[-1].any()
    found.save(tmp_path / "bar.npz")
    again = asp.Trajectory.load(tmp_path / "bar.npz")
    np.testing.assert_array_equal(again.plastic, found.plastic)


def test_worlds_of_a_batch_yield_as_simulators() -> None:
    model = bar(held=False)
    _, right = ends(model)
    batch = asp.Batch(model, 2, integrator=asp.Icf(time_step=0.005))
    batch.qvel[1, right] = 40.0
    batch.step(20)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.005))
    sim.data.qvel[right] = 40.0
    for _ in range(20):
        sim.step()
    np.testing.assert_array_equal(batch.plastic[1], sim.data.plastic)
    assert batch.plastic[1].any()
    assert not batch.plastic[0].any()
    batch.reset([1])
    assert not batch.plastic.any()


def test_a_step_that_fails_yields_nothing() -> None:
    model = bar(held=False)
    _, right = ends(model)
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=0.005))
    sim.data.qvel[right] = 40.0
    sim.advance_to(0.05)
    before = sim.data.plastic.copy()
    assert before.any()
    sim.data.qfrc_applied[right] = 1e305
    report = sim.advance_to(0.06, on_failure="return")
    assert report.status == asp.Status.NON_FINITE
    np.testing.assert_array_equal(sim.data.plastic, before)


def test_what_does_not_yield_is_refused() -> None:
    model = bar()
    with pytest.raises(asp.ModelError, match="plastic"):
        asp.rollout(model, np.zeros((1, 1 + model.nq + model.nv)), nstep=1)
    held = bar()
    held.flex_edgeequality[0] = 1
    with pytest.raises(asp.ModelError, match="do not yield"):
        asp.Simulator(held, integrator=asp.Icf())

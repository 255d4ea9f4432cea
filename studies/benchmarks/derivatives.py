"""Cost and errors of `asperity.derivatives.linearize`: ``python -m studies benchmark derivatives``.

In one run and interleaved, at the same states: `linearize` with `Icf`, central differences of
Asperity's own steps, these steps as those of one `Batch` on one thread (the least that finite
differences can cost), and `mujoco.mjd_transitionFD`, centred and forward, of the same models. In
a round each of them takes all states one after the other, as those of a trajectory are: a single
call of a fraction of a millisecond would mostly be about what others have left in the caches. The
table shows medians of times for one state and of the rounds' ratios, and the largest error of A,
‖A − D‖/‖D‖, against central differences D of steps that are solved to round-off.

A second table is about parameters: a trajectory of a thrown box with its derivatives by two and by
six of them, against the same trajectory and one more for each parameter, new values included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import mujoco
import numpy as np

import asperity as asp
from asperity.derivatives import Transition, body_mass, contact_parameter, model_number
from asperity.derivatives.convex_step import ConvexStep
from asperity.derivatives.step_differences import StepDifferences
from asperity.derivatives.tangent import StepState
from asperity.integrators.methods.icf import IcfMethod
from studies.benchmarks.saved import Table

_STEP = 1e-3
# The best of them counts: truncation limits large ones, round-off small ones.
# Chains with many contacts are so curved that 3e-9 is too large.
_SIZES = (1e-6, 1e-7, 1e-8, 3e-9, 1e-9, 3e-10)


def _snake(links: int) -> str:
    body = ""
    for index in reversed(range(links)):
        first = index == 0
        joint = "<freejoint/>" if first else f'<joint axis="0 {index % 2} {1 - index % 2}"/>'
        place = "0 0 .0199" if first else ".1 0 0"
        body = (
            f'<body pos="{place}">{joint}'
            f'<geom type="capsule" size=".02" fromto="0 0 0 .1 0 0" mass=".1"/>{body}</body>'
        )
    default = '<default><joint damping=".01"/></default>'
    return f"<mujoco>{default}<worldbody>{_FLOOR}{body}</worldbody></mujoco>"


_FLOOR = '<geom type="plane" size="5 5 .1" friction=".6"/>'
_LEG = (
    '<body pos="{x} {y} 0"><joint name="{n}1" axis="1 0 0"/><joint name="{n}2" axis="0 1 0"/>'
    '<geom type="capsule" size=".02" fromto="0 0 0 -.08 0 -.12" mass=".4"'
    ' contype="0" conaffinity="0"/>'
    '<body pos="-.08 0 -.12"><joint name="{n}3" axis="0 1 0"/>'
    '<geom type="capsule" size=".015" fromto="0 0 0 .08 0 -.12" mass=".2"'
    ' contype="0" conaffinity="0"/>'
    '<geom type="sphere" size=".02" pos=".08 0 -.12" mass=".05"/></body></body>'
)
_LEGS = {"a": (0.2, 0.12), "b": (0.2, -0.12), "c": (-0.2, 0.12), "d": (-0.2, -0.12)}


def _quadruped() -> str:
    legs = "".join(_LEG.format(n=n, x=x, y=y) for n, (x, y) in _LEGS.items())
    servos = "".join(f'<position joint="{n}{i}" kp="60" kv="1"/>' for n in _LEGS for i in (1, 2, 3))
    return (
        '<mujoco><default><joint damping=".2" armature=".005"/></default><worldbody>'
        f'{_FLOOR}<body pos="0 0 .258"><freejoint/>'
        f'<geom type="box" size=".22 .1 .04" mass="6" contype="0" conaffinity="0"/>{legs}</body>'
        f"</worldbody><actuator>{servos}</actuator></mujoco>"
    )


def _pile(bodies: int) -> str:
    boxes = "".join(
        f'<body pos="{0.22 * (i % 3)} {0.22 * (i // 3 % 2)} {0.0995 + 0.199 * (i // 6)}">'
        '<freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>'
        for i in range(bodies)
    )
    return f"<mujoco><worldbody>{_FLOOR}{boxes}</worldbody></mujoco>"


MODELS: dict[str, Callable[[], str]] = {
    "box": lambda: _pile(1),
    "quadruped": _quadruped,
    "5 boxes": lambda: _pile(5),
    "10 boxes": lambda: _pile(10),
    "snake of 25 links": lambda: _snake(25),
    "snake of 55 links": lambda: _snake(55),
}


def _states(model: mujoco.MjModel, count: int, integrator: asp.Icf) -> list[mujoco.MjData]:
    random = np.random.default_rng(5)
    states = []
    for _ in range(count):
        data = mujoco.MjData(model)
        data.qvel[:] = 0.1 * random.normal(size=model.nv)
        data.ctrl[:] = 0.1 * random.normal(size=model.nu)
        asp.step(model, data, int(random.integers(20, 80)), integrator=integrator)
        states.append(data)
    return states


def _timed(function: Callable[[], object]) -> float:
    before = time.process_time()
    function()
    return time.process_time() - before


def _error(model: mujoco.MjModel, integrator: asp.Icf, data: mujoco.MjData) -> float:
    """Of A against central differences of steps that are solved to round-off."""
    lin = asp.derivatives.linearize(model, data, integrator=integrator)
    simulator = asp.Simulator(model, integrator=integrator)
    method = simulator.session.method.base
    assert isinstance(method, IcfMethod)
    convex = ConvexStep(simulator.session.world, method)
    for state in simulator.session.world.evaluated_states:
        state.data.ctrl[:] = data.ctrl
    nv = model.nv
    errors = []
    for size in _SIZES:
        columns = []
        for index in range(2 * nv):
            ends = []
            for sign in (1.0, -1.0):
                change = np.zeros(2 * nv)
                change[index] = sign * size
                qpos = data.qpos.copy()
                mujoco.mj_integratePos(model, qpos, change[:nv].copy(), 1.0)
                start = StepState(data.time, qpos, data.qvel + change[nv:], data.act.copy())
                ends.append(convex.end(start, _STEP))
            position = np.zeros(nv)
            mujoco.mj_differentiatePos(model, position, 1.0, ends[1].qpos, ends[0].qpos)
            columns.append(np.concatenate([position, ends[0].qvel - ends[1].qvel]) / (2 * size))
        wanted = np.array(columns).T
        errors.append(float(np.linalg.norm(lin.A - wanted) / np.linalg.norm(wanted)))
    return min(errors)


class _BatchOfSteps:
    """The steps of central differences as one step of so many worlds, in compiled code."""

    def __init__(
        self, model: mujoco.MjModel, integrator: asp.Icf, states: list[mujoco.MjData]
    ) -> None:
        nv, size = model.nv, 2 * model.nv + model.nu
        self._batch = asp.Batch(model, 2 * size, integrator=integrator, threads=1)
        self._states = []
        for data in states:
            qpos, qvel, ctrl = (
                np.tile(one, (2 * size, 1)) for one in (data.qpos, data.qvel, data.ctrl)
            )
            for world in range(2 * size):
                change = np.zeros(size)
                change[world // 2] = 1e-6 if world % 2 else -1e-6
                mujoco.mj_integratePos(model, qpos[world], change[:nv].copy(), 1.0)
                qvel[world] += change[nv : 2 * nv]
                ctrl[world] += change[2 * nv :]
            self._states.append((qpos, qvel, ctrl))

    def step(self) -> None:
        """Take them from every state."""
        for qpos, qvel, ctrl in self._states:
            self._batch.qpos[:], self._batch.qvel[:], self._batch.ctrl[:] = qpos, qvel, ctrl
            self._batch.step()


def measure(name: str, rounds: int, count: int) -> list[str]:
    """One row of the table."""
    model = mujoco.MjModel.from_xml_string(MODELS[name]())
    model.opt.timestep = _STEP
    # Steps after which bodies rebound have no derivative.
    integrator = asp.Icf(time_step=_STEP, resolve_impacts=False)
    states = _states(model, count, integrator)
    size = 2 * model.nv + model.na
    by_state, by_control = np.zeros((size, size)), np.zeros((size, model.nu))
    simulator = asp.Simulator(model, integrator=integrator)
    differences = StepDifferences(simulator)
    starts = [
        StepState(data.time, data.qpos.copy(), data.qvel.copy(), data.act.copy()) for data in states
    ]
    batch = _BatchOfSteps(model, integrator, states)
    control = by_control if model.nu else None

    def transition(data: mujoco.MjData, centred: bool) -> None:
        mujoco.mjd_transitionFD(model, data, 1e-6, centred, by_state, control, None, None)

    times: list[list[float]] = []
    for turn in range(rounds + 1):
        for data in states:
            mujoco.mj_forward(model, data)
        one = [
            _timed(
                lambda: [
                    asp.derivatives.linearize(model, data, integrator=integrator) for data in states
                ]
            ),
            _timed(lambda: [differences.at(start, _STEP) for start in starts]),
            _timed(batch.step),
            _timed(lambda: [transition(data, True) for data in states]),
            _timed(lambda: [transition(data, False) for data in states]),
        ]
        if turn > 0:  # the first one warms up
            times.append(one)
    table = np.array(times) / count
    medians = 1e3 * np.median(table, axis=0)
    ratios = np.median(table[:, :1] / table[:, 1:], axis=0)
    error = max(_error(model, integrator, data) for data in states)
    contacts = np.mean([data.ncon for data in states])
    times = (f"{value:.2f}" for value in medians)
    own, batch, *theirs = ratios
    over = f"{own:.3f}", f"{batch:.3f}", *(f"{value:.2f}" for value in theirs)
    return [name, str(model.nv), f"{contacts:.0f}", *times, *over, f"{error:.0e}"]


_THROWN = f"""<mujoco><worldbody>{_FLOOR.replace(".6", ".01")}
  <body name="box" pos="0 0 .25"><freejoint name="box"/>
    <geom type="box" size=".1 .08 .06" mass="1.3" friction=".35"/></body>
  </worldbody><actuator><motor joint="box" gear="1 0 0 0 0 0"/></actuator></mujoco>"""
_LENGTH = 400


def measure_parameters(count: int, rounds: int) -> list[str]:
    """One row of the table of parameters."""
    model = mujoco.MjModel.from_xml_string(_THROWN)
    data = mujoco.MjData(model)
    data.qvel[:] = 1.5, 0.3, 0.0, 0.5, 4.0, 1.0
    contact = asp.ContactParameters(stiffness=2e4, dissipation=2.0)
    parameters = [
        model_number(model, "geom_friction", (1, 0)),
        body_mass(model, "box"),
        *(model_number(model, "body_inertia", (1, axis)) for axis in range(3)),
        contact_parameter("dissipation", 2.0),
    ][:count]
    transition = Transition(
        model,
        integrator=asp.Icf(time_step=2e-3, resolve_impacts=False),
        contact=contact,
        parameters=parameters,
    )
    start = transition.state_of(data)
    push = 3.0 * np.sin(0.016 * np.arange(_LENGTH))[:, None]
    values = transition.values

    def forward(turn: int) -> None:
        transition.set_parameters(values * (1.0 + 1e-6 * turn))
        transition.sensitivities(start, push)

    def differences(turn: int) -> None:
        for index in range(count + 1):
            moved = values * (1.0 + 1e-6 * turn)
            moved[index : index + 1] *= 1.0 + 1e-6  # of the last trajectory nothing
            transition.set_parameters(moved)
            transition.trajectory(start, push)

    times = []
    for turn in range(rounds + 1):
        one = [
            _timed(lambda turn=turn: forward(turn)),  # type: ignore[misc]
            _timed(lambda turn=turn: differences(turn)),  # type: ignore[misc]
        ]
        if turn > 0:
            times.append(one)
    table = np.array(times)
    medians = 1e3 * np.median(table, axis=0)
    ratio = np.median(table[:, 0] / table[:, 1])
    return [str(count), *(f"{value:.2f}" for value in (*medians, ratio))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--states", type=int, default=5)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    arguments = parser.parse_args()
    table = Table(
        *("model", "nv", "contacts", "linearize", "differences of its steps", "in a Batch"),
        *("transitionFD, centred", "forward", "ratio to own differences", "to those in a Batch"),
        *("to centred", "to forward", "largest error"),
    )
    for name in arguments.models:
        table.add(*measure(name, arguments.rounds, arguments.states))
    text = (
        f"A box thrown over the floor, {_LENGTH} steps of 2 ms, by friction, mass, inertias and "
        "dissipation:"
    )
    table.begin("parameters", "forward sensitivities", "differences", "ratio", text=text)
    for count in (2, 6):
        table.add(*measure_parameters(count, arguments.rounds))
    if arguments.save:
        note = f"Steps of 1 ms, `Icf`, times in ms, medians of {arguments.rounds} rounds."
        table.save("derivatives", "Derivatives", note)


if __name__ == "__main__":
    main()

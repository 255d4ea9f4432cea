"""Soft bodies against ``mj_step``: ``python -m studies benchmark soft``.

Two fingers close on a cube of 5³ vertices, lift it and hold it; and a cube of 10³ vertices lies on
the floor. Both engines simulate the same model with the same controls, one after the other; the
table shows medians of CPU times over runs. Slip is how far the middle of the held cube has come
down in the grip between 1.2 s and the end. ``careful`` is MuJoCo with the time constant of its
contacts at twice the step and with ``impratio`` 100.

``--pads`` has a ball of 100 g that the fingers pick up with soft pads of 3 × 5² vertices, whose
backs are fixed to them.

``--midas`` has these scenes with `Midas` in steps of 10 ms and two more: a cube of 5³ vertices lies
on the floor, and the cloth of ``examples/cloth_over_ball.py`` drapes over its ball.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np

import asperity as asp
from examples import cloth_over_ball
from studies.benchmarks.saved import Table

__all__ = ["Run", "grasp", "pads", "rest"]

# Of the grasp: when the fingers have closed and been lifted, and when the run ends [s].
_HELD, _END = 1.2, 2.0
_CONTROL_PERIOD = 0.02  # [s]
_RESTS = 0.3  # [s]
_OUT = 0.025  # half of the cube: it is no longer between the fingers [m]

# Of a cube's middle: where it touches the floor, and where Midas may begin [m].
_TOUCHING, _APART = 0.0255, 0.0265

_CUBE = (
    "<flexcomp name='cube' type='grid' dim='3' count='{count} {count} {count}'"
    " spacing='{spacing} {spacing} {spacing}' pos='0 0 {height}' radius='0.0005' mass='0.0625'>"
    "<elasticity young='1e5' poisson='0.3' damping='0.002'/>"
    "<contact selfcollide='none' friction='0.8'/></flexcomp>"
)
_FINGER = (
    "<body name='{name}' gravcomp='1' pos='{x} 0 0'><joint name='{name}' type='slide'"
    " axis='1 0 0'/><geom type='box' size='0.01 0.04 0.02' mass='0.2' friction='0.8'/></body>"
)
_PAD = (
    "<body name='{name}' gravcomp='1' pos='{x} 0 0'><joint name='{name}' type='slide'"
    " axis='1 0 0'/><geom type='box' size='0.005 0.022 0.022' mass='0.2' contype='0'"
    " conaffinity='0'/><flexcomp name='{name}_pad' type='grid' dim='3' count='3 5 5'"
    " spacing='0.01 0.01 0.01' pos='{pad} 0 0' radius='0.0005' mass='0.02'>"
    "<pin gridrange='{back} 0 0 {back} 4 4'/>"
    "<elasticity young='5e4' poisson='0.3' damping='0.005'/>"
    "<contact selfcollide='none' friction='0.8'/></flexcomp></body>"
)
_BALL = (
    "<body name='ball' pos='0 0 {height}'><freejoint name='ball'/>"
    "<geom type='sphere' size='0.02' mass='0.1' friction='0.8'/></body>"
)


class Run(NamedTuple):
    """What a run has come to."""

    per_step: float
    """CPU time of a step [s]."""
    per_second: float
    """CPU time of a simulated second [s]."""
    slip: float
    """[m]."""


def _model(body: str, actuators: str = "") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        "<mujoco><option integrator='discrete'/><worldbody>"
        f"<geom type='plane' size='1 1 0.1'/>{body}</worldbody>{actuators}</mujoco>"
    )


def grasp(count: int = 5, height: float = _TOUCHING) -> mujoco.MjModel:
    """Fingers on a lift, with servos, and a cube of so many vertices along each edge.

    The height [m] is that of the cube's middle at the beginning.
    """
    fingers = "".join(_FINGER.format(name=n, x=x) for n, x in (("left", -0.037), ("right", 0.037)))
    return _hand(fingers, _CUBE.format(count=count, spacing=0.05 / (count - 1), height=height))


def pads(height: float = 0.02) -> mujoco.MjModel:
    """Fingers with soft pads, and a rigid ball of 20 mm, whose centre is at a height [m]."""
    left = _PAD.format(name="left", x=-0.05, pad=0.015, back=0)
    return _hand(
        left + _PAD.format(name="right", x=0.05, pad=-0.015, back=2), _BALL.format(height=height)
    )


def _hand(fingers: str, held: str) -> mujoco.MjModel:
    servos = "".join(
        f"<position joint='{n}' kp='2000' kv='60'/>" for n in ("left", "right", "lift")
    )
    return _model(
        "<body name='lift' gravcomp='1' pos='0 0 0.025'>"
        "<inertial mass='1' pos='0 0 0' diaginertia='0.01 0.01 0.01'/>"
        f"<joint name='lift' type='slide' axis='0 0 1'/>{fingers}</body>{held}",
        f"<actuator>{servos}</actuator>",
    )


def rest(count: int = 10, height: float = _TOUCHING) -> mujoco.MjModel:
    """A cube on the floor."""
    return _model(_CUBE.format(count=count, spacing=0.05 / (count - 1), height=height))


def _close_and_lift(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    close = 0.012 * min(data.time / 0.3, 1.0)
    data.ctrl[:] = [close, -close, 0.1 * np.clip((data.time - 0.4) / 0.5, 0.0, 1.0)]


def _height(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """Of the middle of the cube, or ball, above the fingers [m]."""
    if model.njnt and mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, "ball") >= 0:
        return float(data.joint("ball").qpos[2] - data.joint("lift").qpos[0])
    other = mujoco.MjData(model)
    other.qpos[:] = data.qpos
    mujoco.mj_kinematics(model, other)
    mujoco.mj_comPos(model, other)
    mujoco.mj_flex(model, other)
    lift = data.joint("lift").qpos[0] if model.nu else 0.0
    return float(other.flexvert_xpos[:, 2].mean() - lift)


def _slip(before: float, after: float) -> float:
    """By heights above the fingers; infinite of what stays on the floor."""
    return before - after if after > 0.0 else np.inf


def _asperity(model: mujoco.MjModel, integrator: asp.Integrator, held: float, end: float) -> Run:
    grasps = model.nu > 0
    sim = asp.Simulator(
        model,
        integrator=integrator,
        control=_close_and_lift if grasps else None,
        control_period=_CONTROL_PERIOD if grasps else None,
    )
    # Compilation and the first call are not what is measured.
    sim.advance_to(_CONTROL_PERIOD)
    steps, spent = sim.stats.steps, -time.thread_time()
    sim.advance_to(held)
    spent += time.thread_time()
    before = _height(model, sim.data)
    spent -= time.thread_time()
    sim.advance_to(end)
    spent += time.thread_time()
    slip = _slip(before, _height(model, sim.data))
    return Run(spent / (sim.stats.steps - steps), spent / (end - _CONTROL_PERIOD), slip)


def _mujoco(model: mujoco.MjModel, step: float, careful: bool, held: float, end: float) -> Run:
    model = copy.copy(model)
    model.opt.timestep = step
    if careful:
        model.opt.impratio = 100.0
        model.geom_solref[:, 0] = model.flex_solref[:, 0] = 2.0 * step
    data = mujoco.MjData(model)
    every = round(_CONTROL_PERIOD / step)
    before, spent = 0.0, 0.0
    count = round(end / step)
    for number in range(count):
        if number == round(held / step):
            before = _height(model, data)
        spent -= time.thread_time()
        if model.nu and number % every == 0:
            _close_and_lift(model, data)
        mujoco.mj_step(model, data)
        spent += time.thread_time()
    return Run(spent / count, spent / end, _slip(before, _height(model, data)))


_Job = tuple[str, Callable[[], Run]]


def _jobs() -> tuple[_Job, ...]:
    """Names of runs, and what does them."""
    held, lying = grasp(), rest()
    grasped = (_HELD, _END)
    lies = (_RESTS, 2.0 * _RESTS)
    return (
        ("grasp, 5³ | Icf, 2 ms", lambda: _asperity(held, asp.Icf(time_step=2e-3), *grasped)),
        ("grasp, 5³ | Cenic, 1e-3", lambda: _asperity(held, asp.Cenic(), *grasped)),
        ("grasp, 5³ | MuJoCo, 2 ms", lambda: _mujoco(held, 2e-3, False, *grasped)),
        ("grasp, 5³ | MuJoCo, 2 ms, careful", lambda: _mujoco(held, 2e-3, True, *grasped)),
        ("rest, 10³ | Icf, 10 ms", lambda: _asperity(lying, asp.Icf(time_step=1e-2), *lies)),
        ("rest, 10³ | MuJoCo, 10 ms", lambda: _mujoco(lying, 1e-2, False, *lies)),
    )


def _pad_jobs() -> tuple[_Job, ...]:
    """Names of runs with soft pads, and what does them."""
    held, apart = pads(), pads(0.021)
    grasped = (_HELD, _END)
    return (
        ("pads, 3 × 5² | Icf, 2 ms", lambda: _asperity(held, asp.Icf(time_step=2e-3), *grasped)),
        ("pads, 3 × 5² | Cenic, 1e-3", lambda: _asperity(held, asp.Cenic(), *grasped)),
        ("pads, 3 × 5² | Midas, 10 ms", lambda: _asperity(apart, asp.Midas(), *grasped)),
        ("pads, 3 × 5² | MuJoCo, 2 ms", lambda: _mujoco(held, 2e-3, False, *grasped)),
        ("pads, 3 × 5² | MuJoCo, 2 ms, careful", lambda: _mujoco(held, 2e-3, True, *grasped)),
    )


def _midas_jobs() -> tuple[_Job, ...]:
    """Names of runs with `Midas`, and what does them."""
    midas = asp.Midas(time_step=1e-2)
    small, large, held = rest(5, _APART), rest(10, _APART), grasp(5, _APART)
    text = cloth_over_ball.SCENE.format(count=16, friction=0.5, spacing=0.3 / 15)
    cloth = mujoco.MjModel.from_xml_string(text)
    lies = (_RESTS, 2.0 * _RESTS)
    drapes = (cloth_over_ball.DRAPED, cloth_over_ball.DURATION)
    return (
        ("rest, 5³ | Midas, 10 ms", lambda: _asperity(small, midas, *lies)),
        ("rest, 10³ | Midas, 10 ms", lambda: _asperity(large, midas, *lies)),
        ("grasp, 5³ | Midas, 10 ms", lambda: _asperity(held, midas, _HELD, _END)),
        ("cloth, 16² | Midas, 10 ms", lambda: _asperity(cloth, midas, *drapes)),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--midas", action="store_true", help="scenes with Midas alone")
    parser.add_argument("--pads", action="store_true", help="fingers with soft pads")
    parser.add_argument("--save", action="store_true", help="write studies/benchmarks/results")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", asp.AsperityWarning)
    jobs = _midas_jobs() if options.midas else _pad_jobs() if options.pads else _jobs()
    found: list[list[Run]] = [[] for _ in jobs]
    for _ in range(options.repeat):
        for (_, run), runs in zip(jobs, found, strict=True):
            runs.append(run())
    table = Table("scene", "engine", "ms per step", "CPU s per simulated s", "slip [mm]")
    for (name, _), runs in zip(jobs, found, strict=True):
        per_step, per_second, slip = np.median(np.array(runs), axis=0)
        moved = "falls" if slip > _OUT else f"{1e3 * slip:.4f}"
        moved = moved if name.startswith(("grasp", "pads")) else "–"
        table.add(name, f"{1e3 * per_step:.2f}", f"{per_second:.3f}", moved)
    if options.save:
        note = f"Medians of {options.repeat} runs, CPU times."
        name, title = "soft", "Soft bodies"
        if options.midas:
            name, title = "soft_midas", "Soft bodies in Midas"
        elif options.pads:
            name, title = "soft_pads", "Soft pads"
        table.save(name, title, note)


if __name__ == "__main__":
    main()

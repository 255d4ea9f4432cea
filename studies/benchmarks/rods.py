"""Rods, ropes and cloth beside MuJoCo's at equal errors: ``python -m studies benchmark rods``.

A rod under its weight, Γ = ρ g A L³/EI = 1, comes to rest at 0.12352 L below its clamp, and so does
a strip of cloth, a quarter as wide, without Poisson's effect. A rope of 1.5 m hangs between
supports 1 m apart in a catenary, in which Midas has no dampers of vertices. Every engine tries
numbers of edges and steps; the table has the cheapest try whose error is below a percent, by the
CPU time of 4 simulated seconds. ``adjusted`` is MuJoCo with what it leaves to the modeller: a rod
that begins in the middle of the clamped edge, where its bending does, and equalities with a time
constant of two steps. The last vertex of a rod has half of the others' mass in every engine. Cloth
begins in that middle, and its vertices have the mass of their areas, in every engine.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.optimize import brentq

import asperity as asp
from studies.benchmarks.saved import Table

_END = 4.0  # [s]
_EDGES = (10, 20, 40, 80, 160)
_ROWS = (10, 20, 40)  # of cloth, which has five times as many as columns
_STEPS = (1e-3, 2e-3, 5e-3, 1e-2)
_ERROR = 1e-2
_ENGINES = ("Icf", "Cenic", "MuJoCo", "MuJoCo, adjusted")
_FIXED = {"Icf": asp.Icf, "Midas": asp.Midas}
_SAG = 0.12352  # of the elastica, over L
_SPAN, _LENGTH = 1.0, 1.5


class Try(NamedTuple):
    """What a run has come to."""

    edges: int
    step: str
    error: float
    seconds: float


def _model(
    points: np.ndarray, inner: str, mass: float, step: float, adjusted: bool
) -> mujoco.MjModel:
    stiff = f" solref='{2.0 * step} 1'" if adjusted else ""
    elements = " ".join(f"{i} {i + 1}" for i in range(len(points) - 1))
    text = " ".join(f"{x:.17g}" for x in points.ravel())
    return mujoco.MjModel.from_xml_string(
        f"<mujoco><option integrator='discrete' timestep='{step}'/><worldbody>"
        f"<flexcomp name='f' type='direct' dim='1' mass='{mass}' radius='0.005' point='{text}'"
        f" element='{elements}'>{inner}<edge equality='true'{stiff}/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
        "</worldbody></mujoco>"
    )


def _rod(edges: int, step: float, adjusted: bool) -> mujoco.MjModel:
    """Clamped at x = 0 by one more edge; ``adjusted`` for MuJoCo by half an edge."""
    length = 1.0 / (edges + 0.5) if adjusted else 1.0 / edges
    points = np.zeros((edges + 2, 3))
    points[:, 0] = length * (np.arange(edges + 2) - (0.5 if adjusted else 1.0))
    mass = 0.1
    young = mass * 9.81 / (np.pi * 0.005**4 / 4.0)
    inner = f"<elasticity young='{young}' poisson='0.3' damping='0.05'/><pin id='0 1'/>"
    model = _model(points, inner, mass * length * (edges + 2), step, adjusted)
    tip = model.flex_vertbodyid[-1]
    model.body_mass[tip] *= 0.5
    model.body_inertia[tip] *= 0.5
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _rope(edges: int, step: float, adjusted: bool) -> mujoco.MjModel:
    """Equal edges along a circle's arc between the supports."""
    turns = np.arange(edges) - 0.5 * (edges - 1)
    turn = brentq(lambda a: _LENGTH / edges * np.cos(a * turns).sum() - _SPAN, 1e-6, 4.0 / edges)
    steps = np.stack([np.cos(turn * turns), 0.0 * turns, np.sin(turn * turns)], axis=1)
    points = np.vstack([np.zeros(3), np.cumsum(_LENGTH / edges * steps, axis=0)])
    model = _model(points, f"<pin id='0 {edges}'/>", 0.1, step, adjusted)
    # It swings for long: both engines get the same damper at every vertex.
    model.dof_damping[:] = 5.0 * model.body_mass[model.dof_bodyid]
    return model


def _cloth(rows: int, step: float, _: bool) -> mujoco.MjModel:
    """A strip along x, clamped by two rows of vertices around x = 0."""
    columns, length = rows // 5, 1.0 / (rows + 0.5)
    wide, thickness, mass = 0.25, 0.01, 0.02
    young = 12.0 * mass * 9.81 / (wide * thickness**3)
    held = " ".join(map(str, range(2 * columns + 2)))
    at = 0.5 * (rows + 1) * length - 0.5 * length
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><option integrator='discrete' timestep='{step}'/><worldbody>"
        f"<flexcomp name='f' type='grid' dim='2' mass='1' radius='0.005' pos='{at} 0 0'"
        f" count='{rows + 2} {columns + 1} 1' spacing='{length} {wide / columns} 1'>"
        f"<pin id='{held}'/><elasticity young='{young}' poisson='0' damping='0.05'"
        f" thickness='{thickness}' elastic2d='both'/>"
        "<contact contype='0' conaffinity='0' selfcollide='none'/></flexcomp>"
        "</worldbody></mujoco>"
    )
    share = np.full((rows + 2, columns + 1), length / columns)
    share[-1] *= 0.5
    share[:, [0, -1]] *= 0.5
    for body, part in zip(model.flex_vertbodyid, share.ravel(), strict=True):
        if body:
            model.body_inertia[body] *= mass * part / model.body_mass[body]
            model.body_mass[body] = mass * part
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _rod_error(model: mujoco.MjModel, x: np.ndarray) -> float:
    return abs(-x[-1, 2] / _SAG - 1.0)


def _rope_error(model: mujoco.MjModel, x: np.ndarray) -> float:
    a = brentq(lambda a: 2.0 * a * np.sinh(0.5 * _SPAN / a) - _LENGTH, 0.05, 10.0)
    sag = a * (np.cosh(0.5 * _SPAN / a) - 1.0)
    return abs(-x[:, 2].min() / sag - 1.0)


def _asperity(model: mujoco.MjModel, integrator: asp.Integrator) -> tuple[np.ndarray, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", asp.AsperityWarning)
        sim = asp.Simulator(model, integrator=integrator)
    sim.advance_to(1e-4)  # compiles
    begin = time.process_time()
    sim.advance_to(_END)
    return np.array(sim.data.flexvert_xpos), time.process_time() - begin


def _mujoco(model: mujoco.MjModel) -> tuple[np.ndarray, float]:
    data = mujoco.MjData(model)
    begin = time.process_time()
    while data.time < _END - 1e-9 and not data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
        mujoco.mj_step(model, data)
    return np.array(data.flexvert_xpos), time.process_time() - begin


def _tries(
    make: Callable[[int, float, bool], mujoco.MjModel],
    error: Callable[[mujoco.MjModel, np.ndarray], float],
    engine: str,
    counts: tuple[int, ...],
) -> Iterator[Try]:
    for edges in counts:
        if engine == "Cenic":
            model = make(edges, _STEPS[0], False)
            x, seconds = _asperity(model, asp.Cenic(accuracy=1e-3))
            yield Try(edges, "1e-3", error(model, x), seconds)
            continue
        for step in _STEPS:
            model = make(edges, step, engine.endswith("adjusted"))
            if engine in _FIXED:
                x, seconds = _asperity(model, _FIXED[engine](time_step=step))
            else:
                x, seconds = _mujoco(model)
            found = error(model, x)
            yield Try(edges, f"{1e3 * step:g} ms", found if np.isfinite(found) else np.inf, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    table = Table("scene", "engine", "edges", "step", "error", "CPU ms", "times Icf")
    for name, make, error, engines, counts in (
        ("rod", _rod, _rod_error, (*_ENGINES, "Midas"), _EDGES),
        ("rope", _rope, _rope_error, _ENGINES, _EDGES),
        ("cloth", _cloth, _rod_error, (*_ENGINES[:-1], "Midas"), _ROWS),
    ):
        ours = np.nan
        for engine in engines:
            tries = list(_tries(make, error, engine, counts))
            good = [one for one in tries if one.error < _ERROR]
            best = min(good, key=lambda one: one.seconds, default=None)
            ours = best.seconds if best is not None and engine == "Icf" else ours
            shown = best or min(tries, key=lambda one: one.error)
            over = "–" if best is None else f"{best.seconds / ours:.2g}"
            cells = shown.edges, shown.step, f"{shown.error:.1%}", f"{1e3 * shown.seconds:.3g}"
            table.add(name, engine, *cells, over)
    if options.save:
        table.save("rods", "Rods, ropes and cloth at equal errors", "CPU times of 4 s.")


if __name__ == "__main__":
    main()

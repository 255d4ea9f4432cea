"""Soft cantilevers under a force at the tip: Asperity, MuJoCo and Timoshenko's beam.

    python examples/soft_cantilever.py

The beam is 1 m long, with a side of 0.1 m, of few cells through its thickness. Both engines load
the same model. The table has the deflection of the tip over that of Timoshenko's beam.
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

import asperity as asp

YOUNG = 1e6  # [Pa]
FORCE = 1e-3  # [N]
CASES = ((1, 0.0), (1, 0.3), (1, 0.45), (2, 0.3), (2, 0.45))


def beam(cells: int, poisson: float) -> mujoco.MjModel:
    """A beam along x from 0 to 1 m, clamped at x = 0, without gravity."""
    spacing = 0.1 / cells
    return mujoco.MjModel.from_xml_string(f"""
        <mujoco><option integrator="discrete" gravity="0 0 0" timestep="0.01"/><worldbody>
          <body name="wall">
            <flexcomp name="beam" type="grid" dim="3" radius="0.001" pos="0.5 0 0" mass="1"
                count="{10 * cells + 1} {cells + 1} {cells + 1}"
                spacing="{spacing} {spacing} {spacing}">
              <pin gridrange="0 0 0 0 {cells} {cells}"/>
              <elasticity young="{YOUNG}" poisson="{poisson}" damping="0.1"/>
              <contact contype="0" conaffinity="0" selfcollide="none"/>
            </flexcomp></body></worldbody></mujoco>""")


def load(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Pull the vertices at the tip upwards; returns the addresses of their heights."""
    mujoco.mj_forward(model, data)
    tip = np.flatnonzero(data.flexvert_xpos[:, 0] > 1.0 - 1e-6)
    dofs = model.body_dofadr[model.flex_vertbodyid[tip]] + 2
    data.qfrc_applied[dofs] = FORCE / len(tip)
    return np.asarray(model.jnt_qposadr[model.dof_jntid[dofs]])


def in_asperity(model: mujoco.MjModel) -> float:
    """Deflection of the tip at rest [m]; long implicit steps lead there."""
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=100.0))
    heights = load(model, sim.data)
    sim.advance_to(500.0)
    return float(sim.data.qpos[heights].mean())


def in_mujoco(model: mujoco.MjModel) -> float:
    """Deflection of the tip when it has come to rest [m]."""
    data = mujoco.MjData(model)
    heights = load(model, data)
    before = np.inf
    while abs(data.qpos[heights].mean() - before) > 1e-5 * abs(before) or before == np.inf:
        before = data.qpos[heights].mean()
        mujoco.mj_step(model, data, 500)
    return float(data.qpos[heights].mean())


def rows() -> Iterator[tuple[int, float, float, float]]:
    """Cells, Poisson's ratio, and both deflections over that of Timoshenko's beam."""
    for cells, poisson in CASES:
        model = beam(cells, poisson)
        shear = YOUNG / (2.0 * (1.0 + poisson))
        bending = 1.0 / (3.0 * YOUNG * 0.1**4 / 12.0)
        truth = FORCE * (bending + 1.0 / (5.0 / 6.0 * shear * 0.01))
        yield cells, poisson, in_asperity(model) / truth, in_mujoco(model) / truth


def main() -> None:
    print("cells  Poisson's ratio  Asperity  MuJoCo")
    for cells, poisson, ours, theirs in rows():
        print(f"{cells:5}  {poisson:15}  {ours:8.3f}  {theirs:6.3f}")


if __name__ == "__main__":
    main()

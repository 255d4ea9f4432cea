"""Flexes moved out of geoms in a given state, each as a whole."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.pose.touching import state_data
from asperity.plant.model.flexes import flex_particles, frame_body, free_particles, particle_bodies

__all__ = ["separate_flexes"]

_ROUNDS = 100
# Shares of the activation distance: what a flex is brought away by, and what is enough.
_APART, _ENOUGH = 1.02, 0.985
_REACH = 4.0


def _first_coordinates(model: mujoco.MjModel, flex: int) -> np.ndarray:
    """Where the coordinates of a flex's particles begin; none if one does not move in the world."""
    particles = flex_particles(model, flex)
    if model.flex_rigid[flex] or frame_body(model, flex) or not free_particles(model, flex).all():
        return np.zeros(0, np.int64)
    joints = model.body_jntadr[particle_bodies(model)[particles]]
    return np.asarray(model.jnt_qposadr[joints], np.int64)


def separate_flexes(engine: Engine) -> bool:
    """Push flexes that nothing is pinned of along the normals of MuJoCo's contacts with geoms.

    Geoms stay where they are. Whether that is enough is for a check of distances to say.

    Parameters
    ----------
    engine : Engine

    Returns
    -------
    bool
        Whether the state is another one now.
    """
    model = engine.model
    places = [_first_coordinates(model, flex) for flex in range(model.nflex)]
    activation = float(engine.table.options.activation)
    changed = False
    for _ in range(_ROUNDS):
        data = state_data(engine)
        mujoco.mj_flex(model, data)
        with engine.own_options as lent:
            lent.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
            lent.opt.o_margin = _REACH * activation
            engine.own_options.replace("flex_selfcollide", np.zeros(model.nflex, np.int32))
            mujoco.mj_collision(lent, data)
        deepest: dict[int, tuple[float, np.ndarray]] = {}
        for contact in data.contact:
            for side, sign in ((0, -1.0), (1, 1.0)):
                flex, distance = int(contact.flex[side]), float(contact.dist)
                if flex < 0 or contact.geom[1 - side] < 0 or distance >= _ENOUGH * activation:
                    continue
                if distance < deepest.get(flex, (np.inf, None))[0]:
                    deepest[flex] = distance, sign * np.array(contact.frame[:3])
        moves = {flex: one for flex, one in deepest.items() if len(places[flex])}
        if not moves:
            break
        for flex, (distance, normal) in moves.items():
            data.qpos[places[flex][:, None] + np.arange(3)] += (
                _APART * activation - distance
            ) * normal
        engine.set_state(data.qpos, engine.table.poses.qvel.copy())
        changed = True
    return changed

"""Flexes that overlap something in a given state: moved out of geoms, or let through."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.model.overlaps import is_held_by
from asperity.midas.model.pairs import FlexPair
from asperity.midas.pose.touching import state_data
from asperity.plant.model.flexes import flex_particles, frame_body, free_particles, particle_bodies

__all__ = ["clear_flexes"]

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


def clear_flexes(
    engine: Engine, *, overlaps: str, first: bool
) -> tuple[bool, dict[FlexPair, float]]:
    """Move flexes out of geoms, or let them pass through what they overlap, if that is allowed.

    Parameters
    ----------
    engine : Engine
    overlaps : {"exclude", "refuse", "separate"}
        Of `asperity.midas.preset.Midas`.
    first : bool
        Whether this is the state that the simulator is made in, the only one in which anything is
        let through.

    Returns
    -------
    changed : bool
        Whether the engine has another state now.
    passing : dict
        What may not touch from now on, with its distance [m].
    """
    soft = engine.soft
    assert soft is not None
    passing: dict[FlexPair, float] = {}
    start, qvel = engine.table.poses.qpos.copy(), engine.table.poses.qvel.copy()
    changed = False
    while overlaps != "refuse" and (found := soft.overlapping()):
        held = {pair: found[pair] for pair in found if first and is_held_by(engine, pair)}
        if not held and overlaps == "separate":
            changed = _separate(engine)
            if not soft.overlapping():
                break
            if first:
                # The deepest one has no room, and keeps others from having any.
                engine.set_state(start, qvel)
                changed = False
                deepest = min(found, key=lambda pair: found[pair])
                held = {deepest: found[deepest]}
        if not held:
            break
        engine.exclude(held)
        passing |= held
    return changed, passing


def _separate(engine: Engine) -> bool:
    """Push flexes that nothing is pinned of along the normals of MuJoCo's contacts with geoms.

    Geoms stay where they are. Whether that is enough is for a check of distances to say. Returns
    whether the state is another one now.
    """
    model = engine.model
    places = [_first_coordinates(model, flex) for flex in range(model.nflex)]
    activation = float(engine.table.options.activation)
    assert engine.soft is not None
    pairs = engine.soft.pairs()
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
                geom = int(contact.geom[1 - side])
                if FlexPair(flex, geom) not in pairs or distance >= _ENOUGH * activation:
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

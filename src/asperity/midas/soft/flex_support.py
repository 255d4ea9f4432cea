"""What the engine does not simulate of deformable bodies, besides what no integrator does."""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.errors import ModelError
from asperity.plant.model.flexes import (
    flex_particles,
    frame_body,
    free_particles,
    particle_bodies,
)
from asperity.plant.model.names import element, listed
from asperity.plant.model.ropes import rope_twists

__all__ = ["check_midas_flexes", "may_touch_flex", "soft_notes"]

_TOLERANCE = 1e-9
_OBJ = mujoco.mjtObj


def may_touch_flex(model: mujoco.MjModel, flex: int, geom: int) -> bool:
    """Whether a geom and a flex may touch, by their affinities, and as they are on two bodies."""
    frame = frame_body(model, flex)
    if (frame != 0 or model.flex_rigid[flex]) and model.body_weldid[
        model.geom_bodyid[geom]
    ] == frame:
        return False
    return bool(
        model.geom_contype[geom] & model.flex_conaffinity[flex]
        or model.flex_contype[flex] & model.geom_conaffinity[geom]
    )


def check_midas_flexes(model: mujoco.MjModel) -> None:
    """Refuse flexes, and what is about them, that the engine would simulate wrongly.

    Raises
    ------
    ModelError
        Naming the element and what to do.
    """
    if model.nflex == 0:
        return
    for flex in range(model.nflex):
        name = element(model, _OBJ.mjOBJ_FLEX, flex)
        if not model.flex_radius[flex] > 0.0 and model.flex_dim[flex] == 1:
            raise ModelError(f"{name} has no thickness; give it a radius, which is half of that.")
        _check_joints(model, flex, name)
        for geom in range(model.ngeom):
            if np.any(model.geom_surfacevel[geom]) and may_touch_flex(model, flex, geom):
                raise ModelError(
                    f"{element(model, _OBJ.mjOBJ_GEOM, geom)} has a running surface "
                    f"(surfacevel), which {name} does not feel in Midas; move its body instead, or "
                    "keep them from touching by contype and conaffinity."
                )


def soft_notes(model: mujoco.MjModel) -> list[str]:
    """Sentences about what is approximated of a model's flexes."""
    if model.nflex == 0:
        return []
    turning = [
        element(model, _OBJ.mjOBJ_FLEX, flex)
        for flex in range(model.nflex)
        if model.flex_condim[flex] > 3
        or any(
            model.geom_condim[geom] > 3 and may_touch_flex(model, flex, geom)
            for geom in range(model.ngeom)
        )
    ]
    if not turning:
        return []
    return [f"Midas ignores torsional and rolling friction on {listed(turning)}."]


def _check_joints(model: mujoco.MjModel, flex: int, name: str) -> None:
    """Refuse whatever is on vertices or edges that twist, or acts on joints of vertices."""
    bodies = particle_bodies(model)[flex_particles(model, flex)]
    moving = bodies[free_particles(model, flex)]
    twists = np.unique(rope_twists(model, flex).joint)
    edges = model.jnt_bodyid[twists[twists >= 0]]
    flows = model.opt.density or model.opt.viscosity or np.any(model.opt.wind)
    if len(edges) and flows:
        raise ModelError(
            f"{name} is a rod in a fluid, which Midas does not simulate; set density, viscosity "
            "and wind to zero, or keep it together by edge/equality."
        )
    own = np.concatenate([moving, edges])
    children = np.isin(model.body_parentid, own)
    if np.any(children):
        body = element(model, _OBJ.mjOBJ_BODY, int(np.flatnonzero(children)[0]))
        raise ModelError(
            f"{body} is fastened to a vertex of {name}, which Midas does not simulate; hold it by "
            "contact, or by a connect constraint."
        )
    for geom in np.flatnonzero(np.isin(model.geom_bodyid, own)):
        if may_touch_flex(model, flex, int(geom)):
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_GEOM, int(geom))} is on a vertex of {name}, which it "
                "touches from the start; keep them from touching by contype and conaffinity."
            )
    joints = np.isin(model.jnt_bodyid, moving)
    if np.any(model.jnt_limited[joints]):
        raise ModelError(
            f"The joints of {name} have limits, which Midas does not simulate; let it touch geoms "
            "where it may not go."
        )
    adheres = model.actuator_trntype == mujoco.mjtTrn.mjTRN_BODY
    for actuator in np.flatnonzero(adheres & np.isin(model.actuator_trnid[:, 0], moving)):
        raise ModelError(
            f"{element(model, _OBJ.mjOBJ_ACTUATOR, int(actuator))} is adhesion of a vertex of "
            f"{name}, which Midas does not simulate; remove it."
        )
    ends = np.column_stack([model.eq_obj1id, model.eq_obj2id])
    of_bodies = model.eq_objtype == _OBJ.mjOBJ_BODY
    for i in np.flatnonzero(of_bodies & np.isin(ends, edges).any(axis=1)):
        raise ModelError(
            f"{element(model, _OBJ.mjOBJ_EQUALITY, int(i))} holds the body of an edge of {name}, "
            "which is nowhere; use joint, on its joint."
        )
    welds = of_bodies & (model.eq_type == mujoco.mjtEq.mjEQ_WELD)
    for i in np.flatnonzero(welds & np.isin(ends, moving).any(axis=1)):
        raise ModelError(
            f"{element(model, _OBJ.mjOBJ_EQUALITY, int(i))} welds a vertex of {name}, which has no "
            "orientation; use connect."
        )
    for tendon in range(model.ntendon):
        first, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
        wraps = slice(first, first + count)
        by_joint = model.wrap_type[wraps] == mujoco.mjtWrap.mjWRAP_JOINT
        if np.any(joints[model.wrap_objid[wraps][by_joint]]):
            raise ModelError(
                f"{element(model, _OBJ.mjOBJ_TENDON, tendon)} runs over a joint of a vertex of "
                f"{name}, which Midas does not simulate; let it run over sites."
            )

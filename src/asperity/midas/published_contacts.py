"""Contacts where MuJoCo's own functions and sensors look for them, with their forces.

``data.contact`` gets one contact for every pair of primitives that push each other, and MuJoCo's
rows of them the forces, so that ``mj_contactForce``, touch and contact sensors and what MuJoCo
derives from them see the engine's.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.midas.engine import Engine
from asperity.midas.engine_contacts import read_contacts_and_friction

__all__ = ["write_contacts"]

# MuJoCo's own numbers of a default contact; nothing of ours depends on them.
_SOLREF = (0.02, 1.0)
_SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
_LEAST_FRICTION = 1e-5


def write_contacts(engine: Engine, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Fill ``data.contact``, MuJoCo's rows of the contacts, and ``data.efc_force``.

    Those that MuJoCo's memory (``<size memory>``) has no room for are left out.

    Parameters
    ----------
    engine : Engine
    model : mujoco.MjModel
        That of the engine, with options such that nothing but contacts has rows.
    data : mujoco.MjData
    """
    contacts, friction = read_contacts_and_friction(engine)
    count = _make_room(model, data, len(contacts.geom))
    if count:
        # The strongest ones, if not all.
        chosen = np.sort(np.argsort(-contacts.normal_force, kind="stable")[:count])
        mu = np.maximum(friction[chosen], _LEAST_FRICTION)
        frame = _frames(contacts.normal[chosen])
        ours = data.contact
        ours.dist[:] = contacts.signed_distance[chosen]
        ours.pos[:] = contacts.point[chosen]
        ours.frame[:] = frame.reshape(count, 9)
        ours.geom[:] = contacts.geom[chosen]
        ours.friction[:] = mu[:, None]
        ours.includemargin[:] = 2.0 * engine.table.activation
    mujoco.mj_makeConstraint(model, data)
    if not count:
        return
    local = np.einsum("nij,nj->ni", frame, contacts.force[chosen])
    row = data.contact.efc_address.astype(np.int64)
    force = data.efc_force
    if int(model.opt.cone) == int(mujoco.mjtCone.mjCONE_ELLIPTIC):
        for k in range(3):
            force[row + k] = local[:, k]
        return
    # Opposite edges of the pyramid: their sum is normal, their difference tangential.
    for k in range(2):
        half = 0.5 * local[:, 1 + k] / mu
        force[row + 2 * k] = 0.25 * local[:, 0] + half
        force[row + 2 * k + 1] = 0.25 * local[:, 0] - half


def _make_room(model: mujoco.MjModel, data: mujoco.MjData, wanted: int) -> int:
    """Add contacts without contents; returns how many there are."""
    blank = mujoco.MjContact()
    blank.dim = 3
    blank.exclude = 0
    blank.solref[:] = _SOLREF
    blank.solimp[:] = _SOLIMP
    blank.flex[:] = -1
    blank.elem[:] = -1
    blank.vert[:] = -1
    for _ in range(wanted):
        if mujoco.mj_addContact(model, data, blank):
            break
    return int(data.ncon)


def _frames(normal: np.ndarray) -> np.ndarray:
    """Right-handed axes with the normals first, shape (n, 3, 3) (Duff et al. 2017)."""
    x, y, z = normal.T
    sign = np.copysign(1.0, z)
    a = -1.0 / (sign + z)
    b = x * y * a
    one = np.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=1)
    other = np.stack([b, sign + y * y * a, -y], axis=1)
    return np.stack([normal, one, other], axis=1)

"""Adhesion of geoms and pairs: a force along the normal of every contact that MuJoCo finds.

It pulls a contact's two bodies together, as in MuJoCo, where they are within margin and gap. Here
surfaces stay apart, so that those count, too, that are nearer than 1.5 activation distances. The
forces are those of a step's beginning.
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import Table
from asperity.midas.lists.candidate_runs import SLACK
from asperity.midas.model.links import Links
from asperity.plant.model.own_options import OwnOptions
from asperity.plant.model.sleep import awake_data

__all__ = ["StickyGeoms"]


class StickyGeoms:
    """The geoms and pairs of a model that adhere.

    Parameters
    ----------
    model : mujoco.MjModel
    options : OwnOptions
        The model's.
    links : Links
    """

    def __init__(self, model: mujoco.MjModel, options: OwnOptions, links: Links) -> None:
        self._model, self._options, self._links = model, options, links
        self.any = bool(np.any(model.geom_adhesion) or np.any(model.pair_adhesion))
        self._data = awake_data(model) if self.any else None

    def pull(self, table: Table, data: mujoco.MjData) -> None:
        """Add their forces to what is applied to links.

        Parameters
        ----------
        table : Table
            The engine's.
        data : mujoco.MjData
            Where the poses of mocap bodies are read.
        """
        model, links, here = self._model, self._links, self._data
        assert here is not None
        here.qpos[:] = table.poses.qpos
        here.mocap_pos[:], here.mocap_quat[:] = data.mocap_pos, data.mocap_quat
        reach = (1.0 + SLACK) * float(np.max(table.pairs.activation, initial=0.0))
        # Gaps of two geoms add up.
        wider = {
            "geom_gap": model.geom_gap + 0.5 * reach,
            "pair_gap": model.pair_gap + reach,
            "body_margin": model.body_margin + reach,
        }
        with self._options as lent:
            for field, values in wider.items():
                self._options.replace(field, values)
            mujoco.mj_kinematics(lent, here)
            mujoco.mj_comPos(lent, here)
            mujoco.mj_collision(lent, here)
        contacts = here.contact
        for i in np.flatnonzero(contacts.adhesion):
            force = float(contacts.adhesion[i]) * contacts.frame[i, :3]
            for geom, push in zip(contacts.geom[i], (force, -force), strict=True):
                link = int(links.body_link[model.geom_bodyid[geom]])
                if link >= 0 and not links.links[link].is_mocap:
                    arm = contacts.pos[i] - table.poses.q[link, 0]
                    table.forces.wrench[link, :3] += push
                    table.forces.wrench[link, 3:] += np.cross(arm, push)

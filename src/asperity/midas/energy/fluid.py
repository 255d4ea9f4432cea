"""Forces of a surrounding fluid, as MuJoCo has them, on links in the engine's state.

They are linear over a step, in the change of every link's velocity: forces of the step's beginning,
and what their slope there resists more. Without that a wing, whose drag stops it in less time than
a step, would be thrown back and forth by it. Of the slope only what resists has a potential, its
symmetric and dissipative part; lift and what spins have the rest, of the step's beginning. (A
linearly implicit method does not need the whole slope to be consistent: Steihaug & Wolfbrandt,
Math. Comp. 33, 1979.)
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from asperity.midas.model.links import Links
from asperity.midas.pose.reduced_evaluation import ReducedEvaluation
from asperity.plant.model.own_options import OwnOptions

__all__ = ["Fluid"]

Floats = NDArray[np.float64]

# Change of a velocity, over the largest, and at least [m/s], for its slope.
_CHANGE, _LEAST_CHANGE = 1e-4, 1e-9
# What says how large and how shaped a body and a geom are in the fluid.
_OF_BODIES = ("body_mass", "body_inertia", "body_ipos", "body_iquat")
_OF_GEOMS = ("geom_size", "geom_fluid", "geom_pos", "geom_quat")
_ROUND = (
    mujoco.mjtGeom.mjGEOM_SPHERE,
    mujoco.mjtGeom.mjGEOM_CAPSULE,
    mujoco.mjtGeom.mjGEOM_CYLINDER,
)


class Fluid:
    """The fluid of a model.

    Parameters
    ----------
    model : mujoco.MjModel
    options : OwnOptions
        The model's.
    links : Links
    """

    def __init__(self, model: mujoco.MjModel, options: OwnOptions, links: Links) -> None:
        self._model, self._links = model, links
        self._evaluation = ReducedEvaluation(model, options)
        self._bodies = np.array(
            [
                body
                for body in range(1, model.nbody)
                if model.body_mass[body] > 0.0
                and links.body_link[body] >= 0
                and not links.links[links.body_link[body]].is_mocap
            ],
            dtype=np.int64,
        )
        self._link = links.body_link[self._bodies]
        centre = np.array([links.links[link].centre for link in self._link]).reshape(-1, 3)
        self._point = links.body_offset[self._bodies] - centre
        self._turn = links.body_turn[self._bodies]
        self._apart: tuple[mujoco.MjModel, mujoco.MjData] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the model has a fluid, and something that moves in it."""
        option = self._model.opt
        return bool(self._model.nv) and (option.density > 0.0 or option.viscosity > 0.0)

    def at(self, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Forces at a state, and how they resist changes of velocities.

        Parameters
        ----------
        qpos, qvel : ndarray

        Returns
        -------
        ndarray, shape (nv,)
            Generalized forces.
        ndarray, shape (number of links, 12, 12)
            −∂F/∂Q̇ of links' coordinates, the part that is symmetric and positive semi-definite.
        ndarray, shape (number of links, 4, 3)
            Q̇ at the state, of links on which there is any.
        ndarray, shape (nbody, 3, 3)
            Orientations of bodies there.
        """
        data = self._evaluation.at(qpos, qvel)
        bodies, links = self._bodies, self._link
        turn = data.xmat[bodies].reshape(-1, 3, 3)
        arm = data.xpos[bodies] - data.subtree_com[self._model.body_rootid[bodies]]
        spin = np.array(data.cvel[bodies, :3])
        velocity = data.cvel[bodies, 3:] + np.cross(spin, arm)
        axes = np.einsum("bki,bli->blk", turn, self._turn)
        # The twist of a body's origin by Q̇: ω = ½ Σ aᵢ × ȧᵢ.
        twist = np.zeros((len(bodies), 6, 4, 3))
        for k in range(3):
            i, j = (k + 1) % 3, (k + 2) % 3
            twist[:, k, 0, k] = 1.0
            twist[:, k, 1:, k] = self._point
            twist[:, 3 + k, 1:, j] = 0.5 * axes[:, :, i]
            twist[:, 3 + k, 1:, i] = -0.5 * axes[:, :, j]
        of_link = twist.reshape(-1, 6, 12)
        resisted = self._resistance(data, np.hstack([velocity, spin]), turn)
        count = len(self._links.links)
        drag, rate = np.zeros((count, 12, 12)), np.zeros((count, 4, 3))
        np.add.at(drag, links, of_link.transpose(0, 2, 1) @ resisted @ of_link)
        rate[links, 1:] = np.cross(spin[:, None], axes)
        rate[links, 0] = velocity - np.einsum("bi,bik->bk", self._point, rate[links, 1:])
        return np.array(data.qfrc_fluid), drag, rate, data.xmat.reshape(-1, 3, 3)

    def _resistance(self, data: mujoco.MjData, twist: Floats, turn: Floats) -> Floats:
        """−∂F/∂v of twists of bodies' origins in world axes, shape (number, 6, 6)."""
        if self._apart is None:
            self._apart = _bodies_apart(self._model, self._bodies)
        model, apart = self._apart
        source = self._model.opt
        model.opt.density, model.opt.viscosity = source.density, source.viscosity
        model.opt.wind[:] = source.wind
        chosen, count = self._bodies, len(self._bodies)
        apart.qpos[:] = np.hstack([data.xpos[chosen], data.xquat[chosen]]).ravel()
        mujoco.mj_kinematics(model, apart)
        mujoco.mj_comPos(model, apart)

        def forces(twists: Floats) -> Floats:
            own = np.einsum("bki,bk->bi", turn, twists[:, 3:])
            apart.qvel[:] = np.hstack([twists[:, :3], own]).ravel()
            mujoco.mj_comVel(model, apart)
            mujoco.mj_passive(model, apart)
            found = np.array(apart.qfrc_fluid).reshape(count, 6)
            found[:, 3:] = np.einsum("bik,bk->bi", turn, found[:, 3:])
            return found

        # Lengths, so that a rotation is as much as a velocity.
        length = np.sqrt(
            self._model.body_inertia[chosen].sum(axis=1) / self._model.body_mass[chosen]
        )
        unit = np.hstack(
            [np.ones((count, 3)), 1.0 / np.maximum(length, 1e-9)[:, None] ** [1, 1, 1]]
        )
        largest = np.abs(twist / unit).max(initial=0.0)
        change = _CHANGE * largest + _LEAST_CHANGE
        slope = np.zeros((count, 6, 6))
        for k in range(6):
            step = np.zeros((count, 6))
            step[:, k] = change * unit[:, k]
            slope[:, :, k] = (forces(twist + step) - forces(twist - step)) * unit / (2.0 * change)
        value, vector = np.linalg.eigh(-0.5 * (slope + slope.transpose(0, 2, 1)))
        vector /= unit[:, :, None]
        return np.asarray(np.einsum("bij,bj,bkj->bik", vector, np.maximum(value, 0.0), vector))


def _bodies_apart(
    source: mujoco.MjModel, chosen: NDArray[np.int64]
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Bodies of a model, every one by itself: forces on each are those of its joint."""
    spec = mujoco.MjSpec()
    geoms = []
    for body in chosen:
        one = spec.worldbody.add_body(mass=1.0, inertia=[1.0, 1.0, 1.0], explicitinertial=True)
        one.add_freejoint()
        for geom in range(
            source.body_geomadr[body], source.body_geomadr[body] + source.body_geomnum[body]
        ):
            one.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[1.0, 0.0, 0.0], mass=0.0)
            geoms.append(geom)
    model = spec.compile()
    for name in _OF_BODIES:
        getattr(model, name)[1:] = getattr(source, name)[chosen]
    for name in _OF_GEOMS:
        getattr(model, name)[:] = getattr(source, name)[geoms]
    # Frames of mass and of geoms, which were drawn where their bodies' are.
    model.body_sameframe[:] = model.geom_sameframe[:] = 0
    model.body_simple[:] = 0
    # All that is not round counts as an ellipsoid.
    kinds = source.geom_type[geoms]
    model.geom_type[:] = np.where(np.isin(kinds, _ROUND), kinds, mujoco.mjtGeom.mjGEOM_ELLIPSOID)
    return model, mujoco.MjData(model)

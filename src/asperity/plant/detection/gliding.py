"""Contacts at a distance, of laws that let sliding bodies glide, and of what is too fast.

The laws of SAP’s paper and ‘similar’ couple friction and the normal velocity by
z = v_n − μ ‖v_t‖, so that what slides comes to rest at the height

    φ_g = T μ ‖v_t‖,   T = δt + τ_d  (SAP; δt for ‘similar’),

where the law holds it up; with torsion and rolling v_t is the scaled slip of ‘Friction of all
kinds’ (docs/equations.md). Collision detection that reports overlaps only would drop it: the body
falls, hits the ground, is thrown up again, and friction comes in blows. So pairs are looked for
within a margin here, which is as wide as their present speeds let them glide. MuJoCo's collision
detection gets a model that has these margins and shares everything else with the user's.

Who merely passes by at such a height is not held up by anything. A contact at a positive distance
φ that the user's margins do not include counts only if it is near the height of gliding,

    ½ φ_g − T (|v_n| + g δt) − g/(w k) ≤ φ ≤ 1.25 φ_g,

with w the contact's inverse mass: as far below as a body may be that comes from there, is about to
settle or presses a soft contact together, and as far above as one may be that slows down. What acts
there is the law itself.

Fixed steps look ahead, too: what would pass through something, by the test of
`asperity.plant.detection.sweep` for straight ways ahead, gets margins as wide as its way, and its
contact with that counts at a distance. Laws are implicit in the distance, so that such a contact
pushes only if the step would close it.

In the middle of a doubled step, what the first half has pressed together counts at a distance, too
(`asperity.plant.detection.pressed_contacts`).
"""

from __future__ import annotations

import mujoco
import numpy as np

from asperity.compiled import HoldsAddresses, Table
from asperity.contact.combination import RELAXATION_TIME, STATIC_FRICTION, UNSET
from asperity.plant import native
from asperity.plant.model.joints import is_disabled
from asperity.plant.plant import Plant
from asperity.plant.plant_layouts import GLIDING

__all__ = ["GlidingDetection"]

_WORD = 8


class GlidingDetection(HoldsAddresses):
    """Detection of contacts in one world, with margins that follow the velocities.

    Parameters
    ----------
    plant : Plant
    glides : bool
        Whether sliding bodies glide.
    looks_ahead : bool
        Whether to look ahead for what would pass through something.
    keeps_pressed : bool
        Whether a method may ask for what another state has pressed together.
    relaxes : bool
        Whether the law has relaxation times.
    default_relaxation : float or None
        Of contacts that have none [s]; the time step by default.

    Attributes
    ----------
    table : Table
        To be put into the states that are to be evaluated so.
    """

    def __init__(
        self,
        plant: Plant,
        *,
        glides: bool,
        looks_ahead: bool,
        keeps_pressed: bool,
        relaxes: bool,
        default_relaxation: float | None,
    ) -> None:
        model = plant.model
        self._plant, self._glides, self._looks_ahead = plant, glides, looks_ahead
        self._keeps_pressed = keeps_pressed
        # MuJoCo's struct: sizes, options and addresses of arrays, all but ours the user's.
        self._struct = np.zeros(native.struct_size("mjModel") // _WORD, np.int64)
        option = native.offset("mjModel", "opt") + native.offset("mjOption", "o_margin")
        self.table = Table(
            GLIDING,
            model=self._struct.ctypes.data,
            geoms=model.ngeom,
            bodies=model.nbody,
            pairs=model.npair,
            trees=int(plant.table.ntree),
            dofs=model.nv,
            option_margin=self._struct[option // _WORD :][:1].view(np.float64),
            pair_geom=np.stack([model.pair_geom1, model.pair_geom2], axis=1).astype(np.int64),
            geom_body=model.geom_bodyid.astype(np.int64),
            relaxes=int(relaxes),
            default_relaxation=UNSET if default_relaxation is None else default_relaxation,
        )
        self.read_model()
        assert not self.table.missing(), self.table.missing()

    def of(self, plant: Plant) -> GlidingDetection:
        """Return this detection in another plant."""
        relaxation = float(self.table.default_relaxation)
        return GlidingDetection(
            plant,
            glides=self._glides,
            looks_ahead=self._looks_ahead,
            keeps_pressed=self._keeps_pressed,
            relaxes=bool(self.table.relaxes),
            default_relaxation=None if relaxation == UNSET else relaxation,
        )

    @property
    def needed(self) -> bool:
        """Whether there is anything to look for at a distance."""
        return bool(self.table.glides or self.table.looks_ahead or self._may_keep)

    def read_model(self) -> None:
        """Take the model's numbers, at first and when it has changed."""
        table, model = self.table, self._plant.model
        # Of a world whose model differs, MuJoCo's struct is another one than the model's.
        self._struct[:] = native.memory(int(self._plant.table.detection_model), len(self._struct))
        for field in ("geom_margin", "body_margin", "pair_margin"):
            address = getattr(table, field).ctypes.data
            self._struct[native.offset("mjModel", field) // _WORD] = address
        self._read_trees()
        table.own_geom_margin = np.array(model.geom_margin)
        table.own_pair_margin = np.array(model.pair_margin)
        table.own_option_margin = float(model.opt.o_margin)
        overridden = bool(model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE)
        table.overridden = int(overridden)
        table.radius = np.array(model.geom_rbound)
        surface = model.geom_surfacevel
        reach = np.where(model.geom_rbound > 0.0, model.geom_rbound, model.stat.extent)
        table.surface_speed = np.linalg.norm(surface[:, :3], axis=1) + reach * np.linalg.norm(
            surface[:, 3:], axis=1
        )
        weightless = is_disabled(model, mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        table.gravity = 0.0 if weightless else float(np.linalg.norm(model.opt.gravity))
        materials = self._plant.materials
        given = [materials.geoms, materials.pairs, materials.default[None]]
        frictions = [0.0, *(np.max(m[:, STATIC_FRICTION], initial=0.0) for m in given)]
        if materials.default[STATIC_FRICTION] < 0.0:
            frictions.append(np.max(model.geom_friction[:, 0], initial=0.0))
            frictions.append(np.max(model.pair_friction[:, :2], initial=0.0))
            if overridden:
                frictions.append(np.max(model.opt.o_friction[:2]))
        table.friction = float(max(frictions))
        self._read_ellipsoids(overridden)
        # Adhesion pulls at what is within a margin, which must then be the user's.
        own = not self._plant.table.has_adhesion
        acts = table.friction > 0.0 or table.turning_friction > 0.0
        table.glides = int(self._glides and own and acts)
        # Of deformable bodies all contacts count that are found.
        table.looks_ahead = int(self._looks_ahead and own and model.nflex == 0)
        self._may_keep = self._keeps_pressed and own and model.nflex == 0
        # Relaxation times of two sides add up.
        times = [2.0, 1.0, 1.0] * np.array(
            [np.max(m[:, RELAXATION_TIME], initial=UNSET) for m in given]
        )
        table.relaxation = float(np.max(times))

    def _read_ellipsoids(self, overridden: bool) -> None:
        """Take the friction of pairs along second tangents, and that of torsion and rolling."""
        table, model = self.table, self._plant.model
        first, second = model.pair_friction[:, :2].T
        table.friction *= float(np.max(second / first, initial=1.0))
        turning = [0.0]
        if np.any(model.geom_condim > 3):
            turning.append(np.max(model.geom_friction[:, 1:]))
        if np.any(model.pair_dim > 3):
            turning.append(np.max(model.pair_friction[:, 2:]))
        if overridden:
            turning.append(np.max(model.opt.o_friction[2:]))
        table.turning_friction = float(max(turning))

    def _read_trees(self) -> None:
        """Take how far geoms are from the roots of their trees, in the reference pose."""
        table, plant, model = self.table, self._plant.table, self._plant.model
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        table.tree_reach = np.zeros(int(plant.ntree))
        table.tree_inner_radius = np.full(int(plant.ntree), np.inf)
        for geom in plant.geoms.colliding:
            body = model.geom_bodyid[geom]
            tree = plant.bodies.tree[body]
            if tree >= 0:
                away = np.linalg.norm(data.geom_xpos[geom] - data.xpos[plant.trees.body[tree]])
                table.tree_reach[tree] = max(table.tree_reach[tree], away)
                radius = plant.geoms.inner_radius[geom]
                table.tree_inner_radius[tree] = min(table.tree_inner_radius[tree], radius)

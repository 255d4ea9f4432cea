"""Drake: the scene in a MultibodyPlant with point contact.

Methods: ``"cenic"`` (error-controlled), ``"cenic-fixed"`` (the same without error control), and
the discrete plants ``"lagged"``, ``"similar"``, ``"sap"``, ``"tamsi"``. With ``/plain`` appended,
boxes are boxes alone; otherwise they also get eight corner points. Drake reports one contact point
for two boxes, on which a box cannot rest; the corners give it the several points that the other
engines find by themselves.

Stiffness: Drake keeps it per geometry and combines it in series, as the description does. Rigid
walls get 10¹² times the objects' value, which makes the pair's value that of the object to one part
in 10¹².
"""

from __future__ import annotations

import mujoco
import numpy as np
from pydrake.systems.analysis import Simulator

from studies.benchmarks.engines.base import BodyStates, Counters, Setting
from studies.benchmarks.engines.mujoco_engine import build_mjcf, states_from
from studies.benchmarks.scene import Scene
from studies.benchmarks.verification.case import Contact
from studies.peers.drake import Coordinates, counts, integrate_by_cenic, overlap
from studies.peers.drake_model import DrakeModel

RIGID_RATIO = 1e12
DISCRETE = ("lagged", "similar", "sap", "tamsi")


class DrakeRun:
    """A plant, its simulator and the integrator."""

    def __init__(self, scene: Scene, setting: Setting) -> None:
        self.method, _, variant = setting.method.partition("/")
        if self.method not in ("cenic", "cenic-fixed", *DISCRETE) or variant not in ("", "plain"):
            raise ValueError(f"Drake has no method {setting.method!r} here")
        discrete = self.method in DISCRETE
        contact = scene.contact
        model = mujoco.MjModel.from_xml_string(build_mjcf(scene))
        wall = contact.wall_stiffness or RIGID_RATIO * contact.object_stiffness
        self.made = DrakeModel(
            model,
            Contact(dissipation=contact.dissipation, stiction_tolerance=contact.stiction_tolerance),
            time_step=setting.fixed() if discrete else 0.0,
            approximation=self.method if discrete else "",
            corners=variant != "plain",
            surface=lambda geom: wall if model.geom_bodyid[geom] == 0 else contact.object_stiffness,
            # Only SAP reads it; its paper takes one time step where none is given.
            relaxation_time=contact.relaxation_time or setting.time_step or 0.0,
        )
        self.simulator = Simulator(self.made.diagram)
        root = self.simulator.get_mutable_context()
        self.context = self.made.plant.GetMyMutableContextFromRoot(root)
        self._coordinates = Coordinates(self.made, self.context)
        self._coordinates.write(model.qpos0, np.zeros(model.nv))
        if self.method == "cenic":
            integrate_by_cenic(self.simulator, setting.controlled(), setting.max_step)
        elif self.method == "cenic-fixed":
            integrate_by_cenic(self.simulator, None, setting.fixed())
        self.simulator.Initialize()

    def advance(self, time: float) -> None:
        """Simulate up to ``time`` [s]."""
        self.simulator.AdvanceTo(time)

    def counters(self) -> Counters:
        """Work done; discrete plants only count their steps."""
        if self.method in DISCRETE:
            return Counters(steps=self.simulator.get_num_discrete_updates())
        return Counters(**counts(self.simulator))

    def states(self) -> BodyStates:
        """Where the bodies are now."""
        data = mujoco.MjData(self.made.model)
        data.qpos[:], data.qvel[:] = self._coordinates.read()
        return states_from(self.made.model, data)

    def own_penetration(self) -> float:
        """Deepest overlap among Drake's own contacts [m]."""
        return overlap(self.made, self.context)


prepare = DrakeRun

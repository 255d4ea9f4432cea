"""The engines that are compared on scenes, each with its methods.

Asperity has ``cenic`` (error-controlled), ``icf``, ``sap`` and ``tamsi``. MuJoCo has ``newton``
(it chooses dense or sparse algebra), ``newton-dense``, ``newton-sparse`` and ``cg``, all with
elliptic cones and the Euler integrator. Drake has ``cenic``, ``cenic-fixed`` (without error
control), and the discrete plants ``lagged``, ``similar``, ``sap`` and ``tamsi``. With ``/plain``
appended, boxes are boxes alone; otherwise they get eight corner points too, since Drake reports one
contact point for two boxes, on which a box cannot rest.

MuJoCo's contacts keep MuJoCo's default ``solref`` and ``solimp``: its soft constraints have no
parameter that equals a stiffness in N/m, because their compliance scales with the apparent inertia
of each contact. Times are therefore not those of the same physics; read them next to the
penetration.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import mujoco

from studies.benchmarks.scene import Scene, build_mjcf
from studies.peers.engine import Engine

__all__ = ["ENGINES", "Setting", "prepare"]

WARM_UP = 0.2
"""Long enough for the first objects of every scene to have landed, so that all code paths of a
step are compiled before anything is timed [s]."""

RIGID_RATIO = 1e12
"""Stiffness of rigid walls in Drake over that of objects: it is kept by geometry."""


@dataclass(frozen=True)
class Setting:
    """How to integrate.

    Attributes
    ----------
    method
        The engine's name of the method.
    time_step
        Of fixed-step methods [s].
    accuracy
        Of error-controlled methods (dimensionless; local error in positions).
    max_step
        Largest step of error-controlled methods [s].
    """

    method: str
    time_step: float | None = None
    accuracy: float | None = None
    max_step: float = 0.1

    def fixed(self) -> float:
        """The time step [s], or an error that says it is missing."""
        if self.time_step is None:
            raise ValueError(f"{self.method} needs a time step")
        return self.time_step

    def controlled(self) -> float:
        """The accuracy, or an error that says it is missing."""
        if self.accuracy is None:
            raise ValueError(f"{self.method} needs an accuracy")
        return self.accuracy


def _asperity(scene: Scene, setting: Setting) -> Engine:
    import asperity as asp
    from studies.peers.asperity import AsperityEngine

    presets: dict[str, Callable[..., asp.Integrator]] = {
        "icf": asp.Icf,
        "sap": functools.partial(asp.Sap, gliding=True),  # the law of its paper, as in Drake
        "tamsi": asp.Tamsi,
    }
    if setting.method == "cenic":
        integrator: asp.Integrator = asp.Cenic(
            accuracy=setting.controlled(), max_step=setting.max_step
        )
    elif setting.method in presets:
        integrator = presets[setting.method](time_step=setting.fixed())
    else:
        raise ValueError(f"Asperity has no method {setting.method!r} here")
    xml = build_mjcf(scene, setting.time_step or 2e-3)
    AsperityEngine(xml, integrator).advance(WARM_UP)
    return AsperityEngine(xml, integrator)


def _mujoco(scene: Scene, setting: Setting) -> Engine:
    from studies.peers.mujoco import MujocoEngine

    name, _, jacobian = setting.method.partition("-")
    solvers = {"newton": "Newton", "cg": "CG"}
    if name not in solvers or jacobian not in ("", "dense", "sparse"):
        raise ValueError(f"MuJoCo has no method {setting.method!r} here")
    xml = build_mjcf(scene, setting.fixed(), jacobian or "auto", solvers[name])
    engine = MujocoEngine(mujoco.MjModel.from_xml_string(xml))
    mujoco.mj_forward(engine.model, engine.data)
    return engine


def _drake(scene: Scene, setting: Setting) -> Engine:
    from studies.benchmarks.verification.case import Contact
    from studies.peers.drake import DrakeEngine

    method, _, variant = setting.method.partition("/")
    discrete = method in ("lagged", "similar", "sap", "tamsi")
    if not (discrete or method in ("cenic", "cenic-fixed")) or variant not in ("", "plain"):
        raise ValueError(f"Drake has no method {setting.method!r} here")
    model, contact = mujoco.MjModel.from_xml_string(build_mjcf(scene)), scene.contact
    wall = contact.wall_stiffness or RIGID_RATIO * contact.object_stiffness
    return DrakeEngine(
        model,
        Contact(dissipation=contact.dissipation, stiction_tolerance=contact.stiction_tolerance),
        accuracy=setting.controlled() if method == "cenic" else None,
        time_step=setting.fixed() if discrete else None,
        approximation=method,
        max_step=setting.fixed() if method == "cenic-fixed" else setting.max_step,
        corners=variant != "plain",
        surface=lambda geom: wall if model.geom_bodyid[geom] == 0 else contact.object_stiffness,
        # Only SAP reads it; its paper takes one time step where none is given.
        relaxation_time=contact.relaxation_time or setting.time_step or 0.0,
    )


ENGINES = {"asperity": _asperity, "drake": _drake, "mujoco": _mujoco}


def prepare(engine: str, scene: Scene, setting: Setting) -> Engine:
    """A simulation at time zero, everything compiled; imports only what it needs."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    return ENGINES[engine](scene, setting)

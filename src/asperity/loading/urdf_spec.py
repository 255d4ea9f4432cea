"""Compile a URDF that was prepared, and look at what came out."""

from __future__ import annotations

import re

import mujoco

from asperity.errors import ModelError
from asperity.loading.collada import convert_collada
from asperity.loading.compiler_errors import explained
from asperity.loading.initial_overlaps import initial_overlaps
from asperity.loading.obj_objects import split_objects
from asperity.loading.text_stl import convert_text_stl
from asperity.loading.urdf_document import PreparedUrdf
from asperity.loading.urdf_surfaces import give_surfaces
from asperity.plant.model.names import listed, quoted

__all__ = ["compile_urdf"]

# Extent [m] beyond which a robot was probably drawn in millimetres.
_LARGE = 100.0

_NO_VOLUME = re.compile(r"mesh volume is too small: (.*?) ?\. Try setting inertia to shell")
_SHEET = 1.0  # mass per area [kg/m²] of a millimetre of MuJoCo's 1000 kg/m³


def compile_urdf(
    prepared: PreparedUrdf, name: str, *, exclude_overlaps: bool
) -> tuple[mujoco.MjSpec, mujoco.MjModel, list[str]]:
    """Make a specification and a model of a URDF.

    Parameters
    ----------
    prepared : PreparedUrdf
    name : str
        What messages call it.
    exclude_overlaps : bool
        Whether links that overlap at the initial pose pass through each other.

    Returns
    -------
    spec : mujoco.MjSpec
    model : mujoco.MjModel
        The specification compiled.
    notes : list of str
        Those of the preparation, and what was seen here.

    Raises
    ------
    ModelError
        With MuJoCo's complaint in our words.
    """
    notes = list(prepared.notes)
    try:
        spec = mujoco.MjSpec.from_string(prepared.xml)
        bodies = len(spec.bodies)
        for body in prepared.free_bodies:
            spec.body(body).add_freejoint(name=f"{body}_free")
        for body in prepared.base_bodies:
            spec.body(body).fuse = False
        for first, second in prepared.excludes:
            spec.add_exclude(bodyname1=first, bodyname2=second)
        convert_collada(spec, prepared.surfaces)
        notes += [*convert_text_stl(spec), *split_objects(spec)]
        give_surfaces(spec, prepared)
        for joint, speed in prepared.velocity_limits.items():
            spec.add_text(name=f"asperity:loaded:joint:{joint}", data=f"velocity_limit={speed!r}")
        model, hollow = _compiled(spec)
        overlaps = initial_overlaps(model)
        if overlaps and exclude_overlaps:
            for first, second in overlaps:
                spec.add_exclude(bodyname1=first, bodyname2=second)
            model = spec.compile()
        if prepared.starts:
            qpos = model.qpos0.copy()
            for joint, start in prepared.starts.items():
                qpos[model.joint(joint).qposadr] = start
            spec.add_key(name="initial", qpos=qpos)
            model = spec.compile()
            notes.append(
                "Keyframe 'initial' has joints at their initial_joint_position: "
                f"{quoted(list(prepared.starts))}."
            )
    except ModelError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        # The text that MuJoCo saw is not the user's, so its line numbers would mislead.
        raise explained(error, name, lines=False) from None
    if hollow:
        notes.append(
            "Meshes without volume have the mass of sheets of 1 mm at 1000 kg/m³, unless the link "
            f"has <inertial>: {quoted(hollow)}."
        )
    if bodies > model.nbody:
        notes.append(
            f"Fused {bodies - model.nbody} links into those they are fixed to; pass "
            "fuse_static=False to keep them."
        )
    if overlaps:
        pairs = listed([f"'{a}' and '{b}' ({d * 1e3:.0f} mm)" for (a, b), d in overlaps.items()])
        treatment = (
            "do not collide with each other"
            if exclude_overlaps
            else "will push each other apart; pass exclude_overlaps=True to prevent it"
        )
        notes.append(f"Links that overlap at the initial pose {treatment}: {pairs}.")
    if model.stat.extent > _LARGE:
        notes.append(
            f"The model is {model.stat.extent:.0f} m across; if its meshes are in millimetres, "
            'give them scale="0.001 0.001 0.001".'
        )
    return spec, model, notes


def _compiled(spec: mujoco.MjSpec) -> tuple[mujoco.MjModel, list[str]]:
    """Compile; meshes that have no volume for their mass, whose names are returned, are shells."""
    hollow: list[str] = []
    while True:
        try:
            return spec.compile(), hollow
        except ValueError as error:
            found = _NO_VOLUME.search(str(error))
            mesh = None if found is None else spec.mesh(found[1])
            if mesh is None or mesh.name in hollow:
                raise
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        hollow.append(mesh.name)
        for geom in spec.geoms:
            if geom.meshname == mesh.name:
                geom.density = _SHEET

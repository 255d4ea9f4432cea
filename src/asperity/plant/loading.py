"""Load a model from whatever a user has, and report what became of it."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

from asperity.errors import AsperityWarning, ModelError
from asperity.plant.compiler_errors import explained
from asperity.plant.names import listed
from asperity.plant.support import check_supported
from asperity.plant.urdf import PreparedUrdf, prepare_urdf
from asperity.plant.xml_reader import root_tag

__all__ = ["LoadReport", "check_supported", "load_model", "load_spec"]

# Penetration [m] at the initial pose of a URDF beyond which it is worth a note.
_OVERLAP = 1e-3
# Extent [m] beyond which a robot was probably drawn in millimetres.
_LARGE = 100.0


@dataclass(frozen=True)
class LoadReport:
    """What happened while a model was loaded.

    Attributes
    ----------
    source : str
        The path, or "XML string", "MjSpec" or "MjModel".
    notes : tuple of str
        Sentences about what was dropped, ignored or added, or looks wrong.
    """

    source: str
    notes: tuple[str, ...]


def load_model(
    source: str | os.PathLike[str] | mujoco.MjSpec | mujoco.MjModel,
    *,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    floating_base: bool | None = None,
    discard_visual: bool | None = None,
    fuse_static: bool | None = None,
    exclude_overlaps: bool = False,
) -> tuple[mujoco.MjModel, LoadReport]:
    """Load a model.

    Parameters
    ----------
    source : path, str, MjSpec or MjModel
        A file with MJCF or URDF, a string with either, or what MuJoCo makes of them.
    package_paths : sequence of path-like
        URDF only: folders that hold the packages of ``package://`` names, or are them. The folders
        above the URDF, ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH`` are searched too.
    floating_base : bool, optional
        URDF only: True gives the base a free joint, False fixes it to the world. By default the
        file decides: without a floating joint to a link "world", the base is fixed.
    discard_visual : bool, optional
        Whether to leave out shapes that cannot collide. By default the file decides; a URDF that
        says nothing loses them, as in MuJoCo.
    fuse_static : bool, optional
        Whether to merge bodies that cannot move relative to their parent into it. By default the
        file decides; a URDF that says nothing is fused, as in MuJoCo.
    exclude_overlaps : bool
        URDF only: let links that overlap at the initial pose, moved within the joint limits, pass
        through each other. Links two joints apart often overlap by design, because planners ignore
        such pairs; contact would push them apart for ever.

    Returns
    -------
    model : mujoco.MjModel
        A given MjModel itself.
    report : LoadReport

    Raises
    ------
    ModelError
        If the model cannot be read or compiled; the message names the file and the element.

    Warns
    -----
    AsperityWarning
        If nothing can collide or move in the model, or collision shapes had to be dropped.
    """
    if isinstance(source, mujoco.MjModel):
        _refuse(
            {
                "package_paths": package_paths or None,
                "floating_base": floating_base,
                "discard_visual": discard_visual,
                "fuse_static": fuse_static,
                "exclude_overlaps": exclude_overlaps or None,
            },
            "a compiled MjModel",
        )
        return _finish(source, "MjModel", [])
    opened = _open(
        source, package_paths, floating_base, discard_visual, fuse_static, exclude_overlaps
    )
    notes = list(opened.notes)
    model = _compile(opened.spec, opened.name, notes) if opened.model is None else opened.model
    return _finish(model, opened.name, notes)


def load_spec(
    source: str | os.PathLike[str] | mujoco.MjSpec,
    *,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    floating_base: bool | None = None,
    discard_visual: bool | None = None,
    fuse_static: bool | None = None,
    exclude_overlaps: bool = False,
) -> tuple[mujoco.MjSpec, LoadReport]:
    """Load a model that can still be changed, for example to put a floor under a robot.

    Parameters
    ----------
    source : path, str or MjSpec
        A file with MJCF or URDF, a string with either, or what MuJoCo makes of them.
    package_paths, floating_base, discard_visual, fuse_static, exclude_overlaps
        As for `load_model`.

    Returns
    -------
    spec : mujoco.MjSpec
        To change and then to give to `Simulator`, `simulate` or `load_model`. A given MjSpec is
        returned itself, or a copy if an option changes it.
    report : LoadReport

    Raises
    ------
    ModelError
        If the model cannot be read, or a URDF cannot be compiled.

    Warns
    -----
    AsperityWarning
        If collision shapes of a URDF had to be dropped.
    """
    opened = _open(
        source, package_paths, floating_base, discard_visual, fuse_static, exclude_overlaps
    )
    return opened.spec, LoadReport(opened.name, tuple(opened.notes))


class _Opened(NamedTuple):
    """A model that was read: how to call it, what was noted, and the compiled model of a URDF."""

    spec: mujoco.MjSpec
    name: str
    notes: list[str]
    model: mujoco.MjModel | None = None


def _open(
    source: object,
    package_paths: Sequence[str | os.PathLike[str]],
    floating_base: bool | None,
    discard_visual: bool | None,
    fuse_static: bool | None,
    exclude_overlaps: bool,
) -> _Opened:
    urdf_only: dict[str, object] = {
        "floating_base": floating_base,
        "package_paths": package_paths or None,
        "exclude_overlaps": exclude_overlaps or None,
    }
    if isinstance(source, mujoco.MjSpec):
        _refuse(urdf_only, "an MjSpec")
        changed = discard_visual is not None or fuse_static is not None
        spec = source.copy() if changed else source
        return _Opened(_with_choices(spec, discard_visual, fuse_static), "MjSpec", [])

    text, path = _read(source)
    name = "XML string" if path is None else str(path)
    root = root_tag(text)
    if root == "robot":
        prepared = prepare_urdf(
            text,
            name,
            Path.cwd() if path is None else path.parent.absolute(),
            package_paths=package_paths,
            floating_base=floating_base,
            discard_visual=discard_visual,
            fuse_static=fuse_static,
        )
        return _open_urdf(prepared, name, exclude_overlaps)
    if root != "mujoco":
        raise _unknown_root(root, name)
    _refuse(urdf_only, "MJCF, which states them itself")
    spec = _parse_mjcf(text, path, name)
    return _Opened(_with_choices(spec, discard_visual, fuse_static), name, [])


def _refuse(options: dict[str, object], kind: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ModelError(f"Option {name} does not apply to {kind}; omit it.")


def _read(source: object) -> tuple[str, Path | None]:
    """The text of a model, and its path if it came from a file."""
    if isinstance(source, str) and source.removeprefix("\ufeff").lstrip().startswith("<"):
        return source, None
    if not isinstance(source, (str, os.PathLike)):
        raise ModelError(
            f"A model cannot be loaded from an object of type {type(source).__name__}; pass a "
            "path, an XML string, an MjSpec or an MjModel."
        )
    if not os.fspath(source):
        raise ModelError("The model's path is empty; pass a path or an XML string.")
    path = Path(os.fspath(source)).expanduser()
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in (".xml", ".urdf", ".mjcf"))
        hint = f", for example '{inside[0]}'" if inside else ""
        raise ModelError(f"Model path '{path}' is a folder; name a file in it{hint}.")
    try:
        content = path.read_bytes()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise ModelError(f"Model file '{path}' {reason}; check the path.") from None
    if not content.strip():
        raise ModelError(f"Model file '{path}' is empty; pass a file with MJCF or URDF.")
    try:
        return content.decode("utf-8-sig"), path
    except UnicodeDecodeError:
        return content.decode("latin-1"), path


def _unknown_root(root: str | None, name: str) -> ModelError:
    if root is None:
        return ModelError(f"{name} is not XML; pass a file with MJCF or URDF.")
    advice = {
        "mujocoinclude": "it is a fragment for <include>, so load the file that includes it",
        "sdf": "SDF is not supported, so convert it to URDF or MJCF",
    }.get(root, "MJCF starts with <mujoco> and URDF with <robot>, so pass one of these")
    return ModelError(f"{name} has the root element <{root}>; {advice}.")


def _parse_mjcf(text: str, path: Path | None, name: str) -> mujoco.MjSpec:
    try:
        if path is not None and path.suffix.lower() == ".xml":
            return mujoco.MjSpec.from_file(str(path))
        if path is None:
            return mujoco.MjSpec.from_string(text)
        # MuJoCo goes by the ending .xml; for others, hand it the text and what the text includes.
        spec = mujoco.MjSpec.from_string(text, include=_included(text, path.parent))
        spec.modelfiledir = str(path.parent.absolute())
        return spec
    except (ValueError, mujoco.FatalError) as error:
        raise explained(error, name) from None


def _included(text: str, folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    waiting = [text]
    while waiting:
        for match in re.finditer(r"<include\s+file\s*=\s*[\"']([^\"']+)[\"']", waiting.pop()):
            file = folder / match[1]
            if match[1] not in found and file.is_file():
                found[match[1]] = file.read_bytes()
                waiting.append(found[match[1]].decode("utf-8", errors="replace"))
    return found


def _with_choices(
    spec: mujoco.MjSpec, discard_visual: bool | None, fuse_static: bool | None
) -> mujoco.MjSpec:
    if discard_visual is not None:
        spec.compiler.discardvisual = discard_visual
    if fuse_static is not None:
        spec.compiler.fusestatic = fuse_static
    return spec


def _compile(spec: mujoco.MjSpec, name: str, notes: list[str]) -> mujoco.MjModel:
    geoms, bodies = len(spec.geoms), len(spec.bodies)
    try:
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise explained(error, name) from None
    if spec.compiler.discardvisual and geoms > model.ngeom:
        notes.append(f"Discarded {geoms - model.ngeom} visual shapes.")
    if spec.compiler.fusestatic and bodies > model.nbody:
        notes.append(f"Fused {bodies - model.nbody} static bodies into their parents.")
    return model


def _open_urdf(prepared: PreparedUrdf, name: str, exclude_overlaps: bool) -> _Opened:
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
        model = spec.compile()
        overlaps = _overlaps(model)
        if overlaps and exclude_overlaps:
            for first, second in overlaps:
                spec.add_exclude(bodyname1=first, bodyname2=second)
            model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        # The text that MuJoCo saw is not the user's, so its line numbers would mislead.
        raise explained(error, name, lines=False) from None
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
    for loss in prepared.losses:
        warnings.warn(f"{name}: {loss}", AsperityWarning, stacklevel=4)
    return _Opened(spec, name, notes, model)


def _overlaps(model: mujoco.MjModel) -> dict[tuple[str, str], float]:
    """Pairs of bodies that overlap, deepest first, with the depth [m].

    The pose is the initial one, but within the joint limits, which many robots' zero is not.
    """
    data = mujoco.MjData(model)
    limited = model.jnt_limited.astype(bool) & (model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))
    addresses = model.jnt_qposadr[limited]
    data.qpos[addresses] = np.clip(data.qpos[addresses], *model.jnt_range[limited].T)
    mujoco.mj_fwdPosition(model, data)
    pairs: dict[tuple[str, str], float] = {}
    for geoms, distance in zip(data.contact.geom, data.contact.dist, strict=True):
        if distance < -_OVERLAP:
            first, second = (model.body(model.geom_bodyid[geom]).name for geom in geoms)
            pairs[first, second] = max(-float(distance), pairs.get((first, second), 0.0))
    return dict(sorted(pairs.items(), key=lambda item: -item[1]))


def _finish(
    model: mujoco.MjModel, name: str, notes: list[str]
) -> tuple[mujoco.MjModel, LoadReport]:
    alarms = []
    if model.nv == 0:
        alarms.append(
            "Nothing can move in this model; give a body a joint (URDF: pass floating_base=True)."
        )
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        notes.append("The model switches contacts off; nothing collides.")
    elif not _can_collide(model):
        alarms.append(
            "Nothing can collide in this model; it needs geoms on two bodies whose contype and "
            "conaffinity match (URDF: <collision> elements)."
        )
    for alarm in alarms:
        warnings.warn(f"{name}: {alarm}", AsperityWarning, stacklevel=3)
    return model, LoadReport(name, (*notes, *alarms))


def _can_collide(model: mujoco.MjModel) -> bool:
    if model.npair:
        return True
    kinds = np.column_stack(
        [model.geom_contype, model.geom_conaffinity, model.body_weldid[model.geom_bodyid]]
    )
    kinds = np.unique(kinds, axis=0)
    types, affinities, bodies = kinds.T
    match = (types[:, None] & affinities[None, :]) != 0
    return bool(np.any((match | match.T) & (bodies[:, None] != bodies[None, :])))

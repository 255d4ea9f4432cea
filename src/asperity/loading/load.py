"""Load a model from whatever a user has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import mujoco

from asperity.errors import ArgumentError, warn_user
from asperity.loading.cables import expand_cables
from asperity.loading.compiler_errors import explained
from asperity.loading.element_names import check_names
from asperity.loading.load_report import LoadReport, report_on
from asperity.loading.mjcf import parse_mjcf
from asperity.loading.model_text import read_text, unknown_root
from asperity.loading.obj_objects import split_objects
from asperity.loading.text_stl import convert_text_stl
from asperity.loading.urdf import prepare_urdf
from asperity.loading.urdf_spec import compile_urdf
from asperity.loading.xml_reader import root_tag
from asperity.plant.model.derived_bounds import update_bounds

__all__ = ["load_model", "load_spec"]


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
        A given MjModel itself. Bounds of its geoms are made to fit sizes that were changed.
    report : LoadReport

    Raises
    ------
    ArgumentError, ModelError
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
        check_names(source, "MjModel")
        update_bounds(source)
        return source, report_on(source, "MjModel", [])
    opened = _open(
        source, package_paths, floating_base, discard_visual, fuse_static, exclude_overlaps
    )
    notes = list(opened.notes)
    model = _compile(opened.spec, opened.name, notes) if opened.model is None else opened.model
    check_names(model, opened.name)
    return model, report_on(model, opened.name, notes)


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
    ArgumentError, ModelError
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
    _check_options(package_paths, floating_base, discard_visual, fuse_static, exclude_overlaps)
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

    text, path = read_text(source)
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
        spec, model, notes = compile_urdf(prepared, name, exclude_overlaps=exclude_overlaps)
        for loss in prepared.losses:
            warn_user(f"{name}: {loss}")
        return _Opened(spec, name, notes, model)
    if root != "mujoco":
        raise unknown_root(root, name, text)
    _refuse(urdf_only, "MJCF, which states them itself")
    written, notes = expand_cables(text, name)
    spec = parse_mjcf(written, path, name, changed=written is not text)
    notes += [*convert_text_stl(spec), *split_objects(spec)]
    return _Opened(_with_choices(spec, discard_visual, fuse_static), name, notes)


def _check_options(package_paths: object, *choices: object) -> None:
    if isinstance(package_paths, str | os.PathLike) or not isinstance(package_paths, Iterable):
        raise ArgumentError(f"package_paths must be a list of folders, got {package_paths!r}.")
    names = ("floating_base", "discard_visual", "fuse_static", "exclude_overlaps")
    for name, value in zip(names, choices, strict=True):
        if value is not None and not isinstance(value, bool):
            raise ArgumentError(f"{name} must be True or False, got {value!r}.")


def _refuse(options: dict[str, object], kind: str) -> None:
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"Option {name} does not apply to {kind}; omit it.")


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

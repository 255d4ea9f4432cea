"""Loading of the model that a command works on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import mujoco

from asperity.errors import ArgumentError, AsperityWarning
from asperity.loading import load_model, load_spec
from asperity.plant.model.support import check_supported

__all__ = ["load"]


def load(
    path: Path,
    package_paths: Sequence[Path] | None = None,
    floating_base: bool | None = None,
    floor: float | None = None,
) -> tuple[mujoco.MjModel, tuple[str, ...]]:
    """Load a model and check that it can be simulated.

    Parameters
    ----------
    path : Path
    package_paths, floating_base
        As for `load_model`.
    floor : float, optional
        Height [m] at which a horizontal plane is added.

    Returns
    -------
    model : mujoco.MjModel
    notes : tuple of str
        What was dropped, ignored or looks wrong; warnings among them.

    Raises
    ------
    ModelError
        If the model cannot be loaded or simulated.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AsperityWarning)
        paths = package_paths or ()
        if floor is None:
            model, report = load_model(path, package_paths=paths, floating_base=floating_base)
            notes = list(report.notes)
        else:
            spec, report = load_spec(path, package_paths=paths, floating_base=floating_base)
            _add_floor(spec, floor)
            model, compiled = load_model(spec)
            notes = [*report.notes, *compiled.notes]
    for warning in caught:
        text = str(warning.message)
        for source in (report.source, "MjSpec"):
            text = text.removeprefix(f"{source}: ")
        if not issubclass(warning.category, AsperityWarning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        elif text not in notes:
            notes.append(text)
    # Which integrators know adhesion is said when one is chosen.
    return model, (
        *notes,
        *check_supported(
            model,
            every_actuator=True,
            every_friction=True,
            asks_mujoco=True,
            no_flexes=None,
            sleep=True,
        ),
    )


def _add_floor(spec: mujoco.MjSpec, height: float) -> None:
    if not math.isfinite(height):
        raise ArgumentError(f"--floor must be finite, got {height}.")
    taken = any(geom.name == "floor" for geom in spec.geoms)
    spec.worldbody.add_geom(
        name="" if taken else "floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.0, 0.0, 1.0],
        pos=[0.0, 0.0, height],
    )

"""Loading of the model that a command works on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import mujoco

from asperity.errors import AsperityWarning
from asperity.plant.loading import check_supported, load_model

__all__ = ["load"]


def load(
    path: Path, package_paths: Sequence[Path] | None = None, floating_base: bool | None = None
) -> tuple[mujoco.MjModel, tuple[str, ...]]:
    """Load a model and check that it can be simulated.

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
        model, report = load_model(
            path, package_paths=package_paths or (), floating_base=floating_base
        )
    notes = list(report.notes)
    for warning in caught:
        text = str(warning.message).removeprefix(f"{report.source}: ")
        if not issubclass(warning.category, AsperityWarning):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
        elif text not in notes:
            notes.append(text)
    return model, (*notes, *check_supported(model))

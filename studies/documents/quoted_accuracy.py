"""The tables of what an accuracy buys."""

from __future__ import annotations

from studies.documents.tables import Cell, Line, Table

__all__ = ["ACCURACIES", "ERRORS"]

ACCURACIES = {"1e-1": "0.1", "1e-2": "0.01", "1e-3": "0.001", "1e-4": "0.0001", "1e-5": "1e-05"}
"""Accuracies as tables show them, and as files of results write them."""

# Scenes of what an accuracy buys: what its error is of, and the form of that number.
_SCENES = {
    "roll": ("ball that slides, then rolls, 2 s", "distance, of 1442 [mm]", "1e3*s2"),
    "walk": ("trotting robot, 3 s, nine gaits", "distance, of 1189 [mm]", "1e3*s2"),
    "mug on a spring": (
        "mug in a gripper shaken by a spring, 2.5 s",
        "slip over time, of 18 to and fro [mm]",
        "1e3*s2",
    ),
    "mug": (
        "mug in a shaken gripper, commands at 20 Hz",
        "slip over time, of 4.0 to and fro [mm]",
        "1e3*s2",
    ),
    "lift": ("box lifted by servos", "slip [µm]", "1e6*s1"),
    "peg": ("peg in a gripper that falls on a table", "slip, of 1.43 [mm]", "1e3*s2"),
    "incline": (
        "block on a slope, at 0.9 of the friction limit",
        "creep in 2 s, of 0.41 [mm]",
        "1e3*.3f",
    ),
    "conveyor": (
        "block on a conveyor, driven to 1.02 of the limit",
        "travel, of 773 [mm]",
        "1e3*.0f",
    ),
    "bounce": ("bouncing ball without dissipation, 10 s", "energy lost [%]", "100*s2"),
}
ERRORS = Table(
    "accuracy.csv",
    ("scene", "error of", *ACCURACIES),
    tuple(
        Line((scene, quantity), {"scene": name}, form)
        for name, (scene, quantity, form) in _SCENES.items()
    ),
    tuple(
        Cell(
            "{median_error:@}",
            {"accuracy": accuracy, "method": "default"},
            Cell(" *{median_error:@}*", {"accuracy": accuracy, "method": "paper"}),
        )
        for accuracy in ACCURACIES.values()
    ),
)

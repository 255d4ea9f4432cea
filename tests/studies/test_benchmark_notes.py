"""What reports of benchmarks say of the MuJoCo that took part."""

from __future__ import annotations

import mujoco
import pytest

from studies.benchmarks.run import SPARSE_DEFECT, mujoco_note


@pytest.mark.parametrize(
    ("release", "methods", "warns"),
    [
        ("4.0.0", ["asperity:icf", "mujoco:newton-sparse"], True),
        ("4.0.0", ["mujoco:newton"], True),
        ("4.0.0", ["mujoco:newton-dense"], False),
        ("4.0.1", ["mujoco:newton-sparse"], False),
    ],
)
def test_the_version_is_named_and_its_defect(
    monkeypatch: pytest.MonkeyPatch, release: str, methods: list[str], warns: bool
) -> None:
    monkeypatch.setattr(mujoco, "mj_versionString", lambda: release)
    note = mujoco_note(methods)
    assert f"MuJoCo is {release}" in note
    assert (SPARSE_DEFECT in note) == warns


def test_nothing_is_said_of_who_does_not_take_part() -> None:
    assert mujoco_note(["asperity:cenic", "drake:cenic"]) == ""

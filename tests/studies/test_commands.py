"""Commands that run the studies, and what the package says where they are missing."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import asperity
from asperity.cli import main

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "studies", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(Path(asperity.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_says_what_it_takes() -> None:
    for command in (["reproduce"], ["verify"], ["throws"], ["peers"], ["benchmark", "run"]):
        done = run(*command, "--help")
        assert done.returncode == 0, done.stderr
        assert "usage: " in done.stdout.lower()


def test_an_unknown_benchmark_is_answered_by_those_that_there_are() -> None:
    done = run("benchmark", "nonsense")
    assert done.returncode == 2
    assert "accuracy" in done.stdout
    assert "verification" in done.stdout
    assert "engines" not in done.stdout


def test_without_a_checkout_the_package_says_where_the_experiments_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = tmp_path / "lib" / "asperity" / "cli" / "reproduce.py"
    module = importlib.import_module("asperity.cli.reproduce")
    monkeypatch.setattr(module, "__file__", str(installed))
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "--list"]) == 2
    assert (
        "a checkout of Asperity's repository, which has them in its folder 'studies'"
        in capsys.readouterr().err.replace("\n", " ")
    )

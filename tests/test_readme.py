"""What the README promises: its Python blocks run, its commands exist and are those of the CI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from asperity.cli import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_python_blocks_run_one_after_the_other(tmp_path, monkeypatch):
    pytest.importorskip("viser")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    blocks = _blocks("python")
    assert len(blocks) >= 7
    for number, block in enumerate(blocks):
        exec(compile(block, f"README.md, Python block {number}", "exec"), namespace)
    sim, trajectory = namespace["sim"], namespace["trajectory"]
    assert sim.load_report is not None
    assert trajectory.success
    assert trajectory.qpos.shape == (61, 8)
    assert namespace["contacts"].normal_force.sum() == pytest.approx(9.81, rel=1e-2)
    assert namespace["model"].nv == 1
    assert (tmp_path / "run.npz").is_file()
    assert (tmp_path / "run.html").is_file()


def test_python_blocks_about_pressure_fields_run():
    page = (ROOT / "docs" / "pressure-fields.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    namespace: dict[str, object] = {"__name__": "page"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"pressure-fields.md, block {number}", "exec"), namespace)
    # On the second geom, which is the table: MuJoCo sorts geoms by their type.
    assert -namespace["patches"].force[0, 2] == pytest.approx(
        9.81 * 1000 * 3.14159 * 0.04**2 * 0.1, rel=1e-3
    )


def test_the_xml_block_is_read(capsys, tmp_path):
    (custom,) = _blocks("xml")
    path = tmp_path / "scene.xml"
    path.write_text(
        f"<mujoco>{custom}<worldbody><geom name='floor' type='plane' size='1 1 1'/>"
        "<body name='cup' pos='0 0 1'><freejoint/><geom name='finger_1' size='.1'/></body>"
        "</worldbody></mujoco>"
    )
    assert main(["info", str(path)]) == 0
    assert "finger_1" in capsys.readouterr().out.split("Contact parameters")[1]


def test_the_command_lines_name_options_that_exist(capsys):
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    lines = [line for line in lines if line.startswith("asperity ")]
    assert len(lines) >= 4
    for line in lines:
        words = line.split()
        assert main([words[1], "--help"]) == 0
        known = capsys.readouterr().out
        for option in (word for word in words if word.startswith("--")):
            assert option in known, f"{line}: {option}"


def test_the_ci_runs_the_readmes_test_command():
    (command,) = [block.strip() for block in _blocks("sh") if "pytest" in block]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"test_command='{command}'" in script


def test_the_pictures_exist_and_are_small():
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert 10_000 < (ROOT / picture).stat().st_size < 300_000

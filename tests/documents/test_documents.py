"""What the documents promise: every block of code of README and ``docs/`` runs.

Blocks of a page continue one another. A block that cannot be run here has a title, which readers
see, too: “extra torch” is run where PyTorch is installed, all others are not.
"""

from __future__ import annotations

import contextlib
import html
import importlib.util
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
import pytest

import asperity as asp
from asperity.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
# Titles of blocks that run where a module is installed.
_NEEDS = {"extra torch": "torch"}
# Languages of what is no code.
_TEXT = {"", "math", "text"}

BOX = """
<mujoco><worldbody>{floor}<body name="box" pos="0 0 0.1"><freejoint/>
  <geom name="{geom}" type="box" size="0.05 0.05 0.05" mass="1"/></body></worldbody>
  <keyframe><key name="home" qpos="0 0 0.06 1 0 0 0"/></keyframe>{custom}</mujoco>
"""
FLOOR = '<geom name="floor" type="plane" size="1 1 0.1"/>'
ROBOT = """
<robot name="box"><link name="base"><inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link></robot>
"""


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall(page.read_text(encoding="utf-8"))]


def _id(page: Path) -> str:
    return str(page.relative_to(ROOT))


def pages_with(language: str) -> list[Any]:
    return [
        pytest.param(page, id=_id(page))
        for page in PAGES
        if any(block.language == language for block in blocks(page))
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where a reader of the documents might be: with a scene and a robot."""
    (tmp_path / "scene.xml").write_text(BOX.format(floor=FLOOR, geom="box", custom=""))
    (tmp_path / "robot.urdf").write_text(ROBOT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- Python ----------------------------------------------------------------------------------------


def _checks_start(page: dict[str, Any]) -> None:
    assert page["trajectory"].success
    assert page["trajectory"].qpos.shape == (61, 8)
    assert page["contacts"].normal_force.sum() == pytest.approx(9.81, rel=1e-2)
    assert Path("run.npz").is_file()
    assert Path("run.html").is_file()


def _checks_python(page: dict[str, Any]) -> None:
    assert page["contacts"].normal_force.sum() == pytest.approx(9.81, rel=1e-2)
    assert page["safe"].contacts.signed_distance.min() > 0
    assert page["what_if"].time > page["sim"].time


def _checks_contact(page: dict[str, Any]) -> None:
    assert page["contact"].bodies["box"].stiffness == pytest.approx(26.7e3, rel=1e-2)
    assert page["contact"].bodies["box"].dissipation == pytest.approx(7.4, rel=1e-2)


def _checks_mujoco(page: dict[str, Any]) -> None:
    assert page["weight"] == pytest.approx(9.81, rel=1e-2)
    assert page["sim"].stats.steps < 100
    # Of four points, of which MuJoCo's rows know each other.
    depth = 0.05 - page["same"].data.qpos[2]
    data = mujoco.MjData(page["model"])
    for _ in range(1000):
        mujoco.mj_step(page["model"], data)
    assert depth == pytest.approx(0.05 - data.qpos[2], rel=0.25)


def _checks_drake(page: dict[str, Any]) -> None:
    sim = page["sim"]
    assert sim.data.qpos[2] == pytest.approx(0.1 - 9.81 / 1e4, abs=1e-4)
    assert sim.contacts.normal_force.sum() == pytest.approx(9.81, rel=1e-2)


def _checks_cenic(page: dict[str, Any]) -> None:
    assert page["sim"].data.qvel[0] == pytest.approx(10 / 7, abs=0.01)


def _checks_icf(page: dict[str, Any]) -> None:
    assert page["sim"].data.qvel[0] == pytest.approx(1.51, abs=0.015)


def _checks_sap(page: dict[str, Any]) -> None:
    depth = 0.1 - page["sim"].data.qpos[2]
    # A box on four points, each of which feels less mass than all of it: between a quarter of what
    # a point mass sinks in by on one, and that.
    point = 9.81 * 0.01 * (0.01 + 0.02) / (4 * np.pi**2)
    assert 0.25 * point < depth < point
    assert 1e6 * depth == pytest.approx(49, abs=0.5)


def _checks_tamsi(page: dict[str, Any]) -> None:
    assert page["sim"].data.qpos[0] == pytest.approx(0.5097, abs=0.005)


def _checks_midas(page: dict[str, Any]) -> None:
    assert page["sim"].data.qpos[0] < 0.5 - 0.0005 - 0.02 + 1e-3
    assert page["sim"].clearance > 0


def _checks_classical(page: dict[str, Any]) -> None:
    assert sum(page["sim"].energy()) == pytest.approx(page["before"], rel=2e-3)
    # It falls for 0.32 s, is back at 0.64 s, and rises from its second bounce.
    assert page["sim"].data.qvel[0] > 0


def _checks_study(page: dict[str, Any]) -> None:
    assert "choose" in page["study"].recommendation


def _checks_models(page: dict[str, Any]) -> None:
    assert page["model"].nv == 1
    assert page["sim"].data.qpos[2] == pytest.approx(-0.7, abs=1e-3)


def _checks_fields(page: dict[str, Any]) -> None:
    # On the second geom, which is the table: MuJoCo sorts geoms by their type.
    weight = 9.81 * 1000 * np.pi * 0.04**2 * 0.1
    assert -page["patches"].force[0, 2] == pytest.approx(weight, rel=1e-3)


def _checks_systems(page: dict[str, Any]) -> None:
    # The integral carries the weight: no error is left.
    assert page["held"].data.qpos == pytest.approx([0.0, 0.0], abs=1e-4)
    assert page["sim"].time == 2.0


def _checks_bullet(page: dict[str, Any]) -> None:
    sim = page["sim"]
    # The servo carries the forearm: its torque is that of gravity, its error that over its gain.
    torque = sim.system_output(page["servo"])[0]
    assert torque == pytest.approx(-9.81 * 0.2 * np.sin(sim.data.qpos[0]), rel=1e-3)
    assert sim.data.qpos[0] == pytest.approx(0.8 - torque / 200.0, abs=1e-4)


def _checks_learning(page: dict[str, Any]) -> None:
    assert page["info"]["is_success"]
    assert np.hypot(*page["observation"][:2]) < 5e-4
    assert page["rewards"].shape == (4,)


def _checks_derivatives(page: dict[str, Any]) -> None:
    # v = v₀ + (F/m − μ g) t
    time, force, mass = 0.2, 2.0, 2.0
    expected = [-9.81 * time, -force * time / mass**2]
    assert page["forward"].by_parameter[-1, 2] == pytest.approx(expected, rel=1e-3)
    # The place, of steps that end with the velocity at their end.
    steps = 200
    expected = np.array(expected) * time / 2 * (steps + 1) / steps
    assert page["backward"].by_parameter == pytest.approx(expected, rel=1e-3)
    if "theta" in page:
        assert page["theta"].grad.numpy() == pytest.approx(expected, rel=1e-3)


def _checks_worlds(page: dict[str, Any]) -> None:
    batch, model = page["batch"], page["model"]
    assert not batch.status.any()
    assert np.all(np.abs(batch.qpos[:, 1]) <= 1.0)
    # Rollouts are what simulators do.
    sim = asp.Simulator(model, integrator=asp.Icf(time_step=2e-3))
    for control in page["controls"][0]:
        sim.data.ctrl[:] = control
        sim.step()
    assert page["state"][0, -1, 1:] == pytest.approx([*sim.data.qpos, *sim.data.qvel], rel=1e-9)


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "docs/start.md": _checks_start,
    "docs/python.md": _checks_python,
    "docs/contact-parameters.md": _checks_contact,
    "docs/from-mujoco.md": _checks_mujoco,
    "docs/from-drake.md": _checks_drake,
    "docs/from-pybullet.md": _checks_bullet,
    "docs/integrators/index.md": _checks_study,
    "docs/integrators/cenic.md": _checks_cenic,
    "docs/integrators/icf.md": _checks_icf,
    "docs/integrators/sap.md": _checks_sap,
    "docs/integrators/tamsi.md": _checks_tamsi,
    "docs/integrators/midas.md": _checks_midas,
    "docs/integrators/classical.md": _checks_classical,
    "docs/models.md": _checks_models,
    "docs/pressure-fields.md": _checks_fields,
    "docs/external-systems.md": _checks_systems,
    "docs/learning.md": _checks_learning,
    "docs/derivatives.md": _checks_derivatives,
    "docs/many-worlds.md": _checks_worlds,
}


@pytest.mark.parametrize("page", pages_with("python"))
def test_python_blocks_run_one_after_the_other(page: Path, folder: Path) -> None:
    if "write_web_playback" in page.read_text(encoding="utf-8"):
        pytest.importorskip("viser")
    namespace: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks(page)):
        needed = _NEEDS.get(block.title)
        if block.language != "python" or (block.title and not needed):
            continue
        if needed and importlib.util.find_spec(needed) is None:
            continue
        exec(compile(block.text, f"{_id(page)}, block {number}", "exec"), namespace)
    if _id(page) in CHECKS:
        CHECKS[_id(page)](namespace)


def test_every_page_with_checks_exists() -> None:
    assert CHECKS.keys() <= {_id(page) for page in PAGES}


def test_blocks_have_a_language_that_is_tested() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.language in _TEXT | {"python", "sh", "xml"}, f"{_id(page)}: {block}"
        fences = page.read_text(encoding="utf-8").count("\n```")
        assert fences == 2 * len(blocks(page)), f"{_id(page)}: a fence is not understood"


# -- XML -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages_with("xml"))
def test_xml_blocks_are_read(page: Path, folder: Path) -> None:
    for block in blocks(page):
        if block.language != "xml":
            continue
        # Of geoms and joints with the names that the block has.
        names = re.findall(r"asperity:(?:geom|pair):([\w*|]+)", block.text)
        wanted = {part.replace("*", "1") for name in names for part in name.split("|")}
        bodies = "".join(
            f"<body name='of {name}' pos='{3 * i} 3 1'><freejoint/>"
            f"<geom name='{name}' size='0.1'/></body>"
            for i, name in enumerate(sorted(wanted - {"floor"}))
        )
        for name in re.findall(r"asperity:joint:(\w+)", block.text):
            bodies += f"<body pos='0 9 9'><joint name='{name}'/><geom size='0.1'/></body>"
        text = BOX.format(floor=FLOOR + bodies, geom="box", custom=block.text)
        (folder / "custom.xml").write_text(text)
        asp.Simulator(folder / "custom.xml")
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            assert main(["info", str(folder / "custom.xml")]) == 0
        assert all(name.split("|")[0].rstrip("*") in shown.getvalue() for name in names)


# -- shell -----------------------------------------------------------------------------------------


def _commands(page: Path) -> list[tuple[str, list[str]]]:
    """Title and words of every line that starts the program."""
    lines = [
        (b.title, line) for b in blocks(page) if b.language == "sh" for line in b.text.splitlines()
    ]
    return [(title, line.split()) for title, line in lines if line.startswith("asperity ")]


@pytest.mark.parametrize("page", pages_with("sh"))
def test_command_lines_name_options_that_exist(page: Path, capsys) -> None:
    for _, words in _commands(page):
        assert main([words[1], "--help"]) == 0
        known = capsys.readouterr().out
        for option in (word for word in words if word.startswith("--")):
            assert option in known, f"{' '.join(words)}: {option}"


@pytest.mark.parametrize("page", pages_with("sh"))
def test_command_lines_without_a_title_run(page: Path, folder: Path, capsys) -> None:
    for title, words in _commands(page):
        if title:
            continue
        if "--html" in words:
            pytest.importorskip("viser")
        assert main(words[1:]) == 0, " ".join(words)


def test_programs_that_documents_start_exist() -> None:
    found = [
        name
        for page in PAGES
        for block in blocks(page)
        if block.language == "sh"
        for name in re.findall(r"python (\w+/\S+\.py)", block.text)  # a reader's own has no folder
    ]
    assert found
    for name in found:
        assert (ROOT / name).is_file(), name


# -- README, and where documents repeat each other -------------------------------------------------


def _lines(page: Path) -> list[str]:
    return [line for b in blocks(page) if b.language == "sh" for line in b.text.splitlines()]


def test_the_ci_runs_the_readmes_test_command() -> None:
    (command,) = [line for line in _lines(ROOT / "README.md") if "pytest" in line]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"test_command='{command}'" in script


def test_the_first_command_is_the_same_wherever_it_stands() -> None:
    commands = [
        line
        for page in (ROOT / "README.md", ROOT / "docs" / "start.md")
        for line in _lines(page)
        if line.endswith("asperity demo")
    ]
    assert len(commands) == 2
    assert commands[0] == commands[1]


def test_the_pictures_exist_and_are_small() -> None:
    pictures = {
        page.parent / name
        for page in PAGES
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert len(pictures) >= 3
    for picture in pictures:
        assert 10_000 < picture.stat().st_size < 300_000


def test_the_reference_has_every_public_name() -> None:
    pages = "".join(
        page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")
    )
    documented = re.findall(r"^::: asperity\.(\w+)$", pages, re.MULTILINE)
    assert sorted(documented) == sorted(asp.__all__)


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    for page in (ROOT / "docs").rglob("*.md"):
        assert page.relative_to(ROOT / "docs").as_posix() in navigation, page


def test_formulas_can_be_drawn() -> None:
    pytest.importorskip("latex2mathml")
    path = ROOT / "docs" / "site" / "mathematics.py"
    spec = importlib.util.spec_from_file_location("mathematics", path)
    assert spec is not None
    assert spec.loader is not None
    mathematics = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mathematics)
    count = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        formulas = [block.text for block in blocks(page) if block.language == "math"]
        formulas += re.findall(r"(?<!\$)\$([^$\n`]+)\$(?!\$)", _BLOCK.sub("", text))
        for formula in formulas:
            content = rf'<span class="arithmatex">\({html.escape(formula)}\)</span>'
            assert mathematics.on_page_content(content).startswith("<math")
            count += 1
    assert count > 200
    with pytest.raises(ValueError, match="does not know"):
        mathematics.on_page_content(r'<span class="arithmatex">\(\nonsense\)</span>')

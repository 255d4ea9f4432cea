"""The sweep over public models: which files it finds, how they end, and what its page says."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from studies.benchmarks.public_models.packages import find_models
from studies.benchmarks.public_models.page import page, read_page, renewed, summary
from studies.benchmarks.public_models.trial import parts
from studies.benchmarks.saved import RESULTS
from studies.documents.result_files import rows_of_markdown

pytest.importorskip("ipctk", reason="needs ipctk, of the [midas] extra")

BALL = "<mujoco><worldbody><body pos='0 0 1'><freejoint/><geom size='.1'/></body></worldbody>{}</mujoco>"
UNSTABLE = """<mujoco><option timestep="0.01"/><worldbody><body><joint name="x" type="slide"/>
<geom size=".1"/></body></worldbody><actuator>
<general joint="x" biastype="affine" biasprm="1e9 1e9 1e9"/></actuator></mujoco>"""


def ended(path: Path, text: str, method: str) -> dict[str, object]:
    path.write_text(text)
    found: dict[str, object] = {}
    for part in parts(str(path), method):
        found |= part
    return found


def test_files_with_models_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "robots"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "ball.xml").write_text(BALL.format(""))
    (folder / "arm.urdf").write_text("<robot name='arm'><link name='base'/></robot>")
    (folder / "package.xml").write_text("<package/>")
    (folder / "robot.xml").write_text("<robot name='settings'><devices/></robot>")
    names = [name for name, _ in find_models(tmp_path / "nothing", [folder])]
    assert names == ["robots/arm.urdf", "robots/deep/ball.xml"]


@pytest.mark.parametrize("method", ["Icf", "Midas"])
def test_how_models_end(tmp_path: Path, method: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_CPU)
    found = ended(tmp_path / "ball.xml", BALL.format("<option noslip_iterations='3'/>"), method)
    assert (found["class"], found["dofs"], found["diverges"]) == ("runs", 6, False)
    assert any("noslip" in note for note in found["notes"])
    empty = ended(tmp_path / "part.xml", "<mujoco><nothing/></mujoco>", method)
    assert empty["class"] == "does not load"
    user = "<actuator><general joint='x' dyntype='user' actdim='1'/></actuator>"
    # Limits are for processes of the sweep, not for one that calls its parts.
    assert resource.getrlimit(resource.RLIMIT_CPU) == limits
    callback = BALL.replace("<freejoint/>", "<joint name='x'/>").format(user)
    assert ended(tmp_path / "user.xml", callback, method)["class"] == "refused: element"


def test_what_diverges_in_mujoco_too_is_marked(tmp_path: Path) -> None:
    found = ended(tmp_path / "unstable.xml", UNSTABLE, "Icf")
    assert found["diverges"]
    assert found["class"] in ("exception", "not converged", "not finite")


def test_the_page_counts_and_keeps_what_was_not_run_again(tmp_path: Path) -> None:
    def one(kind: str, day: str = "2026-01-02 (abc)", **more: object) -> dict[str, object]:
        return {"class": kind, "dofs": 1, "flexes": 0, "notes": [], "run on": day, **more}

    icf = {
        "a/one.xml": one("runs", notes=["Ignored, as a test: x.", "It is not enforced.", "All."]),
        "a/two.xml": one("refused: element", flexes=1, message="A flex."),
        "b/part.xml": {"class": "does not load", "message": "no"},
        "b/three.xml": one("exception", message="It stopped.", diverges=True),
    }
    sap = {"a/two.xml": one("refused: element", flexes=1, message="A flex.")}
    lines = page({"Sap": summary(sap), "Icf": summary(icf)})
    assert "| Icf | 2026-01-02 (abc) | 3 | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 50.0 |" in lines
    assert "| Ignored, as a test | 1 | 0 |" in lines
    assert "| It is not enforced | 1 | 0 |" in lines
    assert "| all | 2 | 0 |" in lines
    assert "| a | 1 of 2 | 0 of 1 |" in lines
    assert "| b | 0 of 1 | 0 of 0 |" in lines
    assert "| a/two.xml | Icf, Sap | refused: element | A flex. |" in lines
    assert "| b/three.xml | Icf | exception | It stopped. MuJoCo's own steps diverge. |" in lines

    file = tmp_path / "page.md"
    file.write_text("\n".join(lines) + "\n")
    kept = read_page(rows_of_markdown(file))
    assert page(kept) == lines
    new = {
        "a/two.xml": one("runs", "2026-02-03 (def)", flexes=1),
        "b/three.xml": one("not finite", "2026-02-03 (def)", message="at 1 s"),
    }
    days = "2026-01-02 (abc), 2026-02-03 (def)"
    again = page(kept | {"Icf": renewed(kept["Icf"], new)})
    assert f"| Icf | {days} | 3 | 2 | 0 | 0 | 0 | 0 | 1 | 0 | 50.0 |" in again
    assert "| a | 2 of 2 | 0 of 1 |" in again
    assert "| b/three.xml | Icf | not finite | at 1 s. |" in again
    assert "| a/two.xml | Sap | refused: element | A flex. |" in again
    assert "| all | 2 | 0 |" in again
    again = page(kept | {"Icf": renewed(kept["Icf"], {"b/three.xml": one("runs")})})
    assert "| Icf | 2026-01-02 (abc) | 3 | 2 | 1 | 0 | 0 | 0 | 0 | 0 | 83.3 |" in again

    kept["Sap"] = summary({"a/two.xml": one("runs", "2026-02-03 (def)")})
    again = page(kept)
    assert "| Icf | 2026-01-02 (abc) | 3 | 1 | 1 | 0 | 1 | 0 | 0 | 0 | 50.0 |" in again
    assert "| Sap | 2026-02-03 (def) | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 100.0 |" in again
    assert "| a/two.xml | Icf | refused: element | A flex. |" in again


def test_the_kept_page_says_the_same_when_it_is_read_and_written() -> None:
    file = RESULTS / "public_models.md"
    lines = file.read_text().splitlines()
    assert page(read_page(rows_of_markdown(file))) == lines[4:]

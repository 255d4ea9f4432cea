"""Documents quote the files of results as they are."""

from __future__ import annotations

import datetime
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import asperity
from studies.benchmarks import saved
from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.page import ALL_METHODS, PAGE, write, write_page
from studies.benchmarks.verification.results import load
from studies.documents import result_files, tables
from studies.documents.experiments import _plain, _shown
from studies.documents.marks import ROOT, filled, marked_documents
from studies.documents.quoted_results import QUOTES
from studies.documents.result_files import Number, find_one
from studies.documents.tables import Cell, Line, Made, Span, Table
from studies.experiments import Experiment, experiments
from studies.experiments import kept as kept_findings
from studies.experiments.form import Measured, Runs, about, finding
from studies.experiments.kept import Kept, save

DOCUMENTS = marked_documents()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_quote_the_results(document: Path) -> None:
    """`python -m studies documents` writes what differs."""
    text = document.read_text(encoding="utf-8")
    assert filled(text) == text


def test_all_results_are_quoted_somewhere() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    assert [name for name in QUOTES if f"<!-- results: {name} -->" not in text] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_digit_that_was_changed_by_hand_is_found(document: Path) -> None:
    """In every quoted table and number of the page."""
    text = document.read_text(encoding="utf-8")
    quotes = list(re.finditer(r"-->(.*?)<!-- end -->", text, re.DOTALL))
    assert quotes
    for quote in quotes:
        # Names of cases have no digit; a letter stands for it.
        sign = (list(re.finditer(r"\d", quote[1])) or list(re.finditer(r"\w", quote[1])))[-1]
        at = quote.start(1) + sign.start()
        other = str((int(text[at]) + 1) % 10) if text[at].isdigit() else text[at].swapcase()
        changed = text[:at] + other + text[at + 1 :]
        assert filled(changed) == text


# Sections whose numbers follow from formulas beside them, or are orders of methods.
_EXACT = {
    "The numbers, and how to choose them",
    "From `solref` to N/m and s/m",
    "Classical methods",
    "The mathematics",
}
_COMMAND = re.compile(r"python -m studies |asperity reproduce |examples/")


def _numeric(table: str) -> bool:
    """Whether most cells of a table, beside its head and its labels, are numbers."""
    rows = [line.strip().strip("|").split("|")[1:] for line in table.splitlines()[2:]]
    cells = [cell.strip() for row in rows for cell in row]
    numbers = [cell for cell in cells if re.match(r"[*`>+−-]*\d", cell)]
    return len(numbers) > len(cells) / 2


def test_tables_of_numbers_are_quoted_or_name_their_command() -> None:
    """A command that prints numbers, and keeps none, stands in the section of its table."""
    written = {PAGE, PAGE.with_name("ablation.md")}
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = re.sub(
            r"<!-- (verification|results|throws): [^>]+ -->.*?<!-- end -->",
            "",
            page.read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )
        for section in re.split(r"(?m)^(?=#+ )", text):
            heading = section.partition("\n")[0].lstrip("# ")
            tables = re.findall(r"(?m)(?:^\|.*\n)+", section)
            if page in written or heading in _EXACT or not any(map(_numeric, tables)):
                continue
            assert _COMMAND.search(section), (
                f"{page.name}, ‘{heading}’: where are its numbers from?"
            )


def test_the_page_of_verification_is_that_of_the_results(tmp_path: Path) -> None:
    """But for the machine's name, which is that of the last run."""

    def lines(path: Path) -> list[str]:
        text = path.read_text(encoding="utf-8").splitlines()
        return [line for line in text if not line.startswith("Made with")]

    assert lines(write_page(load(), tmp_path / "page.md")) == lines(PAGE)
    assert lines(write(load(), tmp_path / "all.md")) == lines(ALL_METHODS)


def test_the_number_of_cases() -> None:
    text = "There are <!-- verification: cases -->1<!-- end --> cases."
    assert filled(text) == text.replace(">1<", f">{len(CASES)}<")


def test_cases_that_a_method_misses() -> None:
    text = filled("<!-- verification: misses mujoco --><!-- end -->")
    assert "`held`" in text
    assert "`slide-to-rest`" not in text


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no results of 'guess@1e-3'"):
        filled("<!-- verification: right guess@1e-3 -->1<!-- end -->")
    with pytest.raises(ValueError, match="nothing is called 'best cenic@1e-3'"):
        filled("<!-- verification: best cenic@1e-3 -->1<!-- end -->")
    with pytest.raises(ValueError, match="no result is called 'guess'; there are clutter"):
        filled("<!-- results: guess -->1<!-- end -->")


def test_rows_that_a_file_lacks_are_refused() -> None:
    nothing = {"scene": "nothing"}
    with pytest.raises(ValueError, match=r"clutter.csv has 0 rows with .*nothing"):
        find_one("clutter.csv", nothing)
    with pytest.raises(ValueError, match=r"clutter.csv has 20 rows"):
        find_one("clutter.csv", {})
    with pytest.raises(ValueError, match=r"clutter.csv has no rows with .*nothing"):
        Table("clutter.csv", ("",), (Line(("",), nothing),), (Cell("{steps}"),)).text()
    with pytest.raises(ValueError, match=r"clutter.csv has no number steps with .*nothing"):
        Span("clutter.csv", "steps", ".0f", nothing).text()


def test_a_saved_table_has_its_command_and_date_and_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (saved, result_files, tables):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    program = str(ROOT / "studies" / "benchmarks" / "robots.py")
    monkeypatch.setattr(sys, "argv", [program, "--save", "--robots", "dog;ant", "--out", "/a/b"])
    saved.save_table("toy", "A toy", "Times [s].", ["| model | time |", "|---|---|", "| dog | 2 |"])
    head = (tmp_path / "toy.md").read_text(encoding="utf-8").splitlines()[2]
    assert head.startswith("`python -m studies benchmark robots --save --robots 'dog;ant' --out b`")
    assert head.endswith("Times [s].")
    assert Made("toy.md").text() == datetime.date.today().isoformat()
    assert find_one("toy.md", {"model": "dog"})["time"] == 2.0
    (tmp_path / "old.md").write_text("| model |", encoding="utf-8")
    with pytest.raises(ValueError, match="no date"):
        Made("old.md").text()


def test_a_span_has_both_ends_or_one() -> None:
    ends = Span("hands.md", "seed", ".0f", {"scene": "motors"})
    assert ends.text() == "0 to 2"
    assert replace(ends, only="largest").text() == "2"
    assert Span("hands.md", "seed", ".0f", {"scene": "held"}).text() == "0"


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [
        (0.0012482, "s2", "0.0012"),
        (98.4, "s2", "98"),
        (0.0996, "s2", "0.10"),
        (682.0, "s2", "680"),
        (-0.0254, "1e3*s2", "−25"),
        (7.88e-08, "1e3*s2", "0.000079"),
        (-0.001, ".2f", "0.00"),
        (0.0, "s2", "0.0"),
        (2e-09, ".0e", "2e-09"),
    ],
)
def test_forms_of_numbers(value: float, form: str, shown: str) -> None:
    assert format(Number(value), form) == shown


def test_every_experiment_has_findings() -> None:
    names = {experiment.name for experiment in experiments()}
    found = kept_findings.load()
    assert {one.experiment for one in found} == names
    for one in found:
        assert one.measured
        assert one.ours
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one.date)


def test_an_experiment_keeps_its_findings_with_the_date_and_version(tmp_path: Path) -> None:
    def measure(runs: Runs) -> Measured:
        yield finding("force", runs.one, "{:g} N", about("1.1 N", 1.1, 0.2))
        yield finding("twice", 2.0 * runs.one, "{:g} N", about("1.1 N", 1.1, 0.2))
        yield finding("torque", runs.one, "{:g} Nm")

    toy = "toy-figure-1", "Toy, figure 1", "a toy"
    experiment = Experiment(*toy, lambda progress: 1.0, lambda full: [{}], measure)
    experiment.keep(experiment.compute(), tmp_path / "results.csv")
    today = datetime.date.today().isoformat()
    made = today, asperity.__version__, "0"
    assert kept_findings.load(tmp_path / "results.csv") == [
        Kept("toy-figure-1", "force", "1 N", "1.1 N", *made, "yes"),
        Kept("toy-figure-1", "twice", "2 N", "1.1 N", *made, "no"),
        Kept("toy-figure-1", "torque", "1 Nm", "–", *made, ""),
    ]


def test_the_page_shows_two_values_of_the_paper_once_or_the_first_finding() -> None:
    def finding(measured: str, paper: str) -> Kept:
        return Kept("a", measured, "1", paper, "2026-11-25", "0.1.0")

    without = [finding("p", "–"), finding("q", "in the figure only")]
    assert _shown(without) == without[:1]
    found = [*without, finding("r", "2"), finding("s", "3"), finding("t", "2")]
    assert [one.measured for one in _shown(found)] == ["r", "s"]
    many = [finding(str(i), str(i)) for i in range(5)]
    assert _shown(many) == many[:2]


def test_numbers_of_findings_are_written_plainly() -> None:
    assert _plain("-0.5 mm; >6.8e+02, 141 to 2.493e+04; 1e-3, 3e+06") == (
        "−0.5 mm; >680, 141 to 24930; 1e-3, 3e+06"
    )


def test_findings_replace_those_of_their_experiment(tmp_path: Path) -> None:
    def finding(experiment: str, ours: str) -> Kept:
        return Kept(experiment, "force, in N", ours, "–", "2026-11-25", "0.1.0")

    path = tmp_path / "results.csv"
    save([finding("a", "1"), finding("b", "2"), finding("b", "3"), finding("c", "4")], path)
    save([finding("b", "5")], path)
    found = [(one.experiment, one.ours) for one in kept_findings.load(path)]
    assert found == [("a", "1"), ("b", "5"), ("c", "4")]

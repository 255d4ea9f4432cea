"""Documents quote the results of verification as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.benchmarks.verification.families import CASES
from studies.benchmarks.verification.page import PAGE, write
from studies.benchmarks.verification.quoted import DOCUMENTS, quoted
from studies.benchmarks.verification.results import load


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_quote_the_results(document: Path) -> None:
    """`python -m studies verify --page-only` writes what differs."""
    text = document.read_text(encoding="utf-8")
    assert "<!-- verification: " in text
    assert quoted(text, load()) == text


def test_the_page_is_that_of_the_results(tmp_path: Path) -> None:
    """But for the machine's name, which is that of the last run."""

    def lines(path: Path) -> list[str]:
        text = path.read_text(encoding="utf-8").splitlines()
        return [line for line in text if not line.startswith("Made with")]

    assert lines(write(load(), tmp_path / "page.md")) == lines(PAGE)


def test_a_number_that_was_changed_by_hand_is_found() -> None:
    text = "There are <!-- verification: cases -->1<!-- end --> cases."
    assert quoted(text, load()) == text.replace(">1<", f">{len(CASES)}<")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="no results of 'guess@1e-3'"):
        quoted("<!-- verification: right guess@1e-3 -->1<!-- end -->", load())
    with pytest.raises(ValueError, match="nothing is called 'best cenic@1e-3'"):
        quoted("<!-- verification: best cenic@1e-3 -->1<!-- end -->", load())

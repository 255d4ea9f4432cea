"""What docstrings and documents cite is there: documents, headings, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for folder in ("src", "tests", "studies") for path in (ROOT / folder).rglob("*.py")]
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "studies" / "benchmarks").glob("*.md"),
]


def headings(document: Path) -> list[str]:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)


def anchor(heading: str) -> str:
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_sections_that_docstrings_cite_exist() -> None:
    cited: set[tuple[str, str]] = set()
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        cited |= set(re.findall(r"(docs/[\w-]+\.md),[\s#]+‘([^’]+)’", text))
    assert cited
    for document, heading in cited:
        assert heading in headings(ROOT / document)


def test_documents_that_sources_cite_exist() -> None:
    for path in SOURCES:
        for name in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8")):
            assert (ROOT / name).is_file(), f"{path} cites {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_within_the_repository_lead_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, part = target.partition("#")
        there = document if not name else (document.parent / name)
        assert there.exists(), f"{document.name} links to {target}"
        if part:
            assert part in [anchor(heading) for heading in headings(there)], target

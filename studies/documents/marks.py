"""Marks in the documents, and what stands between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from studies.benchmarks.verification.quoted import text_of
from studies.benchmarks.verification.results import Result, load
from studies.documents.quoted_results import QUOTES
from studies.throws.quoted import texts
from studies.throws.results import read

__all__ = ["filled", "marked_documents", "write_documents"]

ROOT = Path(__file__).resolve().parents[2]

_MARK = re.compile(
    r"(<!-- (verification|results|throws): ([^>]+?) -->)(.*?)(<!-- end -->)", re.DOTALL
)


def marked_documents() -> list[Path]:
    """Every document with a mark."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in documents if _MARK.search(path.read_text(encoding="utf-8"))]


def filled(text: str) -> str:
    """A document with the numbers of the results between its marks.

    Raises
    ------
    ValueError
        If a mark's name is not known, or a file of results lacks what it stands for.
    """
    return _MARK.sub(lambda mark: f"{mark[1]}{_between(mark[2], mark[3])}{mark[5]}", text)


def _between(kind: str, name: str) -> str:
    if kind == "verification":
        return text_of(name, _verification())
    if kind == "throws":
        return _throws()[name]
    if name not in QUOTES:
        raise ValueError(f"no result is called {name!r}; there are {', '.join(QUOTES)}.")
    return QUOTES[name].text()


@cache
def _verification() -> Mapping[tuple[str, str], Result]:
    return load()


@cache
def _throws() -> Mapping[str, str]:
    return texts(read())


def write_documents() -> list[Path]:
    """Write the numbers into all documents; returns those that have changed."""
    changed = []
    for path in marked_documents():
        text = path.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed

"""What a release consists of agrees with itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import asperity

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_one_version():
    version = asperity.__version__
    assert PROJECT["version"] == version
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    newest = re.search(r"^## \[(.*?)\] - (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest is not None
    assert newest[1] == version
    assert newest[2] == "Unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d", newest[2])


def test_the_papers_of_the_readme_can_be_cited():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    references = citation.partition("references:")[2]
    found = set(re.findall(r"arXiv:\d{4}\.\d{5}", references))
    assert {"arXiv:2110.10107", "arXiv:2312.03908", "arXiv:1909.05700"} <= found
    assert "CENIC" in references

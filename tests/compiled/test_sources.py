"""Which files a source imports, for the stamps of cached machine code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from asperity.compiled import sources

FILES = ("a/__init__.py", "a/b.py", "a/c.py", "a/deep/__init__.py", "a/deep/d.py", "e.py")


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package in the place of Asperity's."""
    root = tmp_path / "package"
    for name in ("__init__.py", *FILES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    monkeypatch.setattr(sources, "_ROOT", str(root))
    for cached in (sources._imports, sources._content, sources._file_of):
        cached.cache_clear()
    return root


STATEMENTS = {
    "from asperity.a import b": {"a/__init__.py", "a/b.py"},
    "from asperity.a.b import x": {"a/b.py"},
    "from asperity.a.b import *": {"a/b.py"},
    "from asperity.a import b as c  # not c (by that name)": {"a/__init__.py", "a/b.py"},
    "from asperity.a import (\n    b,  # one\n    c,\n)": {"a/__init__.py", "a/b.py", "a/c.py"},
    "from asperity.a import (  # all (of them)\n    b,\n)": {"a/__init__.py", "a/b.py"},
    "from asperity.a \\\n    import b, \\\n    c": {"a/__init__.py", "a/b.py", "a/c.py"},
    "from asperity.a import b, \\\n    c": {"a/__init__.py", "a/b.py", "a/c.py"},
    "import asperity.a.b as c": {"a/b.py"},
    "import asperity.a.b as b, asperity.e as e": {"a/b.py", "e.py"},
    "import asperity.a.b": {"__init__.py", "a/__init__.py", "a/b.py"},
    "def f():\n    from asperity.a.b import x\n    return x": {"a/b.py"},
    "x = 1; from asperity.a.b import x": {"a/b.py"},
    "try: from asperity.a.b import x\nexcept ImportError: x = 1": {"a/b.py"},
    "if True:\n\tfrom asperity.e import x": {"e.py"},
    "from . import c": {"a/deep/__init__.py"},
    "from .d import x": {"a/deep/d.py"},
    "from .. import b": {"a/__init__.py", "a/b.py"},
    "from ..b import (\n    x,\n)": {"a/b.py"},
    "from ... import e": {"__init__.py", "e.py"},
    "from .... import e": set(),
    "import numpy as np\nfrom asperity_too.a import b": set(),
    "x = 'from asperity.a import b'": set(),
}


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        '"""Prose\nimport it does not."""\n\n{}\n',
        '"""Prose."""\n\nimport sys\n\n\nclass Other:\n    name = "x"\n\n\n{}\n\nfrom os import path\n',
    ],
)
def test_every_form_of_import_is_found(package: Path, statement: str, around: str) -> None:
    file = package / "a/deep/module.py"
    file.write_text(around.format(statement))
    found = {str(Path(name).relative_to(package)) for name in sources._imports(str(file))}
    assert found == STATEMENTS[statement]


def test_nothing_is_missed_in_the_package_itself() -> None:
    files = sorted(Path(sources._ROOT).rglob("*.py"))
    assert len(files) > 100
    for file in files:
        text = file.read_text(encoding="utf-8")
        expected = {
            ast.unparse(node)
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        assert expected <= {ast.unparse(node) for node in sources._statements(text)}, file


def test_what_has_no_file_depends_on_the_whole_package(package: Path) -> None:
    def stamp() -> str:
        for name in ("source_stamp", "_imports", "_content", "_digest", "_file_of", "_ground"):
            getattr(sources, name).cache_clear()
        return sources.source_stamp("<a cell of a notebook>")

    before = stamp()
    assert stamp() == before
    (package / "a/deep/d.py").write_text("x = 1\n")
    assert stamp() != before


def test_what_all_code_depends_on_is_small() -> None:
    seen: set[str] = set()
    waiting = set(sources._ground())
    while waiting:
        file = waiting.pop()
        seen.add(file)
        waiting |= sources._imports(file) - seen
    rooms = {Path(file).relative_to(sources._ROOT).parts[0] for file in seen}
    assert rooms == {"compiled", "errors.py"}

"""Copies of the package in which a mechanism is switched off.

A switch in the package would be one more branch in compiled code and one more option that nobody
should use. A copy in which a function has another body needs neither, and only what contains that
function is compiled again.
"""

from __future__ import annotations

import ast
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asperity

__all__ = ["Body", "Edit", "Value", "edited", "make_variant"]

PACKAGE = Path(asperity.__file__).parent


@dataclass(frozen=True)
class Body:
    """Another body for a function.

    Attributes
    ----------
    module
        Below the package: ``integrators.methods.springs``.
    name
        Of the function.
    code
        Statements, which may use whatever the module knows.
    """

    module: str
    name: str
    code: str


@dataclass(frozen=True)
class Value:
    """Another value for a constant of a module, or for a field's default: ``Cenic.accuracy``."""

    module: str
    name: str
    code: str


Edit = Body | Value


def _file(package: Path, module: str) -> Path:
    return package.joinpath(*module.split(".")).with_suffix(".py")


def _definition(tree: ast.Module, edit: Edit) -> ast.stmt:
    """The statement that an edit is about."""
    *outer, name = edit.name.split(".")
    body = tree.body
    for part in outer:
        body = next(
            (node.body for node in body if isinstance(node, ast.ClassDef) and node.name == part), []
        )
    for node in body:
        if isinstance(edit, Body):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            if [ast.unparse(target) for target in targets] == [name]:
                return node
    kind = "function" if isinstance(edit, Body) else "constant or field"
    raise ValueError(f"asperity.{edit.module} has no {kind} {edit.name!r} to be edited")


def edited(source: str, edit: Edit) -> str:
    """The source with an edit.

    Raises
    ------
    ValueError
        If there is nothing of that name, or the edit changes nothing.
    """
    node = _definition(ast.parse(source), edit)
    lines = source.splitlines()
    if isinstance(edit, Body):
        assert isinstance(node, ast.FunctionDef)
        has_docstring = ast.get_docstring(node) is not None
        if has_docstring and len(node.body) == 1:
            raise ValueError(f"{edit.name!r} has no body")
        first = node.body[1 if has_docstring else 0]
        new = textwrap.indent(textwrap.dedent(edit.code).strip(), " " * first.col_offset)
        start = first.lineno
    else:
        assert isinstance(node, ast.Assign | ast.AnnAssign)
        assert node.value is not None
        start = node.lineno
        before = lines[start - 1][: node.value.col_offset]
        new = before + edit.code
    assert node.end_lineno is not None
    if new.splitlines() == lines[start - 1 : node.end_lineno]:
        raise ValueError(f"the edit of asperity.{edit.module}.{edit.name} changes nothing")
    text = "\n".join([*lines[: start - 1], *new.splitlines(), *lines[node.end_lineno :]]) + "\n"
    ast.parse(text)
    return text


def make_variant(edits: Sequence[Edit], folder: Path) -> Path:
    """Copy the package into a folder, with what is compiled of it, and edit it.

    Returns
    -------
    Path
        What to put first on ``PYTHONPATH``.
    """
    package = folder / PACKAGE.name
    shutil.copytree(PACKAGE, package)
    for edit in edits:
        file = _file(package, edit.module)
        file.write_text(edited(file.read_text(encoding="utf-8"), edit), encoding="utf-8")
    return folder

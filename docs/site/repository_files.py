"""Files outside of ``docs/`` that its pages link to: the site has a copy of each.

Pages are written for readers of the repository, with links such as ``../CONTRIBUTING.md``. Here
whatever they link to becomes part of the site, below ``repository/``: Markdown as pages, programs
and notebooks as pages that show them, and everything else as it is.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOLDER = "repository"

# Pages that come with the parts of the package which they describe.
OPTIONAL = ("many-worlds.md", "learning.md", "derivatives.md")

_LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)(?=[)#])")
_PROGRAMS = {".py": "python", ".csv": "text"}
_PAGES = (*_PROGRAMS, ".ipynb")


def on_config(config: Any) -> Any:
    """Leave out of the navigation what is not there."""
    config.nav = [_present(entry) for entry in config.nav if _present(entry)]
    return config


def _present(entry: Any) -> Any:
    if isinstance(entry, dict):
        ((title, below),) = entry.items()
        found = [_present(e) for e in below] if isinstance(below, list) else _present(below)
        found = [e for e in found if e] if isinstance(found, list) else found
        return {title: found} if found else None
    return None if entry in OPTIONAL and not (DOCS / entry).is_file() else entry


def on_files(files: Any, config: Any) -> Any:
    """Take along what pages link to, and what that links to."""
    found: set[Path] = set()
    pages = [DOCS / file.src_uri for file in files if file.is_documentation_page()]
    named = re.findall(rf"{FOLDER}/[\w/.-]+", str(config.nav))
    pages += [ROOT / posixpath.relpath(name, FOLDER) for name in named]
    found.update(page for page in pages if DOCS not in page.parents)
    while pages:
        page = pages.pop()
        for target in _LINK.findall(_text(page)):
            path = (page.parent / target).resolve()
            if path.is_file() and DOCS not in path.parents and path not in found:
                found.add(path)
                pages += [path] if path.suffix == ".md" else []
    for path in sorted(found):
        files.append(_copy(path, config))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links of a page at the site's copies."""
    uri = page.file.src_uri
    inside = uri.startswith(f"{FOLDER}/")
    source = ROOT / posixpath.relpath(uri, FOLDER) if inside else DOCS / uri

    def rewritten(found: re.Match[str]) -> str:
        path = (source.parent / found[1]).resolve()
        if not path.is_file() or ROOT not in path.parents:
            return found[1]
        return posixpath.relpath(_uri(path), posixpath.dirname(uri) or ".")

    return _LINK.sub(rewritten, markdown)


def _uri(path: Path) -> str:
    """Where a file of the repository is in the site's sources."""
    if DOCS in path.parents:
        return path.relative_to(DOCS).as_posix()
    name = f"{FOLDER}/{path.relative_to(ROOT).as_posix()}"
    return f"{name}.md" if path.suffix in _PAGES else name


def _copy(path: Path, config: Any) -> File:
    if path.suffix in _PROGRAMS:
        name = path.relative_to(ROOT)
        fence = f"````{_PROGRAMS[path.suffix]}\n{_text(path)}````\n"
        return File.generated(config, _uri(path), content=f"# `{name}`\n\n{fence}")
    if path.suffix == ".ipynb":
        return File.generated(config, _uri(path), content=_notebook(json.loads(_text(path))))
    if path.suffix == ".md":
        return File.generated(config, _uri(path), content=_text(path))
    return File.generated(config, _uri(path), abs_src_path=str(path))


def _notebook(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown, with its results as they are in the file."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif picture := output.get("data", {}).get("image/png"):
                data = "".join(picture).replace("\n", "")
                parts.append(f'<img alt="" src="data:image/png;base64,{data}">')
    return "\n\n".join(parts) + "\n"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")

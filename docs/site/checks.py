"""What must hold of the built site: it loads nothing from elsewhere, and has every public name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

import asperity

# Links may lead anywhere; these would be fetched by a reader's browser on its own.
_FETCHED = re.compile(
    r"""<(?:script|img|iframe|video|source)\b[^>]*\ssrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b[^>]*rel=["']?(?:stylesheet|preconnect|preload)["']?[^>]*href=["']?(?:https?:)?//"""
)
_FORMULA = re.compile(r'<(?:span|div) class="arithmatex"')


def on_post_build(config: Any, **_: Any) -> None:
    """Stop the build at a page that would need the network, or without a public name."""
    pages = {
        path: path.read_text(encoding="utf-8") for path in Path(config.site_dir).rglob("*.html")
    }
    for path, text in pages.items():
        if found := _FETCHED.search(text):
            raise PluginError(f"{path} loads {found[0]!r}; put what it needs into docs/.")
        if _FORMULA.search(text):
            raise PluginError(f"{path} has a formula that was not drawn.")
    everything = "".join(pages.values())
    missing = [name for name in asperity.__all__ if f'id="asperity.{name}"' not in everything]
    if missing:
        raise PluginError(f"docs/reference lacks {', '.join(missing)}.")

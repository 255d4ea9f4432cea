"""Formulas of the site: LaTeX becomes MathML while the site is built, which browsers draw."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What the extension arithmatex leaves of `$…$` and of blocks named `math`.
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
# Bars of norms, which would grow apart, and minus signs after an opening or a relation.
_BAR = re.compile(r"<mo>(&#x02016;|&#x0007C;)</mo>")
_SIGN = re.compile(
    r"(<mo[^>]*>&#x(?:00028|0003D|0002C|02264|02265|02248|0003E|0003C);</mo>)<mo>&#x02212;</mo>"
)
# Docstrings announce blocks as reStructuredText does.
_DOUBLE_COLON = re.compile(r"::</p>")


def on_page_content(content: str, **_: Any) -> str:
    """Draw the formulas of a page."""
    content = _INLINE.sub(lambda found: _formula(found[1], "inline"), content)
    content = _BLOCK.sub(
        lambda found: f'<div class="formula">{_formula(found[1], "block")}</div>', content
    )
    return _DOUBLE_COLON.sub(":</p>", content)


def _formula(text: str, display: str) -> str:
    # A name that latex2mathml leaves as it is.
    drawn = convert(html.unescape(text).strip().replace(r"\arg\min", r"\argmin"), display=display)
    if "\\" in drawn:
        raise ValueError(f"{text!r} has a command that latex2mathml does not know.")
    drawn = _BAR.sub(r'<mo stretchy="false">\1</mo>', drawn)
    return _SIGN.sub(r'\1<mo form="prefix">&#x02212;</mo>', drawn)

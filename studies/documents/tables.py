"""What documents quote of a file of results: a table, or a number within a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from studies.documents.result_files import RESULTS, Number, Where, find, find_one

# Names of columns may be numbers, which `str.format` takes for places.
_COLUMN = re.compile(r"\{([^{}:]+):([^{}:]*)\}")

__all__ = ["Cell", "Line", "Made", "Span", "Table", "markdown"]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with the empty lines that it needs around it."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n\n" + "\n".join(lines) + "\n\n"


@dataclass(frozen=True)
class Cell:
    """A cell: the record that it is of, and what it shows of that.

    Parameters
    ----------
    show : str
        Such as ``{cpu_s_per_s:s2}``: a format of the record's columns (`result_files.Number`).
        ``@`` stands for the form of the line.
    where : mapping
        What the record must have besides what the line says.
    also : Cell, optional
        Of another record, shown after this one.
    """

    show: str
    where: Where = field(default_factory=dict)
    also: Cell | None = None

    def text(self, file: str, line: Line) -> str:
        """What the cell shows in a line; nothing where the file has no such row."""
        where = {**line.where, **self.where}
        if not find(file, where):
            return ""
        record = find_one(file, where)
        show = self.show.replace("@", line.form)
        text = _COLUMN.sub(lambda found: format(record[found[1]], found[2]), show)
        return f"{text}{self.also.text(file, line)}" if self.also else text


@dataclass(frozen=True)
class Line:
    """A line of a table: its labels, what its records have in common, and the form of numbers."""

    labels: tuple[str, ...]
    where: Where
    form: str = "s2"


@dataclass(frozen=True)
class Table:
    """A table of one file: every line shows every cell.

    Raises
    ------
    ValueError
        If a line finds no row of the file, or a cell finds several.
    """

    file: str
    head: tuple[str, ...]
    lines: tuple[Line, ...]
    cells: tuple[Cell, ...]

    def text(self) -> str:
        """The table as Markdown."""
        rows = []
        for line in self.lines:
            cells = [cell.text(self.file, line) for cell in self.cells]
            if not any(cells):
                raise ValueError(f"{self.file} has no rows with {dict(line.where)}.")
            rows.append([*line.labels, *cells])
        return markdown(self.head, rows)


@dataclass(frozen=True)
class Span:
    """The least and the largest number of a column, “0.04 to 0.13”; one number if they agree."""

    file: str
    column: str
    form: str
    where: Where = field(default_factory=dict)
    only: str = ""

    def text(self) -> str:
        """Both numbers, or the ``least`` or ``largest`` alone if ``only`` says so.

        Raises
        ------
        ValueError
            If no row has a number there.
        """
        found = [row.get(self.column) for row in find(self.file, self.where)]
        numbers = [value for value in found if isinstance(value, Number)]
        if not numbers:
            raise ValueError(f"{self.file} has no number {self.column} with {dict(self.where)}.")
        ends = [format(end, self.form) for end in (min(numbers), max(numbers))]
        if self.only:
            return ends[self.only == "largest"]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)


@dataclass(frozen=True)
class Made:
    """The date of a file of results."""

    file: str

    def text(self) -> str:
        """The date.

        Raises
        ------
        ValueError
            If the file has none.
        """
        found = re.search(r"\d{4}-\d\d-\d\d", (RESULTS / self.file).read_text(encoding="utf-8"))
        if found is None:
            raise ValueError(f"{self.file} has no date.")
        return found[0]

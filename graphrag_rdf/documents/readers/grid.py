"""Tables of formats that know cells: laid out as rows with bars, with what their columns are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graphrag_rdf.documents.table_heads import SAMPLE, Head, find_head
from graphrag_rdf.documents.tables import MOST_COLUMNS

MOST_CELLS = 5_000_000
"""Of a table, once each cell stands in all columns and lines that it spans."""
_LONGEST_REPEATED = 200  # characters of a cell that is written in each line that it spans
_LINES_OF_HEAD = 10


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell.

    Args:
        text: white space collapsed.
        across, down: columns and lines that it spans.
        continues: whether it goes on with the cell above it.
    """

    text: str
    across: int = 1
    down: int = 1
    continues: bool = False


@dataclass(slots=True)
class Grid:
    """A table as a format has it.

    Args:
        lines: its cells.
        declared: how many lines at the top name the columns or the table; None if the format does not tell.
        caption: its title, where that stands elsewhere.
    """

    lines: list[list[GridCell]] = field(default_factory=list)
    declared: int | None = None
    caption: str = ""

    def head(self) -> tuple[Head, list[list[str]]] | None:
        """What names the columns, and all lines with as many cells as there are columns; None if nothing
        does. What spans lines stands in each of them.
        """
        if self.declared == 0 or not self.lines:
            return None
        plain = list(self._spread())
        if not plain:
            return None
        top = [
            self._across(number, plain[number]) for number in range(min(len(plain), SAMPLE + _LINES_OF_HEAD))
        ]
        found = find_head(top, declared=self.declared)
        return (found, plain) if found else None

    def _spread(self) -> Iterator[list[str]]:
        width = max(sum(cell.across for cell in line) for line in self.lines)
        if width > MOST_COLUMNS or width * len(self.lines) > MOST_CELLS:
            return
        from_above: dict[int, tuple[str, int]] = {}
        before = [""] * width
        for line in self.lines:
            cells = [""] * width
            column = 0
            for cell in line:
                while column in from_above and column < width:
                    column += 1
                if column >= width:
                    break
                cells[column] = before[column] if cell.continues else cell.text
                if cell.down > 1:
                    repeated = cell.text if len(cell.text) <= _LONGEST_REPEATED else ""
                    for place in range(column, min(column + cell.across, width)):
                        from_above[place] = (repeated if place == column else "", cell.down)
                column += cell.across
            for place, (text, left) in list(from_above.items()):
                if not cells[place]:
                    cells[place] = text
                if left > 1:
                    from_above[place] = text, left - 1
                else:
                    del from_above[place]
            yield cells
            before = [cell if len(cell) <= _LONGEST_REPEATED else "" for cell in cells]

    def _across(self, number: int, cells: Sequence[str]) -> list[str]:
        """A line in which what spans columns stands in each of them."""
        spread = list(cells)
        wide = {cell.text: cell.across for cell in self.lines[number] if cell.across > 1 and cell.text}
        for column, text in enumerate(cells):
            for place in range(column + 1, min(column + wide.get(text, 1), len(spread))):
                if not spread[place]:
                    spread[place] = text
        return spread


def barred(cells: Sequence[str]) -> str:
    """A line of cells with bars around them."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

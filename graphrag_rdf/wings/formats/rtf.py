"""Rich Text Format: its text, without what is hidden or tells only how it looks."""

from __future__ import annotations

import re
from collections.abc import Callable

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.content import Grid, GridCell
from graphrag_rdf.i18n import tr

_INFO = {
    "title": "",
    "author": c.CREATOR,
    "subject": c.DESCRIPTION,
    "keywords": c.SUBJECT,
    "company": c.PUBLISHER,
}
_FIELD = re.compile(
    r"\{\\(title|author|subject|keywords|company)\s((?:[^{}\\]|\\'[0-9a-fA-F]{2}|\\u-?\d+\s?\??){1,1000})\}"
)
_TIME = re.compile(r"\{\\(creatim|revtim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_LONGEST_INFO = 1 << 16


def read_rtf(data: bytes) -> c.Content:
    """Extract the text; cells of tables are parted by bars.

    Raises:
        UnreadableError: it is no RTF.
    """
    from striprtf import striprtf

    rtf_to_text: Callable[..., str] = striprtf.rtf_to_text

    if not data.lstrip()[:5].startswith(b"{\\rtf"):
        raise c.UnreadableError(tr("not RTF, though it is called so"), tr("rename it as what it is"))
    source = data.decode("latin-1")
    top = source[:_LONGEST_INFO]
    properties = {
        name: rtf_to_text(f"{{\\rtf1 {value}}}", errors="ignore").strip()
        for name, value in _FIELD.findall(top)
    }
    times = {name: f"{year}-{int(month):02}-{int(day):02}" for name, year, month, day in _TIME.findall(top)}
    plain = rtf_to_text(source, errors="ignore")
    text, tables = c.layout(_blocks(plain))
    return c.Content(
        text,
        title=properties.get("title", ""),
        metadata=(
            *((iri, properties[name]) for name, iri in _INFO.items() if iri and name in properties),
            *(
                (iri, times[name])
                for name, iri in (("creatim", c.CREATED), ("revtim", c.MODIFIED))
                if name in times
            ),
        ),
        tables=tables,
    )


def _blocks(plain: str) -> list[c.Block | Grid]:
    """Lines as paragraphs; lines that end with a bar, as the library writes rows, as tables."""
    blocks: list[c.Block | Grid] = []
    grid: Grid | None = None
    for line in plain.split("\n"):
        cells = line.rstrip().split("|")
        if len(cells) > 2 and not cells[-1]:
            if grid is None:
                grid = Grid()
                blocks.append(grid)
            grid.lines.append([GridCell(" ".join(cell.split())) for cell in cells[:-1]])
        else:
            grid = None
            if line.strip():
                blocks.append(("paragraph", line.strip()))
    return blocks

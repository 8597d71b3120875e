"""LaTeX: its text as it would be printed, formulas as they are written."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import Any

from graphrag_rdf.documents.readers import content as c
from graphrag_rdf.documents.readers.content import Grid, GridCell
from graphrag_rdf.documents.readers.encoding import decode
from graphrag_rdf.i18n import tr

LONGEST = 5_000_000
"""Characters of a file: the library reads some hundred thousand a second."""

_TOKENS, _TOKENS_MORE = 10, 1000
"""Looks of the library at a token, for each character and more; two for each are many."""

_BODY = re.compile(r"(?s)\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)")
_AUTHORS = re.compile(r"\\author(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\}){0,2000})\}")
# what makes a title, marks a place, or refers to one
_UNSAID = re.compile(
    r"\\maketitle\b|\\tableofcontents\b"
    r"|~?\\(?:no)?(?:cite[tp]?|label|index|bibliography|bibliographystyle|[ce]?ref|autoref)"
    r"\*?(?:\[[^\]]*\])*\{[^{}]*\}"
    r"|\\(?:title|author|date|thanks)(?:\[[^\]]*\])?\{(?:[^{}]|\{[^{}]*\}){0,2000}\}"
)
_COMMENT = re.compile(r"(?m)(?<!\\)%.*$")
_TOLD = re.compile(r"\\(title|date)(?:\[[^\]]*\])?\{((?:[^{}]|\{[^{}]*\}){0,2000})\}")
_PARTS = re.compile(
    r"(?s)\\(?P<heading>part|chapter|(?:sub){0,2}section|(?:sub)?paragraph)\*?(?:\[[^\]]*\])?"
    r"\{(?P<title>(?:[^{}]|\{[^{}]*\}){0,500})\}"
    r"|\\begin\{(?P<table>tabular[x*]?|longtable)\}(?P<rows>.*?)\\end\{(?P=table)\}"
    r"|\\item\b(?:\[(?P<label>[^\]]{0,200})\])?|\\(?:begin|end)\{(?P<list>itemize|enumerate|description)\}|(?P<blank>\n\s*\n)"
)
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\})"
)
_SPAN = re.compile(r"(?s)\s*\\multi(column|row)\{(\d{1,3})\}\{[^}]*\}\{(.*)\}\s*\Z")
_COLUMNS = re.compile(r"(?:\[[^\]]*\]|\{(?:[^{}]|\{[^{}]*\})*\}|\s)*")


def read_tex(data: bytes) -> c.Content:
    """Extract headings, paragraphs, lists and tables; title, authors and date.

    Raises:
        UnreadableError: it is not text, too long, or nested too deeply.
    """
    text, encoding = decode(data)
    if len(text) > LONGEST:
        raise c.UnreadableError(
            tr("more than {longest:,} characters").format(longest=LONGEST), tr("split it, or save it as .txt")
        )
    source = _COMMENT.sub("", text)
    body = _BODY.search(source)
    try:
        commands = {name: _said(value) for name, value in _TOLD.findall(source)}
        blocks = [
            block
            for block in _blocks(_UNSAID.sub("", body[1] if body else source))
            if isinstance(block, Grid) or block[1]
        ]
    except RecursionError:
        raise c.UnreadableError(tr("nested too deeply"), tr("save it as .txt, to be read as text")) from None
    laid_out, tables = c.layout(blocks)
    authors = [_said(name) for part in _AUTHORS.findall(source)[:1] for name in re.split(r"\\and\b", part)]
    return c.Content(
        laid_out,
        title=" ".join(commands.get("title", "").split()),
        heading=c.first_heading(blocks),
        headings=c.headings_in(laid_out, blocks),
        encoding=encoding,
        metadata=(*((c.CREATOR, author) for author in authors), (c.CREATED, commands.get("date", ""))),
        tables=tables,
    )


def _blocks(source: str) -> list[c.Block | Grid]:
    blocks: list[c.Block | Grid] = []
    position = 0
    kind: c.BlockKind = "paragraph"
    for part in _PARTS.finditer(source):
        blocks.append((kind, _said(source[position : part.start()])))
        position = part.end()
        if part["heading"]:
            blocks.append(("heading", _said(part["title"])))
        elif part["table"]:
            blocks.append(_grid(part["rows"]))
        kind = "item" if part[0].startswith("\\item") else "paragraph"
        if part["label"]:
            blocks.append(("paragraph", _said(part["label"])))
    blocks.append((kind, _said(source[position:])))
    return blocks


def _grid(rows: str) -> Grid:
    columns = _COLUMNS.match(rows)
    plain = _RULES.sub("", rows[columns.end() if columns else 0 :])
    lines = [re.split(r"(?<!\\)&", line) for line in re.split(r"\\\\(?:\[[^\]]*\])?", plain)]
    return Grid([[_cell(cell) for cell in line] for line in lines if any(cell.strip() for cell in line)])


def _cell(cell: str) -> GridCell:
    across = down = 1
    while span := _SPAN.match(cell):
        across, down = (int(span[2]), down) if span[1] == "column" else (across, int(span[2]))
        cell = span[3]
    return GridCell(" ".join(_said(cell).split()), max(across, 1), max(down, 1))


def _said(source: str) -> str:
    if not source.strip():
        return ""
    if "\\" not in source and "$" not in source and "{" not in source and "~" not in source:
        return re.sub(r"[ \t]*\n[ \t]*", "\n", source.strip())
    nodes = _walker()(source, tolerant_parsing=True).get_latex_nodes()[0]
    text = _converter().nodelist_to_text(nodes)
    return re.sub(r"[ \t]*\n\s*", "\n", text.replace("\xa0", " ").strip())


@lru_cache(maxsize=1)
def _walker() -> Any:
    from pylatexenc.latexwalker import LatexWalker

    class Walker(LatexWalker):  # type: ignore[misc]
        """Gives up on macros whose brackets never close: the library reads what follows twice for each."""

        def __init__(self, source: str, **flags: Any) -> None:
            super().__init__(source, **flags)
            self._left = _TOKENS * len(source) + _TOKENS_MORE

        def get_token(self, *where: Any, **how: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise c.UnreadableError(
                    tr("brackets of its macros do not close"),
                    tr("close them, or save it as .txt, to be read as text"),
                )
            return super().get_token(*where, **how)

    return Walker


@lru_cache(maxsize=1)
def _converter() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text

    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # it speaks of its own settings
    return LatexNodes2Text(math_mode="verbatim", keep_comments=False)

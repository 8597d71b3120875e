"""Readable syntax errors: the place, the line with a mark under it, and the cause if the parser names one.

The parser also lists all keywords and characters that it would have accepted; those are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf.namespaces import PREFIXES

NO_CALLS = later("if this calls another server: that is refused")
"""Added to a syntax error of a text that may call another server, for `tr`."""

_AT = re.compile(r"error at (\d+):(\d+): expected (?:one of )?(.*)", re.DOTALL)
_CLASS = re.compile(r"\[(?:'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^\]'\"])*\]")
_OURS = re.compile(r"(?:PREFIX ([\w-]*): <([^>]*)> )+")
_DECLARED = re.compile(r"PREFIX ([\w-]*): <([^>]*)> ")
_ANYTHING = "[_]"
_PROLOGUE = re.compile(
    r"(?:\s|#[^\n]*(?:\n|$)|(?:BASE|PREFIX\s+[^\s:]*:)\s*<[^>]*>|VERSION\s+\S+)*", re.IGNORECASE
)
# in the list of the parser when the text begins with none of the query forms
_NO_QUERY = re.compile(r"\b(?:ASK|CONSTRUCT|DESCRIBE|PREFIX, SELECT)\b")
_FORM = re.compile(r"(?:SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.IGNORECASE)
_UPDATE = re.compile(r"(?:INSERT|DELETE|WITH|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY)\b", re.IGNORECASE)
_UPDATE_SAID = later("this is an update, not a query")
_QUERY_SAID = later("a query must begin with SELECT, ASK, CONSTRUCT or DESCRIBE")
_PATTERN_SAID = later("this is a pattern, not a query; a query is {query}")
_SCHEMES = {"http", "https", "urn", "file", "mailto", "tag"}
_IRI = "IRI parsing failed"
_SHOWN = 100  # characters of a line
_TERM = r"""("(?:\\.|[^"\\\n])*"[^\s<>()]*|'(?:\\.|[^'\\\n])*'[^\s<>()]*|<[^<>\s]*>|[^\s<>"']+)"""
_STATEMENT = re.compile(rf"<<(\()?\s*{_TERM}\s+{_TERM}\s+{_TERM}\s*(?(1)\))>>")
_BARE_IRI = re.compile(r"[A-Za-z][\w+.-]*://.+|urn:.+")
_BARE_WORD = re.compile(r"(?!(?:a|true|false)$)[^\W\d][\w-]*")
_IN_LINE = later("the SPARQL is malformed at line {number}: {why}")
_AT_COLUMN = later("the SPARQL is malformed at line {number}, column {column}: {why}")
_STATUS = {"not supported": 501, "does not exist": 404, "already exists": 409}
_UNDECLARED = "Prefix not found"
_UNDECLARED_IN_TURTLE = re.compile(r"The prefix (\S*): has not been declared")
_NO_CODE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|<[^<>"{}|^`\s]*>|#[^\n]*',
    re.DOTALL,
)
"""Strings, IRIs and comments."""
_DECLARATION = re.compile(r"\bPREFIX\s+([\w.-]*):", re.IGNORECASE)
_PREFIXED = re.compile(r"(?<![\w.<-])([^\W\d_](?:[\w.-]*[\w-])?|):")
_KNOWN = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "org": "http://www.w3.org/ns/org#",
    "schema": "https://schema.org/",
    "time": "http://www.w3.org/2006/time#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "void": "http://rdfs.org/ns/void#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    **PREFIXES,
}
"""Prefixes whose declaration an error message offers: ours, and those of common vocabularies."""


def evaluation_status(cause: str) -> int:
    """The HTTP status for a well-formed query or update that the engine could not evaluate, by its error."""
    return next((status for words, status in _STATUS.items() if words in cause), 500)


def declaration(error: Exception) -> str | None:
    """What Turtle lacks if a prefix is not declared; None for another error of the parser."""
    match = _UNDECLARED_IN_TURTLE.search(str(error))
    if match is None:
        return None
    return tr("declare the prefix at the beginning: {line}").format(
        line=f"@prefix {match[1]}: <{_KNOWN.get(match[1], '…')}> ."
    )


def complaint(text: str, error: Exception) -> str:
    """The error message for a malformed query or update.

    Args:
        text: the parsed text; prefixes that the program added to its first line are not shown.
        error: of the parser.

    Returns:
        a sentence and, if the place is known, two lines: the text there, and a mark under it.
    """
    position = _AT.fullmatch(str(error))
    if position is None:
        return tr("the SPARQL is malformed: {error}").format(error=error)
    number, column = int(position[1]), int(position[2])
    begins = _begins(text)
    bare = _bare_statement(text)
    if _NO_QUERY.search(position[3]) and begins < len(text) and not _FORM.match(text, begins):
        pattern = _PATTERN_SAID if text.startswith(("?", "$", "<"), begins) else _QUERY_SAID
        why = _UPDATE_SAID if _UPDATE.match(text, begins) else pattern
        reason = tr(why).format(query=f"SELECT * {{ {_whole(text, begins, bare)} }}")
        if bare is not None and why is _PATTERN_SAID:
            return _told(text, *_place(text, bare.start), f"{bare.why}; {reason}")
        return _told(text, *_place(text, begins), reason)
    if bare is not None:
        return _told(text, *_place(text, bare.start), bare.why)
    lines = text.split("\n")
    line = lines[number - 1].rstrip("\r") if number <= len(lines) else ""
    expected = _said(position[3])
    at_end = number == len(lines) and column > len(line) and not expected
    more = position[3] != _ANYTHING and text.count("{") > text.count("}")
    ended = at_end and (more or not line.strip())
    if _ANYTHING in position[3] and column > 1 and not ended:
        column -= 1  # the parser is one character after the wrong one
    if _UNDECLARED in expected or not expected:
        at = sum(len(each) + 1 for each in lines[: number - 1]) + column - 1
        if (prefix := _undeclared(text, at)) is not None:
            iri = _KNOWN.get(prefix[1], "…")
            message = tr(
                "the prefix {prefix} is not declared; write before the query: PREFIX {prefix} <{iri}>"
            )
            if prefix[1] in _SCHEMES:
                message = tr("IRIs stand in angle brackets: <{prefix}…>")
            why = message.format(prefix=prefix[0], iri=iri)
            return _told(text, *_place(text, prefix.start()), why)
    if expected == [_IRI]:
        expected = [tr("this IRI is relative or malformed; write it in full, or BASE <…> before the query")]
    why = "; ".join(expected) or (tr("unexpected end") if ended else tr("unexpected text"))
    return _told(text, number, column, why)


def place_in(message: str) -> tuple[int, int | None] | None:
    """(line, column) that a message of `complaint` names, from 1; no column if it names only the line."""
    for form in (_AT_COLUMN, _IN_LINE):
        beginning, _, rest = tr(form).partition("{number}")
        between, column, _ = rest.partition("{column}")
        pattern = re.escape(beginning) + r"(\d+)" + (re.escape(between) + r"(\d+)" if column else "()")
        if match := re.match(pattern, message):
            return int(match[1]), int(match[2]) if match[2] else None
    return None


@dataclass(frozen=True, slots=True)
class _Bare:
    """A statement in `<< >>` with an IRI or a word that is no term.

    Attributes:
        start, end: its offsets.
        why: what is wrong.
        mended: as SPARQL writes it; None if nobody knows which terms are meant.
    """

    start: int
    end: int
    why: str
    mended: str | None


def _bare_statement(text: str) -> _Bare | None:
    """The first statement such as `<<http://example.org/s http://example.org/p "value">>`."""
    code = _NO_CODE.sub(lambda match: " " * len(match[0]), text) if "<<" in text else ""
    for statement in _STATEMENT.finditer(text):
        terms = statement.groups()[1:]
        word = next((term for term in terms if _BARE_WORD.fullmatch(term)), None)
        if not code.startswith("<<", statement.start()):
            continue
        if word is not None:
            why = tr(
                "{word} is no term; terms are IRIs in angle brackets, prefixed names, variables and literals"
            )
            return _Bare(*statement.span(), why.format(word=_shown(word)), None)
        if any(map(_BARE_IRI.fullmatch, terms)):
            written = (f"<{term}>" if _BARE_IRI.fullmatch(term) else term for term in terms)
            mended = f"<<( {' '.join(written)} )>>"
            why = tr("IRIs stand in angle brackets, and triple terms in <<( )>>: {term}")
            return _Bare(*statement.span(), why.format(term=_shown(mended)), mended)
    return None


def _whole(text: str, begins: int, bare: _Bare | None) -> str:
    """A pattern as it stands in a query, if its statement could be mended."""
    if bare is None or bare.mended is None or bare.start == begins:
        return "…"
    return _shown(f"{text[begins : bare.start]}{bare.mended}{text[bare.end :]}".strip())


def _shown(text: str) -> str:
    """A text within a sentence."""
    return text if text.isprintable() and len(text) <= 3 * _SHOWN else "…"


def _told(text: str, number: int, column: int, why: str) -> str:
    """The message: place, cause, and the line."""
    lines = text.split("\n")
    line = lines[number - 1].rstrip("\r") if number <= len(lines) else ""
    hidden = _prologue(line) if number == 1 else 0
    told = tr(_IN_LINE if hidden else _AT_COLUMN).format(number=number, column=column, why=why)
    return f"{told}\n{_marked(line[hidden:], column - 1 - hidden)}"


def _begins(text: str) -> int:
    """The offset after prefixes and comments."""
    prologue = _PROLOGUE.match(text)
    return prologue.end() if prologue else 0


def _place(text: str, at: int) -> tuple[int, int]:
    """(line, column) of a place, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _said(listed: str) -> list[str]:
    """The causes that the parser gives in words, without the incomplete list of keywords."""
    return [item.strip() for item in _CLASS.sub("", listed).split(",") if " " in item.strip()]


def _undeclared(text: str, at: int) -> re.Match[str] | None:
    """The last prefix before a place that is not declared. In expressions the parser does not name it."""
    code = _NO_CODE.sub(lambda match: " " * len(match[0]), text)
    declared = {declaration_match[1] for declaration_match in _DECLARATION.finditer(code)}
    used = [use for use in _PREFIXED.finditer(code) if use.start() <= at and use[1] not in declared]
    return used[-1] if used else None


def _prologue(line: str) -> int:
    """The length of the prefixes that the program added to a line."""
    prologue = _OURS.match(line)
    if prologue is None or any(PREFIXES.get(name) != iri for name, iri in _DECLARED.findall(prologue[0])):
        return 0
    return prologue.end()


def _marked(line: str, place: int) -> str:
    """A line, or the part around a place, with a mark under the place."""
    place = max(0, min(place, len(line)))
    start = max(0, min(place - _SHOWN // 2, len(line) - _SHOWN))
    part = "".join(c if c.isprintable() else " " for c in line[start : start + _SHOWN])
    return f"  {part}\n  {' ' * (place - start)}^"

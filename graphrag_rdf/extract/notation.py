"""Statements in answers that are not JSON. Small models often write them so, whatever the prompt asks for:

    director(Night Ferry, Noriko Abe)              one or several, anywhere in a line
    (Night Ferry, director, Noriko Abe)            also with quotes, or in square brackets
    Night Ferry | director | Noriko Abe            also with -> or → between the parts

A line may begin with a bullet, a number or a label such as "Triples:". In prose only the first form counts,
with no blank before the parenthesis. Of several commas, the one counts that has names of the text on both
sides: the subject may be "Lock, Stock and Barrel". If there is none, but all parts are names of the text, the
first is the subject, and each of the others an object.

Names lose what belongs to the notation: escapes of Markdown, quotes, a comma at the end, parentheses around
them, and underscores for blanks, unless the text writes them so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphrag_rdf.extract.names import fold

_MARK = re.compile(r"\s*(?:[*•–-]\s+|\d{1,3}[.)]\s+)?(?:[\w ]{1,40}:\s+)?")
_INNER = r"[^()\n]*(?:\([^()\n]*\)[^()\n]*)*"  # parentheses in a name: "Solaris (film)"
_CALL = re.compile(rf"\s*(?P<predicate>[^\W\d](?:[\w ,.:/#'-]{{0,80}}\w)?)\((?P<ends>{_INNER})\)\s*[,;.]?")
_TIGHT = re.compile(rf"(?P<predicate>[^\W\d][\w/:#-]*)\((?P<ends>{_INNER})\)")
_TRIPLE = re.compile(rf"\s*\((?P<parts>{_INNER})\)\s*[,;.]?")
_QUOTE = r"""(?:"[^"\n]{1,200}"|'[^'\n]{1,200}')"""
_QUOTED = re.compile(rf"[(\[]\s*({_QUOTE})\s*,\s*({_QUOTE})\s*,\s*({_QUOTE})\s*[)\]]")
_BETWEEN = re.compile(r"\s*(?:\||->|→)\s*")
_GAPS = re.compile(r"[\W_]+")
_HEADS = frozenset(("predicate", "property", "relation", "relationship"))  # of a table
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")  # CommonMark 2.4
_STRAY = " \t\"'`*,;"
_LONGEST = 2000  # characters of a line


def statements_in(answer: str, text: str) -> list[dict[str, str]]:
    """The statements of an answer, each once, as `subject`, `predicate`, `object`.

    Args:
        answer: what a model said.
        text: what it read, which decides where names with commas end.
    """
    run = _run(text)
    statements: dict[tuple[str, ...], None] = {}
    for line in _ESCAPE.sub(r"\1", answer).splitlines():
        for subject, predicate, value in _line(line[:_LONGEST], run):
            stripped = (_name(subject, text), predicate.strip(_STRAY), _name(value, text))
            if all(map(_run, stripped)) and stripped[1].casefold() not in _HEADS:
                statements[stripped] = None
    return [dict(zip(("subject", "predicate", "object"), parts, strict=True)) for parts in statements]


def _line(line: str, run: str) -> Iterator[tuple[str, str, str]]:
    if quoted := list(_QUOTED.finditer(line)):
        yield from ((each[1], each[2], each[3]) for each in quoted)
        return
    mark = _MARK.match(line)
    tail = line[mark.end() :] if mark else line
    if len(parts := _BETWEEN.split(tail.strip().strip("|"))) == 3:
        yield parts[0], parts[1], parts[2]
        return
    while call := _CALL.match(tail) or _TRIPLE.match(tail):
        yield from _parts(call, run)
        tail = tail[call.end() :]
    for call in _TIGHT.finditer(tail):
        yield from _parts(call, run)


def _parts(match: re.Match[str], run: str) -> Iterator[tuple[str, str, str]]:
    if match.re is _TRIPLE:
        parts = match["parts"].split(",")
        if calls := list(_TIGHT.finditer(match["parts"])):
            for call in calls:
                yield from _parts(call, run)
        elif len(parts) == 3:
            yield parts[0], parts[1], parts[2]
        return
    for subject, value in _ends(match["ends"], run):
        yield subject, match["predicate"], value


def _ends(written: str, run: str) -> list[tuple[str, str]]:
    """Subject and object of `a, b`; of more parts, see above."""
    parts = written.split(",")
    cuts = [(",".join(parts[:at]), ",".join(parts[at:])) for at in range(1, len(parts))]
    if len(cuts) < 2:
        return cuts
    for subject, value in cuts:
        if _is_in(subject, run) and _is_in(value, run):
            return [(subject, value)]
    for at in range(len(parts) - 1, 0, -1):
        if all(_is_in(each, run) for each in (cuts[at - 1][0], *parts[at:])):
            return [(cuts[at - 1][0], each) for each in parts[at:]]
    return cuts[:1]


def _name(written: str, text: str) -> str:
    """A name without what belongs to the notation."""
    name = written.strip(_STRAY)
    if name.startswith("(") and name.find(")") == len(name) - 1:
        name = name[1:-1].strip(_STRAY)
    return name if name in text else name.replace("_", " ")


def _is_in(name: str, run: str) -> bool:
    key = _run(name)
    return bool(key) and key in run


def _run(text: str) -> str:
    """The letters and digits of a text, run together."""
    return _GAPS.sub("", fold(text))

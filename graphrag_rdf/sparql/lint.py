"""What the engine punishes, found before it runs.

| rule | why |
|---|---|
| OPTIONAL holds exactly one triple pattern | two patterns take minutes where one takes milliseconds |
| no triple term inside OPTIONAL, UNION or MINUS | the engine scans every reifier |
| no `{| |}` and no `~` | inside GRAPH they also assert the fact |
| no SERVICE, no LOAD | they call out |
| a triple term's subject variable also occurs outside it | an open triple term is a scan of all of them |
"""

from __future__ import annotations

from collections.abc import Iterator

from graphrag_rdf.sparql.tokens import Token, tokens

_FORBIDDEN_WORDS = {"SERVICE": "calls out to the network", "LOAD": "calls out to the network"}
_BRACKETS = {"<<(", "<<"}


def lint(query: str) -> list[str]:
    """Complaints about a rendered query, empty if it is fit to run."""
    found = list(tokens(query))
    return [*_forbidden(found), *_optionals(found), *_open_triple_terms(found)]


def _forbidden(found: list[Token]) -> Iterator[str]:
    for token in found:
        reason = _FORBIDDEN_WORDS.get(token.text.upper()) if token.kind == "word" else None
        if reason:
            yield f"{token.text.upper()} {reason}"
        if token.text in ("{|", "|}", "~"):
            yield f"'{token.text}' also asserts the fact inside GRAPH: write the triple term out"


def _groups(found: list[Token], keyword: str) -> Iterator[list[Token]]:
    """The tokens of each `{ … }` that belongs to a keyword (for UNION: the groups on both sides)."""
    for n, token in enumerate(found):
        if token.kind != "word" or token.text.upper() != keyword:
            continue
        if keyword == "UNION" and (start := _opening(found, n - 1)) is not None:
            yield found[start + 1 : n - 1]
        end = _closing(found, n + 1)
        if end is not None:
            yield found[n + 2 : end]


def _closing(found: list[Token], start: int) -> int | None:
    depth = 0
    for n in range(start, len(found)):
        depth += (found[n].text == "{") - (found[n].text == "}")
        if depth == 0:
            return n
    return None


def _opening(found: list[Token], end: int) -> int | None:
    depth = 0
    for n in range(end, -1, -1):
        depth += (found[n].text == "}") - (found[n].text == "{")
        if depth == 0:
            return n
    return None


def _patterns(group: list[Token]) -> int:
    """How many triple patterns a group holds (separators outside brackets and filters)."""
    depth = patterns = 0
    pending = False
    skip_filter = False
    for token in group:
        if token.kind == "word" and token.text.upper() in ("FILTER", "BIND", "VALUES"):
            skip_filter = True
        if token.text in ("(", "<<("):
            depth += 1
        elif token.text in (")", ")>>"):
            depth -= 1
            if depth == 0 and skip_filter:
                skip_filter = False
                continue
        elif depth == 0 and not skip_filter:
            if token.text in (".", ";", ",", "{", "}"):
                patterns += pending
                pending = False
            elif token.kind == "word" and token.text.upper() == "GRAPH":
                pending = False
            else:
                pending = True
            if token.text == "{":
                patterns -= pending
                pending = False
    return patterns + pending


def _optionals(found: list[Token]) -> Iterator[str]:
    for keyword in ("OPTIONAL", "UNION", "MINUS"):
        for group in _groups(found, keyword):
            if any(token.text in _BRACKETS for token in group):
                yield f"a triple term inside {keyword} makes the engine scan all of them"
    for group in _groups(found, "OPTIONAL"):
        inner = group
        if inner and inner[0].text.upper() == "GRAPH":
            inner = group[group.index(next(t for t in group if t.text == "{")) + 1 : -1]
        if (number := _patterns(inner)) != 1:
            yield f"OPTIONAL holds {number} triple patterns, not one"


def _open_triple_terms(found: list[Token]) -> Iterator[str]:
    inside: list[str] = []
    outside: set[str] = set()
    depth = 0
    starts: list[str] = []
    for token in found:
        if token.text in _BRACKETS:
            depth += 1
            starts.append("")
            continue
        if token.text in (")>>", ">>"):
            depth -= 1
            continue
        if depth and not starts[-1]:
            starts[-1] = token.text
            inside.append(token.text)
        if not depth and token.kind == "variable":
            outside.add(token.text)
    for subject in inside:
        if subject.startswith("?") and subject not in outside:
            yield f"the triple term of {subject} is open: join it with the plain edge"

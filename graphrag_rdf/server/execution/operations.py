"""The operations of an update, by its tokens; and those that have nothing to do rather than fail.

SPARQL 1.1 Update §3.1.4 (LOAD), §3.1.5 (CLEAR). The protocol's test suite clears a graph that is not there
and expects success; the engine, which knows of empty graphs, calls it a failure. And what is SILENT succeeds
whatever comes of it: a LOAD that is refused loads nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from graphrag_rdf.sparql.tokens import Token, tokens

_NOTHING = "INSERT DATA {}"
_SILENT_LOADS = (("LOAD", "SILENT", ""), ("LOAD", "SILENT", "", "INTO", "GRAPH", ""))
"""The words of a LOAD; empty where an IRI stands."""


def operations(found: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where the operations of a request begin and end: they stand between semicolons outside of braces."""
    start = depth = 0
    for index, token in enumerate(found):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0 and token.text == ";":
            yield start, index
            start = index + 1
    yield start, len(found)


def outermost(found: Sequence[Token], word: str) -> Iterator[int]:
    """Where a keyword stands outside of braces."""
    depth = 0
    for index, token in enumerate(found):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0 and token.kind == "word" and token.text.upper() == word:
            yield index


def changed(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """A text with other text between places: (from, to, what stands there now)."""
    out, done = [], 0
    for start, end, instead in sorted(changes):
        out += [text[done:start], instead]
        done = end
    return "".join([*out, text[done:]])


def nothing_missed(update: str, allowed: Collection[str] = ()) -> str:
    """The update with `CLEAR SILENT GRAPH` for `CLEAR GRAPH`, and nothing for a refused `LOAD SILENT`.

    Args:
        allowed: IRIs that LOAD may call.
    """
    found = list(tokens(update))
    changes: list[tuple[int, int, str]] = []
    for start, end in operations(found):
        operation = found[start:end]
        for index in outermost(operation, "CLEAR"):
            if [token.text.upper() for token in operation[index + 1 : index + 2]] == ["GRAPH"]:
                place = operation[index].offset + len("CLEAR")
                changes.append((place, place, " SILENT"))
        for index in outermost(operation, "LOAD"):
            load = operation[index:]
            if _is_silent_load(load) and _called(found, start + index + 2) not in allowed:
                changes.append((load[0].offset, load[-1].offset + len(load[-1].text), _NOTHING))
    return changed(update, changes)


def _called(found: Sequence[Token], place: int) -> str | None:
    """The IRI that a token is, in full or with the prefix that was declared last before it; else None."""
    token = found[place]
    if token.kind == "iri":
        return token.text[1:-1]
    prefix, colon, local = token.text.partition(":")
    if not colon:
        return None
    for index in range(place - 3, -1, -1):
        word, name, iri = found[index : index + 3]
        if word.text.upper() == "PREFIX" and name.text == f"{prefix}:" and iri.kind == "iri":
            return iri.text[1:-1] + local.replace("\\", "")
    return None


def _is_iri(token: Token) -> bool:
    return token.kind == "iri" or (token.kind == "word" and ":" in token.text)


def _is_silent_load(operation: Sequence[Token]) -> bool:
    return any(
        len(shape) == len(operation)
        and all(
            token.text.upper() == word if word else _is_iri(token)
            for word, token in zip(shape, operation, strict=True)
        )
        for shape in _SILENT_LOADS
    )

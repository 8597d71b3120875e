"""`SERVICE rag:search` in queries: a search of the indexes, replaced by its hits before the query runs.

    SELECT ?chunk ?score WHERE {
      SERVICE rag:search { ?chunk rag:query "tidal power" ; rag:limit 10 ; rag:score ?score }
    }

The hits become a VALUES block, so what runs is a query that any engine runs. The names are those of the
program's own namespace; the query's prefix for it must be `rag`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyoxigraph as ox
from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.records import Kind
from graphrag_rdf.rdf.namespaces import PREFIXES, RAG
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.sparql.tokens import Token, is_word, tokens

if TYPE_CHECKING:
    from graphrag_rdf.components import Components

KINDS: Mapping[str, Kind] = {
    "tg:Chunk": "chunk",
    "rag:Sentence": "sentence",
    "rag:Entity": "entity",
    "rag:CommunityReport": "report",
}
"""Class → kind of record."""
_BY = ("words", "meaning")
_LIMIT, _MOST, _SEARCHES = 10, 1000, 10
_PREDICATES = ("query", "kind", "limit", "score", "by")


def with_hits(query: str, components: Components) -> str:
    """A query with the hits of its searches in place of them.

    Raises:
        UsageError: when a search is malformed.
        SearchIndexError: when an index cannot be used.
    """
    if "search" not in query:
        return query
    query_tokens = list(tokens(query))
    out: list[str] = []
    done = 0
    for index, token in enumerate(query_tokens):
        if not is_word(token, "SERVICE"):
            continue
        at = index + 1 + (index + 1 < len(query_tokens) and is_word(query_tokens[index + 1], "SILENT"))
        if at + 1 >= len(query_tokens) or not _is(query_tokens[at], "search"):
            continue
        end = next((i for i in range(at, len(query_tokens)) if query_tokens[i].text == "}"), None)
        if query_tokens[at + 1].text != "{" or end is None:
            raise _malformed(tr("it needs a group in braces"))
        if len(out) >= 2 * _SEARCHES:
            raise _malformed(tr("a query has {number} searches at most").format(number=_SEARCHES))
        out += [query[done : token.offset], _values(query_tokens[at + 2 : end], components)]
        done = query_tokens[end].offset + 1
    return "".join([*out, query[done:]])


def _is(token: Token, name: str) -> bool:
    return token.text in (f"rag:{name}", f"<{PREFIXES['rag']}{name}>")


def _values(group: Sequence[Token], components: Components) -> str:
    """The VALUES block of a search."""
    thing, asked = _read(group)
    hits = _hits(asked, components)
    score = asked.get("score")
    names = " ".join((thing, *([score.text] if score else [])))
    rows = (f"({NamedNode(iri)}{f' {double(value)}' if score else ''})" for iri, value in hits)
    return f"VALUES ({names}) {{ {' '.join(rows)} }}"


def _read(group: Sequence[Token]) -> tuple[str, dict[str, Token]]:
    """The variable of a search, and its values by the names of predicates."""
    listed = list(group[:-1] if group and group[-1].text == "." else group)
    if not listed or listed[0].kind != "variable":
        raise _malformed(tr("it begins with a variable"))
    asked: dict[str, Token] = {}
    position = 1
    while position < len(listed):
        if position + 1 >= len(listed):
            raise _malformed(tr("a property has no value"))
        predicate, value = listed[position : position + 2]
        name = next((name for name in _PREDICATES if _is(predicate, name)), None)
        if name is None:
            raise _malformed(tr("unknown property: {name}").format(name=predicate.text))
        asked[name] = value
        position += 2
        while position < len(listed) and listed[position].text == ";":
            position += 1
    if "query" not in asked:
        raise _malformed(tr("rag:query is missing"))
    if (score := asked.get("score")) is not None and score.kind != "variable":
        raise _malformed(tr("the value of rag:score is a variable"))
    return listed[0].text, asked


def _hits(asked: Mapping[str, Token], components: Components) -> list[tuple[str, float]]:
    text = _literal(asked["query"])
    kind = KINDS.get(_short(asked["kind"])) if "kind" in asked else "chunk"
    if kind is None:
        raise _malformed(tr("rag:kind is one of {names}").format(names=", ".join(KINDS)))
    limit = _number(asked["limit"]) if "limit" in asked else _LIMIT
    by = _literal(asked["by"]) if "by" in asked else "words"
    if by not in _BY:
        raise _malformed(tr("rag:by is one of {names}").format(names=", ".join(_BY)))
    if by == "words":
        hits = components.text_index.search(text, kind=kind, k=limit)
    else:
        if components.vectors is None or components.embedder is None:
            raise UsageError(tr("a search by meaning needs an embedding model"))
        hits = components.vectors.search(components.embedder.embed([text])[0], kind=kind, k=limit)
    return [(hit.iri, hit.score) for hit in hits]


def _number(token: Token) -> int:
    if not (token.text.isascii() and token.text.isdigit()):
        raise _malformed(tr("the value of rag:limit is a whole number"))
    return min(int(token.text[:9]), _MOST)


def _short(token: Token) -> str:
    """A name of one of the program's classes with its prefix."""
    for prefix in ("rag", "tg"):
        if token.text.startswith(f"<{PREFIXES[prefix]}"):
            return f"{prefix}:{token.text[1:-1].removeprefix(PREFIXES[prefix])}"
    return token.text


def _literal(token: Token) -> str:
    if token.kind != "string":
        raise _malformed(tr("{value} is not a text in quotation marks").format(value=token.text))
    triple = f"<urn:x:s> {RAG.query} {token.text} ."
    try:
        (parsed,) = ox.parse(triple, format=ox.RdfFormat.TURTLE)
    except (SyntaxError, ValueError) as error:
        raise _malformed(tr("{value} is not a text in quotation marks").format(value=token.text)) from error
    assert isinstance(parsed.object, Literal)  # noqa: S101 - a string
    return parsed.object.value


def _malformed(reason: str) -> UsageError:
    return UsageError(
        tr("malformed SERVICE rag:search: {reason}").format(reason=reason),
        hint=tr(
            'write SERVICE rag:search {{ ?x rag:query "tidal power" ; rag:kind tg:Chunk ; rag:score ?s }}'
        ).format(),
    )

"""Why a query has no rows: what the same query finds after a change that other stores would not need.

Five habits give empty results here without an error: a default graph that is the union of all graphs,
`<< s p o >>` for a triple term (SPARQL-star; in SPARQL 1.2 it is a reifier), another IRI for one of the
program's prefixes, names of TrustGraph's earlier specification, and labels without a language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise

import pyoxigraph as ox

from graphrag_rdf.i18n import listed, ngettext, tr
from graphrag_rdf.rdf.namespaces import PREFIXES, PROV, TG
from graphrag_rdf.sparql.tokens import Token, names_dataset, tokens

MOST = 1000
"""Rows that `Alternative.counting` counts at most."""

_TODAY: Mapping[str, str] = {
    "tg:answer": f"<{TG.content.value}>",
    "tg:thought": f"<{TG.thought.value}>/<{TG.content.value}>",
    "prov:Activity": f"<{PROV.Entity.value}>",
    "prov:startedAtTime": f"<{PROV.generatedAtTime.value}>",
}
"""What TrustGraph called by these names: texts of answers and thoughts were literals of these properties, and
questions were activities."""


def _in_full(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"<{PREFIXES[prefix]}{local}>"


_EARLIER = {spelled: today for name, today in _TODAY.items() for spelled in (name, _in_full(name))}
_LABELS = {form for name in ("rdfs:label", "skos:altLabel") for form in (name, _in_full(name))}
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_TERMS = {"<<": "<<(", ">>": ")>>"}
_Change = tuple[int, str, str]  # offset, what stands there, what replaces it


@dataclass(frozen=True, slots=True)
class Alternative:
    """A changed query.

    Attributes:
        text: the changed query.
        union: whether its default graph is the union of all graphs.
        changes: what differs from the original, for people.
        counting: a query with one row, whose only value is the number of rows, at most `MOST`; of an ASK, the
            query itself.
    """

    text: str
    union: bool
    changes: tuple[str, ...]
    counting: str

    def told(self, rows: int | None) -> str:
        """A sentence for people; `rows` is None for an ASK."""
        changes = tr(" and ").join(self.changes)
        if rows is None:
            return tr("With {changes}, the answer is yes.").format(changes=changes)
        if rows >= MOST:
            message = tr("With {changes}, the result has at least {rows:,} rows.")
        else:
            message = ngettext(
                "With {changes}, the result has {rows:,} row.",
                "With {changes}, the result has {rows:,} rows.",
                rows,
            )
        return message.format(changes=changes, rows=rows)


def alternatives(query: str, *, union: bool = False) -> Iterator[Alternative]:
    """The changed forms of a SELECT, ASK or CONSTRUCT, those with the fewest changes first.

    Args:
        query: as its author wrote it. A query that names its dataset (FROM) has no alternatives.
        union: its default graph was the union of all graphs already.
    """
    found = list(tokens(query))
    start = next((i for i, token in enumerate(found) if _keyword(token) in _FORMS), None)
    if start is None or _keyword(found[start]) == "DESCRIBE" or names_dataset(query):
        return
    known: dict[str, list[_Change]] = {
        "union": [],
        "terms": _terms(found),
        "prefixes": _prefixes(found),
        "names": _names(found),
        "labels": _labels(found),
    }
    useful = [key for key, changes in known.items() if changes or (key == "union" and not union)]
    for number in range(1, len(useful) + 1):
        for chosen in combinations(useful, number):
            text = _changed(query, sorted(change for key in chosen for change in known[key]))
            said = tuple(_said(key, known[key]) for key in chosen)
            yield Alternative(text, union or "union" in chosen, said, _counting(text))


def found_nothing(data: bytes, media_type: str) -> bool:
    """Whether a whole result has no solution, or the answer is no, or the graph is empty.

    Args:
        media_type: of query results or RDF.
    """
    if media_type == "text/csv":
        return data.count(b"\n") <= 1
    form = ox.QueryResultsFormat.from_media_type(media_type)
    if form is None:
        graph = ox.RdfFormat.from_media_type(media_type)
        try:
            return graph is not None and next(iter(ox.parse(data, graph)), None) is None
        except SyntaxError:  # RDF-star, which is not for this parser: there is something
            return False
    results = ox.parse_query_results(data.rstrip(b"\n") + b"\n", form)
    if isinstance(results, ox.QueryBoolean):
        return not results
    return next(iter(results), None) is None


def _pattern(found: list[Token], construct: int) -> int:
    """The offset of what follows the template of a CONSTRUCT, if it has one (SPARQL 1.2 §16.2)."""
    depth = 0
    for place, token in enumerate(found[construct + 1 :], construct + 1):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0:
            return token.offset if token.text != "}" or place + 1 == len(found) else found[place + 1].offset
    return found[-1].offset


def _keyword(token: Token) -> str:
    return token.text.upper() if token.kind == "word" else ""


def _terms(found: list[Token]) -> list[_Change]:
    return [
        (token.offset, token.text, _TERMS[token.text])
        for token in found
        if token.kind == "triple" and token.text in _TERMS
    ]


def _prefixes(found: list[Token]) -> list[_Change]:
    """Declarations of our prefixes with another IRI."""
    changes = []
    for word, name, iri in zip(found, found[1:], found[2:], strict=False):
        ours = PREFIXES.get(name.text[:-1])
        if _keyword(word) == "PREFIX" and iri.kind == "iri" and ours and iri.text != f"<{ours}>":
            changes.append((iri.offset, iri.text, f"<{ours}>"))
    return changes


def _names(found: list[Token]) -> list[_Change]:
    """Names of TrustGraph's earlier specification."""
    return [(token.offset, token.text, _EARLIER[token.text]) for token in found if token.text in _EARLIER]


def _labels(found: list[Token]) -> list[_Change]:
    """Labels that are given without a language: their texts are compared."""
    changes: list[_Change] = []
    for place, (word, label) in enumerate(pairwise(found), 2):
        after = found[place].text if place < len(found) else ""
        if word.text == "=" and label.kind == "string" and not after.startswith(("@", "^^")):
            compared = found[place - 3]
            if place > 2 and compared.kind == "variable":
                changes.append((compared.offset, compared.text, f"STR({compared.text})"))
        if word.text not in _LABELS or label.kind != "string" or after.startswith(("@", "^^")):
            continue
        depth = 0
        for token in found[place:]:
            if depth == 0 and token.text in (".", "}"):
                name = f"?label{place}"
                changes.append((label.offset, label.text, name))
                changes.append((token.offset, "", f"FILTER(STR({name}) = {label.text}) "))
                break
            depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(token.text, 0)
    return changes


def _said(key: str, changes: list[_Change]) -> str:
    if key == "union":
        return tr("all graphs as the default graph")
    if key == "terms":
        return tr("<<( s p o )>>, a triple term, instead of << s p o >>, a reifier")
    if key == "labels":
        return tr("STR(), as names have a language")
    if key == "names":
        each = tr("{new} for {old}")
        names = dict.fromkeys(each.format(new=new, old=old) for _, old, new in changes)
        return tr("today's names, {names}").format(names=listed(names))
    spaces = dict.fromkeys(new for _, _, new in changes)
    return tr("the namespace {names}").format(names=listed(spaces))


def _changed(text: str, changes: list[_Change]) -> str:
    for offset, old, new in reversed(changes):
        text = f"{text[:offset]}{new}{text[offset + len(old) :]}"
    return text


def _counting(text: str) -> str:
    found = list(tokens(text))
    start = next(i for i, token in enumerate(found) if _keyword(token) in _FORMS)
    if _keyword(found[start]) == "ASK":
        return text
    head, query = text[: found[start].offset], text[found[start].offset :]
    if _keyword(found[start]) == "CONSTRUCT":
        query = f"SELECT * {text[_pattern(found, start) :]}"
    return f"{head}SELECT (COUNT(*) AS ?rows) {{ {{ SELECT * {{ {{ {query}\n}} }} LIMIT {MOST} }} }}"

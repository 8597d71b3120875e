"""Why a query has no rows: what the same query finds after a change that other stores would not need.

Four habits give empty results here without an error: a default graph that is the union of all graphs,
`<< s p o >>` for a triple term (SPARQL-star; in SPARQL 1.2 it is a reifier), another IRI for one of the
program's prefixes, and names of TrustGraph's earlier specification.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import pyoxigraph as ox

from graphrag_rdf.i18n import listed, tr
from graphrag_rdf.rdf.namespaces import PREFIXES, TG
from graphrag_rdf.sparql.tokens import Token, is_word, names_dataset, outermost, tokens

_TEXTS: Mapping[str, str] = {
    "tg:answer": "tg:content",
    f"{TG.answer}": f"{TG.content}",
    "tg:thought": "tg:thought/tg:content",
    f"{TG.thought}": f"{TG.thought}/{TG.content}",
    "tg:observation": "tg:observation/tg:content",
    f"{TG.observation}": f"{TG.observation}/{TG.content}",
}
"""Paths to the texts that were literals of these properties."""

_BEGINNINGS: Mapping[str, str] = {
    "urn:trustgraph:prov:retrieval:": "urn:trustgraph:prov:exploration:",
    "urn:trustgraph:prov:selection:": "urn:trustgraph:prov:focus:",
    "urn:trustgraph:prov:answer:": "urn:trustgraph:prov:synthesis:",
    "urn:trustgraph:answer:": "urn:trustgraph:synthesis:",
}
"""How TrustGraph's IRIs of the steps began."""

_LABELS: Mapping[str, str] = {
    "GraphRAG query session": "GraphRAG session",
    "Retrieved edges": "Exploration",
    "Selected edges": "Focus",
    "GraphRAG answer": "Synthesis",
    "GraphRAG 查询会话": "GraphRAG session",
    "检索的边": "Exploration",
    "选择的边": "Focus",
    "GraphRAG 答案": "Synthesis",
}
"""How TrustGraph labelled the steps, in its specification and the Chinese one."""

_NOTHING = frozenset({"", "0", "0.0", "0.0E0", "false"})
"""Values of aggregates over no rows."""
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_TERMS = {"<<": "<<(", ">>": ")>>"}
_Change = tuple[int, str, str]  # offset, what stands there, what replaces it


@dataclass(frozen=True, slots=True)
class Alternative:
    """A changed query.

    Attributes:
        text: the changed query.
        union: whether its default graph is the union of all graphs.
        changes: what differs from the original, for people. Empty for the original itself.
        probe: an ASK: whether its pattern matches anything.
    """

    text: str
    union: bool
    changes: tuple[str, ...]
    probe: str

    def summary(self) -> str:
        """A sentence for people."""
        message = tr("With {changes}, the pattern matches.")
        if self.probe == self.text:
            message = tr("With {changes}, the answer is yes.")
        return message.format(changes=tr(" and ").join(self.changes))


def alternatives(query: str, *, union: bool = False) -> Iterator[Alternative]:
    """The query itself, and its changed forms, those with the fewest changes first.

    Args:
        query: as its author wrote it. The graphs of a query that names some (FROM) are not changed.
        union: its default graph was the union of all graphs already.
    """
    if not any(token.text.upper() in _FORMS for token in tokens(query)):
        return
    habits = [habit for habit in _HABITS if habit.changes(list(tokens(query)))]
    if not union and not names_dataset(query):
        habits.insert(0, _UNION)
    for number in range(len(habits) + 1):
        for chosen in combinations(habits, number):
            text, summaries = query, []
            for habit in chosen:
                changes = habit.changes(list(tokens(text)))
                summaries.append(habit.summary(changes))
                text = _changed(text, changes)
            yield Alternative(text, union or _UNION in chosen, tuple(summaries), _probe(text))


def found_nothing(data: bytes, media_type: str) -> bool:
    """Whether a whole result has no solution, or the answer is no, or the graph is empty.

    Args:
        media_type: of query results or RDF.
    """
    if media_type == "text/csv":
        first, *lines = data.decode(errors="replace").splitlines() or [""]
        return first == "false" or (first != "true" and nothing_in(line.split(",") for line in lines))
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
    return nothing_in(map(lexical, row) for row in results)


def nothing_in(rows: Iterable[Iterable[str]]) -> bool:
    """Whether there are no rows, or one that may be of aggregates over none.

    Args:
        rows: lexical values, empty if unbound.
    """
    first = list(islice(rows, 2))
    return not first or (len(first) == 1 and set(first[0]) <= _NOTHING)


def lexical(term: object) -> str:
    """The value of a literal or IRI; empty if unbound."""
    return str(getattr(term, "value", ""))


def _probe(text: str) -> str:
    """An ASK with the dataset and pattern of a query."""
    query = list(tokens(text))
    place = next(place for place, token in enumerate(query) if token.text.upper() in _FORMS)
    form = query[place]
    if is_word(form, "ASK"):
        return text
    dataset = " ".join(
        text[query[start].offset : _end(query[start + 1 + is_word(query[start + 1], "NAMED")])]
        for start in outermost(query, "FROM")
    )
    if is_word(form, "CONSTRUCT") and query[place + 1].text == "{":
        place = _after(query, place + 1)  # its template
    brace = _group(query, place)
    if brace == len(query):  # DESCRIBE of IRIs
        iris = [token.text for token in query[place:] if token.kind == "iri" or ":" in token.text]
        pattern = f"{{ VALUES ?described {{ {' '.join(iris)} }} ?described ?p ?o }}"
    else:
        after = _after(query, brace)
        values = [query[place].offset for place in outermost(query, "VALUES") if place >= after]
        pattern = text[query[brace].offset : _end(query[after - 1])] + text[(values or [len(text)])[0] :]
    return f"{text[: form.offset]}ASK {dataset} {pattern}"


def _group(query: Sequence[Token], start: int) -> int:
    """The place of the first brace after a place that is not within parentheses."""
    depth = 0
    for place, token in enumerate(query[start:], start):
        if token.text == "{" and depth == 0:
            return place
        depth += {"(": 1, ")": -1}.get(token.text, 0)
    return len(query)


def _after(query: Sequence[Token], brace: int) -> int:
    """The place after a group, which begins at a place."""
    depth = 0
    for place, token in enumerate(query[brace:], brace):
        depth += {"{": 1, "}": -1}.get(token.text, 0)
        if depth == 0:
            return place + 1
    return len(query)


def _end(token: Token) -> int:
    return token.offset + len(token.text)


def _terms(query: Sequence[Token]) -> list[_Change]:
    return [(token.offset, token.text, _TERMS[token.text]) for token in query if token.text in _TERMS]


def _prefixes(query: Sequence[Token]) -> list[_Change]:
    """Declarations of our prefixes with another IRI."""
    changes = []
    for word, name, iri in zip(query, query[1:], query[2:], strict=False):
        ours = PREFIXES.get(name.text[:-1])
        if is_word(word, "PREFIX") and iri.kind == "iri" and ours and iri.text != f"<{ours}>":
            changes.append((iri.offset, iri.text, f"<{ours}>"))
    return changes


def _names(query: Sequence[Token]) -> list[_Change]:
    """Names, IRIs and labels of TrustGraph's earlier specification."""
    renamed = ((token, _today(token)) for token in query)
    return [(token.offset, token.text, name) for token, name in renamed if name != token.text]


def _today(token: Token) -> str:
    """A token with today's name."""
    text = token.text
    if token.kind == "string" and text[1:-1] in _LABELS:
        return f"{text[0]}{_LABELS[text[1:-1]]}{text[0]}"
    if token.kind in ("iri", "string"):
        for before, today in _BEGINNINGS.items():
            if text.startswith(before, 1):
                return text.replace(before, today, 1)
    return _TEXTS.get(text, text)


@dataclass(frozen=True)
class _Habit:
    """One of the habits.

    Attributes:
        changes: the changes of the text that a query needs for it.
        summary: what the changes are, for people.
    """

    changes: Callable[[Sequence[Token]], list[_Change]]
    summary: Callable[[Collection[_Change]], str]


def _namespaces(changes: Collection[_Change]) -> str:
    return tr("the namespace {names}").format(names=listed(dict.fromkeys(new for _, _, new in changes)))


def _renamed(changes: Collection[_Change]) -> str:
    each = tr("{new} for {old}")
    names = listed(dict.fromkeys(each.format(new=new, old=old) for _, old, new in changes))
    return tr("today's names, {names}").format(names=names)


_UNION = _Habit(lambda _: [], lambda _: tr("all graphs as the default graph"))
_HABITS = (
    _Habit(_prefixes, _namespaces),
    _Habit(_terms, lambda _: tr("<<( s p o )>>, a triple term, instead of << s p o >>, a reifier")),
    _Habit(_names, _renamed),
)
"""In the order in which they change a text."""


def _changed(text: str, changes: list[_Change]) -> str:
    for offset, old, new in reversed(changes):
        text = f"{text[:offset]}{new}{text[offset + len(old) :]}"
    return text

"""Facts: their labels, manual corrections of them, and facts by what people call them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NoReturn, TypeAlias

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.errors import UsageError
from graphrag_rdf.i18n import later, tr
from graphrag_rdf.rdf.terms import Statement, Term, local_name, one_label, spellings, text_of
from graphrag_rdf.rdf.wording import phrase_of, words_of, words_of_value
from graphrag_rdf.sparql.parameters import parse_term
from graphrag_rdf.store.base import Row, Store, languages_of
from graphrag_rdf.trace.model import DecisionNote, Fact
from graphrag_rdf.trace.values import lexical_forms


def read_labels(store: Store, terms: Iterable[Term], language: str | None = None) -> dict[str, str]:
    """The label of each IRI among terms, where it has one; of several one in this language (BCP 47)."""
    things = sorted({term for term in terms if isinstance(term, NamedNode)}, key=str)
    if not things:
        return {}
    rows = one_label(store.select("retrieval/labels", things=things), language)
    return {row["thing"].value: row["label"].value for row in rows}


def label_of(term: Term, labels: Mapping[str, str]) -> str:
    """A term for people: its label, else the end of its IRI, or a literal's text."""
    if isinstance(term, Literal):
        return words_of_value(term)
    if not isinstance(term, NamedNode):
        return text_of(term)
    return labels.get(term.value) or phrase_of(term.value)


def fact_of(row: Row, labels: dict[str, str]) -> Fact:
    """The fact of a row, with the labels that its terms have among `labels`."""
    s, p, o = row["s"], row["p"], row["o"]
    assert isinstance(o, NamedNode | Literal)  # noqa: S101 - facts have no other objects
    return Fact(s, p, o, *(label_of(term, labels) for term in (s, p, o)))


def with_labels(fact: Edge, labels: Mapping[str, str]) -> Fact:
    """A fact with the labels that its terms have among `labels`."""
    return Fact(*fact, *(label_of(term, labels) for term in fact))


def decided_against(store: Store, facts: Iterable[Statement]) -> dict[Sequence[object], DecisionNote]:
    """Why facts that are not asserted do not hold: fact → the decision against it, or the correction that had
    asserted it and was taken back; facts that hold, or about which nobody decided, are absent.
    """
    edges = list(dict.fromkeys(facts))
    if not edges:
        return {}
    standing = store.select("facts/retracted-by", edges=edges)
    instead = _instead(store, [row["decision"] for row in standing])
    notes: dict[Sequence[object], DecisionNote] = {}
    for taken_back, decision_rows in (
        (True, store.select("facts/taken-back", edges=edges)),
        (False, standing),
    ):
        for row in decision_rows:
            iri = row["decision"].value
            notes[row["s"], row["p"], row["o"]] = DecisionNote(
                iri,
                row["label"],
                row.get("reason"),
                row["time"],
                taken_back=taken_back,
                instead=instead.get(iri),
            )
    return notes


def _instead(store: Store, decisions: Iterable[NamedNode]) -> dict[str, Fact]:
    """What the corrections among decisions assert: decision → fact."""
    asked = list(dict.fromkeys(decisions))
    rows = store.select("facts/asserted-instead", decisions=asked) if asked else []
    labels = read_labels(store, [row[name] for row in rows for name in "spo"])
    return {row["decision"]: fact_of(row, labels) for row in rows}


# --- what people call facts ------------------------------------------------------------------------------

FactTerm: TypeAlias = NamedNode | Literal
Edge: TypeAlias = tuple[NamedNode, NamedNode, FactTerm]

_SHOWN = 5
"""Candidates that an error names."""
_LOOKED_AT = 500
"""Names, and facts, from among which they are chosen."""
_ALIKE = 60
"""Percent of equal characters at which a name is worth suggesting."""
_TERMS = later("give labels, or terms as in <http://…>; retrieve shows facts")


def facts_called(store: Store, s: str, p: str, o: str, *, inferred: bool = False) -> list[Edge]:
    """The facts that three terms or labels name; also those that were removed, to report why they are gone.

    Args:
        s, p, o: terms in N-Triples (`<http://…>`, `"1936"^^<http://…>`), bare IRIs, or labels and aliases; an
            object may also be the text of a literal. Three terms are taken as they are. Labels match as they
            are written or, where no fact is found so, without regard to case; one that begins with `<` or `"`
            is a label where it is no term, or no term that may stand there.
        inferred: also inferred facts, where no other is found.

    Returns:
        one or more: labels that several things have name every fact that matches.

    Raises:
        UsageError: when nothing is called so, or there is no such fact; what is called nearly so is named.
    """
    terms = [term_or_label(text) for text in (s, p, o)]
    subject, predicate, object_ = terms
    if isinstance(subject, NamedNode) and isinstance(predicate, NamedNode) and object_ is not None:
        return [(subject, predicate, object_)]
    looked_up = _LookUp(store, (s, p, o), terms)
    for among in (False, True) if inferred else (False,):
        for merged in (False, True):
            for alike in (False, True):
                if edges := looked_up.facts(alike=alike, merged=merged, inferred=among):
                    return edges
    looked_up.complain()


def one_fact(store: Store, s: str, p: str, o: str) -> Edge:
    """The one fact that three terms or labels name.

    Raises:
        UsageError: as `facts_called`, and when there are several, which are named.
    """
    edges = facts_called(store, s, p, o)
    if len(edges) > 1:
        labels = read_labels(store, [term for fact in edges for term in fact])
        raise UsageError(
            tr("({s}, {p}, {o}) names {count} facts").format(s=s, p=p, o=o, count=len(edges)),
            hint=tr("give the terms of one: {facts}").format(
                facts=_listed(_spelled(fact, labels) for fact in edges)
            ),
        )
    return edges[0]


def things_called(store: Store, name: str) -> list[NamedNode]:
    """The things that have a label or alias, as it is written, else without regard to case."""
    exact = store.select("provenance/named", names=spellings([name], languages_of(store.select)))
    rows = exact or store.select("provenance/named-alike", names=[name.lower()])
    return list(dict.fromkeys(row["thing"] for row in rows))


class _LookUp:
    """Three labels or terms, looked up in the store."""

    def __init__(self, store: Store, names: tuple[str, str, str], terms: Sequence[FactTerm | None]) -> None:
        self._store = store
        self._names = names
        self._terms = terms
        self._exact: dict[str, list[NamedNode]] = {}
        self._alike: dict[str, list[NamedNode]] | None = None

    @cached_property
    def _languages(self) -> list[str]:
        return languages_of(self._store.select)

    def facts(self, *, alike: bool, merged: bool = False, inferred: bool = False) -> list[Edge]:
        """The facts that match, or else those that did before they were removed.

        Args:
            merged: also facts of relations that are one with the one that is named.
            inferred: inferred facts instead.
        """
        subjects = self._nodes(0, alike=alike)
        predicates = self._predicates(subjects, alike=alike) if subjects else []
        if merged and predicates:
            rows = self._store.select("predicates/members", relations=predicates)
            predicates = list(dict.fromkeys([*predicates, *(row["member"] for row in rows)]))
        object_ = self._terms[2]
        objects: list[FactTerm] = list(self._nodes(2, alike=alike))
        if isinstance(object_, Literal):
            objects.append(object_)
        texts = [] if object_ is not None else lexical_forms(self._names[2])
        if not subjects or not predicates:
            return []
        matching = self._store.select(
            "provenance/matching-facts",
            subjects=subjects,
            predicates=predicates,
            objects=objects,
            object_text=texts,
            alike=alike,
            inferred=inferred,
        )
        if matching or inferred:
            return [_edge(row) for row in matching]
        removed = [_edge(row) for row in self._store.select("decisions/retracted")]
        return [
            fact
            for fact in dict.fromkeys(removed)
            if fact[0] in subjects
            and fact[1] in predicates
            and (fact[2] in objects or any(_reads(fact[2], text, alike=alike) for text in texts))
        ]

    def _nodes(self, place: int, *, alike: bool) -> list[NamedNode]:
        term, name = self._terms[place], self._names[place]
        if isinstance(term, NamedNode):
            return [term]
        if not alike:
            if name not in self._exact:
                rows = self._store.select("provenance/named", names=spellings([name], self._languages))
                self._exact[name] = [row["thing"] for row in rows]
            return self._exact[name]
        if self._alike is None:
            wanted = [n.lower() for n, t in zip(self._names, self._terms, strict=True) if not _is_iri(t)]
            self._alike = {}
            for row in self._store.select("provenance/named-alike", names=wanted):
                self._alike.setdefault(row["name"], []).append(row["thing"])
        return self._alike.get(name.lower(), [])

    def _predicates(self, subjects: Sequence[NamedNode], *, alike: bool) -> list[NamedNode]:
        """A predicate of these subjects without a label (rdf:type, an imported one) is called as it is shown,
        or by the end of its IRI; rdf:type also as in Turtle.
        """
        nodes = self._nodes(1, alike=alike)
        if _is_iri(self._terms[1]):
            return nodes
        called = "type" if self._names[1] == "a" else self._names[1]
        rows = self._store.select("provenance/unlabelled-predicates", subjects=subjects)
        unlabelled = [row["predicate"] for row in rows]
        names = {p: (phrase_of(p.value), words_of(p.value), local_name(p.value)) for p in unlabelled}
        return [*nodes, *(p for p in names if any(_same(name, called, alike=alike) for name in names[p]))]

    def complain(self) -> NoReturn:
        """Say what was not found, and what is called nearly so."""
        s, p, o = self._names
        subjects = self._nodes(0, alike=True)
        if not subjects:
            near = names_like(self._store, s)
            if s.startswith(("<", '"')) and not near:
                raise UsageError(tr("nothing is called {s!r}, and it is no IRI").format(s=s), hint=tr(_TERMS))
            named = _listed((f"“{name_near}”" for name_near in near), tr(" or "))
            hint = tr("did you mean {names}?").format(names=named) if near else tr(_TERMS)
            raise UsageError(tr("nothing is called {s!r}").format(s=s), hint=hint)
        near_facts = self._facts_near(subjects, f"{p} {o}")
        hint = tr("there is: {facts}").format(facts=_listed(near_facts)) if near_facts else tr(_TERMS)
        raise UsageError(tr("there is no fact ({s}, {p}, {o})").format(s=s, p=p, o=o), hint=hint)

    def _facts_near(self, subjects: Sequence[NamedNode], text: str) -> list[str]:
        from rapidfuzz import fuzz, process

        edge_rows = self._store.select("provenance/facts-of", subjects=subjects, limit=_LOOKED_AT)
        edges = [_edge(row) for row in edge_rows]
        labels = read_labels(self._store, [term for edge in edges for term in edge])
        sentences = {edge: " ".join(label_of(term, labels) for term in edge[1:]) for edge in edges}
        best = process.extract(text, sentences, scorer=fuzz.ratio, processor=str.lower, limit=_SHOWN)
        return [f"({', '.join(label_of(term, labels) for term in edge)})" for _, _, edge in best]


def names_like(store: Store, name: str) -> list[str]:
    """Names that look like one that nothing has, the likest first."""
    from rapidfuzz import fuzz, process

    words = [word for word in re.findall(r"\w+", name.lower()) if len(word) > 1] or [name.lower()]
    pieces = sorted({piece for word in words for piece in (word, word[:4], word[-4:])})
    rows = store.select("provenance/names-like", pieces=pieces, limit=_LOOKED_AT)
    names = sorted({row["name"] for row in rows})
    best = process.extract(name, names, scorer=fuzz.ratio, processor=str.lower, limit=3, score_cutoff=_ALIKE)
    return [name_like for name_like, _, _ in best]


def _listed(items: Iterable[str], joint: str = "; ") -> str:
    """The first few, and how many more there are."""
    texts = list(items)
    hidden = len(texts) - _SHOWN
    more = [tr("and {number} more").format(number=hidden)] if hidden > 0 else []
    return joint.join([*texts[:_SHOWN], *more])


def _spelled(fact: Edge, labels: dict[str, str]) -> str:
    """A fact as it can be given again, and in words."""
    terms = " ".join(f"'{term}'" for term in fact)
    return f"{terms} ({' '.join(label_of(term, labels) for term in fact)})"


def _reads(term: FactTerm, text: str, *, alike: bool) -> bool:
    return isinstance(term, Literal) and _same(term.value, text, alike=alike)


def _same(first: str, second: str, *, alike: bool) -> bool:
    return first.lower() == second.lower() if alike else first == second


def _is_iri(term: FactTerm | None) -> bool:
    return isinstance(term, NamedNode)


def term_or_label(text: str) -> FactTerm | None:
    """A term given as such; None for a label, also one that looks like a malformed term."""
    try:
        return given_term(text)
    except UsageError:
        return None


def given_term(text: str) -> FactTerm | None:
    """A term given as such, in N-Triples or as a bare IRI; None for a label.

    Raises:
        UsageError: when it is malformed, or cannot be part of a fact.
    """
    if text.startswith(("http://", "https://", "urn:")) and " " not in text:
        text = f"<{text}>"
    if not text.startswith(("<", '"')):
        return None
    try:
        term = parse_term(text)
    except ValueError as error:
        raise UsageError(
            tr("{text} is not an RDF term").format(text=text), hint=tr("terms are written as in N-Triples")
        ) from error
    if isinstance(term, NamedNode):
        return term
    if isinstance(term, Literal) and text.startswith('"'):
        return term
    raise UsageError(
        tr("{text} cannot be part of a fact").format(text=text), hint=tr("terms are written as in N-Triples")
    )


def _edge(row: Row) -> Edge:
    return row["s"], row["p"], row["o"]

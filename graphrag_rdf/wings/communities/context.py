"""What a report of a community is made from: its entities, facts, claims and sentences, and reports of parts.

Entities and facts come with their merged descriptions, where there are any. Templates choose the entries and
their order (`queries/communities/report-*.rq`). Each entry has a short id, by which a model cites it. If all
entries together exceed the budget, reports of parts replace the entries about their members, those of the
largest parts first. What is still too much is cut off at the end.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyoxigraph import Literal, NamedNode

from graphrag_rdf.llm.model import CHARS_PER_TOKEN
from graphrag_rdf.rdf.namespaces import RDF
from graphrag_rdf.rdf.terms import Term, node_of, one_label, text_of
from graphrag_rdf.rdf.wording import phrase_of, words_of
from graphrag_rdf.store.base import Row, Store, in_batches, select_in_batches

Fact = tuple[NamedNode, NamedNode, Term]

_TOGETHER = 50
"""Communities that are read at once."""
_QUOTED = 300
"""Characters of a literal in a fact."""
_LONGEST = 1500
"""Characters of an entry, so that at least one fits the smallest budget: definitions of an entity add up."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the context.

    Attributes:
        kind: `e` entity, `f` fact, `c` claim, `s` sentence, `p` report of a part.
        about: the members that it names.
        node: the entity, claim, sentence or report; None for a fact.
        facts: a fact itself; types and definitions of an entity.
        title: a short name of it.
        made_from: the chunk of a sentence; a claim and its chunk; a merged description.
        quote: of a claim.
    """

    kind: str
    text: str
    about: frozenset[str]
    node: NamedNode | None = None
    facts: tuple[Fact, ...] = ()
    title: str = ""
    made_from: tuple[NamedNode, ...] = ()
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a community that has a report."""

    report: Entry
    members: frozenset[str]


@dataclass(slots=True)
class Context:
    """The entries of a community within the budget.

    Attributes:
        central: names of its central entities.
        entries: by short id.
        cites: what each id stands for: an entity, evidence of a fact (its subgraph if it has no evidence), a
            sentence, or a report.
        quotes: of the evidence of facts and claims, by id.
        sources: chunks, documents, claims and merged descriptions that the entries come from.
    """

    community: NamedNode
    central: list[str]
    entries: dict[str, Entry]
    cites: dict[str, list[NamedNode]] = field(default_factory=dict)
    quotes: dict[str, str] = field(default_factory=dict)
    sources: set[NamedNode] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The lines that a model sees."""
        return "\n".join(f"{key} | {entry.text}" for key, entry in self.entries.items())

    @property
    def parts(self) -> list[NamedNode]:
        """The reports of parts in it."""
        return [node_of(entry.node) for entry in self.entries.values() if entry.kind == "p"]

    def of(self, *kinds: str) -> Iterator[tuple[str, Entry]]:
        """The entries of some kinds, in the order of these."""
        for kind in kinds:
            yield from ((key, entry) for key, entry in self.entries.items() if entry.kind == kind)

    def hash(self, key: str) -> str:
        """SHA-256 of everything that a report depends on.

        Args:
            key: of what writes the report.
        """
        cited = (
            f"{citation} {' '.join(node.value for node in nodes)}" for citation, nodes in self.cites.items()
        )
        return hashlib.sha256("\n".join((key, self.text, *self.central, *cited)).encode()).hexdigest()


def fit(own: Sequence[Entry], parts: Sequence[Part], tokens: int) -> list[Entry]:
    """The entries within a budget.

    Args:
        own: of the community, the most important first.
        parts: the largest first.
    """
    shown: list[Entry] = []
    remaining = list(own)
    for part in parts:
        if _size(shown) + _size(remaining) <= tokens:
            break
        shown.append(part.report)
        remaining = [entry for entry in remaining if not entry.about <= part.members]
    fitting: list[Entry] = []
    used = 0
    for entry in [*shown, *remaining]:
        used += _size([entry])
        if used > tokens:
            break
        fitting.append(entry)
    return fitting


def _size(entries: Iterable[Entry]) -> int:
    """About how many tokens entries have."""
    return sum(len(entry.text) // CHARS_PER_TOKEN + 4 for entry in entries)


def read_contexts(store: Store, communities: Sequence[NamedNode], tokens: int) -> Iterator[Context]:
    """The contexts of communities, of which a few are in memory at a time.

    Args:
        tokens: the budget of each.
    """
    for batch in in_batches(communities, _TOGETHER):
        reader = _Reader(store, batch)
        contexts = [reader.context(community, tokens) for community in batch]
        _add_sources(store, contexts)
        yield from contexts


def whole_names(names: Sequence[str]) -> list[str]:
    """Names in their order, without those that are part of another (Gate 4 beside Gate 4 of the Station)."""
    padded = [f" {name.casefold()} " for name in names]
    return [
        name
        for name, own in zip(names, padded, strict=True)
        if not any(own in longer and own != longer for longer in padded)
    ]


class _Reader:
    """Reads the entries of a few communities."""

    def __init__(self, store: Store, communities: Sequence[NamedNode]) -> None:
        members = store.select("communities/members", communities=communities)
        facts = store.select("communities/report-facts", communities=communities)
        sentences = store.select("communities/report-sentences", communities=communities)
        parts = store.select("communities/report-parts", communities=communities)
        self._members, self._facts = _by_community(members), _by_community(facts)
        self._sentences, self._parts = _by_community(sentences), _by_community(parts)
        self._claims = _by_community(store.select("communities/report-claims", communities=communities))
        self._names = {text_of(row["entity"]): text_of(row["name"]) for row in members}
        self._described: dict[str, list[Row]] = defaultdict(list)
        entities = sorted({node_of(row["entity"]) for row in members}, key=str)
        for row in select_in_batches(store, "communities/report-descriptions", "entities", entities):
            self._described[row["entity"].value].append(row)
        merged = select_in_batches(store, "derived/descriptions", "entities", entities)
        self._merged = {row["entity"].value: row for row in merged if row["summary"] is not None}
        edges = dict.fromkeys(_edge(row) for row in facts if isinstance(row["o"], NamedNode))
        stated = select_in_batches(store, "derived/fact-descriptions", "edges", edges)
        self._stated = {_edge(row): row for row in stated}
        claims = {row["claim"]: None for each in self._claims.values() for row in each}
        self._claimed: dict[str, list[Row]] = defaultdict(list)
        for row in select_in_batches(store, "claims/texts", "claims", claims):
            self._claimed[row["claim"].value].append(row)
        things = {row[part] for row in facts for part in ("s", "p", "o") if isinstance(row[part], NamedNode)}
        labels = select_in_batches(store, "retrieval/labels", "things", sorted(things, key=str))
        self._labels = {row["thing"].value: row["label"].value for row in one_label(labels)}
        wanted = sorted({row["sentence"] for row in sentences}, key=str)
        texts = select_in_batches(store, "retrieval/sentence-texts", "sentences", wanted)
        self._texts = {row["sentence"]: row for row in texts}
        inside = sorted({row["part"] for row in parts}, key=str)
        self._inside: dict[str, set[str]] = defaultdict(set)
        for row in select_in_batches(store, "communities/members", "communities", inside):
            self._inside[text_of(row["community"])].add(text_of(row["entity"]))

    def context(self, community: NamedNode, tokens: int) -> Context:
        """The entries of a community within the budget, with their ids; without sources."""
        rows = self._members[community.value]
        central = [text_of(row["name"]) for row in rows if text_of(row["central"]) == "true"]
        facts = [*map(self._fact, self._facts[community.value])]
        own = [
            *map(self._entity, rows),
            *(fact for fact in facts if len(fact.about) > 1),
            *map(self._claim, self._claims[community.value]),
            *(fact for fact in facts if len(fact.about) == 1),
            *map(self._sentence, self._sentences[community.value]),
        ]
        entries = fit(own, [*map(self._part, self._parts[community.value])], tokens)
        numbers: Counter[str] = Counter()
        named: dict[str, Entry] = {}
        for entry in entries:
            numbers[entry.kind] += 1
            named[f"{entry.kind}{numbers[entry.kind]}"] = entry
        return Context(community, central, named)

    def _entity(self, row: Row) -> Entry:
        entity = node_of(row["entity"])
        name, described = text_of(row["name"]), self._described[entity.value]
        types = dict.fromkeys(
            words_of(text_of(each["o"])) if each["label"] is None else each["label"]
            for each in described
            if each["p"] == RDF.type
        )
        says = " ".join(dict.fromkeys(text_of(each["o"]) for each in described if each["p"] != RDF.type))
        merged = self._merged.get(entity.value)
        if merged is not None:
            says = merged["text"]
        text = " | ".join(filter(None, (name, ", ".join(types), says)))
        facts = tuple(dict.fromkeys(map(_edge, described)))
        sources = (merged["summary"],) if merged is not None else ()
        return Entry("e", _line(text), frozenset({entity.value}), entity, facts, name, sources)

    def _fact(self, row: Row) -> Entry:
        words = _line(" ".join(self._word(row[part]) for part in ("s", "p", "o")))
        stated = self._stated.get(_edge(row))
        if stated is None:
            return Entry("f", words, _about(row), facts=(_edge(row),), title=words)
        text = _line(f"{words} | {stated['text']}")
        sources = (stated["summary"],) if stated["summary"] is not None else ()
        return Entry("f", text, _about(row), facts=(_edge(row),), title=words, made_from=sources)

    def _claim(self, row: Row) -> Entry:
        """A claim with its type, status and period; a missing object is left out."""
        quotes = self._claimed[row["claim"].value]
        first = quotes[0]
        ends = " – ".join(filter(None, (first["subject"], first["object"])))
        dates = " – ".join(dict.fromkeys(filter(None, (first["start"], first["end"]))))
        parts = (ends, first["type"], first["status"], dates, first["description"])
        quote_row = next((each for each in quotes if each["offset"] is not None), first)
        text, claim = _line(" | ".join(filter(None, parts))), row["claim"]
        quote, sources = _line(quote_row["quote"]), (claim, quote_row["chunk"])
        return Entry(
            "c", text, _about(row), claim, title=first["description"], made_from=sources, quote=quote
        )

    def _sentence(self, row: Row) -> Entry:
        about = _about(row)
        names = ", ".join(whole_names(sorted(self._names[member] for member in about)))
        sentence = self._texts[row["sentence"]]
        text, chunk = _line(sentence["text"]), sentence["chunk"]
        return Entry("s", text, about, row["sentence"], title=names, made_from=(chunk,))

    def _part(self, row: Row) -> Part:
        members = frozenset(self._inside[row["part"].value])
        title = row["title"]
        text = _line(f"{title} | {row['summary']}")
        return Part(Entry("p", text, members, row["report"], title=title), members)

    def _word(self, term: Term) -> str:
        if isinstance(term, Literal):
            return term.value if len(term.value) <= _QUOTED else f"{term.value[:_QUOTED]}…"
        return self._labels.get(text_of(term)) or phrase_of(text_of(term))


def _add_sources(store: Store, contexts: Sequence[Context]) -> None:
    """Add what the ids of entries stand for, and where the entries come from."""
    edges = {fact for context in contexts for entry in context.entries.values() for fact in entry.facts}
    rows_of_fact: dict[Fact, list[Row]] = defaultdict(list)
    ordered = sorted(edges, key=lambda edge: tuple(map(str, edge)))
    for row in select_in_batches(store, "communities/report-evidence", "edges", ordered):
        rows_of_fact[_edge(row)].append(row)
    for context in contexts:
        for key, entry in context.entries.items():
            rows = [row for fact in entry.facts for row in rows_of_fact[fact]]
            context.sources.update(row["source"] for row in rows if row["source"] is not None)
            context.sources.update(entry.made_from)
            if entry.quote:
                context.quotes[key] = entry.quote
            if entry.node is not None:
                context.cites[key] = [entry.node]
                continue
            nodes = [row["evidence"] for row in rows if row["evidence"] is not None]
            nodes = nodes or [row["subgraph"] for row in rows]
            context.cites[key] = list(dict.fromkeys(nodes))
            if quotes := [row["quote"] for row in rows if row["quote"] is not None]:
                context.quotes[key] = _line(quotes[0])


def _by_community(rows: Iterable[Row]) -> Mapping[str, list[Row]]:
    by_community: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_community[text_of(row["community"])].append(row)
    return by_community


def _edge(row: Row) -> Fact:
    return row["s"], row["p"], row["o"]


def _about(row: Row) -> frozenset[str]:
    return frozenset(row["about"].split(" "))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

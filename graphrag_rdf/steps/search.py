"""What the indexes find for a question: entities by name, sentences and chunks by words and meaning.

Shared by the ways of exploring. Similarities are 0 to 1. Seed entities are matched exactly, else by words,
else by meaning. Without the index of words, names are looked up among the labels in the store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeAlias
from typing import Literal as Choice

from pyoxigraph import Literal, NamedNode
from rapidfuzz import fuzz

from graphrag_rdf.errors import GraphRagError, UsageError
from graphrag_rdf.extract.names import apart, slug, together
from graphrag_rdf.i18n import tr
from graphrag_rdf.index.analyse import fold, primary_language, stop_words
from graphrag_rdf.index.postings import DEFAULT_BM25, Bm25
from graphrag_rdf.index.records import Hit, Kind
from graphrag_rdf.rdf.terms import Term, one_label, spellings, text_of
from graphrag_rdf.rdf.wording import phrase_of, words_asking_for, words_of_value
from graphrag_rdf.steps.dates import dated_chunks
from graphrag_rdf.steps.exploration import Edge, Seed
from graphrag_rdf.steps.kept import held
from graphrag_rdf.steps.sources import chunk_of
from graphrag_rdf.steps.state import Context, Parameters, State, Triple
from graphrag_rdf.steps.words import QuestionWords, asked_words
from graphrag_rdf.store.base import Row, Store, languages_of
from graphrag_rdf.trace.recorder import Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from graphrag_rdf.index.text import TextIndex

    Vector: TypeAlias = NDArray[Any]


Select: TypeAlias = Callable[..., list[Row]]
"""Runs a template."""

_BATCH = 500  # names in one query


def entities_called(
    names: Sequence[str], select: Select, index: TextIndex | None, language: str | None = None
) -> dict[str, list[str]]:
    """Entities that are called so; else those whose name is the same, written together or apart.

    The index knows names regardless of case and width; where it is missing, names match as they are stored,
    without a language, in one of documents, or in this one.

    Args:
        names: what to look for.
        select: runs a template.
        index: None when it is missing.
        language: BCP 47; the tag that stored names may have.

    Returns:
        each name that any entity has, with the IRIs of those, sorted.
    """
    if index is None:
        return _by_label(names, select, language)
    found = index.exact(names)
    other = {
        form: name for name in names if name not in found and (form := together(name) or apart(name)) != name
    }
    # of what the index knows regardless of case, the store tells what has its capitals in these places
    written = index.exact(list(other))
    called = _by_label(written, select, None) if written else {}
    return found | {other[form]: entities for form, entities in called.items()}


def _by_label(names: Iterable[str], select: Select, language: str | None) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    ordered = sorted({name for name in names if name})
    languages = languages_of(select) if ordered else []
    if language:
        languages.append(language)
    for start in range(0, len(ordered), _BATCH):
        labels = spellings(ordered[start : start + _BATCH], languages)
        for row in select("retrieval/entities-by-label", labels=labels):
            found.setdefault(row["label"], set()).add(row["entity"].value)
    return {name: sorted(iris) for name, iris in found.items()}


def own_names(name: str, entities: Sequence[str]) -> list[str]:
    """Of several entities that are called so the one that has its IRI from this name; else all of them.

    Others have it as an alias, which is less sure: documents abbreviate many things in the same way.
    """
    own = [iri for iri in entities if iri.endswith(f"/e/{slug(name)}")]
    return own or list(entities)


def entities_meant(
    names: Iterable[str], store: Store, index: TextIndex | None, language: str | None
) -> list[NamedNode]:
    """What stands for the entities of these labels or IRIs; a label of several means all of them.

    Raises:
        UsageError: when there is none of a name.
    """
    found: list[NamedNode] = []
    for name in names:
        entities = _called(name, store, index, language)
        rows = store.select("retrieval/canonical", entities=entities) if entities else []
        if not rows:
            raise UsageError(
                tr("no entity is called {name!r}").format(name=name),
                hint=tr("graphrag-rdf entities list shows the names"),
            )
        found += [row["canonical"] for row in rows]
    return found


def one_entity(name: str, store: Store, index: TextIndex | None) -> NamedNode:
    """The one entity of a label or IRI; where it was merged, it itself, not what stands for it.

    Raises:
        UsageError: when there is none, or several.
    """
    entities = _called(name, store, index, None)
    rows = store.select("retrieval/canonical", entities=entities) if entities else []
    if not rows:
        raise UsageError(
            tr("no entity is called {name!r}").format(name=name),
            hint=tr("graphrag-rdf entities list shows the names"),
        )
    known = own_names(name, sorted({row["entity"].value for row in rows}))
    if len(known) > 1:
        raise UsageError(
            tr("{name!r} names several entities: {known}").format(name=name, known=", ".join(known)),
            hint=tr("use the IRI"),
        )
    return NamedNode(known[0])


def _called(name: str, store: Store, index: TextIndex | None, language: str | None) -> list[NamedNode]:
    if name.startswith(("http://", "https://", "urn:")):
        iris = [name]
    else:
        called = entities_called([name], store.select, index, language)
        iris = called.get(name, [])
    try:
        return [NamedNode(iri) for iri in iris]
    except ValueError:  # malformed, so nothing is called so
        return []


_PER_CONCEPT = 3  # seeds found by words or meaning; names that match exactly always count
_SEARCHED = 1000  # sentences asked of each index, where nothing else is said
COMMON = 0.4  # score of a common word that is also an entity, where the question has names
_ALSO = 0.3  # how far what else is searched for shifts the meaning of a question
_TRIED = 20  # entities looked at for a concept that no name matches exactly

Match: TypeAlias = tuple[float, Choice["exact", "text", "vector"], str]


def sentences_by_validity(
    select: Callable[..., list[Row]], facts: Sequence[Row]
) -> tuple[set[str], set[str]]:
    """The sentences of facts that hold on a date, and those that only say other facts.

    Args:
        select: runs a template.
        facts: rows of `facts/validity`.
    """
    holds = {fact_of(row): row["holds"] for row in facts}
    rows = select("retrieval/evidence-sentences", edges=list(holds)) if holds else []
    valid = {row["sentence"].value for row in rows if holds[fact_of(row)]}
    return valid, {row["sentence"].value for row in rows} - valid


class QuestionSearch:
    """The indexes, asked about one question; queries are recorded with a step.

    Args:
        searched: sentences asked of each index.
        similarity: below which a name is not a seed.

    Attributes:
        words: the question's content words, weighed.
        vector: sentence → cosine, empty without embeddings.
        dated: the chunks of its period; None without one.
    """

    def __init__(
        self,
        context: Context,
        state: State,
        parameters: Parameters,
        step: Step,
        searched: int = _SEARCHED,
        similarity: float = 0.5,
    ) -> None:
        self.searched = searched
        self._similarity = similarity
        self.context = context
        self.state = state
        self.parameters = parameters
        self.step = step
        self._other_names: dict[str, list[str]] = {}  # relation → names of those that are one with it
        self._descriptions: dict[Triple, str] = {}
        self._set_aside()
        self.dated = dated_chunks(context, state, step, parameters)
        self.words = QuestionWords.of(state.question, state.language, context.text_index)
        self._query_vector = self._embed_question()
        self.vector = self._search_meaning()

    def rows(self, template: str, **values: object) -> list[Row]:
        """Run a template and record it; rows about sentences that are set aside, or not of the period
        that was given, are left out.
        """
        rows = self.context.select(self.step, template, **values)
        all_count = not self.state.set_aside and self.state.only is None
        return rows if all_count else [row for row in rows if self._counts(row)]

    def decide(self, template: str, **values: object) -> list[Row]:
        """Run a template that decides (see `deciding`)."""
        return self.context.decide(self.step, template, **values)

    def nearest_sentences(
        self,
        passages: Sequence[NamedNode],
        found: Sequence[tuple[NamedNode, NamedNode, float, float]],
        *,
        named: Sequence[NamedNode],
        limit: int,
        by_words: float,
        by_meaning: float,
    ) -> list[Row]:
        """The sentences of passages that are most like the question.

        Args:
            found: sentence, its passage, and its likeness by words and by meaning.
            named: entities that the question names.
            by_words, by_meaning: weights of the two.
        """
        excluded = list(self.state.exclude)
        alike = sum(by_words * words + by_meaning * meaning > 0 for *_, words, meaning in found)
        return self.decide(
            "selection/passage-sentences",
            passages=passages,
            found=found,
            by_words=by_words,
            by_meaning=by_meaning,
            left_out=self.left_out,
            excluded=excluded,
            named=named,
            others=alike < limit or bool(excluded),
            limit=limit,
        )

    @property
    def left_out(self) -> list[NamedNode]:
        """Sentences that no query may count."""
        return [NamedNode(iri) for iri in sorted(self.state.set_aside)]

    def _set_aside(self) -> None:
        """Note which sentences are left out, and record it where there are any."""
        if "retractions" in self.held and (found := self.rows("facts/text-wrong")):
            edges = [(row["s"], row["p"], row["o"]) for row in found]
            rows = self.rows("retrieval/evidence-sentences", edges=edges)
            self.state.set_aside = frozenset(row["sentence"].value for row in rows)
        if day := self.parameters.get("valid"):
            self.state.set_aside |= self._not_valid(day)

    def _not_valid(self, day: str) -> set[str]:
        """The sentences of facts that began after a date or ended before it, and of none that holds then."""
        return sentences_by_validity(self.rows, self.rows("facts/validity", valid=day))[1]

    @property
    def held(self) -> frozenset[str]:
        """What the store has that few stores have."""
        return held(self.context.store, self.state)

    def _counts(self, row: Row) -> bool:
        sentence = row.get("sentence")
        if sentence is None:
            return True
        only = self.state.only
        return sentence.value not in self.state.set_aside and (
            only is None or chunk_of(sentence.value) in only
        )

    def _asked(self, predicate: NamedNode, label: Term | None, *names: str) -> str:
        """Words by which the question may ask for a fact, beside those of the fact itself; "" unless it has a
        word of one of the names in it.
        """
        if not self.words.coverage(*names):
            return ""
        known = asked_words(predicate, self.state.question)
        known = known or words_asking_for(predicate.value, None if label is None else text_of(label))
        return " ".join(filter(None, (known, *self._other_names.get(predicate.value, ()))))

    # --- facts -----------------------------------------------------------------------------------

    def names(self, facts: Iterable[Triple], known: Collection[str] = ()) -> dict[str, Row]:
        """The labels and canonical entities of the things in facts, each looked up once. Also those of the
        relations that are one with theirs, by which a question may ask for them.

        Args:
            known: things that are not looked up.
        """
        facts = list(facts)
        self._look_up_relations({fact[1] for fact in facts})
        things = {term for fact in facts for term in fact if isinstance(term, NamedNode)}
        wanted = sorted((thing for thing in things if thing.value not in known), key=str)
        rows = self.rows("retrieval/names", things=wanted) if wanted else []
        return {row["thing"].value: row for row in one_label(rows, self.state.language)}

    def _look_up_relations(self, relations: Collection[NamedNode]) -> None:
        wanted = sorted((one for one in relations if one.value not in self._other_names), key=str)
        self._other_names.update((one.value, []) for one in wanted)
        asked = wanted if "relations" in self.held else []
        for row in self.rows("retrieval/relation-names", relations=asked) if asked else ():
            self._other_names[row["relation"]].append(row["name"])

    def describe(self, entities: Sequence[NamedNode], limit: int) -> list[Triple]:
        """The facts of entities that an import described. Their edges then have the description.

        Args:
            limit: facts for each entity and direction.
        """
        if not entities or "descriptions" not in self.held:
            return []
        near = self.rows("retrieval/edges", entities=list(entities), limit=limit)
        facts = list(dict.fromkeys(map(fact_of, near)))
        rows = self.rows("derived/fact-descriptions", edges=facts) if facts else []
        self._descriptions |= {fact_of(row): row["text"] for row in rows}
        return list(dict.fromkeys(map(fact_of, rows)))

    def edge(self, fact: Triple, names: Mapping[str, Row]) -> Edge:
        """A fact with its labels, as one of the first hop that was reached from its subject."""
        s, p, o = (names.get(term.value, {}) if isinstance(term, NamedNode) else {} for term in fact)
        s_label, o_label = label_of(s.get("label"), fact[0]), label_of(o.get("label"), fact[2])
        return Edge(
            triple=fact,
            s_label=s_label,
            p_label=label_of(p.get("label"), fact[1]),
            o_label=o_label,
            hop=1,
            direction="out",
            origin=fact[0],
            ends=tuple(end["canonical"] for end in (s, o) if end.get("canonical") is not None),
            asked=self._asked(fact[1], p.get("label"), s_label, o_label),
            description=self._descriptions.get(fact),
        )

    # --- sentences ---------------------------------------------------------------------------------

    @cached_property
    def lexical(self) -> dict[str, float]:
        """Sentence → BM25 as a share of the best."""
        return self.search_words(self.state.question)

    def search_words(self, text: str, bm25: Bm25 = DEFAULT_BM25) -> dict[str, float]:
        """Sentences that share words with a text: BM25, as a share of the best."""
        index = self.context.text_index
        if index is None:
            return {}
        hits = self._best(
            lambda k: index.search(text, kind="sentence", k=k, language=self.state.language, bm25=bm25),
            self.searched,
        )
        best = hits[0].score if hits else 1.0
        return {hit.iri: hit.score / best for hit in hits if hit.iri not in self.state.set_aside}

    def likeness_by_words(self, sentences: Sequence[str]) -> dict[str, float]:
        """Those of some sentences that share words with the question: BM25, as a share of the best of all."""
        index = self.context.text_index
        parts = self.word_parts(sentences)
        if index is None or not parts:
            return {}
        hits = index.search(self.state.question, kind="sentence", k=1, language=self.state.language)
        return {iri: sum(own.values()) / hits[0].score for iri, own in parts.items()}

    def word_parts(
        self, texts: Sequence[str], bm25: Bm25 = DEFAULT_BM25, *, kind: Kind = "sentence"
    ) -> dict[str, dict[str, float]]:
        """Sentence or chunk with terms of the question → these → what each adds to its BM25; of a chunk also
        terms of what else was asked for.
        """
        index = self.context.text_index
        if index is None or not texts:
            return {}
        also = self.state.also if kind == "chunk" else ()
        return index.parts(
            self.state.question, texts, kind=kind, language=self.state.language, bm25=bm25, also=also
        )

    def mean(self, lexical: float, vector: float | None, graph: float) -> float:
        """The score of an edge or sentence: the weighted mean of its parts, 0 to 1.

        Args:
            lexical, vector, graph: each 0 to 1; a vector of None and its weight do not count.
        """
        weights = self.weights(with_meaning=vector is not None)
        parts = {"by_words": lexical, "by_meaning": vector or 0.0, "by_graph": graph}
        return sum(weight * parts[name] for name, weight in weights.items())

    def weights(self, *, with_meaning: bool) -> dict[str, float]:
        """How far words, meaning and graph count in the score of an edge or sentence, as shares of 1."""
        meaning = self.parameters["vector_weight"] if with_meaning else 0.0
        words, graph = self.parameters["lexical_weight"], self.parameters["graph_weight"]
        return as_shares(by_words=words, by_meaning=meaning, by_graph=graph)

    def _embed(self, texts: Sequence[str]) -> dict[str, Vector]:
        """The vector of each text; none, and a warning, when the embedding model fails."""
        embedder = self.context.embedder
        if embedder is None or self.context.vectors is None or not texts:
            return {}
        try:
            return dict(zip(texts, embedder.embed(texts), strict=True))
        except GraphRagError as error:
            self.state.warn("embedding_failed", tr("{error}; only words were searched").format(error=error))
            return {}

    def _embed_question(self) -> Vector | None:
        """The question's vector, shifted by what else is searched for; None without embeddings."""
        question, also = self.state.question, "\n".join(self.state.also)
        found = self._embed([question, also] if also else [question])
        if also not in found:
            return found.get(question)
        mixed = found[question] + _ALSO * found[also]
        return mixed / float((mixed @ mixed) ** 0.5 or 1.0)

    def _search_meaning(self) -> dict[str, float]:
        if self._query_vector is None or self.context.vectors is None:
            return {}
        vectors, query = self.context.vectors, self._query_vector
        hits = self._best(lambda k: vectors.search(query, kind="sentence", k=k), self.searched)
        return {hit.iri: max(0.0, hit.score) for hit in hits if hit.iri not in self.state.set_aside}

    def _best(self, find: Callable[[int], list[Hit]], k: int, kind: Kind = "sentence") -> list[Hit]:
        """The k best hits; of chunks and sentences, as the question's period wants (`Dated.search`)."""
        dated = self.dated if kind in ("chunk", "sentence") else None
        return find(k) if dated is None else dated.search(find, k)

    def with_words(self, k: int, kind: Kind = "chunk") -> list[tuple[str, float]]:
        """The k chunks (say) that share most words with the question, with BM25 as a share of the best."""
        index, state = self.context.text_index, self.state
        if index is None:
            return []
        hits = self._best(
            lambda k: index.search(state.question, kind=kind, k=k, language=state.language, also=state.also),
            k,
            kind,
        )
        return [(hit.iri, hit.score / hits[0].score) for hit in hits]

    def similar(self, k: int, kind: Kind = "chunk") -> list[tuple[str, float]]:
        """The k chunks (say) that mean most like the question, with cosine as a share of the best."""
        if self._query_vector is None or self.context.vectors is None:
            return []
        vectors, query = self.context.vectors, self._query_vector
        hits = self._best(lambda k: vectors.search(query, kind=kind, k=k), k, kind)
        best = hits[0].score if hits else 1.0
        return [(hit.iri, max(0.0, hit.score) / best) for hit in hits] if best > 0 else []

    def entities_with_words(self, k: int) -> list[tuple[NamedNode, float]]:
        """The k entities whose names and definitions share most words with the question, with their BM25 as
        a share of the best.
        """
        index = self.context.text_index
        # names have no language, so the index does not know which words are common in it
        common = stop_words().get(primary_language(self.state.language), frozenset())
        asked = " ".join(word for word in self.state.question.split() if fold(word) not in common)
        hits = index.search(asked, kind="entity", k=k) if index else []
        return [(NamedNode(hit.iri), hit.score / hits[0].score) for hit in hits]

    def similar_entities(self, k: int) -> list[tuple[NamedNode, float]]:
        """The k entities whose names and definitions mean most like the question: how far each stands out
        from the last of them, as a share of the best.
        """
        if self._query_vector is None or self.context.vectors is None:
            return []
        hits = self.context.vectors.search(self._query_vector, kind="entity", k=k)
        least, best = (hits[-1].score, hits[0].score) if hits else (0.0, 0.0)
        if best <= least:
            return [(NamedNode(hit.iri), 1.0) for hit in hits]
        return [(NamedNode(hit.iri), (hit.score - least) / (best - least)) for hit in hits]

    # --- seeds -------------------------------------------------------------------------------------

    def find_seeds(self) -> list[Seed]:
        """Entities that the concepts name, best first; ties by IRI."""
        found = self._matches()
        for node in self.state.include:
            _better(found, node.value, (1.0, "exact", "--include-entity"))
        if not found:
            return []
        rows = self.decide(
            "selection/seeds",
            matched=[(NamedNode(iri), score) for iri, (score, _, _) in sorted(found.items())],
            excluded=list(self.state.exclude),
            limit=self.parameters["entity_limit"],
        )
        seeds = []
        for row in one_label(rows, self.state.language, thing="canonical"):
            canonical = row["canonical"]
            score, how, concept = found[row["entity"]]
            seeds.append(Seed(canonical, label_of(row["label"], canonical), score, how, concept))
        return seeds

    def _matches(self) -> dict[str, Match]:
        concepts = self.state.concepts
        limit = self.parameters["entity_limit"]
        per_concept = min(max(1, limit // max(1, len(concepts))), _PER_CONCEPT)
        select = partial(self.context.select, self.step)
        exact = entities_called(concepts, select, self.context.text_index, self.state.language)
        others = [concept for concept in concepts if concept not in exact]
        vectors = self._embed(others) if self._query_vector is not None else {}
        named = any(looks_like_name(concept) for concept in concepts)
        found: dict[str, Match] = {}
        for concept in concepts:
            if concept in exact:
                score = 1.0 if looks_like_name(concept) or not named else COMMON
                for iri in own_names(concept, exact[concept])[:limit]:
                    _better(found, iri, (score, "exact", concept))
            else:
                for iri, match in self._similar(concept, vectors.get(concept))[:per_concept]:
                    _better(found, iri, match)
        return found

    def _similar(self, concept: str, vector: Vector | None) -> list[tuple[str, Match]]:
        """Entities whose names look or mean like a concept, best first."""
        least = self._similarity
        found: dict[str, Match] = {}
        index = self.context.text_index
        hits = index.search(concept, kind="entity", k=_TRIED) if index else []  # names have no language
        if hits:
            for row in self.rows("retrieval/canonical", entities=[NamedNode(hit.iri) for hit in hits]):
                entity = row["entity"]
                label = label_of(row["label"], entity)
                score = fuzz.token_sort_ratio(concept.lower(), label.lower()) / 100
                if score >= least:
                    _better(found, entity.value, (score, "text", concept))
        if vector is not None and self.context.vectors:
            alike = self.context.vectors.search(vector, kind="entity", k=_TRIED)
            for iri, score in _standing_out([(hit.iri, hit.score) for hit in alike]):
                if score >= least:
                    _better(found, iri, (score, "vector", concept))
        return sorted(found.items(), key=lambda item: (-item[1][0], item[0]))


def _standing_out(hits: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """How far each name stands out from the last of the names looked at: 1 if it means the same.

    A model that does not know a language finds all its names alike.

    Args:
        hits: names and their cosines, best first.
    """
    rest = max(0.0, hits[-1][1]) if len(hits) == _TRIED else 0.0
    for iri, cosine in hits:
        yield iri, (cosine - rest) / (1 - rest) if rest < 1 else 0.0


def _better(found: dict[str, Match], iri: str, match: Match) -> None:
    if iri not in found or found[iri][0] < match[0]:
        found[iri] = match


def looks_like_name(concept: str) -> bool:
    """Whether a concept is more than one lower-case word."""
    return " " in concept or not concept.islower()


def label_of(label: Term | None, term: Term) -> str:
    """A label, or where there is none the readable end of the IRI, or the literal's text."""
    if label is not None:
        return text_of(label)
    if isinstance(term, Literal):
        return words_of_value(term)
    return phrase_of(term.value) if isinstance(term, NamedNode) else text_of(term)


def as_shares(**weights: float) -> dict[str, float]:
    """Weights as shares of 1; all 0 if they are."""
    total = sum(weights.values())
    return {name: weight / total if total else 0.0 for name, weight in weights.items()}


def fact_of(row: Row) -> Triple:
    """The fact of a row."""
    return row["s"], row["p"], row["o"]

"""The answer without a model: the best chunks as passages, the best sentence of each marked, under a label
that says whether the documents say what is asked.

The weight of a sentence of the best chunks, with the question's words by how rare they are:

    (own + title's/2 + before's/4 + 1/2 for a definition) × 7/10 of no sentence + 3/10 standing of its chunk

    no sentence has no end, or begins with a pronoun where the question asks who
    title's     words that only the title of its document has
    before's    words that only the sentence before it has
    definition  it begins with what "who is X" asks for, or has it in parentheses after its first words, and
                goes on with "is", a comma or a parenthesis; more chunks are searched for these

The weights are hits of the step, and the query `retrieval/evidence` orders the sentences.

Sentences that say a removed or corrected fact are left out, those that name an excluded entity too, and
questions and headings. A row of a table is a sentence with the names of its columns. A fact that was read
from no text competes in its own words, and less if its value is not of the kind asked for; its score among
the facts is its standing. What the question calls a thing counts as said where its label stands.

The label is "no sure answer" unless this sum reaches a bar:

    own + title's + before's/2 + lead/2 − unknown/2 − incomplete − 3/10 of no figure − reversed − left out

    lead        of the first chunk's score over the second's, at most 1/2; of a fact none
    unknown     words that no chunk has
    incomplete  a word's share of the question, with a name as one word, if any is missing: of "When did Ada
                Moor die?" half
    no figure   1 if the question asks when or how long, and the sentence has no number, month or day; 3 if
                it asks for a price, and the sentence has no sum, or how many, and it has no number but dates
    reversed    1 if the sentence says the reverse: “Who succeeded Ada?”, “Ada succeeded Bob” (`steps.roles`)
    left out    1 if a sentence that is left out weighs as much as the first one

An answer is uncertain if the words that its sentence, title and the sentence before lack weigh more than 3/10
of the question, or are what somebody did when something else happened (`steps.roles.act`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyoxigraph import NamedNode

from graphrag_rdf.documents.sentences import without_emoji
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.extract.names import mostly_cjk
from graphrag_rdf.extract.periods import lasting_spans, span_of
from graphrag_rdf.i18n import later
from graphrag_rdf.index.analyse import fold
from graphrag_rdf.rdf.namespaces import RAG, SKOS
from graphrag_rdf.rdf.terms import double
from graphrag_rdf.steps.answer import MARGIN
from graphrag_rdf.steps.hits import Hits
from graphrag_rdf.steps.kept import held
from graphrag_rdf.steps.roles import act, is_reversed
from graphrag_rdf.steps.search import sentences_by_validity
from graphrag_rdf.steps.sources import (
    OF_SENTENCES,
    attach_sources,
    chunk_of,
    chunk_places,
    chunk_sentences,
    chunk_texts,
    mentions_of,
    sentence_sources,
)
from graphrag_rdf.steps.state import Context, Parameters, Selection, SentenceHit, State
from graphrag_rdf.steps.table_rows import answer_from_row, rows_among, table_row
from graphrag_rdf.steps.words import QuestionWords
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.model import ScoreShare
from graphrag_rdf.trace.recorder import Step

TEMPLATES = (
    "selection/decided-against",
    "facts/validity",  # these two of questions that name a date
    "retrieval/evidence-sentences",
    "retrieval/evidence",
    "retrieval/headings",
    "retrieval/mentioned-entities",
    "provenance/rows",  # of tables, whose rows are quoted with the names of columns
    *OF_SENTENCES,
)

_NOT_VALID = 0.99
_TITLE, _BEFORE, _DEFINITION, _NO_SENTENCE = 0.5, 0.25, 0.5, 0.7
_LEAD, _UNKNOWN, _INCOMPLETE, _NO_FIGURE, _LEFT_OUT = 0.5, -0.5, -1.0, -0.3, -1.0
_REVERSED = -1.0
_MOST_LEAD = 0.5
_MOST_MISSING = 0.3  # of the question, before an answer is uncertain
_MOST = 1.3  # score of a sentence that says all, of the best chunk
_WRITTEN = 3  # sentences of a chunk whose weights are written
_FACTS = 10  # that were not selected, and stand in no sentence
_DEFINING = 8  # chunks that are searched for definitions
_CLOSING = " \"”’'»)]」』》）】"
_ENDS = frozenset(".!?。！？…" + _CLOSING)
_ASKS = frozenset("?？吗嗎呢")
_MARKS = "#>-*| _"  # that Markdown puts around words

BEST = later("Best passage")
FURTHER = later("Further passage")
CLOSEST = later("Closest passage")

_DEFINES = re.compile(
    r"^\W*(?:what|who|was|wer|wat|wie) (?:is|are|was|were|ist|sind|war|waren|zijn) "
    r"(?:(?:an?|the|der|die|das|ein|eine|de|het|een) )?(?P<name>.+?)\W*$"
    r"|^\W*(?:什么是|谁是|何谓)(?P<of>.+?)\W*$|^\W*(?P<first>.+?)(?:是什么|是谁|是何人)\W*$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"[*_”\"']*(?: (?:is|are|was|were|means|ist|sind|war|waren|bezeichnet|zijn|betekent)\b"
    r"| ?[,(:]| ?[–—] |是|，|（)"
)
_ARTICLE = re.compile(r"^(?:an?|the|der|die|das|ein|eine|de|het|een) ")


@dataclass(slots=True)
class _Sentence:
    """A sentence that may be marked, or a fact that was read from no text.

    Attributes:
        chunk: None of such a fact.
        place: offset and length in the chunk.
        text: as it is given as an answer.
        weight: see above, without the standing of its chunk.
        said: what counts for the label.
        spoken: the question's words in it, its title and the sentence before.
        edge: that fact.
    """

    iri: NamedNode
    chunk: str | None
    place: tuple[int, int]
    text: str
    weight: float = 0.0
    said: float = 0.0
    spoken: frozenset[str] = frozenset()
    score: float = 0.0
    edge: Selection | None = None

    def weigh(self, words: QuestionWords, texts: Sequence[str], title: str, before: str) -> None:
        """By the words that it has, its title, and the sentence before it.

        Args:
            texts: the sentence, and what the question calls things in it.
        """
        spoken = words.spoken_of(*texts)
        titled = words.spoken_of(title) - spoken
        near = words.spoken_of(before) - spoken - titled
        own, of_title, of_before = (words.weight(part) for part in (spoken, titled, near))
        self.weight = own + _TITLE * of_title + _BEFORE * of_before
        self.said = own + of_title + of_before / 2
        self.spoken = spoken | titled | near


@dataclass(slots=True)
class Passage:
    """A chunk, or whole sentences of a long one around the marked one; or a fact in its own words.

    Attributes:
        text: as the document has it.
        marked: where the sentence stands in it: start and end.
        answer: the marked sentence on one line.
        selection: of that sentence.
        source: the place of the marked sentence.
        char_offset: of the text in the document; None of a fact.
    """

    text: str
    marked: tuple[int, int]
    answer: str
    selection: Selection
    source: Source
    char_offset: int | None = None
    headings: list[str] = field(default_factory=list)
    label: str = ""


@dataclass(slots=True)
class Passages:
    """The passages, the best first, and how far the marked sentence of the first says what is asked.

    Attributes:
        in_documents: whether any chunk has a word of the question.
        missing: words of the question that the sentence lacks, and its title and the sentence before.
        uncertain: whether these are much of the question.
    """

    found: list[Passage]
    in_documents: bool
    margin: float = 0.0
    missing: Sequence[str] = ()
    uncertain: bool = False


def best_passages(context: Context, step: Step, state: State, parameters: Parameters) -> Passages:
    """The best ones, as many and as long as the parameters allow. The parts of the margin are recorded."""
    words = QuestionWords.of(state.question, state.language, context.text_index)
    most = parameters["max_sentences"]
    standing = _standing(state, max(_DEFINING, most) if _definition(state.question) else most)
    sentences = _sentences(context, step, state, words, standing, most)
    candidates = _ordered(context, step, sentences.kept, standing) + _facts(context, step, state, words)
    candidates.sort(key=lambda one: -one.score)
    firsts: dict[str, _Sentence] = {}
    for one in candidates:
        firsts.setdefault(one.chunk or one.iri.value, one)
    best = [*firsts.values()][:most]
    found = _shown(context, step, state, best, sentences, parameters["passage_tokens"])
    if not found:
        return Passages([], words.in_documents)
    spoken = best[0].spoken
    margin = _margin(context, step, state, words, best[0], sentences.left_out)
    named, of_period = state.period
    if best[0].chunk in of_period:  # the date of the text says it
        spoken = spoken | words.spoken_of(named)
    missing = words.missing(state.question, spoken)
    lacking = words.weights.keys() - spoken
    much = words.weight(lacking) > _MOST_MISSING or bool(lacking & words.spoken_of(act(state.question)))
    uncertain = bool(missing) and much
    return Passages(found, words.in_documents, margin, missing, uncertain)


def _standing(state: State, most: int) -> dict[str, float]:
    """The best chunks with their scores as shares of the best. What a model chose goes alone.

    Args:
        most: number of chunks.
    """
    ranked = {hit.chunk.value: hit.score for hit in state.passages if hit.score > 0}
    if state.vouched or not ranked:
        chosen = dict.fromkeys(chunk_of(node.value) for one in state.selections for node in _said_in(one))
        ranked = {chunk: ranked.get(chunk, 0.0) for chunk in chosen}
    taken = sorted(ranked.items(), key=lambda item: -item[1])[:most]
    best = max((score for _, score in taken), default=0.0)
    return {chunk: score / best if best else 0.0 for chunk, score in taken}


def _said_in(selection: Selection) -> Sequence[NamedNode]:
    edge, hit = selection.edge, selection.hit
    return edge.sentences if edge else [hit.sentence] if hit else []


@dataclass(slots=True)
class _Sentences:
    """The sentences of the best chunks.

    Attributes:
        places: chunk → the places of its sentences in order; None where one is left out.
        left_out: the most that one that is left out weighs.
    """

    kept: list[_Sentence]
    places: dict[str, list[tuple[int, int] | None]]
    left_out: float = 0.0


def _sentences(
    context: Context, step: Step, state: State, words: QuestionWords, standing: Iterable[str], most: int
) -> _Sentences:
    """The sentences of chunks, weighed; of those after the first few, only definitions."""
    texts = chunk_texts(context, state, step, standing)
    known = chunk_sentences(context, state, step, texts)
    found = {chunk: known[chunk] for chunk in standing if chunk in known}
    all_of = [iri for own in found.values() for _, _, iri in own]
    decided = _left_out(context, step, state, all_of, found, texts)
    text_of = {
        iri: texts[chunk][0][offset : offset + length]
        for chunk, own in found.items()
        for offset, length, iri in own
    }
    valid, other_times = _by_time(context, step, state, text_of)
    gone = decided | state.set_aside | other_times
    chosen = {node.value for one in state.selections for node in _said_in(one)} if state.vouched else None
    tables = rows_among(context, step, all_of)
    titles = {
        chunk: place.source.title
        for chunk, places in chunk_places(context, state, step, texts).items()
        for place in places
        if place.current
    }
    defined = _definition(state.question)
    out = _Sentences([], {})
    for number, (chunk, own) in enumerate(found.items()):
        before = ""
        out.places[chunk] = []
        for offset, length, iri in own:
            text = text_of[iri]
            out.places[chunk].append(None if iri in gone else (offset, length))
            row = table_row(text, tables[iri]) if iri in tables else None
            told = answer_from_row(row, words) if row else None
            one = _Sentence(
                NamedNode(iri), chunk, (offset, length), _as_sentence(told.text if told else text)
            )
            said = told.text if told else text
            also = state.day[1] if iri in valid else ""  # “from 1905 to 1912” says 1907
            one.weigh(words, (said, also, *_called(state, said)), titles.get(chunk, ""), before)
            defines = bool(defined) and _begins_with(text, defined)
            one.weight += _DEFINITION if defines else 0.0
            whole = told or without_emoji(text).rstrip()[-1:] in _ENDS
            suits = whole and not words.leaves_open(text) and not is_reversed(state.question, one.text)
            one.weight *= 1.0 if suits else _NO_SENTENCE
            if iri in gone:
                # of what is not valid on the date asked for, an equal that is valid takes the place
                out.left_out = max(out.left_out, one.weight * (1.0 if iri in decided else _NOT_VALID))
            elif (
                (number < most or defines)
                and (chosen is None or iri in chosen)
                and chunk in titles
                and not _asks(text)
                and not text.startswith("#")
            ):
                out.kept.append(one)
            before = text
    return out


def _by_time(
    context: Context, step: Step, state: State, sentences: Mapping[str, str]
) -> tuple[set[str], set[str]]:
    """Those of the sentences that say what held when the question names, and those that only say what held
    since or until another time: by their own words, or else by their facts.
    """
    day = state.day[0]
    if not day or not sentences:
        return set(), set()
    rows = context.select(step, "facts/validity", valid=day, sentences=[*map(NamedNode, sentences)])
    valid, other_times = sentences_by_validity(
        partial(context.select, step), [row for row in rows if row["lasts"]]
    )
    first, last = span_of(day)
    for iri, text in sentences.items():
        if spans := lasting_spans(text):
            holds = any(begin <= last and first <= end for begin, end in spans)
            (valid if holds else other_times).add(iri)
            (other_times if holds else valid).discard(iri)
    return valid, {iri for iri in other_times if day[:4] not in sentences[iri]}


def _called(state: State, text: str) -> list[str]:
    """What the question calls the things in a text that it calls otherwise."""
    folded = fold(text)
    exact = (seed for seed in state.seeds if seed.matched_by == "exact")
    return [seed.matched_text for seed in exact if fold(seed.label) in folded]


def _asks(text: str) -> bool:
    return without_emoji(text).rstrip(_CLOSING + ".。!！")[-1:] in _ASKS


def _definition(question: str) -> str:
    """What a question asks for that asks who or what something is; else ""."""
    found = _DEFINES.match(question)
    return fold(next(filter(None, found.groups()))) if found else ""


def _begins_with(text: str, name: str) -> bool:
    begin = _ARTICLE.sub("", fold(text.lstrip(_MARKS)))
    if begin.startswith(name) and _GOES_ON.match(begin[len(name) :]):
        return True
    return re.match(rf"[^.!?;:(]{{2,60}}\([^)]*\b{re.escape(name)}\W*\)", begin) is not None


def _left_out(
    context: Context,
    step: Step,
    state: State,
    sentences: Sequence[str],
    found: Mapping[str, Sequence[tuple[int, int, str]]],
    texts: Mapping[str, tuple[str, int]],
) -> set[str]:
    """The sentences that say what somebody decided against, or that name an excluded entity."""
    if not sentences:
        return set()
    nodes = [NamedNode(iri) for iri in sentences]
    decided = nodes if "retractions" in held(context.store, state) else []
    rows = context.select(step, "selection/decided-against", sentences=decided) if decided else []
    gone = {row["sentence"].value for row in rows}
    if state.exclude:
        excluded = set(state.exclude)
        mentioned = mentions_of(context, state, step, sentences)
        gone |= {iri for iri, entities in mentioned.items() if not excluded.isdisjoint(entities)}
        rows = context.select(step, "retrieval/labels", things=list(state.exclude))
        names = {fold(row["label"].value) for row in rows}
        for chunk, own in found.items():
            for offset, length, iri in own:
                folded = fold(texts[chunk][0][offset : offset + length])
                if any(name in folded for name in names):
                    gone.add(iri)
    return gone


def _ordered(
    context: Context, step: Step, sentences: Sequence[_Sentence], standing: dict[str, float]
) -> list[_Sentence]:
    """The best sentences of each chunk by their weight and the standing of their chunks, best first."""
    by_chunk: dict[str | None, list[_Sentence]] = {}
    for one in sorted(sentences, key=lambda one: (-one.weight, one.iri.value)):
        by_chunk.setdefault(one.chunk, []).append(one)
    by_iri = {one.iri.value: one for own in by_chunk.values() for one in own[:_WRITTEN]}
    if not by_iri:
        return []
    hits = Hits(context, step, step.iri)
    hits.write(
        [
            *((NamedNode(chunk), RAG.standing, share) for chunk, share in standing.items()),
            *((one.iri, RAG.sentenceWeight, one.weight) for one in by_iri.values()),
        ]
    )
    rows = context.decide(step, "retrieval/evidence", limit=len(by_iri), **hits.given)
    out = []
    for row in rows:
        one = by_iri[row["sentence"].value]
        one.score = row["score"]
        out.append(one)
    return out


def _facts(context: Context, step: Step, state: State, words: QuestionWords) -> list[_Sentence]:
    """Facts that were inferred or read from no text, in the words of their labels. Their standing is their
    score as a share of the best.
    """
    out = []
    best = max((one.score for one in state.selections), default=0.0) or 1.0
    defines = bool(_definition(state.question))
    selected = {one.edge.triple for one in state.selections if one.edge}
    untold = [edge for edge in state.edges if edge.says_more and edge.triple not in selected]
    further = [Selection(score=edge.score, edge=edge) for edge in untold[:_FACTS] if not state.vouched]
    attach_sources(context, state, step, further)
    for number, selection in enumerate([*state.selections, *further]):
        edge = selection.edge
        if edge and selection.sources and (edge.inferred or selection.sources[0].chunk is None):
            one = _Sentence(
                NamedNode(f"urn:fact:{number}"), None, (0, len(edge.text)), _as_sentence(edge.text)
            )
            one.weigh(words, (edge.text, selection.asked, *_called(state, edge.text)), "", "")
            suits = words.is_asked_for(min(edge.o_label, edge.s_label, key=words.coverage))
            one.weight *= 1.0 if suits else _NO_SENTENCE
            one.weight += _DEFINITION if defines and edge.triple[1] == SKOS.definition else 0.0
            one.score = (one.weight + 0.3 * selection.score / best) / _MOST
            one.edge = selection
            out.append(one)
    return out


def _margin(
    context: Context, step: Step, state: State, words: QuestionWords, first: _Sentence, left_out: float
) -> float:
    """How far the first sentence says what is asked; its parts are recorded."""
    scores = [hit.score for hit in state.passages[:2] if hit.score > 0]
    lead = 1 - scores[1] / scores[0] if len(scores) == 2 else 1.0
    no_figure = 3.0 if words.asks_price or words.counts else 1.0
    parts = [
        ("said", 1.0, first.said),
        ("lead", _LEAD, 0.0 if first.edge else min(_MOST_LEAD, lead)),
        ("unknown", _UNKNOWN, words.weight(words.unknown - first.spoken)),
        ("incomplete", _INCOMPLETE, 0.0 if first.spoken == words.weights.keys() else 1 / words.things),
        ("no figure", _NO_FIGURE, words.lacks_figure(first.text) * no_figure),
        ("reversed", _REVERSED, float(is_reversed(state.question, first.text))),
        ("left out", _LEFT_OUT, float(not first.edge and left_out >= first.weight > 0)),
    ]
    shares = [ScoreShare(name, weight, weight * value) for name, weight, value in parts]
    context.recorder.items(step, MARGIN, shares)
    margin = sum(one.share for one in shares)
    context.recorder.say(step, RAG.margin, double(margin))
    return margin


def _shown(
    context: Context,
    step: Step,
    state: State,
    best: Sequence[_Sentence],
    sentences: _Sentences,
    tokens: int,
) -> list[Passage]:
    """Sentences with what stands around them."""
    chunks = [NamedNode(one.chunk) for one in best if one.chunk]
    rows = context.select(step, "retrieval/headings", chunks=chunks) if chunks else []
    headings = {row["chunk"]: row["headings"].splitlines() for row in rows}
    sources = sentence_sources(context, state, step, [one.iri.value for one in best if one.chunk])
    hits = {hit.sentence: hit for hit in state.hits}
    out = []
    for one in best:
        if one.edge is not None:
            text = one.edge.edge.text if one.edge.edge else ""
            out.append(Passage(text, (0, len(text)), one.text, one.edge, one.edge.sources[0]))
            continue
        assert one.chunk is not None  # noqa: S101
        whole, begin = state.texts[one.chunk]
        start, end = _window(sentences.places[one.chunk], one.place, whole, tokens)
        own = [s for s in state.selections if one.iri in _said_in(s)]
        held = next((s for s in own if s.hit), None)
        hit = hits.get(one.iri) or SentenceHit(one.iri, score=min(1.0, one.score))
        selection = held or Selection(score=hit.score, hit=hit)
        selection.sources = selection.sources or tuple(sources[one.iri.value])
        at = one.place[0] - start
        marked = at, at + one.place[1]
        source = sources[one.iri.value][0]
        out.append(
            Passage(
                whole[start:end],
                marked,
                one.text,
                selection,
                source,
                begin + start,
                headings.get(one.chunk, []),
            )
        )
    return out


def _window(
    sentences: Sequence[tuple[int, int] | None], marked: tuple[int, int], text: str, tokens: int
) -> tuple[int, int]:
    """The start and end of what is shown of a chunk: all of it, or whole sentences around the marked one, as
    evenly before as after it, up to one that is left out.
    """
    if None not in sentences and count_tokens(text) <= tokens:
        return 0, len(text)
    first = last = sentences.index(marked)
    start, end = marked[0], sum(marked)
    while True:
        before = sentences[first - 1] if first else None
        after = sentences[last + 1] if last + 1 < len(sentences) else None
        if before and count_tokens(text[before[0] : end]) > tokens:
            before = None
        if after and count_tokens(text[start : sum(after)]) > tokens:
            after = None
        if after and (before is None or end - sum(marked) <= marked[0] - start):
            last, end = last + 1, sum(after)
        elif before:
            first, start = first - 1, before[0]
        else:
            return start, end


def _as_sentence(text: str) -> str:
    """A sentence on one line, ending as a sentence does (a heading or table row has no full stop)."""
    line = " ".join(text.split()).lstrip("#>-*| ").rstrip("| ")
    stop = "。" if mostly_cjk(line) else "."
    return line if without_emoji(line)[-1:] in '.!?。！？…"”’)' else f"{line.rstrip(',;:，；：')}{stop}"

"""Extractive answers: which sentences are quoted, and whether they answer.

Candidates are the sentences of the best passages, and facts that were read from no text. The next quote is
the candidate with the highest value:

    value = factor × √standing × (own + near/2 + rest/4)                       (queries/selection/quotable)

    standing  score of its passage as a share of the best
    own       weight of the question's words that it has, or answers by showing the kind of thing asked for
    near      of those that only its title, another name of what it mentions, or the text right before it has
    rest      of those that only the rest of its passage has
    factor    more for the kind of thing asked for, for all words of the question, and for a passage about
              what a quote before mentions; less for a line that is no sentence, for a greeting or the like,
              for what shares neither entity nor passage with the quotes before, and for what somebody
              decided against

Words that a quote or its title has count for a quarter afterwards, so a question over several documents is
answered by a chain. A further quote adds a word, or says all that the first one says: it corroborates or
contradicts. A question in a document is not quoted, nor a heading, nor what says nothing beyond the question
(unless that asks whether something is so).

The quotes answer if their margin is large enough, each signal a share of the question by weight of its words:

    margin = best/2 + chain/2 + 3/10 about − 4/5 usual + decided/2 − open    (queries/selection/margin)

    best      own + near of the quote that says most
    chain     of the quotes that hang together: each shares an entity or its passage with one before
    about     of what their titles name, and what the question names and their passages are about
    usual     own + near of a passage or a table's row, by its best candidate: the mean over all, at most 7/10
    decided   1 if a quote answers yes or no, of a question for that
    open      1 if none does, and none has all words of such a question; of a question in Chinese also 1 if it
              asks for a date, a number, a price or a relative, and no quote has any

Of a question for yes or no only the quotes are kept that answer it, if there are any.

It is 0 where all that is asked is said of something else than what the question names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyoxigraph import NamedNode
from rapidfuzz import fuzz

from graphrag_rdf.documents.sentences import without_emoji
from graphrag_rdf.extract.names import is_chinese
from graphrag_rdf.index.analyse import analyse, fold
from graphrag_rdf.rdf.terms import text_of
from graphrag_rdf.rdf.wording import classifies, defines
from graphrag_rdf.steps.answer import MARGIN
from graphrag_rdf.steps.chinese_questions import asks_whether, says_of_another, shows_no_such_thing
from graphrag_rdf.steps.chinese_verdicts import decides, lacks
from graphrag_rdf.steps.sources import chunk_of, chunk_texts, mentions_of, sentence_sources
from graphrag_rdf.steps.state import Context, Parameters, Selection, State
from graphrag_rdf.steps.table_rows import TableRow, answer_from_row, rows_among, table_row
from graphrag_rdf.steps.words import (
    QuestionWords,
    answered_words,
    asks_for_a_kind,
    said_otherwise,
    shows_what_is_asked,
)
from graphrag_rdf.trace.documents import Source
from graphrag_rdf.trace.model import ScoreShare
from graphrag_rdf.trace.recorder import Step

_RANKED = 100  # passages whose standing counts
_MOST = 0.7  # usual coverage that counts: a quote that says all of the question answers, whatever others say
_FEW = 3  # passages: of fewer, those that are missing count as saying nothing
_BEFORE = 300  # characters before a sentence that say what it speaks of
_SAID = 0.25  # what a word of the question counts that a quote has already
_SHOWN = 1.25  # factor of a sentence that shows the kind of thing asked for
_ALL = 1.25  # of what has all words of the question itself
_LITTLE = 0.5  # of what says at most one word beyond the question, and does not show that kind
_LINE = 0.7  # of a line without the end of a sentence: a heading, an entry
_LINKED = 1.5  # of what stands in a passage about something that a quote of another passage mentions
_APART = 0.75  # of what shares neither entity nor passage with the quotes before
_DECIDED = 0.25  # of a sentence that says a fact that was removed or corrected
_ALIKE = 90  # percent of equal characters at which two sentences say the same
_CLOSING = " \"”’'»)]」』》）】"
_ENDS = frozenset(".!?。！？…" + _CLOSING)
_STOPS = ".。!！"
_ASKS = frozenset("?？吗嗎呢")  # what questions end with


@dataclass(slots=True)
class Candidate:
    """What an extractive answer may quote.

    Attributes:
        iri: of the sentence; of a fact that was read from no text one made up for the query.
        selection: the best selection that rests on it; its marker is the number of the citation.
        own, near, rest: words of the question, see above.
        titled: those of `near` that its title or another name has.
        about: words of the question that its title has, or the name of what its passage is about.
        entities: what it mentions, and what its passage is about.
        topics: what its passage is about.
        row: what it says as a row of a table; None for other sentences.
        shows: whether it shows the kind of thing asked for.
        decided: whether it says a fact that somebody removed or corrected.
        another: whether it only names what is asked for as an owner: her brother.
        verdict: its answer to a question for yes or no.
        lacks: whether such a question asks for more than it has, or one in Chinese for a date, a number, a
            price or a relative, and it has none.
    """

    iri: NamedNode
    text: str
    selection: Selection
    source: Source
    entities: frozenset[str]
    topics: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    titled: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    rest: frozenset[str] = frozenset()
    factor: float = 1.0
    row: TableRow | None = None
    shows: bool = False
    decided: bool = False
    another: bool = False
    verdict: str = ""
    lacks: bool = False

    @property
    def alone(self) -> bool:
        """Whether it is a fact in the words of its labels: one that was inferred, or read from no text."""
        edge = self.selection.edge
        return self.source.chunk is None or (edge is not None and edge.inferred)

    @property
    def said(self) -> frozenset[str]:
        """The words of the question that count as said by it."""
        return self.own | self.near


@dataclass(frozen=True, slots=True)
class Quotes:
    """What is quoted, best first, how far that stands out (see above), and yes or no if all agree."""

    quotes: tuple[Candidate, ...]
    margin: float
    verdict: str = ""

    def in_order(self) -> list[Candidate]:
        """As they are read: best first, those that somebody decided against last."""
        return sorted(self.quotes, key=lambda quote: quote.decided)


def pick(context: Context, step: Step, state: State, parameters: Parameters) -> Quotes:
    """Choose what is quoted: at most `max_sentences`, each worth `min_share` of the first or more."""
    words = QuestionWords.of(state.question, state.language, context.text_index)
    standing = _standing(state)
    candidates = _weighed(context, step, state, words, standing)
    deciding = [candidate for candidate in candidates if candidate.verdict]
    picked: list[Candidate] = []
    first = 0.0
    while len(picked) < parameters["max_sentences"]:
        others = [candidate for candidate in deciding or candidates if _adds(candidate, picked)]
        found = _best(context, step, state, words, others, picked, standing, parameters["min_share"] * first)
        if found is None:
            break
        first = first or found[1]
        picked.append(found[0])
    if not picked or not _of_what_is_named(picked, state, words):
        return Quotes(tuple(picked), 0.0)
    margin = _margin(context, step, words, candidates, picked)
    verdicts = {candidate.verdict for candidate in deciding}
    return Quotes(tuple(picked), margin, verdicts.pop() if len(verdicts) == 1 else "")


def _margin(
    context: Context,
    step: Step,
    words: QuestionWords,
    candidates: Sequence[Candidate],
    picked: Sequence[Candidate],
) -> float:
    """How far the quotes stand out; its shares are recorded."""
    chain: list[Candidate] = []
    for quote in picked:
        if not chain or any(_joined(quote, other) for other in chain):
            chain.append(quote)
    coverage: dict[str, float] = {}
    for candidate in candidates:
        place = (None if candidate.row else candidate.source.chunk) or candidate.iri.value
        coverage[place] = max(coverage.get(place, 0.0), words.weight(candidate.said))
    signals = [
        ("best", max(words.weight(quote.said) for quote in picked)),
        ("chain", words.weight(frozenset[str]().union(*(quote.said for quote in chain)))),
        ("about", words.weight(frozenset[str]().union(*(quote.about for quote in picked)))),
        ("usual", min(_MOST, sum(coverage.values()) / max(_FEW, len(coverage)))),
    ]
    if picked[0].verdict:
        signals.append(("decided", 1.0))
    elif all(quote.lacks for quote in picked):
        signals.append(("open", 1.0))
    rows = context.decide(step, "selection/margin", signals=signals)
    shares = [
        ScoreShare(text_of(row["signal"]), float(text_of(row["weight"])), float(text_of(row["share"])))
        for row in rows
    ]
    context.recorder.items(step, MARGIN, shares)
    return sum(one.share for one in shares)


def _of_what_is_named(picked: Sequence[Candidate], state: State, words: QuestionWords) -> bool:
    """Whether a quote that says something of what is asked names a thing that the question names, or some
    quote's passage is about one.
    """
    exact = [seed for seed in state.seeds if seed.matched_by == "exact"]
    sure = max((seed.score for seed in exact), default=1.0)
    named = {seed.entity.value: seed.matched_text for seed in exact if seed.score >= sure}
    names = words.spoken_of(*named.values())
    saying = [quote for quote in picked if quote.said - names]
    return (
        not saying
        or not named
        or any(quote.said & names or quote.entities & named.keys() for quote in saying)
        or any(quote.about & names for quote in picked)
    )


def _standing(state: State) -> dict[str, float]:
    """Passage → the root of its score as a share of the best."""
    ranked = state.passages[:_RANKED]
    best = ranked[0].score if ranked else 0.0
    return {hit.chunk.value: math.sqrt(max(0.0, hit.score) / best) for hit in ranked} if best > 0 else {}


def _best(
    context: Context,
    step: Step,
    state: State,
    words: QuestionWords,
    candidates: Sequence[Candidate],
    picked: Sequence[Candidate],
    standing: dict[str, float],
    least: float,
) -> tuple[Candidate, float] | None:
    """The candidate with the highest value, and that; None if it is less than `least`."""
    said = frozenset[str]().union(*(quote.own | quote.titled for quote in picked))
    left = replace(words, weights={t: w * (_SAID if t in said else 1.0) for t, w in words.weights.items()})
    rows: dict[bool, list[tuple[NamedNode, float, float, float, float]]] = {True: [], False: []}
    for one in candidates:
        factor = one.factor * _link(one, picked)
        parts = [left.weight(part) for part in (one.own, one.near, one.rest)]
        rows[not one.alone].append((one.iri, parts[0], parts[1], parts[2], factor))
    chunks = {one.source.chunk for one in candidates}
    found = context.decide(
        step,
        "selection/quotable",
        sentences=rows[True],
        facts=rows[False],
        passages=[(NamedNode(chunk), root) for chunk, root in standing.items() if chunk in chunks],
        excluded=list(state.exclude),
        least=least,
    )
    by_iri = {one.iri.value: one for one in candidates}
    return next(((by_iri[text_of(row["candidate"])], float(text_of(row["score"]))) for row in found), None)


def _link(one: Candidate, picked: Sequence[Candidate]) -> float:
    """The factor for how a candidate hangs together with the quotes before."""
    if any(one.topics & (quote.entities - quote.topics) for quote in picked):
        return _LINKED
    return 1.0 if not picked or any(_joined(one, quote) for quote in picked) else _APART


def _joined(one: Candidate, other: Candidate) -> bool:
    same = one.source.chunk is not None and one.source.chunk == other.source.chunk
    return same or not one.entities.isdisjoint(other.entities)


def _adds(candidate: Candidate, picked: Sequence[Candidate]) -> bool:
    if not picked:
        return True
    said = frozenset[str]().union(*(quote.own | quote.titled for quote in picked))
    more = (candidate.own | candidate.titled) - said or _corroborates(candidate, picked[0])
    return bool(more) and all(candidate is not other and _differ(candidate, other) for other in picked)


def _corroborates(candidate: Candidate, first: Candidate) -> bool:
    """Whether it says all that the first quote says. A fact alone must also show what is asked for: that she
    was born on a day does not corroborate where she was born. Nor does what is said of her brother.
    """
    beside = candidate.alone and first.shows and not candidate.shows
    return candidate.own >= first.own and not beside and not candidate.another


def _differ(one: Candidate, other: Candidate) -> bool:
    if one.text == other.text:
        return False
    if one.row and other.row:
        return True
    if fuzz.ratio(one.text, other.text) < _ALIKE:
        return True
    # sentences that differ in a number say different things, however alike they look
    digits = [[c for c in text if c.isdigit()] for text in (one.text, other.text)]
    return digits[0] != digits[1]


# --- candidates ------------------------------------------------------------------------------------


def _weighed(
    context: Context, step: Step, state: State, words: QuestionWords, standing: dict[str, float]
) -> list[Candidate]:
    """The candidates that may be quoted, with what they say of the question."""
    found = [*_sentences(context, step, state), *_facts(state)]
    chunks = {one.source.chunk for one in found if one.source.chunk in standing}
    texts = chunk_texts(context, state, step, chunks)
    called = {seed.entity.value: seed.matched_text for seed in state.seeds if seed.matched_by == "exact"}
    asked = set(analyse(state.question, state.language))
    chinese, whether = is_chinese(state.question, None), asks_whether(state.question)
    barred = _excluded_names(context, step, state)
    kept = []
    for one in found:
        from_row = answer_from_row(one.row, state.question, words) if one.row else None
        if from_row:
            one.text, one.factor = from_row.text, one.factor * from_row.factor
        said = without_emoji(one.text).rstrip()
        if not from_row and not one.alone and said[-1:] not in _ENDS:
            one.factor *= _LINE
        beyond = set(analyse(one.text, state.language)) - asked
        asks = said.rstrip(_CLOSING + _STOPS)[-1:] in _ASKS
        if (
            not (beyond or whether)
            or asks
            or one.text.startswith("#")
            or any(name in fold(one.text) for name in barred)
        ):
            continue
        shown = answered_words(state.question, _without_names(one, state.question))
        tells, defined = _tells_what_it_is(one, state.question, words)
        one.shows = bool(shown) or tells
        little = len(beyond) < 2 and not one.alone and not whether  # a fact alone may end in one word
        one.factor *= _SHOWN if shown or defined else _LITTLE if little else 1.0
        spoken = from_row.question_words if from_row else words.spoken_of(one.text)
        spoken |= words.spoken_of(*said_otherwise(state.question, one.text))
        asking = words.spoken_of(one.selection.asked)
        if words.weights.keys() - asking <= spoken:  # of a fact: all else that is asked is what it is about
            spoken |= asking
        one.own = spoken | words.spoken_of(*shown)
        one.factor *= _ALL if words.weights.keys() <= spoken else 1.0
        text, offset = texts.get("" if one.alone else one.source.chunk or "", ("", 0))
        at = max(0, (one.source.char_offset or 0) - offset)
        names = [called[entity] for entity in sorted(one.entities) if entity in called]
        one.titled = words.spoken_of(one.source.title, *names) - one.own
        one.about = words.spoken_of(one.source.title, *(called[e] for e in one.topics if e in called))
        before = text[max(0, at - _BEFORE) : at]
        one.near = one.titled | words.spoken_of(before) - one.own
        if chinese:
            one.another = says_of_another(state.question, one.text)
            one.lacks = shows_no_such_thing(state.question, one.text)
        if whether:
            topics = " ".join((one.source.title, *(called[each] for each in one.topics if each in called)))
            one.verdict = decides(state.question, one.text, topics, f"{topics} {before}")
            one.lacks = lacks(state.question, one.text, f"{topics} {before}")
        one.rest = words.spoken_of(text) - one.said
        kept.append(one)
    return kept


def _without_names(one: Candidate, question: str) -> str:
    """What a fact alone says of the things that the question names; the text of a sentence."""
    edge, text = one.selection.edge, one.text
    if edge is None or not one.alone:
        return text
    for label in (edge.s_label, edge.o_label):
        text = text.replace(label, "") if fold(label) in fold(question) else text
    return text


def _tells_what_it_is(one: Candidate, question: str, words: QuestionWords) -> tuple[bool, bool]:
    """Whether a fact alone says what a thing is, and whether in words, where its name alone is asked for."""
    edge = one.selection.edge
    if edge is None or not one.alone or edge.triple is None or asks_for_a_kind(question):
        return False, False
    if words.weights.keys() - words.spoken_of(edge.s_label):
        return False, False
    relation = edge.triple[1].value, edge.p_label
    return defines(*relation) or classifies(*relation), defines(*relation)


def _excluded_names(context: Context, step: Step, state: State) -> set[str]:
    """What excluded entities are called."""
    if not state.exclude:
        return set()
    rows = context.select(step, "retrieval/labels", things=list(state.exclude))
    return {fold(text_of(row["label"])) for row in rows}


def _aptness(selection: Selection, state: State) -> tuple[bool, float]:
    """Of two facts from one sentence, the one that shows what is asked for, then the better one."""
    return bool(selection.edge and shows_what_is_asked(state.question, selection.edge.text)), selection.score


def _sentences(context: Context, step: Step, state: State) -> list[Candidate]:
    """Each sentence that was found, or that a selected fact was quoted from, with the best selection that
    rests on it; those that focus did not select get one. What a model chose goes alone.
    """
    wanted: dict[str, Selection] = {}
    for selection in state.selections:
        edge, hit = selection.edge, selection.hit
        for node in edge.sentences if edge else [hit.sentence] if hit else []:
            known = wanted.get(node.value)
            if known is None or _aptness(known, state) < _aptness(selection, state):
                wanted[node.value] = selection
    if not state.vouched:
        for found in state.hits:
            wanted.setdefault(found.sentence.value, Selection(score=found.score, hit=found))
    mentioned = mentions_of(context, state, step, wanted)
    tables = rows_among(context, step, wanted)
    decided = _decided_against(context, step, wanted)
    candidates = []
    for iri, sources in sentence_sources(context, state, step, wanted).items():
        selection = wanted[iri]
        selection.sources = selection.sources or sources
        ends = selection.edge.ends if selection.edge else ()
        candidates.append(
            Candidate(
                iri=NamedNode(iri),
                text=sources[0].quote,
                selection=selection,
                source=sources[0],
                entities=frozenset(entity.value for entity in (*mentioned[iri], *ends)),
                topics=frozenset(topic.value for topic in state.topics.get(chunk_of(iri), ())),
                factor=_DECIDED if iri in decided else 1.0,
                row=table_row(sources[0].quote, tables[iri]) if iri in tables else None,
                decided=iri in decided,
            )
        )
    return candidates


def _decided_against(context: Context, step: Step, sentences: Iterable[str]) -> set[str]:
    nodes = [NamedNode(iri) for iri in sorted(sentences)]
    if not nodes:
        return set()
    rows = context.select(step, "selection/decided-against", sentences=nodes)
    return {text_of(row["sentence"]) for row in rows}


def _facts(state: State) -> list[Candidate]:
    """Selected facts that were inferred or read from no text, in the words of their labels."""
    found: dict[str, Candidate] = {}
    for selection in state.selections:
        edge = selection.edge
        if edge and selection.sources and (edge.inferred or selection.sources[0].chunk is None):
            entities = frozenset(end.value for end in edge.ends)
            candidate = Candidate(
                NamedNode(f"urn:fact:{len(found)}"), edge.text, selection, selection.sources[0], entities
            )
            found.setdefault(edge.text, candidate)
    return list(found.values())

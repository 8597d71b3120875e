"""Extractive answers: which sentences of the evidence answer best, in which order.

The first sentence is the one that scores best and speaks of most of the question. Each further one must add
words of the question that no sentence so far speaks of, and be connected with them: it mentions
what one of them mentions, or stands beside one. So a question over several documents is answered by a
chain. Sentences that speak of just as much of the question as the first are added too: they
corroborate or contradict it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from graphrag_rdf.steps.mentions import mentions_of
from graphrag_rdf.steps.rows import TableRow, rows_among, table_row, tell
from graphrag_rdf.steps.sources import sentence_sources
from graphrag_rdf.steps.state import Context, Parameters, Seed, Selection, SourceQuote, State
from graphrag_rdf.steps.words import QuestionWords, answered_words, shows_what_is_asked
from graphrag_rdf.trace.recorder import Step

_ALIKE = 90  # percent of equal characters at which two sentences say the same
_SHOWN = 1.25  # a sentence that shows the kind of thing asked for counts so much more
_TITLE = 0.8  # a word of the question that only the title has counts so much
_APART = 0.25  # a further sentence that is not connected with those before counts so little
_BESIDE = 400  # characters between two sentences of a chunk that stand beside one another
_LINE = 0.7  # a heading or table row counts so much of what a sentence of prose counts
_LONGEST_HEADING = 100
# what a line has that states something: a small verb, a past form, a value behind a colon, a cell
_STATES = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|may|must|became|ist|sind|war"
    r"|waren|hat|hatte|wird|wurde|wurden|kann|zijn|was|heeft|had|werd|werden|wordt|est|sont|fut|es|son|fue)\b"
    r"|\w{2}ed\b|:\s|[;,|\t]",
    re.IGNORECASE,
)
_ENDS = frozenset(".!?。！？…\"”’'»)]")
_PARALLEL = 0.8  # of the first sentence's value, for one that says no more


@dataclass(slots=True)
class Candidate:
    """A sentence that an extractive answer may quote.

    Attributes:
        selection: the best selection that rests on it.
        source: where it stands.
        spoken: words of the question that it has, or shows (`answered_words`).
        titled: those that only the title of its document has.
        entities: what it mentions.
        row: what it says as a row of a table; None for other sentences.
    """

    text: str
    score: float
    selection: Selection
    source: SourceQuote
    spoken: frozenset[str] = frozenset()
    titled: frozenset[str] = frozenset()
    entities: frozenset[str] = frozenset()
    marker: int = 0
    row: TableRow | None = None


def pick(context: Context, step: Step, state: State, parameters: Parameters) -> list[Candidate]:
    """The sentences of the answer, in document order, each with the number of what it cites; none where what
    hangs together speaks of too little of the question.
    """
    words = QuestionWords.of(state.question, state.language, context.text_index)
    candidates = _candidates(context, step, state)
    for candidate in candidates:
        telling = tell(candidate.row, state.question, words) if candidate.row else None
        if telling:
            candidate.text = telling.text
            candidate.score *= telling.factor
        answered = answered_words(state.question, candidate.text)
        said = telling.spoken if telling else words.spoken_of(candidate.text, candidate.selection.asked)
        candidate.spoken = said | words.spoken_of(*answered)
        candidate.titled = words.spoken_of(candidate.source.title) - candidate.spoken
        if _is_line(candidate):
            candidate.score *= _LINE
        if answered:
            candidate.score *= _SHOWN
    stating = [candidate for candidate in candidates if not _is_heading(candidate)]
    picked = _joined(stating, state, words, parameters)
    if not picked and len(stating) < len(candidates):  # a heading answers where nothing else does
        picked = _joined(candidates, state, words, parameters)
    rank = {candidate.source.document: n for n, candidate in reversed(list(enumerate(picked)))}
    picked.sort(key=lambda c: (rank[c.source.document], c.source.char_offset or 0))
    markers: dict[int, int] = {}
    for candidate in picked:
        candidate.marker = markers.setdefault(id(candidate.selection), len(markers) + 1)
        candidate.selection.marker = candidate.marker
    return picked


def _joined(
    candidates: Sequence[Candidate], state: State, words: QuestionWords, parameters: Parameters
) -> list[Candidate]:
    """The best of the candidates that hang together, if they speak of enough of what is asked."""
    picked = _chain(_about_seeds(candidates, state), candidates, words, parameters)
    picked, spoken = _best_component(picked, words)
    enough = spoken >= parameters["min_coverage"]
    return picked if enough and _begins_at_seed(picked, state, words) else []


def _is_line(candidate: Candidate) -> bool:
    """Whether it stands in a text without the end of a sentence, which facts read from no text have not."""
    if candidate.row or candidate.source.chunk is None:
        return False
    return candidate.text.rstrip()[-1:] not in _ENDS


def _is_heading(candidate: Candidate) -> bool:
    """Whether a sentence only says what others are about: marked so, or a short line that states nothing."""
    text = candidate.text.strip()
    if candidate.row or candidate.source.chunk is None:
        return False
    if text.startswith("#"):
        return True
    short = len(text) <= _LONGEST_HEADING and text[-1:] not in _ENDS and "\n" not in text
    return short and text[:1].isalnum() and not _STATES.search(text)


def _about_seeds(candidates: Sequence[Candidate], state: State) -> Sequence[Candidate]:
    """Candidates that mention what the question names; all, where it names nothing that is known."""
    named = {seed.entity.value for seed in _named(state)}
    return [candidate for candidate in candidates if candidate.entities & named] or candidates


def _named(state: State) -> list[Seed]:
    """The seeds that the question names most surely."""
    exact = [seed for seed in state.seeds if seed.matched_by == "exact"]
    sure = max((seed.score for seed in exact), default=1.0)
    return [seed for seed in exact if seed.score >= sure]


def _begins_at_seed(picked: Sequence[Candidate], state: State, words: QuestionWords) -> bool:
    """Whether something of what is asked is said of the things that the question names.

    Else all of it is said of something else, and joined to the name by sentences that only happen to mention
    both: the chain answers another question. Where no sentence has any word of what is asked, they may say it
    in other words.
    """
    seeds = _named(state)
    named = {seed.entity.value for seed in seeds}
    asked = words.weights.keys() - words.spoken_of(*(seed.matched_text for seed in seeds))
    about = [candidate for candidate in picked if candidate.entities & named]
    said = [candidate for candidate in picked if asked & (candidate.spoken | candidate.titled)]
    return not said or any(candidate.entities & named for candidate in said) or not about


def _best_component(picked: Sequence[Candidate], words: QuestionWords) -> tuple[list[Candidate], float]:
    """Of the sentences those that hang together and speak of most of the question, and of how much."""
    best: tuple[list[Candidate], float] = ([], 0.0)
    left = list(picked)
    while left:
        together = [left.pop(0)]
        for candidate in together:  # grows while it is read
            joined = [c for c in left if _connected(c, candidate)]
            left = [c for c in left if all(c is not other for other in joined)]
            together += joined
        spoken = words.weight(frozenset[str]().union(*(c.spoken | c.titled for c in together)))
        if spoken > best[1]:
            best = ([c for c in picked if any(c is other for other in together)], spoken)
    return best


def _chain(
    firsts: Sequence[Candidate],
    candidates: Sequence[Candidate],
    words: QuestionWords,
    parameters: Parameters,
) -> list[Candidate]:
    picked: list[Candidate] = []
    spoken: frozenset[str] = frozenset()
    least = 0.0
    while len(picked) < parameters["max_sentences"]:
        pool = candidates if picked else firsts
        rest = [c for c in pool if all(_differ(c, other) for other in picked)]
        values = [(_value(c, words, spoken, picked), c) for c in rest]
        values.sort(key=lambda pair: (-pair[0], pair[1].source.document, pair[1].source.char_offset or 0))
        if not values or values[0][0] <= least:
            break
        value, best = values[0]
        if not picked:
            least = value * parameters["min_share"]
        picked.append(best)
        spoken |= best.spoken | best.titled
    if picked:
        picked += _parallel(picked, candidates, words, parameters["max_sentences"] - len(picked))
    return picked


def _value(
    candidate: Candidate, words: QuestionWords, spoken: frozenset[str], picked: Sequence[Candidate]
) -> float:
    """What a sentence adds: its score times the weight of the words that are new."""
    new = words.weight(candidate.spoken - spoken) + _TITLE * words.weight(candidate.titled - spoken)
    if not picked:
        return candidate.score * new
    connected = any(_connected(candidate, other) for other in picked)
    return candidate.score * new * (1.0 if connected else _APART)


def _connected(one: Candidate, other: Candidate) -> bool:
    if one.entities & other.entities:
        return True
    if one.source.chunk is None:
        return False
    apart = abs((one.source.char_offset or 0) - (other.source.char_offset or 0))
    return one.source.chunk == other.source.chunk and apart <= _BESIDE


def _parallel(
    picked: Sequence[Candidate], candidates: Sequence[Candidate], words: QuestionWords, room: int
) -> list[Candidate]:
    first = picked[0]
    bar = _PARALLEL * first.score * words.weight(first.spoken | first.titled)
    found: list[Candidate] = []
    for candidate in sorted(
        candidates, key=lambda c: (-c.score, c.source.document, c.source.char_offset or 0)
    ):
        if len(found) >= room:
            break
        value = candidate.score * words.weight(candidate.spoken | candidate.titled)
        same = candidate.spoken >= first.spoken
        if same and value >= bar and all(_differ(candidate, other) for other in (*picked, *found)):
            found.append(candidate)
    return found


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


def _aptness(selection: Selection, state: State) -> tuple[bool, float]:
    """Of two facts from one sentence, the one that shows what is asked for, then the better one."""
    return bool(selection.edge and shows_what_is_asked(state.question, selection.edge.text)), selection.score


def _candidates(context: Context, step: Step, state: State) -> list[Candidate]:
    """Each sentence of the selections once, with the best selection that rests on it, and each fact that was
    read from no text in the words of its labels.
    """
    wanted: dict[str, Selection] = {}
    for selection in state.selections:
        edge, hit = selection.edge, selection.hit
        for node in edge.sentences if edge else [hit.sentence] if hit else []:
            known = wanted.get(node.value)
            if known is None or _aptness(known, state) < _aptness(selection, state):
                wanted[node.value] = selection
    found = _without_sentence(state, quotes=not wanted)
    if not wanted:
        return list(found.values())
    entities = {
        iri: {e.value for e in named} for iri, named in mentions_of(context, state, step, wanted).items()
    }
    for edge in state.edges:
        for node in edge.sentences:
            entities.setdefault(node.value, set()).update(end.value for end in edge.ends)
    for hit in state.hits:
        entities.setdefault(hit.sentence.value, set()).update(entity.value for entity in hit.entities)
    scores = {hit.sentence.value: hit.score for hit in state.hits}
    tables = rows_among(context, step, wanted)
    for iri, source in sentence_sources(context, state, step, wanted).items():
        score = max(wanted[iri].score, scores.get(iri, 0.0))
        named = frozenset(entities.get(iri, ()))
        row = table_row(source[0].quote, tables[iri]) if iri in tables else None
        candidate = Candidate(source[0].quote, score, wanted[iri], source[0], entities=named, row=row)
        found.setdefault(iri, candidate)
    return list(found.values())


def _without_sentence(state: State, *, quotes: bool) -> dict[str, Candidate]:
    """Facts that were read from no text; with `quotes` also the words that others were taken from."""
    found: dict[str, Candidate] = {}
    for selection in state.selections:
        source, edge = selection.sources[0], selection.edge
        if edge and source.chunk is None:
            ends = frozenset(end.value for end in edge.ends)
            found.setdefault(
                edge.text, Candidate(edge.text, selection.score, selection, source, entities=ends)
            )
        elif quotes and source.quote:
            found.setdefault(source.quote, Candidate(source.quote, selection.score, selection, source))
    return found

"""Evidence as prompts show it: the sentences of the selected chunks, each once, with a number.

They stand by document and chunk in the order of the text. A fact stands below the first sentence that it was
read from, with a number of its own; one that was read from no text is a line. A row of a table has the names
of its columns, a sentence of a dialogue its speaker; a greeting stands on the line of what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from pyoxigraph import NamedNode

from graphrag_rdf.documents.model import Turn
from graphrag_rdf.documents.text import count_tokens
from graphrag_rdf.documents.turns import find_turns, turn_at
from graphrag_rdf.extract.names import CJK
from graphrag_rdf.index.analyse import analyse
from graphrag_rdf.rdf.namespaces import DCTERMS, RAG
from graphrag_rdf.steps.exploration import Edge
from graphrag_rdf.steps.sources import chunk_sentences, chunk_texts, left_out, mentions_of, sentence_sources
from graphrag_rdf.steps.state import Context, Selection, SentenceHit, State
from graphrag_rdf.steps.table_rows import rows_among
from graphrag_rdf.trace.documents import Source, names_of
from graphrag_rdf.trace.recorder import Step

_WORD = re.compile(r"[^\W_]+")
_FEW = 4  # words that say something: Hey Ada, how are you?
_FEW_CJK = 7


@dataclass(frozen=True, slots=True)
class ChatSentence:
    """A sentence of a chat.

    Attributes:
        speaker: the speaker, unless the sentence begins with that name itself; else "".
        turn: document and offset of the turn.
        words: without the speaker's name.
    """

    speaker: str
    turn: tuple[str, int]
    words: str

    @property
    def brief(self) -> bool:
        """Whether it is a greeting or the like: a few words without a number."""
        few = len(_WORD.findall(self.words)) < _FEW and len(CJK.findall(self.words)) < _FEW_CJK
        return few and not any(map(str.isdigit, self.words))


def chat_sentences(
    context: Context, step: Step, sources: Mapping[str, Source], texts: Mapping[str, tuple[str, int]]
) -> dict[str, ChatSentence]:
    """The sentences that are parts of chats. Turns are found in the text of the chunk; if it begins within a
    turn, in the whole document.

    Args:
        sources: sentence → its place.
        texts: chunk → its text and offset.
    """
    turns = {chunk: find_turns(text) for chunk, (text, _) in texts.items()}
    chats = {source.document for source in sources.values() if turns.get(source.chunk or "")}
    begun = {
        source.document
        for source in sources.values()
        if source.document in chats and source.chunk in texts and _opens(source, turns, texts)
    }
    whole = _whole_turns(context, step, begun)
    found = {}
    for iri, source in sources.items():
        read, start = whole.get(source.document, ()), 0
        if not read and source.chunk in texts:
            read, start = turns[source.chunk or ""], texts[source.chunk or ""][1]
        offset = (source.char_offset or 0) - start
        turn = turn_at(read, offset)
        if turn is not None:
            words = source.quote[max(0, turn.words - offset) :]
            speaker = turn.speaker if turn.name[0] < offset else ""
            found[iri] = ChatSentence(speaker, (source.document, start + turn.start), words)
    return found


def lines_of(order: Sequence[str], said: Mapping[str, ChatSentence], apart: Iterable[str]) -> list[list[str]]:
    """Sentences in lines: neighbours of one turn share a line if at most one of them is not brief.

    Args:
        order: sentences in the order of the text.
        apart: sentences that begin a line in any case.
    """
    lines: list[list[str]] = []
    begin = set(apart)
    for iri in order:
        one, last = said.get(iri), said.get(lines[-1][-1]) if lines else None
        same = one is not None and last is not None and one.turn == last.turn and iri not in begin
        if same and one is not None and (one.brief or all(said[other].brief for other in lines[-1])):
            lines[-1].append(iri)
        else:
            lines.append([iri])
    return lines


def _opens(source: Source, turns: Mapping[str, Sequence[Turn]], texts: Mapping[str, tuple[str, int]]) -> bool:
    """Whether a sentence stands before the first turn that begins in its chunk, unless the chunk is the first
    of its document.
    """
    begun, (_, start) = turns[source.chunk or ""], texts[source.chunk or ""]
    return start > 0 and (not begun or (source.char_offset or 0) - start < begun[0].start)


def _whole_turns(context: Context, step: Step, documents: Iterable[str]) -> dict[str, tuple[Turn, ...]]:
    nodes = [NamedNode(iri) for iri in sorted(documents)]
    if not nodes:
        return {}
    rows = context.select(step, "retrieval/document-texts", documents=nodes)
    return {row["document"]: find_turns(context.blobs.text(row["text"]) or "") for row in rows}


NO_TEXT = "Facts that stand in no text"
_UNVERIFIED = "(unverified: the document does not say it in the words that were quoted for it)"
_FACTS = 26  # below a sentence
_JOINT = 2  # characters at most between sentences that may stand on one line
_BETWEEN = 20  # characters between sentences: of more, something was left out


@dataclass(slots=True)
class Line:
    """A sentence, or a fact that was read from no text.

    Attributes:
        number: by which the answer cites it, from 1 (see `Evidence.offer`).
        text: on one line.
        sentence: what is cited; None of such a fact.
        sentences: that one, the greetings of a chat that stand on its line, and the same in other chunks.
        span: where the line begins and ends in its document.
        page: that it stands on; None in documents without pages.
        chunk: the rank of the selected chunk that it is part of; None if it is part of none.
        facts: below it; their numbers follow its own.
        chosen: what was selected of it: itself, and facts of it.
        columns: of a row of a table, the names of its columns; they stand above the first row of several.
    """

    number: int
    text: str
    document: str
    sentence: NamedNode | None = None
    source: Source | None = None
    chunk: int | None = None
    sentences: tuple[NamedNode, ...] = ()
    span: tuple[int, int] | None = None
    facts: list[Edge] = field(default_factory=list)
    chosen: list[Selection] = field(default_factory=list)
    columns: str = ""

    @property
    def tokens(self) -> int:
        """What it takes in the answer's prompt, nearly."""
        told = [self.text, *(s.reasoning or "" for s in self.chosen), *(edge.text for edge in self.below)]
        return count_tokens(" ".join(told)) + 4 + 4 * len(self.below)

    @property
    def below(self) -> Sequence[Edge]:
        """The facts that have numbers of their own: none of a line that is a fact."""
        return self.facts if self.sentence is not None else ()

    def fact_number(self, edge: Edge) -> int:
        """The number of a fact below it."""
        return self.number + 1 + next(at for at, one in enumerate(self.below) if one is edge)


@dataclass(frozen=True, slots=True)
class Point:
    """What a report of a community, or a claim, says: a line of its own, which is cited by what it rests on.

    Attributes:
        head: what it stands under.
        text: on one line.
        rests: facts and sentences, best first.
        detail: of a finding what explains it, without its own line; "" of others.
    """

    head: str
    text: str
    rests: Sequence[Selection]
    detail: str = ""

    @property
    def tokens(self) -> int:
        """What it takes in the answer's prompt, nearly."""
        return count_tokens(self.text) + 4


class Evidence:
    """The lines, in the order of their numbers.

    Attributes:
        heads: what is known of each document: title, author or publisher, date, authority.
        points: numbered after the lines.
    """

    def __init__(self, lines: Sequence[Line], heads: Mapping[str, str]) -> None:
        self.lines = lines
        self.heads = heads
        self.points: dict[int, Point] = {}
        self._by_sentence = {sentence: line for line in lines for sentence in line.sentences}
        self._by_fact = {edge.triple: line for line in lines for edge in line.facts}
        self._number()

    def offer(self, edges: Iterable[Edge]) -> None:
        """Put facts below the sentences that they were read from."""
        for edge in edges:
            line = self._line_of(edge)
            if line is not None and line.sentence is not None and len(line.facts) < _FACTS:
                line.facts.append(edge)
        self._number()

    def _number(self) -> None:
        number = 1
        for line in self.lines:
            line.number = number
            number += 1 + len(line.below)
        self._free = number

    @property
    def unread(self) -> list[Edge]:
        """Facts that were read from no text."""
        return [line.facts[0] for line in self.lines if line.sentence is None]

    def add_points(self, points: Iterable[Point]) -> None:
        """Number what reports and claims say."""
        self.points = dict(enumerate(points, start=self._free))

    def told_points(self) -> list[dict[str, Any]]:
        """Points as the templates of prompts take them: a `head` and its `lines`."""
        told: list[dict[str, Any]] = []
        for number, point in self.points.items():
            if not told or told[-1]["head"] != point.head:
                told.append({"head": point.head, "lines": []})
            told[-1]["lines"].append({"number": number, "text": point.text})
        return told

    def choose(self, selections: Iterable[Selection]) -> None:
        """Mark what was selected."""
        for selection in selections:
            line = (
                self._line_of(selection.edge)
                if selection.edge
                else self._by_sentence.get(selection.hit.sentence)
                if selection.hit
                else None
            )
            if line is not None and all(one is not selection for one in line.chosen):
                line.chosen.append(selection)

    def _line_of(self, edge: Edge) -> Line | None:
        found = (self._by_sentence[one] for one in edge.sentences if one in self._by_sentence)
        return self._by_fact.get(edge.triple) or next(found, None)

    def text_of(self, documents: Collection[str]) -> str:
        """The heads of documents, and all their lines."""
        heads = [self.heads.get(document, "") for document in documents]
        lines = [line for line in self.lines if line.document in documents]
        columns = dict.fromkeys(line.columns for line in lines if line.columns)
        return "\n".join([*heads, *columns, *(line.text for line in lines)])

    def numbered(self) -> dict[int, tuple[Line, Edge | None]]:
        """What a model may choose, by its number: a sentence, or a fact."""
        found: dict[int, tuple[Line, Edge | None]] = {}
        for line in self.lines:
            found[line.number] = line, None if line.sentence is not None else line.facts[0]
            found |= {line.fact_number(edge): (line, edge) for edge in line.below}
        return found

    def fitting(self, tokens: int, unchosen: int, passed_over: Collection[int]) -> list[Line]:
        """The lines of the answer's prompt, as far as they fit: what was chosen, best first, then the rest by
        rank of the chunk. The best one is there in any case.

        Args:
            unchosen: tokens for the chunks that a model passed over, unless there is nothing else.
            passed_over: ranks of these chunks.
        """
        shown = [line for line in self.lines if line.chosen or line.chunk is not None]
        best = {line.number: max((s.score for s in line.chosen), default=0.0) for line in shown}
        if all(line.chunk in passed_over and not line.chosen for line in shown):
            passed_over = ()
        shown.sort(
            key=lambda line: (
                not line.chosen,
                -best[line.number],
                line.chunk in passed_over,
                line.chunk or 0,
                line.number,
            )
        )
        taken: list[Line] = []
        total = 0
        for line in shown:
            total += line.tokens
            if line.chunk in passed_over:
                unchosen -= line.tokens
            if taken and (total > tokens or unchosen < 0):
                break
            taken.append(line)
        return sorted(taken, key=lambda line: line.number)

    def told(self, lines: Sequence[Line], offered: Collection[int] = ()) -> list[dict[str, Any]]:
        """Lines as the templates of prompts take them: `head` of a document and its `lines`.

        Args:
            offered: numbers of the facts to show; all without any.
        """
        documents: list[dict[str, Any]] = []
        before: Line | None = None
        for line in lines:
            if before is None or line.document != before.document:
                documents.append({"head": self.heads.get(line.document, line.document), "lines": []})
            documents[-1]["lines"].append(self._told(line, before, offered))
            marked = documents[-1]["lines"][-1]["chosen"]
            documents[-1]["marked"] = documents[-1].get("marked", False) or marked
            before = line
        return documents

    def _told(self, line: Line, before: Line | None, offered: Collection[int]) -> dict[str, Any]:
        same = before is not None and before.document == line.document
        chosen = {s.edge.triple: s for s in line.chosen if s.edge}
        own = [s.reasoning for s in line.chosen if s.reasoning and (not s.edge or line.sentence is None)]
        facts = [(line.fact_number(edge), edge) for edge in line.below]
        page = line.source.page_number if line.source else None
        goes_on = same and before is not None and before.columns == line.columns
        page_before = before.source.page_number if same and before and before.source else None
        return {
            "number": line.number,
            "columns": None if goes_on else line.columns or None,
            "text": line.text,
            "page": page if page != page_before else None,
            "gap": same and before is not None and _apart(before, line),
            "chosen": any(s.reasoning or line.sentence is not None for s in line.chosen),
            "reasoning": own[0] if own else None,
            "facts": [
                {
                    "number": number,
                    "text": f"{edge.s_label} | {edge.p_label} | {edge.o_label}",
                    "reasoning": chosen[edge.triple].reasoning if edge.triple in chosen else None,
                }
                for number, edge in facts
                if not offered or number in offered
            ],
        }


def _apart(before: Line, line: Line) -> bool:
    """Whether text that is not shown stands between two lines of a document."""
    return before.span is not None and line.span is not None and line.span[0] - before.span[1] > _BETWEEN


def collect(
    context: Context,
    state: State,
    step: Step,
    chunks: Sequence[Selection],
    sentences: Sequence[NamedNode] = (),
    facts: Iterable[Edge] = (),
) -> Evidence:
    """The evidence of chunks, of sentences that stand elsewhere, and of facts that were read from no text;
    the documents of the best chunks and sentences first.

    Sentences that somebody decided against, or that are about an excluded entity, are no part of it.
    """
    parts: _Parts = {}
    for number, one in enumerate(chunks):
        if one.passage:
            parts.setdefault(one.passage.chunk.value, []).append((number, one.window))
    found = {node.value for node in sentences}
    for own in chunk_sentences(context, state, step, parts).values():
        found |= {iri for _, _, iri in own}
    found -= state.set_aside
    if state.exclude:
        mentioned = mentions_of(context, state, step, found)
        found = {iri for iri in found if not left_out(state, mentioned[iri])}
    sources = {iri: places[0] for iri, places in sentence_sources(context, state, step, found).items()}
    sources = _without_boilerplate(context, state, step, sources)
    texts = chunk_texts(context, state, step, {source.chunk for source in sources.values()})
    rows = _rows(context, step, sources)
    said = chat_sentences(context, step, sources, texts)
    ranks = {iri: _rank(source, parts, texts) for iri, source in sources.items()}
    after = {node.value: len(parts) + place for place, node in enumerate(sentences)}
    first: dict[str, int] = {}  # document -> its best chunk, else its best sentence
    for iri, source in sources.items():
        rank = ranks[iri]
        rank = after.get(iri, len(parts) + len(after)) if rank is None else rank
        first[source.document] = min(rank, first.get(source.document, rank))

    def place(iri: str) -> tuple[int, str, int, int, str]:
        start, end = _span(sources[iri])
        return first[sources[iri].document], sources[iri].document, start, -end, iri

    again = _again(sorted(sources, key=place), sources, state.alike)
    for iri, shown in again.items():
        ranks[shown] = min((rank for rank in (ranks[iri], ranks[shown]) if rank is not None), default=None)
        if iri in after:
            after.setdefault(shown, after[iri])
    order = [
        iri
        for iri in sorted(sources, key=place)
        if iri not in again
        and (ranks[iri] is not None or iri in after)
        and (iri not in said or any(map(str.isalnum, said[iri].words)))  # an emoji alone says nothing
    ]
    copies: dict[str, list[str]] = {}
    for iri, shown in again.items():
        copies.setdefault(shown, []).append(iri)
    lines: list[Line] = []
    for group in lines_of(order, said, _begin(order, sources, ranks)):
        main = next((iri for iri in group if iri not in said or not said[iri].brief), group[0])
        columns, row = rows.get(main, ("", ""))
        text = row or " ".join(" ".join(sources[iri].quote.split()) for iri in group)
        speaker = said[group[0]].speaker if group[0] in said else ""
        lines.append(
            Line(
                0,
                f"{speaker}: {text}" if speaker else text,
                sources[main].document,
                NamedNode(main),
                sources[main],
                chunk=ranks[main],
                sentences=tuple(NamedNode(each) for iri in group for each in (iri, *copies.get(iri, ()))),
                span=(_span(sources[group[0]])[0], _span(sources[group[-1]])[1]),
                columns=columns,
            )
        )
    for edge in facts:
        text = f"{edge.text} {_UNVERIFIED}" if edge.unverified else edge.text
        lines.append(Line(0, text, NO_TEXT, facts=[edge]))
    documents = list(dict.fromkeys(line.document for line in lines if line.sentence is not None))
    return Evidence(lines, _heads(context, state, step, documents))


def _without_boilerplate(
    context: Context, state: State, step: Step, sources: Mapping[str, Source]
) -> dict[str, Source]:
    """The sentences without boilerplate, unless it alone has a word of the question."""
    if not sources:
        return {}
    rows = context.select(step, "boilerplate/marked", sentences=[NamedNode(iri) for iri in sources])
    marked = {row["sentence"].value for row in rows}
    wanted = {*analyse(state.question, state.language)}
    for iri in sources.keys() - marked if marked else ():
        wanted.difference_update(analyse(sources[iri].quote, state.language))
    return {
        iri: source
        for iri, source in sources.items()
        if iri not in marked or not wanted.isdisjoint(analyse(source.quote, state.language))
    }


def _again(order: Sequence[str], sources: Mapping[str, Source], alike: Mapping[str, str]) -> dict[str, str]:
    """Sentences that stand in another one, of a chunk that overlaps, or in the same words in a chunk that
    says nearly the same; with that sentence.

    Args:
        order: sentences in the order of documents and places, of those that begin together the longest first.
        alike: chunk → another one that says nearly the same.
    """
    found: dict[str, str] = {}
    said: dict[tuple[str, str], str] = {}  # chunk that is said again, words → sentence
    last: str | None = None
    for iri in order:
        source = sources[iri]
        chunk = source.chunk or ""
        words = alike.get(chunk, chunk), " ".join(source.quote.casefold().split())
        shown = said.setdefault(words, iri)
        if last and sources[last].document == source.document and _span(source)[1] <= _span(sources[last])[1]:
            shown = last
        if shown == iri or sources[shown].chunk == chunk:
            last = iri
        else:
            found[iri] = shown
    return found


def _begin(
    order: Sequence[str], sources: Mapping[str, Source], ranks: Mapping[str, int | None]
) -> Iterator[str]:
    """Sentences that do not stand right behind the one before, or that another chunk or none selects."""
    for one, other in pairwise(order):
        gap = _span(sources[other])[0] - _span(sources[one])[1]
        if ranks[one] is None or ranks[one] != ranks[other] or gap > _JOINT:
            yield other


def _span(source: Source) -> tuple[int, int]:
    """Where a sentence begins and ends in its document."""
    start = source.char_offset or 0
    return start, start + (source.char_length or 0)


_Parts: TypeAlias = dict[str, list[tuple[int, tuple[int, int] | None]]]
"""Chunk → the ranks of what was selected of it, each with its window; None of the whole chunk."""


def _rank(source: Source, parts: _Parts, texts: Mapping[str, tuple[str, int]]) -> int | None:
    """The rank of the selected chunk, or part of one, that a sentence is in."""
    if source.chunk is None or source.chunk not in parts:
        return None
    at = (source.char_offset or 0) - texts[source.chunk][1]
    ranks = (rank for rank, window in parts[source.chunk] if window is None or window[0] <= at < sum(window))
    return next(ranks, None)


def _rows(context: Context, step: Step, sources: Mapping[str, Source]) -> dict[str, tuple[str, str]]:
    """The rows of tables: the names of their columns, and the row. Those below others are read as these: a
    row without a subject of its own, such as a total, is no row that facts are read from.
    """
    tables = rows_among(context, step, sources)
    found: dict[str, tuple[str, str]] = {}
    table, document, end = None, "", 0
    for iri in sorted(sources, key=lambda iri: (sources[iri].document, sources[iri].char_offset or 0)):
        source = sources[iri]
        start = source.char_offset or 0
        goes_on = source.document == document and start - end <= 1
        table = tables.get(iri) or (table if goes_on else None)
        document, end = source.document, start + (source.char_length or 0)
        if table and (iri in tables or source.quote.startswith("|")):
            line = table.line(source.quote)
            if line is not None:
                found[iri] = table.head, line
    return found


def _heads(context: Context, state: State, step: Step, documents: Sequence[str]) -> dict[str, str]:
    """Document → title (with the path where others have that title too), who made it, when, its authority."""
    if not documents:
        return {}
    nodes = [NamedNode(iri) for iri in documents]
    names = names_of(context.select(step, "documents/named-alike", documents=nodes))
    said: dict[str, dict[NamedNode, str]] = {}
    for row in context.select(step, "retrieval/document-details", documents=nodes):
        relation = row["relation"]
        assert isinstance(relation, NamedNode)  # noqa: S101
        said.setdefault(row["document"], {})[relation] = row["value"]
    titles = {s.document: s.title for places in state.sources.values() for s in places}
    heads = {}
    for document in documents:
        known = said.get(document, {})
        who = known.get(DCTERMS.creator) or known.get(DCTERMS.publisher)
        when = (known.get(DCTERMS.created) or known.get(DCTERMS.modified) or "")[:10]
        weight = f"authority {float(known[RAG.authority]):g}" if RAG.authority in known else None
        beside = "; ".join(part for part in (who, when, weight) if part)
        name = " ".join(names.get(document, titles[document]).split())
        heads[document] = f"{name} ({beside})" if beside else name
    return heads


def hit_of(state: State, line: Line, score: float) -> SentenceHit:
    """The sentence of a line as exploration found it, or as one that it did not look at.

    Args:
        score: of the latter.
    """
    assert line.sentence is not None  # noqa: S101
    known = next((hit for hit in state.hits if hit.sentence == line.sentence), None)
    return known or SentenceHit(line.sentence, state.mentioned.get(line.sentence.value, ()), score=score)

"""Facts from rows of tables: the key column names the subject, the header the predicate, a cell the object.

The evidence of a fact is its row. A row gives the same facts whatever else is in its chunk.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from graphrag_rdf.documents.chunk import Context
from graphrag_rdf.documents.model import Chunk, ParsedDocument, Sentence, in_spans
from graphrag_rdf.documents.table_heads import has_period, is_period, tells_money
from graphrag_rdf.documents.table_json import unescaped, without_marks
from graphrag_rdf.documents.tables import RECORDS, Cell, RowPart, columns_above, items_of, read_row, rows_in
from graphrag_rdf.documents.turns import turns_in

from .mentions import Synonyms, find_mentions
from .model import ChunkContext, EntityCandidate, Extraction, Mention, Rejected, RelationCandidate
from .name_filter import is_plain, lower_words
from .names import RuleSettings, fold, reject_reason
from .numbers import read_date
from .table_columns import Column, TableReading, currency_of, kind_of, literal_of, looks_like_name
from .tagging import tagger_for

CONFIDENCE = 0.9
"""Confidence of a statement of a row: that of the plainest sentences."""

_SEVERAL = re.compile(r"\s*[;,|/]\s*")
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST_REJECTED = 200
_ARTICLE = re.compile(r"the\s+", re.IGNORECASE)
# rows that add others up are about none of the things that the table is about
_SUMS = frozenset({"total", "totals", "subtotal", "grand total", "sum", "summe", "gesamt", "totaal", "somme"})


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a chunk, and how its table is read."""

    part: RowPart
    reading: TableReading


def context_of(
    document: ParsedDocument, chunk: Chunk, readings: Sequence[TableReading], preceding: Context
) -> ChunkContext:
    """The context of a chunk in its document.

    Args:
        readings: how each of the document's tables is read.
        preceding: what stands before the chunk.
    """
    rows = tuple(Row(part, readings[part.table]) for part in rows_in(document, chunk))
    return ChunkContext(rows, columns_above(document, chunk), turns_in(document, chunk), preceding)


def read_rows(
    text: str, rows: Sequence[Row], settings: RuleSettings, synonyms: Synonyms, language: str | None
) -> Extraction:
    """The facts of rows of tables.

    Args:
        text: the chunk's.
        rows: of the chunk.
        settings: what to keep; of each row at most so many facts.
        synonyms: to be found in cells.
        language: BCP 47 tag of the document.
    """
    work = _Rows(text, settings, synonyms, language)
    for row in rows:
        work.take(row)
    return Extraction(
        entities=tuple(work.entities.values()),
        relations=tuple(work.relations),
        rejected=tuple(dict.fromkeys(work.rejected)),
        mentions=tuple(sorted(work.mentions, key=lambda mention: mention.offset)),
        language_warning=None,
    )


def find_names(
    text: str,
    sentences: Sequence[Sentence],
    rows: Sequence[Row],
    *,
    language: str | None,
    names: Iterable[str],
    title: str | None,
) -> tuple[Mention, ...]:
    """The mentions of a chunk that may hold rows. No name reaches from one cell to the next, and escapes in
    strings of JSON are resolved.

    Args:
        text: the chunk's.
        sentences: its sentences.
        rows: those of them that are rows.
        language, names, title: as of `find_mentions`.
    """
    apart = _cells_apart(sentences, rows) if rows else tuple(sentences)
    if not any(row.part.separator == RECORDS for row in rows):
        return find_mentions(text, apart, language=language, names=names, title=title)
    plain, places = unescaped(without_marks(text))
    spans = ((bisect_left(places, s.offset), bisect_left(places, s.offset + s.length)) for s in apart)
    moved = [Sentence(number, start, end - start) for number, (start, end) in enumerate(spans)]
    mentions = find_mentions(plain, moved, language=language, names=names, title=title)
    return tuple(
        Mention(places[m.offset], places[m.offset + m.length] - places[m.offset], m.name) for m in mentions
    )


def _cells_apart(sentences: Sequence[Sentence], rows: Sequence[Row]) -> tuple[Sentence, ...]:
    spans: list[tuple[int, int]] = []
    parts = {row.part.offset: row for row in rows}
    for sentence in sentences:
        row = parts.get(sentence.offset)
        table = row.reading.table if row else None
        cells = read_row(row.part.row, table.separator, table.names) if row and table else None
        if row is None or cells is None:
            spans.append((sentence.offset, sentence.length))
        else:
            within = (cell for cell in cells if cell.length and _within(cell, row.part))
            spans += sorted(_place(cell, row.part) for cell in within)
    return tuple(Sentence(number, *span) for number, span in enumerate(spans))


def split_by_rows(
    mentions: Sequence[Mention], rows: Sequence[Row]
) -> tuple[tuple[Mention, ...], tuple[Mention, ...]]:
    """Mentions within rows, and those in other sentences."""
    spans = [row.part.span for row in rows]
    inside = [in_spans(spans, mention.offset) for mention in mentions]
    both = list(zip(mentions, inside, strict=True))
    return tuple(m for m, within in both if within), tuple(m for m, within in both if not within)


@dataclass(frozen=True, slots=True)
class _About:
    """What a cell is about: subject, predicate and unit; without a subject it gives no fact."""

    subject: str | None
    predicate: str
    unit: str = ""
    term: bool = False


class _Rows:
    def __init__(self, text: str, settings: RuleSettings, synonyms: Synonyms, language: str | None) -> None:
        self.text = text
        self.settings = settings
        self.synonyms = synonyms
        self.language = language
        self.entities: dict[str, EntityCandidate] = {}
        self.relations: list[RelationCandidate] = []
        self.rejected: list[Rejected] = []
        self.mentions: list[Mention] = []
        self.lower = lower_words(text)
        self.period = ""
        self.lines = False  # whether the row at hand is one of figures, which its key labels

    def take(self, row: Row) -> None:
        part, reading = row.part, row.reading
        table = reading.table
        written, self.lines, self.period = part.row, reading.labels_lines, reading.period
        cells = read_row(written, table.separator, table.names)
        if reading.problem or cells is None:
            self._names_of(written, part, 0)
            reason = reading.problem or "cells_unlike_columns"
            item = ", ".join(table.names) if reading.problem else written
            self.rejected.append(Rejected(reason, item[:_LONGEST_REJECTED]))
            return
        subject = None if reading.turned else self._subject(part, reading, cells)
        if subject is not None and fold(subject) in reading.ambiguous:
            self.rejected.append(Rejected("ambiguous_row", written[:_LONGEST_REJECTED]))
            subject = None
        period = cells[reading.key[0]].text if reading.turned else ""
        if reading.turned and not is_period(period):
            self.rejected.append(Rejected("no_period", written[:_LONGEST_REJECTED]))
            period = ""
        words = {word.removesuffix("s") for word in _WORD.findall(written.lower())}
        excepted = not words.isdisjoint(reading.unitless)
        filled = 0  # of the whole row, wherever it is cut
        for number, (column, cell) in enumerate(zip(reading.columns, cells, strict=True)):
            if number in reading.key:
                continue
            about = _About(subject, column.predicate, term=self._is_label(subject))
            if reading.turned:
                name = self._column(column, part) if period else None
                about = _About(name, period, term=self._is_label(name))
            other_unit = excepted or ("%" in written and not currency_of(cell.text))
            if column.unit and not (column.common and other_unit):
                about = replace(about, unit=column.unit)
            for value in items_of(written, table.separator, cell):
                if kind_of(value.text) != "nothing":
                    filled += 1
                    if _within(value, part):
                        self._cell(part, about, column, value, room=filled <= self.settings.max_facts)

    def _is_label(self, name: str | None) -> bool:
        """Whether the subject of a row is only the label of a line: `Cost of sales`."""
        if name is None or self.synonyms.gazetteer.find(name):
            return False
        return is_period(name) or (self.lines and (not looks_like_name(name) or self._is_plain(name)))

    def _is_plain(self, name: str) -> bool:
        return is_plain(name, self.lower, tagger_for(self.language))

    def _column(self, column: Column, part: RowPart) -> str | None:
        """The name of a column as a subject: what a row of a period tells of."""
        name = self.synonyms.name_of(column.name)
        if not column.predicate or reject_reason(name):
            return None
        self._name(name, (part.offset, part.length), term=self._is_label(name))
        return name

    def _subject(self, part: RowPart, reading: TableReading, cells: Sequence[Cell]) -> str | None:
        """The subject of a row; None if its name cannot be an entity's."""
        keys = [cells[number] for number in reading.key]
        called = " ".join(cell.text for cell in keys if cell.text)
        name = self._without_article(called)
        reason = "empty" if kind_of(name) == "nothing" else reject_reason(name)
        if fold(name).rstrip(":") in _SUMS:
            reason = "total"
        if reason:
            self.rejected.append(Rejected(reason, part.row[:_LONGEST_REJECTED]))
            return None
        # of a row that is cut, the later parts are about its subject all the same
        place = _place(keys[0], part) if _within(keys[0], part) else (part.offset, part.length)
        term = self._is_label(name)
        self._name(name, place, term=term)
        for key in keys:
            if _within(key, part) and not looks_like_name(key.text):  # words in which a name may stand
                self._names_of(part.written(key), part, key.offset)
        if term:
            return name
        kinds = [
            cell.text
            for column, cell in zip(reading.columns, cells, strict=True)
            if column.role == "type" and kind_of(cell.text) in {"name", "text"}
        ]
        alternatives = [
            alias
            for column, cell in zip(reading.columns, cells, strict=True)
            if column.role == "alias" and kind_of(cell.text) != "nothing"
            for alias in _SEVERAL.split(cell.text)
            if reject_reason(alias) is None and fold(alias) != fold(name)
        ]
        if fold(called) != fold(name):
            alternatives.insert(0, called)
        kind = self.settings.type_of(kinds[0]) if kinds else None
        entity = self.entities[fold(name)]
        aliases = dict.fromkeys((*entity.aliases, *alternatives))
        self.entities[fold(name)] = EntityCandidate(
            entity.name, entity.type or kind, None, tuple(aliases), entity.span
        )
        return name

    def _without_article(self, name: str) -> str:
        """The canonical name; else the name without "the", if sentences would name it so."""
        if (canonical := self.synonyms.name_of(name)) != name:
            return canonical
        article = _ARTICLE.match(name)
        if article is not None:
            whole = (Sentence(0, 0, len(name)),)
            mentions = find_mentions(name, whole, language=self.language, names=self.synonyms.gazetteer)
            if [(m.offset, m.length) for m in mentions] == [(article.end(), len(name) - article.end())]:
                name = name[article.end() :]
        return self.synonyms.name_of(name)

    def _cell(self, part: RowPart, about: _About, column: Column, cell: Cell, *, room: bool) -> None:
        """Take a cell that is not blank; `room` tells whether its row may say more."""
        kind = kind_of(cell.text)
        if column.role == "none":
            return
        if kind == "prose":
            self._names_of(part.written(cell), part, cell.offset)
            return
        literal = literal_of(cell.text, column, self.language) if column.role != "alias" else None
        entity = literal is None and self._names_entity(column, cell.text, kind)
        entity = entity and not self._is_label(cell.text)
        name = self._without_article(cell.text) if entity else cell.text
        if entity and reject_reason(name) is None:
            self._name(name, _place(cell, part))
        elif literal is None:
            entity = False
            self._names_of(part.written(cell), part, cell.offset)
        if about.subject is None or column.role in {"alias", "type"}:
            return
        unit = about.unit if literal is not None or not column.common else ""
        if literal is not None and (sign := currency_of(cell.text)) and not tells_money(unit):
            unit = f"{sign} {unit}".rstrip()
        with_unit = unit and not entity
        period = "" if has_period(about.predicate) else self.period
        candidate = RelationCandidate(
            subject=about.subject,
            predicate=f"{about.predicate} ({unit})" if with_unit else about.predicate,
            object=literal[0] if literal else name if entity else cell.text,
            object_is_entity=entity,
            datatype=literal[1] if literal else None,
            quote=self.text[part.offset : part.offset + part.length],
            confidence=CONFIDENCE,
            span=(part.offset, part.length),
            qualifiers=(("at", *(read_date(period) or (period, None))),) if period else (),
            of_term=about.term,
        )
        if reason := self._unfit(candidate, room=room):
            item = f"{about.subject} | {candidate.predicate} | {candidate.object}"
            self.rejected.append(Rejected(reason, item[:_LONGEST_REJECTED]))
        else:
            self.relations.append(candidate)

    def _unfit(self, candidate: RelationCandidate, *, room: bool) -> str | None:
        if fold(candidate.subject) == fold(candidate.object):
            return "same_subject_and_object"
        if len(candidate.predicate.split()) > self.settings.max_words:
            return "too_long"
        if self.settings.min_confidence > CONFIDENCE:
            return "low_confidence"
        return None if room else "too_many"

    @staticmethod
    def _names_entity(column: Column, value: str, kind: str) -> bool:
        """Whether a value is an entity: in a column of names any short text, else capitalised words."""
        if column.role == "entity":
            return kind in {"name", "text", "code"}
        return column.role == "text" and " " in value and looks_like_name(value)

    def _name(self, name: str, place: tuple[int, int], *, term: bool = False) -> None:
        self.mentions.append(Mention(*place, name, term))
        if term:
            return
        self.entities.setdefault(fold(name), EntityCandidate(name, None, None, (), place))

    def _names_of(self, piece: str, part: RowPart, start: int) -> None:
        """Note the names within the running text of a row; they do not reach from cell to cell."""
        begin = part.offset - part.start + start
        for first, last in _pieces(piece, part.start - start, part.start - start + part.length):
            words: str = piece[first:last]
            places: Sequence[int] = range(len(words) + 1)
            if part.separator == RECORDS:
                words, places = unescaped(words)
            if words.islower():
                continue
            whole = (Sentence(0, 0, len(words)),)
            for mention in find_mentions(words, whole, language=self.language, names=self.synonyms.gazetteer):
                offset = begin + first + places[mention.offset]
                length = places[mention.offset + mention.length] - places[mention.offset]
                inside = part.offset <= offset and offset + length <= part.offset + part.length
                word = self.lines or " " not in mention.name
                opens = not mention.offset and words[mention.length : mention.length + 2].strip().islower()
                named = inside and not (word and (opens or self._is_plain(mention.name)))
                if named and reject_reason(mention.name) is None:
                    self._name(self.synonyms.name_of(mention.name), (offset, length))


_BETWEEN_CELLS = re.compile(r"[^,;|\t\r\n\"]+")
_SEPARATOR = re.compile(r"[,;|\t\r\n\"]")
_NEAR = 10_000
"""Characters of a piece that are looked at before and after the part of a row that is asked for."""


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What stands between separators and touches a span; of a very long piece only what is near it."""
    position = max(start - _NEAR, 0)
    if start > 0 and (before := list(_SEPARATOR.finditer(text, position, start))):
        position = before[-1].end()
    for match in _BETWEEN_CELLS.finditer(text, position):
        if match.start() >= end:
            return
        yield match.start(), min(match.end(), end + _NEAR)


def _within(cell: Cell, part: RowPart) -> bool:
    return part.start <= cell.offset and cell.offset + cell.length <= part.start + part.length


def _place(cell: Cell, part: RowPart) -> tuple[int, int]:
    return part.offset + cell.offset - part.start, cell.length

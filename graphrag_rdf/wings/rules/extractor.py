"""Facts without a model: grammar over parts of speech, for English, German, Dutch and Chinese.

The extractor prefers precision: a statement is kept if its subject is a name, resolves to one, or is a plain
noun that the text speaks about in general. Its evidence is the sentence, so its span is right by
construction. Rows of tables are read by their columns (`table_rows`), in any language. Texts in other
languages give mentions only, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from graphrag_rdf.documents.model import Sentence, Turn, in_spans
from graphrag_rdf.documents.turns import turn_at
from graphrag_rdf.extract.lexicon import Lexicon, lexicon
from graphrag_rdf.extract.mentions import Synonyms, find_mentions
from graphrag_rdf.extract.modality import doubt_of_claim, speech_in
from graphrag_rdf.extract.model import EntityCandidate, Extraction, Mention, RelationCandidate, together
from graphrag_rdf.extract.name_filter import NameFilter, is_clause, life_dates, other_names
from graphrag_rdf.extract.names import RuleSettings, fold, is_chinese, reject_reason
from graphrag_rdf.extract.numbers import LiteralSpan
from graphrag_rdf.extract.speakers import speaker_mentions, with_speaker_labels
from graphrag_rdf.extract.table_rows import Row, read_rows, split_by_rows
from graphrag_rdf.extract.tagging import Tagger, Unit, tagger_for
from graphrag_rdf.i18n import tr
from graphrag_rdf.wings.rules.arguments import Argument, Arguments
from graphrag_rdf.wings.rules.chinese_prose import ChineseProse
from graphrag_rdf.wings.rules.clauses import CONFIDENCE, Part, Reading, Statement, read_clauses
from graphrag_rdf.wings.rules.collector import Collector
from graphrag_rdf.wings.rules.doubts import (
    doubt_of_extent,
    doubt_of_sentence,
    leaves_a_phrase,
    points_elsewhere,
)
from graphrag_rdf.wings.rules.phrases import NounPhrase, read_items, surface, verb_second_order
from graphrag_rdf.wings.rules.reference import CERTAINTY, References, Thing, in_third_person

RULES_VERSION = "33"
"""Changes whenever the same text may give other facts."""

_WORDS_OF_TITLE = 8


class RuleExtractor:
    """Extracts facts by rules; may be used by several threads.

    Args:
        settings: what to keep.
    """

    version = RULES_VERSION

    def __init__(self, settings: RuleSettings | None = None) -> None:
        self.settings = settings or RuleSettings()
        self._synonyms = Synonyms({})

    def extract(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        language: str | None,
        title: str | None,
        topic: str | None,
        names: Mapping[str, str] | None = None,
        rows: Sequence[Row] = (),
        turns: Sequence[Turn] = (),
    ) -> Extraction:
        """The entities, statements and mentions of a chunk.

        Args:
            text: the chunk's text.
            sentences: its sentences.
            language: BCP 47; None counts as a language without a tagger.
            title: of the document; its words are trusted as names.
            topic: what sentences without a subject of their own are about (a heading or an entity); None
                for the title where the text itself names it. File names are ignored.
            names: synonyms, surface form -> canonical name; pass the same mapping for every chunk.
            rows: the sentences that are rows of tables; they are read by their columns, not by grammar.
            turns: who speaks where in the text.

        Returns:
            the extraction; the same text gives the same, whatever came before.
        """
        synonyms = self._synonyms
        if names is not None and names is not synonyms.source:
            synonyms = self._synonyms = Synonyms(names)
        if not rows:
            return self._prose(text, sentences, language, title, topic, synonyms, turns)
        read = read_rows(text, rows, self.settings, synonyms, language)
        spans = [row.part.span for row in rows]
        remaining = [sentence for sentence in sentences if not in_spans(spans, sentence.offset)]
        if not remaining:
            return read
        prose = self._prose(text, remaining, language, title, topic, synonyms, turns)
        if language is None and not any(_may_state(text, sentence) for sentence in remaining):
            # a table tells no language, and its title needs none
            prose = replace(prose, language_warning=None)
        return together(replace(prose, mentions=split_by_rows(prose.mentions, rows)[1]), read)

    def _prose(
        self,
        text: str,
        sentences: Sequence[Sentence],
        language: str | None,
        title: str | None,
        topic: str | None,
        synonyms: Synonyms,
        turns: Sequence[Turn],
    ) -> Extraction:
        as_written = find_mentions(text, sentences, language=language, names=synonyms.gazetteer, title=title)
        if turns:
            as_written = with_speaker_labels(as_written, turns)
        mentions = tuple(replace(m, name=synonyms.name_of(m.name)) for m in as_written)
        if is_chinese(text, language):
            return ChineseProse(text, sentences, mentions, self.settings).read()
        tagger = tagger_for(language)
        if tagger is None:
            unknown = tr("a language was not recognised")
            why = (
                tr("no grammar for language '{language}'").format(language=language) if language else unknown
            )
            warning = tr("{why}: names only, no statements").format(why=why)
            return Extraction(_named(mentions), (), (), mentions, warning)
        return Prose(text, sentences, tagger, mentions, synonyms, self.settings, turns).read(title, topic)


def _may_state(text: str, sentence: Sentence) -> bool:
    """Whether a sentence may state something, unlike the title of a table or a short note below it."""
    words = text[sentence.offset : sentence.offset + sentence.length]
    return not words.startswith("#") and (words[-1] in ".!?" or words.count(" ") >= _WORDS_OF_TITLE)


def _named(mentions: Sequence[Mention]) -> tuple[EntityCandidate, ...]:
    first: dict[str, EntityCandidate] = {}
    for mention in mentions:
        if reject_reason(mention.name) is None:
            candidate = EntityCandidate(mention.name, None, None, (), (mention.offset, mention.length))
            first.setdefault(fold(mention.name), candidate)
    return tuple(first.values())


# --- the sentences of a chunk --------------------------------------------------------------------------


_FILE_NAME = re.compile(r"\.\w{2,5}$")
_UNTITLED = "untitled"
_LONGEST_QUOTED = 8  # words and marks
_BRACKETED = re.compile(r"(.*?)\s*(?:\(([^()]*)\))?\s*", re.DOTALL)


class Prose:
    """Reads the sentences of one chunk: the things that they name, and the statements about them.

    Args:
        text: the chunk's.
        mentions: the names in it.
        synonyms: names that stand for others.
        turns: who speaks where in it.
    """

    def __init__(
        self,
        text: str,
        sentences: Sequence[Sentence],
        tagger: Tagger,
        mentions: tuple[Mention, ...],
        synonyms: Synonyms,
        settings: RuleSettings,
        turns: Sequence[Turn] = (),
    ) -> None:
        self.text = text
        self.speakers = turns
        self.turns = turns if tagger.language == "en" else ()
        self.certainty = 1.0
        self.sentences = sentences
        self.tagger = tagger
        self.mentions = mentions
        self.synonyms = synonyms
        self.settings = settings
        self.words: Lexicon = lexicon(tagger.language)
        self.places: dict[str, int] = {}
        for mention in mentions:
            self.places.setdefault(fold(mention.name), mention.offset)
        self.references = References(self.words, self.places, self._articled())
        self.arguments = Arguments(self.words, self.references, synonyms.name_of, reject_reason)
        self.collector = Collector(text, settings)
        for mention in mentions:  # before "I" is met
            if any(turn.name[0] == mention.offset < turn.name[1] for turn in self.turns):
                self.arguments.spans.setdefault(fold(mention.name), (mention.offset, mention.length))
                self.references.meet(mention.name, short=False).type = "Person"
        self.lives: list[tuple[Thing, str, LiteralSpan, Sentence]] = []
        self.unread = 0

    def _articled(self) -> frozenset[str]:
        """Folded names that stand with an article somewhere."""
        before = (
            (m.name, self.text[max(0, m.offset - 5) : m.offset].casefold().split()) for m in self.mentions
        )
        return frozenset(fold(name) for name, words in before if words and words[-1] in self.words.definite)

    def read(self, title: str | None, topic: str | None) -> Extraction:
        """Read all sentences; title and topic are those of `RuleExtractor.extract`."""
        self._set_topic(topic or title, stated=topic is not None)
        spoken = {word for word in ("he", "she") if re.search(rf"\b{word}\b", self.text, re.IGNORECASE)}
        self.references.mixed = len(spoken) == 2
        speech = speech_in(self.text)
        canonical = frozenset(self.synonyms.canonical.values())
        names = NameFilter(
            self.text,
            self.sentences,
            self.mentions,
            self.tagger,
            title=title,
            certain=canonical,
            turns=self.speakers,
        )
        for sentence in self.sentences:
            self._follow_heading(sentence)
            span = (sentence.offset, sentence.offset + sentence.length)
            turn = turn_at(self.turns, sentence.offset)
            doubt = "reported" if in_spans(speech, sentence.offset) else ""
            if turn is not None:
                span = (max(span[0], turn.words), max(span[1], turn.words))
                doubt = doubt_of_claim(self.text[slice(*span)])
            self.certainty = CERTAINTY if turn else 1.0
            self.references.spoken = turn is not None
            units = names.read(span)
            if turn is not None:
                units = in_third_person(units, turn)
            if not units:
                continue
            doubt = doubt or doubt_of_sentence(units, self.words) or ("reported" if _quotes(units) else "")
            for unit, alias in other_names(units, self.text):
                self.references.alias(self.arguments.meet((unit,)), alias)
            for unit, event, date in life_dates(units, names.literals, self.text):
                self.lives.append((self.arguments.meet((unit,)), event, date, sentence))
            items = read_items(units, self.words)
            if self.words.verb_second:
                items = verb_second_order(items)
            # a heading, a label, or a line of a table asserts nothing
            small = any(unit.text.islower() for unit in units if unit.kind not in "AFDC")
            states = self.words.keeps_case or (small and (units[-1].text == "." or is_clause(units)))
            reading = read_clauses(items, self.words, doubt) if states else Reading()
            asserted = states and not doubt and any(item.kind == "v" for item in items)
            self.unread += asserted and not reading.statements
            self._take(reading, sentence, units)
        self.mentions = names.names()
        return self._extraction()

    def _set_topic(self, topic: str | None, *, stated: bool) -> None:
        """Set what the text is about; `Freeloaders (film)` also gives its type."""
        if not topic or fold(topic) == _UNTITLED or _FILE_NAME.search(topic):
            return
        plain, bracket = _BRACKETED.fullmatch(topic).group(1, 2)  # type: ignore[union-attr]
        in_text = fold(plain) in fold(self.text)
        if not plain or not (in_text or stated):
            return
        thing = self.references.about(self.synonyms.name_of(plain), assumed=not in_text)
        words = fold(bracket or "").split()
        if words and words[-1] in self.words.head_types:
            thing.head, thing.type = words[-1], self.words.head_types[words[-1]]

    # ---- one sentence

    def _follow_heading(self, sentence: Sentence) -> None:
        """Take a line that is only a name of several words as a heading: the next sentences are about it."""
        line = self.text[sentence.offset : sentence.offset + sentence.length].strip("#*_ \t")
        if " " in line and fold(line) in self.places:
            self.references.subject(self.references.meet(self.synonyms.name_of(line)))

    def _take(self, reading: Reading, sentence: Sentence, units: Sequence[Unit]) -> None:
        names = [
            (unit.start, fold(unit.text))
            for before, unit in zip([None, *units], units, strict=False)
            if unit.kind == "P" and (before is None or before.lower not in self.words.placing)
        ]
        before = self.references.near
        for described, head, stated in reading.descriptions:
            self._describe(described, head, stated=stated)
        turn = 0
        for statement in reading.statements:
            start = _start(statement.subject)
            while turn < len(reading.subjects) and reading.subjects[turn].end <= start:
                self._follow(reading.subjects[turn])
                turn += 1
            self.references.near = [*before, *(name for place, name in names if place < start)]
            self._state(statement, sentence, units)
        for noun in reading.subjects[turn:]:
            self._follow(noun)
        self.references.near = [name for _, name in names]
        self.references.introduced = any(map(self._introduces, reading.statements))

    def _introduces(self, statement: Statement) -> bool:
        """Whether a statement introduces something new: "the company built a dam"."""
        noun = statement.object
        return (
            statement.pattern == "active"
            and isinstance(noun, NounPhrase)
            and noun.kind == "common"
            and noun.determiner in self.words.indefinite
        )

    def _follow(self, noun: NounPhrase) -> None:
        if noun.kind in {"name", "common"}:
            argument = self.arguments.subject(noun)
            if isinstance(argument, Argument) and argument.thing is not None:
                self.references.subject(argument.thing)

    def _describe(self, described: Part, head: str, *, stated: bool) -> None:
        argument = self.arguments.subject(described)
        if isinstance(argument, str) or argument.thing is None:
            return
        thing, kind = argument.thing, self.words.head_types.get(head)
        if kind is not None and (thing.type is None or stated):
            thing.type = kind
        thing.head = thing.head or head

    def _state(self, statement: Statement, sentence: Sentence, units: Sequence[Unit]) -> None:
        extent = _units(statement.subject), _units(statement.object)
        whole = () if statement.pattern == "recipient" else extent[1]  # what is given follows
        if doubt := statement.doubt or doubt_of_extent(extent[0], whole, units, self.text, self.words):
            self._reject(doubt, statement)
            return
        loose = statement.pattern == "complement" and self.words.verb_second
        if loose and leaves_a_phrase(extent[1], units):
            self._reject("cut", statement)
            return
        if points_elsewhere(extent[1], self.words):
            self._reject("unresolved_description", statement)
            return
        subject = self.arguments.subject(statement.subject, general=statement.general)
        if isinstance(subject, str):
            self._reject(subject, statement)
            return
        if subject.thing is None:
            self._reject("unnamed_subject", statement)
            return
        object_ = self.arguments.object(statement.object)
        if isinstance(object_, str):
            self._reject(object_, statement)
            return
        sure = CONFIDENCE[statement.pattern] * self.certainty
        literal = object_.literal
        unfit = self.collector.add(
            subject.text,
            statement.predicate,
            literal.lexical if literal else object_.text,
            sentence,
            confidence=round(sure * subject.factor * object_.factor, 3),
            entity=object_.thing is not None,
            datatype=literal.datatype if literal else None,
            qualifiers=statement.qualifiers,
        )
        if unfit:
            self._reject(unfit, statement)

    def _reject(self, reason: str, statement: Statement) -> None:
        self.collector.reject(reason, _text(statement.subject), statement.predicate, _text(statement.object))

    # ---- the end

    def _add_lives(self) -> None:
        for thing, event, date, sentence in self.lives:
            if thing.type not in {None, "Person"}:
                continue
            link = self.words.date_links["day" if date.kind == "date" else "year"]
            self.collector.add(
                thing.name,
                f"{self.words.life[event]} {link}",
                date.lexical,
                sentence,
                confidence=CONFIDENCE["life"],
                datatype=date.datatype,
            )

    def _extraction(self) -> Extraction:
        self._add_lives()
        relations = self.collector.relations
        return Extraction(
            entities=tuple(self._entities(relations)),
            relations=relations,
            rejected=self.collector.rejected,
            mentions=self._all_mentions(),
            language_warning=None,
            unread=self.unread,
        )

    def _entities(self, relations: Sequence[RelationCandidate]) -> Iterator[EntityCandidate]:
        used = {fold(r.subject) for r in relations} | {
            fold(r.object) for r in relations if r.object_is_entity
        }
        for mention in self.mentions:
            if reject_reason(mention.name) is None:
                thing = self.references.meet(mention.name)
                as_written = " ".join(self.text[mention.offset : mention.offset + mention.length].split())
                if fold(as_written) != fold(mention.name):
                    self.references.alias(thing, as_written)
                self.arguments.spans.setdefault(fold(thing.name), (mention.offset, mention.length))
                used.add(fold(thing.name))
        for thing in self.references.things():
            key = fold(thing.name)
            if key in used:
                yield EntityCandidate(
                    name=thing.name,
                    type=self.settings.type_of(thing.type, thing.head),
                    definition=None,  # "X is a Y" is a fact already
                    aliases=tuple(thing.aliases),
                    span=self.arguments.spans.get(key),
                )

    def _all_mentions(self) -> tuple[Mention, ...]:
        """The mentions, and the first places of entities whose names are not capitalised."""
        of_people = tuple(speaker_mentions(self.text, self.turns, self.mentions))
        named = [*self.mentions, *of_people]
        taken = {place for m in named for place in range(m.offset, m.offset + m.length)}
        more = []
        for thing in self.references.things():
            span = self.arguments.spans.get(fold(thing.name))
            if span and taken.isdisjoint(range(span[0], span[0] + span[1])):
                more.append(Mention(span[0], span[1], thing.name))
                taken.update(range(span[0], span[0] + span[1]))
        return tuple(sorted([*named, *more], key=lambda m: m.offset))


def _quotes(units: Sequence[Unit]) -> bool:
    """Whether a sentence quotes more than a name or a few words."""
    marks = [index for index, unit in enumerate(units) if unit.kind == "Q" and unit.text not in "'’‘`"]
    return len(marks) % 2 == 1 or any(
        last - first > _LONGEST_QUOTED for first, last in zip(marks[::2], marks[1::2], strict=True)
    )


def _start(part: Part) -> int:
    return _units(part)[0].start


def _units(part: Part) -> Sequence[Unit]:
    return part.units if isinstance(part, NounPhrase) else part


def _text(part: Part) -> str:
    return surface(_units(part))

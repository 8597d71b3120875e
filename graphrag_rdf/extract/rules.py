"""Facts without a model: grammar over parts of speech, for English, German and Dutch.

The extractor prefers to say nothing: a statement is kept if its subject is a name or resolved to one, or a
plain noun that the text speaks about in general, and if its parts read well by themselves. Its evidence is
the sentence, so its span is right by construction. For other languages there is no grammar here: their
texts give mentions only, with a warning that says so.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphrag_rdf.documents.model import Sentence

from .clauses import CONFIDENCE, Description, Reading, Statement, read_clauses
from .lexicon import Lexicon, base_language, lexicon
from .mentions import Gazetteer, find_mentions
from .model import EntityCandidate, Extraction, Mention, Rejected, RelationCandidate
from .noise import DEFAULT_SHORT_NAMES, reject_reason
from .normalise import fold, match_key
from .numbers import LiteralSpan, find_literals
from .phrases import NounPhrase, read_items, surface
from .reference import Known, References
from .tagging import Tagger, tagger_for
from .units import Unit, build_units
from .verbsecond import verb_second_order

RULES_VERSION = "1"
"""Changes whenever the same text may give other facts."""

_RESOLVED = 0.85  # confidence is multiplied by this for each part that a pronoun or "the company" stood for
_GENERIC = 0.75  # and by this for a subject that is a common noun


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """What the rules keep.

    Args:
        entity_types: types to use, compared without case; empty for all that the rules know.
        min_name_length: code points.
        max_name_length: code points.
        allowed_names: names that are kept however short.
        max_facts: statements kept of one chunk, surest first.
        max_words: words of a subject, predicate or object.
        min_confidence: below it a statement is rejected.
    """

    entity_types: tuple[str, ...] = ()
    min_name_length: int = 2
    max_name_length: int = 120
    allowed_names: frozenset[str] = DEFAULT_SHORT_NAMES
    max_facts: int = 200
    max_words: int = 12
    min_confidence: float = 0.4


class RuleExtractor:
    """Extracts facts by rules; may be used by several threads.

    Args:
        settings: what to keep.
    """

    version = RULES_VERSION

    def __init__(self, settings: RuleSettings | None = None) -> None:
        self.settings = settings or RuleSettings()

    def extract(
        self,
        text: str,
        sentences: Sequence[Sentence],
        *,
        language: str | None,
        title: str | None,
        topic: str | None,
        names: Mapping[str, str] | None = None,
    ) -> Extraction:
        """The entities, statements and mentions of a chunk.

        Args:
            text: the chunk's text.
            sentences: its sentences.
            language: BCP 47; None counts as a language without a tagger.
            title: of the document; its words are trusted as names.
            topic: what sentences without a subject of their own are about (a heading or an entity); the title if
                the text itself names it.
            names: synonyms, surface form -> canonical name.

        Returns:
            the extraction; the same text gives the same, whatever came before.
        """
        canonical = {match_key(surface_): name for surface_, name in (names or {}).items()}
        mentions = find_mentions(
            text,
            sentences,
            language=language,
            names=Gazetteer([*(names or {}), *(names or {}).values()]),
            title=title,
        )
        mentions = tuple(
            Mention(m.offset, m.length, canonical.get(match_key(m.name), m.name)) for m in mentions
        )
        tagger = tagger_for(language)
        if tagger is None:
            shown = language or "unknown"
            warning = f"language_without_tagger: no grammar for language '{shown}': names only, no statements"
            return Extraction(_named(mentions, self.settings), (), (), mentions, warning)
        work = _Work(text, sentences, tagger, mentions, title, topic, canonical, self.settings)
        return work.run()


def _named(mentions: Sequence[Mention], settings: RuleSettings) -> tuple[EntityCandidate, ...]:
    first: dict[str, EntityCandidate] = {}
    for mention in mentions:
        if _reject(mention.name, settings) is None:
            candidate = EntityCandidate(mention.name, None, None, (), (mention.offset, mention.length))
            first.setdefault(fold(mention.name), candidate)
    return tuple(first.values())


def _reject(name: str, settings: RuleSettings) -> str | None:
    return reject_reason(
        name,
        min_length=settings.min_name_length,
        max_length=settings.max_name_length,
        allowed=settings.allowed_names,
    )


@dataclass(slots=True)
class _Argument:
    """A subject or object that has become text."""

    text: str
    known: Known | None = None
    literal: LiteralSpan | None = None
    factor: float = 1.0


@dataclass(slots=True)
class _Work:
    """The extraction of one chunk."""

    text: str
    sentences: Sequence[Sentence]
    tagger: Tagger
    mentions: tuple[Mention, ...]
    title: str | None
    topic: str | None
    canonical: dict[str, str]
    settings: RuleSettings
    words: Lexicon = field(init=False)
    references: References = field(init=False)
    relations: dict[tuple[str, str, str], RelationCandidate] = field(default_factory=dict)
    rejected: dict[Rejected, None] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    lives: list[tuple[Known, str, LiteralSpan, Sentence]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.words = lexicon(base_language(self.tagger.language) or "en")
        places: dict[str, int] = {}
        for mention in self.mentions:
            places.setdefault(fold(mention.name), mention.offset)
        self.references = References(self.words, self._topic(), places)

    def run(self) -> Extraction:
        literals = find_literals(self.text, self.tagger.language)
        known = frozenset(
            word for m in self.mentions if " " in m.name for word in m.name.lower().split()
        ) | frozenset((self.title or "").lower().split())
        for sentence in self.sentences:
            span = (sentence.offset, sentence.offset + sentence.length)
            units = build_units(self.text, span, self.tagger, self.words, self.mentions, literals, known)
            units = _without_speech(units)
            if not units:
                continue
            self._aliases(units)
            self._life(units, literals, sentence)
            items = read_items(units, self.words)
            if self.tagger.language in {"de", "nl"}:
                items = verb_second_order(items)
            self._take(read_clauses(items, self.words), sentence)
        return self._extraction()

    def _topic(self) -> str | None:
        """The topic given, or the title if the text speaks of it."""
        if self.topic:
            return self._canonical(self.topic)
        if not self.title:
            return None
        plain = re.sub(r"\s*\([^()]*\)$", "", self.title).strip()
        if not plain or fold(plain) not in fold(self.text):
            return None
        return self._canonical(plain)

    def _canonical(self, name: str) -> str:
        return self.canonical.get(match_key(name), name)

    # ---- one sentence

    def _take(self, reading: Reading, sentence: Sentence) -> None:
        for description in reading.descriptions:
            self._describe(description)
        turn = 0
        for statement in reading.statements:
            self._state(statement, sentence)
            while turn < len(reading.subjects) and _start(reading.subjects[turn]) <= _start(
                statement.subject
            ):
                self._follow(reading.subjects[turn])
                turn += 1
        for noun in reading.subjects[turn:]:
            self._follow(noun)

    def _follow(self, noun: NounPhrase) -> None:
        if noun.kind in {"name", "common"}:
            argument = self._subject(noun)
            if isinstance(argument, _Argument) and argument.known is not None:
                self.references.subject(argument.known)

    def _meet(self, units: Sequence[Unit]) -> Known:
        name = self._canonical(surface(units))
        known = self.references.meet(name)
        self.spans.setdefault(fold(known.name), (units[0].start, units[-1].end - units[0].start))
        return known

    def _describe(self, description: Description) -> None:
        argument = self._subject(description.subject)
        if isinstance(argument, str) or argument.known is None:
            return
        known = argument.known
        kind = self.words.head_types.get(description.head)
        if kind is not None and (known.type is None or description.stated):
            known.type = kind
        if not known.head:
            known.head = description.head
        if description.stated and len(description.text) > 2:
            self.definitions.setdefault(fold(known.name), description.text)

    def _state(self, statement: Statement, sentence: Sentence) -> None:
        subject = self._subject(statement.subject, general=statement.pattern == "definition")
        if isinstance(subject, str):
            self._reject(subject, statement)
            return
        object_ = self._object(statement.object)
        if self._disagree(statement, subject):
            self._reject("number_mismatch", statement)
            return
        if isinstance(object_, str):
            self._reject(object_, statement)
            return
        if fold(subject.text) == fold(object_.text):
            self._reject("same_subject_and_object", statement)
            return
        confidence = round(CONFIDENCE[statement.pattern] * subject.factor * object_.factor, 3)
        predicate = statement.predicate
        long = (
            max(len(part.split()) for part in (subject.text, predicate, object_.text))
            > self.settings.max_words
        )
        if long or confidence < self.settings.min_confidence:
            self._reject("too_long" if long else "low_confidence", statement)
            return
        literal = object_.literal
        candidate = RelationCandidate(
            subject=subject.text,
            predicate=predicate,
            object=literal.lexical if literal else object_.text,
            object_is_entity=object_.known is not None,
            datatype=literal.datatype if literal else None,
            quote=self.text[sentence.offset : sentence.offset + sentence.length],
            confidence=confidence,
            span=(sentence.offset, sentence.length),
        )
        self.relations.setdefault((fold(subject.text), predicate, fold(candidate.object)), candidate)

    def _disagree(self, statement: Statement, subject: _Argument) -> bool:
        """Whether one named thing is said to be several: a list was misread."""
        if statement.predicate not in {self.words.is_, "was"} or not isinstance(statement.object, tuple):
            return False
        plural = statement.object[-1].tag.startswith("NN2")
        return (
            plural
            and subject.known is not None
            and not subject.text.endswith("s")
            and subject.text[0].isupper()
        )

    def _reject(self, reason: str, statement: Statement) -> None:
        parts = (_text(statement.subject), statement.predicate, _text(statement.object))
        self.rejected.setdefault(Rejected(reason, " | ".join(parts)))

    # ---- subjects and objects

    def _subject(self, part: NounPhrase | Sequence[Unit], *, general: bool = False) -> _Argument | str:
        """The subject as text, or why it cannot be one."""
        if not isinstance(part, NounPhrase):
            return self._part(part)
        if part.kind == "pronoun":
            return self._pronoun(part.units[0].lower)
        if part.kind == "literal":
            return "literal_subject"
        if part.kind == "name":
            return self._named(part)
        return self._common_subject(part, general=general)

    def _part(self, units: Sequence[Unit]) -> _Argument | str:
        inner = [unit for unit in units if unit.kind not in "DS"] or list(units)
        if len(units) == 1 and units[0].literal is not None:
            return _Argument(units[0].text, literal=units[0].literal)
        if any(unit.kind == "P" for unit in inner):
            return self._name(inner)
        return _Argument(surface(inner)) if inner[-1].lower not in self.words.light else "light_noun"

    def _name(self, units: Sequence[Unit]) -> _Argument | str:
        units = _named_part(units)
        reason = _reject(surface(units), self.settings)
        if reason:
            return reason
        known = self._meet(units)
        return _Argument(known.name, known)

    def _named(self, noun: NounPhrase) -> _Argument | str:
        """A name; `its Impact Factor` is named by its owner, `his wife Mary` by herself."""
        units = noun.units[noun.core[0] :]
        if noun.possessive and _named_part(units) is units and len(noun.owned) == len(units):
            return self._owned(noun)
        return self._name(units)

    def _pronoun(self, word: str) -> _Argument | str:
        known = self.references.pronoun(word)
        if known is not None:
            return _Argument(known.name, known, factor=_RESOLVED)
        return "unresolved_pronoun" if self.words.pronouns.get(word) != "other" else "speaker_or_reader"

    def _common_subject(self, noun: NounPhrase, *, general: bool) -> _Argument | str:
        head = noun.head.lower
        core = noun.units[slice(*noun.core)]
        if noun.possessive or noun.owner:
            return self._owned(noun)
        if noun.determiner in self.words.quantifiers:
            return "light_noun"
        definite = bool(noun.determiner) and noun.determiner not in self.words.indefinite
        known = self.references.described(head) if definite and not noun.of else None
        if known is not None:
            return _Argument(known.name, known, factor=_RESOLVED)
        if head in self.words.light:
            return "light_noun"
        if definite and not noun.of:
            if head in self.words.head_types:
                return "unresolved_description"
        if noun.determiner in self.words.indefinite and not general and head in self.words.head_types:
            return "indefinite_subject"
        if any(unit.kind == "M" for unit in core):
            return "counted_subject"
        text = surface(noun.units[noun.core[0] :])
        name = text[0].lower() + text[1:] if self.tagger.language != "de" and text[1:2].islower() else text
        reason = _reject(name, self.settings)
        if reason:
            return reason
        known = self.references.meet(self._canonical(name), short=False)
        known.head = known.head or head
        if noun.head.tag.startswith("NN2"):
            known.gender = "they"
        elif self.words.head_types.get(head) != "Person":
            known.gender = known.gender or "it"
        first = noun.units[noun.core[0]]
        self.spans.setdefault(fold(known.name), (first.start, noun.end - first.start))
        return _Argument(known.name, known, factor=_GENERIC)

    def _owned(self, noun: NounPhrase) -> _Argument | str:
        """`Orrin's bridge`, `his wife`: a thing named by its owner."""
        rest = surface(noun.owned) if noun.owner else surface(noun.units[noun.core[0] :])
        if noun.head.lower in self.words.light:
            return "light_noun"
        if noun.possessive:
            owner: _Argument | str = self._pronoun(noun.units[0].lower)
        elif any(unit.kind == "P" for unit in noun.owner):
            owner = self._name(noun.owner)
        else:
            return "unresolved_owner"
        if isinstance(owner, str):
            return owner
        known = self.references.meet(f"{owner.text}'s {rest}", short=False)
        known.head = known.head or noun.head.lower
        self.spans.setdefault(fold(known.name), (noun.start, noun.end - noun.start))
        return _Argument(known.name, known, factor=owner.factor)

    def _object(self, part: NounPhrase | Sequence[Unit]) -> _Argument | str:
        if not isinstance(part, NounPhrase):
            return self._part(part)
        if part.literal is not None:
            return _Argument(surface(part.units), literal=part.literal)
        if part.kind == "pronoun":
            if part.possessive:
                return self._pronoun(part.units[0].lower)
            return "pronoun_object"
        if part.kind == "name":
            return self._named(part)
        if part.possessive or part.owner:
            owned = self._owned(part)
            return owned if isinstance(owned, str) else _Argument(owned.text, factor=owned.factor)
        head = part.head.lower
        text = surface(part.units[part.core[0] :])
        if part.determiner in self.words.quantifiers:
            text = surface(part.units)
        elif head in self.words.light and not part.of:
            return "light_noun"
        return _Argument(text, factor=0.8 if " " not in text and part.kind == "common" else 1.0)

    # ---- other names

    def _life(self, units: Sequence[Unit], literals: Sequence[LiteralSpan], sentence: Sentence) -> None:
        """`Ada Venn (born 3 May 1871)` at once; `Ada Venn (1871-1930)` when it is known who is a person."""
        for unit in units:
            bracket = _BRACKET.match(self.text, unit.end) if unit.kind == "P" else None
            if bracket is None:
                continue
            low = bisect_left(literals, bracket.start(), key=lambda item: item.offset)
            dates = [
                item
                for item in literals[low : low + 4]
                if item.offset < bracket.end() and item.kind in _DATE_KINDS
            ]
            events = [_life_event(self.text[bracket.start() : date.offset]) for date in dates]
            if len(dates) == 2 and events[0] is None and _RANGE.fullmatch(_between(self.text, *dates)):
                events = ["born", "died"]
                certain = bool(_ONLY_DATES.match(self.text, bracket.start()))
                if not certain:
                    continue
            for event, date in zip(events, dates, strict=True):
                if event is not None:
                    self.lives.append((self._meet((unit,)), event, date, sentence))

    def _aliases(self, units: Sequence[Unit]) -> None:
        """`European Space Agency (ESA)`, `Demon Dice, originally published as Chaos Progenitus`."""
        for index, unit in enumerate(units):
            if unit.kind != "P":
                continue
            after = units[index + 1 : index + 4]
            row = "".join(other.kind for other in after)
            if row == "(P)" and _is_short_form(after[1].text, unit.text):
                self.references.alias(self._meet((unit,)), after[1].text)
                continue
            between = _ALSO.match(self.text, unit.end)
            if between:
                target = next((other for other in units[index + 1 :] if other.start == between.end()), None)
                if target is not None and target.kind == "P":
                    self.references.alias(self._meet((unit,)), target.text)

    # ---- the end

    def _add_lives(self) -> None:
        for known, event, date, sentence in self.lives:
            if known.type not in {None, "Person"}:
                continue
            link = self.words.date_links["day" if date.kind == "date" else "year"]
            predicate = f"{self.words.life[event]} {link}"
            candidate = RelationCandidate(
                subject=known.name,
                predicate=predicate,
                object=date.lexical,
                object_is_entity=False,
                datatype=date.datatype,
                quote=self.text[sentence.offset : sentence.offset + sentence.length],
                confidence=CONFIDENCE["life"],
                span=(sentence.offset, sentence.length),
            )
            self.relations.setdefault((fold(known.name), predicate, date.lexical), candidate)

    def _extraction(self) -> Extraction:
        self._add_lives()
        subjects = {fold(relation.subject) for relation in self.relations.values()}
        kept = sorted(self.relations.values(), key=lambda r: -(r.confidence or 0))[: self.settings.max_facts]
        chosen = set(map(id, kept))
        relations = tuple(
            _as_entity(relation) if _names_subject(relation, subjects) else relation
            for relation in self.relations.values()
            if id(relation) in chosen
        )
        return Extraction(
            entities=tuple(self._entities(relations)),
            relations=relations,
            rejected=tuple(self.rejected),
            mentions=self._all_mentions(),
            language_warning=None,
        )

    def _entities(self, relations: Sequence[RelationCandidate]) -> Iterator[EntityCandidate]:
        used = {fold(r.subject) for r in relations} | {
            fold(r.object) for r in relations if r.object_is_entity
        }
        for mention in self.mentions:
            if _reject(mention.name, self.settings) is None:
                known = self.references.meet(mention.name)
                self.spans.setdefault(fold(known.name), (mention.offset, mention.length))
                used.add(fold(known.name))
        for known in self.references.known():
            key = fold(known.name)
            if key in used:
                yield EntityCandidate(
                    name=known.name,
                    type=self._type(known),
                    definition=self.definitions.get(key),
                    aliases=tuple(known.aliases),
                    span=self.spans.get(key),
                )

    def _type(self, known: Known) -> str | None:
        if not self.settings.entity_types:
            return known.type
        wanted = {fold(name): name for name in self.settings.entity_types}
        return wanted.get(fold(known.type or "")) or wanted.get(fold(known.head))

    def _all_mentions(self) -> tuple[Mention, ...]:
        """The mentions, and the first places of entities that are no capitalised names."""
        taken = {place for m in self.mentions for place in range(m.offset, m.offset + m.length)}
        more = []
        for known in self.references.known():
            span = self.spans.get(fold(known.name))
            if span and taken.isdisjoint(range(span[0], span[0] + span[1])):
                more.append(Mention(span[0], span[1], known.name))
                taken.update(range(span[0], span[0] + span[1]))
        return tuple(sorted([*self.mentions, *more], key=lambda m: m.offset))


_ALSO = re.compile(
    r"\s*[,(]?\s*(?:(?:which is |who is |was )?(?:also |formerly |previously |better |originally |commonly |often |"
    r"sometimes |popularly )+(?:known as|called|named|published as|spelled|titled|referred to as)|abbreviated(?: as| to)?|"
    r"a\.k\.a\.|aka|née|born|or simply|kurz|auch|eigentlich|genannt|ook wel(?: bekend als)?|afgekort(?: als)?)"
    r"\s+(?:the\s+)?[\"“„']?"
)


_DATE_KINDS = frozenset({"date", "month", "year"})
_BRACKET = re.compile(r"\s?\([^()]{4,80}\)")
_BORN = re.compile(r"(?:\bborn|\bb\.|\bgeboren|\bgeb\.|\*)[^;,†]{0,12}$", re.IGNORECASE)
_DIED = re.compile(r"(?:\bdied|\bd\.|\bgestorben|\bgest\.|\boverleden|†)[^;,]{0,12}$", re.IGNORECASE)
_RANGE = re.compile(r"\s*[-–—]+\s*")
_ONLY_DATES = re.compile(r"\s?\((?:[^()]*[;,]\s*)?(?:c\.\s*)?\d|\s?\((?:[^()]*;\s*)?[A-Z][a-z]+ \d")


def _life_event(before: str) -> str | None:
    """Whether a date that these words lead to is one of birth or death."""
    return "died" if _DIED.search(before) else "born" if _BORN.search(before) else None


def _between(text: str, first: LiteralSpan, second: LiteralSpan) -> str:
    return text[first.offset + first.length : second.offset]


def _without_speech(units: list[Unit]) -> list[Unit]:
    """A sentence without what is said in it: spoken words state nothing that the text vouches for."""
    opens = units[0].kind == "Q" if units else False
    if opens and not (len(units) > 2 and units[1].kind == "P" and units[2].kind == "Q"):
        return []
    marks = [index for index, unit in enumerate(units) if unit.kind == "Q" and unit.text not in "'’‘`"]
    if len(marks) == 1:
        return []
    for first, last in zip(marks[::2], marks[1::2], strict=False):
        if last - first > 8:
            return []
    return units


def _named_part(units: Sequence[Unit]) -> Sequence[Unit]:
    """`engineer Ada Venn` -> `Ada Venn`; other phrases with names stay whole."""
    if len(units) > 1 and units[-1].kind == "P" and all(unit.kind in "NJMP'" for unit in units):
        return units[-1:] if "'" not in {unit.kind for unit in units} or units[-2].kind == "N" else units
    return units


def _is_short_form(short: str, name: str) -> bool:
    """Whether the letters of an abbreviation occur in the name in order, beginning with its first."""
    letters = [character.lower() for character in short if character.isalnum()]
    if not letters or len(short) >= len(name) or " " in short or not any(c.isupper() for c in short):
        return False
    rest = iter(name.lower())
    return name[0].lower() == letters[0] and all(letter in rest for letter in letters)


def _start(part: NounPhrase | Sequence[Unit]) -> int:
    return part.start if isinstance(part, NounPhrase) else part[0].start


def _text(part: NounPhrase | Sequence[Unit]) -> str:
    return surface(part.units if isinstance(part, NounPhrase) else part)


def _names_subject(relation: RelationCandidate, subjects: set[str]) -> bool:
    return not relation.object_is_entity and relation.datatype is None and fold(relation.object) in subjects


def _as_entity(relation: RelationCandidate) -> RelationCandidate:
    return RelationCandidate(
        relation.subject,
        relation.predicate,
        relation.object,
        True,
        None,
        relation.quote,
        relation.confidence,
        relation.span,
    )

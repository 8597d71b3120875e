"""From the phrases of a sentence to statements: who does what to whom, what something is, where and when.

Four patterns are read: active (`X built Y`), passive (`X was built by Y`), definition (`X is a village`, also
as a role: `X | mayor of | Y`) and complement (`X worked for Y`), and titles (`the engineer X`).

A clause is read from its subject on and only while its order is plain: subject, verb, object, phrases with
prepositions. If anything else follows, the rest is skipped, because no fact is better than a false one. A
statement with several complements becomes several: `Ada was born in Kelm in 1871` gives `was born in | Kelm`
and `was born in | 1871`. Denied, guessed, supposed or reported statements are read too, with that reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from graphrag_rdf.extract.lexicon import Lexicon
from graphrag_rdf.extract.model import Qualifiers
from graphrag_rdf.extract.tagging import Unit
from graphrag_rdf.wings.rules.doubts import doubt_of_object, doubt_of_verb
from graphrag_rdf.wings.rules.phrases import DATES, Item, ItemRow, NounPhrase, VerbGroup, surface

Part = NounPhrase | Sequence[Unit]
"""A phrase, or its units where it is part of one."""

CONFIDENCE = {
    "role": 0.9,  # X is the capital of Y
    "definition": 0.85,  # X is a village
    "passive": 0.85,  # X was built by Y
    "active": 0.8,  # X built Y
    "life": 0.8,  # X (1871-1930)
    "complement": 0.75,  # X works for Y
    "recipient": 0.75,  # X gives Y something
    "title": 0.6,  # the engineer X
}
"""Confidence of each pattern, before references are resolved."""

_LONGEST_TEXT = 10  # words of an object that is no name
_ENDS = frozenset(".,cuwae")  # what may follow an object


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a clause, its parts still phrases.

    Args:
        predicate: in lower case.
        pattern: key of `CONFIDENCE`.
        doubt: why it is not asserted (see `modality`), or "".
        general: whether its clause may be about things without a name.
        qualifiers: the dates and sums that stand beside it; see `RelationCandidate`.
    """

    subject: Part
    predicate: str
    object: Part
    pattern: str
    doubt: str = ""
    general: bool = False
    qualifiers: Qualifiers = ()


@dataclass(slots=True)
class Reading:
    """The statements of a sentence.

    Args:
        statements: in text order.
        descriptions: subject, the head noun of what it is, and whether that is said outright ("X is a Y").
        subjects: noun phrases that clauses are about, in text order.
    """

    statements: list[Statement] = field(default_factory=list)
    descriptions: list[tuple[Part, str, bool]] = field(default_factory=list)
    subjects: list[NounPhrase] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb with its subjects."""

    subjects: list[NounPhrase]
    words: str
    passive: bool
    copula: bool
    have: bool


def read_clauses(items: Sequence[Item], words: Lexicon, doubt: str = "") -> Reading:
    """Reads the statements of a sentence.

    Args:
        items: its phrases.
        words: lexicon of its language.
        doubt: why the sentence as a whole asserts nothing, or "".
    """
    return _Reader(items, words, doubt).read()


class _Reader(ItemRow):
    """One pass over the phrases of a sentence, clause by clause."""

    def __init__(self, items: Sequence[Item], words: Lexicon, doubt: str) -> None:
        super().__init__(items, words)
        self.of_sentence = doubt
        self.doubt = ""
        self.carried = ""  # doubt of a subordinate clause, which "and" goes on with
        self.fronted: list[tuple[str, NounPhrase]] = []
        self.whole = bool(self.items) and self.items[-1].unit.text == "."
        # of the clause: whether it is a main one, may be about things without a name, and is in the present
        self.main, self.general, self.present = "", False, False
        self.reading = Reading()

    def read(self) -> Reading:
        """All statements and descriptions of the sentence."""
        for item in self.items if not self.of_sentence else ():
            if item.noun is not None:
                self._titled(item.noun)
        at = 0
        while at < len(self.items):
            at = max(self._clause(at), at + 1)
        return self.reading

    def _state(
        self, subject: Part, predicate: str, object_: Part, pattern: str, qualifiers: Qualifiers = ()
    ) -> None:
        general = self.general and pattern not in {"role", "title"}
        if isinstance(subject, NounPhrase) and subject.determiner in self.words.definite:
            first = self.main == "first" and pattern != "definition"  # no "Here the winner is …"
            general = general and self.present and (first or bool(subject.of))
        self.reading.statements.append(
            Statement(subject, predicate, object_, pattern, self.doubt, general, qualifiers)
        )

    # ---- clauses

    def _clause(self, at: int) -> int:
        """Read the clause that begins here; returns where the next may begin."""
        self.fronted = []
        doubt = self.of_sentence or self.carried
        self.main = "" if not self.whole or self._at(at) == "u" else "later" if at else "first"
        if self._at(at) == "u":
            doubt = doubt or self.words.clause_doubts.get(self._word(at), "")
            at += 1
        elif self._at(at) == "a" and self._at(at + 2) == "v":  # "Before Rook could answer"
            doubt = doubt or self.words.clause_doubts.get(self._word(at), "")
            at += self._word(at) in self.words.prepositional
            self.main = ""
        self.doubt = self.carried = doubt
        begin = at
        at = self._skip_opening(at)
        if at > begin and self.main:
            self.main = "later"
        subjects, after = self._subjects(at)
        if not subjects:
            return self._next(at, after_clause=False)
        end = self._past_complements(after)
        if end > after and subjects[0].kind == "common" and self._at(end) == "v" and len(subjects) == 1:
            subjects, after = [self._with_complements(at, end)], end  # "the bridge in Kelm"
        after = self._past_insertion(subjects, after)
        if self._at(after) not in {"v", "e"}:
            return self._next(after, after_clause=False)
        stated = len(self.reading.statements)
        end = self._predicates(subjects, after)
        if self._at(end) in {"v", "e"} and subjects[0].kind == "common":  # "cash flows from sales increased"
            del self.reading.statements[stated:]
        return self._next(end, after_clause=True)

    def _next(self, at: int, *, after_clause: bool) -> int:
        """The place of the next clause: after a stop, at a subordinator, after a comma or "and"."""
        for index in range(at, len(self.items)):
            kind = self._at(index)
            if kind == "." and self.items[index].unit.text != "-":
                self.carried = ""
                return index + 1
            if kind == "u":
                self.carried = ""
                return index
            joined = kind == "c" or (kind == "," and self._at(index + 1) != "c")
            listed = self._at(index - 2) in {",", "c"} and self._at(index - 1) == "n"
            noun = self._phrase(index + 1)
            determined = (
                kind != "c"
                or self._at(index - 1) != "n"
                or (noun and (noun.kind != "common" or noun.determiner))
            )
            follows = noun is not None and determined and self._at(index + 2) == "v"
            if after_clause and joined and not listed and follows:
                self.carried = self.carried if kind == "c" and self._at(index - 1) != "," else ""
                return index + 1
        return len(self.items)

    def _skip_opening(self, at: int) -> int:
        """The place after the words before the subject: `In 1902`, `Founded in 1879 in Kelm,`."""
        if self.words.verb_second:
            return at + 1 if self._at(at) == "c" else at
        opened = self._at(at) == "e"  # what its phrases say is not when the clause holds
        at += opened
        while True:
            kind = self._at(at)
            noun = self._phrase(at + 1) if kind == "a" else self._phrase(at)
            if kind in {",", "c"}:
                at += 1
            elif kind == "a" and noun is not None:
                if not opened:
                    self.fronted.append((self._word(at), noun))
                _, reach = self._members(at + 1)
                at = (reach if self._at(reach + 1) == "," else at + 1) + 1
            elif noun is not None and noun.kind == "literal" and self._at(at + 1) in {",", "n"}:
                at += 1
            else:
                return at

    def _subjects(self, at: int) -> tuple[list[NounPhrase], int]:
        """The subjects at this place, none if they are ambiguous, and the place after them."""
        members, reach = self._members(at, subjects=True)
        bare = (noun.kind == "common" and not noun.determiner and _several(noun) for noun in members)
        plain = len(members) == 1 or all(noun.kind == "name" for noun in members) or all(bare)
        plain = plain and not any(noun.determiner in self.words.oblique for noun in members)
        return (members if plain else []), reach + 1

    def _members(self, index: int, *, subjects: bool = False) -> tuple[list[NounPhrase], int]:
        """The noun phrases of a list (A, B and C) that begins at `index`, and where it ends.

        Args:
            subjects: whether a verb may follow; else the last of them would be the subject of that verb.
        """
        members = [noun for noun in [self._phrase(index)] if noun]
        position = index
        while members:
            kind = self._at(position + 1)
            last = kind == "c" or (kind == "," and self._at(position + 2) == "c")
            step = 3 if kind == "," and last else 2
            noun = self._phrase(position + step) if kind in {",", "c"} else None
            lists = not last or self.words.words.get(self._word(position + step - 1)) == "C"  # no "but"
            if noun is None or not lists or (kind == "," and self._describes(members[0], noun)):
                break
            if (noun.kind == "literal") != (members[0].kind == "literal"):
                break
            if last and not subjects and self._at(self._past_complements(position + step + 1)) in {"v", "w"}:
                break
            position += step
            members.append(noun)
            if last:
                return members, position
        # commas without a final "and" are appositions or places within places, not lists
        return members[:1], index

    def _describes(self, first: NounPhrase, second: NounPhrase) -> bool:
        """Whether `A, the founder of B` says what A is rather than going on with a list."""
        described = second.kind == "common" and bool(second.determiner)
        return first.kind == "name" and described and second.head.lower in self.words.head_types

    def _with_complements(self, at: int, end: int) -> NounPhrase:
        """The noun phrase that stands here, with the prepositional phrases after it."""
        noun = self.items[at].noun
        assert noun is not None  # noqa: S101
        return replace(noun, units=tuple(unit for item in self.items[at:end] for unit in item.units))

    def _past_insertion(self, subjects: Sequence[NounPhrase], at: int) -> int:
        """The place of the verb after `in Kelm` or `, a firm in Kelm that builds mills,`."""
        if self._at(at) == "a" and subjects[0].kind == "name":
            at = self._past_complements(at)
        if self._at(at) != ",":
            return at
        for index in range(at + 1, len(self.items)):
            if self._at(index) in {".", "u"} or (self._at(index) == "v" and self._at(at + 1) != "w"):
                break
            if self._at(index) == "," and self._at(index + 1) in {"v", "e"}:
                return index + 1
        return at

    def _titled(self, noun: NounPhrase) -> None:
        """Read the title in a noun phrase: `the engineer Ada Venn`."""
        owned = noun.owned
        if not (owned and owned[-1].kind == "P" and len(owned) > 1 and owned[-2].kind == "N"):
            return
        name, title = owned[-1], owned[:-1]
        head = title[-1].lower
        self.reading.descriptions.append(((name,), head, False))
        # no "port B", and no "you" that stands for a name
        plain = not noun.owner and not noun.possessive and {unit.kind for unit in title} <= set("JNR")
        kind = self.words.head_types.get(head)
        typed = kind == "Person" or (kind and noun.determiner in self.words.definite)  # no "software RAID"
        if plain and typed and 1 < len(name.text) == name.end - name.start:
            self._state((name,), self.words.is_, title, "title")

    # ---- verbs

    def _predicates(self, subjects: list[NounPhrase], at: int) -> int:
        """Read verbs that share their subjects, with their objects; returns the place after them."""
        doubt = self.doubt
        auxiliary = ""
        while True:
            verb = self.items[at].verb
            if verb is None or (self._at(at) == "e" and not auxiliary and not self._finite(at)):
                return at
            passive = verb.passive or bool(auxiliary)
            words = f"{auxiliary} {verb.words}".lstrip()
            self.doubt = doubt or doubt_of_verb(verb, self.words)
            finite = bool(auxiliary) or any(
                unit.kind in "BHXVE" for unit in verb.units
            )  # "may move or be moved"
            if not finite or not self._agree(subjects, verb) or verb.units[-1].text[:1].isupper():
                return at + 1
            at = self._verb(Clause(subjects, words, passive, verb.copula, verb.have), at + 1)
            if self.doubt not in {"reported", "question", "request"}:
                self.reading.subjects.extend(s for s in subjects if s not in self.reading.subjects)
            step = 2 if self._at(at) == "," and self._at(at + 1) == "c" else 1
            if self._at(at + step - 1) != "c" or self._at(at + step) not in {"v", "e"}:
                return at
            auxiliary = " ".join(words.split()[:-1]) if passive and self._at(at + step) == "e" else ""
            at += step

    def _agree(self, subjects: Sequence[NounPhrase], verb: VerbGroup) -> bool:
        """Whether subjects and verb agree in number, as far as the tags tell; notes the tense of the verb."""
        finite = next((unit for unit in verb.units if unit.kind in "BHXV"), verb.units[0])
        word = finite.lower
        self.present = finite.tag in self.words.present and (verb.have or finite.kind != "H")
        # "sports show host": a noun may look like a verb, but for the first of the sentence
        plain = self.main == "first" or (self.main == "later" and finite.kind in "BH")
        self.general = plain and bool(self.words.present)
        singular_verb = finite.tag in self.words.singular or word == "was"
        several = (
            finite.tag in self.words.plural and (not word.endswith("s") or word.endswith("ss"))
        ) or word == "were"
        plural = len(subjects) > 1 or _several(subjects[0])
        singular = len(subjects) == 1 and not plural and not subjects[0].head.lower.endswith("s")
        return not (singular_verb and plural) and not (several and singular and subjects[0].kind != "pronoun")

    def _finite(self, at: int) -> bool:
        """Whether a form that could be a participle is the verb of its clause."""
        if self._at(at + 1) == "a" and self._word(at + 1) == "by":
            return False
        for kind in (item.kind for item in self.items[at + 1 :]):
            if kind in {".", "w", "u"}:
                break
            if kind == "v":
                return False
        return True

    def _verb(self, clause: Clause, at: int) -> int:
        """Read the words after a verb; returns the place after them."""
        if self._at(at) == "n":
            end = self._object(clause, at)
        elif clause.copula and self._at(at) == "j":  # "is famous for Y"
            famous = f"{clause.words} {self._word(at)}"
            end = self._complements(replace(clause, words=famous, copula=False), at + 1)
        elif clause.have:
            end = at
        else:
            alone = self._at(at) == "." or (clause.passive and self._word(at) != "as")
            for preposition, noun in self.fronted[:1]:
                if noun.literal is not None and alone and not clause.copula:
                    self._complement(clause, preposition, [noun])
            end = self._complements(clause, at)
        self.fronted = []
        return end

    # ---- complements

    def _complements(self, clause: Clause, at: int) -> int:
        """Read the prepositional phrases after a verb; returns the place after them."""
        first, named = True, True
        qualifiers = self._qualifiers(at)
        while self._at(at) == "a" and self._at(at + 1) == "n":
            preposition = self._word(at)
            members, reach = self._members(at + 1)
            if self._at(reach + 1) in {"n", "v"}:  # "in Kelm Bob opened"
                return reach + 1
            dated = members[0].kind == "literal"
            leads = named and clause.passive and self.words.periods.get(preposition) != "from"
            verbal = preposition in self.words.verbal and (dated or (leads and members[0].kind == "name"))
            gap = self.items[at].unit.start - self._end_of(at - 1)
            plain = preposition != self.words.of or gap <= 1  # no "ravaged much of Kelm"
            named = named and members[0].kind != "common" and (dated or preposition in self.words.verbal)
            ends_range = dated and preposition in self.words.ranges and not first  # "from 2% to 5%"
            if (first or verbal) and plain and not ends_range:
                at = self._longer(clause, preposition, members, at + 1, reach, qualifiers)
            else:
                at = reach + 1
            first = False
        return at

    def _longer(
        self,
        clause: Clause,
        preposition: str,
        members: list[NounPhrase],
        at: int,
        reach: int,
        qualifiers: Qualifiers,
    ) -> int:
        """State a complement; one that is not a name is taken with the phrases that follow it."""
        first = members[0]
        placed = not clause.copula or preposition in self.words.placing or first.kind == "literal"
        if first.kind != "common":
            if placed and not (first.literal is not None and first.literal.kind == "number"):
                self._complement(clause, preposition, members, () if first.literal else qualifiers)
            return self._past_wider(members[-1], reach + 1) if members[-1].kind == "name" else reach + 1
        whole, end, apart = self._whole(at, reach)
        plain = not clause.copula and preposition not in self.words.prepositional - {"as"}
        if self.words.keeps_case and not clause.passive and self._at(end) not in {".", ","}:
            plain = False  # in German the object may follow
        if plain and self._told(members, end, apart=apart):
            self._complement(clause, preposition, [whole], qualifiers)
        return end

    def _complement(
        self, clause: Clause, preposition: str, members: Sequence[NounPhrase], qualifiers: Qualifiers = ()
    ) -> None:
        pattern = "passive" if clause.passive else "complement"
        for subject in clause.subjects:
            for member in members:
                self._state(subject, f"{clause.words} {preposition}", member, pattern, qualifiers)

    def _told(self, members: Sequence[NounPhrase], end: int, *, apart: bool = False) -> bool:
        """Whether an object ends here, or `apart` from a date, rather than going on ("the risk that …")."""
        kind, noun = self._at(end), members[0]
        alone = noun.kind == "common" and len(members) == 1 and not apart
        word = alone and len(noun.units) - noun.core[0] == 1
        bare = alone and not noun.determiner and not noun.of
        if kind == "c" and self._at(end + 1) == "n" and self._at(end + 2) != "v":
            return False  # a list of which it is not plain where it ends
        return (
            kind not in {"n", "v"}
            and not (kind == "a" and self._word(end) == "as")  # "classified debt as long-term"
            and self.words.clause_doubts.get(self._word(end)) != "reported"  # "assured them that …"
            and not (word and kind in {"w", "u", "g", "i", "a", "e", "j"})
            and not (bare and kind in {"g", "e"})
        )

    def _whole(self, at: int, reach: int, *, gives: bool = False) -> tuple[NounPhrase, int, bool]:
        """A phrase that is not a name, with the list that it begins and the phrases that belong to it.

        Args:
            gives: whether the verb has a recipient.

        Returns:
            the phrase; the place after all phrases; whether a date, a sum or a recipient is among those.
        """
        after = self._past_complements(reach + 1)
        end = next(
            (
                place
                for place, word, noun in self._phrases(reach + 1)
                if (gives and word == self.words.recipient) or any(self._qualifier(word, noun))
            ),
            after,
        )
        apart = end < after
        while True:
            whole = self._with_complements(at, end)
            if end <= reach + 1 or len(surface(whole.units).split()) <= _LONGEST_TEXT:
                break
            end -= 2
        return replace(whole, kind="common"), max(end, after), apart

    def _phrases(self, at: int) -> Iterator[tuple[int, str, NounPhrase]]:
        """The prepositional phrases from here on: place, preposition and noun phrase."""
        end = self._past_complements(at)
        for index in range(at, end, 2):
            noun = self._phrase(index + 1)
            if noun is not None:
                yield index, self._word(index), noun

    def _qualifiers(self, at: int) -> Qualifiers:
        """The dates and sums from here on, and the dates that open the sentence."""
        phrases = [*self.fronted, *((word, noun) for _, word, noun in self._phrases(at))]
        named = {
            name: (name, *value) for word, noun in phrases for name, value in self._qualifier(word, noun)
        }
        if named.pop("between", None):
            places = [place for place, word, _ in self._phrases(at) if self._is_between(word)]
            members = self._members(places[0] + 1)[0] if places else []
            dates = [noun.literal for noun in members if noun.literal is not None]
            if len(dates) == 2:
                named |= {
                    name: (name, date.lexical, date.datatype)
                    for name, date in zip(("from", "to"), dates, strict=True)
                }
        return tuple(named.values())

    def _is_between(self, preposition: str) -> bool:
        return self.words.periods.get(preposition) == "between"

    def _qualifier(self, preposition: str, noun: NounPhrase) -> Iterator[tuple[str, tuple[str, str | None]]]:
        name, literal = self.words.periods.get(preposition), noun.literal
        if name is None or literal is None:
            return
        sum_ = literal.kind == "quantity" and (
            literal.lexical[0] in "$€£¥" or literal.lexical.split()[-1] in self.words.currencies
        )
        if sum_ if name == "amount" else literal.datatype and literal.kind in DATES:
            yield name, (literal.lexical, literal.datatype)

    # ---- objects

    def _object(self, clause: Clause, at: int) -> int:
        """State a verb with its object; returns the place after the object."""
        members, reach = self._members(at)
        noun, after = members[0], self._at(reach + 1)
        literal = noun.literal
        dated = literal is not None and literal.kind in DATES
        if dated and after == "n":  # "gründete 1904 die Zeitung"
            self.fronted.append(("in", noun))
            return self._object(clause, reach + 1)
        gives = not clause.passive and clause.words.split()[-1] in self.words.giving
        if gives and after == "n" and noun.kind in {"name", "pronoun"}:  # "gave Tom the key"
            self._give(clause, members, "recipient")
            return self._object(replace(clause, passive=True), reach + 1)
        date = self._phrase(reach + 1)
        leads = after == "g" or (after == "j" and self._at(reach + 2) == "a")  # "a school famous for …"
        uses = after == "i" and clause.words.split()[-1] in self.words.using  # "uses a key to open it"
        ends = (
            after in _ENDS or uses or (clause.copula and noun.determiner in self.words.indefinite and leads)
        )
        if not ends and (date is None or date.kind != "literal"):
            return reach + 1
        if dated and literal is not None and not clause.copula:
            link = self.words.date_links["day" if literal.kind == "date" else "year"]
            self._complement(clause, link, [noun])
            return self._complements(clause, reach + 1)
        number = noun.units[noun.core[0]].literal
        counted = number is not None and number.kind in {"number", "year"}
        if counted and (noun.of or literal is not None) and not clause.copula:
            return reach + 1
        doubt, self.doubt = self.doubt, self.doubt or doubt_of_object(noun, self.words)
        end = (
            self._described(clause, members, reach)
            if clause.copula
            else self._acted(clause, members, at, reach)
        )
        self.doubt = doubt
        return end

    def _acted(self, clause: Clause, members: list[NounPhrase], at: int, reach: int) -> int:
        """State `built | Long Bridge`, `paid | $4 million in legal fees`, with dates and sums beside it."""
        noun, qualifiers = members[0], self._qualifiers(reach + 1)
        gives = not clause.passive and clause.words.split()[-1] in self.words.giving
        for place, word, _ in self._phrases(reach + 1) if gives else ():
            if word == self.words.recipient:
                self._give(clause, self._members(place + 1)[0])
        if noun.kind == "common" or self._counts(noun, reach + 1):
            whole, end, apart = self._whole(at, reach, gives=gives)
            if self._told(members, end, apart=apart or self._at(end) == "i"):
                for subject in clause.subjects:
                    self._state(subject, clause.words, whole, "active", qualifiers)
            return end
        several = len(members) > 1 and noun.literal is not None  # one of each year, or of each thing
        named = self._word(reach + 1) == "as" and clause.words.split()[-1] not in self.words.using
        for subject in clause.subjects:
            for member in () if several or named else members:  # "named Ada as the heir" names no Ada
                self._state(subject, clause.words, member, "active", qualifiers)
        return self._past_complements(self._past_wider(members[-1], reach + 1))

    def _give(self, clause: Clause, members: Sequence[NounPhrase], pattern: str = "complement") -> None:
        """State who is given something."""
        for subject in clause.subjects:
            for member in members:
                if member.kind in {"name", "pronoun"}:
                    self._state(subject, f"{clause.words} {self.words.recipient}", member, pattern)

    def _counts(self, noun: NounPhrase, at: int) -> bool:
        """Whether an amount belongs to a following noun: "$4 million in legal fees"."""
        of = self._phrase(at + 1) if self._at(at) == "a" else None
        amount = noun.literal is not None and noun.literal.kind == "quantity"
        return amount and of is not None and of.kind == "common" and not self.words.keeps_case

    # ---- what something is

    def _described(self, clause: Clause, members: list[NounPhrase], reach: int) -> int:
        """Read `is a village in Kent`, `is the mayor of Orrin`; returns the place after it."""
        qualifiers = self._qualifiers(reach + 1)
        first = members[0]
        which = first.determiner in self.words.definite and not first.of  # "the program that starts it"
        goes_on = self._at(reach + 1 + (self._at(reach + 1) == "," and self._at(reach + 2) == "w"))
        if which and goes_on in {"w", "e", "g", "u"}:
            return reach + 1
        for subject in clause.subjects:
            for member in members:
                if member is not first and member.kind == "name" != first.kind:  # "a son of A and B"
                    if first.of:
                        self._role(subject, first, self.words.of, member, qualifiers)
                elif (member is first or not first.of) and not (which and goes_on == "a"):
                    self._is(clause, subject, member, qualifiers)
        at, last = reach + 1, members[-1]
        alone = last.kind == "common" and not last.of and len(members) == 1
        if alone and self._at(at) == "a" and self._word(at) in self.words.verbal:
            places, _ = self._members(at + 1)
            for subject in clause.subjects:
                for place in places:
                    if place.kind == "name":
                        self._role(subject, last, self._word(at), place, qualifiers)
        return self._past_complements(self._past_wider(last, at))

    def _is(self, clause: Clause, subject: NounPhrase, noun: NounPhrase, qualifiers: Qualifiers) -> None:
        """Note what the subject of "is" is: of "The capital of Kelm is Orrin", what Orrin is."""
        of = bool(subject.of) and subject.units[subject.core[1]].kind == "F"
        owned = subject.kind == "common" and bool(of or subject.owner or subject.possessive)
        if noun.kind == "name" and owned:
            if not subject.head.tag.startswith("NN2"):
                self._belongs(noun, subject, qualifiers)
        elif noun.kind == "common" and not owned:
            self._describe(subject, noun, qualifiers)
        elif noun.kind == subject.kind == "name" or (owned and noun.literal is not None):
            self._state(subject, clause.words, noun, "active", qualifiers)

    def _describe(self, subject: NounPhrase, role: NounPhrase, qualifiers: Qualifiers) -> None:
        head = role.head.lower
        doubt = self.doubt
        if role.head.tag.startswith("NN2") and not _several(subject):  # of one of several
            self.doubt = doubt or "number_mismatch"
        if role.owner or role.possessive or (role.of and head not in self.words.light):
            self._belongs(subject, role, qualifiers)
        elif not role.of and head not in self.words.light:
            self._state(subject, self.words.is_, role.units[role.core[0] :], "definition", qualifiers)
        self.doubt = doubt
        if not doubt and head not in self.words.light and role.determiner not in self.words.quantifiers:
            self.reading.descriptions.append((subject, head, True))

    def _belongs(self, subject: NounPhrase, role: NounPhrase, qualifiers: Qualifiers) -> None:
        """Note `mayor of | Kelm` of `the mayor of Kelm`, `Kelm's mayor` or `its mayor`."""
        if role.of:
            self._role(subject, role, self.words.of, role.of, qualifiers)
        elif not role.owner:
            owner = NounPhrase((role.units[0],), "pronoun", "", True, (0, 1))
            self._state(subject, self._as_role(role.owned, self.words.of), owner, "role", qualifiers)
        elif role.owner[-1].kind == "P":  # no "the world's largest museum"
            self._state(subject, self._as_role(role.owned, self.words.of), role.owner, "role", qualifiers)

    def _role(
        self, subject: NounPhrase, role: NounPhrase, preposition: str, whole: Part, qualifiers: Qualifiers
    ) -> None:
        """Note `village in | Kent` of `a small village in Kent`; of a part of no name what it is."""
        named = whole.kind == "name" if isinstance(whole, NounPhrase) else whole[-1].kind == "P"
        if named and preposition not in self.words.prepositional:
            core = role.units[slice(*role.core)]
            self._state(subject, self._as_role(core, preposition), whole, "role", qualifiers)
        elif preposition == self.words.of:
            self._state(subject, self.words.is_, role.units[role.core[0] :], "definition", qualifiers)

    def _as_role(self, role: Sequence[Unit], preposition: str) -> str:
        """`mayor of` for `popular first mayor`: adjectives go, but for those that change it (former)."""
        kept = [
            unit for unit in role if unit.kind not in "JREGM" or unit.lower in self.words.shifting
        ] or role
        if not self.words.keeps_case:
            kept = [unit if unit.kind == "P" else replace(unit, text=unit.lower) for unit in kept]
        return f"{surface(kept)} {preposition}"


def _several(noun: NounPhrase) -> bool:
    plural = noun.head.tag.startswith("NN2") and not noun.head.lower.endswith(("as", "is", "ss", "us"))
    return plural or noun.units[0].lower in {"they", "these"}

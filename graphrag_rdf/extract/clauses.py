"""From the phrases of a sentence to statements: who did what to whom, where and when.

One pass from left to right. A statement with several complements becomes several: `Ada was born in Kelm in
1871` gives `was born in | Kelm` and `was born in | 1871`. What the grammar of this module does not cover
gives nothing rather than something wrong: conditions, questions, clauses whose subject is not plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .lexicon import Lexicon
from .phrases import Item, NounPhrase, VerbGroup, surface
from .units import Unit

CONFIDENCE = {
    "role": 0.9,  # X is the capital of Y
    "definition": 0.85,  # X is a village
    "passive": 0.85,  # X was built by Y
    "apposition": 0.8,  # X, the mayor of Y,
    "active": 0.8,  # X built Y
    "complement": 0.75,  # X works for Y
    "participle": 0.75,  # a bridge built by Y
    "owner": 0.75,  # X's director Y
    "adjective": 0.7,  # X is famous for Y
    "relative": 0.7,  # X, who built Y
    "object_complement": 0.65,  # X built Y in 1902
    "life": 0.8,  # X (1871-1930)
    "title": 0.6,  # the engineer X
    "later_complement": 0.6,  # X works for Y in Z: is it X or Y that is in Z?
    "have": 0.75,  # X has a population of 12
    "infinitive": 0.55,  # X was held to elect Y
}
"""How sure each pattern is, before references are resolved."""

_MAX_PREDICATE_OBJECT = 4  # words of an object that may stand inside a predicate


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a clause, its parts still phrases.

    Args:
        subject: a noun phrase, or its units where it is part of one.
        predicate: in lower case.
        object: as `subject`.
        pattern: key of `CONFIDENCE`.
    """

    subject: NounPhrase | tuple[Unit, ...]
    predicate: str
    object: NounPhrase | tuple[Unit, ...]
    pattern: str


@dataclass(frozen=True, slots=True)
class Description:
    """What a phrase says that its subject is.

    Args:
        subject: as in `Statement`.
        text: the description, without article.
        head: its head noun, lower case.
        stated: whether it is said outright ("X is a Y"), not in passing ("the Y X").
    """

    subject: NounPhrase | tuple[Unit, ...]
    text: str
    head: str
    stated: bool


@dataclass(slots=True)
class Reading:
    """All that a sentence says.

    Args:
        statements: in text order.
        descriptions: in text order.
        subjects: noun phrases that clauses are about, in text order.
    """

    statements: list[Statement] = field(default_factory=list)
    descriptions: list[Description] = field(default_factory=list)
    subjects: list[NounPhrase] = field(default_factory=list)


@dataclass(slots=True)
class _Clause:
    """A verb with what has been read of its clause."""

    subjects: list[NounPhrase]
    words: str
    passive: bool
    copula: bool
    have: bool
    pattern: str
    object: NounPhrase | None = None
    objects: list[NounPhrase] = field(default_factory=list)
    adjective: str = ""
    complements: int = 0
    closed: bool = False  # after a comma: no more objects
    open_object: bool = True

    def with_object(self) -> str | None:
        """The predicate with its object inside, if that is short enough to read well."""
        if self.object is None:
            return self.words
        words = _lowered(_argument(self.object))
        if len(words.split()) > _MAX_PREDICATE_OBJECT or self.object.kind == "pronoun":
            return None
        return f"{self.words} {words}"


def read_clauses(items: Sequence[Item], words: Lexicon) -> Reading:
    """Reads the statements of a sentence.

    Args:
        items: its phrases.
        words: lexicon of its language.
    """
    return _Reader(_without_brackets(items), words).read()


def _without_brackets(items: Sequence[Item]) -> list[Item]:
    kept: list[Item] = []
    depth = 0
    for item in items:
        if item.kind == "(":
            depth += 1
        elif item.kind == ")":
            depth = max(0, depth - 1)
        elif depth == 0:
            kept.append(item)
    return kept


def _role(noun: NounPhrase) -> tuple[Unit, ...]:
    """`chief engineer` of `the chief engineer of Orrin`."""
    return noun.units[slice(*noun.core)]


def _lowered(units: Sequence[Unit]) -> str:
    return surface([unit if unit.kind == "P" else replace(unit, text=unit.lower) for unit in units])


def _argument(noun: NounPhrase) -> tuple[Unit, ...]:
    """A noun phrase without determiner."""
    return noun.units[noun.core[0] :]


class _Reader:
    def __init__(self, items: list[Item], words: Lexicon) -> None:
        self.items = items
        self.words = words
        self.out = Reading()
        self.position = 0
        self.subjects: list[NounPhrase] = []
        self.main: list[NounPhrase] = []
        self.clause: _Clause | None = None
        self.fronted: list[tuple[str, NounPhrase]] = []
        self.aside = False  # inside a relative or subordinate clause
        self.skipping = False  # inside a clause that is not asserted

    # ---- walking

    def read(self) -> Reading:
        step = {
            "n": self._noun,
            "v": self._verb,
            "e": self._participle,
            "g": self._gerund,
            "i": self._infinitive,
            "w": self._relative,
            "u": self._subordinate,
            "j": self._adjective,
            ",": self._comma,
            "c": self._coordinator,
            ".": self._stop,
            "x": self._stop,
            "z": self._unknown,
        }
        while self.position < len(self.items):
            item = self.items[self.position]
            action = step.get(item.kind)
            if action:
                action(item)
            self.position += 1
        return self.out

    def _kind(self, offset: int) -> str:
        index = self.position + offset
        return self.items[index].kind if 0 <= index < len(self.items) else "."

    def _phrase(self, index: int) -> NounPhrase | None:
        return self.items[index].noun if 0 <= index < len(self.items) else None

    # ---- noun phrases

    def _noun(self, item: Item) -> None:
        noun = item.noun
        if noun is None:
            return
        self._inside(noun)
        if self._kind(-1) == "a":
            self._complement(self.items[self.position - 1].unit, noun)
            return
        clause = self.clause
        follows_verb = clause is not None and clause.open_object and not clause.closed
        if follows_verb and self._kind(1) not in {"v"} and clause is not None:
            self._object(clause, noun)
            return
        members, reach = self._members(self.position)
        self.position = reach
        if clause is not None and self._kind(-1) == "c" and self._kind(1) != "v":
            return  # a leftover of a list
        self.subjects, self.clause = members, None
        if self._apposition(noun):
            return

    def _members(self, index: int) -> tuple[list[NounPhrase], int]:
        """The noun phrases of a list (A, B and C) that begins at `index`, and where it ends."""
        members = [noun for noun in [self._phrase(index)] if noun]
        reach, position = index, index
        while True:
            kind = self._at(position + 1)
            if kind == "," and self._at(position + 2) == "c":
                step = 3
            elif kind in {",", "c"}:
                step = 2
            else:
                break
            noun = self._phrase(position + step)
            if kind == "," and noun is not None and self._describes(members[0], noun):
                break
            if noun is None or (
                self._at(position + step + 1) == "v" and not self._closes_list(position, step)
            ):
                break
            position += step
            members.append(noun)
            if kind == "c" or step == 3:
                reach = position
                break
        # commas without a final "and" are appositions or places within places, not lists
        return (members, reach) if reach == position and reach > index else (members[:1], index)

    def _describes(self, first: NounPhrase, second: NounPhrase) -> bool:
        """Whether `A, the founder of B` says what A is rather than going on with a list."""
        role = second.kind == "common" and bool(second.determiner) and self._is_role(second.head.lower)
        return first.kind == "name" and role

    def _closes_list(self, position: int, step: int) -> bool:
        """Whether "A and B" before a verb are its subjects: nothing before A has claimed A."""
        return self.clause is None and (self._at(position + 1) == "c" or step == 3)

    def _at(self, index: int) -> str:
        return self.items[index].kind if 0 <= index < len(self.items) else "."

    def _apposition(self, noun: NounPhrase) -> bool:
        """`Ada Venn, the chief engineer of Orrin,` and `the chief engineer, Ada Venn,`."""
        if self._kind(1) != ",":
            return False
        other = self._phrase(self.position + 2)
        closing = self._at(self.position + 3)
        if other is None or closing in {"c", "v"} or {noun.kind, other.kind} != {"name", "common"}:
            return False
        named, role = (noun, other) if noun.kind == "name" else (other, noun)
        if not self._is_role(role.head.lower) and not (role.of and role.determiner):
            return False
        if role is noun and not (role.determiner or role.possessive):
            return False
        if self._is_list(self.position):
            return False
        self._describe(named, role, stated=True, pattern="apposition")
        self._inside(other)
        if named is other:
            self.subjects = [other]
        # go on behind the apposition; prepositions in it belong to the role
        self.position += 2
        if self._kind(1) == "a":
            after = self._phrase(self.position + 2)
            if after is not None and not role.of and role is other:
                preposition = self.items[self.position + 1].unit.lower
                self._state(named, f"{self._low(_argument(role))} {preposition}", after, "apposition")
                self.position += 2
        return True

    def _is_list(self, index: int) -> bool:
        """Whether commas from `index` on lead to an "and" before a verb comes."""
        position = index
        while self._at(position + 1) == "," and self._at(position + 2) == "n":
            position += 2
        return self._at(position + 1) == "c" or (
            self._at(position + 1) == "," and self._at(position + 2) == "c"
        )

    def _inside(self, noun: NounPhrase) -> None:
        """What a noun phrase says within itself: `the engineer Ada Venn`, `Orrin's director Ada Venn`."""
        core = noun.units[slice(*noun.core)]
        owned = noun.owned
        if owned and owned[-1].kind == "P" and len(owned) > 1 and owned[-2].kind == "N":
            name = (owned[-1],)
            role = owned[:-1]
            text = surface(role)
            self.out.descriptions.append(Description(name, text, role[-1].lower, stated=False))
            if noun.owner:
                self._state(name, f"{self._low(role)} {self.words.of}", noun.owner, "owner")
            elif noun.possessive:
                owner = NounPhrase((noun.units[0],), "pronoun", "", True, (0, 1))
                self._state(name, f"{self._low(role)} {self.words.of}", owner, "owner")
            elif len(owned) == len(core) and self._is_role(role[-1].lower):
                self._state(name, self.words.is_, role, "title")

    # ---- verbs

    def _verb(self, item: Item) -> None:
        verb = item.verb
        if verb is None or self._ends_in_question():
            return
        if self.skipping:
            self.clause = None
            return
        if verb.words in self.words.speech and self._kind(1) == "n":
            self._said()
            return
        if self._kind(-1) == "," and self.aside:
            self.subjects, self.aside = self.main, False
        elif self._kind(-1) == "n" and self.clause is not None and self.aside and self.main:
            self.subjects, self.aside = self.main, False  # "the man who built it died"
        if not self.subjects:
            self.clause = None
            return
        self._open(self.subjects, verb, "relative" if self.aside else "")

    def _said(self) -> None:
        """`..., said Ada Venn`: the speaker is who the text is about next; what is said is not read."""
        speaker = self._phrase(self.position + 1)
        if speaker is not None:
            self.out.subjects.append(speaker)
            self.subjects, self.main, self.clause = [speaker], [speaker], None
            self.position += 1

    def _open(self, subjects: list[NounPhrase], verb: VerbGroup, pattern: str) -> None:
        self.clause = _Clause(subjects, verb.words, verb.passive, verb.copula, verb.have, pattern)
        if not self.aside:
            self.main = subjects
        if not self.aside:
            self.out.subjects.extend(subject for subject in subjects if subject not in self.out.subjects)
        for preposition, noun in self.fronted:
            if noun.kind == "literal" and not verb.copula:
                for subject in subjects:
                    self._state(subject, f"{verb.words} {preposition}", noun, "later_complement")
        self.fronted = []

    def _participle(self, item: Item) -> None:
        verb = item.verb
        if verb is None or self.skipping:
            return
        clause = self.clause
        before = self._kind(-1)
        lower = verb.units[0].lower
        if before in {"c", ","} and clause is not None and not (before == "," and clause.object is not None):
            if clause.passive and lower not in self.words.intransitive and self._kind(1) != "n":
                auxiliary = " ".join(clause.words.split()[:-1]) or "was"
                again = VerbGroup(verb.units, f"{auxiliary} {verb.words}", True, False, False)
                self._open(clause.subjects, again, clause.pattern)
            else:
                self._open(clause.subjects, verb, clause.pattern)
        elif before == "n" or (before == "," and self._at(self.position - 2) == "n"):
            anchor = self._anchor(self.position - (1 if before == "n" else 2))
            if before == "," and clause is not None and clause.copula and clause.object is not None:
                anchor = clause.subjects  # "X is a band from Y, formed in 1991"
            if anchor is None:
                self.clause = None
            elif clause is None and self._finite(lower):
                self._open(self.subjects or anchor, verb, "")
            else:
                self._reduced(anchor, verb)
        elif all(item.kind == "j" for item in self.items[: self.position]):
            subject = self._next_subject()
            self.clause = None
            if subject is not None:
                self._reduced([subject], verb)
        else:
            self.clause = None

    def _reduced(self, anchor: list[NounPhrase], verb: VerbGroup) -> None:
        """`a bridge built by X`: the bridge is what the verb is about."""
        if self.clause is None and self.subjects:
            self.main, self.aside = self.subjects, True
        self.clause = _Clause(anchor, verb.words, True, False, False, "participle", open_object=False)

    def _finite(self, word: str) -> bool:
        """Whether a form that could be a participle is the sentence's finite verb."""
        if self._kind(1) == "a" and self.items[self.position + 1].unit.lower == "by":
            return False
        for kind in (item.kind for item in self.items[self.position + 1 :]):
            if kind == "v":
                return word in self.words.intransitive
            if kind in {".", "w", "u"}:
                break
        return True

    def _next_subject(self) -> NounPhrase | None:
        """The subject that an opening participle waits for: `Founded in 1879, the school ...`."""
        for index in range(self.position + 1, len(self.items) - 2):
            if self.items[index].kind == ",":
                noun = self._phrase(index + 1)
                return noun if noun is not None and self._at(index + 2) in {"v", ","} else None
            if self.items[index].kind == "v":
                return None
        return None

    def _anchor(self, index: int) -> list[NounPhrase] | None:
        """Whom a participle or relative clause is about: the phrase before it, or what that describes."""
        noun = self._phrase(index)
        clause = self.clause
        described = clause is not None and clause.copula and noun in clause.objects
        if described and clause is not None and noun is not None and noun.kind == "common":
            return clause.subjects  # "X is a film directed by Y": X is
        if noun is None or noun.kind in {"literal", "pronoun"}:
            return None
        if noun.of and noun.kind == "common":
            return None
        return [noun]

    def _gerund(self, item: Item) -> None:
        verb, clause = item.verb, self.clause
        before = self._kind(-1)
        if verb is None or self.skipping or before == "a":
            self.clause = None
            return
        if before == "n":
            anchor = self._anchor(self.position - 1)
        elif clause is not None and before in {"c", ","} and clause.pattern == "participle":
            anchor = clause.subjects
        else:
            anchor = None
        if anchor and self._kind(1) in {"n", "a"}:
            if clause is None and self.subjects:
                self.main, self.aside = self.subjects, True
            self.clause = _Clause(anchor, verb.words, False, False, False, "participle")
        else:
            self.clause = None

    def _infinitive(self, item: Item) -> None:
        clause = self.clause
        if clause is None or item.verb is None or clause.copula or clause.closed or clause.object is not None:
            self.clause = None
            return
        self.clause = _Clause(
            clause.subjects, f"{clause.words} {item.verb.words}", False, False, False, "infinitive"
        )

    def _adjective(self, item: Item) -> None:
        clause = self.clause
        if clause is not None and clause.copula and clause.object is None and self._kind(1) == "a":
            clause.adjective = item.unit.lower
        elif clause is not None and clause.object is None and self._kind(1) != "c":
            clause.open_object = False

    # ---- marks and small words

    def _relative(self, item: Item) -> None:
        if item.unit.lower == "whose" or self._kind(-1) == "a" or self._kind(1) not in {"v", "e"}:
            self.main = self.main or self.subjects
            self.subjects, self.clause, self.aside = [], None, True
            return
        index = self.position - 1
        if self._at(index) == ",":
            index -= 1
        anchor = self._anchor(index) if self._at(index) == "n" else None
        if not self.aside:
            self.main = self.subjects or self.main
        self.subjects, self.clause, self.aside = anchor or [], None, True

    def _subordinate(self, item: Item) -> None:
        if not self.aside:
            self.main = self.subjects or self.main
        self.aside, self.subjects, self.clause = True, [], None
        self.skipping = item.unit.lower in self.words.hypothetical

    def _comma(self, _: Item) -> None:
        if self.skipping:
            self.skipping = False
            self.subjects, self.aside = self.main, False
        if self.clause is not None:
            self.clause.closed = True

    def _coordinator(self, _: Item) -> None:
        if self.clause is not None and self._kind(1) not in {"a"}:
            self.clause.closed = True

    def _stop(self, _: Item) -> None:
        self.subjects, self.main, self.clause = [], [], None
        self.fronted, self.aside, self.skipping = [], False, False

    def _unknown(self, _: Item) -> None:
        self.clause = None

    def _ends_in_question(self) -> bool:
        return bool(self.items) and self.items[-1].unit.text == "?"

    # ---- statements

    def _low(self, units: Sequence[Unit]) -> str:
        """Units as part of a predicate: lower case, but names as they are."""
        return surface(units) if self.words.keeps_case else _lowered(units)

    def _object(self, clause: _Clause, noun: NounPhrase) -> None:
        members, reach = self._members(self.position)
        if noun.literal is not None and noun.literal.kind in {"date", "month", "year"} and not clause.copula:
            link = self.words.date_links["day" if noun.literal.kind == "date" else "year"]
            for subject in clause.subjects:
                self._state(subject, f"{clause.words} {link}", noun, clause.pattern or "complement")
            return
        clause.object, clause.objects, clause.open_object = noun, members, False
        if clause.copula:
            self._copula(clause, noun)
            for member in members[1:]:
                self._copula_member(clause, noun, member)
        elif clause.have and noun.of and noun.kind == "common":
            head = noun.units[slice(*noun.core)]
            for subject in clause.subjects:
                self._state(subject, f"{clause.words} {self._low(head)} {self.words.of}", noun.of, "have")
        else:
            for subject in clause.subjects:
                for member in members:
                    self._state(subject, clause.words, member, clause.pattern or "active")
        for member in members[1:]:
            self._inside(member)
        self.position = reach
        self._role_of_object(noun if reach == self.position else members[-1])

    def _role_of_object(self, noun: NounPhrase) -> None:
        """`works for Orrin, a firm in Kelm`: the apposition is about the object."""
        other = self._phrase(self.position + 2)
        if (
            self._kind(1) == ","
            and other is not None
            and noun.kind == "name"
            and other.kind == "common"
            and other.determiner
            and not other.possessive
            and self._at(self.position + 3) not in {"v"}
            and (self._at(self.position + 3) != "c" or (other.of and self._is_role(other.head.lower)))
        ):
            self._describe(noun, other, stated=True, pattern="apposition")
            self.position += 2
            self.clause = None
            second = self._phrase(self.position + 2)
            if self._kind(1) == "c" and second is not None and second.kind == "name" and self._kind(3) != "v":
                self._state(noun, f"{self._low(_role(other))} {self.words.of}", second, "apposition")
                self.position += 2

    def _complement(self, preposition: Unit, noun: NounPhrase) -> None:
        clause = self.clause
        word = preposition.lower
        if clause is None:
            if not self.subjects:
                self.fronted.append((word, noun))
            elif word != "of":
                self.position = self._members(self.position)[1]
            return
        if clause.closed and noun.kind != "literal":
            return
        if clause.complements and word not in self.words.verbal:
            return  # it says more about the phrase before it than about the verb
        members, reach = self._members(self.position)
        if reach > self.position and self._at(reach + 1) == "v":
            members, reach = [noun], self.position
        predicate, pattern = self._complement_predicate(clause, word, noun)
        if predicate is not None:
            for subject in clause.subjects:
                for member in members:
                    self._state(subject, predicate, member, pattern)
        for member in members[1:]:
            self._inside(member)
        clause.complements += 1
        clause.open_object = False
        self.position = reach
        self._skip_wider_place(members[-1])
        self._role_of_object(members[-1])

    def _complement_predicate(self, clause: _Clause, word: str, noun: NounPhrase) -> tuple[str | None, str]:
        """The predicate that leads to a complement, None if none reads well, and its pattern."""
        if clause.copula and clause.object is not None:
            plain = clause.object.kind == "common" and not clause.object.of and not clause.complements
            return (f"{self._low(_argument(clause.object))} {word}" if plain else None), "role"
        if clause.copula and clause.adjective:
            return f"{clause.words} {clause.adjective} {word}", "adjective"
        pattern = "object_complement" if clause.object is not None else clause.pattern or "complement"
        if clause.passive and not clause.complements and not clause.pattern:
            pattern = "passive"
        elif clause.complements and pattern != "participle" and noun.kind != "literal":
            pattern = "later_complement"
        predicate = clause.with_object()
        return (f"{predicate} {word}" if predicate else None), pattern

    def _skip_wider_place(self, noun: NounPhrase) -> None:
        """`in Berkeley, California,`: the second name only says which Berkeley."""
        wider = self._phrase(self.position + 2)
        if self._kind(1) == "," and wider is not None and noun.kind == wider.kind == "name":
            after = self._at(self.position + 3)
            if after in {",", ".", "e"} or (after == "c" and self._at(self.position + 4) in {"v", "e", "a"}):
                self.position += 3 if after == "," and self._at(self.position + 4) != "e" else 2

    def _copula(self, clause: _Clause, noun: NounPhrase) -> None:
        for subject in clause.subjects:
            if noun.kind == "name" and subject.kind == "common" and subject.of:
                role = subject.units[slice(*subject.core)]
                self._state(noun, f"{self._low(role)} {self.words.of}", subject.of, "role")
            elif noun.kind == "name" and subject.owner:
                self._state(noun, f"{self._low(subject.owned)} {self.words.of}", subject.owner, "role")
            elif noun.kind == "name" and subject.possessive:
                owner = NounPhrase((subject.units[0],), "pronoun", "", True, (0, 1))
                self._state(noun, f"{self._low(_argument(subject))} {self.words.of}", owner, "role")
            elif subject.possessive or subject.owner:
                owner_units = (
                    NounPhrase((subject.units[0],), "pronoun", "", True, (0, 1))
                    if subject.possessive
                    else subject.owner
                )
                named = subject.units[subject.core[0] :] if subject.possessive else subject.owned
                self._state(owner_units, f"{self._low(named)} {clause.words}", noun, "owner")
            elif noun.kind == "name" and self._bare_role(subject):
                unit = Unit(subject.start, subject.start, "O", self.words.owner)
                owner = NounPhrase((unit,), "pronoun", "", True, (0, 1))
                self._state(noun, f"{self._low(_argument(subject))} {self.words.of}", owner, "owner")
            elif noun.kind == "common":
                self._describe(subject, noun, stated=True, pattern="role" if noun.of else "definition")
            else:
                self._state(subject, clause.words, noun, clause.pattern or "active")

    def _is_role(self, head: str) -> bool:
        head = head.split("-", maxsplit=1)[0] if head not in self.words.roles else head
        return head in self.words.roles or head in self.words.head_types

    def _copula_member(self, clause: _Clause, first: NounPhrase, member: NounPhrase) -> None:
        """The second of `is a son of A and B`, of `is a singer and painter`, of `Its ports are A and B`."""
        if first.kind == "name":
            self._copula(clause, member)
            return
        for subject in clause.subjects:
            if member.kind == "name" and first.of:
                self._state(subject, f"{self._low(_role(first))} {self.words.of}", member, "role")
            elif member.kind == "common":
                self._describe(subject, member, stated=True, pattern="definition")

    def _bare_role(self, noun: NounPhrase) -> bool:
        """`The editor-in-chief` without saying of what."""
        definite = (
            bool(noun.determiner) and noun.determiner not in self.words.indefinite | self.words.quantifiers
        )
        return definite and not noun.of and noun.head.lower.split("-")[0] in self.words.roles

    def _describe(self, subject: NounPhrase, role: NounPhrase, *, stated: bool, pattern: str) -> None:
        head = role.head.lower
        if role.of:
            self._state(
                subject, f"{self._low(role.units[slice(*role.core)])} {self.words.of}", role.of, pattern
            )
        elif role.owner:
            self._state(subject, f"{self._low(role.owned)} {self.words.of}", role.owner, pattern)
        elif role.possessive:
            owner = NounPhrase((role.units[0],), "pronoun", "", True, (0, 1))
            self._state(subject, f"{self._low(_argument(role))} {self.words.of}", owner, pattern)
        elif head not in self.words.light:
            self._state(subject, self.words.is_, _argument(role), "definition")
        if head not in self.words.light and role.determiner not in self.words.quantifiers:
            self.out.descriptions.append(Description(subject, surface(_argument(role)), head, stated))

    def _state(
        self,
        subject: NounPhrase | tuple[Unit, ...],
        predicate: str,
        object_: NounPhrase | tuple[Unit, ...],
        pattern: str,
    ) -> None:
        self.out.statements.append(Statement(subject, predicate, object_, pattern))

"""What clauses say: statements and descriptions, put into words once it is known which phrase is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .lexicon import Lexicon
from .phrases import NounPhrase, surface
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
class Clause:
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
        words = lowered(without_determiner(self.object))
        if len(words.split()) > _MAX_PREDICATE_OBJECT or self.object.kind == "pronoun":
            return None
        return f"{self.words} {words}"


def role_of(noun: NounPhrase) -> tuple[Unit, ...]:
    """`chief engineer` of `the chief engineer of Orrin`."""
    return noun.units[slice(*noun.core)]


def lowered(units: Sequence[Unit]) -> str:
    """Units in lower case."""
    return surface([unit if unit.kind == "P" else replace(unit, text=unit.lower) for unit in units])


def without_determiner(noun: NounPhrase) -> tuple[Unit, ...]:
    """A noun phrase without determiner."""
    return noun.units[noun.core[0] :]


class Statements:
    """Puts what a sentence says into its reading.

    Args:
        words: lexicon of its language.

    Attributes:
        reading: what was said so far.
    """

    def __init__(self, words: Lexicon) -> None:
        self.words = words
        self.reading = Reading()

    def state(
        self,
        subject: NounPhrase | tuple[Unit, ...],
        predicate: str,
        object_: NounPhrase | tuple[Unit, ...],
        pattern: str,
    ) -> None:
        """Note a statement; see `Statement`."""
        self.reading.statements.append(Statement(subject, predicate, object_, pattern))

    def describe(self, subject: NounPhrase, role: NounPhrase, *, stated: bool, pattern: str) -> None:
        """Note that a subject is what a noun phrase names: `the mayor of Orrin`, `a village`."""
        head = role.head.lower
        if role.of:
            self.state(
                subject, f"{self.low(role.units[slice(*role.core)])} {self.words.of}", role.of, pattern
            )
        elif role.owner:
            self.state(subject, f"{self.low(role.owned)} {self.words.of}", role.owner, pattern)
        elif role.possessive:
            owner = NounPhrase((role.units[0],), "pronoun", "", True, (0, 1))
            self.state(subject, f"{self.low(without_determiner(role))} {self.words.of}", owner, pattern)
        elif head not in self.words.light:
            self.state(subject, self.words.is_, without_determiner(role), "definition")
        if head not in self.words.light and role.determiner not in self.words.quantifiers:
            self.reading.descriptions.append(
                Description(subject, surface(without_determiner(role)), head, stated)
            )

    def copula(self, clause: Clause, noun: NounPhrase) -> None:
        """Note what the subjects of `is` are."""
        for subject in clause.subjects:
            if noun.kind == "name" and subject.kind == "common" and subject.of:
                role = subject.units[slice(*subject.core)]
                self.state(noun, f"{self.low(role)} {self.words.of}", subject.of, "role")
            elif noun.kind == "name" and subject.owner:
                self.state(noun, f"{self.low(subject.owned)} {self.words.of}", subject.owner, "role")
            elif noun.kind == "name" and subject.possessive:
                owner = NounPhrase((subject.units[0],), "pronoun", "", True, (0, 1))
                self.state(noun, f"{self.low(without_determiner(subject))} {self.words.of}", owner, "role")
            elif subject.possessive or subject.owner:
                owner_units = (
                    NounPhrase((subject.units[0],), "pronoun", "", True, (0, 1))
                    if subject.possessive
                    else subject.owner
                )
                named = subject.units[subject.core[0] :] if subject.possessive else subject.owned
                self.state(owner_units, f"{self.low(named)} {clause.words}", noun, "owner")
            elif noun.kind == "name" and self._bare_role(subject):
                unit = Unit(subject.start, subject.start, "O", self.words.owner)
                owner = NounPhrase((unit,), "pronoun", "", True, (0, 1))
                self.state(noun, f"{self.low(without_determiner(subject))} {self.words.of}", owner, "owner")
            elif noun.kind == "common":
                self.describe(subject, noun, stated=True, pattern="role" if noun.of else "definition")
            else:
                self.state(subject, clause.words, noun, clause.pattern or "active")

    def copula_member(self, clause: Clause, first: NounPhrase, member: NounPhrase) -> None:
        """The second of `is a son of A and B`, of `is a singer and painter`, of `Its ports are A and B`."""
        if first.kind == "name":
            self.copula(clause, member)
            return
        for subject in clause.subjects:
            if member.kind == "name" and first.of:
                self.state(subject, f"{self.low(role_of(first))} {self.words.of}", member, "role")
            elif member.kind == "common":
                self.describe(subject, member, stated=True, pattern="definition")

    def _bare_role(self, noun: NounPhrase) -> bool:
        """`The editor-in-chief` without saying of what."""
        definite = (
            bool(noun.determiner) and noun.determiner not in self.words.indefinite | self.words.quantifiers
        )
        return definite and not noun.of and noun.head.lower.split("-")[0] in self.words.roles

    def is_role(self, head: str) -> bool:
        """Whether a head noun is one that people or things have a part by: mayor, engineer, capital."""
        head = head.split("-", maxsplit=1)[0] if head not in self.words.roles else head
        return head in self.words.roles or head in self.words.head_types

    def complement_predicate(self, clause: Clause, word: str, noun: NounPhrase) -> tuple[str | None, str]:
        """The predicate that leads to a complement, None if none reads well, and its pattern."""
        if clause.copula and clause.object is not None:
            plain = clause.object.kind == "common" and not clause.object.of and not clause.complements
            return (f"{self.low(without_determiner(clause.object))} {word}" if plain else None), "role"
        if clause.copula and clause.adjective:
            return f"{clause.words} {clause.adjective} {word}", "adjective"
        pattern = "object_complement" if clause.object is not None else clause.pattern or "complement"
        if clause.passive and not clause.complements and not clause.pattern:
            pattern = "passive"
        elif clause.complements and pattern != "participle" and noun.kind != "literal":
            pattern = "later_complement"
        predicate = clause.with_object()
        return (f"{predicate} {word}" if predicate else None), pattern

    def low(self, units: Sequence[Unit]) -> str:
        """Units as part of a predicate: lower case, but names as they are."""
        return surface(units) if self.words.keeps_case else lowered(units)

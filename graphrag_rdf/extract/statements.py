"""What clauses say: statements and descriptions, put into words once it is known which phrase is what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from .lexicon import Lexicon
from .model import Qualifiers
from .phrases import NounPhrase, VerbGroup, surface
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
    "object_complement": 0.65,  # X filed a suit against Y
    "life": 0.8,  # X (1871-1930)
    "title": 0.6,  # the engineer X
    "have": 0.75,  # X has a population of 12
}
"""How sure each pattern is, before references are resolved."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a clause, its parts still phrases.

    Args:
        subject: a noun phrase, or its units where it is part of one.
        predicate: in lower case.
        object: as `subject`.
        pattern: key of `CONFIDENCE`.
        doubt: why it is not asserted (see `doubt`), or "".
        general: whether it is in the present tense, so that its subject may be a kind of thing.
        qualifiers: the dates that stand beside it; see `RelationCandidate`.
    """

    subject: NounPhrase | tuple[Unit, ...]
    predicate: str
    object: NounPhrase | tuple[Unit, ...]
    pattern: str
    doubt: str = ""
    general: bool = False
    qualifiers: Qualifiers = ()


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
    """A verb with its subjects, and its object once that has been read."""

    subjects: list[NounPhrase]
    words: str
    passive: bool
    copula: bool
    have: bool
    pattern: str
    object: NounPhrase | None = None


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
        doubt: why what is said now is not asserted, or "".
        opens: whether the clause opens its sentence, which ends with a full stop.
        general: whether it is in the present tense too, and so may speak of a kind of thing.
        qualifiers: the dates of what is said now.
    """

    def __init__(self, words: Lexicon) -> None:
        self.words = words
        self.reading = Reading()
        self.doubt = ""
        self.opens = False
        self.general = False
        self.qualifiers: Qualifiers = ()

    def state(
        self,
        subject: NounPhrase | tuple[Unit, ...],
        predicate: str,
        object_: NounPhrase | tuple[Unit, ...],
        pattern: str,
    ) -> None:
        """Note a statement; see `Statement`."""
        general = self.general and pattern in {"active", "passive", "definition", "have"}
        statement = Statement(subject, predicate, object_, pattern, self.doubt, general, self.qualifiers)
        self.reading.statements.append(statement)

    def agree(self, subjects: Sequence[NounPhrase], verb: VerbGroup) -> bool:
        """Whether subjects and verb agree in number, as far as the tags tell; notes the tense of the verb."""
        finite = next((unit for unit in verb.units if unit.kind in "BHXV"), verb.units[0])
        word = finite.lower
        self.general = self.opens and finite.tag in self.words.present and (verb.have or finite.kind != "H")
        one = finite.tag in self.words.singular or word == "was"
        several = (
            finite.tag in self.words.plural and (not word.endswith("s") or word.endswith("ss"))
        ) or word == "were"
        head = subjects[0].head
        plural = len(subjects) > 1 or self._several(subjects[0])
        singular = len(subjects) == 1 and not plural and not head.lower.endswith("s")
        return not (one and plural) and not (several and singular and subjects[0].kind != "pronoun")

    @staticmethod
    def _several(noun: NounPhrase) -> bool:
        return noun.head.tag.startswith("NN2") or noun.units[0].lower in {"they", "these"}

    def describe(self, subject: NounPhrase, role: NounPhrase, *, stated: bool, pattern: str) -> None:
        """Note that a subject is what a noun phrase names: `the mayor of Orrin`, `a village`."""
        head = role.head.lower
        doubt = self.doubt
        if role.head.tag.startswith("NN2") and not self._several(subject):  # of one of several
            self.doubt = doubt or "number_mismatch"
        self._describe(subject, role, head, pattern)
        self.doubt = doubt
        if not doubt and head not in self.words.light and role.determiner not in self.words.quantifiers:
            text = surface(without_determiner(role))
            self.reading.descriptions.append(Description(subject, text, head, stated))

    def _describe(self, subject: NounPhrase, role: NounPhrase, head: str, pattern: str) -> None:
        if role.of and head not in self.words.light:
            self.role(subject, role, self.words.of, role.of, pattern)
        elif role.owner:
            if role.owner[-1].kind != "P":  # "the world's largest museum"
                return
            self.state(subject, self.role_predicate(role.owned, self.words.of), role.owner, pattern)
        elif role.possessive:
            self.state(
                subject, self.role_predicate(role_of(role), self.words.of), self.owner_of(role), pattern
            )
        elif not role.of and head not in self.words.light:
            self.state(subject, self.words.is_, without_determiner(role), "definition")

    def role(
        self,
        subject: NounPhrase,
        role: NounPhrase,
        preposition: str,
        other: NounPhrase | tuple[Unit, ...],
        pattern: str,
    ) -> None:
        """Note `village in | Kent` of `a small village in Kent`; of a part of no name what it is."""
        named = other.kind == "name" if isinstance(other, NounPhrase) else other[-1].kind == "P"
        if named and preposition not in self.words.prepositional:
            self.state(subject, self.role_predicate(role_of(role), preposition), other, pattern)
        elif preposition == self.words.of:
            self.state(subject, self.words.is_, without_determiner(role), "definition")

    def role_predicate(self, role: Sequence[Unit], preposition: str) -> str:
        """`mayor of` for `popular first mayor`: adjectives go, but for those that change it (former)."""
        kept = [unit for unit in role if unit.kind not in "JREGM" or unit.lower in self.words.shifting]
        return f"{self.low(kept or role)} {preposition}"

    def role_of(self, role: Sequence[Unit]) -> str:
        """`mayor of`."""
        return self.role_predicate(role, self.words.of)

    @staticmethod
    def owner_of(noun: NounPhrase) -> NounPhrase:
        """The possessive pronoun of a phrase as a phrase of its own."""
        return NounPhrase((noun.units[0],), "pronoun", "", True, (0, 1))

    def copula(self, clause: Clause, noun: NounPhrase) -> None:
        """Note what the subjects of `is` are."""
        for subject in clause.subjects:
            plural = subject.head.tag.startswith("NN2")
            role = role_of(subject)
            if subject.kind == "common" and subject.of and noun.kind == "name" and not plural:
                self.state(noun, self.role_of(role), subject.of, "role")
            elif subject.kind == "common" and subject.of and noun.literal is not None:
                self.state(subject.of, f"{self.words.has} {self.low(role)} {self.words.of}", noun, "have")
            elif subject.kind == "common" and subject.owner and noun.literal is not None:
                self.state(
                    subject.owner, f"{self.words.has} {self.low(subject.owned)} {self.words.of}", noun, "have"
                )
            elif noun.kind == "name" and subject.owner and not plural:
                self.state(noun, self.role_of(subject.owned), subject.owner, "role")
            elif noun.kind == "name" and subject.possessive and not plural:
                self.state(noun, self.role_of(role), self.owner_of(subject), "role")
            elif noun.kind == "common" and not (subject.of or subject.owner or subject.possessive):
                self.describe(subject, noun, stated=True, pattern="role" if noun.of else "definition")
            elif noun.kind == subject.kind == "name":
                self.state(subject, clause.words, noun, clause.pattern or "active")

    def copula_member(self, clause: Clause, first: NounPhrase, member: NounPhrase) -> None:
        """The second of `is a son of A and B`, of `is a singer and painter`, of `Its ports are A and B`."""
        if first.kind == "name":
            self.copula(clause, member)
            return
        for subject in clause.subjects:
            if member.kind == "name" and first.of:
                self.role(subject, first, self.words.of, member, "role")
            elif member.kind == "common":
                self.describe(subject, member, stated=True, pattern="definition")

    def have_or_do(self, clause: Clause, subject: NounPhrase, noun: NounPhrase) -> None:
        """Note `has population of | 12`, or what else a verb has as its object."""
        amount = noun.of[0].literal if len(noun.of) == 1 and noun.units[noun.core[1]].kind == "F" else None
        if clause.have and amount is not None:
            predicate = f"{clause.words} {self.low(role_of(noun))} {self.words.of}"
            self.state(subject, predicate, noun.of, "have")
        else:
            self.state(subject, clause.words, noun, clause.pattern or "active")

    def is_role(self, head: str) -> bool:
        """Whether a head noun is one that people or things have a part by: mayor, engineer, capital."""
        head = head.split("-", maxsplit=1)[0] if head not in self.words.roles else head
        return head in self.words.roles or head in self.words.head_types

    def low(self, units: Sequence[Unit]) -> str:
        """Units as part of a predicate: lower case, but names as they are."""
        return surface(units) if self.words.keeps_case else lowered(units)

"""Statements and descriptions of clauses, and what their subjects and objects stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from .lexicon import Lexicon
from .model import Qualifiers
from .names import fold
from .numbers import LiteralSpan
from .phrases import NounPhrase, VerbGroup, surface
from .reference import Known, References
from .tagging import Unit

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
"""Confidence of each pattern, before references are resolved."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a clause, its parts still phrases.

    Args:
        subject: a noun phrase, or its units where it is part of one.
        predicate: in lower case.
        object: as `subject`.
        pattern: key of `CONFIDENCE`.
        doubt: why it is not asserted (see `modality`), or "".
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
    """A description of a subject.

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
    """The statements and descriptions of a sentence.

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
    """Collects the statements and descriptions of a sentence.

    Args:
        words: lexicon of its language.

    Attributes:
        reading: the result so far.
        doubt: why the present clause is not asserted, or "".
        opens: whether the clause opens its sentence, which ends with a full stop.
        general: whether it is in the present tense too, and so may speak of a kind of thing.
        qualifiers: the dates of the present statement.
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
        """Note what a subject is: `the mayor of Orrin`, `a village`."""
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
        """Note what the subjects of "is" are."""
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
        """Note `has population of | 12`, or another verb with its object."""
        amount = noun.of[0].literal if len(noun.of) == 1 and noun.units[noun.core[1]].kind == "F" else None
        if clause.have and amount is not None:
            predicate = f"{clause.words} {self.low(role_of(noun))} {self.words.of}"
            self.state(subject, predicate, noun.of, "have")
        else:
            self.state(subject, clause.words, noun, clause.pattern or "active")

    def is_role(self, head: str) -> bool:
        """Whether a head noun names a role: mayor, engineer, capital."""
        head = head.split("-", maxsplit=1)[0] if head not in self.words.roles else head
        return head in self.words.roles or head in self.words.head_types

    def low(self, units: Sequence[Unit]) -> str:
        """Units as part of a predicate: lower case, but names as they are."""
        return surface(units) if self.words.keeps_case else lowered(units)


# --- subjects and objects ------------------------------------------------------------------------------


Part = NounPhrase | Sequence[Unit]

_RESOLVED = 0.85
_ASSUMED = 0.7
_GENERIC = 0.75
_BARE_NOUN = 0.8


@dataclass(slots=True)
class Argument:
    """A subject or object as text.

    Args:
        text: its name, or the words of a literal.
        known: the thing it is, if it is one.
        literal: the date or number it is, if it is one.
        factor: what its uncertainty multiplies a statement's confidence by.
    """

    text: str
    known: Known | None = None
    literal: LiteralSpan | None = None
    factor: float = 1.0


class Arguments:
    """Resolves the subjects and objects of one chunk, in text order.

    Args:
        words: lexicon of the chunk's language.
        references: what the chunk has named so far.
        canonical: the canonical name for a surface form.
        reject: why a name is unfit, or None.
    """

    def __init__(
        self,
        words: Lexicon,
        references: References,
        canonical: Callable[[str], str],
        reject: Callable[[str], str | None],
    ) -> None:
        self._words = words
        self._references = references
        self._canonical = canonical
        self._reject = reject
        self.spans: dict[str, tuple[int, int]] = {}
        """Folded name -> (offset, length) where it was first read."""

    def subject(self, part: Part, *, general: bool = False) -> Argument | str:
        """The subject of a statement.

        Args:
            part: its phrase.
            general: whether the statement says what a kind of thing is: then "a bridge" may be its subject.

        Returns:
            the argument, or the reason why it cannot be one.
        """
        if not isinstance(part, NounPhrase):
            return self._units(part)
        if part.kind == "pronoun":
            return self._pronoun(part.units[0].lower)
        if part.kind == "literal":
            return "literal_subject"
        return self._name_phrase(part) if part.kind == "name" else self._common(part, general=general)

    def object(self, part: Part) -> Argument | str:
        """The object of a statement; common nouns stay literals.

        Args:
            part: its phrase.

        Returns:
            the argument, or the reason why it cannot be one.
        """
        if not isinstance(part, NounPhrase):
            return self._units(part)
        if part.literal is not None:
            return Argument(surface(part.units), literal=part.literal)
        if part.kind == "pronoun":
            # a personal pronoun in object position has too many candidates
            return self._pronoun(part.units[0].lower) if part.possessive else "pronoun_object"
        return self._name_phrase(part) if part.kind == "name" else self._common_object(part)

    def meet(self, units: Sequence[Unit]) -> Known:
        """The thing that units name, remembered with its place."""
        known = self._references.meet(self._canonical(surface(units)))
        self._place(known, units[0].start, units[-1].end)
        return known

    def _place(self, known: Known, start: int, end: int) -> None:
        self.spans.setdefault(fold(known.name), (start, end - start))

    def _units(self, units: Sequence[Unit]) -> Argument | str:
        if units[0].kind == "S":
            return "unresolved_owner"
        inner = units[1:] if units[0].kind == "D" and len(units) > 1 else units
        if len(units) == 1 and units[0].literal is not None:
            return Argument(units[0].text, literal=units[0].literal)
        if inner[-1].kind == "P":
            return self._name(inner)
        return Argument(surface(inner)) if inner[-1].lower not in self._words.light else "light_noun"

    def _name(self, units: Sequence[Unit]) -> Argument | str:
        units = self._named_part(units)
        if self._words.keeps_case and any(unit.kind == "N" for unit in units):
            return "unnamed_subject"  # "Planung Henry Cole": two phrases side by side
        reason = self._reject(surface(units))
        if reason:
            return reason
        known = self.meet(units)
        return Argument(known.name, known)

    def _name_phrase(self, noun: NounPhrase) -> Argument | str:
        """A name; `his wife Mary` is named by herself, `its Impact Factor` only by its owner."""
        units = noun.units[noun.core[0] :]
        if noun.possessive and self._named_part(units) is units and len(noun.owned) == len(units):
            return "unresolved_owner"
        return self._name(units)

    def _resolved(self, known: Known) -> Argument:
        return Argument(known.name, known, factor=_ASSUMED if known.assumed else _RESOLVED)

    def _pronoun(self, word: str) -> Argument | str:
        known = self._references.pronoun(word)
        if known is not None:
            return self._resolved(known)
        return "unresolved_pronoun" if self._words.pronouns.get(word) != "other" else "speaker_or_reader"

    def _common(self, noun: NounPhrase, *, general: bool) -> Argument | str:
        """A common noun: what it refers to, or the kind of thing in general."""
        if noun.possessive or noun.owner:
            return self._owned(noun)
        definite = bool(noun.determiner) and noun.determiner not in self._words.indefinite
        if definite and not noun.of and noun.determiner in self._words.definite:
            known = self._references.described(noun.head.lower)
            return self._resolved(known) if known is not None else "unresolved_description"
        return self._unfit(noun, definite=definite, general=general) or self._kind_of_thing(noun)

    def _unfit(self, noun: NounPhrase, *, definite: bool, general: bool) -> str | None:
        """Why a common noun cannot be a subject by itself, or None."""
        head = noun.head.lower
        reasons = {
            "negated": noun.determiner in self._words.negative,
            "light_noun": head in self._words.light or noun.determiner in self._words.quantifiers,
            "counted_subject": any(unit.kind == "M" for unit in noun.units[slice(*noun.core)]),
            "unnamed_subject": definite or not general or self._references.spoken,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _kind_of_thing(self, noun: NounPhrase) -> Argument | str:
        text = surface(noun.units[noun.core[0] :])
        # a capital that only opens the sentence goes; DNA keeps its own
        name = text[0].lower() + text[1:] if text[1:2].islower() and not self._words.keeps_case else text
        reason = self._reject(name)
        if reason:
            return reason
        known = self._references.meet(self._canonical(name), short=False)
        head = noun.head.lower
        known.head = known.head or head
        if noun.head.tag.startswith("NN2"):
            known.gender = "they"
        elif self._words.head_types.get(head) != "Person":
            known.gender = known.gender or "it"
        self._place(known, noun.units[noun.core[0]].start, noun.end)
        return Argument(known.name, known, factor=_GENERIC)

    def _owned(self, noun: NounPhrase) -> Argument | str:
        """`Ada Venn's sister`: somebody or something named by a role and its owner."""
        head = noun.head.lower
        if noun.possessive or head not in self._words.roles or not any(u.kind == "P" for u in noun.owner):
            return "unnamed_subject"
        owner = self._name(noun.owner)
        if isinstance(owner, str):
            return owner
        known = self._references.meet(f"{owner.text}'s {surface(noun.owned)}", short=False)
        known.head = known.head or head
        self._place(known, noun.start, noun.end)
        return Argument(known.name, known, factor=owner.factor)

    def _common_object(self, noun: NounPhrase) -> Argument | str:
        if noun.determiner in self._words.quantifiers:
            return Argument(surface(noun.units))
        owners = {self._words.pronouns.get(unit.lower) for unit in noun.units if unit.kind == "S"}
        if "other" in owners and all(unit.kind != "P" for unit in noun.units):
            return "speaker_or_reader"  # "across our business"
        text = surface(noun.units[noun.core[0] :])
        owns = noun.core[1] < len(noun.units) and noun.units[noun.core[1]].kind == "F"
        if noun.head.lower in self._words.light and (noun.head.lower == text.lower() or not owns):
            return "light_noun"
        return Argument(text, factor=1.0 if " " in text else _BARE_NOUN)

    def _named_part(self, units: Sequence[Unit]) -> Sequence[Unit]:
        """`engineer Ada Venn` -> `Ada Venn`; other phrases with names stay whole (`the name oxygen`)."""
        kinds = {unit.kind for unit in units}
        if len(units) < 2 or units[-1].kind != "P" or kinds - set("NJMPY'"):
            return units
        said = units[-2].lower.rstrip(".")
        owner = self._words.keeps_case and units[-1].text.endswith("s")  # "Heimstadion Polonias"
        heads = said in self._words.head_types or said in self._words.titles
        whole = said in self._words.naming or (owner and not heads)
        return units if whole else units[-1:]

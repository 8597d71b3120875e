"""Noun phrases as subjects and objects: the name or text that they stand for, or why they stand for none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .lexicon import Lexicon
from .normalise import fold
from .numbers import LiteralSpan
from .phrases import NounPhrase, surface
from .reference import Known, References
from .units import Unit

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
    """Resolves the noun phrases of one chunk, in text order.

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
        """Why a common noun speaks of nothing by itself, or None."""
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
        """`Ada Venn's sister`: somebody or something called by a part that one has by another."""
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
        said = units[-2].lower
        owner = self._words.keeps_case and units[-1].text.endswith("s")  # "Heimstadion Polonias"
        whole = said in self._words.naming or (owner and said not in self._words.head_types)
        return units if whole else units[-1:]

"""What the subjects and objects of statements stand for: names, values, kinds of things, things of a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphrag_rdf.extract.lexicon import Lexicon
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.numbers import LiteralSpan
from graphrag_rdf.extract.tagging import Unit
from graphrag_rdf.wings.rules.clauses import Part, _several
from graphrag_rdf.wings.rules.phrases import NounPhrase, surface
from graphrag_rdf.wings.rules.reference import References, Thing

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
    thing: Thing | None = None
    literal: LiteralSpan | None = None
    factor: float = 1.0


class Arguments:
    """Resolves the subjects and objects of one chunk, in text order.

    Args:
        words: lexicon of the chunk's language.
        references: what the chunk has named so far.
        canonical: the canonical name for a surface form.
        reject: why a name is unfit, or None.

    Attributes:
        spans: folded name -> (offset, length) where it was first read.
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
        if part.kind == "literal":
            return "literal_subject"
        return self._common(part, general=general) if part.kind == "common" else self._other(part)

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
        if part.kind == "pronoun" and not part.possessive:
            return "pronoun_object"  # it has too many candidates
        return self._common_object(part) if part.kind == "common" else self._other(part)

    def meet(self, units: Sequence[Unit]) -> Thing:
        """The thing that units name, remembered with its place."""
        return self._meet(surface(units), units)

    def _meet(self, name: str, units: Sequence[Unit], *, short: bool = True) -> Thing:
        thing = self._references.meet(self._canonical(name), short=short)
        self.spans.setdefault(fold(thing.name), (units[0].start, units[-1].end - units[0].start))
        return thing

    def _units(self, units: Sequence[Unit]) -> Argument | str:
        if any(unit.kind == "S" for unit in units):
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
        name = surface(units)
        reason = self._reject(name) or (
            "cut" if len(name) < 5 and fold(name) in self._words.name_types else ""
        )
        if reason:
            return reason
        thing = self.meet(units)
        return Argument(thing.name, thing)

    def _other(self, noun: NounPhrase) -> Argument | str:
        """A pronoun or name; `his wife Mary` is named by herself, `its Impact Factor` only by its owner."""
        if noun.kind == "pronoun":
            word = noun.units[0].lower
            thing = self._references.pronoun(word)
            if thing is not None:
                return self._resolved(thing)
            return "unresolved_pronoun" if self._words.pronouns.get(word) != "other" else "speaker_or_reader"
        units = noun.units[noun.core[0] :]
        return self._name(units)

    def _resolved(self, thing: Thing) -> Argument:
        return Argument(thing.name, thing, factor=_ASSUMED if thing.assumed else _RESOLVED)

    def _common(self, noun: NounPhrase, *, general: bool) -> Argument | str:
        """A common noun: what belongs to a name, what it refers to, or the kind of thing in general."""
        words, head = self._words, noun.head.lower
        article = noun.determiner in words.definite
        if noun.determiner in words.negative:
            return "negated"
        if head in words.light or noun.determiner in words.quantifiers:
            return "light_noun"
        if any(unit.kind == "M" for unit in noun.units[slice(*noun.core)]):
            return "counted_subject"
        if noun.owner or noun.possessive:
            return self._owned(noun)
        articles = words.definite | words.indefinite
        if any(unit.kind == "S" or (unit.kind == "D" and unit.lower not in articles) for unit in noun.of):
            return "unnamed_subject"
        if noun.of and noun.of[-1].kind == "P" and (article or not noun.determiner):
            return self._thing(noun, surface(noun.units[noun.core[0] :]))
        if article and not noun.of:
            only = all(unit.kind == "J" for unit in noun.units[noun.core[0] : noun.core[1] - 1])
            thing = self._references.described(head) if only else None
            if thing is not None:
                return self._resolved(thing)
            if not (general and self._is_kind(noun)):
                return "unresolved_description"
        elif noun.determiner and noun.determiner not in words.indefinite:
            if not (article and general and not any(unit.lower in words.definite for unit in noun.of)):
                return "unnamed_subject"
        elif not general or not self._is_plain(noun):
            return "unnamed_subject"
        return self._kind_of_thing(noun)

    def _is_kind(self, noun: NounPhrase) -> bool:
        """Whether "the N" may be any N: no person, place or work, and none of a row ("the second field")."""
        typed = noun.head.lower in self._words.head_types
        return self._is_plain(noun) and not typed and not _several(noun) and not self._references.spoken

    def _is_plain(self, noun: NounPhrase) -> bool:
        return self._words.light.isdisjoint(unit.lower for unit in noun.units)

    def _owned(self, noun: NounPhrase) -> Argument | str:
        """`Ada Venn's sister`, `her sister`: a thing named by what it is and by its owner."""
        if noun.possessive and not noun.owner:
            thing = self._references.pronoun(noun.determiner)
            owner: Argument | str = self._resolved(thing) if thing else "unresolved_owner"
        elif noun.possessive:
            return "unnamed_subject"
        elif noun.owner[-1].kind == "P":
            owner = self._name(noun.owner)
        else:
            thing = (
                self._references.described(noun.owner[-1].lower)
                if noun.determiner in self._words.definite
                else None
            )
            owner = self._resolved(thing) if thing else "unnamed_subject"
        if isinstance(owner, str):
            return owner
        owned = noun.units[noun.units.index(noun.owned[0]) :]
        argument = self._thing(noun, f"{owner.text}'s {surface(owned)}")
        if isinstance(argument, Argument):
            argument.factor = owner.factor
        return argument

    def _thing(self, noun: NounPhrase, name: str) -> Argument | str:
        """A thing that a common noun names; "it" does not mean what a name owns."""
        if reason := self._reject(name):
            return reason
        thing = self._meet(name, noun.units[noun.core[0] :], short=False)
        thing.head = thing.head or noun.head.lower
        return Argument(thing.name, thing)

    def _kind_of_thing(self, noun: NounPhrase) -> Argument | str:
        text = surface(noun.units[noun.core[0] :])
        # a capital that only opens the sentence goes; DNA keeps its own
        lower = text[1:2].islower() and not self._words.keeps_case
        argument = self._thing(noun, text[0].lower() + text[1:] if lower else text)
        if isinstance(argument, str) or argument.thing is None:
            return argument
        thing, head = argument.thing, noun.head.lower
        if noun.head.tag.startswith("NN2"):
            thing.gender = "they"
        elif self._words.head_types.get(head) != "Person":
            thing.gender = thing.gender or "it"
        argument.factor = _GENERIC
        return argument

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
        if len(units) < 2 or units[-1].kind != "P" or units[-2].kind == "'" or kinds - set("NJPY'"):
            return units
        title = units[-2].lower.rstrip(".")
        owner = self._words.keeps_case and units[-1].text.endswith("s")  # "Heimstadion Polonias"
        heads = title in self._words.head_types or title in self._words.titles
        whole = title in self._words.naming or (owner and not heads)
        return units if whole else units[-1:]

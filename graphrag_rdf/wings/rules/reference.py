"""Resolving references within one chunk: pronouns, short names, "the company", and "I" and "you" in a chat.

A reference means the nearest earlier subject of fitting gender and number, else the topic of the document. If
that is not certain, the statement is rejected with the reason. Speakers are resolved for English only,
whose verbs tell which form "I" takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from graphrag_rdf.documents.model import Turn
from graphrag_rdf.extract.lexicon import Lexicon
from graphrag_rdf.extract.names import fold
from graphrag_rdf.extract.tagging import Unit

_PLACE_PREFIXES = frozenset(
    {
        "new", "old", "north", "south", "east", "west", "northern", "southern", "eastern", "western", "great",
        "san", "santa", "saint", "st", "los", "las", "el", "la", "fort", "port", "mount", "lake", "upper",
        "lower", "central", "royal", "united", "neu", "nieuw",
    }
)  # fmt: skip

_NO_PERSON = frozenset(["of", "the", "and", "for", "&"])
"""Words of names that those of people seldom have: "Journal of Yusuf Demir"."""


@dataclass(slots=True)
class Thing:
    """What is known so far about a thing.

    Args:
        name: the fullest form.
        type: entity type, if known.
        head: head noun of its description, lower case.
        gender: `he`, `she`, `it`, `they` or "".
        aliases: other forms, in the order met.
        assumed: whether it is a topic that the text itself does not name.
    """

    name: str
    type: str | None = None
    head: str = ""
    gender: str = ""
    aliases: list[str] = field(default_factory=list)
    assumed: bool = False


class References:
    """The things that a chunk has named so far.

    Attributes:
        introduced: whether the sentence before ended with something new ("… carried a letter."): then "it" is
            that, of which nothing is known.
        spoken: whether the sentence is somebody's in a chat. There others, or a picture, may have brought up
            what "it", "she" and "the team" mean, so they mean nothing.
        mixed: whether the chunk speaks of men and women: then a name alone does not tell who "she" is.
        near: folded names in the sentence before and in this one, up to the pronoun: who else may be meant.

    Args:
        words: lexicon of the chunk's language.
        places: folded name -> offset of its first mention; a short form comes after the full one.
        articled: folded names that stand with an article somewhere, as the names of people do not.
    """

    def __init__(self, words: Lexicon, places: Mapping[str, int], articled: Set[str] = frozenset()) -> None:
        self.introduced = False
        self.spoken = False
        self.near: list[str] = []
        self.mixed = False
        self._words = words
        self._places = places
        self._articled = articled
        self._known: dict[str, Thing] = {}
        self._by_last_word: dict[str, list[Thing]] = {}
        self._recent: list[Thing] = []
        self.topic: Thing | None = None

    def about(self, name: str, *, assumed: bool) -> Thing:
        """Set the topic, which a pronoun means if nothing else fits.

        Args:
            name: of the topic.
            assumed: whether the text itself does not name it.
        """
        self.topic = self.meet(name)
        self.topic.assumed = assumed
        return self.topic

    def meet(self, name: str, *, short: bool = True) -> Thing:
        """The thing that a name stands for; a surname stands for the full name met before.

        Args:
            name: as in the text.
            short: whether it may be the short form of a name met before.
        """
        key = fold(name)
        thing = self._known.get(key)
        if thing is None and short:
            thing = self._full_name(key)
            if thing is not None:
                self._known[key] = thing
                thing.aliases.append(name)
        if thing is None:
            thing = Thing(name, type=self._type_of_name(name))
            self._known[key] = thing
            parts = key.split()
            if len(parts) > 1:
                for part in {parts[0], parts[-1]}:
                    self._by_last_word.setdefault(part, []).append(thing)
        return thing

    def things(self) -> list[Thing]:
        """All things met, first met first, each once."""
        unique: dict[int, Thing] = {id(thing): thing for thing in self._known.values()}
        return list(unique.values())

    def alias(self, thing: Thing, name: str) -> None:
        """Records another name of a thing that was met."""
        key = fold(name)
        if key not in self._known:
            self._known[key] = thing
        if name != thing.name and name not in thing.aliases:
            thing.aliases.append(name)

    def subject(self, thing: Thing) -> None:
        """Note that a clause is about this thing."""
        self.introduced = False
        if thing in self._recent:
            self._recent.remove(thing)
        self._recent.append(thing)

    def pronoun(self, word: str) -> Thing | None:
        """The meaning of a third-person pronoun if it is certain: the last subject; for people, the topic.

        Args:
            word: the pronoun, possessive or not, lower case.
        """
        gender = self._words.pronouns.get(word, "other")
        if gender not in {"he", "she", "it"} or self.spoken or (gender == "it" and self.introduced):
            return None
        last = self._recent[-1] if self._recent else None
        if gender == "it":
            topic = self.topic if self.topic is not None and self.topic.type not in {None, "Person"} else None
            meant = last or topic
            return meant if meant is not None and self._is_thing(meant) else None
        people = (thing for thing in reversed(self._recent[-2:]) if self._may_be(thing, gender))
        meant = next(people, self.topic)
        if (
            meant is None
            or not self._may_be(meant, gender)
            or (meant is not self.topic and self._rivals(meant))
        ):
            return None
        if (self.mixed and meant is not self.topic and not meant.gender) or (
            meant is self.topic and meant.type is None and " " not in meant.name
        ):
            return None
        meant.gender = meant.gender or gender
        meant.type = meant.type or "Person"
        return meant

    def _is_thing(self, thing: Thing) -> bool:
        """Whether a thing is known not to be a person: by its type, its description or its article."""
        named = thing.type is not None or bool(thing.head) or fold(thing.name) in self._articled
        return (named or thing.gender == "it") and _fits(thing, "it", self._words)

    def _may_be(self, thing: Thing, gender: str) -> bool:
        """Whether a thing may be a person of this gender."""
        return fold(thing.name) not in self._articled and _fits(thing, gender, self._words)

    def _rivals(self, meant: Thing) -> bool:
        """Whether other names nearby may be those of people."""
        nearby = (self._known.get(key) or Thing(key.title()) for key in self.near)
        return any(
            thing is not meant
            and not fold(meant.name).endswith(fold(thing.name))
            and self._may_be(thing, "he")
            for thing in nearby
        )

    def described(self, head: str) -> Thing | None:
        """The meaning of "the company": the nearest thing with that description, or whose name is headed so.

        Args:
            head: the noun, lower case.
        """
        if self.spoken:
            return None
        things = {
            id(thing): thing
            for thing in [*self._recent[-1:], *([self.topic] if self.topic else [])]
            if head in {thing.head, *fold(thing.name).split(" of ")[0].split()[-1:]}
        }
        return next(iter(things.values())) if len(things) == 1 else None

    def _full_name(self, key: str) -> Thing | None:
        """The one longer name of a person that ends with, or begins with, this word."""
        if " " in key:
            return None
        things = [
            thing
            for thing in self._by_last_word.get(key, [])
            if thing.type in {None, "Person"}
            and self._places.get(fold(thing.name), -1) < self._places.get(key, 1 << 60)
            and fold(thing.name).split()[0] not in {thing.head, *_PLACE_PREFIXES}  # die Hauptstadt von Kelm
            and (thing.type == "Person" or (fold(thing.name).endswith(key) and len(thing.name.split()) <= 3))
            and _NO_PERSON.isdisjoint(fold(thing.name).split())
        ]
        return things[0] if len(things) == 1 else None

    def _type_of_name(self, name: str) -> str | None:
        parts = fold(name).replace(".", "").split()
        if len(parts) < 2:
            return None
        # in "University of Kelm" the head comes first
        head = parts[parts.index("of") - 1] if "of" in parts[1:] else parts[-1]
        by_title = self._words.titles.get(parts[0]) if "of" not in parts else None
        return self._words.name_types.get(head) or by_title


def _fits(thing: Thing, gender: str, words: Lexicon) -> bool:
    if thing.gender:
        return thing.gender == gender
    if gender in {"he", "she"}:
        if thing.type is not None:
            return thing.type == "Person"
        if not _NO_PERSON.isdisjoint(fold(thing.name).split()):
            return False
        # Moore's law is no he: people's names have capitals or particles throughout
        return words.head_types.get(thing.head, "Person") == "Person" and all(
            len(word) < 4 or word[0].isupper() for word in thing.name.split()
        )
    return thing.type != "Person"


# --- "I" and "you" -------------------------------------------------------------------------------------


CERTAINTY = 0.85
"""Factor for the confidence of a statement about a speaker, as for other resolved references."""

_OF_SPEAKER = frozenset({"i", "me", "myself", "mine"})
_OF_LISTENER = frozenset({"you", "yourself", "yours"})
_BE = {"am": "is", "'m": "is", "are": "is", "'re": "is", "were": "was", "was": "was"}
_HAVE = {"have": "has", "'ve": "has"}
_ES = re.compile(r"(?:[sxz]|ch|sh|[^aeiou]o)\Z")
_Y = re.compile(r"[^aeiou]y\Z")


def in_third_person(units: Sequence[Unit], turn: Turn) -> list[Unit]:
    """The units of a sentence with names in the place of "I" and "you", and verbs in the form for these."""
    turned: list[Unit] = []
    after = False  # the subject, perhaps with an adverb
    for unit in units:
        word = unit.lower
        who = turn.speaker if word in _OF_SPEAKER else turn.listener if word in _OF_LISTENER else None
        owner = turn.speaker if word == "my" else turn.listener if word == "your" else None
        if who is not None and unit.kind in "OZP":
            turned.append(replace(unit, kind="P", text=who, tag="NP0"))
            after = word in {"i", "you"}
        elif owner is not None and unit.kind == "S":
            turned.append(replace(unit, kind="P", text=owner, tag="NP0"))
            turned.append(Unit(unit.end, unit.end, "'", "'s", "POS"))
        elif after and unit.kind in "BHVX":
            turned.append(replace(unit, text=_form(unit)))
            after = False
        else:
            turned.append(unit)
            after = after and unit.kind == "R"
    return turned


def _form(unit: Unit) -> str:
    """The verb that goes with a name in the place of "I"."""
    word = unit.lower.replace("’", "'")
    if unit.kind == "B":
        return _BE.get(word, unit.text)
    if unit.kind == "H":
        return _HAVE.get(word, unit.text)
    if word == "do":
        return "does"
    if unit.tag.startswith("VVB"):
        if _Y.search(word):
            return f"{word[:-1]}ies"
        return f"{word}es" if _ES.search(word) else f"{word}s"
    return unit.text

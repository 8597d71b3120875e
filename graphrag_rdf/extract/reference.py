"""Who is meant: pronouns, short names and "the company" within one chunk.

Simple and shy: the nearest earlier subject of fitting gender and number, else the topic of the document; what
stays open stays open, and the statement is rejected with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from .lexicon import Lexicon
from .normalise import fold

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
class Known:
    """What the chunk has said so far about a thing.

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
        self._known: dict[str, Known] = {}
        self._by_last_word: dict[str, list[Known]] = {}
        self._recent: list[Known] = []
        self.topic: Known | None = None

    def about(self, name: str, *, assumed: bool) -> Known:
        """Sets the topic: it stands in for a pronoun where nothing else fits.

        Args:
            name: of the topic.
            assumed: whether the text itself does not name it.
        """
        self.topic = self.meet(name)
        self.topic.assumed = assumed
        return self.topic

    def meet(self, name: str, *, short: bool = True) -> Known:
        """The thing that a name stands for; a surname stands for the full name met before.

        Args:
            name: as in the text.
            short: whether it may be the short form of a name met before.
        """
        key = fold(name)
        known = self._known.get(key)
        if known is None and short:
            known = self._full_name(key)
            if known is not None:
                self._known[key] = known
                known.aliases.append(name)
        if known is None:
            known = Known(name, type=self._type_of_name(name))
            self._known[key] = known
            parts = key.split()
            if len(parts) > 1:
                for part in {parts[0], parts[-1]}:
                    self._by_last_word.setdefault(part, []).append(known)
        return known

    def known(self) -> list[Known]:
        """All things met, first met first, each once."""
        unique: dict[int, Known] = {id(known): known for known in self._known.values()}
        return list(unique.values())

    def alias(self, known: Known, other: str) -> None:
        """Records another name of a thing that was met."""
        key = fold(other)
        if key not in self._known:
            self._known[key] = known
        if other != known.name and other not in known.aliases:
            known.aliases.append(other)

    def subject(self, known: Known) -> None:
        """Says that a clause is about this thing."""
        self.introduced = False
        if known in self._recent:
            self._recent.remove(known)
        self._recent.append(known)

    def pronoun(self, word: str) -> Known | None:
        """Whom a third-person pronoun means, if that is certain: the last subject or, for people, the topic.

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
        people = (known for known in reversed(self._recent[-2:]) if self._may_be(known, gender))
        meant = next(people, self.topic)
        if (
            meant is None
            or not self._may_be(meant, gender)
            or (meant is not self.topic and self._rivals(meant))
        ):
            return None
        if last is not None and last is not meant and last.type == "Person":
            return None
        if (self.mixed and meant is not self.topic and not meant.gender) or (
            meant is self.topic and meant.type is None and " " not in meant.name
        ):
            return None
        meant.gender = meant.gender or gender
        meant.type = meant.type or "Person"
        return meant

    def _is_thing(self, known: Known) -> bool:
        """Whether a thing is known to be no person: by its type, by what it was called, or by its article."""
        named = known.type is not None or bool(known.head) or fold(known.name) in self._articled
        return (named or known.gender == "it") and _fits(known, "it", self._words)

    def _may_be(self, known: Known, gender: str) -> bool:
        """Whether a thing may be a person of this gender."""
        return fold(known.name) not in self._articled and _fits(known, gender, self._words)

    def _rivals(self, meant: Known) -> bool:
        """Whether other names nearby may be those of people."""
        others = (self._known.get(key) or Known(key.title()) for key in self.near)
        return any(
            other is not meant
            and not fold(meant.name).endswith(fold(other.name))
            and self._may_be(other, "he")
            for other in others
        )

    def described(self, head: str) -> Known | None:
        """What "the company" means: the nearest thing described as one, or with the word in its name.

        Args:
            head: the noun, lower case.
        """
        if self.spoken:
            return None
        found = {
            id(known): known
            for known in [*self._recent[-1:], *([self.topic] if self.topic else [])]
            if known.head == head or head in fold(known.name).split()
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def _full_name(self, key: str) -> Known | None:
        """The one longer name of a person that ends with, or begins with, this word."""
        if " " in key:
            return None
        found = [
            known
            for known in self._by_last_word.get(key, [])
            if known.type in {None, "Person"}
            and self._places.get(fold(known.name), -1) < self._places.get(key, 1 << 60)
            and fold(known.name).split()[0] not in _PLACE_PREFIXES
            and (known.type == "Person" or (fold(known.name).endswith(key) and len(known.name.split()) <= 3))
            and _NO_PERSON.isdisjoint(fold(known.name).split())
        ]
        return found[0] if len(found) == 1 else None

    def _type_of_name(self, name: str) -> str | None:
        parts = fold(name).replace(".", "").split()
        if len(parts) < 2:
            return None
        # in "University of Kelm" the head comes first
        head = parts[parts.index("of") - 1] if "of" in parts[1:] else parts[-1]
        by_title = self._words.titles.get(parts[0]) if "of" not in parts else None
        return self._words.name_types.get(head) or by_title


def _fits(known: Known, gender: str, words: Lexicon) -> bool:
    if known.gender:
        return known.gender == gender
    if gender in {"he", "she"}:
        if known.type is not None:
            return known.type == "Person"
        if not _NO_PERSON.isdisjoint(fold(known.name).split()):
            return False
        # Moore's law is no he: people's names have capitals or particles throughout
        return words.head_types.get(known.head, "Person") == "Person" and all(
            len(word) < 4 or word[0].isupper() for word in known.name.split()
        )
    return known.type != "Person"

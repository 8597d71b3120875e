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
    [
        "new",
        "old",
        "north",
        "south",
        "east",
        "west",
        "northern",
        "southern",
        "eastern",
        "western",
        "great",
        "san",
        "santa",
        "saint",
        "st",
        "los",
        "las",
        "el",
        "la",
        "fort",
        "port",
        "mount",
        "lake",
        "upper",
        "lower",
        "central",
        "royal",
        "united",
        "neu",
        "nieuw",
    ]
)

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
        owned: whether it is named by its owner.
    """

    name: str
    type: str | None = None
    head: str = ""
    gender: str = ""
    aliases: list[str] = field(default_factory=list)
    assumed: bool = False
    owned: bool = False


class References:
    """The things that a chunk has named so far.

    Attributes:
        introduced: whether the sentence before ended with something new ("… carried a letter."): then "it" is
            that, of which nothing is known.
        spoken: whether the sentence is somebody's in a chat. There others, or a picture, may have brought up
            what "it", "she" and "the team" mean, so they mean nothing.

    Args:
        words: lexicon of the chunk's language.
        places: folded name -> offset of its first mention; a short form comes after the full one.
        articled: folded names that stand with an article somewhere, as the names of people do not.
    """

    def __init__(self, words: Lexicon, places: Mapping[str, int], articled: Set[str] = frozenset()) -> None:
        self.introduced = False
        self.spoken = False
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
        """Whom a third-person pronoun means.

        Args:
            word: the pronoun, possessive or not, lower case.
        """
        gender = self._words.pronouns.get(word, "other")
        if gender == "other" or self.spoken or (gender == "it" and self.introduced):
            return None
        nearest = [*reversed(self._recent), *([self.topic] if self.topic else [])]
        if gender == "she" and nearest and self._is_vessel(nearest[0]):
            return nearest[0]
        for known in nearest:
            if gender in {"he", "she"} and fold(known.name) in self._articled:
                continue
            if _fits(known, gender, self._words):
                if gender in {"he", "she"}:
                    known.gender = known.gender or gender
                    known.type = known.type or "Person"
                return known
        return None

    def _is_vessel(self, known: Known) -> bool:
        """Whether "she" may be said of a thing with a name, as of ships: "the Petrel"."""
        return (
            fold(known.name) in self._articled
            and known.name[0].isupper()
            and known.type in {None, "Product"}
            and " " not in known.name
        )

    def described(self, head: str) -> Known | None:
        """What "the company" means: the nearest thing described as one, or with the word in its name.

        Args:
            head: the noun, lower case.
        """
        if self.spoken:
            return None
        for known in [*reversed(self._recent), *([self.topic] if self.topic else [])]:
            if known.head == head or head in fold(known.name).split():
                return known
        wanted = self._words.head_types.get(head)
        if wanted and self.topic is not None and self.topic.type == wanted and not self.topic.head:
            return self.topic
        return None

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
    if gender == "they":
        return known.type in {"Organisation", "Group"} or known.head in {
            "band",
            "group",
            "team",
            "family",
            "people",
        }
    return known.type != "Person"

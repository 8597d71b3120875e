"""Rules that compare spellings: which names are so alike that they may name one thing.

Names are compared by key or by character 3-grams, both through postings, so that cost grows with the names
and with those that are alike, not with their pairs. Whether two entities *are* one is not decided here; see
`entity_normalisation`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphrag_rdf.extract.names import apart, fold
from graphrag_rdf.ingest.names import APOSTROPHES, NOT_WORD, words

_ORDINAL = re.compile(r"\d|^[ivxlcdm]{1,7}$")
_UPPER_WORD = re.compile(r"[A-ZÀ-Þ]")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two things whose names are alike.

    Attributes:
        one, other: positions in what was compared, the smaller first.
        rule: which rule brought them together.
        score: 0 to 1.
    """

    one: int
    other: int
    rule: str
    score: float


def _plain(name: str) -> list[str]:
    decomposed = unicodedata.normalize("NFKD", " ".join(words(name)))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).split()


def _apart(name: str) -> list[str]:
    """As words, if they are written together."""
    return words(apart(name))


def _without_article(name: str) -> list[str]:
    found = _plain(name)
    return found[1:] if len(found) > 1 and found[0] in ARTICLES else found


def _without_legal_form(name: str) -> list[str]:
    found = _without_article(name)
    while len(found) > 1 and found[-1] in LEGAL_FORMS:
        found.pop()
    return found


def _without_title(name: str) -> list[str]:
    """Without title, if a full name is left: not of a Captain Finch, nor of Major James Park."""
    found = _without_article(name)
    while len(found) > 2 and found[0] in TITLES and found[-1] not in HEADS:
        found = found[1:]
    return found


def _singular(name: str) -> list[str]:
    """With the last word in the singular, unless it is part of a proper name (Adams is not Adam)."""
    found = _without_article(name)
    last = name.split()[-1:] or [""]
    if not found or _UPPER_WORD.search(last[0]):
        return found
    word = found[-1]
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return [*found[:-1], word.removesuffix(ending) + instead]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return [*found[:-1], word[:-1]]
    return found


def _adds_a_head(one: str, other: str) -> bool:
    """Whether one name is the other with a word behind it that makes it another kind of thing."""
    short, long = sorted((_without_article(one), _without_article(other)), key=len)
    return len(long) == len(short) + 1 and long[:-1] == short and long[-1] in HEADS | LEGAL_FORMS


TOGETHER = 0.97
"""Confidence in names that differ only in the blanks between words with capitals."""

KEYS: Sequence[tuple[str, Callable[[str], list[str]], float]] = (
    ("punctuation", words, 0.98),
    ("together", _apart, TOGETHER),
    ("accents", _plain, 0.96),
    ("article", _without_article, 0.95),
    ("legal_form", _without_legal_form, 0.93),
    ("plural", _singular, 0.91),
    ("title", _without_title, 0.9),
)
"""(rule, its key of a name, confidence): names with the same key are alike, by the first rule that fits."""

FIRM_NAME = 0.93, 0.85
"""Confidence that a name without the legal form is the firm's: if both are known to be of one type, and if
not, since a town or a person may have that name.
"""

ALIAS = 0.92
"""Confidence that a name which is an alias of another thing names that thing."""

SHORT_NAME = 0.85
"""The same, where the alias is part of the other's own name: "Orr" and "Andrew Orr"."""

INITIALS = 0.9
"""Confidence that two names are the same of which one has initials, if a document names both."""


def same_key(names: Sequence[tuple[int, str]]) -> Iterator[Pair]:
    """Pairs of things that have a name in common after bolder normalisation, by the surest rule.

    Args:
        names: (thing, name); a thing may have several.
    """
    seen: set[tuple[int, int]] = set()
    plain: dict[int, set[str]] = defaultdict(set)
    for thing, name in names:
        plain[thing].add(" ".join(_without_article(name)))
    for rule, key_of, score in KEYS:
        holders: dict[str, dict[int, None]] = defaultdict(dict)
        for thing, name in names:
            if key := " ".join(key_of(name)):
                holders[key][thing] = None
        for key, things in holders.items():
            bare = {thing for thing in things if rule == "legal_form" and key in plain[thing]}
            first, *others = sorted(things, key=lambda thing: (thing in bare, thing))
            for other in others:  # all with the first one: a group needs no more
                pair = min(first, other), max(first, other)
                if pair not in seen:
                    seen.add(pair)
                    named = rule == "legal_form" and (first in bare) != (other in bare)
                    yield Pair(*pair, "firm_name", FIRM_NAME[0]) if named else Pair(*pair, rule, score)


def also_called(names: Sequence[tuple[int, str]], aliases: Sequence[tuple[int, str]]) -> Iterator[Pair]:
    """Pairs of which one has, as its own name, an alias of the other that is an alias of nothing else.

    An alias that is part of the longer name fits only if nothing else has it in its name.

    Args:
        names: (thing, its own name); a thing may have several.
        aliases: (thing, other name).
    """
    owners: dict[str, dict[int, None]] = defaultdict(dict)
    holders: dict[str, dict[int, None]] = defaultdict(dict)
    bearers: dict[str, dict[int, None]] = defaultdict(dict)
    own: dict[int, set[str]] = defaultdict(set)
    called: dict[int, list[str]] = defaultdict(list)
    for thing, name in names:
        found = words(name)
        called[thing].append(name)
        owners[" ".join(found)][thing] = None
        own[thing].update(found)
        for word in found:
            bearers[word][thing] = None
    for thing, name in aliases:
        holders[" ".join(words(name))][thing] = None
    for key, things in holders.items():
        if not key or len(things) != 1:
            continue
        (aliased,) = things
        for thing in owners.get(key, ()):
            if thing == aliased:
                continue
            pair = min(thing, aliased), max(thing, aliased)
            if not set(key.split()) <= own[aliased]:
                yield Pair(*pair, "alias", ALIAS)
            elif any(_adds_a_head(key, name) for name in called[aliased]):
                continue
            elif {*bearers[key.split()[-1]]} <= {*pair}:
                yield Pair(*pair, "short_name", SHORT_NAME)


def initials(names: Sequence[tuple[int, str]]) -> Iterator[Pair]:
    """Pairs of persons of whom one name has initials: "J. R. Smith" and "John R. Smith", not "Jane Smith".

    It takes two given names or initials, or one initial and one name; the surname must be the same. A name
    that fits several which do not fit each other fits none.
    """
    by_surname: dict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
    for thing, name in names:
        parts = NOT_WORD.sub(" ", APOSTROPHES.sub("", fold(name))).split()
        capitals = sum(1 for word in name.split() if _UPPER_WORD.match(word))
        if 2 <= len(parts) <= 5 and capitals >= 2 and len(parts[-1]) > 1:
            by_surname[parts[-1]].append((thing, tuple(parts[:-1])))
    for surname in sorted(by_surname):
        people = by_surname[surname]
        for thing, given in people:
            if _spelt_out(given) == len(given):
                continue
            fuller = [(t, g) for t, g in people if t != thing and _spelt_out(g) > _spelt_out(given)]
            fitting = {t: g for t, g in fuller if _fits(given, g)}
            longest = max(fitting.values(), key=len, default=())
            if fitting and all(_fits(g, longest) for g in fitting.values()):
                for other in fitting:
                    yield Pair(min(thing, other), max(thing, other), "initials", INITIALS)


def _spelt_out(given: Iterable[str]) -> int:
    """How many given names are not initials."""
    return sum(1 for word in given if len(word) > 1)


def _fits(short: Sequence[str], full: Sequence[str]) -> bool:
    """Whether given names agree word by word, an initial with what begins so; either may be shorter."""
    return all(
        a == b or (1 in (len(a), len(b)) and a[0] == b[0]) for a, b in zip(short, full, strict=False)
    ) and bool(short and full)


# --- character 3-grams ---------------------------------------------------------------------------


def grams(name: str) -> Counter[str]:
    """Character 3-grams of a name, its words each with a blank at either end."""
    text = f" {' '.join(_plain(name))} "
    return Counter(text[i : i + 3] for i in range(len(text) - 2))


def similar(names: Sequence[tuple[int, str]], least: float, *, between: int | None = None) -> Iterator[Pair]:
    """Pairs of things whose names have a cosine of 3-grams of at least `least`, each once, with the cosine.

    Grams weigh by their rarity (1 + ln of names per name that holds it). Only the rare grams of a name are
    looked up: with the others alone no two names reach the bound (prefix filtering; Bayardo, Ma and Srikant,
    "Scaling up all pairs similarity search", WWW 2007). Numbers, ordinals and single letters must be the
    same: "Gate 4" is not "Gate 5".

    Args:
        names: (thing, name); a thing may have several.
        between: only pairs of which one thing is below this number, and the other is not.
    """
    counted = [(thing, _marks(name), grams(name), name) for thing, name in names]
    spread = Counter(gram for _, _, each, _ in counted for gram in each)
    rank = {gram: n for n, gram in enumerate(sorted(spread, key=lambda gram: (spread[gram], gram)))}
    postings: dict[str, list[int]] = defaultdict(list)
    vectors: list[Mapping[str, float]] = []
    best: dict[tuple[int, int], float] = {}
    for position, (thing, marks, each, name) in enumerate(counted):
        vector = _unit(each, spread, len(names))
        vectors.append(vector)
        candidates: dict[int, None] = {}
        for gram in _prefix(vector, rank, least):
            candidates.update(dict.fromkeys(postings[gram]))
            postings[gram].append(position)
        for candidate in candidates:
            other = counted[candidate]
            if other[0] == thing or other[1] != marks:
                continue
            if between is not None and (thing < between) == (other[0] < between):
                continue
            cosine = _dot(vector, vectors[candidate])
            if cosine >= least and not _adds_a_head(name, other[3]):
                pair = (min(thing, other[0]), max(thing, other[0]))
                best[pair] = max(best.get(pair, 0.0), cosine)
    for (one, two), cosine in sorted(best.items()):
        yield Pair(one, two, "spelling", min(1.0, cosine))


def _marks(name: str) -> tuple[str, ...]:
    """The words that distinguish names which are otherwise alike: numbers, ordinals, single letters."""
    return tuple(sorted(word for word in words(name) if len(word) == 1 or _ORDINAL.search(word)))


def _unit(each: Mapping[str, int], spread: Mapping[str, int], names: int) -> dict[str, float]:
    weights = {gram: count * (1 + math.log(names / spread[gram])) for gram, count in each.items()}
    norm = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {gram: weight / norm for gram, weight in weights.items()}


def _prefix(vector: Mapping[str, float], rank: Mapping[str, int], least: float) -> list[str]:
    """The rarest grams, so many that those left out have a norm below `least`."""
    ordered = sorted(vector, key=rank.__getitem__)
    left = 0.0
    while ordered:
        left += vector[ordered[-1]] ** 2
        if left >= least * least:
            break
        ordered.pop()
    return ordered


def _dot(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other[gram] for gram, weight in one.items() if gram in other)


_LEGAL_FORMS = """
ab ag as asa bhd bv co company corp corporation cv eg ev gmbh inc incorporated kg kgaa limited llc llp ltd lp
mbh nv ohg oy oyj plc pte pty sa sarl sas se spa srl ug vof
"""
_HEADS = """
academy airport association bank bay bridge castle cathedral chapel church club college committee council
county court dam district factory farm festival foundation garden gardens hall harbor harbour hospital
hotel house island isle lake library lighthouse line lock mill mine mountain museum observatory office
palace park pier port press prison railway river road school society square station street team theatre
theater tower trust union university valley village works bahnhof brauerei brucke bruecke burg club dom
fluss gesellschaft hafen hof insel kirche kreis museum platz schule schloss see strasse turm
universitat universitaet verein werft werk werke brug eiland fabriek haven kasteel kerk meer rivier
straat toren universiteit vereniging
"""
_TITLES = """
admiral capt captain col colonel doctor dr gen general judge justice lieutenant lt major prof professor rev
reverend sergeant sir hauptmann kapitan kapitein kolonel oberst
"""
_ARTICLES = "the a an der die das ein eine de het een le la les el los il"

LEGAL_FORMS = frozenset(_LEGAL_FORMS.split())
"""Last words of a firm's name that give its legal form, without punctuation."""

HEADS = frozenset(_HEADS.split())
"""Last words of a name that give the kind of thing: "Lintie Station" is not Lintie."""

TITLES = frozenset(_TITLES.split())
"""First words of a person's name that it may have or not, of whatever sex."""

ARTICLES = frozenset(_ARTICLES.split())
"""First words that a name may have or not."""
